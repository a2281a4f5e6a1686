"""Who may speak to a server of this machine that asks for no token: programs of this machine, and no web page.

A page in the operator's browser can open a WebSocket to any port of this machine, and by DNS rebinding any request; it
cannot hide by what name it came (Host), nor whose page it is (Origin).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
"""Names of this machine that no other machine can have."""

AsgiMessage = MutableMapping[str, Any]
AsgiReceive = Callable[[], Awaitable[AsgiMessage]]
AsgiSend = Callable[[AsgiMessage], Awaitable[None]]
AsgiApp = Callable[[AsgiMessage, AsgiReceive, AsgiSend], Awaitable[None]]


class LoopbackGate:
    """An ASGI application in front of another one, which sees only requests that programs of this machine send.

    Args:
        app: Application behind the gate.
    """

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: AsgiMessage, receive: AsgiReceive, send: AsgiSend) -> None:
        """See ASGI."""
        if scope["type"] not in ("http", "websocket") or allowed(scope["headers"]):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"Only programs of this machine are answered."})


def allowed(headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether a request's headers are those of a program of this machine: one Host of it, and no page's Origin."""
    hosts = [value for name, value in headers if name.lower() == b"host"]
    pages = [value for name, value in headers if name.lower() in (b"origin", b"sec-websocket-origin")]
    return len(hosts) == 1 and not pages and _name(hosts[0]) in NAMES


def _name(host: bytes) -> str:
    try:
        parts = urlsplit(f"//{host.decode('ascii')}")
        return "" if parts.username is not None or parts.path or parts.query else (parts.hostname or "")
    except ValueError:
        return ""
