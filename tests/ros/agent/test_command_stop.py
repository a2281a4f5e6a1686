"""A stop ends the command that it meets, whatever is reset meanwhile; an observer's command moves nothing at all."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from rclpy.executors import MultiThreadedExecutor
from std_srvs.srv import Trigger
from toolhand_interfaces.action import RunCommand
from toolhand_interfaces.msg import StopState

from tests.ros.agent.conftest import PATIENCE_S, Operator, Spun, wait_until
from tests.saying import Says
from toolhand.agent_node.policy import Message, Reply
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.ros.stop_state import QOS, StopListener
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool

Agent = Callable[..., Any]
Operators = Callable[[], Operator]
ABORTED = GoalStatus.STATUS_ABORTED


class Motion:
    """What the agent hears of a motion node: its stop, and return_to_park."""

    def __init__(self, context: Any) -> None:
        self.node = rclpy.create_node("motion", context=context)
        self.parked = 0
        self._states = self.node.create_publisher(StopState, "stop_state", QOS)
        self.node.create_service(Trigger, "return_to_park", self._on_park)
        self.tell(0, latched=False)
        self.spun = Spun(self.node, MultiThreadedExecutor(2, context=context))

    def tell(self, stops: int, latched: bool) -> None:
        self._states.publish(StopState(stops=stops, latched=latched, confirmed=True))

    def _on_park(self, request: Any, response: Any) -> Any:
        self.parked += 1
        response.success = True
        return response


@pytest.fixture
def motion(contexts: Callable[[], Any]) -> Iterator[Motion]:
    made = Motion(contexts())
    yield made
    made.spun.close()


class Hand:
    """A motion that ends as it is told."""

    def __init__(self) -> None:
        self.motions = 0
        self.code: ErrorCode | None = None

    @tool("test.move", motion=True)
    def move(self) -> ToolResult:
        """Move."""
        self.motions += 1
        if self.code is not None:
            raise ToolError(self.code, "The arm was stopped during the lift; it holds its position.")
        return ToolResult(text="moved")


class InsistentPolicy:
    """A policy that moves in every turn, whatever it is told, after something was done."""

    name = "stubborn"

    def __init__(self, meanwhile: Callable[[int], None] = lambda turn: None) -> None:
        self.turns = 0
        self._meanwhile = meanwhile

    def respond(self, conversation: Sequence[Message]) -> Reply:
        self.turns += 1
        self._meanwhile(self.turns)
        return Reply('<tool_call>{"name": "test.move", "arguments": {}}</tool_call>')


def hears(node: Any, motion: Motion) -> Any:
    """The node knows of the stop as it is told now."""
    wait_until(lambda: motion.node.count_subscribers("/stop_state"))
    return node


def test_a_stop_while_the_policy_thinks_ends_the_command_though_it_is_reset(
    agent: Agent, operator: Operators, motion: Motion
) -> None:
    hand = Hand()

    def stop_and_reset(turn: int) -> None:
        if turn == 2:
            stops = node._latch.stops
            motion.tell(1, latched=True)
            motion.tell(1, latched=False)
            wait_until(lambda: node._latch.stops > stops and not node._latch.is_set)

    policy = InsistentPolicy(stop_and_reset)
    node = agent(lambda *_: Toolbox([hand]), {"stubborn": policy}, policy="stubborn")
    hears(node, motion)
    status, result = operator().run("pick up the can")
    assert (status, result.status.error_code) == (ABORTED, "STOPPED")
    assert "Stopped by the operator" in result.answer
    assert (policy.turns, hand.motions) == (2, 1)


@pytest.mark.parametrize("code", [ErrorCode.STOPPED, ErrorCode.CANCELLED])
def test_a_motion_that_somebody_stopped_ends_the_command(
    agent: Agent, operator: Operators, motion: Motion, code: ErrorCode
) -> None:
    hand, policy = Hand(), InsistentPolicy()
    hand.code = code
    agent(lambda *_: Toolbox([hand]), {"stubborn": policy}, policy="stubborn")
    status, result = operator().run("pick up the can")
    assert (status, result.status.error_code) == (ABORTED, str(code))
    assert "during the lift" in result.answer
    assert (policy.turns, hand.motions) == (1, 1)


class AsksWhich:
    """A policy that asks which can."""

    name = "asks"
    asked = 0

    def respond(self, conversation: Sequence[Message]) -> Reply:
        self.asked += 1
        where = "the left one at (0.20, 0.50) or the right one at (0.80, 0.50)"
        return Reply(f"<answer>AMBIGUOUS: Which can do you mean: {where}?</answer>")


@pytest.mark.parametrize("answer", ["number 1", "yes"])
def test_an_answer_to_a_question_from_before_a_stop_moves_nothing_after_the_reset(
    agent: Agent, operator: Operators, motion: Motion, answer: str
) -> None:
    policy = AsksWhich()
    node = hears(agent(lambda *_: Toolbox([Hand()]), {"asks": policy}, policy="asks"), motion)
    person = operator()

    def says(words: str) -> Any:
        return person.result(person.send_goal(RunCommand.Goal(text=words, session="a")))[1]

    assert says("pick up the can").status.error_code == "AMBIGUOUS"
    motion.tell(1, latched=True)
    motion.tell(1, latched=False)
    wait_until(lambda: node._latch.stops and not node._latch.is_set)
    result = says(answer)
    assert (result.status.error_code, policy.asked) == ("AMBIGUOUS", 1)
    assert "stopped after I had asked" in result.answer


def test_a_command_that_meets_a_latched_stop_says_so_at_once_and_what_to_type(
    agent: Agent, operator: Operators, motion: Motion, tmp_path: Path
) -> None:
    def stopped_again(turn: int) -> None:
        motion.tell(2, latched=True)
        wait_until(lambda: node._latch.is_set)

    hand, policy = Hand(), InsistentPolicy(stopped_again)
    motion.tell(1, latched=True)
    node = hears(agent(lambda *_: Toolbox([hand]), {"stubborn": policy}, policy="stubborn"), motion)
    wait_until(lambda: node._latch.is_set)
    person = operator()
    status, result = person.run("pick up the can")
    assert (status, result.status.error_code, result.run_dir) == (ABORTED, "STOPPED", "")
    assert result.status.message == "A stop is latched; nothing moves until it is reset."
    assert "toolhand stop --reset" in result.status.hint
    assert (policy.turns, hand.motions, motion.parked) == (0, 0, 0)
    assert not (tmp_path / "runs").exists()
    motion.tell(1, latched=False)
    wait_until(lambda: not node._latch.is_set)
    person.run("pick up the can")
    assert policy.turns == 1, "it was carried out, until the next stop"


def test_an_observers_command_does_not_park_the_arm_and_an_operators_does(
    agent: Agent, operator: Operators, motion: Motion
) -> None:
    node = agent(None, {"silent": Says("<answer>Seen.</answer>")}, policy="silent", role="observer")
    motion.tell(1, latched=True)
    status, result = operator().run("pick up the can")
    assert (status, result.answer) == (ABORTED, "Seen."), "it may look while a stop is latched"
    assert motion.parked == 0
    node.executor.remove_node(node)
    node.destroy_node()


def test_an_operators_command_parks_the_arm_unless_it_was_stopped(
    agent: Agent, operator: Operators, motion: Motion, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = hears(agent(None, {"silent": Says("<answer>Seen.</answer>")}, policy="silent"), motion)
    person = operator()
    assert person.run("pick up the can")[1].answer == "Seen."
    assert motion.parked == 1
    make = node._setup.make_toolbox

    def stopped_meanwhile(*arguments: Any) -> Any:
        motion.tell(1, latched=True)
        motion.tell(1, latched=False)
        wait_until(lambda: node._latch.stops and not node._latch.is_set)
        return make(*arguments)

    monkeypatch.setattr(node, "_setup", replace(node._setup, make_toolbox=stopped_meanwhile))
    assert person.run("pick up the can")[1].status.error_code == "STOPPED"
    assert motion.parked == 1


def test_a_motion_node_that_is_started_anew_counts_as_a_stop(contexts: Callable[[], Any], motion: Motion) -> None:
    context = contexts()
    node = rclpy.create_node("listener", context=context)
    listener = StopListener(node)
    spun = Spun(node, MultiThreadedExecutor(2, context=context))
    try:
        motion.tell(3, latched=False)
        listener.wait()
        wait_until(lambda: listener._stops == 3)
        watch = listener.latch.watch()
        assert not watch.halted
        motion.tell(3, latched=False)
        motion.tell(0, latched=False)
        wait_until(lambda: watch.halted)
        wait_until(lambda: not listener.latch.is_set)
    finally:
        spun.close()


def test_without_a_motion_node_nobody_waits_for_ever(contexts: Callable[[], Any]) -> None:
    context = contexts()
    listener = StopListener(rclpy.create_node("listener", context=context))
    waited = threading.Thread(target=lambda: [listener.wait() for _ in range(50)])
    waited.start()
    waited.join(PATIENCE_S)
    assert not waited.is_alive()
    assert not listener.latch.halted
