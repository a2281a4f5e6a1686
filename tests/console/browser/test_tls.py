"""The console behind TLS and a login, as it is served beyond this machine: in a browser, with its own certificate."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tests.console.browser.conftest import Served, serving
from tests.console.browser.test_talk import say
from tests.waiting import LONGEST_S, until
from toolhand.console.guarding import new_gate, server_options
from toolhand.console.settings import ConsoleSettings
from toolhand.console.stop_server import stop_app
from toolhand.console.stopping import StopAnswer, StopOutcome, StopStatus

TOKEN = "a-login-token-of-a-test-0123456789"


@dataclass
class Brake:
    """A robot that is stopped and allowed to move again."""

    latched: bool = False
    stops: int = 0

    def stop(self, done: Callable[[StopAnswer], None]) -> None:
        self.latched, self.stops = True, self.stops + 1
        done(StopAnswer(StopOutcome.STOPPED, "Stopped: all joints were measured at rest.", self.stops))

    def reset(self, done: Callable[[StopAnswer], None]) -> None:
        self.latched = False
        done(StopAnswer(StopOutcome.RESET, "Motions are allowed again."))

    def state(self) -> StopStatus:
        return StopStatus(True, "", self.latched, self.latched, self.stops)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """(certificate, key) for 127.0.0.1, signed by itself."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    return certificate, key


@contextmanager
def stop_server(settings: ConsoleSettings, brake: Brake) -> Iterator[None]:
    """The stop server of a console, in a thread."""
    gate = new_gate()
    options = server_options(settings, gate)
    app = stop_app(settings, brake, gate)
    server = uvicorn.Server(uvicorn.Config(app, port=settings.stop_port, lifespan="off", **options))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started)
    yield
    server.should_exit = True
    thread.join(LONGEST_S)


def test_a_browser_logs_in_over_tls_once_and_talks_and_stops(
    tmp_path: Path, files: tuple[Path, Path], browser: Any
) -> None:
    certificate, key = files
    with serving(tmp_path, login=TOKEN, certificate=certificate, key=key) as served:
        brake = Brake()
        with stop_server(served.settings, brake):
            context = browser.new_context(ignore_https_errors=True)
            page = context.new_page()
            page.set_default_timeout(1000 * LONGEST_S)
            _use(page, context, served, brake)
            context.close()
        assert served.settings.secret not in (tmp_path / "errors.txt").read_text(encoding="utf-8")


def _use(page: Any, context: Any, served: Served, brake: Brake) -> None:
    assert served.url.startswith("https://")
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    answer = page.goto(served.url)
    assert answer.status == 401
    assert page.get_by_test_id("safety-strip").count() == 0
    page.get_by_test_id("login-token").fill("another-token-0123456789")
    page.get_by_test_id("login").click()
    page.get_by_text("This is not the login token.").wait_for()
    assert context.cookies() == []
    page.get_by_test_id("login-token").fill(TOKEN)
    page.get_by_test_id("login").click()
    page.get_by_test_id("composer").wait_for()
    (cookie,) = (each for each in context.cookies() if "toolhand" in each["name"])
    assert cookie["name"] == "__Host-toolhand"
    assert (cookie["secure"], cookie["httpOnly"], cookie["sameSite"]) == (True, True, "Strict")
    assert TOKEN not in page.url + page.content() + cookie["value"]
    assert cookie["value"] not in page.evaluate("document.cookie")

    say(page, "hello robot")
    page.get_by_test_id("entry-ended").filter(has_text="hello robot").wait_for()
    assert sockets
    assert all(url.startswith("wss://127.0.0.1:") for url in sockets)

    page.locator("#safety-strip[data-state=ready]").wait_for()
    page.get_by_test_id("stop").click()
    page.locator("#safety-strip[data-state=stopped]").wait_for()
    assert brake.stops == 1
    page.get_by_test_id("reset").click()
    page.get_by_test_id("reset-yes").click()
    page.locator("#safety-strip[data-state=ready]").wait_for()
    assert not brake.latched

    page.goto(f"{served.settings.address(served.settings.stop_port)}/stop")
    page.locator("#safety-strip[data-state=ready]").wait_for()
    page.get_by_test_id("stop").click()
    page.locator("#safety-strip[data-state=stopped]").wait_for()
    assert brake.stops == 2, "one login is enough for both ports"
