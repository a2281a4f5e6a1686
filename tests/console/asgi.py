"""Requests to ASGI applications without a server: what is answered, and whether what is behind a gate was reached."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Pairs = Sequence[tuple[str | bytes, str | bytes]]


def raw(pairs: Pairs) -> list[tuple[bytes, bytes]]:
    def one(text: str | bytes) -> bytes:
        return text if isinstance(text, bytes) else text.encode("latin-1")

    return [(one(name), one(value)) for name, value in pairs]


@dataclass
class Answer:
    """What came back.

    Attributes:
        status: HTTP status; for a websocket 101, or the code that closed it.
        headers: By lower-case name.
        body: Everything that was sent.
        sent: Messages as they were sent.
    """

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    sent: list[dict[str, Any]] = field(default_factory=list)


def ask(
    app: Any, method: str = "GET", path: str = "/", headers: Pairs = (), body: bytes = b"", client: str = "127.0.0.1"
) -> Answer:
    """One HTTP request; Content-Length is added where there is a body or a POST and none is given."""
    pairs = raw(headers)
    if (body or method == "POST") and not any(
        name.lower() in (b"content-length", b"transfer-encoding") for name, _ in pairs
    ):
        pairs.append((b"content-length", str(len(body)).encode()))
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.lower(), value) for name, value in pairs],
        "client": (client, 50000),
        "scheme": "http",
        "http_version": "1.1",
    }
    answer = Answer()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        answer.sent.append(message)

    asyncio.run(app(scope, receive, send))
    for message in answer.sent:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = {name.decode().lower(): value.decode("latin-1") for name, value in message["headers"]}
        else:
            answer.body += message.get("body", b"")
    return answer


def speak(app: Any, headers: Pairs, messages: Sequence[str | bytes] = (), path: str = "/ws") -> Answer:
    """One websocket over which messages come at once."""
    scope = {
        "type": "websocket",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "client": ("127.0.0.1", 50000),
        "headers": [(name.lower(), value) for name, value in raw(headers)],
        "scheme": "ws",
    }
    answer = Answer()
    queue: list[dict[str, Any]] = [{"type": "websocket.connect"}]
    queue += [{"type": "websocket.receive", "bytes" if isinstance(m, bytes) else "text": m} for m in messages]
    queue.append({"type": "websocket.disconnect", "code": 1000})

    async def receive() -> dict[str, Any]:
        return queue.pop(0)

    async def send(message: Any) -> None:
        answer.sent.append(message)

    asyncio.run(app(scope, receive, send))
    kinds = [message["type"] for message in answer.sent]
    closed = [message["code"] for message in answer.sent if message["type"] == "websocket.close"]
    answer.status = closed[0] if closed else 101 if "websocket.accept" in kinds else 0
    return answer
