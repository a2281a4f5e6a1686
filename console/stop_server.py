"""The stop server: `python -m toolhand.console.stop_server`, a process of its own that shares nothing with the pages.

    GET  /stop       a page with the stop button alone
    POST /api/stop   stop the arm; the answer comes once it is known what came of it
    POST /api/reset  allow motions again; its body is a ticket of the operator's page
    GET  /api/beat   what is known of the robot, once a second for every page

It reads its settings as one line of JSON from its input, says "ready" in a line of its output once it answers, and ends
when its input ends: whoever has started it is gone. Its arguments are file descriptors of sockets that listen.
"""

from __future__ import annotations

import asyncio
import contextlib
import html
import logging
import os
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import asdict

import uvicorn
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from toolhand.agent_node.web_gate import ConnectionGate
from toolhand.console.guarding import Guard, Limits, new_gate, read_body, server_options
from toolhand.console.login import Login
from toolhand.console.process import ConsoleServer, handed_over, log_plainly, never_fork
from toolhand.console.settings import ConsoleSettings
from toolhand.console.stopping import StopAnswer, StopOutcome, Stopper
from toolhand.console.strip import BEAT_PATH, RESET_PATH, STOP_PATH, asset, safety_strip_html, said
from toolhand.console.tickets import Tickets
from toolhand.tool_nodes.results import ToolError

logger = logging.getLogger("toolhand.console.stop")

PAGE_PATH = "/stop"

BODY_BYTES = 1024
"""Largest body: a ticket has 76 bytes."""

_ENDING_S = 2.0
"""The process ends after so long also where a thread does not [s]."""

_PRIORITY = -10
"""Niceness that is asked for: a stop goes before what the machine computes. Without that right it is as others."""

_PLAIN_WORDS = {
    StopOutcome.STOPPED: "Stopped.",
    StopOutcome.UNCONFIRMED: "NOT CONFIRMED. Use the emergency stop.",
    StopOutcome.UNREACHABLE: "NOT DELIVERED. Use the emergency stop.",
}


class StopRoutes:
    """Answers requests that the guard has let through.

    Args:
        settings: The console.
        stopper: The robot.
        tickets: Takes the tickets of resets.
    """

    def __init__(self, settings: ConsoleSettings, stopper: Stopper, tickets: Tickets) -> None:
        self._settings = settings
        self._stopper = stopper
        self._tickets = tickets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        await (await self._answer(scope, receive))(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        method, path = scope["method"], scope["path"]
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if method == "OPTIONS":
            return Response(status_code=204, headers={"access-control-allow-methods": "GET, POST"})
        if method == "POST":
            if path == STOP_PATH:
                return await self._stop("text/html" in headers.get("accept", ""))
            if path == RESET_PATH:
                return await self._reset(await read_body(receive, BODY_BYTES))
            return said(404, "There is nothing here.")
        if path == BEAT_PATH:
            state = asdict(self._stopper.state())
            state["graph"] = "reachable" if state.pop("reachable") else "absent"
            return JSONResponse(state, headers={"cache-control": "no-store"})
        if path == PAGE_PATH:
            return HTMLResponse(stop_page(self._settings, headers["host"]))
        if path == "/":
            return RedirectResponse(PAGE_PATH, 303)
        return asset(path) or said(404, "There is nothing here.")

    async def _stop(self, as_page: bool) -> Response:
        received_s = time.monotonic()
        answer = await _called(self._stopper.stop)
        logger.warning("Stop: %s %s", answer.state, answer.message)
        if as_page:
            return HTMLResponse(_answer_page(answer))
        times = {"received_s": received_s, "answered_s": time.monotonic()}
        return JSONResponse(asdict(answer) | times, headers={"cache-control": "no-store"})

    async def _reset(self, body: bytes | None) -> Response:
        try:
            self._tickets.take((body or b"").decode("utf-8", errors="replace"))
        except ToolError as error:
            logger.warning("A reset was refused: %s", error.message)
            return said(403, str(error))
        answer = await _called(self._stopper.reset)
        logger.warning("Reset: %s %s", answer.state, answer.message)
        return JSONResponse(asdict(answer), headers={"cache-control": "no-store"})


async def _called(call: Callable[[Callable[[StopAnswer], None]], None]) -> StopAnswer:
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[StopAnswer] = loop.create_future()

    def done(answer: StopAnswer) -> None:
        loop.call_soon_threadsafe(lambda: None if answered.done() else answered.set_result(answer))

    call(done)
    return await answered


def stop_page(settings: ConsoleSettings, host: str) -> str:
    """The page with the stop button alone."""
    return f"""<!doctype html>
<html lang="en" class="safety-alone"><head><meta charset="utf-8"><title>Stop - Toolhand</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,"></head>
<body>{safety_strip_html(settings, host)}
<p class="safety-note">This button brakes the arm through the robot's software. It is no emergency stop: keep that one
within reach. Motions are allowed again on the operator's page, or with
<code>toolhand stop --reset</code>.</p></body></html>
"""


def _answer_page(answer: StopAnswer) -> str:
    words = _PLAIN_WORDS[answer.state]
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{words}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body style="font:1.5rem/1.4 system-ui,sans-serif;margin:10vh 1rem"><h1>{words}</h1>
<p>{html.escape(answer.message)}</p></body></html>
"""


def stop_app(settings: ConsoleSettings, stopper: Stopper, gate: ConnectionGate | None = None) -> Guard:
    """The application of the stop server behind its gate."""
    return Guard(
        StopRoutes(settings, stopper, Tickets(settings.secret)),
        settings,
        Login(settings.login, secure=settings.certificate is not None),
        settings.stop_port,
        origins=settings.origins(settings.port) | settings.origins(settings.stop_port),
        home=PAGE_PATH,
        limits=Limits(body_bytes=BODY_BYTES),
        gate=gate,
        stop_paths=frozenset({STOP_PATH}),
    )


def serve_stop(settings: ConsoleSettings, stopper: Stopper, sockets: list[socket.socket] | None = None) -> None:
    """Serve until the process's input ends, or it is asked to end.

    Args:
        settings: The console.
        stopper: The robot.
        sockets: Sockets that listen already; its own at the stop port without any.
    """
    never_fork()
    log_plainly()
    gate = new_gate()
    config = uvicorn.Config(
        stop_app(settings, stopper, gate),
        host=settings.host,
        port=settings.stop_port,
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=1,
        **server_options(settings, gate),
    )
    server = ConsoleServer(config, lambda: print("ready", flush=True))
    server.end_with_input(_ENDING_S)
    server.run(sockets or None)


def main() -> None:
    """Serve the stop of the graph on this domain."""
    settings = ConsoleSettings.from_line(sys.stdin.readline())
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, _PRIORITY)
    from toolhand.console.ros_stop import RosStopper

    stopper = RosStopper()
    stopper.start()
    try:
        serve_stop(settings, stopper, handed_over(sys.argv[1:]))
    finally:
        stopper.close()


if __name__ == "__main__":
    main()
