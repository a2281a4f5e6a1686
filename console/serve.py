"""The process of the pages: `python -m toolhand.console.serve` reads its settings as one line of JSON from its input,
serves until that input ends, and says "ready" in a line of its output once it answers. Its arguments are file
descriptors of sockets that listen."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import socket
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request
from fastapi.staticfiles import StaticFiles
from nicegui import Client, ui
from nicegui import app as nicegui_app
from starlette.types import ASGIApp

from toolhand.console.approving import Approvals
from toolhand.console.console_state import ConsoleState
from toolhand.console.guarding import Guard, new_gate, server_options
from toolhand.console.history.shared import history_of
from toolhand.console.history_routes import add_history_routes
from toolhand.console.images import ImageFeeds, add_image_routes
from toolhand.console.known_paths import KnownPaths
from toolhand.console.login import Login
from toolhand.console.pages.frame import PageContext, page_frame
from toolhand.console.pages.routes import ROUTES, Route
from toolhand.console.pages.seat import Seat
from toolhand.console.pages.talk import add_talk_routes
from toolhand.console.process import ConsoleServer, handed_over, log_plainly, never_fork
from toolhand.console.robot import Robot
from toolhand.console.scene_routes import add_scene_routes
from toolhand.console.scene_view import RobotScene
from toolhand.console.seats import Seats
from toolhand.console.settings import ConsoleSettings
from toolhand.console.socket_rules import PAGES_PATH, SOCKET_RULES
from toolhand.console.strip import SafetyRoutes
from toolhand.console.tickets import Tickets
from toolhand.tool_nodes.ros.client import use_client

ASSETS = Path(__file__).parent / "assets"
"""Folder of what browsers are given as it is."""

RECONNECT_S = 8.0
"""A page that has lost its connection may come back for so long [s]: longer than the grace of its seat."""

MOST_UNSEEN = 64
"""Pages that were made and that no browser has shown yet [-]: as many as may be open; the oldest is given up."""

LOOK_S = 0.5
"""How often the seats are looked at for an operator who is gone [s]."""

GONE = "The operator's page is gone, so that what was carried out is cancelled."
"""What the transcript says when nobody operates any more while something is carried out."""

ANEW = (
    "The pages had ended and were started anew: what was carried out is cancelled, and what was said before is in the "
    "reports of the runs."
)
"""What the transcript begins with where the pages before have ended by themselves."""


def make_app(settings: ConsoleSettings, console_state: ConsoleState, seats: Seats) -> ASGIApp:
    """The pages as an application, without the guard before them.

    Args:
        settings: Settings.
        console_state: State that all pages share.
        seats: Who operates.
    """

    approvals = Approvals(console_state.robot, seats.require_operator)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        looking = asyncio.create_task(_look_at_seats(console_state, seats, approvals))
        yield
        looking.cancel()

    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.mount("/assets", StaticFiles(directory=ASSETS))
    view, images = RobotScene(console_state.robot, approvals, seats), ImageFeeds(console_state.robot)
    add_scene_routes(app, view)
    add_image_routes(app, images, console_state.robot, approvals)
    add_talk_routes(app, console_state)
    add_history_routes(app, history_of(settings))
    for page in ROUTES:
        _add_page(page, lambda: PageContext(settings, console_state, Seat(seats), seats, approvals, view, images))
    routes = list(app.routes)
    ui.run_with(
        app,
        title="Toolhand",
        dark=None,
        language="en-US",
        tailwind=False,
        reconnect_timeout=RECONNECT_S,
        show_welcome_message=False,
    )
    paths = {page.path for page in ROUTES}
    pages = [route for route in nicegui_app.routes if route.path in paths]
    # Of NiceGUI its files: its socket is no request, and is asked for by websocket alone.
    routes += [route for route in nicegui_app.routes if route not in pages and not PAGES_PATH.startswith(route.path)]
    return KnownPaths(app, routes, pages)


def _add_page(route: Route, context: Callable[[], PageContext]) -> None:
    module, name = route.builder.split(":")
    build: Callable[[PageContext], None] = getattr(importlib.import_module(module), name)

    @ui.page(route.path)
    def page(request: Request) -> None:
        unseen = [client for client in Client.instances.values() if client.environ is None]
        for client in unseen[: max(0, len(unseen) - MOST_UNSEEN)]:
            client.delete()
        made = context()
        with page_frame(route, made, request.headers["host"]):
            build(made)


async def _look_at_seats(console_state: ConsoleState, seats: Seats, approvals: Approvals) -> None:
    """Cancel what is carried out once nobody operates any more, and listen to motions only while somebody does."""
    attended = False
    while True:
        if seats.abandoned():
            console_state.cancel(GONE)
        if seats.operated is not attended:
            attended = seats.operated
            console_state.robot.attend(attended)
            approvals.attend(attended)
        await asyncio.sleep(LOOK_S)


def serve(
    settings: ConsoleSettings,
    robot: Robot,
    ready: Callable[[], None] = lambda: None,
    sockets: list[socket.socket] | None = None,
) -> None:
    """Serve the pages until the process's input ends.

    Args:
        settings: Settings.
        robot: The robot.
        ready: Called once pages are answered.
        sockets: Sockets that listen already; its own at the port of the pages without any.
    """
    never_fork()
    log_plainly()
    console_state, seats, gate = ConsoleState(robot), Seats(), new_gate()
    if settings.anew:
        console_state.note(ANEW)
    try:
        pages = SafetyRoutes(make_app(settings, console_state, seats), seats, Tickets(settings.secret))
        login = Login(settings.login, secure=settings.certificate is not None)
        config = uvicorn.Config(
            Guard(pages, settings, login, settings.port, gate=gate, sockets=SOCKET_RULES),
            host=settings.host,
            port=settings.port,
            **server_options(settings, gate),
        )
        server = ConsoleServer(config, ready)
        server.end_with_input()
        server.run(sockets or None)
    finally:
        console_state.close()
        history_of(settings).rerun.close()


def main() -> None:
    """Serve the pages of a graph."""
    settings = ConsoleSettings.from_line(sys.stdin.readline())
    pip_client = use_client()
    from toolhand.console.ros import GraphRobot

    robot = GraphRobot(settings.approval_token, lambda sentence: print(sentence, file=sys.stderr), pip_client)
    serve(settings, robot, lambda: print("ready", flush=True), handed_over(sys.argv[1:]))


if __name__ == "__main__":
    main()
