"""A router, sessions that are closed at the end, and a second process to talk to."""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # for `wire_support`, in every import mode of pytest

from wire_support import Peer

from rclpy_zenoh.wire import RouterProcess, SessionOptions, WireSession, open_session, start_router

_domains = itertools.count()


@pytest.fixture(scope="module")
def router() -> Iterator[RouterProcess]:
    with start_router() as process:
        yield process


@pytest.fixture
def options(router: RouterProcess) -> SessionOptions:
    """Options with a domain of the test's own."""
    return SessionOptions(domain=next(_domains) % 233, router=router.endpoint)


@pytest.fixture
def new_session() -> Iterator[Callable[[SessionOptions], WireSession]]:
    opened: list[WireSession] = []

    def make(options: SessionOptions) -> WireSession:
        opened.append(open_session(options))
        return opened[-1]

    yield make
    for session in opened:
        session.close()


@pytest.fixture
def session(options: SessionOptions, new_session: Callable[[SessionOptions], WireSession]) -> WireSession:
    return new_session(options)


@pytest.fixture
def new_peer() -> Iterator[Callable[[SessionOptions], Peer]]:
    started: list[Peer] = []

    def make(options: SessionOptions) -> Peer:
        started.append(Peer(options))
        return started[-1]

    yield make
    for peer in started:
        if peer.process.poll() is None:
            assert peer.close() == 0
        else:
            for stream in (peer.process.stdin, peer.process.stdout):
                if stream is not None:
                    stream.close()


@pytest.fixture
def peer(options: SessionOptions, new_peer: Callable[[SessionOptions], Peer]) -> Peer:
    return new_peer(options)


@pytest.fixture
def wire_log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="rclpy_zenoh.wire")
    return caplog
