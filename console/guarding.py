"""The gate before every page, route and websocket of the console: who may speak to it, and what its answers allow.

Every request has to name this console (Host) and to come from one of its own pages (Origin, Sec-Fetch-Site): no page
of somebody else's reaches the robot through the operator's browser, DNS rebinding included. It has to be logged in
where a login is asked for, and must not be larger or come faster than what pages send. Answers say that only the
console's own pages may frame them, and that scripts come from its own files alone.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolhand.agent_node.web_gate import ConnectionGate, foreign, protocol_of
from toolhand.console.login import Login, login_page
from toolhand.console.settings import ConsoleSettings

logger = logging.getLogger("toolhand.console")

SocketRule = Callable[[Scope], Callable[[str | bytes], bool] | None]
"""Makes of a request for a websocket what says of each of its messages whether it passes; None refuses the request."""

LOGIN_PATH = "/login"

POLICY_VIOLATION, TOO_BIG = 1008, 1009
"""Codes with which a websocket is closed (RFC 6455)."""

_LOGIN_BYTES = 1024
"""Longest form with a login token."""

_HEADER_BYTES = 16 << 10
"""Largest headers of a request together: what browsers send has 2 KiB, and a cookie at most 4 [bytes]."""

_SAY_S = 10.0
"""Shortest time between two lines about messages that were left out [s]: an operator reads the terminal meanwhile."""

_ONE_BYTES = 16 << 10
"""A message of so many bytes counts as one, and a larger one as several: reading it takes as long [bytes]."""

_SAFE_METHODS = frozenset({"GET", "HEAD"})
_METHODS = _SAFE_METHODS | {"POST"}
_NOT_PASSED_ON = (b"accept-encoding", b"x-forwarded-", b"forwarded")
"""Beginnings of headers that the application does not see: compressed text could not get its nonce, and no proxy stands
before the console whose word would count."""

_SCRIPT = re.compile(rb"<script(?=[\s>])")

_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    # Not no-referrer: a browser would send the Origin "null" with a form, and a form stops the arm without scripts.
    "referrer-policy": "strict-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), display-capture=(), usb=(), serial=()",
}


@dataclass(frozen=True)
class Limits:
    """Sizes and rates.

    Attributes:
        body_bytes: Largest body of a request.
        message_bytes: Largest message of a websocket.
        messages_per_s: Messages of one websocket that are taken for long; a slider that is dragged sends 20 [1/s].
        burst: Messages that may come at once [-].
    """

    body_bytes: int = 1 << 20
    message_bytes: int = 1 << 20
    messages_per_s: float = 100.0
    burst: int = 400


class Guard:
    """Lets requests through to an application, or refuses them before anything of them is read.

    An answer of type text/html that has no content policy of its own gets the one of the pages, and its scripts the
    nonce that this policy asks for. Whatever shows what somebody else wrote has to bring a policy of its own, with
    sandbox.

    Args:
        app: Application behind the gate.
        settings: The console.
        login: Whether a browser has logged in.
        port: Port on which the application is served.
        origins: Origins whose pages may send requests; those of `port` where None.
        home: Page that follows the login.
        limits: Sizes and rates.
        gate: Lets in the connections of requests that are allowed.
        stop_paths: Paths for which a login that is over is enough: nobody has to log in again to stop an arm.
        sockets: Rules of the websockets that there are, by path; every other is refused.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ConsoleSettings,
        login: Login,
        port: int,
        origins: frozenset[str] | None = None,
        home: str = "/",
        limits: Limits | None = None,
        gate: ConnectionGate | None = None,
        stop_paths: frozenset[str] = frozenset(),
        sockets: Mapping[str, SocketRule] | None = None,
    ) -> None:
        self._app = app
        self._settings = settings
        self._login = login
        self._hosts = settings.hosts(port)
        self._origins = settings.origins(port) if origins is None else origins
        self._foreign = self._origins - settings.origins(port)
        self._home = home
        self._limits = limits or Limits()
        self._gate = gate
        self._stop_paths = stop_paths
        self._sockets = sockets or {}
        self._left_out = _LeftOut()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = self._refusal(scope, headers)
        if answer is None and self._gate is not None:
            self._gate.let_in(scope["client"])
        if scope["type"] == "websocket":
            rule = self._sockets.get(scope["path"])
            passes = None if answer is not None or rule is None else rule(scope)
            if passes is None:
                await send({"type": "websocket.close", "code": POLICY_VIOLATION})
            else:
                flow = _Flow(receive, send, self._limits, passes, self._left_out.add)
                await self._app(scope, flow.receive, flow.send)
            return
        if answer is not None:
            await answer(scope, receive, _Outgoing(send, _HEADERS, content_policy({}), "").send)
            return
        if scope["path"] == LOGIN_PATH and self._login.required:
            answer = await self._log_in(scope, receive)
        elif not self._logged_in(scope, headers):
            wants_page = "text/html" in headers.get("accept", "") and scope["method"] == "GET"
            said = "Log in first, at /login: nothing was done."
            answer = HTMLResponse(login_page(), 401) if wants_page else PlainTextResponse(said, 401)
        nonce = secrets.token_urlsafe(16)
        outgoing = _Outgoing(send, _HEADERS | self._shared_with(headers), self._policy(headers["host"], nonce), nonce)
        if answer is None:
            kept = [(name, value) for name, value in scope["headers"] if not name.startswith(_NOT_PASSED_ON)]
            await self._app({**scope, "headers": kept}, receive, outgoing.send)
        else:
            await answer(scope, receive, outgoing.send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        method, origin = scope.get("method", "GET"), headers.getlist("origin")
        if method not in _METHODS and not (method == "OPTIONS" and origin):
            return PlainTextResponse("Only GET, HEAD and POST are answered here.", 405)
        needs_origin = method not in _SAFE_METHODS or scope["type"] == "websocket"
        if (answer := foreign(headers, self._hosts, self._origins, needs_origin)) is not None:
            return answer
        if self._embedded_elsewhere(headers) and not origin:
            return PlainTextResponse("Only the console's own pages may show this.", 403)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > _HEADER_BYTES:
            return PlainTextResponse(f"The headers of a request may have at most {_HEADER_BYTES} bytes.", 431)
        length = headers.getlist("content-length")
        if method == "POST" and (len(length) != 1 or not length[0].isdigit() or "transfer-encoding" in headers):
            return PlainTextResponse("A request with a body has to say how long it is.", 411)
        if length and int(length[0][:20]) > self._limits.body_bytes:
            return PlainTextResponse(f"A request may have at most {self._limits.body_bytes} bytes.", 413)
        if scope["type"] == "websocket" and not self._logged_in(scope, headers):
            return PlainTextResponse("Log in first.", 401)
        return None

    def _embedded_elsewhere(self, headers: Headers) -> bool:
        """An image, frame or script in a page of another origin; following a link to the console is allowed."""
        if headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none"):
            return False
        opened = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
        return not opened

    def _logged_in(self, scope: Scope, headers: Headers) -> bool:
        stop = scope["type"] == "http" and scope["path"] in self._stop_paths
        return self._login.holds("; ".join(headers.getlist("cookie")), also_expired=stop)

    async def _log_in(self, scope: Scope, receive: Receive) -> Response:
        if scope["method"] != "POST":
            return HTMLResponse(login_page())
        address = scope["client"][0] if scope["client"] else ""
        # Read first: requests that wait for their bodies together get no tries together.
        body = await read_body(receive, _LOGIN_BYTES)
        wait_s = self._login.wait_s(address)
        if wait_s > 0:
            page = login_page(f"Too many wrong tokens: try again in {wait_s:.0f} s.")
            return HTMLResponse(page, 429, {"retry-after": f"{wait_s:.0f}"})
        tokens = parse_qs((body or b"").decode("utf-8", errors="replace")).get("token", [""])
        if not self._login.take(tokens[0], address):
            return HTMLResponse(login_page("This is not the login token."), 401)
        return Response(status_code=303, headers={"location": self._home, "set-cookie": self._login.set_cookie()})

    def _shared_with(self, headers: Headers) -> dict[str, str]:
        """Lets a page of the console on its other port read the answer."""
        origin = headers.get("origin", "")
        if origin.lower() not in self._foreign:
            return {"vary": "Origin"} if self._foreign else {}
        return {
            "access-control-allow-origin": origin,
            "access-control-allow-credentials": "true",
            "cross-origin-resource-policy": "same-site",
            "vary": "Origin",
        }

    def _policy(self, host: str, nonce: str) -> str:
        scheme, name = self._settings.scheme, host.rpartition(":")[0] if _has_port(host) else host
        stop = f"{scheme}://{name}:{self._settings.stop_port}"
        pages = f"{scheme}://{name}:{self._settings.port}"
        socket = f"{'wss' if scheme == 'https' else 'ws'}://{host}"
        return content_policy(
            {
                # NiceGUI's own files evaluate the text of handlers; nothing inline runs without the nonce.
                "script-src": f"'self' 'nonce-{nonce}' 'unsafe-eval'",
                "style-src": "'self' 'unsafe-inline'",
                "img-src": "'self' data: blob:",
                "font-src": "'self' data:",
                "media-src": "'self' blob:",
                "worker-src": "'self' blob:",
                "manifest-src": "'self'",
                "connect-src": f"'self' {socket} {stop} {pages}",
                "frame-src": "'self'",
                "form-action": f"'self' {stop}",
            }
        )


def content_policy(sources: Mapping[str, str]) -> str:
    """A Content-Security-Policy: what is not named is forbidden, and only the console's own pages may frame it."""
    always = {"default-src": "'none'", "base-uri": "'none'", "object-src": "'none'", "frame-ancestors": "'self'"}
    return "; ".join(f"{name} {source}" for name, source in {**always, **sources}.items())


async def read_body(receive: Receive, longest: int) -> bytes | None:
    """The body of a request, None where it is longer than so many bytes or its client has gone."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > longest:
            return None
        if not message.get("more_body", False):
            return body


class _Outgoing:
    """Adds headers to an answer, and the nonce to the scripts of a page."""

    def __init__(self, send: Send, headers: Mapping[str, str], policy: str, nonce: str) -> None:
        self._send = send
        self._added = headers
        self._policy = policy
        self._nonce = nonce
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        """See ASGI."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(raw=list(message.get("headers", [])))
            for name, value in self._added.items():
                headers[name] = value
            own = headers.get("content-security-policy")
            headers["content-security-policy"] = self._policy if own is None else _framed_by_self(own)
            message = {**message, "headers": headers.raw}
            if own is None and headers.get("content-type", "").startswith("text/html"):
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if message.get("more_body", False):
                return
            body = _SCRIPT.sub(b'<script nonce="' + self._nonce.encode() + b'"', self._body)
            headers = MutableHeaders(raw=self._start["headers"])
            headers["content-length"] = str(len(body))
            # A page holds a nonce: it is never shown a second time.
            headers["cache-control"] = "no-store"
            await self._send(self._start)
            self._start = None
            message = {"type": "http.response.body", "body": body}
        await self._send(message)


def _framed_by_self(policy: str) -> str:
    return policy if "frame-ancestors" in policy else f"{policy}; frame-ancestors 'self'"


class _Flow:
    """The messages of one websocket: those that pass its rule, as large and as fast as is allowed."""

    def __init__(
        self,
        receive: Receive,
        send: Send,
        limits: Limits,
        passes: Callable[[str | bytes], bool],
        left_out: Callable[[], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._receive = receive
        self._send = send
        self._limits = limits
        self._passes = passes
        self._left_out = left_out
        self._clock = clock
        self._room = float(limits.burst)
        self._last_s = clock()
        self._over = False

    async def receive(self) -> Message:
        """See ASGI."""
        while not self._over:
            message = await self._receive()
            if message["type"] != "websocket.receive":
                return message
            content: str | bytes = message.get("text") or message.get("bytes") or b""
            code = self._broken(len(content.encode(errors="replace") if isinstance(content, str) else content))
            if code is not None:
                self._over = True
                await self._send({"type": "websocket.close", "code": code})
                return {"type": "websocket.disconnect", "code": code}
            if self._passes(content):
                return message
            self._left_out()
        return {"type": "websocket.disconnect", "code": POLICY_VIOLATION}

    def _broken(self, size: int) -> int | None:
        """The code to close with where a message of so many bytes is too large, or comes too soon."""
        now = self._clock()
        self._room = min(self._limits.burst, self._room + (now - self._last_s) * self._limits.messages_per_s)
        self._room -= max(1.0, size / _ONE_BYTES)
        self._last_s = now
        return TOO_BIG if size > self._limits.message_bytes else POLICY_VIOLATION if self._room < 0 else None

    async def send(self, message: Message) -> None:
        """See ASGI; what the application sends after the end goes nowhere."""
        if not self._over:
            await self._send(message)


class _LeftOut:
    """Counts messages that did not pass, and says now and then how many: none of their words."""

    def __init__(self) -> None:
        self._count = 0
        self._said_s = -_SAY_S

    def add(self) -> None:
        """One more."""
        self._count += 1
        if time.monotonic() - self._said_s >= _SAY_S:
            logger.warning("Messages of browsers that no page of the console sends were left out: %d.", self._count)
            self._count, self._said_s = 0, time.monotonic()


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]


def new_gate() -> ConnectionGate:
    """Places and deadlines of the connections of a server of the console."""
    return ConnectionGate(strangers=64, header_s=10.0, body_s=10.0)


def server_options(settings: ConsoleSettings, gate: ConnectionGate) -> dict[str, Any]:
    """Options of uvicorn for both servers: TLS, deadlines, no log of addresses, and no proxy that is believed."""
    options: dict[str, Any] = {
        "http": protocol_of(gate),
        "access_log": False,
        "log_config": None,  # as everything of the process is logged
        "log_level": "warning",
        "server_header": False,
        "proxy_headers": False,
        "h11_max_incomplete_event_size": 16 << 10,
        "ws_max_size": Limits.message_bytes,
    }
    if settings.certificate is not None:
        options |= {"ssl_certfile": str(settings.certificate), "ssl_keyfile": str(settings.key)}
    return options
