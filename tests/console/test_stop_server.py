"""The stop server: what it answers, and to whom."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.console.asgi import Pairs, ask
from toolhand.console.settings import ConsoleSettings
from toolhand.console.stop_server import stop_app
from toolhand.console.stopping import StopAnswer, StopOutcome, StopStatus
from toolhand.console.tickets import Tickets

SETTINGS = ConsoleSettings()
HOST: Pairs = [("host", "127.0.0.1:8081")]
PAGES: Pairs = [*HOST, ("origin", "http://127.0.0.1:8080")]
OWN: Pairs = [*HOST, ("origin", "http://127.0.0.1:8081")]


class FakeRobot:
    """Answers in another thread, as the graph does."""

    def __init__(self, *states: StopOutcome) -> None:
        self.states = list(states)
        self.asked: list[str] = []
        self.known = StopStatus(True, "", False, True, 3)

    def stop(self, done: Callable[[StopAnswer], None]) -> None:
        self._answer("stop", StopOutcome.STOPPED, done)

    def reset(self, done: Callable[[StopAnswer], None]) -> None:
        self._answer("reset", StopOutcome.RESET, done)

    def _answer(self, what: str, usual: StopOutcome, done: Callable[[StopAnswer], None]) -> None:
        self.asked.append(what)
        state = self.states.pop(0) if self.states else usual
        threading.Timer(0.01, done, [StopAnswer(state, f"<b>{what}</b>", 3)]).start()

    def state(self) -> StopStatus:
        return self.known


def stopped(*states: StopOutcome, settings: ConsoleSettings = SETTINGS) -> tuple[Any, FakeRobot]:
    robot = FakeRobot(*states)
    return stop_app(settings, robot), robot


@pytest.mark.parametrize("state", [StopOutcome.STOPPED, StopOutcome.UNCONFIRMED, StopOutcome.UNREACHABLE])
def test_a_stop_is_answered_with_what_came_of_it(state: StopOutcome) -> None:
    app, robot = stopped(state)
    answer = ask(app, "POST", "/api/stop", PAGES)
    read = json.loads(answer.body)
    assert (answer.status, read["state"], read["message"], read["stops"]) == (200, state, "<b>stop</b>", 3)
    assert answer.headers["access-control-allow-origin"] == "http://127.0.0.1:8080"
    assert answer.headers["cache-control"] == "no-store"
    assert robot.asked == ["stop"]


def test_a_stop_without_scripts_is_answered_with_a_page() -> None:
    app, _ = stopped(StopOutcome.UNCONFIRMED)
    answer = ask(app, "POST", "/api/stop", [*PAGES, ("accept", "text/html")])
    assert b"NOT CONFIRMED. Use the emergency stop." in answer.body
    assert b"&lt;b&gt;stop" in answer.body


def test_the_heartbeat_says_what_is_known() -> None:
    app, robot = stopped()
    assert json.loads(ask(app, "GET", "/api/beat", PAGES).body) == {
        "graph": "reachable",
        "message": "",
        "latched": False,
        "confirmed": True,
        "stops": 3,
    }
    robot.known = StopStatus(False, "Nobody is there.")
    read = json.loads(ask(app, "GET", "/api/beat", PAGES).body)
    assert (read["graph"], read["message"], read["latched"]) == ("absent", "Nobody is there.", None)


def test_the_page_of_the_button_alone_needs_nothing_of_the_pages() -> None:
    app, _ = stopped()
    answer = ask(app, "GET", "/stop", HOST)
    assert answer.status == 200
    assert b'data-testid="stop"' in answer.body
    assert b'data-page=""' in answer.body, "no reset without an operator's page"
    for path in ("/safety/strip.js", "/safety/strip.css"):
        assert ask(app, "GET", path, HOST).status == 200
    assert ask(app, "GET", "/", HOST).headers["location"] == "/stop"


def test_a_reset_takes_a_ticket_of_the_operators_page_once() -> None:
    app, robot = stopped()
    ticket = Tickets(SETTINGS.secret).issue().encode()
    answer = ask(app, "POST", "/api/reset", PAGES, ticket)
    assert json.loads(answer.body)["state"] == "reset"
    for body in (ticket, b"", b"\xff", b"x" * 600, Tickets("00" * 32).issue().encode()):
        refused = ask(app, "POST", "/api/reset", PAGES, body)
        assert refused.status == 403
        assert json.loads(refused.body)["message"]
    assert robot.asked == ["reset"]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("POST", "/api/stop", HOST, 403),
        ("POST", "/api/stop", [*HOST, ("origin", "http://evil.example")], 403),
        ("POST", "/api/stop", [*HOST, ("origin", "null")], 403),
        ("POST", "/api/stop", [("host", "evil.example"), ("origin", "http://127.0.0.1:8081")], 421),
        ("GET", "/api/stop", OWN, 404),
        ("GET", "/api/reset", OWN, 404),
        ("HEAD", "/api/stop", OWN, 404),
        ("OPTIONS", "/api/stop", [*HOST, ("origin", "http://evil.example")], 403),
        ("POST", "/api/beat", OWN, 404),
        ("POST", "/api/stop/", OWN, 404),
        ("POST", "/API/STOP", OWN, 404),
        ("GET", "/safety/../stop_server.py", HOST, 404),
        ("GET", "/safety/%2e%2e/settings.py", HOST, 404),
        ("GET", "/favicon.ico", HOST, 404),
    ],
)
def test_nothing_else_is_answered(method: str, path: str, headers: Pairs, status: int) -> None:
    app, robot = stopped()
    assert ask(app, method, path, headers).status == status
    assert robot.asked == []


def test_a_preflight_of_an_own_page_is_answered_and_stops_nothing() -> None:
    app, robot = stopped()
    answer = ask(app, "OPTIONS", "/api/stop", [*PAGES, ("access-control-request-method", "POST")])
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "http://127.0.0.1:8080"
    assert robot.asked == []


def test_a_login_that_is_over_still_stops_the_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ConsoleSettings(login="a token of length")
    app, robot = stopped(settings=settings)
    login = ask(app, "POST", "/login", OWN, b"token=a+token+of+length")
    assert login.headers["location"] == "/stop"
    cookie = ("cookie", login.headers["set-cookie"].partition(";")[0])
    assert ask(app, "POST", "/api/stop", PAGES).status == 401
    assert ask(app, "GET", "/api/beat", [*PAGES, cookie]).status == 200
    monkeypatch.setattr(app._login, "_clock", lambda: 1e12)
    assert ask(app, "GET", "/api/beat", [*PAGES, cookie]).status == 401
    assert ask(app, "POST", "/api/reset", [*PAGES, cookie], b"").status == 401
    assert ask(app, "POST", "/api/stop", [*PAGES, cookie]).status == 200
    assert robot.asked == ["stop"]
