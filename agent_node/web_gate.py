"""What stands before the servers over HTTP: sockets, Host and Origin, and how long a connection may take to be let in.

A connection is a stranger's until a request that is allowed came over it. Strangers have a few places of their own and
a deadline, and the oldest makes room for the newest: a client that holds connections open without being allowed
blocks no other.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from collections.abc import Callable, Set
from typing import Any

import h11
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolhand.tool_nodes.results import unavailable

BACKLOG = 128
"""Connections that wait while a server is started anew [-]: pages of some twenty browsers."""


def listening(host: str, port: int, hint: str) -> list[socket.socket]:
    """Sockets that listen on a port at every address of a name; 0 takes a free port.

    Raises:
        ToolError: UNAVAILABLE where nothing can listen there, with a hint at what to do.
    """
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            made = socket.socket(family, kind, protocol)
            sockets.append(made)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                made.bind(address)
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL:  # a machine without IPv6 names ::1 all the same
                    raise
                sockets.pop().close()
                continue
            made.listen(BACKLOG)
        if not sockets:
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
    except OSError as error:
        for made in sockets:
            made.close()
        raise unavailable(f"Cannot listen on port {port} of {host}: {error.strerror or error}.", hint) from error
    return sockets


def foreign(
    headers: Headers, hosts: Set[str], origins: Set[str], needs_origin: bool = False
) -> PlainTextResponse | None:
    """The answer to a request that names another host, or comes from a page of somebody else; None for any other.

    No web page may reach the robot through the operator's browser, DNS rebinding included. Allowed values of the two
    headers are in lower case.
    """
    host, origin = headers.getlist("host"), headers.getlist("origin")
    if len(host) != 1 or host[0].lower() not in hosts:
        return PlainTextResponse("This Host header is not allowed.", 421)
    if len(origin) > 1 or (origin and origin[0].lower() not in origins) or (needs_origin and not origin):
        return PlainTextResponse("Pages of this Origin may not send this.", 403)
    return None


class ConnectionGate:
    """The connections that have not been let in yet.

    Args:
        strangers: Their places.
        header_s: Until the first allowed request is there, and of any later one from its first byte to the end
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
        """A client (address, port) has sent a request that is allowed."""
        self._strangers.pop(client, None)

    def is_stranger(self, client: Any) -> bool:
        """It has not."""
        return client in self._strangers


def protocol_of(door: ConnectionGate) -> Callable[..., asyncio.Protocol]:
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
            if self.transport.get_protocol() is not self:  # it has become a websocket, which has no end to wait for
                self._await(None, 0.0)
            elif state is h11.IDLE:
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
