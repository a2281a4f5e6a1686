"""Both servers of a console as they are attacked: real sockets, a robot that counts, and a page with a websocket."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from tests.waiting import until
from toolhand.agent_node.web_gate import ConnectionGate
from toolhand.console.guarding import Guard, Limits, SocketRule, server_options
from toolhand.console.login import Login
from toolhand.console.seats import Seats
from toolhand.console.settings import ConsoleSettings
from toolhand.console.stop_server import stop_app
from toolhand.console.stopping import StopAnswer, StopOutcome, StopStatus
from toolhand.console.strip import SafetyRoutes, safety_strip_html
from toolhand.console.tickets import Tickets

PATIENCE_S = 20.0
"""A bound against hanging, not a promise [s]."""
DEADLINE_S = 0.5
"""Deadlines of headers and bodies here, instead of 10 s [s]."""

ANY_WORDS: dict[str, SocketRule] = {"/ws": lambda scope: lambda message: True}
"""The rule of the page's websocket here: what passes is tried in tests/console/test_socket_rules.py."""


@dataclass
class CountingRobot:
    """A robot that counts."""

    stops: int = 0
    resets: int = 0

    def stop(self, done: Callable[[StopAnswer], None]) -> None:
        self.stops += 1
        threading.Timer(0.02, done, [StopAnswer(StopOutcome.STOPPED, "at rest")]).start()

    def reset(self, done: Callable[[StopAnswer], None]) -> None:
        self.resets += 1
        threading.Timer(0.02, done, [StopAnswer(StopOutcome.RESET, "again")]).start()

    def state(self) -> StopStatus:
        return StopStatus(True, "")


@dataclass
class Site:
    """Both servers, as they are attacked."""

    settings: ConsoleSettings
    robot: CountingRobot = field(default_factory=CountingRobot)
    seats: Seats = field(default_factory=Seats)
    commands: list[str] = field(default_factory=list)
    socket_messages: int = 0

    async def pages(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A page that shows the strip, takes commands of operators, and has a websocket."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            while (await receive())["type"] != "websocket.disconnect":
                self.socket_messages += 1
            return
        if scope["method"] == "POST":
            self.commands.append(scope["path"])
        host = dict(scope["headers"])[b"host"].decode()
        body = f"<!doctype html>{safety_strip_html(self.settings, host, 'observer')}<script>1</script>".encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/html")]})
        await send({"type": "http.response.body", "body": body})

    @property
    def ports(self) -> tuple[int, int]:
        return self.settings.port, self.settings.stop_port

    @property
    def counted(self) -> tuple[int, int, int]:
        return self.robot.stops, self.robot.resets, len(self.commands)


@contextlib.contextmanager
def site_of(strangers: int = 16, **settings: Any) -> Iterator[Site]:
    site = Site(ConsoleSettings(port=free_port(), stop_port=free_port(), **settings))
    login = Login(site.settings.login, secure=False)
    pages = SafetyRoutes(site.pages, site.seats, Tickets(site.settings.secret))
    limits = Limits(message_bytes=4096, messages_per_s=1.0, burst=50)
    servers = []
    for port in site.ports:
        gate = ConnectionGate(strangers=strangers, header_s=DEADLINE_S, body_s=DEADLINE_S)
        app = (
            stop_app(site.settings, site.robot, gate)
            if port == site.settings.stop_port
            else Guard(pages, site.settings, login, port, limits=limits, gate=gate, sockets=ANY_WORDS)
        )
        options = server_options(site.settings, gate)
        servers.append(uvicorn.Server(uvicorn.Config(app, port=port, lifespan="off", **options)))
    threads = [threading.Thread(target=server.run, daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    until(lambda: all(server.started for server in servers))
    yield site
    for server in servers:
        server.should_exit = True
    for thread in threads:
        thread.join(PATIENCE_S)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def sent(port: int, *parts: bytes, silence_s: float = 1.0) -> bytes:
    """All that comes back until the other side closes, or nothing has come for so long [s]."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
        connection.settimeout(silence_s)
        answer = b""
        with contextlib.suppress(TimeoutError, ConnectionError):
            for part in parts:
                connection.sendall(part)
            while piece := connection.recv(65536):
                answer += piece
        return answer


def request(line: str, *headers: str, body: bytes = b"") -> bytes:
    return "\r\n".join([line, *headers, "Connection: close", "", ""]).encode("latin-1") + body


def statuses(answer: bytes) -> list[int]:
    return [int(number) for number in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]


class Names:
    """Headers of a site's own pages."""

    def __init__(self, site: Site) -> None:
        self.host = f"Host: 127.0.0.1:{site.settings.stop_port}"
        self.page_host = f"Host: 127.0.0.1:{site.settings.port}"
        self.origin = f"Origin: http://127.0.0.1:{site.settings.port}"
