"""The action run_command: what the operator hears, what is left on disk, and every way a command can end early."""

import io
import itertools
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from PIL import Image
from rclpy.action.server import ServerGoalHandle

from tests.ros.agent.conftest import DOMAIN, PATIENCE_S, Operator, wait_until
from tests.ros.agent.hearing import Hearing
from toolhand.agent_node.console.terminal import Interrupt
from toolhand.agent_node.events import Event, Thought, ToolAnswered, ToolCalled
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import load_protocol
from toolhand.cli.run_command import RunCommand
from toolhand.cli.run_over_ros import run_over_ros
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool

Agent = Callable[..., Any]
Operators = Callable[[], Operator]
SUCCEEDED, CANCELED, ABORTED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED


class Slow:
    """A motion that lasts until it is stopped, or let go."""

    def __init__(self) -> None:
        self.running = threading.Event()
        self.let_go = threading.Event()
        self.stopped: Callable[[], bool] = lambda: False

    def toolbox(self, node: Any, deadlines: Any, stopped: Callable[[], bool]) -> Toolbox:
        self.stopped = stopped
        return Toolbox([self])

    @tool("test.move", motion=True)
    def move(self) -> ToolResult:
        """Move for a while."""
        self.running.set()
        while not self.let_go.wait(0.01):
            if self.stopped():
                raise ToolError(ErrorCode.CANCELLED, "The motion was cancelled during the lift; the arm is still.")
        return ToolResult(text="moved")


class Script:
    """A policy that calls the slow motion once and answers by what came back."""

    name = "script"

    def respond(self, conversation: Sequence[Message]) -> Reply:
        if conversation[-1].role == "tool":
            failed = "Error" in conversation[-1].text
            return Reply(f"<think>seen</think><answer>{'EXECUTION_FAILED: it failed' if failed else 'Done.'}</answer>")
        return Reply('<think>moving</think><tool_call>{"name": "test.move", "arguments": {}}</tool_call>')


@pytest.fixture
def slow() -> Slow:
    """A slow motion."""
    return Slow()


def test_a_command_is_carried_out_told_and_recorded(agent: Agent, operator: Operators, tmp_path: Path) -> None:
    station = Station(load_scene(EXAMPLE_SCENE))
    agent(lambda node, deadlines, stopped: station.toolbox)
    person = operator()
    status, result = person.run("pick up the far coconut water")
    assert status == SUCCEEDED
    assert result.status.success
    assert result.answer == result.status.message != ""
    run_dir = Path(result.run_dir)
    assert run_dir.parent == tmp_path / "runs"
    document = json.loads((run_dir / "result.json").read_text())
    assert document["success"]
    assert document["tool_calls"] == result.tool_calls > 0
    assert document["truth"] is None
    messages = json.loads((run_dir / "trajectory.jsonl").read_text())["messages"]
    assert messages[1]["content"][0]["text"] == "pick up the far coconut water"
    assert (run_dir / "report.html").stat().st_size > 10_000

    steps = result.steps
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    calls = [json.loads(step.tool_call) for step in steps if step.tool_call]
    assert calls[0]["name"] == "robot.capture_image"
    assert len(calls) == result.tool_calls
    assert len([step for step in steps if step.result_text]) == result.tool_calls
    turns = [step.turn for step in steps]
    assert turns == sorted(turns)
    assert (turns[0], turns[-1]) == (1, result.turns)
    named = [step.image for step in steps if step.image]
    assert named == sorted(str(file.relative_to(run_dir)) for file in (run_dir / "images").iterdir())
    wait_until(lambda: len(person.images) == len(named))
    assert [image.header.frame_id for image in person.images] == named
    assert {Image.open(io.BytesIO(bytes(image.data))).size for image in person.images} == {(640, 480)}
    told = {one.feedback.step.number: one.feedback.step for one in person.feedback}
    assert set(told) <= {step.number for step in steps}
    assert all(told[step.number] == step for step in steps if step.number in told)


def test_a_second_command_is_refused_as_busy(agent: Agent, operator: Operators, slow: Slow) -> None:
    agent(slow.toolbox, {"script": Script()}, policy="script")
    one, two = operator(), operator()
    first = one.send("pick up the can")
    assert slow.running.wait(PATIENCE_S)
    status, result = two.run("pick up the pear")
    assert status == ABORTED
    assert (result.status.error_code, result.run_dir) == ("UNAVAILABLE", "")
    assert result.status.message.startswith("busy: another command")
    slow.let_go.set()
    status, result = one.result(first)
    assert (status, result.answer) == (SUCCEEDED, "Done.")
    assert two.run("pick up the can")[0] == SUCCEEDED


def test_cancel_stops_the_motion_and_names_it(agent: Agent, operator: Operators, slow: Slow) -> None:
    agent(slow.toolbox, {"script": Script()}, policy="script")
    person = operator()
    goal = person.send("pick up the can")
    assert slow.running.wait(PATIENCE_S)
    goal.cancel_goal_async()
    status, result = person.result(goal)
    assert status == CANCELED
    assert result.status.error_code == "CANCELLED"
    assert result.answer == (
        "Cancelled by the operator during test.move: The motion was cancelled during the lift; the arm is still."
    )
    assert json.loads((Path(result.run_dir) / "result.json").read_text())["error_code"] == "CANCELLED"
    slow.running.clear()
    slow.let_go.set()
    assert person.run("pick up the can")[0] == SUCCEEDED


def test_the_command_of_an_operator_who_vanishes_is_stopped(agent: Agent, operator: Operators, slow: Slow) -> None:
    agent(slow.toolbox, {"script": Script()}, policy="script")
    gone = operator()
    gone.send("pick up the can")
    assert slow.running.wait(PATIENCE_S)
    gone.spun.close()
    wait_until(slow.stopped)
    person = operator()
    slow.let_go.set()
    wait_until(lambda: person.run("pick up the can")[0] == SUCCEEDED)


def test_without_a_simulator_a_run_is_reported_but_not_judged(
    agent: Agent, slow: Slow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    agent(slow.toolbox, {"script": Script()}, policy="script")
    slow.let_go.set()
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    heard: list[type[Event]] = []
    monkeypatch.chdir(tmp_path)
    command = RunCommand("pick up the can", transport="ros")
    result = run_over_ros(command, Hearing(lambda event: heard.append(type(event))), {"version": "test"}, Interrupt())
    assert result["success"]
    assert heard == [Thought, ToolCalled, ToolAnswered, Thought]
    assert (result["truth"], result["version"], result["tool_calls"]) == (None, "test", 1)
    assert "Not judged" in (Path(result["run_dir"]) / "report.html").read_text()


def test_a_step_whose_feedback_was_lost_is_told_all_the_same(
    agent: Agent, slow: Slow, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tell = ServerGoalHandle.publish_feedback
    sent = itertools.count()
    monkeypatch.setattr(
        ServerGoalHandle, "publish_feedback", lambda goal, feedback: None if next(sent) % 2 else tell(goal, feedback)
    )
    agent(slow.toolbox, {"script": Script()}, policy="script")
    slow.let_go.set()
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    heard: list[type[Event]] = []
    monkeypatch.chdir(tmp_path)
    command = RunCommand("pick up the can", animation=False, transport="ros")
    result = run_over_ros(command, Hearing(lambda event: heard.append(type(event))), {}, Interrupt())
    assert result["success"]
    assert heard == [Thought, ToolCalled, ToolAnswered, Thought]


def test_a_sentence_that_is_no_command_ends_with_its_code(agent: Agent, operator: Operators) -> None:
    station = Station(load_scene(EXAMPLE_SCENE))
    agent(lambda node, deadlines, stopped: station.toolbox)
    status, result = operator().run("open the jar of honey")
    assert status == ABORTED
    assert result.status.error_code == "NOT_UNDERSTOOD"
    assert not result.status.success


def test_an_unknown_mode_is_refused_with_what_is_allowed(agent: Agent, operator: Operators, slow: Slow) -> None:
    agent(slow.toolbox, {"script": Script()}, policy="script")
    status, result = operator().run("pick up the can", mode="telepathy")
    assert status == ABORTED
    assert result.status.error_code == "INVALID_ARGUMENT"
    assert "mode must be script or scripted, got 'telepathy'" in result.status.message


def test_a_report_that_cannot_be_written_is_told(agent: Agent, operator: Operators, slow: Slow, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    agent(slow.toolbox, {"script": Script()}, policy="script", runs_dir=str(tmp_path / "file" / "runs"))
    status, result = operator().run("pick up the can")
    assert status == ABORTED
    assert result.status.error_code == "UNAVAILABLE"
    assert "Cannot write" in result.status.message


def test_nothing_is_left_of_a_command_in_the_graph(agent: Agent, operator: Operators, slow: Slow) -> None:
    node = agent(slow.toolbox, {"script": Script()}, policy="script")
    slow.let_go.set()
    person = operator()
    for _ in range(3):
        person.run("pick up the can")
    assert sorted(node.get_node_names()) == ["agent", "operator"]


@pytest.mark.parametrize(("protocol", "written"), [("own", "compact"), ("spacetools", "spacetools")])
def test_a_policy_writes_its_own_protocol_unless_the_graph_names_another(
    agent: Agent, operator: Operators, slow: Slow, protocol: str, written: str
) -> None:
    class Says(Script):
        def respond(self, conversation: Sequence[Message]) -> Reply:
            return Reply(load_protocol(written).render_turn("", (), "Done."))

    agent(slow.toolbox, {"smollm2": Says()}, policy="smollm2", protocol=protocol)
    status, result = operator().run("pick up the can")
    assert (status, result.answer) == (ABORTED, "Done."), "no tool has said so"
    assert json.loads((Path(result.run_dir) / "result.json").read_text())["protocol"] == written


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("policy", "genius", "There is no policy 'genius': it must be like scripted"),
        ("turns", 0, "Parameter turns must be a whole number of 1 or more, not 0."),
        ("response_deadline_s", 0.0, "Parameter response_deadline_s must be a finite number above 0, not 0.0."),
    ],
)
def test_a_bad_parameter_is_told_at_the_start(agent: Agent, slow: Slow, name: str, value: Any, sentence: str) -> None:
    with pytest.raises(ToolError) as caught:
        agent(slow.toolbox, **{name: value})
    assert str(caught.value).startswith(sentence)
