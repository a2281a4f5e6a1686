"""The process of the pages: `python -m console.serve` reads the settings as one line of JSON from its input, serves
until that input ends, and says "ready" in a line of its output once it answers."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.staticfiles import StaticFiles
from nicegui import ui

from console.approving import Approvals
from console.hub import Hub
from console.pages.frame import PageContext, Seat, page_frame
from console.pages.routes import ROUTES, Route
from console.pictures import PictureFeeds, add_picture_routes
from console.robot import Robot
from console.settings import ConsoleSettings

ASSETS = Path(__file__).parent / "assets"
"""Folder of what browsers are given as it is."""

RECONNECT_S = 8.0
"""A page that has lost its connection may come back for so long [s]: the grace of a reload, and a busy machine."""


def make_app(settings: ConsoleSettings, hub: Hub) -> FastAPI:
    """The pages as an application.

    Args:
        settings: Settings.
        hub: State that all pages share.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.mount("/assets", StaticFiles(directory=ASSETS))
    approvals = Approvals(hub.robot, lambda page: None)
    add_picture_routes(app, PictureFeeds(hub.robot), hub.robot, approvals)
    for route in ROUTES:
        _add_page(route, settings, hub, approvals)
    ui.run_with(
        app,
        title="Toolhand",
        dark=None,
        tailwind=False,
        reconnect_timeout=RECONNECT_S,
        show_welcome_message=False,
    )
    return app


def _add_page(route: Route, settings: ConsoleSettings, hub: Hub, approvals: Approvals) -> None:
    module, name = route.builder.split(":")
    build: Callable[[PageContext], None] = getattr(importlib.import_module(module), name)

    @ui.page(route.path)
    def page() -> None:
        context = PageContext(settings, hub, Seat("operator", "operator"), approvals)
        with page_frame(route.title, context):
            build(context)


def serve(settings: ConsoleSettings, robot: Robot, ready: Callable[[], None] = lambda: None) -> None:
    """Serve the pages until the process's input ends.

    Args:
        settings: Settings.
        robot: The robot.
        ready: Called once pages are answered.
    """
    hub = Hub(robot)
    try:
        options: dict[str, Any] = {}
        if settings.certificate is not None:
            options = {"ssl_certfile": settings.certificate, "ssl_keyfile": settings.key}
        server = _Server(
            uvicorn.Config(
                make_app(settings, hub),
                host=settings.host,
                port=settings.port,
                log_level="warning",
                access_log=False,
                server_header=False,
                **options,
            ),
            ready,
        )
        threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
        server.run()
    finally:
        hub.close()


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
    from console.ros import GraphRobot

    serve(settings, GraphRobot(), lambda: print("ready", flush=True))


if __name__ == "__main__":
    main()
