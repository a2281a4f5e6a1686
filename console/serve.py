"""The process of the pages: `python -m console.serve` reads its settings as one line of JSON from its input, serves
until that input ends, and says "ready" in a line of its output once it answers."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.staticfiles import StaticFiles
from nicegui import ui

from console.approving import Approvals
from console.guarding import Guard, new_door, server_options
from console.history.shared import history_of
from console.history_routes import add_history_routes
from console.hub import Hub
from console.login import Login
from console.pages.frame import PageContext, page_frame
from console.pages.routes import ROUTES, Route
from console.pages.seat import Seat
from console.pages.talk import add_talk_routes
from console.pictures import PictureFeeds, add_picture_routes
from console.robot import Robot
from console.scene_routes import add_scene_routes
from console.scene_view import RobotScene
from console.seats import Seats
from console.settings import ConsoleSettings
from console.strip import SafetyRoutes
from console.tickets import Tickets
from tool_nodes.ros.client import use_client

ASSETS = Path(__file__).parent / "assets"
"""Folder of what browsers are given as it is."""

RECONNECT_S = 8.0
"""A page that has lost its connection may come back for so long [s]: longer than the grace of its seat."""

LOOK_S = 0.5
"""How often the seats are looked at for an operator who is gone [s]."""

GONE = "The operator's page is gone, so that what was carried out is cancelled."
"""What the transcript says when nobody operates any more while something is carried out."""

ANEW = (
    "The pages had ended and were started anew: what was carried out is cancelled, and what was said before is in the "
    "reports of the runs."
)
"""What the transcript begins with where the pages before have ended by themselves."""


def make_app(settings: ConsoleSettings, hub: Hub, seats: Seats) -> FastAPI:
    """The pages as an application, without the guard before them.

    Args:
        settings: Settings.
        hub: State that all pages share.
        seats: Who operates.
    """

    approvals = Approvals(hub.robot, seats.require_operator)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        looking = asyncio.create_task(_look_at_seats(hub, seats, approvals))
        yield
        looking.cancel()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.mount("/assets", StaticFiles(directory=ASSETS))
    view, pictures = RobotScene(hub.robot, approvals), PictureFeeds(hub.robot)
    add_scene_routes(app, view)
    add_picture_routes(app, pictures, hub.robot, approvals)
    add_talk_routes(app, hub)
    add_history_routes(app, history_of(settings))
    for route in ROUTES:
        _add_page(route, lambda: PageContext(settings, hub, Seat(seats), seats, approvals, view, pictures))
    ui.run_with(
        app,
        title="Toolhand",
        dark=None,
        language="en-US",
        tailwind=False,
        reconnect_timeout=RECONNECT_S,
        show_welcome_message=False,
    )
    return app


def _add_page(route: Route, context: Callable[[], PageContext]) -> None:
    module, name = route.builder.split(":")
    build: Callable[[PageContext], None] = getattr(importlib.import_module(module), name)

    @ui.page(route.path)
    def page(request: Request) -> None:
        made = context()
        with page_frame(route, made, request.headers["host"]):
            build(made)


async def _look_at_seats(hub: Hub, seats: Seats, approvals: Approvals) -> None:
    """Cancel what is carried out once nobody operates any more, and listen to motions only while somebody does."""
    attended = False
    while True:
        if seats.abandoned():
            hub.cancel(GONE)
        if seats.operated is not attended:
            attended = seats.operated
            hub.robot.attend(attended)
            approvals.attend(attended)
        await asyncio.sleep(LOOK_S)


def serve(settings: ConsoleSettings, robot: Robot, ready: Callable[[], None] = lambda: None) -> None:
    """Serve the pages until the process's input ends.

    Args:
        settings: Settings.
        robot: The robot.
        ready: Called once pages are answered.
    """
    hub, seats, door = Hub(robot), Seats(), new_door()
    if settings.anew:
        hub.note(ANEW)
    try:
        pages = SafetyRoutes(make_app(settings, hub, seats), seats, Tickets(settings.secret))
        login = Login(settings.login, secure=settings.certificate is not None)
        config = uvicorn.Config(
            Guard(pages, settings, login, settings.port, door=door),
            host=settings.host,
            port=settings.port,
            log_level="warning",
            **server_options(settings, door),
        )
        server = _Server(config, ready)
        threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
        server.run()
    finally:
        hub.close()
        history_of(settings).rerun.close()


class _Server(uvicorn.Server):
    """A server that says when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


def _end_with_input(server: uvicorn.Server) -> None:
    """Whoever has started this process is gone when its input ends."""
    while sys.stdin.buffer.read(1):
        pass
    server.should_exit = True


def main() -> None:
    """Serve the pages of a graph."""
    settings = ConsoleSettings.from_line(sys.stdin.readline())
    pip_client = use_client()
    from console.ros import GraphRobot

    robot = GraphRobot(settings.approval_token, lambda sentence: print(sentence, file=sys.stderr), pip_client)
    serve(settings, robot, lambda: print("ready", flush=True))


if __name__ == "__main__":
    main()
