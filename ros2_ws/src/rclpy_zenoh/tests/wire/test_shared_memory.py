"""Shared memory that is too small, not writable, missing or fails later: a sentence, and messages go another way."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from wire_support import RELIABLE, SetBool, String, wait_until

from rclpy_zenoh.wire import SessionOptions, WireError, WireSession, shared_memory

NewSession = Callable[[SessionOptions], WireSession]
Filesystem = Callable[..., None]


class PanicException(BaseException):
    """As pyo3 raises it where Rust panics; its own class cannot be imported."""


def panic(*args: Any, **kwargs: Any) -> Any:
    raise PanicException("called `Result::unwrap()` on an `Err` value")


@pytest.fixture
def filesystem(monkeypatch: pytest.MonkeyPatch) -> Filesystem:
    """Makes the folder of shared memory look otherwise."""

    def look(free: int = 1 << 30, flags: int = 0, error: type[Exception] | None = None) -> None:
        def statvfs(path: str) -> Any:
            assert path == shared_memory.FOLDER
            if error is not None:
                raise error
            return SimpleNamespace(f_flag=flags, f_bavail=free // 4096, f_frsize=4096)

        monkeypatch.setattr(shared_memory.os, "statvfs", statvfs)

    return look


@pytest.mark.parametrize(
    ("look", "words"),
    [
        ({"free": 64 << 20}, "has 64 MB free, and 128 MB are needed"),
        ({"free": (128 << 20) - 4096}, "has 127 MB free"),
        ({"free": 0}, "has 0 MB free"),
        ({"flags": os.ST_RDONLY}, "cannot be written to"),
        ({"error": FileNotFoundError}, "is missing"),
    ],
)
def test_too_little_shared_memory_is_done_without_and_the_log_says_how_to_have_more(
    options: SessionOptions,
    new_session: NewSession,
    filesystem: Filesystem,
    wire_log: pytest.LogCaptureFixture,
    look: dict[str, Any],
    words: str,
) -> None:
    filesystem(**look)
    assert not new_session(replace(options, shared_memory=True)).options.shared_memory
    (said,) = wire_log.messages
    assert words in said
    assert "docker run --shm-size=256m" in said
    assert "RCLPY_ZENOH_SHM=0" in said


@pytest.mark.parametrize("may_lock", [False, True])
def test_shared_memory_is_used_where_there_is_room_and_this_user_may_lock_it(
    options: SessionOptions,
    new_session: NewSession,
    filesystem: Filesystem,
    monkeypatch: pytest.MonkeyPatch,
    wire_log: pytest.LogCaptureFixture,
    may_lock: bool,
) -> None:
    filesystem(free=shared_memory.NEEDED_BYTES)
    monkeypatch.setattr(shared_memory, "_may_lock", lambda size: may_lock)
    assert new_session(replace(options, shared_memory=True)).options.shared_memory is may_lock
    assert [record.levelno for record in wire_log.records] == ([] if may_lock else [logging.INFO])


def test_more_than_the_limit_of_locked_memory_may_not_be_locked_and_a_page_may() -> None:
    assert shared_memory._may_lock(4096)
    assert not shared_memory._may_lock(1 << 45)


def test_a_panic_of_zenoh_is_an_error_of_whoever_publishes_or_calls(session: WireSession) -> None:
    node = session.create_node("here")
    publisher = node.create_publisher("/chatter", String, RELIABLE)
    publisher._publisher = SimpleNamespace(put=panic, undeclare=lambda: None)
    with pytest.raises(WireError, match=r"^/chatter cannot be published: zenoh has broken down"):
        publisher.publish(String(data="x"))
    client = node.create_client("/switch", SetBool, RELIABLE, lambda: None)
    client._querier = SimpleNamespace(get=panic, undeclare=lambda: None)
    with pytest.raises(WireError, match=r"^/switch cannot be called: zenoh has broken down"):
        client.send_request(SetBool.Request(data=True))
    assert not client._waiting


def test_a_server_whose_reply_panics_says_so_and_goes_on(
    session: WireSession, wire_log: pytest.LogCaptureFixture
) -> None:
    node = session.create_node("here")
    server = node.create_service("/switch", SetBool, RELIABLE, lambda: None)
    client = node.create_client("/switch", SetBool, RELIABLE, lambda: None)
    wait_until(client.service_is_ready)
    client.send_request(SetBool.Request(data=True))
    _, header = wait_until(server.take_request)
    query = server._unanswered[header.ticket]
    server._unanswered[header.ticket] = SimpleNamespace(reply=panic, drop=query.drop)  # type: ignore[assignment]
    server.send_response(header, SetBool.Response(success=True))
    assert any("/switch: dropped a reply: zenoh has broken down" in message for message in wire_log.messages)
    _, answer = wait_until(client.take_response)
    assert isinstance(answer, WireError)
