"""What the tests share: nodes that are cleaned up, waits that end with a sentence, and other processes."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

DEADLINE = 20.0
"""Seconds after which something that should happen counts as not happening."""
SHORT = 0.4
"""Seconds of watching that something does not happen."""


def wait_until(predicate: Callable[[], Any], what: str, timeout: float = DEADLINE) -> None:
    """Wait, without spinning anything, until `predicate` holds; `what` says what was waited for."""
    end = time.monotonic() + timeout
    while not predicate():
        assert time.monotonic() < end, f"After {timeout:g} s still waiting for: {what}."
        time.sleep(0.01)


class Ros:
    """The default context of one test, an executor in this thread, and the nodes that were asked for."""

    def __init__(self, args: Sequence[str] = ()) -> None:
        rclpy.init(args=list(args))
        self.executor = SingleThreadedExecutor()
        self._nodes: list[Node] = []

    def __enter__(self) -> Ros:
        return self

    def __exit__(self, *_: object) -> None:
        self.executor.shutdown()
        for node in self._nodes:
            node.destroy_node()
        rclpy.try_shutdown()

    def node(self, name: str = "tested", *, spin: bool = True, **options: Any) -> Node:
        """A node; with `spin`, the waits below execute its callbacks."""
        node = Node(name, **options)
        self._nodes.append(node)
        if spin:
            self.executor.add_node(node)
        return node

    def spin_until(self, predicate: Callable[[], Any], what: str, timeout: float = DEADLINE) -> None:
        """Execute callbacks until `predicate` holds; `what` says what was waited for."""
        end = time.monotonic() + timeout
        while not predicate():
            assert time.monotonic() < end, f"After {timeout:g} s still waiting for: {what}."
            self.executor.spin_once(timeout_sec=0.05)

    def spin_for(self, seconds: float = SHORT) -> None:
        """Execute callbacks for a while, to see that something does not happen."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.executor.spin_once(timeout_sec=left)

    def result(self, future: Any, what: str = "the future", timeout: float = DEADLINE) -> Any:
        """Execute callbacks until a future is done, and return or raise what it holds."""
        self.spin_until(future.done, what, timeout)
        return future.result()

    def match(self, *publishers: Any, subscriptions: int = 1) -> None:
        """Wait until each publisher knows that many subscriptions."""
        for publisher in publishers:
            self.spin_until(
                lambda one=publisher: one.get_subscription_count() >= subscriptions,
                f"{subscriptions} subscription(s) of {publisher.topic_name}",
            )

    @contextmanager
    def spinning(self, *nodes: Node, executor: Any = None) -> Iterator[Any]:
        """Execute the callbacks of some nodes in another thread; what they raise comes out at the end."""
        executor = executor or SingleThreadedExecutor()
        for node in nodes:
            executor.add_node(node)
        stop = threading.Event()
        errors: list[BaseException] = []

        def run() -> None:
            try:
                while rclpy.ok() and not stop.is_set():
                    executor.spin_once(timeout_sec=0.1)
            except ExternalShutdownException:
                pass
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=run, name="spinning")
        thread.start()
        try:
            yield executor
        finally:
            stop.set()
            executor.wake()
            thread.join(DEADLINE)
            assert not thread.is_alive(), "The executor's thread did not come back."
            executor.shutdown()
        if errors:
            raise errors[0]


class Peer:
    """A node script in another process, on the same client."""

    def __init__(self, client: str, script: Path, args: Sequence[str]) -> None:
        runner = ["-m", "rclpy_zenoh.run"] if client == "rclpy_zenoh" else []
        self._process = subprocess.Popen(
            [sys.executable, "-u", *runner, str(script), *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(),
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._errors: list[str] = []
        self._readers = [
            threading.Thread(target=self._read, args=(self._process.stdout, self._lines.put), daemon=True),
            threading.Thread(target=self._read, args=(self._process.stderr, self._errors.append), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @staticmethod
    def _read(stream: Any, put: Callable[[str], None]) -> None:
        for line in stream:
            put(line.rstrip("\n"))

    @property
    def errors(self) -> str:
        """All of its standard error so far."""
        return "\n".join(self._errors)

    def heard(self, start: str) -> str:
        """The next line of its standard output that begins with `start`; "" if there is none yet."""
        while not self._lines.empty():
            line = self._lines.get()
            if line.startswith(start):
                return line
        return ""

    def expect(self, start: str, timeout: float = DEADLINE) -> str:
        """Wait for the next line of its standard output that begins with `start`."""
        end = time.monotonic() + timeout
        while True:
            over = self._process.poll() is not None and not self._readers[0].is_alive()
            if line := self.heard(start):
                return line
            assert not over, f"The peer ended before it printed '{start}':\n{self.errors}"
            assert time.monotonic() < end, f"The peer printed no '{start}' in {timeout:g} s:\n{self.errors}"
            time.sleep(0.01)

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it without a chance to say goodbye."""
        self._process.kill()
        self._process.wait(DEADLINE)

    def wait(self, timeout: float = DEADLINE) -> int:
        """Wait for its end; returns its exit status."""
        try:
            status = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.send_signal(signal.SIGABRT)
            raise AssertionError(f"The peer did not end in {timeout:g} s:\n{self.errors}") from None
        for reader in self._readers:
            reader.join(DEADLINE)
        return status

    def stop(self) -> None:
        """End it, gently at first."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(5.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(DEADLINE)
        for reader in self._readers:
            reader.join(DEADLINE)
        for stream in (self._process.stdout, self._process.stderr):
            if stream:
                stream.close()


def _environment() -> dict[str, str]:
    """This process's environment, with the folders from which it imports packages."""
    folders = [folder for folder in sys.path if folder]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
