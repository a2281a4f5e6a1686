"""The console's web side under attack: nobody but its own pages stops, resets or reads, and no trick of HTTP helps.

Raw bytes over sockets reach the stop server and the pages' gate as they are served. Every row ends with the same look:
how often the robot was stopped and reset.
"""

import base64
import contextlib
import json
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.redteam.console_site import DEADLINE_S, PATIENCE_S, Names, Site, request, sent, site_of, statuses
from tests.waiting import until
from toolhand.console.guarding import new_gate
from toolhand.console.settings import ConsoleSettings
from toolhand.console.tickets import LIFETIME_S, Tickets

TOKEN = "a-token-of-the-login-0123456789"
"""The login token of the site that asks for one."""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with site_of() as site:
        site.seats.enter("operator")
        site.seats.enter("observer")
        yield site


@pytest.fixture(scope="module")
def locked() -> Iterator[Site]:
    with site_of(login=TOKEN) as site:
        yield site


def test_the_own_page_stops_and_resets(site: Site) -> None:
    names, before = Names(site), site.counted
    stop = sent(
        site.settings.stop_port, request("POST /api/stop HTTP/1.1", names.host, names.origin, "Content-Length: 0")
    )
    assert statuses(stop) == [200]
    port = site.settings.port
    own = [names.page_host, names.origin]
    got = sent(port, request("POST /safety/ticket HTTP/1.1", *own, "Content-Length: 8", body=b"operator"))
    ticket = json.loads(got.split(b"\r\n\r\n")[1])["ticket"].encode()
    reset = request("POST /api/reset HTTP/1.1", names.host, names.origin, f"Content-Length: {len(ticket)}", body=ticket)
    assert statuses(sent(site.settings.stop_port, reset)) == [200]
    assert statuses(sent(site.settings.stop_port, reset)) == [403], "the same ticket again"
    assert site.counted == (before[0] + 1, before[1] + 1, before[2])


EMPTY = "Content-Length: 0"
ELSEWHERE: dict[str, tuple[str, list[str]]] = {
    "another site": ("POST /api/stop HTTP/1.1", ["{host}", "Origin: http://evil.example", EMPTY]),
    "no origin": ("POST /api/stop HTTP/1.1", ["{host}", EMPTY]),
    "a file or a sandboxed frame": ("POST /api/stop HTTP/1.1", ["{host}", "Origin: null", EMPTY]),
    "an origin that begins like ours": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}.evil.example", EMPTY]),
    "an origin with our name as its user": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}@evil.example", EMPTY]),
    "an origin of another scheme": ("POST /api/stop HTTP/1.1", ["{host}", "Origin: https://127.0.0.1:{port}", EMPTY]),
    "another port of this machine": ("POST /api/stop HTTP/1.1", ["{host}", "Origin: http://127.0.0.1:3000", EMPTY]),
    "two origins": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}", "Origin: http://evil.example", EMPTY]),
    "a rebound name": ("POST /api/stop HTTP/1.1", ["Host: evil.example:{stop_port}", "{origin}", EMPTY]),
    "a rebound name of our own origin": (
        "POST /api/stop HTTP/1.1",
        ["Host: evil.example:{stop_port}", "Origin: http://evil.example:{stop_port}", EMPTY],
    ),
    "two hosts": ("POST /api/stop HTTP/1.1", ["{host}", "Host: evil.example", "{origin}", EMPTY]),
    "no host": ("POST /api/stop HTTP/1.1", ["{origin}", EMPTY]),
    "a forwarded host": (
        "POST /api/stop HTTP/1.1",
        ["Host: evil.example", "X-Forwarded-Host: 127.0.0.1:{stop_port}", "{origin}", EMPTY],
    ),
    "an address as the target": ("POST http://evil.example/api/stop HTTP/1.1", ["{host}", "{origin}", EMPTY]),
    "HTTP/1.0 without a host": ("POST /api/stop HTTP/1.0", ["{origin}", EMPTY]),
    "a preflight from elsewhere": (
        "OPTIONS /api/stop HTTP/1.1",
        ["{host}", "Origin: http://evil.example", "Access-Control-Request-Method: POST"],
    ),
    "another method": ("PUT /api/stop HTTP/1.1", ["{host}", "{origin}", EMPTY]),
    "an overridden method": ("GET /api/stop HTTP/1.1", ["{host}", "{origin}", "X-HTTP-Method-Override: POST"]),
    "a link that stops": ("GET /api/stop HTTP/1.1", ["{host}"]),
    "a picture of the stop": (
        "GET /api/beat HTTP/1.1",
        ["{host}", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"],
    ),
    "TRACE": ("TRACE /api/stop HTTP/1.1", ["{host}", "{origin}"]),
    "CONNECT": ("CONNECT evil.example:443 HTTP/1.1", ["{host}", "{origin}"]),
    "a reset without a ticket": ("POST /api/reset HTTP/1.1", ["{host}", "{origin}", EMPTY]),
    "a ticket in the address": ("POST /api/reset?ticket={ticket} HTTP/1.1", ["{host}", "{origin}", EMPTY]),
    "a ticket in a header": ("POST /api/reset HTTP/1.1", ["{host}", "{origin}", "X-Ticket: {ticket}", EMPTY]),
    "two lengths": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}", EMPTY, "Content-Length: 5"]),
    "a signed length": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}", "Content-Length: +0"]),
    "no length": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}"]),
    "an enormous length": (
        "POST /api/stop HTTP/1.1",
        ["{host}", "{origin}", f"Content-Length: {'9' * 400}"],
    ),
    "chunks": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}", "Transfer-Encoding: chunked"]),
    "chunks and a length": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}", EMPTY, "Transfer-Encoding: chunked"]),
    "an odd transfer": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}", EMPTY, "Transfer-Encoding: xchunked"]),
    "a space before the colon": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}", "Content-Length : 0"]),
    "a folded header": ("POST /api/stop HTTP/1.1", ["{host}", "Origin: http://evil.example", " {origin}", EMPTY]),
    "a header of 64 KB": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}", "X: " + "x" * 65536, EMPTY]),
    "5,000 headers": ("POST /api/stop HTTP/1.1", ["{host}", "{origin}", *["X-Y: z"] * 5000, EMPTY]),
    "a zero byte": ("POST /api/stop\0 HTTP/1.1", ["{host}", "{origin}", EMPTY]),
    "a path that is no text": ("POST /api/stop\xff\xfe HTTP/1.1", ["{host}", "{origin}", EMPTY]),
    "an encoded path": ("POST /api/%73top%2f HTTP/1.1", ["{host}", "{origin}", EMPTY]),
    "a path upwards": ("GET /safety/../../console/settings.py HTTP/1.1", ["{host}"]),
    "an encoded path upwards": ("GET /safety/%2e%2e%2fsettings.py HTTP/1.1", ["{host}"]),
    "a path of another host": ("GET //evil.example/ HTTP/1.1", ["{host}"]),
    "another protocol": ("PRI * HTTP/2.0", []),
    "a websocket": (
        "GET /api/stop HTTP/1.1",
        [
            "{host}",
            "{origin}",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {'A' * 22}==",
        ],
    ),
}
"""What is sent to the stop server, by what it tries."""


@pytest.mark.parametrize("attack", ELSEWHERE)
def test_nothing_else_stops_or_resets(site: Site, attack: str) -> None:
    line, headers = ELSEWHERE[attack]
    names, before = Names(site), site.counted
    known = {
        "host": names.host,
        "origin": names.origin,
        "port": site.settings.port,
        "stop_port": site.settings.stop_port,
        "ticket": Tickets(site.settings.secret).issue(),
    }
    filled = [re.sub(r"\{(\w+)\}", lambda match: str(known[match[1]]), text) for text in (line, *headers)]
    answer = sent(site.settings.stop_port, request(*filled))
    assert all(400 <= status < 500 for status in statuses(answer)), answer[:300]
    assert site.counted == before
    assert b"access-control-allow-origin: http://evil" not in answer.lower()
    assert b"Traceback" not in answer


@pytest.mark.parametrize("what", ["forged", "of another console", "old", "from the future", "cut", "long", "no text"])
def test_a_ticket_that_was_not_given_resets_nothing(site: Site, what: str) -> None:
    now = time.monotonic()
    good = Tickets(site.settings.secret).issue()
    ticket = {
        "forged": base64.urlsafe_b64encode(os.urandom(56)),
        "of another console": Tickets(ConsoleSettings().secret).issue().encode(),
        "old": Tickets(site.settings.secret, lambda: now - LIFETIME_S - 1).issue().encode(),
        "from the future": Tickets(site.settings.secret, lambda: now + 3600).issue().encode(),
        "cut": good[:-4].encode(),
        "long": good.encode() + b"A" * 900,
        "no text": b"\xff\xfe" * 38,
    }[what]
    names, before = Names(site), site.counted
    length = f"Content-Length: {len(ticket)}"
    answer = sent(
        site.settings.stop_port, request("POST /api/reset HTTP/1.1", names.host, names.origin, length, body=ticket)
    )
    assert statuses(answer) == [403]
    assert site.counted == before


@pytest.mark.parametrize("page", [b"observer", b"", b"nobody", b"\xff", b"operator\0", b"x" * 300])
def test_only_the_operators_page_gets_a_ticket(site: Site, page: bytes) -> None:
    names = Names(site)
    length = f"Content-Length: {len(page)}"
    answer = sent(
        site.settings.port, request("POST /safety/ticket HTTP/1.1", names.page_host, names.origin, length, body=page)
    )
    assert statuses(answer) == [403]
    assert b'"ticket"' not in answer


@pytest.mark.parametrize(
    "smuggled",
    [
        "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 0\r\nContent-Length: 4\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 0\r\nTransfer-Encoding:\x0bchunked\r\n\r\n",
        "Content-Length: zero\r\n\r\n",
        "Content-Length: 0\n\n",
        "X: y\r\n\r\n",
    ],
)
def test_a_second_request_behind_a_refused_one_is_only_its_own(site: Site, smuggled: str) -> None:
    """What follows a request that is ambiguous is not answered at all: the connection is closed."""
    names, before = Names(site), site.counted
    first = f"POST /api/beat HTTP/1.1\r\n{names.host}\r\nOrigin: http://evil.example\r\n{smuggled}".encode("latin-1")
    second = request("POST /api/stop HTTP/1.1", names.host, "Origin: http://evil.example", EMPTY)
    answer = sent(site.settings.stop_port, first + second)
    assert all(status >= 400 for status in statuses(answer))
    assert site.counted == before


def test_a_body_is_no_second_request(site: Site) -> None:
    names, before = Names(site), site.counted
    inner = request("POST /api/stop HTTP/1.1", names.host, names.origin, EMPTY)
    outer = request("GET /api/beat HTTP/1.1", names.host, f"Content-Length: {len(inner)}", body=inner)
    assert statuses(sent(site.settings.stop_port, outer)) == [200]
    assert site.counted == before


@pytest.mark.parametrize(
    "garbage", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 64, b"\0" * 4096, b"\r\n" * 9000]
)
def test_what_is_no_http_is_closed(site: Site, garbage: bytes) -> None:
    assert all(status >= 400 for status in statuses(sent(site.settings.stop_port, garbage)))


def test_slow_clients_are_let_go(site: Site) -> None:
    names, before = Names(site), site.counted
    slow = [
        b"",
        f"POST /api/stop HTTP/1.1\r\n{names.host}\r\n".encode(),
        f"POST /api/reset HTTP/1.1\r\n{names.host}\r\n{names.origin}\r\nContent-Length: 76\r\n\r\nx".encode(),
    ]
    connections = []
    for beginning in slow:
        connection = socket.create_connection(("127.0.0.1", site.settings.stop_port), PATIENCE_S)
        connection.sendall(beginning)
        connections.append(connection)
    for connection in connections:
        with contextlib.suppress(ConnectionError):
            assert b"200" not in connection.recv(4096)
        connection.close()
    assert site.counted == before


def test_connections_that_say_nothing_keep_no_stop_out(site: Site) -> None:
    names, before = Names(site), site.counted
    held = [socket.create_connection(("127.0.0.1", site.settings.stop_port), PATIENCE_S) for _ in range(60)]
    answer = sent(site.settings.stop_port, request("POST /api/stop HTTP/1.1", names.host, names.origin, EMPTY))
    for connection in held:
        connection.close()
    assert statuses(answer) == [200]
    assert site.counted == (before[0] + 1, *before[1:])


def test_a_flood_of_stops_is_answered_each() -> None:
    answers: list[bytes] = []
    with site_of(strangers=new_gate().places) as site:
        names = Names(site)
        stop = request("POST /api/stop HTTP/1.1", names.host, names.origin, EMPTY)

        def press() -> None:
            answers.append(sent(site.settings.stop_port, stop, silence_s=PATIENCE_S))

        threads = [threading.Thread(target=press) for _ in range(60)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        assert site.robot.stops == 60
    assert [statuses(answer) for answer in answers] == [[200]] * 60


# -- websockets of the pages -----------------------------------------------------------------------


def handshake(host: str, *headers: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return "\r\n".join(
        [
            "GET /ws HTTP/1.1",
            host,
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Key: {key}",
            *headers,
            "",
            "",
        ]
    ).encode()


def frame(payload: bytes) -> bytes:
    """A text frame of a client, masked with zeros."""
    size = len(payload)
    length = bytes([128 | size]) if size < 126 else bytes([128 | 126]) + size.to_bytes(2, "big")
    return b"\x81" + length + b"\0\0\0\0" + payload


@pytest.mark.parametrize(
    "headers",
    [[], ["Origin: http://evil.example"], ["Origin: null"], ["{origin}", "Origin: http://evil.example"]],
    ids=["no origin", "another site", "null", "two"],
)
def test_a_websocket_of_another_site_is_refused(site: Site, headers: list[str]) -> None:
    names, before = Names(site), site.socket_messages
    filled = [names.origin if header == "{origin}" else header for header in headers]
    assert statuses(sent(site.settings.port, handshake(names.page_host, *filled) + frame(b"x"))) in ([403], [400])
    assert statuses(sent(site.settings.port, handshake("Host: evil.example", names.origin))) == [403]
    assert site.socket_messages == before


@pytest.mark.parametrize(
    ("messages", "code", "heard"),
    [([b"x"] * 400, 1008, 51), ([b"x" * 5000], 1009, 1)],
    ids=["a flood", "too large"],
)
def test_a_websocket_that_floods_is_closed(site: Site, messages: list[bytes], code: int, heard: int) -> None:
    names, before = Names(site), site.socket_messages
    with socket.create_connection(("127.0.0.1", site.settings.port), PATIENCE_S) as connection:
        connection.sendall(handshake(names.page_host, names.origin))
        assert statuses(connection.recv(4096)) == [101]
        connection.sendall(b"".join(map(frame, messages)))
        assert connection.recv(4096)[2:4] == code.to_bytes(2, "big")
    assert site.socket_messages - before <= heard


def test_a_websocket_has_no_deadline(site: Site) -> None:
    names, before = Names(site), site.socket_messages
    with socket.create_connection(("127.0.0.1", site.settings.port), PATIENCE_S) as connection:
        connection.sendall(handshake(names.page_host, names.origin))
        assert statuses(connection.recv(4096)) == [101]
        time.sleep(3 * DEADLINE_S)
        connection.sendall(frame(b"still here"))
        until(lambda: site.socket_messages == before + 2)


# -- what answers say ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/nothing", "/safety/strip.js", "/safety/%3Cscript%3Ealert(1)%3C/p%3E", "/stop"])
@pytest.mark.parametrize("which", [0, 1], ids=["pages", "stop server"])
def test_every_answer_may_only_be_framed_by_an_own_page_and_runs_no_foreign_script(
    site: Site, path: str, which: int
) -> None:
    answer = sent(site.ports[which], request(f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{site.ports[which]}"))
    head, _, body = answer.partition(b"\r\n\r\n")
    headers = dict(re.findall(r"^([\w-]+): (.*?)\r?$", head.decode().lower(), re.MULTILINE))
    policy = headers["content-security-policy"]
    assert headers["x-frame-options"] == "sameorigin"
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'self'" in policy
    assert "default-src 'none'" in policy
    assert "'unsafe-inline'" not in re.sub(r"style-src [^;]*", "", policy)
    assert "http://evil" not in policy
    assert b"alert(1)" not in body
    assert "server" not in headers
    nonce = re.search(r"'nonce-([\w-]+)'", head.decode())
    for script in re.findall(rb"<script[^>]*>", body):
        assert nonce is not None
        assert f'nonce="{nonce[1]}"'.encode() in script


# -- the login -------------------------------------------------------------------------------------


def log_in(site: Site, token: str, path: str = "/login") -> bytes:
    names, body = Names(site), f"token={token}".encode()
    kind = "Content-Type: application/x-www-form-urlencoded"
    return sent(
        site.settings.port,
        request(
            f"POST {path} HTTP/1.1", names.page_host, names.origin, kind, f"Content-Length: {len(body)}", body=body
        ),
    )


def test_a_login_shows_nothing_of_itself(
    locked: Site, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    names = Names(locked)
    stop = request("POST /api/stop HTTP/1.1", names.host, names.origin, EMPTY)
    assert statuses(sent(locked.settings.stop_port, stop)) == [401]
    assert locked.robot.stops == 0
    answer = log_in(locked, TOKEN, "/login?next=//evil.example/")
    assert statuses(answer) == [303]
    head = answer.partition(b"\r\n\r\n")[0].decode()
    assert re.search(r"(?im)^location: /\r?$", head)
    cookie = re.search(r"(?im)^set-cookie: (.*?)\r?$", head)
    assert cookie is not None
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie[1].split("; "))
    assert "Domain" not in cookie[1]
    value = cookie[1].partition(";")[0]
    for port, path in ((locked.settings.port, "/"), (locked.settings.stop_port, "/stop")):
        page = sent(port, request(f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Cookie: {value}"))
        assert statuses(page) == [200], "one login is enough for both ports"
        assert TOKEN.encode() not in page
        assert value.encode() not in page
    assert statuses(sent(locked.settings.stop_port, stop.replace(b"\r\n\r\n", f"\r\nCookie: {value}\r\n\r\n".encode())))
    assert statuses(
        sent(
            locked.settings.stop_port,
            request("POST /api/stop HTTP/1.1", names.host, "Origin: http://evil.example", EMPTY, f"Cookie: {value}"),
        )
    ) == [403], "a cookie does not help another site"
    shown = "".join(capfd.readouterr()) + caplog.text
    assert TOKEN not in shown
    assert value not in shown


def test_guessing_the_token_is_slowed_down(locked: Site) -> None:
    found = [status for number in range(12) for status in statuses(log_in(locked, f"guess-{number}"))]
    assert found.count(401) <= 6
    assert found[-1] == 429
    assert 303 not in found


@pytest.mark.parametrize("cookie", ["=", "=1.2.3", "=" + "9" * 4000, "=\xff", "=x; toolhand=y"])
def test_a_cookie_that_was_not_given_shows_nothing(locked: Site, cookie: str) -> None:
    names = Names(locked)
    for port, host in zip(locked.ports, (names.page_host, names.host), strict=True):
        answer = sent(port, request("GET / HTTP/1.1", host, "Accept: text/html", f"Cookie: toolhand{cookie}"))
        assert statuses(answer) == [401]
        assert b"safety-strip" not in answer


def test_nothing_was_commanded(site: Site, locked: Site) -> None:
    assert site.commands == locked.commands == []
