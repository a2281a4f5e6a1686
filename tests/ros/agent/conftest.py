"""The agent's node over tools of this process, and an operator in another context who sends it commands."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rclpy_zenoh.overlay import install

install()

import rclpy
from rclpy.action import ActionClient
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import CompressedImage
from toolhand_interfaces.action import RunCommand

PATIENCE_S = 30.0
DOMAIN = 150 + os.getpid() % 70


def wait_until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
    return value


@pytest.fixture
def contexts(router: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Any]]:
    """Makes contexts on a router and a domain of their own."""
    monkeypatch.setenv("RCLPY_ZENOH_ROUTER", router)
    made: list[Any] = []

    def make() -> Any:
        context = rclpy.Context()
        rclpy.init(args=[], context=context, domain_id=DOMAIN, signal_handler_options=SignalHandlerOptions.NO)
        made.append(context)
        return context

    yield make
    for context in made:
        rclpy.try_shutdown(context=context)


class Spun:
    """A node that an executor spins in a thread."""

    def __init__(self, node: Any, executor: Any) -> None:
        self.node, self.executor = node, executor
        executor.add_node(node)
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self) -> None:
        with contextlib.suppress(Exception):  # the context is shut down, which is how a test ends it
            self.executor.spin()

    def close(self) -> None:
        self.executor.shutdown(timeout_sec=5.0)
        self._thread.join(PATIENCE_S)
        self.node.destroy_node()


class Operator:
    """Sends commands and keeps what comes back."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.feedback: list[Any] = []
        self.images: list[Any] = []
        node = rclpy.create_node("operator", context=context)
        node.create_subscription(CompressedImage, "run_command/pictures", self.images.append, 8)
        self.spun = Spun(node, SingleThreadedExecutor(context=context))
        self.client = ActionClient(node, RunCommand, "run_command")
        assert self.client.wait_for_server(PATIENCE_S)

    def send(self, text: str, mode: str = "") -> Any:
        """The handle of an accepted goal."""
        return self.send_goal(RunCommand.Goal(text=text, mode=mode))

    def send_goal(self, goal: Any) -> Any:
        sent = self.client.send_goal_async(goal, feedback_callback=lambda message: self.feedback.append(message))
        wait_until(sent.done)
        assert sent.result().accepted
        return sent.result()

    @staticmethod
    def result(handle: Any) -> tuple[int, Any]:
        """(status, result) of a goal."""
        future = handle.get_result_async()
        wait_until(future.done)
        return future.result().status, future.result().result

    def run(self, text: str, mode: str = "") -> tuple[int, Any]:
        return self.result(self.send(text, mode))


@pytest.fixture
def agent(contexts: Callable[[], Any], tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Starts the node with tools of this process: `agent(make_toolbox, policies, **parameters)`."""
    started: list[Spun] = []

    def start(make_toolbox: Any, policies: Mapping[str, Any] | None = None, **parameters: Any) -> Any:
        from toolhand.agent_node import command_node
        from toolhand.agent_node.dialogue.rules import RULES
        from toolhand.agent_node.session_kinds import session_of

        def make(spec: str, *rest: Any) -> Any:
            assert policies is not None
            return policies[spec]

        context = contexts()
        values = {"runs_dir": str(tmp_path / "runs")} | parameters
        overrides = [Parameter(name, value=value) for name, value in values.items()]
        node = command_node.CommandNode(
            make_toolbox,
            make if policies else None,
            (lambda name: getattr(policies[name], "kind", RULES)) if policies else session_of,
            context=context,
            parameter_overrides=overrides,
        )
        started.append(Spun(node, MultiThreadedExecutor(num_threads=4, context=context)))
        return node

    yield start
    for spun in started:
        spun.close()


@pytest.fixture
def operator(contexts: Callable[[], Any]) -> Iterator[Callable[[], Operator]]:
    """Makes operators."""
    made: list[Operator] = []

    def make() -> Operator:
        made.append(Operator(contexts()))
        return made[-1]

    yield make
    for one in made:
        one.spun.close()
