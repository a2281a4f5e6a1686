"""The client as `rclpy`, a router, a domain for each test, nodes that are spun in a thread, and second processes."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rclpy_zenoh import overlay

overlay.install()

PATIENCE_S = 20.0
"""Bounds how long a test waits for what must come; nothing is measured by it."""

_domains = itertools.count()


@pytest.fixture(scope="session")
def _router() -> Iterator[str]:
    from rclpy_zenoh.wire import start_router

    with start_router() as process:
        yield process.endpoint


@pytest.fixture
def domain(_router: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """A domain of the test's own, in the environment for this process and its peers."""
    number = next(_domains) % 230
    monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
    monkeypatch.setenv("RCLPY_ZENOH_ROUTER", _router)
    return number


class Ros:
    """A context with nodes that an executor spins in another thread."""

    def __init__(self, *args: str) -> None:
        import rclpy
        from rclpy.executors import MultiThreadedExecutor
        from rclpy.signals import SignalHandlerOptions

        self.context = rclpy.Context()
        rclpy.init(args=list(args), context=self.context, signal_handler_options=SignalHandlerOptions.NO)
        self.executor = MultiThreadedExecutor(4, context=self.context)
        self.failures: list[BaseException] = []
        self._nodes: list[Any] = []
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def _spin(self) -> None:
        from rclpy.executors import ExternalShutdownException, ShutdownException

        try:
            self.executor.spin()
        except (ExternalShutdownException, ShutdownException):
            pass
        except BaseException as error:
            self.failures.append(error)

    def node(self, name: str = "node", **options: Any) -> Any:
        """A node that is spun."""
        import rclpy

        self._nodes.append(rclpy.create_node(name, context=self.context, **options))
        self.executor.add_node(self._nodes[-1])
        return self._nodes[-1]

    def result(self, future: Any) -> Any:
        """The result of a future, once it is done."""
        self.wait(future.done)
        return future.result()

    def wait(self, condition: Callable[[], Any]) -> Any:
        """The condition's value once it is true."""
        deadline = time.monotonic() + PATIENCE_S
        while not (value := condition()):
            assert not self.failures, self.failures
            assert time.monotonic() < deadline, "waited in vain"
            time.sleep(0.002)
        return value

    def close(self) -> None:
        """End everything; a failure of a callback is a failure of the test."""
        self.executor.shutdown()
        for node in self._nodes:
            node.destroy_node()
        self.context.try_shutdown()
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()
        assert not self.failures, self.failures


@pytest.fixture
def new_ros(domain: int) -> Iterator[Callable[..., Ros]]:
    """`new_ros("--ros-args", ...)` gives another `Ros`."""
    started: list[Ros] = []

    def make(*args: str) -> Ros:
        started.append(Ros(*args))
        return started[-1]

    yield make
    for ros in started:
        ros.close()


@pytest.fixture
def ros(new_ros: Callable[..., Ros]) -> Ros:
    """A context with nodes that are spun."""
    return new_ros()


class Peer:
    """peer.py in a process of its own, in the role that is named."""

    def __init__(self, role: str, *args: str) -> None:
        script = Path(__file__).with_name("peer.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script), role, *args],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self.expect("ready")

    def expect(self, line: str) -> None:
        """Wait for a line of its output."""
        assert self.process.stdout is not None
        timer = threading.Timer(PATIENCE_S, self.process.kill)
        timer.start()
        try:
            found = self.process.stdout.readline().strip()
        finally:
            timer.cancel()
        assert found == line

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def peer(domain: int) -> Iterator[Callable[..., Peer]]:
    """`peer("action_server")` starts peer.py in that role and returns once it is ready."""
    started: list[Peer] = []

    def start(role: str, *args: str) -> Peer:
        started.append(Peer(role, *args))
        return started[-1]

    yield start
    for one in started:
        one.kill()
