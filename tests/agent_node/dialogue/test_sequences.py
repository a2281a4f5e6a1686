"""Several objects and several steps: plans, and what becomes of them."""

import math
import re
from collections.abc import Callable

import numpy as np
import pytest

from tests.agent_node.dialogue.operators import Clock, TextRobot, named_thing, read
from toolhand.agent_node.dialogue.acts import GroupAct
from toolhand.agent_node.dialogue.dialogue import Dialogue
from toolhand.agent_node.dialogue.measured import SeenBox
from toolhand.agent_node.dialogue.sequences import steps_of
from toolhand.agent_node.dialogue.sorting import MeasureObjects
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.plan.types import PlanAct
from toolhand.agent_node.policy import Policy
from toolhand.tool_nodes.results import ErrorCode, ToolError

CANS = {
    "can": [(0.2, 0.5), (0.6, 0.4)],
    "bin": [(0.9, 0.5)],
    "object": [(0.2, 0.5), (0.4, 0.3), (0.6, 0.4), (0.9, 0.5)],
    "bunny": [(0.4, 0.3)],
    "free table": [(0.5, 0.8)],
}


def talk(robot: TextRobot, **options: object) -> tuple[Dialogue, list[str]]:
    told: list[str] = []
    made = Dialogue(robot, tell=told.append, check=lambda text: None, clock=Clock(), **options)  # type: ignore[arg-type]
    return made, told


@pytest.mark.parametrize(
    ("words", "deeds"),
    [
        (
            "put both cans in the bin",
            ["put the can at (0.200, 0.500) in the bin", "put the can at (0.600, 0.400) in the bin"],
        ),
        (
            "put all cans in the bin",
            ["put the can at (0.200, 0.500) in the bin", "put the can at (0.600, 0.400) in the bin"],
        ),
        (
            "put everything except the bunny in the bin",
            ["put the object at (0.200, 0.500) in the bin", "put the object at (0.600, 0.400) in the bin"],
        ),
        (
            "clear the table",
            [
                "put the object at (0.200, 0.500) in the bin",
                "put the object at (0.400, 0.300) in the bin",
                "put the object at (0.600, 0.400) in the bin",
            ],
        ),
        (
            "swap the bunny and the bin",
            [
                "put the bunny at (0.400, 0.300) on the free spot at (0.500, 0.800)",
                "put the bin at (0.900, 0.500) on the free spot at (0.480, 0.420)",
                "put the bunny at (0.300, 0.600) on the free spot at (0.480, 0.420)",  # where it was found
            ],
        ),
        ("stack the cans", ["put the can at (0.600, 0.400) on the can at (0.200, 0.500)"]),
        (
            "stack the bunny and the bin",
            ["put the bunny at (0.400, 0.300) on the bin at (0.900, 0.500)"],
        ),
        ("put the bunny and the bin together", ["put the bin at (0.900, 0.500) next to the bunny at (0.400, 0.300)"]),
        ("put both cans together", ["put the can at (0.600, 0.400) next to the can at (0.200, 0.500)"]),
        ("put both cans in a row", ["put the can at (0.600, 0.400) next to the can at (0.200, 0.500)"]),
        (
            "put the two cans and the bunny in a row",
            [
                "put the bunny at (0.400, 0.300) in line with the can at (0.200, 0.500) and the can at (0.600, 0.400)",
            ],
        ),
        ("put the bunny and the can in the bin", ["put the bunny in the bin", "put the can in the bin"]),
    ],
)
def test_a_group_becomes_commands_after_a_look(words: str, deeds: list[str]) -> None:
    robot = TextRobot(sees=CANS)
    dialogue, told = talk(robot)
    turn = dialogue.say(words)
    assert robot.deeds == deeds
    assert turn.success
    assert turn.left == ()
    assert (len(deeds) < 2) or told[0].startswith("My plan: 1. put the ")


REDS = {"red object": [(0.2, 0.5), (0.7, 0.5)], "blue object": [(0.3, 0.5)]}


def test_objects_of_a_colour_go_together_and_are_looked_at_afterwards() -> None:
    robot = TextRobot(sees=REDS)
    dialogue, told = talk(robot)
    turn = dialogue.say("sort the things by colour")
    assert told[0].endswith("2. check the colours.")
    assert len(robot.deeds) == 1
    found = re.fullmatch(r"put the red object at \(0.200, 0.500\) on the free spot at \((.+), (.+)\)", robot.deeds[0])
    assert found is not None
    spot = float(found[1]), float(found[2])
    assert math.dist(spot, (0.7, 0.5)) < math.dist(spot, (0.3, 0.5))
    # The image after it is the same as before: the robot may not say that they are sorted.
    assert turn.error_code is ErrorCode.EXECUTION_FAILED
    assert "the red object (on the left) is nearer to another colour" in turn.answer


def test_what_stands_together_already_is_left_alone() -> None:
    robot = TextRobot(sees={"red object": [(0.6, 0.5), (0.7, 0.5)], "blue object": [(0.2, 0.5)]})
    dialogue, _ = talk(robot)
    turn = dialogue.say("sort the things by colour")
    assert (turn.success, robot.deeds) == (True, [])
    assert turn.answer == "Things of one colour stand together."


def test_what_is_in_the_bin_stays_there() -> None:
    robot = TextRobot(sees=CANS | {"object in the bin": [(0.9, 0.48), (0.2, 0.5)]})
    dialogue, _ = talk(robot)
    dialogue.say("put everything in the bin")
    assert [deed[14:31] for deed in robot.deeds] == [" at (0.400, 0.300", " at (0.600, 0.400"]


@pytest.mark.parametrize(
    ("words", "code", "quoted"),
    [
        ("put both boxes in the bin", ErrorCode.OBJECT_NOT_FOUND, "'boxes'"),
        ("put both objects in the bin", ErrorCode.AMBIGUOUS, "I see 3"),
        ("put three cans in the bin", ErrorCode.OBJECT_NOT_FOUND, "only 2"),
        ("swap the can and the bunny", ErrorCode.AMBIGUOUS, "I see 2"),
        ("empty the bin", ErrorCode.OBJECT_NOT_FOUND, "nothing in the bin"),
        ("put everything except the lemon in the bin", ErrorCode.OBJECT_NOT_FOUND, "'lemon'"),
    ],
)
def test_a_group_that_is_not_there_moves_nothing(words: str, code: ErrorCode, quoted: str) -> None:
    robot = TextRobot(sees=CANS)
    dialogue, _ = talk(robot)
    turn = dialogue.say(words)
    assert (turn.error_code, robot.deeds) == (code, [])
    assert quoted in turn.answer


def test_a_plan_is_shown_first_and_each_step_is_a_command() -> None:
    robot = TextRobot()
    dialogue, told = talk(robot)
    turn = dialogue.say("put the lemon in the bowl ; pick up the pear")
    assert told[0] == "My plan: 1. put the lemon in the bowl; 2. pick up the pear."
    assert robot.deeds == ["put the lemon in the bowl", "pick up the pear"]
    assert turn.answer == "Placed the lemon. Picked up the pear."
    assert len(turn.episodes) == 2


def test_a_plan_with_a_step_that_cannot_be_read_moves_nothing() -> None:
    robot = TextRobot()
    turn = Dialogue(robot).say("put the lemon in the bowl ; flibber the pear")
    assert robot.deeds == []
    assert turn.error_code is ErrorCode.NOT_UNDERSTOOD
    assert "flibber" in turn.answer


def test_a_plan_stops_at_the_first_failure_and_goes_on_with_it() -> None:
    robot = TextRobot(endings=[None, (ErrorCode.PLACE_BLOCKED, "No room.")])
    dialogue, _ = talk(robot)
    turn = dialogue.say("put the lemon in the bowl ; put the pear in the bin ; pick up the can")
    assert turn.error_code is ErrorCode.PLACE_BLOCKED
    assert turn.done == ("put the lemon in the bowl",)
    assert turn.left == ("put the pear in the bin", "pick up the can")
    assert 'Done: "put the lemon in the bowl". Left: "put the pear in the bin"; "pick up the can".' in turn.answer
    assert dialogue.say("go on").success
    assert robot.deeds[2:] == ["put the pear in the bin", "pick up the can"]


def test_a_step_may_be_left_out() -> None:
    robot = TextRobot(endings=[(ErrorCode.PLACE_BLOCKED, "No room.")])
    dialogue, _ = talk(robot)
    dialogue.say("put the lemon in the bowl ; pick up the can")
    assert dialogue.say("skip it").success
    assert robot.deeds[1:] == ["pick up the can"]


def test_another_command_drops_the_plan() -> None:
    robot = TextRobot(endings=[(ErrorCode.PLACE_BLOCKED, "No room.")])
    dialogue, _ = talk(robot)
    dialogue.say("put the lemon in the bowl ; pick up the can")
    dialogue.say("pick up the pear")
    assert not dialogue.say("go on").success


@pytest.mark.parametrize(("answer", "deeds"), [("yes", 2), ("no", 1), ("go on", 2)])
def test_after_a_stop_going_on_asks_first(answer: str, deeds: int) -> None:
    robot, stopped = TextRobot(), [False]
    stop: Callable[[], bool] = lambda: stopped[0]  # noqa: E731
    dialogue, told = talk(robot, stopped=stop)
    told_first = told.append

    def stop_now(line: str) -> None:
        told_first(line)
        stopped[0] = line.startswith("Placed")

    dialogue._tell = stop_now
    turn = dialogue.say("put the lemon in the bowl ; put the pear in the bin")
    assert turn.error_code is ErrorCode.STOPPED
    assert len(robot.deeds) == 1
    stopped[0] = False
    asked = dialogue.say("go on")
    assert asked.question is not None
    assert len(robot.deeds) == 1
    dialogue.say(answer)
    assert len(robot.deeds) == deeds


def test_a_question_in_a_plan_keeps_what_is_left_for_its_answer() -> None:
    which = "Which can do you mean: the left one at (0.21, 0.53) or the right one at (0.48, 0.42)?"
    robot = TextRobot(endings=[(ErrorCode.AMBIGUOUS, which)])
    dialogue, _ = talk(robot)
    turn = dialogue.say("put the can in the bowl ; pick up the pear")
    assert turn.question is not None
    assert dialogue.say("choose the left one").success
    assert len(robot.deeds) == 3
    assert robot.deeds[2] == "pick up the pear"


def test_an_object_goes_where_another_one_was() -> None:
    robot = TextRobot()
    dialogue, _ = talk(robot)
    dialogue.say("put the lemon in the bowl")
    assert dialogue.say("put the pear where the lemon was.").success
    assert robot.deeds[1] == "put the pear on the free spot at (0.480, 0.420)"
    turn = dialogue.say("put the can where the honey was")
    assert (turn.error_code, len(robot.deeds)) == (ErrorCode.OBJECT_NOT_FOUND, 2)


def test_undo_after_a_place_and_after_a_pick() -> None:
    robot = TextRobot()
    dialogue, _ = talk(robot)
    dialogue.say("put the lemon in the bowl")
    dialogue.say("pick up the pear")
    assert dialogue.say("undo").answer == "I have put the pear back where it stood."
    assert robot.deeds[2] == "put it on the free spot at (0.480, 0.420)"
    dialogue.say("undo")
    assert robot.deeds[3] == "put the lemon at (0.300, 0.600) on the free spot at (0.480, 0.420)"
    assert "nothing that I have done" in dialogue.say("undo").answer


TWO = {"lemon": [(0.2, 0.5)], "pear": [(0.6, 0.4)], "free table": [(0.5, 0.8)], "bin": [(0.9, 0.5)]}
BACK = "put the {} at (0.300, 0.600) on the free spot at (0.480, 0.420)"


@pytest.mark.parametrize("words", ["undo", "put it where it was", "put them where it was", "put the pear where it was"])
def test_a_swap_is_taken_back_as_a_whole_the_last_move_first(words: str) -> None:
    robot = TextRobot(sees=TWO)
    dialogue, told = talk(robot)
    assert dialogue.say("swap the lemon and the pear").success
    told.clear()
    assert dialogue.say(words).success
    assert [named_thing(deed) for deed in robot.deeds[3:]] == ["lemon", "pear", "lemon"]
    assert all(deed.endswith("on the free spot at (0.480, 0.420)") for deed in robot.deeds[3:])  # where each stood
    assert told[0].startswith("My plan: 1. undo the last move of the lemon; 2. undo the last move of the pear; 3. ")
    assert "nothing that I have done" in dialogue.say("undo").answer


def test_undo_takes_back_what_was_asked_for_at_once_and_no_more() -> None:
    robot = TextRobot()
    dialogue, _ = talk(robot)
    dialogue.say("put the honey in the bowl")
    assert dialogue.say("put the lemon in the bowl ; put the pear in the bin").success
    assert dialogue.say("undo").success
    assert [deed for deed in robot.deeds[3:] if deed.startswith("put")] == [BACK.format("pear"), BACK.format("lemon")]
    dialogue.say("undo")
    assert robot.deeds[-1] == BACK.format("honey")


@pytest.mark.parametrize("words", ["undo the last move", "put it where it was", "put the pear where it was"])
def test_one_object_of_several_goes_back_alone_where_that_is_said(words: str) -> None:
    robot = TextRobot(facts={"placed": {"found": [0.7, 0.7]}})
    dialogue, _ = talk(robot)
    dialogue.say("put the lemon in the bowl ; put the pear in the bin")
    assert dialogue.say(words).success
    assert robot.deeds[2:] == ["put the pear at (0.700, 0.700) on the free spot at (0.480, 0.420)"]


def test_undoing_the_last_move_of_another_object_moves_nothing() -> None:
    robot = TextRobot()
    dialogue, _ = talk(robot)
    dialogue.say("put the lemon in the bowl")
    turn = dialogue.say("undo the last move of the pear")
    assert (turn.error_code, len(robot.deeds)) == (ErrorCode.NOT_UNDERSTOOD, 1)
    assert "My last move was of the lemon" in turn.answer


def test_nothing_of_a_plan_is_taken_back_where_a_step_of_it_cannot_be() -> None:
    robot = TextRobot(facts={"grasped": {"stood": None, "stood_m": None}})
    dialogue, _ = talk(robot)
    dialogue.say("put the lemon in the bowl ; put the pear in the bin")
    turn = dialogue.say("undo")
    assert (turn.error_code, len(robot.deeds)) == (ErrorCode.OBJECT_NOT_FOUND, 2)


@pytest.mark.parametrize("words", ["stack two cans", "stack both cans", "stack all cans"])
def test_a_stack_of_two_is_shown_before_it_is_made(words: str) -> None:
    robot = TextRobot(sees=CANS)
    dialogue, told = talk(robot)
    assert dialogue.say(words).success
    assert told[0].startswith("My plan: 1. put the can")
    assert "on the can" in told[0]
    assert len(robot.deeds) == 1


def test_a_stack_of_another_number_than_is_there_moves_nothing() -> None:
    robot = TextRobot(sees=CANS | {"can": [(0.2, 0.5), (0.6, 0.4), (0.7, 0.7)]})
    dialogue, _ = talk(robot)
    turn = dialogue.say("stack two cans")
    assert (turn.error_code, robot.deeds) == (ErrorCode.AMBIGUOUS, [])
    assert "You speak of 2, and I see 3" in turn.answer


@pytest.mark.parametrize("words", ["stack the three cans", "put the three cans and the bunny in a row"])
def test_fewer_than_were_spoken_of_are_not_moved_either(words: str) -> None:
    for cans in (1, 2):
        robot = TextRobot(sees=CANS | {"can": CANS["can"][:cans]})
        dialogue, _ = talk(robot)
        turn = dialogue.say(words)
        assert (turn.error_code, robot.deeds) == (ErrorCode.OBJECT_NOT_FOUND, [])
        assert f"I see only {cans}" in turn.answer


def test_undo_says_how_far_off_an_object_stands() -> None:
    robot = TextRobot()
    dialogue, _ = talk(robot)
    dialogue.say("pick up the pear")
    robot.facts = {"placed": {"found_m": [0.4, 0.112, 0.0]}}
    assert dialogue.say("undo").answer == "I have put the pear back 1.2 cm beside where it stood."


@pytest.mark.parametrize(
    ("words", "deeds"),
    [
        (
            "put them in the box",
            [f"put the {name} at (0.300, 0.600) in the box" for name in ("lemon", "pear")],
        ),
        ("stack them", ["put the lemon at (0.300, 0.600) on the pear at (0.300, 0.600)"]),
        ("put them together", ["put the pear at (0.300, 0.600) next to the lemon at (0.300, 0.600)"]),
    ],
)
def test_they_are_what_was_moved_last(words: str, deeds: list[str]) -> None:
    robot = TextRobot()
    dialogue, _ = talk(robot)
    dialogue.say("put the lemon and the pear in the bowl")
    assert dialogue.say(words).success
    assert robot.deeds[2:] == deeds


def test_they_are_the_objects_that_were_named_last() -> None:
    robot = TextRobot(sees=TWO)
    dialogue, _ = talk(robot)
    dialogue.say("put the lemon next to the pear")
    assert dialogue.say("swap them").success
    assert [named_thing(deed) for deed in robot.deeds[1:]] == ["lemon", "pear", "lemon"]


@pytest.mark.parametrize(
    ("words", "then"),
    [
        ("hand over the pear", "hand over it"),
        ("stand the pear up", "stand it up"),
        ("lift the pear a little", "hold it low"),
        ("slowly , hand over the pear", "slowly , hand over it"),
    ],
)
def test_what_is_not_held_is_picked_up_before_a_skill_with_it(words: str, then: str) -> None:
    robot = TextRobot()
    dialogue, _ = talk(robot)
    assert dialogue.say(words).success
    assert robot.deeds == [f"{'slowly , ' * words.startswith('slowly')}pick up the pear", then]


class Unseeing(TextRobot):
    """A robot whose tools say that all is done, and nothing of what they hold."""

    def __call__(self, sentence: str, policy: Policy | None, memory: str) -> Episode:
        done = super().__call__(sentence, policy, memory)
        done.turns = []
        return done


def test_what_is_not_held_after_its_pick_is_not_picked_up_over_and_over() -> None:
    robot = Unseeing()
    dialogue, _ = talk(robot)
    dialogue.say("hand over the pear")
    assert len(robot.deeds) == 2
    assert robot.deeds[0] == "pick up the pear"


def test_undo_says_why_not_where_the_place_is_not_known() -> None:
    robot = TextRobot(facts={"grasped": {"stood": None, "stood_m": None}})
    dialogue, _ = talk(robot)
    dialogue.say("put the lemon in the bowl")
    turn = dialogue.say("undo")
    assert (turn.error_code, len(robot.deeds)) == (ErrorCode.OBJECT_NOT_FOUND, 1)
    assert "did not see where the lemon stood" in turn.answer


def test_not_that_takes_back_and_does_the_same_with_the_other() -> None:
    robot = TextRobot()
    dialogue, _ = talk(robot)
    dialogue.say("pick up the orange")
    assert dialogue.say("not that , the lemon").success
    assert robot.deeds[1:] == ["put it on the free spot at (0.480, 0.420)", "pick up the lemon"]


@pytest.mark.parametrize("words", ["not that one", "not that , the other one", "choose the other one"])
def test_not_that_one_takes_back_and_does_the_same_with_the_only_other(words: str) -> None:
    robot = TextRobot(sees={"can": [(0.48, 0.42), (0.8, 0.5)]})
    dialogue, _ = talk(robot)
    dialogue.say("put the can in the bowl")
    assert dialogue.say(words).success
    assert robot.deeds[1:] == [BACK.format("can"), "put the can at (0.800, 0.500) in the bowl"]


def test_the_other_one_takes_back_and_does_the_same_with_the_other_candidate() -> None:
    which = "Which can do you mean: the left one at (0.21, 0.53) or the right one at (0.48, 0.42)?"
    robot = TextRobot(endings=[(ErrorCode.AMBIGUOUS, which)])
    dialogue, _ = talk(robot)
    dialogue.say("put the can in the bowl")
    dialogue.say("choose the left one")
    assert dialogue.say("choose the other one").success
    assert robot.deeds[2] == "put the can at (0.300, 0.600) on the free spot at (0.480, 0.420)"
    assert robot.deeds[3] == "put the can at (0.480, 0.420) in the bowl"


@pytest.mark.parametrize("between", ["thanks", "what did you do", "undo", "stop", "wait"])
def test_what_is_said_in_between_leaves_a_plan_that_waits(between: str) -> None:
    robot = TextRobot(endings=[None, (ErrorCode.PLACE_BLOCKED, "No room.")])
    dialogue, _ = talk(robot)
    dialogue.say("put the lemon in the bowl ; put the pear in the bin")
    turn = dialogue.say(between)
    assert turn.success
    assert turn.left == ("put the pear in the bin",)
    on = dialogue.say("go on")
    assert (on.question is not None) is (between in ("stop", "wait"))
    assert robot.deeds[-1] == "put the pear in the bin"


def test_stop_without_a_plan_says_no_more_than_that() -> None:
    dialogue, _ = talk(TextRobot())
    for words in ("stop", "wait", "robot please stop"):
        assert dialogue.say(words).answer == "I stand still; nothing is moving."


@pytest.mark.parametrize("words", ["cancel", "no"])
def test_a_plan_that_is_given_up_is_forgotten_and_without_one_nothing_happens(words: str) -> None:
    robot = TextRobot(sees=CANS, endings=[(ErrorCode.PLACE_BLOCKED, "no room")])
    dialogue, _ = talk(robot)
    assert dialogue.say(words).success
    assert dialogue.say("put both cans in the bin").left != ()
    assert dialogue.say(words).left == ()
    assert dialogue.say("go on").error_code is ErrorCode.INVALID_ARGUMENT


def test_a_container_of_few_objects_needs_no_measuring() -> None:
    assert len(_cans_into_the_bin(2, lambda points: [None] * len(points))) == 2


def test_what_has_no_room_in_a_container_is_refused_before_the_first_motion() -> None:
    def box(side_m: float) -> SeenBox:
        return SeenBox(np.array([side_m, side_m, 0.1]), np.zeros((8, 3)))

    with pytest.raises(ToolError, match="will not all fit into the bin") as refused:
        _cans_into_the_bin(3, lambda points: [box(0.2), *(box(0.12) for _ in points[1:])])
    assert refused.value.code is ErrorCode.PLACE_BLOCKED


def _cans_into_the_bin(number: int, measure: MeasureObjects) -> list[PlanAct]:
    points = {"can": [(0.1 * k, 0.4) for k in range(1, number + 1)], "bin": [(0.7, 0.5)]}
    [act] = read("put all cans in the bin")
    assert isinstance(act, GroupAct)
    return steps_of(act.plan, lambda names: {name: points.get(name, []) for name in names}, measure)
