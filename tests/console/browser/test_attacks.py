"""The pages as they are served, under attack by whoever observes: the others go on, the operator's terminal stays his,
and pages that end come back afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import msgspec.msgpack
import pytest
import viser
import viser._messages
import websockets.sync.client
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.console.browser.conftest import Served, serving
from tests.waiting import until

ESCAPE = "\x1b[2K\x1b[1A\x1b[31mStopped: all joints were measured at rest.\x1b[0m\r"
OBSERVERS = 6
"""Places of observers here, instead of 64 [-]."""
LINES = 12
"""Lines that an attack may leave on the operator's terminal [-]: one in ten seconds, and what a handler refuses."""


class Attacked:
    """A console with its keeper, as it is attacked."""

    def __init__(self, served: Served, errors: Path) -> None:
        self.served, self._errors, self._read = served, errors, 0
        self.pid = self.ask_pid()

    def ask_pid(self) -> int:
        process = self.served.process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    def said(self) -> list[str]:
        """What came to the terminal since the last look."""
        text = self._errors.read_bytes().decode(errors="replace")
        new, self._read = text[self._read :], len(text)
        return new.split("\n")[:-1]

    def get(self, path: str = "/", method: str = "GET", timeout_s: float = 20.0) -> httpx.Response:
        headers = {"origin": self.served.url, "content-length": "0"} if method == "POST" else {}
        return httpx.request(method, self.served.url + path, headers=headers, timeout=timeout_s, trust_env=False)

    @contextlib.contextmanager
    def socket(self, path: str, **options: Any) -> Iterator[websockets.sync.client.ClientConnection]:
        address = self.served.url.replace("http", "ws", 1) + path
        with websockets.sync.client.connect(address, origin=self.served.url, proxy=None, **options) as connection:
            yield connection

    @contextlib.contextmanager
    def page(self, tab: str = "", observe: bool = True) -> Iterator[Page]:
        """A page without a browser, which has entered."""
        html = self.get().text
        name = re.search(r"client_id['\"]?: *['\"]([0-9a-f-]{36})", html)
        assert name is not None, html[:3000]
        query = {
            "client_id": name[1],
            "next_message_id": "0",
            "implicit_handshake": "true",
            "document_id": str(uuid.uuid4()),
            "tab_id": str(uuid.uuid4()),
            "old_tab_id": "null",
            "EIO": "4",
            "transport": "websocket",
        }
        with self.socket(f"/_nicegui_ws/socket.io/?{urlencode(query)}") as connection:
            connection.send("40")
            page = Page(name[1], html, connection)
            page.event("enter", json.dumps({"tab": tab, "observe": observe}))
            threading.Thread(target=page.live, daemon=True).start()
            yield page


class Page:
    """A page without a browser."""

    def __init__(self, name: str, html: str, connection: websockets.sync.client.ClientConnection) -> None:
        self.name, self.connection = name, connection
        self.listeners: list[tuple[int, str, str]] = []
        plain = html.replace("&quot;", '"').replace("\\u0022", '"')
        for number, events in re.findall(r'"(\d+)":\{[^{}]*?"events":(\[.*?\])[,}]', plain):
            found = re.findall(r'"listener_id":"([0-9a-f-]{36})","type":"([\w:-]+)"', events)
            self.listeners += [(int(number), listener, kind) for listener, kind in found]

    def event(self, kind: str, *arguments: str | None) -> None:
        """An event at every element that hears it."""
        for number, listener, heard in self.listeners:
            if heard == kind:
                self.send(number, listener, *arguments)

    def send(self, number: int, listener: str, *arguments: str | None) -> None:
        document = {"id": number, "client_id": self.name, "listener_id": listener, "args": arguments}
        self.connection.send("42" + json.dumps(["event", document]))

    def live(self) -> None:
        """Beat and answer pings, as long as there is a connection."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                self.connection.send("3")
                self.event("beat", None)
                time.sleep(1.0)

    def hears(self, text: str) -> None:
        """Until the page was told something."""
        until(lambda: text in str(self.connection.recv(timeout=20.0)))


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    folder = tmp_path_factory.mktemp("attacked")
    with serving(folder, {"MOST_OBSERVERS": str(OBSERVERS)}, script="keeping.py") as served:
        yield Attacked(served, folder / "errors.txt")


# -- the attacks ---------------------------------------------------------------------------------------


def tell_viser(site: Attacked) -> None:
    """A tunnel, uploads, clicks, scripts: everything that viser can be told, and what is nothing."""
    kinds = [kind.__name__ for kind in viser._messages.Message.get_subclasses()]
    assert "ShareUrlRequest" in kinds
    version = [f"viser-v{viser.__version__}"]
    with site.socket("/scene", subprotocols=version, max_size=None) as connection:
        for kind in ("ShareUrlRequest", *kinds[:150]):
            connection.send(msgspec.msgpack.encode({"type": kind}))
            connection.send(msgspec.msgpack.encode({"type": kind, "uuid": "x", "updates": {}}))
        for nothing in (b"", b"\xc1", b"\x91" * 10_000, ESCAPE, "text"):
            connection.send(nothing)
        connection.recv(timeout=20.0)  # the scene itself
        connection.ping().wait(20.0)
    for offered in (["x"], ["viser-v0"], ["viser-v0", f"viser-v{viser.__version__}"]):
        with (
            pytest.raises((InvalidStatus, ConnectionClosed)),
            site.socket("/scene", subprotocols=offered) as connection,
        ):
            connection.recv(timeout=5.0)


def tell_nicegui(site: Attacked) -> None:
    """Lines for the log, packets that are none, elements and listeners that are not there."""
    with site.page() as page:
        page.hears("operators")
        for level in ("debug", "info", "warning", "error", "critical", "__class__"):
            for message in (ESCAPE, "x" * 10_000, {"a": ESCAPE}):
                log = {"client_id": page.name, "level": level, "message": message}
                page.connection.send("42" + json.dumps(["log", log]))
        for packet in ("42[", "451-[]", "44{}", "9", "", "40/x,", "42[null]", b"\x00", "430[]", '42["x",{}]'):
            page.connection.send(packet)
        for _ in range(100):
            page.send(10**9, str(uuid.uuid4()), None)
        for number, _, _ in page.listeners:
            page.send(
                number, str(uuid.uuid4()), '"' + ESCAPE.encode("unicode_escape").decode().replace("\\x", "\\u00") + '"'
            )
        page.event("beat", None)
        page.connection.ping().wait(20.0)


def send_odd_values(site: Attacked) -> None:
    """Every element of every page gets values of another kind."""
    odd = (
        "null",
        '"1.0"',
        "1e300",
        "-1",
        "true",
        "[]",
        "{}",
        '{"key": 1, "image_x": "x"}',
        '["a", null]',
        '"' + "x" * 20_000 + '"',
    )
    with site.page() as page:
        page.hears("operators")
        for number, listener, _ in page.listeners:
            for value in odd:
                page.send(number, listener, value)
                time.sleep(0.01)
            page.send(number, listener)
            page.send(number, listener, *["1"] * 4)
        page.connection.ping().wait(20.0)


def ask_for_nothing(site: Attacked) -> None:
    """A thousand requests for what is not there, while a page is open."""
    with site.page() as page:
        flood = [threading.Thread(target=_ask_often, args=(site, 125, k)) for k in range(8)]
        for thread in flood:
            thread.start()
        for _ in range(3):
            page.event("beat", None)
            page.connection.ping().wait(5.0)
        for thread in flood:
            thread.join()


def _ask_often(site: Attacked, count: int, which: int) -> None:
    headers = {"origin": site.served.url}
    with httpx.Client(base_url=site.served.url, headers=headers, timeout=60.0, trust_env=False) as client:
        for k in range(count):
            answer = client.request("POST" if which % 2 else "GET", f"/nothing/{which}/{k}/%1b%5b2K")
            assert answer.status_code == 404
            assert len(answer.content) < 100


def ask_for_pages(site: Attacked) -> None:
    """Hundreds of requests for a page at once, while one is open."""
    with site.page() as page:
        flood = [threading.Thread(target=_load_often, args=(site, 20)) for _ in range(12)]
        for thread in flood:
            thread.start()
        for _ in range(3):
            page.event("beat", None)
            page.connection.ping().wait(10.0)
        for thread in flood:
            thread.join()


def _load_often(site: Attacked, count: int) -> None:
    with httpx.Client(base_url=site.served.url, timeout=60.0, trust_env=False) as client:
        for _ in range(count):
            assert client.get("/").status_code in (200, 503)


def poll(site: Attacked) -> None:
    """The other transport of Engine.IO, and connections that nobody names."""
    for path in ("/_nicegui_ws/socket.io/?EIO=4&transport=polling", "/_nicegui_ws/x", "/_nicegui_ws/socket.io/"):
        for method in ("GET", "POST"):
            assert site.get(path, method).status_code == 404
    for path in ("/_nicegui_ws/socket.io/", "/_nicegui_ws/socket.io/?EIO=4&transport=websocket", "/x", "/"):
        with pytest.raises(InvalidStatus), site.socket(path):
            pass


def fill_the_seats(site: Attacked) -> None:
    """As many observers as there are places for, while the operator reloads."""
    with contextlib.ExitStack() as crowd:
        operator = contextlib.ExitStack()
        operator.enter_context(site.page("own", observe=False)).hears("operator")
        pages = [crowd.enter_context(site.page(f"crowd {k}")) for k in range(OBSERVERS + 2)]
        pages[-1].hears("pages observe already")
        operator.close()
        for page in pages:
            page.event("beat", None)
        with site.page("own", observe=False) as back:
            back.hears('"role":"operator"')


ATTACKS: dict[str, Callable[[Attacked], None]] = {
    each.__name__: each
    for each in (tell_viser, tell_nicegui, send_odd_values, ask_for_nothing, ask_for_pages, poll, fill_the_seats)
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_after_an_attack_the_terminal_is_clean_and_pages_that_end_come_back(
    attacked: Attacked, attack: Callable[[Attacked], None]
) -> None:
    attacked.said()
    attack(attacked)
    lines = attacked.said()
    assert len(lines) <= LINES, lines
    assert all(line.isprintable() and len(line) < 320 and "Traceback" not in line for line in lines), lines
    assert not Path(f"/proc/{attacked.pid}/task/{attacked.pid}/children").read_text(), "nothing was started"
    assert attacked.get().status_code == 200
    os.kill(attacked.pid, signal.SIGKILL)
    until(lambda: attacked.ask_pid() != attacked.pid)
    attacked.pid = attacked.ask_pid()
    assert attacked.get(timeout_s=60.0).status_code == 200
    with attacked.page() as page:
        page.hears("operators")
