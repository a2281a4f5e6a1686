"""A web page in the operator's browser reaches no server of this machine that asks for no token."""

import asyncio
from typing import Any

import pytest

from toolhand.training.adapters.loopback_gate import LoopbackGate

OWN = [[(b"host", host)] for host in (b"127.0.0.1:8000", b"localhost", b"LOCALHOST:8000", b"[::1]:8000", b"127.0.0.1")]
STRANGE: list[list[tuple[bytes, bytes]]] = [
    [],
    *(
        [(b"host", host)]
        for host in (
            b"evil.example",
            b"127.0.0.1.evil.example",
            b"evil.example:8000",
            b"localhost.evil.example",
            b"127.0.0.1@evil",
            b"evil@127.0.0.1",
            b"127.0.0.1/evil",
            b"127.0.0.1?evil",
            b"0.0.0.0",
            b"192.0.2.2:8000",
            b"[::]:8000",
            b"",
            b"\xff",
            b"[",
            b"127.1",
            b"2130706433",
            b"127.0.0.1 evil",
        )
    ),
    [(b"host", b"127.0.0.1"), (b"host", b"evil.example")],
    [(b"host", b"127.0.0.1"), (b"host", b"127.0.0.1")],
    *(
        [(b"host", b"127.0.0.1:8000"), (b"origin", origin)]
        for origin in (
            b"https://evil.example",
            b"null",
            b"",
            b"http://localhost:3000",
            b"http://127.0.0.1:8000",
            b"file://",
        )
    ),
    [(b"host", b"localhost"), (b"Origin", b"https://evil.example")],
    [(b"host", b"localhost"), (b"sec-websocket-origin", b"https://evil.example")],
]


def answered(kind: str, headers: list[tuple[bytes, bytes]]) -> tuple[bool, list[dict[str, Any]]]:
    """Whether what is behind the gate was asked, and what was sent."""
    asked, sent = [], []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope)

    async def receive() -> dict[str, Any]:
        return {"type": f"{kind}.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(LoopbackGate(app)({"type": kind, "headers": headers}, receive, send))
    return bool(asked), sent


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("headers", OWN, ids=str)
def test_programs_of_this_machine_are_let_in(headers: list[tuple[bytes, bytes]], kind: str) -> None:
    assert answered(kind, headers) == (True, [])


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("headers", STRANGE, ids=str)
def test_pages_and_other_names_are_refused(headers: list[tuple[bytes, bytes]], kind: str) -> None:
    asked, sent = answered(kind, headers)
    assert not asked
    assert sent[0]["type"] == ("http.response.start" if kind == "http" else "websocket.close")
    assert sent[0].get("status") == (403 if kind == "http" else None)
