"""A router, a process with nodes worth looking at, and `ros(...)` to run one command against them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from rclpy_zenoh import overlay
from rclpy_zenoh.cli import main
from rclpy_zenoh.interfaces import use_distro

PEER = Path(__file__).with_name("peer.py")
SOURCE = Path(overlay.__file__).parents[1]
DOMAIN = str(40 + os.getpid() % 60)
START_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Outcome:
    """What a command returned and wrote."""

    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Child = Callable[..., subprocess.Popen[str]]


@pytest.fixture(autouse=True)
def pip_client() -> Iterator[None]:
    overlay.install()
    use_distro("jazzy")
    yield
    use_distro("jazzy")


def spawn(arguments: list[str], **more: object) -> subprocess.Popen[str]:
    """A Python process that finds the client."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen([sys.executable, *arguments], env=environment, text=True, **more)  # type: ignore[call-overload,no-any-return]


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdout, process.stderr, process.stdin):
        if stream is not None:
            stream.close()


@pytest.fixture(scope="session")
def router() -> Iterator[str]:
    from rclpy_zenoh.wire import start_router

    process = start_router()
    yield process.endpoint
    process.close()


@pytest.fixture(scope="session")
def graph(router: str) -> Iterator[list[str]]:
    """Options that lead a command to the peer's graph."""
    options = {"RCLPY_ZENOH_ROUTER": router, "ROS_DOMAIN_ID": DOMAIN}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in options.items():
            patch.setenv(name, value)
        peer = spawn(["-m", "rclpy_zenoh.run", str(PEER)], stdout=subprocess.PIPE)
    assert peer.stdout is not None
    assert peer.stdout.readline() == "ready\n"
    yield ["--router", router, "--domain", DOMAIN]
    end(peer)


@pytest.fixture
def ros(graph: list[str], capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs one command in this process."""

    def run(*arguments: str) -> Outcome:
        status = main([*graph, *arguments])
        captured = capfd.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run


@pytest.fixture
def spawned() -> Iterator[Child]:
    """Starts Python as a process of its own, for signals and pipes."""
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str) -> subprocess.Popen[str]:
        started.append(spawn([*arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE))
        return started[-1]

    yield run
    for process in started:
        end(process)


@pytest.fixture
def command(spawned: Child) -> Child:
    """Starts a command."""
    return partial(spawned, "-m", "rclpy_zenoh.cli")


@pytest.fixture
def child(graph: list[str], command: Child) -> Child:
    """Starts a command in the peer's graph."""
    return partial(command, *graph)
