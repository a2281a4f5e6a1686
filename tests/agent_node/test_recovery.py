"""What happens when a command does not go as meant, whatever the policy writes."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.saying import Says
from toolhand.agent_node.agent import Agent
from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.events import Event, ToolAnswered
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import load_protocol, protocol_names
from toolhand.agent_node.recovery import Recovery
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import Text
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.spec import ToolSpec, specs_of
from toolhand.tool_nodes.toolbox.toolbox import Toolbox, tool
from toolhand.tool_nodes.types import Frame

LOOK, GRASP, PLACE = (
    json.dumps({"name": name, "arguments": arguments})
    for name, arguments in (
        ("robot.capture_image", {}),
        ("robot.execute_grasp", {"grasp_pose": "$grasp_pose"}),
        ("robot.place_on", {"where": "table"}),
    )
)
NEW_GRASP = json.dumps({"name": "grasp.compute", "arguments": {}})
SAY = json.dumps({"name": "test.say", "arguments": {"text": "hello"}})


def turn(*calls: str) -> str:
    return "".join(f"<tool_call>{call}</tool_call>" for call in calls)


DONE = "<answer>Done.</answer>"


class Robot:
    """A robot whose motions end as `fails` says, over a table whose height can be changed."""

    def __init__(self, *fails: ErrorCode | ToolError | None) -> None:
        self.fails = list(fails)
        self.motions: list[str] = []
        self.looks = 0
        self.height = 0.0

    def _end(self, name: str) -> None:
        self.motions.append(name)
        failure = self.fails.pop(0) if self.fails else None
        if failure is not None:
            raise failure if isinstance(failure, ToolError) else ToolError(failure, "It did not work.")

    @tool("robot.capture_image", repeatable=True)
    def capture(self) -> ToolResult:
        """Look."""
        self.looks += 1
        depth = np.full((64, 64), 1.0, np.float32)
        depth[20:44, 20:44] -= self.height
        K = np.array([[60.0, 0, 32], [0, 60.0, 32], [0, 0, 1]])
        rgb = np.zeros((64, 64, 3), np.uint8)
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = np.diag([1.0, -1, -1]), (0.45, 0.0, 1.0)
        frame = Frame(rgb, depth, K, T, 0.0)
        return ToolResult(text="Seen.", image=rgb, variables={"captured_image": SessionImage(rgb, frame)})

    @tool("grasp.compute", repeatable=True)
    def compute(self) -> ToolResult:
        """Compute another grasp."""
        return ToolResult(text="A grasp.", variables={"grasp_pose": object()})

    @tool("robot.execute_grasp", motion=True)
    def grasp(self, grasp_pose: Text) -> ToolResult:
        """Grasp."""
        self._end("grasp")
        return ToolResult(text="Held.", facts={"grasped": {"stood": None}})

    @tool("robot.place_on", motion=True)
    def place(self, where: Text) -> ToolResult:
        """Place."""
        self._end("place")
        return ToolResult(text="Placed.", facts={"placed": {"wanted": [0.5, 0.5]}})

    @tool("test.say")
    def say(self, text: Text) -> ToolResult:
        """Say."""
        return ToolResult(text=text)


def run(robot: Robot, *lines: str | ToolError | Callable[[], str], **options: Any) -> Episode:
    return Agent(Says(*lines), Toolbox([robot]), ConversationSettings(**options)).run("Do it.")


def told(episode: Episode) -> list[str]:
    return [m.words for m in episode.messages if m.role == "tool"]


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        (ErrorCode.GRIPPER_EMPTY, "The gripper holds nothing"),
        (ErrorCode.OBJECT_DROPPED, "The object lies somewhere else now"),
        (ErrorCode.NOT_HOLDING, "grasp the object"),
        (ErrorCode.CONTROLLER_FAULT, "What is held is not certain"),
        (ErrorCode.PLACE_BLOCKED, "choose another point on a new picture"),
    ],
)
def test_a_failed_motion_tells_what_to_do_first(code: ErrorCode, hint: str) -> None:
    (words, *_) = told(run(Robot(code), turn(PLACE), DONE))
    assert words.startswith(f"Error {code}: It did not work.\nNote: ")
    assert hint in words
    assert "picture" in words


class Native:
    """The tools of a robot with `robot.look` in the place of `robot.capture_image`."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot

    def tool_specs(self) -> Iterable[ToolSpec]:
        for spec in specs_of(self._robot):
            yield replace(spec, name="robot.look") if spec.name == "robot.capture_image" else spec


NATIVE_LOOK = json.dumps({"name": "robot.look", "arguments": {}})
CODES = (
    ErrorCode.GRIPPER_EMPTY,
    ErrorCode.OBJECT_DROPPED,
    ErrorCode.WRONG_OBJECT,
    ErrorCode.NOT_HOLDING,
    ErrorCode.EXECUTION_FAILED,
    ErrorCode.CONTROLLER_FAULT,
    ErrorCode.TIMEOUT,
    ErrorCode.PLACE_BLOCKED,
    ErrorCode.ALREADY_HOLDING,
    ErrorCode.SCENE_CHANGED,
)
UNCERTAIN = (ErrorCode.EXECUTION_FAILED, ErrorCode.CONTROLLER_FAULT, ErrorCode.TIMEOUT)


@pytest.mark.parametrize("shows", [True, False])
@pytest.mark.parametrize("code", CODES)
def test_a_note_names_only_tools_that_are_offered_and_is_uncertain_only_where_the_code_is(
    code: ErrorCode, shows: bool
) -> None:
    def place(where: str) -> ToolResult:
        return ToolResult(
            error=ToolError(code, "It did not work."), image=np.zeros((64, 64, 3), np.uint8) if shows else None
        )

    toolbox = Toolbox([Native(Robot())]).done_by("robot.place_on", place)
    episode = Agent(Says(turn(PLACE), turn(PLACE), DONE), toolbox).run("Do it.")
    note, again = told(episode)
    named = set(re.findall(r"\b(?:robot|sam2|grasp|grasp_generator)\.\w+", f"{note} {again}"))
    assert named <= set(toolbox.specs)
    assert "robot.look" in again, "the same motion is not run before a look, which is named"
    assert ("not certain" in note) is (code in UNCERTAIN)
    assert ("the new picture shows" in note) is (
        shows and code not in (ErrorCode.PLACE_BLOCKED, ErrorCode.ALREADY_HOLDING)
    )


@pytest.mark.parametrize(("shift_m", "runs"), [(0.0, True), (0.03, False)])
def test_what_has_moved_is_noticed_by_whatever_look_is_offered(shift_m: float, runs: bool) -> None:
    robot = Robot()

    def move() -> str:
        robot.height += shift_m
        return turn(PLACE)

    episode = Agent(Says(turn(NATIVE_LOOK), move, DONE), Toolbox([Native(robot)])).run("Do it.")
    assert robot.motions == ["place"] * runs
    if not runs:
        assert told(episode)[1].startswith(f"Error {ErrorCode.SCENE_CHANGED}: Not run:")
        assert "robot.look" in told(episode)[1]
        assert "capture_image" not in told(episode)[1]


@pytest.mark.parametrize("what", ["The scene has changed since the plan was made.", "It is elsewhere now."])
@pytest.mark.parametrize(("code", "asks"), [(ErrorCode.SCENE_CHANGED, True), (ErrorCode.PLAN_FAILED, False)])
def test_the_code_of_a_refused_motion_and_no_words_decide_whether_to_look_anew(
    code: ErrorCode, asks: bool, what: str
) -> None:
    (words, *_) = told(run(Robot(ToolError(code, what)), turn(PLACE), DONE))
    assert ("Note: Something has moved; take a new picture with robot.capture_image" in words) is asks


def test_without_hints_the_policy_reads_the_tools_words_alone() -> None:
    (words, *_) = told(run(Robot(ErrorCode.GRIPPER_EMPTY), turn(PLACE), DONE, recovery=Recovery(hints=False)))
    assert words == "Error GRIPPER_EMPTY: It did not work."


def test_the_same_motion_is_not_run_again_after_it_failed_until_there_was_a_look() -> None:
    robot = Robot(ErrorCode.GRIPPER_EMPTY)
    episode = run(robot, turn(PLACE), turn(PLACE), turn(SAY), turn(PLACE), turn(LOOK), turn(PLACE), DONE)
    assert robot.motions == ["place", "place"]
    words = told(episode)
    for k in (1, 3):
        assert words[k].startswith("Error INVALID_ARGUMENT: Not run: this same motion has failed")
    assert episode.success


def test_every_answer_to_a_call_carries_its_code_whether_the_tool_or_the_agent_refused() -> None:
    lie = json.dumps({"name": "test.say", "arguments": {"text": "Error STOPPED: says the label."}})
    robot = Robot(ErrorCode.GRIPPER_EMPTY)
    turns = (turn(PLACE, GRASP), turn(PLACE), turn("{"), "<tool_call>", turn(lie), turn("{}", LOOK), DONE)
    episode = run(robot, *turns)
    assert [[exchange.error_code for exchange in taken.exchanges] for taken in episode.turns] == [
        [ErrorCode.GRIPPER_EMPTY, None],
        [ErrorCode.INVALID_ARGUMENT],
        [ErrorCode.INVALID_ARGUMENT],
        [ErrorCode.INVALID_ARGUMENT],
        [None],
        [ErrorCode.INVALID_ARGUMENT, None],
        [],
    ]
    assert [taken.error_code for taken in episode.turns[:2]] == [ErrorCode.GRIPPER_EMPTY, ErrorCode.INVALID_ARGUMENT]


def test_a_failed_motion_may_be_run_with_another_value_behind_the_same_variable() -> None:
    class Posed(Robot):
        @tool("test.set", repeatable=False)
        def set(self, value: Text) -> ToolResult:
            """Set a variable."""
            return ToolResult(text="Set.", variables={"where": f"{value}!"})

        @tool("robot.go", motion=True)
        def go(self, where: Text) -> ToolResult:
            """Go."""
            self._end("go")
            return ToolResult(text="There.")

    def put(value: str) -> str:
        return turn(json.dumps({"name": "test.set", "arguments": {"value": value}}))

    go = turn(json.dumps({"name": "robot.go", "arguments": {"where": "$where"}}))
    robot = Posed(ErrorCode.PLAN_FAILED, ErrorCode.PLAN_FAILED)
    run(robot, put("a"), go, go, put("b"), go, DONE)
    assert robot.motions == ["go", "go"]


def test_a_motion_that_found_nobody_may_be_tried_again_at_once() -> None:
    robot = Robot(ErrorCode.UNAVAILABLE)
    run(robot, turn(PLACE), turn(PLACE), DONE)
    assert robot.motions == ["place", "place"]


def test_the_rule_about_the_same_motion_can_be_switched_off() -> None:
    robot = Robot(ErrorCode.GRIPPER_EMPTY)
    run(robot, turn(PLACE), turn(PLACE), DONE, recovery=Recovery(look_before_retry=False))
    assert robot.motions == ["place", "place"]


@pytest.mark.parametrize(("shift_m", "runs"), [(0.0, True), (0.03, False)])
def test_nothing_moves_when_something_moved_after_the_newest_image(shift_m: float, runs: bool) -> None:
    robot = Robot()

    def move() -> str:
        robot.height += shift_m
        return turn(PLACE)

    episode = run(robot, turn(LOOK), move, turn(LOOK), turn(PLACE), DONE)
    assert robot.motions == ["place"] * (1 + runs)
    assert told(episode)[1].startswith("Error SCENE_CHANGED: Not run: something on the table has moved") is not runs
    assert episode.success


def test_the_comparison_adds_no_image_to_the_conversation_and_can_be_switched_off() -> None:
    robot = Robot()
    episode = run(robot, turn(LOOK), turn(PLACE), DONE)
    assert (robot.looks, len(episode.session.images)) == (2, 1)
    robot = Robot()
    run(robot, turn(LOOK), turn(PLACE), DONE, recovery=Recovery(check_scene=False))
    assert robot.looks == 1


def test_a_call_that_gives_nothing_new_is_said_to_and_ends_the_command_at_last() -> None:
    episode = run(Robot(), turn(LOOK), turn_budget=50)
    words = told(episode)
    assert "Note" not in words[0]
    assert "same call with the same answer, 2 times in a row" in words[1]
    assert len(words) == 6
    assert episode.error_code is ErrorCode.TURN_BUDGET
    assert episode.answer.startswith("The policy made the same call 6 times in a row, with the same answer.")


def test_what_a_tool_happens_to_say_does_not_hide_that_nothing_is_new() -> None:
    class Blinks(Robot):
        @tool("test.lamp", repeatable=True)
        def lamp(self) -> ToolResult:
            """Look at the lamp."""
            return ToolResult(text="It blinks 3 times in a row.")

    lamp = turn(json.dumps({"name": "test.lamp", "arguments": {}}))
    words = told(run(Blinks(), lamp, lamp, DONE))
    assert "same call with the same answer, 2 times in a row" in words[1]


def test_other_calls_in_between_are_progress() -> None:
    episode = run(Robot(), *[turn(LOOK), turn(SAY)] * 8, DONE, turn_budget=50)
    assert episode.answer == "Done."


def test_the_number_of_repeats_and_the_code_can_be_chosen() -> None:
    rules = Recovery(same_results=2, malformed_turns=2, giveup_code=ErrorCode.NOT_UNDERSTOOD)
    for line in (turn(LOOK), "nonsense"):
        episode = run(Robot(), line, recovery=rules)
        assert (episode.error_code, len(episode.turns)) == (ErrorCode.NOT_UNDERSTOOD, 2)


def test_malformed_turns_in_a_row_end_the_command_and_a_good_one_starts_the_count_anew() -> None:
    bad = "no tags"
    episode = run(Robot(), bad, turn("{"), bad, bad, turn(LOOK), bad, bad, bad, bad, bad, turn_budget=50)
    assert len(episode.turns) == 10
    assert episode.error_code is ErrorCode.TURN_BUDGET
    assert episode.answer == "The last 5 turns of the policy were malformed. Nothing has moved."


def test_a_turn_of_too_many_calls_runs_none_of_them_and_says_how_many_are_allowed() -> None:
    robot = Robot()
    (words, *_) = told(run(robot, turn(*[LOOK] * 17), DONE))
    assert words.startswith("Error INVALID_ARGUMENT: a turn may hold 16 calls, this one holds 17, and none was run")
    assert robot.looks == 0
    robot = Robot()
    run(robot, turn(*[LOOK] * 16), DONE)
    assert robot.looks == 16


def test_a_turn_of_too_much_text_is_malformed_and_kept_nowhere() -> None:
    robot = Robot()
    episode = run(robot, turn(LOOK) + "a" * 200_000, DONE)
    assert "a turn may have 200,000 characters" in told(episode)[0]
    assert robot.looks == 0
    assert all(len(m.text) < 3000 for m in episode.messages if m.role == "assistant")
    assert len(episode.turns[0].text) < 3000


def test_calls_that_the_protocol_passes_over_are_told_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    robot = Robot()
    with caplog.at_level(logging.WARNING, "toolhand.agent"):
        episode = run(robot, turn(SAY, PLACE, PLACE), r"\boxed{Done.}", protocol=load_protocol("evic"))
    assert robot.motions == []
    assert told(episode)[0] == "hello\nNote: 2 further calls of this turn were ignored: write one call a turn."
    assert [record.getMessage() for record in caplog.records] == ["ignored 2 calls after the first one of a turn"]


def test_a_motion_beside_a_boxed_answer_is_not_run() -> None:
    robot = Robot()
    episode = run(robot, turn(PLACE) + r" so it is \boxed{Done.}", protocol=load_protocol("evic"))
    assert (robot.motions, episode.answer, len(episode.turns)) == ([], "Done.", 1)
    assert episode.turns[0].parsed.ignored == 1


def test_a_turn_of_reasoning_alone_continues() -> None:
    episode = run(Robot(), "I think first.", r"\boxed{Done.}", protocol=load_protocol("evic"))
    assert told(episode) == ["Note: Go on: call a tool or answer."]
    assert (episode.answer, episode.error_code) == ("Done.", None)
    silent = run(Robot(), "I think.", r"\boxed{a}", protocol=load_protocol("evic"), recovery=Recovery(go_on=False))
    assert told(silent) == []


def test_the_policy_is_told_when_one_turn_is_left() -> None:
    episode = run(Robot(), turn(LOOK), turn(SAY), DONE, turn_budget=3)
    assert ["One turn is left: it must answer." in words for words in told(episode)] == [False, True]
    rules = Recovery(announce_last_turn=False)
    assert "left" not in "".join(told(run(Robot(), turn(LOOK), turn(SAY), DONE, turn_budget=3, recovery=rules)))


GRASPED = turn(json.dumps({"name": "robot.execute_grasp", "arguments": {"grasp_pose": "a"}}))


@pytest.mark.parametrize(
    ("fails", "lines", "achieved"),
    [
        ([], [turn(LOOK)], "Nothing has moved."),
        ([ErrorCode.PLAN_FAILED], [GRASPED], "Nothing has moved."),
        ([], [GRASPED], "1 of 1 motions succeeded, and the gripper holds an object."),
        ([None, ErrorCode.PLACE_BLOCKED], [GRASPED, turn(PLACE)], "1 of 2 motions succeeded, and the gripper holds"),
        ([None, ErrorCode.PLAN_FAILED], [GRASPED, turn(PLACE)], "1 of 2 motions succeeded, and the gripper holds"),
        ([], [GRASPED, turn(PLACE)], "2 of 2 motions succeeded, and the gripper is empty."),
        ([ErrorCode.GRIPPER_EMPTY], [GRASPED], "0 of 1 motions succeeded, and the gripper is empty."),
        (
            [None, ErrorCode.CONTROLLER_FAULT],
            [GRASPED, turn(PLACE)],
            "whether the gripper holds something is not known",
        ),
    ],
)
def test_when_the_turns_are_spent_the_operator_is_told_what_the_tools_reported(
    fails: list[ErrorCode | None], lines: list[str], achieved: str
) -> None:
    episode = run(Robot(*fails), *lines, turn_budget=len(lines))
    assert episode.error_code is ErrorCode.TURN_BUDGET
    assert episode.answer.startswith(f"No answer within {len(lines)} turns. ")
    assert achieved in episode.answer
    assert not episode.success


@pytest.mark.parametrize("name", protocol_names())
def test_recovery_is_the_same_in_every_protocol(name: str) -> None:
    protocol = load_protocol(name)

    def write(call: str) -> str:
        document = json.loads(call)
        return protocol.render_turn("so", [ToolCall(document["name"], document["arguments"])])

    robot = Robot(ErrorCode.GRIPPER_EMPTY)
    lines = [write(call) for call in (PLACE, PLACE, LOOK, PLACE)]
    episode = run(robot, *lines, protocol.render_turn("end", (), "Done."), protocol=protocol)
    assert robot.motions == ["place", "place"]
    assert episode.success
    spacetools = run(Robot(ErrorCode.GRIPPER_EMPTY), *map(turn, (PLACE, PLACE, LOOK, PLACE)), DONE)
    assert told(episode) == told(spacetools)


def test_a_note_is_no_part_of_what_the_scripted_policy_tells_the_operator() -> None:
    episode = Agent(
        ScriptedPolicy(),
        Toolbox([Robot(ErrorCode.NOT_HOLDING)]),
        settings=ConversationSettings(recovery=replace(Recovery(), hints=True)),
    ).run("put it on the table")
    assert "Note" not in episode.answer


class DiesAfterMotion:
    """A scripted policy whose server is gone after the first motion."""

    name = "dies"

    def __init__(self) -> None:
        self._inner = ScriptedPolicy()

    def respond(self, conversation: Sequence[Message]) -> Reply:
        if any("executed successfully" in m.words for m in conversation if m.role == "tool"):
            raise ToolError(ErrorCode.UNAVAILABLE, "The model server has gone away.")
        return self._inner.respond(conversation)


def test_a_model_server_that_dies_between_motions_leaves_the_arm_still_and_the_operator_told() -> None:
    station = Station(load_scene(EXAMPLE_SCENE))
    at_death: list[tuple[float, np.ndarray]] = []

    def listen(event: Event) -> None:
        if isinstance(event, ToolAnswered) and event.record.motion:
            at_death.append((station.world.time, station.arm.state().q.copy()))

    episode = Agent(DiesAfterMotion(), station.toolbox, listener=listen).run("pick up the cinnamon")
    [(time_s, q)] = at_death
    assert station.world.time == time_s
    assert np.array_equal(station.arm.state().q, q)
    assert episode.error_code is ErrorCode.UNAVAILABLE
    assert episode.answer == (
        "The model server has gone away. No further motion is begun; 1 of 1 motions succeeded, and the gripper holds "
        "an object."
    )
    assert not episode.success
