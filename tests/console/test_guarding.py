"""The gate before the pages: who gets through, and what every answer says to the browser."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.console.asgi import Answer, Pairs, ask, speak
from toolhand.console.guarding import Guard, Limits, content_policy
from toolhand.console.login import Login
from toolhand.console.seats import Seats
from toolhand.console.settings import ConsoleSettings
from toolhand.console.strip import SCRIPT_PATH, STYLE_PATH, TICKET_PATH, SafetyRoutes, safety_strip_html
from toolhand.console.tickets import Tickets

TOKEN = "a token of length"
HOST: Pairs = [("host", "127.0.0.1:8080")]
OWN: Pairs = [*HOST, ("origin", "http://127.0.0.1:8080")]
PAGE = b'<html><script>let a = 1;</script><script type="module" src="/x.js"></script><scripted></html>'


class Pages:
    """What stands behind the gate."""

    def __init__(self, policy: str = "") -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.heard: list[Any] = []
        self.policy = policy

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append((scope["path"], {k.decode(): v.decode("latin-1") for k, v in scope["headers"]}))
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            while (message := await receive())["type"] != "websocket.disconnect":
                self.heard.append(message)
                await send({"type": "websocket.send", "text": "heard"})
            await send({"type": "websocket.send", "text": "too late"})
            return
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", b"5")]
        if self.policy:
            headers.append((b"content-security-policy", self.policy.encode()))
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": PAGE[:20], "more_body": True})
        await send({"type": "http.response.body", "body": PAGE[20:]})


def guarded(login: str = "", policy: str = "", **options: Any) -> tuple[Guard, Pages]:
    settings = ConsoleSettings(login=login)
    pages = Pages(policy)
    options.setdefault("sockets", {"/ws": lambda _: lambda message: message != "left out"})
    return Guard(pages, settings, Login(login, secure=False), 8080, **options), pages


def test_an_own_page_gets_through_with_a_policy_and_nonces() -> None:
    guard, pages = guarded()
    answer = ask(guard, headers=[*HOST, ("accept-encoding", "gzip"), ("x-forwarded-prefix", "//evil.example")])
    policy = answer.headers["content-security-policy"]
    nonce = re.search(r"'nonce-([\w-]{20,})'", policy)
    assert nonce is not None
    assert answer.body.count(f'<script nonce="{nonce[1]}"'.encode()) == 2
    assert b"<scripted>" in answer.body
    assert int(answer.headers["content-length"]) == len(answer.body)
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]
    assert "frame-ancestors 'self'" in policy
    assert "connect-src 'self' ws://127.0.0.1:8080 http://127.0.0.1:8081 " in policy
    assert "form-action 'self' http://127.0.0.1:8081" in policy
    for name, value in (
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "SAMEORIGIN"),
        ("referrer-policy", "strict-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ):
        assert answer.headers[name] == value
    assert not {"accept-encoding", "x-forwarded-prefix"} & set(pages.asked[0][1])
    assert ask(guard, headers=HOST).headers["content-security-policy"] != policy, "a nonce is used once"


def test_a_page_with_a_policy_of_its_own_gets_no_nonce() -> None:
    guard, _ = guarded(policy=content_policy({"sandbox": "", "img-src": "'self'"}))
    answer = ask(guard, headers=HOST)
    assert answer.body == PAGE
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    guard, _ = guarded(policy="sandbox")
    assert ask(guard, headers=HOST).headers["content-security-policy"] == "sandbox; frame-ancestors 'self'"


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", [], 421),
        ("GET", [("host", "127.0.0.1:8081")], 421),
        ("GET", [("host", "evil.example")], 421),
        ("GET", [("host", "127.0.0.1:8080.evil.example")], 421),
        ("GET", [("host", "127.0.0.1")], 421),
        ("GET", [("host", "\xff")], 421),
        ("GET", [*HOST, *HOST], 421),
        ("GET", [*HOST, ("origin", "http://evil.example")], 403),
        ("GET", [*HOST, ("origin", "null")], 403),
        ("GET", [*HOST, ("origin", "http://127.0.0.1:8080"), ("origin", "http://127.0.0.1:8080")], 403),
        ("GET", [*HOST, ("origin", "http://127.0.0.1:8081")], 403),
        ("GET", [*HOST, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")], 403),
        ("GET", [*HOST, ("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")], 403),
        (
            "GET",
            [*HOST, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")],
            403,
        ),
        ("POST", HOST, 403),
        ("POST", [*OWN, ("content-length", "2000000")], 413),
        ("POST", [*OWN, ("content-length", "9" * 400)], 413),
        ("POST", [*OWN, ("content-length", "-1")], 411),
        ("POST", [*OWN, ("content-length", "1"), ("content-length", "1")], 411),
        ("POST", [*OWN, ("transfer-encoding", "chunked")], 411),
        ("POST", [*OWN, ("content-length", "0"), ("transfer-encoding", "chunked")], 411),
        ("OPTIONS", [*HOST, ("origin", "http://evil.example")], 403),
        ("OPTIONS", HOST, 405),
        ("PUT", OWN, 405),
        ("DELETE", OWN, 405),
        ("TRACE", OWN, 405),
        ("CONNECT", OWN, 405),
    ],
)
def test_what_does_not_come_from_an_own_page_is_refused_unread(method: str, headers: Pairs, status: int) -> None:
    guard, pages = guarded()
    answer = ask(guard, method, headers=headers)
    assert answer.status == status
    assert pages.asked == []
    assert answer.body.endswith(b".")
    assert b"evil" not in answer.body
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    "headers",
    [
        HOST,
        OWN,
        [*HOST, ("sec-fetch-site", "same-origin")],
        [*HOST, ("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")],
        [*HOST, ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")],
        [("host", "LOCALHOST:8080")],
    ],
)
def test_own_pages_and_links_to_them_get_through(headers: Pairs) -> None:
    guard, pages = guarded()
    assert ask(guard, headers=headers).status == 200
    assert len(pages.asked) == 1


def test_the_other_port_of_the_console_may_read_answers_and_nobody_else() -> None:
    settings = ConsoleSettings()
    guard, _ = guarded(origins=settings.origins(8080) | settings.origins(8081))
    answer = ask(guard, headers=[*HOST, ("origin", "http://127.0.0.1:8081")])
    assert answer.headers["access-control-allow-origin"] == "http://127.0.0.1:8081"
    assert answer.headers["access-control-allow-credentials"] == "true"
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-origin" not in ask(guard, headers=OWN).headers


def log_in(guard: Guard, token: str, client: str = "127.0.0.1") -> Answer:
    return ask(guard, "POST", "/login", OWN, f"token={token.replace(' ', '+')}".encode(), client)


def test_without_a_login_nothing_is_shown() -> None:
    guard, pages = guarded(TOKEN)
    page = ask(guard, headers=[*HOST, ("accept", "text/html,*/*")])
    assert page.status == 401
    assert b"Login token" in page.body
    assert ask(guard, path="/pictures/scene.jpg", headers=HOST).body.startswith(b"Log in first")
    assert ask(guard, "POST", "/x", OWN).status == 401
    assert speak(guard, OWN).status == 1008
    assert pages.asked == []


def test_the_token_is_given_once_and_is_in_no_answer() -> None:
    guard, pages = guarded(TOKEN)
    answer = log_in(guard, TOKEN)
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert TOKEN.encode() not in b"".join(message.get("body", b"") for message in answer.sent)
    cookie = answer.headers["set-cookie"].partition(";")[0]
    assert ask(guard, headers=[*HOST, ("cookie", cookie)]).status == 200
    assert speak(guard, [*OWN, ("cookie", cookie)]).status == 101
    assert len(pages.asked) == 2
    assert ask(guard, headers=[*HOST, ("cookie", cookie[:-1] + "x")]).status == 401


def test_who_guesses_the_token_is_slowed_down() -> None:
    guard, _ = guarded(TOKEN)
    answers = [log_in(guard, f"guess {number}").status for number in range(8)]
    assert answers == [401] * 5 + [429] * 3
    assert log_in(guard, TOKEN).status == 429, "also where the guess is right"
    assert log_in(guard, TOKEN, client="192.0.2.1").status == 303
    assert ask(guard, "POST", "/login", OWN, b"token=" + b"x" * 2000, "192.0.2.2").status == 401
    assert ask(guard, "POST", "/login", OWN, b"\xff\xfe=&&&&&&&&&", "192.0.2.2").status in (400, 401)


def test_a_websocket_needs_an_origin_of_the_console() -> None:
    guard, pages = guarded()
    for headers in (
        HOST,
        [*HOST, ("origin", "http://evil.example")],
        [*HOST, ("origin", "null")],
        [("host", "evil:8080")],
    ):
        assert speak(guard, headers).status == 1008
    assert pages.asked == []
    assert speak(guard, OWN, ["a", b"b"]).status == 101
    assert len(pages.heard) == 3, "and what connected it"
    assert speak(guard, OWN, path="/another").status == 1008, "only the paths that have a rule"
    assert speak(guarded(sockets={"/ws": lambda _: None})[0], OWN).status == 1008


def test_a_message_that_does_not_pass_is_left_out_and_said_once_without_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    guard, pages = guarded()
    assert speak(guard, OWN, ["left out"] * 5 + ["a"]).status == 101
    assert [message["text"] for message in pages.heard[1:]] == ["a"]
    assert [record.getMessage().rpartition(" ")[2] for record in caplog.records] == ["1."]


@pytest.mark.parametrize(
    ("messages", "code", "heard"),
    [
        (["x" * 101], 1009, 0),
        ([b"x" * 101], 1009, 0),
        (["\u20ac" * 34], 1009, 0),
        (["x"] * 11, 1008, 10),
        (["x" * 100] * 10, 101, 10),
    ],
)
def test_a_websocket_that_says_too_much_is_closed(messages: list[str | bytes], code: int, heard: int) -> None:
    guard, pages = guarded(limits=Limits(message_bytes=100, messages_per_s=0.001, burst=10))
    answer = speak(guard, OWN, messages)
    assert answer.status == code
    assert len(pages.heard) == 1 + heard
    if code != 101:
        assert answer.sent[-1]["type"] == "websocket.close", "what the application says afterwards is not sent"


def test_the_strip_stands_alone_and_escapes_what_it_is_given() -> None:
    text = safety_strip_html(ConsoleSettings(), "localhost:8080", 'p"><script>alert(1)</script>')
    assert 'action="http://localhost:8081/api/stop"' in text
    assert "<script>alert" not in text
    assert text.count("<script") == 1
    assert not re.search(r"\son\w+=", text), "no inline handler"
    secure = ConsoleSettings(host="::1", certificate=Path("c"), key=Path("k"))
    assert 'data-stop="https://[::1]:8081"' in safety_strip_html(secure, "[::1]:8080")
    assert 'data-stop="http://[::1]:8081"' in safety_strip_html(ConsoleSettings(), "[::1]")


def test_only_the_operators_page_gets_a_ticket() -> None:
    seats, tickets, pages = Seats(), Tickets("01" * 32), Pages()
    seats.enter("page-a")
    seats.enter("page-b")
    app = SafetyRoutes(pages, seats, tickets)
    answer = ask(app, "POST", TICKET_PATH, HOST, b"page-a")
    assert answer.status == 200
    for body in (b"page-b", b"", b"\xff", b"x" * 1000):
        refused = ask(app, "POST", TICKET_PATH, HOST, body)
        assert refused.status == 403
        assert b"ticket" not in refused.body
    assert ask(app, "GET", TICKET_PATH, HOST).status == 404
    assert ask(app, "GET", "/safety/../settings.py", HOST).status == 404
    assert ask(app, "GET", SCRIPT_PATH, HOST).headers["content-type"].startswith("text/javascript")
    assert ask(app, "GET", STYLE_PATH, HOST).status == 200
    assert pages.asked == []
    ask(app, "GET", "/", HOST)
    assert len(pages.asked) == 1
