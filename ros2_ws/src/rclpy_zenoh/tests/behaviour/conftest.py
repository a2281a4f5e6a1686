"""Chooses the client under test (`--client`), gives every test its own domain, nodes and peers, and cleans up."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).resolve().parent
sys.path.append(str(_HERE))  # for `harness`; works in every import mode of pytest, and where only this folder is copied

CLIENTS = ("rclpy_zenoh", "rclpy")
_DOMAINS = range(1, 101)
"""Domain ids that every DDS implementation accepts on every system."""


def pytest_addoption(parser: pytest.Parser) -> None:
    with suppress(ValueError):  # a conftest further up registers it too, for runs of more than this folder
        parser.addoption("--client", choices=CLIENTS, default=CLIENTS[0], help="the rclpy under test")


def pytest_configure(config: pytest.Config) -> None:
    """Runs before the tests of this folder are imported, because they import rclpy at their top."""
    os.environ.setdefault("ROS_PYTHON_CHECK_FIELDS", "1")  # rosidl's classes check their fields only then
    if _client(config) == "rclpy_zenoh":
        from rclpy_zenoh import overlay

        overlay.install()


def _client(config: pytest.Config) -> str:
    return str(config.getoption("--client", default=CLIENTS[0]))


@pytest.fixture(scope="session")
def client(request: pytest.FixtureRequest) -> str:
    """Name of the client under test."""
    return _client(request.config)


@pytest.fixture(scope="session")
def _environment(client: str) -> Iterator[dict[str, str]]:
    """What the client needs in the environment to communicate; it is running."""
    if client == "rclpy":
        yield {}
        return
    from rclpy_zenoh.wire import start_router

    with start_router() as router:
        yield {"RCLPY_ZENOH_ROUTER": router.endpoint}


@pytest.fixture(scope="session")
def _domains() -> Iterator[int]:
    """Domain ids, one after the other, from a range that belongs to this worker of pytest-xdist."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    size = max(1, len(_DOMAINS) // workers)
    own = [_DOMAINS[(worker * size + index) % len(_DOMAINS)] for index in range(size)]

    def forever() -> Iterator[int]:
        while True:
            yield from own

    return forever()


@pytest.fixture(autouse=True)
def domain(_environment: dict[str, str], _domains: Iterator[int], monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The test's own domain, in the environment for this process and its peers; nothing of the test stays behind."""
    import rclpy
    from rclpy.signals import uninstall_signal_handlers

    number = next(_domains)
    for name, value in (_environment | {"ROS_DOMAIN_ID": str(number)}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("ROS_LOCALHOST_ONLY", raising=False)
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    yield number
    rclpy.try_shutdown()  # where the test has failed, or the next one could not call init
    uninstall_signal_handlers()  # Jazzy's try_shutdown leaves them installed


@pytest.fixture
def ros(domain: int) -> Iterator[Any]:
    """The default context, initialised, with an executor, nodes on request and waits that end: see `harness.Ros`."""
    from harness import Ros

    with Ros() as harness:
        yield harness


@pytest.fixture
def peer(client: str, domain: int) -> Iterator[Callable[..., Any]]:
    """`peer("echo.py", *args)` runs peers/echo.py in another process and returns once it is ready: `harness.Peer`."""
    from harness import Peer

    started: list[Peer] = []

    def start(script: str, *args: str) -> Peer:
        started.append(Peer(client, _HERE / "peers" / script, args))
        started[-1].expect("ready")
        return started[-1]

    yield start
    for one in started:
        one.stop()
