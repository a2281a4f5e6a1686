"""Sessions of the MCP server over HTTP: how many there are, and which one makes room."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server.streamable_http import MCP_SESSION_ID_HEADER, StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send


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
