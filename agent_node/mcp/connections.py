"""Connections of the MCP server over HTTP: who has shown the token, how long a request may take to come, and how many.

A connection is a stranger's until a request with the token came over it. Strangers have a few places of their own and a
deadline, and the oldest makes room for the newest: a client that holds connections open without the token
blocks no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import h11
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol


class Door:
    """The connections that have not shown the token yet.

    Args:
        strangers: Their places.
        header_s: Until the first request with the token is there, and of any later one from its first byte to the end
            of its headers [s].
        body_s: From the end of the headers to the end of the body [s].
    """

    def __init__(self, strangers: int, header_s: float, body_s: float) -> None:
        self.places = strangers
        self.header_s = header_s
        self.body_s = body_s
        self._strangers: dict[Any, asyncio.Transport] = {}

    def come(self, client: Any, transport: asyncio.Transport) -> None:
        """A stranger connects; the one that has been here longest goes if there is no room."""
        while len(self._strangers) >= self.places:
            self._strangers.pop(next(iter(self._strangers))).abort()
        self._strangers[client] = transport

    def let_in(self, client: Any) -> None:
        """A client (address, port) has shown the token."""
        self._strangers.pop(client, None)

    def is_stranger(self, client: Any) -> bool:
        """It has not."""
        return client in self._strangers


def protocol_of(door: Door) -> Callable[..., asyncio.Protocol]:
    """The class of uvicorn's connections, with the deadlines of a door."""

    class Connection(H11Protocol):
        """One connection."""

        _deadline: asyncio.TimerHandle | None = None
        _awaited: object = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            """See asyncio."""
            super().connection_made(transport)
            door.come(self.client, transport)
            self._stranger_until = self.loop.call_later(door.header_s, self._leave_if_stranger)

        def connection_lost(self, exc: Exception | None) -> None:
            """See asyncio."""
            self._stranger_until.cancel()
            self._await(None, 0.0)
            door.let_in(self.client)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """See asyncio."""
            super().data_received(data)
            state = self.conn.their_state
            if state is h11.IDLE:
                self._await(state, door.header_s)
            elif state is h11.SEND_BODY:
                self._await(state, door.body_s)
            else:
                self._await(None, 0.0)

        def _await(self, what: object, within_s: float) -> None:
            """Give what comes next its deadline, which more of the same does not put off."""
            if what is self._awaited:
                return
            if self._deadline is not None:
                self._deadline.cancel()
            self._awaited = what
            self._deadline = None if what is None else self.loop.call_later(within_s, self.transport.abort)

        def _leave_if_stranger(self) -> None:
            if door.is_stranger(self.client):
                self.transport.abort()

    return Connection


class Sessions(StreamableHTTPSessionManager):
    """The sessions of the server. Where there is no room, the one that was idle longest makes it.

    Many clients leave without a word (the TypeScript SDK's `close` sends no DELETE), and an unused session
    would keep others out for as long as it may be idle. One in which a call runs stays; where all do, there is no room.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._used: dict[str, float] = {}
        self._open: dict[str, list[str]] = {}

    async def _handle_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        session = Headers(scope=scope).get(MCP_SESSION_ID_HEADER, "")
        if session not in self._server_instances:
            await super()._handle_request(scope, receive, send)
            return
        methods = self._open.setdefault(session, [])
        methods.append(scope["method"])
        try:
            await super()._handle_request(scope, receive, send)
        finally:
            methods.remove(scope["method"])
            self._touch(session)

    def _admit_session(self, *args: Any) -> StreamableHTTPServerTransport | None:
        admitted = super()._admit_session(*args)
        idle = [session for session in self._server_instances if "POST" not in self._open.get(session, ())]
        if admitted is None and idle and self._task_group is not None:
            # One whose client still listens goes after those whose client has gone.
            oldest = min(idle, key=lambda session: ("GET" in self._open.get(session, ()), self._used.get(session, 0.0)))
            transport = self._server_instances.pop(oldest)
            self._task_group.start_soon(self._discard_session, oldest, transport)
            admitted = super()._admit_session(*args)
        if admitted is not None:
            self._touch(str(admitted.mcp_session_id))
        return admitted

    def _touch(self, session: str) -> None:
        self._used[session] = asyncio.get_running_loop().time()

    async def _discard_session(self, session_id: str, transport: StreamableHTTPServerTransport) -> None:
        self._used.pop(session_id, None)
        self._open.pop(session_id, None)
        await super()._discard_session(session_id, transport)
