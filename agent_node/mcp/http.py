"""The MCP server over streamable HTTP on this machine only: who may speak to it, and how it ends.

Every request passes a gate before the SDK sees it: a Host and an Origin that were allowed, the bearer token, and the
size of the body.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import anyio
import uvicorn
from anyio.abc import TaskStatus
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolhand.agent_node.mcp.connections import Sessions
from toolhand.agent_node.mcp.server import ENDING_S, GONE, LINE_BYTES, make_server
from toolhand.agent_node.mcp.sessions import SharedRobot
from toolhand.agent_node.mcp.settings import HttpOptions
from toolhand.agent_node.web_gate import ConnectionGate, foreign, listening, protocol_of
from toolhand.tool_nodes.results import invalid

logger = logging.getLogger("toolhand.mcp")

PATH = "/mcp"
ADDRESS = "127.0.0.1"
RETRY_S = b"10"
"""Retry-After where every session has a call that runs [s]."""
TOKEN_CHARACTERS = 16
"""Shortest token that is accepted [characters]."""


@dataclass(frozen=True, kw_only=True)
class HttpSettings(HttpOptions):
    """How the server listens, and what it bears.

    Attributes:
        sessions: Most sessions at a time.
        body_bytes: Largest request body.
        header_s: A connection must have shown the token, and a later request its headers, within this [s].
        body_s: A request's body must have come within this [s].
        strangers: Connections at a time that have not shown the token.
    """

    sessions: int = 8
    body_bytes: int = LINE_BYTES
    header_s: float = 10.0
    body_s: float = 30.0
    strangers: int = 64


class Gate:
    """Lets requests through to an application, or refuses them before anything of them is read.

    Args:
        app: Application behind the gate.
        hosts, origins: Allowed values of the two headers.
        connections: Lets in clients that have shown the token.
    """

    def __init__(
        self, app: ASGIApp, hosts: Iterable[str], origins: Iterable[str], token: str, connections: ConnectionGate
    ) -> None:
        self._app = app
        self._connections = connections
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = frozenset(origin.lower() for origin in origins)
        self._token = token.encode()
        self._ending = anyio.Event()

    def end(self) -> None:
        """Let every open request see its client gone: nothing is kept open by a client that listens."""
        self._ending.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        refusal = self._refusal(Headers(scope=scope), scope["path"])
        if refusal is not None:
            logger.warning("Refused a request: %s", bytes(refusal.body).decode())
            await refusal(scope, receive, send)
            return
        self._connections.let_in(scope["client"])
        gone = anyio.Event()

        async def receive_watched() -> Message:
            message = await self._next(receive)
            if message["type"] == "http.disconnect":
                gone.set()
            return message

        begun, over = False, False

        async def send_watched(message: Message) -> None:
            nonlocal begun, over
            begun = True
            if message["type"] == "http.response.start" and message["status"] == 503:
                message = {**message, "headers": [*message["headers"], (b"retry-after", RETRY_S)]}
            over = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        await self._app({**scope, GONE: gone}, receive_watched, send_watched)
        if self._ending.is_set() and begun and not over:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _next(self, receive: Receive) -> Message:
        message: Message = {"type": "http.disconnect"}
        async with anyio.create_task_group() as group:

            async def come() -> None:
                nonlocal message
                message = await receive()
                group.cancel_scope.cancel()

            group.start_soon(come)
            await self._ending.wait()
            group.cancel_scope.cancel()
        return message

    def _refusal(self, headers: Headers, path: str) -> PlainTextResponse | None:
        if (answer := foreign(headers, self._hosts, self._origins)) is not None:
            return answer
        scheme, _, credentials = ", ".join(headers.getlist("authorization")).partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(credentials.encode("latin-1"), self._token):
            challenge = {"WWW-Authenticate": "Bearer"}
            return PlainTextResponse("The bearer token is missing or wrong.", 401, headers=challenge)
        if path != PATH:
            return PlainTextResponse(f"The server is at {PATH}.", 404)
        return None


class _Uvicorn(uvicorn.Server):
    """Whose signals are handled here, and which ends without waiting for clients that only listen."""

    def __init__(self, config: uvicorn.Config, gate: Gate) -> None:
        super().__init__(config)
        self._gate = gate

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn."""
        self._gate.end()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the handlers as they are."""
        yield


def serve_http(robot: SharedRobot, settings: HttpSettings, announce: Callable[[str, str], None]) -> int:
    """Serve until SIGINT or SIGTERM, which stop the arm.

    Args:
        robot: Station that all sessions share; shut down at the end.
        announce: Called with the address and the token once requests can be made; the token is empty if it was given.

    Returns:
        The signal's number.

    Raises:
        ToolError: INVALID_ARGUMENT for a token that is too short or cannot be sent; UNAVAILABLE for a taken port.
    """
    try:
        token = _checked(settings.token) if settings.token else secrets.token_urlsafe(32)
        (made,) = listening(ADDRESS, settings.port, "Choose another port, or 0.")
        with made:
            return asyncio.run(_serve(robot, settings, made, token, announce))
    finally:
        robot.shut_down()
        robot.join(ENDING_S)


def _checked(token: str) -> str:
    if len(token) < TOKEN_CHARACTERS or not all("!" <= character <= "~" for character in token):
        raise invalid(f"A token must have {TOKEN_CHARACTERS} or more letters, digits or signs, without spaces.")
    return token


@contextlib.asynccontextmanager
async def listening_server(
    robot: SharedRobot, settings: HttpSettings, port: int, token: str
) -> AsyncIterator[uvicorn.Server]:
    """A server whose `serve(sockets=[...])` answers requests to a port; every session ends with the block."""
    own = [f"{name}:{port}" for name in (ADDRESS, "localhost")]
    connections = ConnectionGate(settings.strangers, settings.header_s, settings.body_s)
    manager = Sessions(
        make_server(robot),
        security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the gate does it
        session_idle_timeout=settings.idle_s,
        max_request_body_size=settings.body_bytes,
        max_sessions=settings.sessions,
    )
    gate = Gate(
        StreamableHTTPASGIApp(manager),
        hosts=[*own, *settings.hosts],
        origins=[*(f"http://{host}" for host in own), *settings.origins],
        token=token,
        connections=connections,
    )
    config = uvicorn.Config(
        gate,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        http=cast(Any, protocol_of(connections)),
        limit_concurrency=16 * settings.sessions + settings.strangers,
        timeout_graceful_shutdown=1,
    )
    async with manager.run():
        yield _Uvicorn(config, gate)


async def _serve(
    robot: SharedRobot,
    settings: HttpSettings,
    made: socket.socket,
    token: str,
    announce: Callable[[str, str], None],
) -> int:
    port = made.getsockname()[1]
    ended_by = 0
    async with listening_server(robot, settings, port, token) as server, anyio.create_task_group() as group:

        async def watch_signals(*, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
            nonlocal ended_by
            with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
                task_status.started()
                async for number in signals:
                    ended_by = int(number)
                    robot.shut_down()
                    server.should_exit = True

        await group.start(watch_signals)
        announce(f"http://{ADDRESS}:{port}{PATH}", "" if settings.token else token)
        await server.serve(sockets=[made])
        group.cancel_scope.cancel()
    return ended_by
