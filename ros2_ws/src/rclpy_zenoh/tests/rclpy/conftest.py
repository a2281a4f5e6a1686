"""A router, a context of its own domain for each test, and programs in other processes."""

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rclpy_zenoh import overlay

overlay.install()

import rclpy
from rclpy.context import Context
from rclpy.executors import Executor
from rclpy.node import Node

from rclpy_zenoh.wire import start_router

PACKAGE = Path(overlay.__file__).parents[1]
DEADLINE_S = 90.0

_domains = itertools.cycle(range(1, 200))


@pytest.fixture(scope="session")
def router() -> Iterator[str]:
    process = start_router()
    yield process.endpoint
    process.close()


@pytest.fixture
def domain(router: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """A domain of the test's own; the environment names the router and the domain, for child processes too."""
    number = next(_domains)
    monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
    monkeypatch.delenv("RCUTILS_CONSOLE_OUTPUT_FORMAT", raising=False)
    return number


@pytest.fixture
def context(domain: int) -> Iterator[Context]:
    context = Context()
    rclpy.init(args=[], context=context)
    yield context
    context.try_shutdown()


@pytest.fixture
def make_node(context: Context) -> Iterator[Callable[..., Node]]:
    nodes = []

    def make(name: str = "node", **options: object) -> Node:
        options.setdefault("start_parameter_services", False)
        nodes.append(Node(name, context=context, **options))  # type: ignore[arg-type]
        return nodes[-1]

    yield make
    for node in nodes:
        node.destroy_node()


class Spinner:
    """Spins an executor in a thread; what comes out of it is in `error`."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._spin)

    def _spin(self) -> None:
        try:
            self.executor.spin()
        except BaseException as error:
            self.error = error

    def __enter__(self) -> "Spinner":
        self._thread.start()
        wait_until(lambda: self.executor._spins or not self._thread.is_alive(), "the executor spins")
        return self

    def __exit__(self, *_: object) -> None:
        self.executor.shutdown(timeout_sec=DEADLINE_S)
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive(), "the executor does not stop spinning"


@pytest.fixture
def spinning() -> type[Spinner]:
    return Spinner


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.002)


@pytest.fixture(name="wait_until")
def _wait_until() -> Callable[[Callable[[], bool], str], None]:
    return wait_until


class Program:
    """A program in another process, started with `python -m rclpy_zenoh.run`."""

    def __init__(self, path: Path, *arguments: str) -> None:
        environment = os.environ | {"PYTHONPATH": str(PACKAGE), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rclpy_zenoh.run", str(path), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )

    def read_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def interrupt(self, number: int = signal.SIGINT) -> None:
        self.process.send_signal(number)

    def wait(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, out, err


@pytest.fixture
def program(domain: int, tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Starts a program, given as text."""
    programs: list[Program] = []

    def start(text: str, *arguments: str) -> Program:
        path = tmp_path / f"program_{len(programs)}.py"
        path.write_text(textwrap.dedent(text))
        programs.append(Program(path, *arguments))
        return programs[-1]

    yield start
    for each in programs:
        with contextlib.suppress(ProcessLookupError):  # the group holds what the program has forked
            os.killpg(each.process.pid, signal.SIGKILL)
        each.process.communicate()
