"""What operators say to a graph goes on with what each has said before, over any number of commands."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from toolhand_interfaces.action import RunCommand

from tests.ros.agent.conftest import DOMAIN, PATIENCE_S, Operator, wait_until
from tests.ros.agent.test_command_node import Slow
from toolhand.agent_node.dialogue.skills import SUITES
from toolhand.agent_node.events import ignore
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.ros import record
from toolhand.agent_node.ros.operator import Operator as CommandClient
from toolhand.bench.dialogue.conversation import TalkedTo
from toolhand.bench.dialogue.ways import InProcess, OverMcp, OverRos, Speaker, SpokenTo, Told, over_mcp
from toolhand.cli.run_command import TalkCommand
from toolhand.cli.talk import talk
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.results import ToolResult
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool

Agent = Callable[..., Any]
Operators = Callable[[], Operator]
SUCCEEDED, CANCELED, ABORTED = GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_CANCELED, GoalStatus.STATUS_ABORTED
WHICH = "Which can do you mean: the left one at (0.20, 0.50) or the right one at (0.80, 0.50)?"
CAN, LEMON = "put the can in the bowl", "put the lemon in the box"
SEQUENCE = "put the can in the bowl ; put the lemon in the box"


class Carrier:
    """A policy that moves once a command, and asks which can where none is said. It keeps what it was given."""

    name = "script"

    def __init__(self) -> None:
        self.given: list[str] = []

    def respond(self, conversation: Sequence[Message]) -> Reply:
        if conversation[-1].role == "tool":
            failed = "Error" in conversation[-1].text
            return Reply(f"<answer>{'EXECUTION_FAILED: it failed' if failed else 'Done.'}</answer>")
        task = conversation[1].words
        self.given.append(task)
        if task == "pick up the can":
            return Reply(f"<answer>AMBIGUOUS: {WHICH}</answer>")
        return Reply('<tool_call>{"name": "test.move", "arguments": {}}</tool_call>')

    candidates_of = staticmethod(ScriptedPolicy.candidates_of)


class Quick:
    """A motion that is over at once."""

    @tool("test.move", motion=True)
    def move(self) -> ToolResult:
        """Move."""
        return ToolResult(text="moved")


@pytest.fixture
def carrier() -> Carrier:
    """The policy."""
    return Carrier()


def say(person: Operator, text: str, session: str = "") -> tuple[int, Any]:
    """(status, result) of words."""
    return person.result(person.send_goal(RunCommand.Goal(text=text, session=session)))


def test_a_sequence_is_one_goal_with_a_report_a_command(agent: Agent, operator: Operators, carrier: Carrier) -> None:
    agent(lambda *_: Toolbox([Quick()]), {"script": carrier}, policy="script")
    status, result = say(operator(), SEQUENCE)
    assert (status, result.turns, result.tool_calls) == (SUCCEEDED, 4, 2)
    assert carrier.given == [CAN, LEMON]
    assert len(result.run_dirs) == 2
    assert (result.run_dir, str(Path(result.run_dir) / "2")) == tuple(result.run_dirs)
    whole = json.loads((Path(result.run_dir) / "result.json").read_text())
    assert (whole["task"], whole["steps"], whole["success"]) == (SEQUENCE, ["2"], True)
    assert all((Path(folder) / "report.html").is_file() for folder in result.run_dirs)
    assert [step.number for step in result.steps] == list(range(1, len(result.steps) + 1))
    assert [step.sentence for step in result.steps if step.sentence] == carrier.given
    assert {step.command for step in result.steps if step.tool_call} == {1, 2}
    assert any(LEMON in step.told for step in result.steps), "the plan is shown first"


def test_an_answer_of_the_same_session_is_understood_and_that_of_another_is_not(
    agent: Agent, operator: Operators, carrier: Carrier
) -> None:
    agent(lambda *_: Toolbox([Quick()]), {"script": carrier}, policy="script")
    one, two = operator(), operator()
    assert say(one, "pick up the can", "one")[1].status.error_code == "AMBIGUOUS"
    assert say(two, "number 2", "two")[0] == ABORTED
    assert say(two, "number 2")[0] == ABORTED
    asked = len(carrier.given)
    status, _ = say(one, "number 2", "one")
    assert (status, asked, len(carrier.given)) == (SUCCEEDED, 1, 2)
    assert "(0.800, 0.500)" in carrier.given[-1]


@pytest.mark.parametrize("how", ["cancel", "Stop!", "wait", "robot please stop", "stop that's wrong", "no stop"])
def test_after_a_stop_in_a_sequence_nothing_moves_and_go_on_asks_first(
    agent: Agent, operator: Operators, carrier: Carrier, how: str
) -> None:
    slow = Slow()
    agent(slow.toolbox, {"script": carrier}, policy="script")
    one, two = operator(), operator()
    goal = one.send_goal(RunCommand.Goal(text=SEQUENCE, session="one"))
    assert slow.running.wait(PATIENCE_S)
    if how == "cancel":
        goal.cancel_goal_async()
    else:
        assert say(two, how, "two")[0] == SUCCEEDED
    status, result = one.result(goal)
    assert (status, result.status.error_code) == (CANCELED if how == "cancel" else ABORTED, "CANCELLED")
    slow.running.clear()
    assert say(two, "go on", "two")[0] == ABORTED, "the plan is another operator's"
    status, result = say(one, "go on", "one")
    assert (status, result.status.error_code) == (ABORTED, "AMBIGUOUS")
    assert not slow.running.is_set()
    slow.let_go.set()
    assert say(one, "yes", "one")[0] == SUCCEEDED
    assert carrier.given == [CAN, CAN, LEMON]


def test_a_stop_between_two_utterances_has_go_on_ask_first(agent: Agent, operator: Operators, carrier: Carrier) -> None:
    slow = Slow()
    node = agent(slow.toolbox, {"script": carrier}, policy="script")
    one = operator()
    goal = one.send_goal(RunCommand.Goal(text=SEQUENCE, session="one"))
    assert slow.running.wait(PATIENCE_S)
    assert say(one, "wait", "one")[0] == SUCCEEDED
    slow.let_go.set()
    assert one.result(goal)[0] == ABORTED
    node._latch.set()
    node._latch.clear()
    assert say(one, "go on", "one")[1].status.error_code == "AMBIGUOUS"
    assert carrier.given == [CAN]
    assert say(one, "yes", "one")[0] == SUCCEEDED


def test_memories_lie_in_the_folder_of_runs_until_the_node_ends(
    agent: Agent, operator: Operators, carrier: Carrier, tmp_path: Path
) -> None:
    node = agent(lambda *_: Toolbox([Quick()]), {"script": carrier}, policy="script")
    person = operator()
    assert say(person, "pick up the lemon", "a/../b")[0] == SUCCEEDED
    kept = sorted(file.name.rsplit("-", 1)[0].split("-", 2)[2] for file in (tmp_path / "runs" / "dialogue").iterdir())
    assert kept == ["robot", "session-a-b"]
    for file in (tmp_path / "runs" / "dialogue").iterdir():
        file.unlink()
    assert say(person, "what did you do?", "another")[1].answer == "I have done nothing yet.", "whoever speaks next"
    name = "x" * 201
    assert say(person, "pick up the can", name)[1].status.error_code == "INVALID_ARGUMENT"
    node._sessions.close()
    assert not (tmp_path / "runs" / "dialogue").exists()


def test_the_session_that_is_silent_longest_is_forgotten(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from toolhand.agent_node import sessions
    from toolhand.agent_node.session import PolicySession, SessionSetup

    def never(*command: Any) -> Any:
        raise AssertionError(command)

    def begin(policy: str, robot: Any, kept: Any, path: Any) -> PolicySession:
        return PolicySession(SessionSetup(never, robot, kept=kept, path=path))

    monkeypatch.setattr(sessions, "MOST_SESSIONS", 2)
    several = sessions.OperatorSessions(begin, tmp_path)
    first, _ = several.of("one", "p")
    assert several.of("two", "p")[1] == ""
    assert several.of("one", "p") == (first, "")
    assert several.of("", "p")[1] == ""
    assert several.of("three", "p")[1] == "two"
    assert several.of("one", "p")[0] is first
    assert several.of("one", "other")[0] is not first


def test_a_question_of_the_dialogue_waits_for_its_answer(agent: Agent, operator: Operators, carrier: Carrier) -> None:
    from toolhand_interfaces.srv import AnswerQuestion

    slow = Slow()
    agent(slow.toolbox, {"script": carrier}, policy="script")
    one = operator()
    goal = one.send_goal(RunCommand.Goal(text=SEQUENCE, session="one"))
    assert slow.running.wait(PATIENCE_S)
    goal.cancel_goal_async()
    one.result(goal)
    slow.let_go.set()
    one.feedback.clear()
    answering = one.spun.node.create_client(AnswerQuestion, "run_command/answer")
    assert answering.wait_for_service(10.0)

    def answer() -> None:
        asked = wait_until(lambda: [m.feedback.step for m in one.feedback if m.feedback.step.question])
        request = AnswerQuestion.Request(step=asked[0].number, session="one", text="yes")
        wait_until(answering.call_async(request).done)

    typing = threading.Thread(target=answer)
    typing.start()
    status, result = one.result(one.send_goal(RunCommand.Goal(text="go on", session="one", answers=True)))
    typing.join()
    assert (status, result.status.error_code) == (SUCCEEDED, "")


def test_a_prompt_speaks_to_the_graph_that_runs(
    agent: Agent, carrier: Carrier, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    agent(lambda *_: Toolbox([Quick()]), {"script": carrier}, policy="script")
    lines = iter(["pick up the can", "the left one", SEQUENCE, "exit"])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(lines))
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    assert talk(TalkCommand(transport="ros")) == 0
    shown = capsys.readouterr().out
    assert "Which can do you mean: 1. the left one" in shown
    assert "My plan: 1. " in shown
    assert shown.count("Done.") == 4, "the answer, the first step of the plan, and both in the end"
    assert len(carrier.given) == 4


# -- the same in process, over MCP and over ROS -----------------------------------------------------

SCENE = """
objects:
  - {name: toy block, position: [0.42, 0.12], yaw_deg: 20}
  - {name: red box, position: [0.50, -0.15]}
  - {name: red box, position: [0.42, 0.30]}
"""
TIE = ["what do you see?", "pick up the red box", "the left one", "what are you holding?", "undo", "why not?"]
BROKEN = [
    "put the toy block behind the left red box ; pick up the unicorn",
    "go on",
    "why not?",
    "skip it",
    "what a lovely day",
]


def station() -> Station:
    return Station(parse_scene(SCENE), StationConfig(sleep=True))


def held(speaker: Speaker, at: Station) -> tuple[list[Told], dict[str, np.ndarray]]:
    """Everything that is said to the end, and where the objects then stand."""
    told = [speaker.say(words) for words in TIE + BROKEN]
    return told, {name: np.array(each.position_m) for name, each in at.world.snapshot().objects.items()}


def test_a_tie_an_undo_a_broken_sequence_and_questions_are_the_same_in_process_over_mcp_and_over_ros(
    agent: Callable[..., Any], router: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_THERE_S", 0.0)  # this graph has none of the nodes whose settings are noted
    here, behind_server, behind_node = station(), station(), station()
    told, stood = held(InProcess(TalkedTo(here)), here)
    codes = [each.code for each in told]
    assert codes[:6] == ["", "AMBIGUOUS", "", "", "", ""]
    assert codes[6] == "OBJECT_NOT_FOUND"
    assert told[2].commands != (TIE[2],), "the command is whole"
    assert len(told[6].commands) == 2

    with over_mcp(SpokenTo(behind_server)) as client:
        assert isinstance(client, OverMcp)
        told_over_mcp, stood_over_mcp = held(client, behind_server)

    agent(lambda *_: behind_node.new_toolbox(SUITES))
    with RosLink({"RCLPY_ZENOH_ROUTER": router, "ROS_DOMAIN_ID": str(DOMAIN)}) as link:
        told_over_ros, stood_over_ros = held(OverRos(CommandClient(link, ignore, session="one")), behind_node)

    assert told_over_mcp == told
    assert told_over_ros == told
    for other in (stood_over_mcp, stood_over_ros):
        assert {name: bool(np.linalg.norm(at - other[name]) < 1e-3) for name, at in stood.items()} == dict.fromkeys(
            stood, True
        )
