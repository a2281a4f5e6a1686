"""What is taken out of a sentence before it is read, and sentences that remark on something."""

from __future__ import annotations

import numpy as np
import pytest

from tests.agent_node.dialogue.operators import TextRobot
from toolhand.agent_node.dialogue.acts import Deed, FollowUp, GroupAct, QuestionAct, SkillAct
from toolhand.agent_node.dialogue.dialogue import Dialogue
from toolhand.agent_node.dialogue.follow_ups import FollowUps
from toolhand.agent_node.dialogue.hearing import heard
from toolhand.agent_node.dialogue.measured import SeenBox
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.reading import read
from toolhand.agent_node.dialogue.sequences import steps_of
from toolhand.agent_node.dialogue.wordings import FOLDER
from toolhand.agent_node.memory import RobotMemory
from toolhand.tool_nodes.plain_yaml import load
from toolhand.tool_nodes.results import ErrorCode, ToolError

EXAMPLES = load((FOLDER / "hearing.yaml").read_bytes())["examples"]


@pytest.mark.parametrize("said", EXAMPLES)
def test_a_sentence_is_heard_without_what_changes_nothing(said: str) -> None:
    assert heard(said) == EXAMPLES[said]


def test_a_sentence_with_a_point_is_heard_as_it_is() -> None:
    said = "oh dear, put the can at (0.412, 0.530) in the bin, would you"
    assert heard(said) == said


@pytest.mark.parametrize(
    ("said", "act"),
    [
        ("Sugar, quick, hand it over.", SkillAct("hand_over", "the sugar")),
        (
            "The lemon that's near the bin, I want that next to the soda.",
            "put the lemon that's near the bin next to the soda",
        ),
        ("Sugar behind the cereal, no, sorry, left of the cereal.", "Sugar left of the cereal"),
        ("Shove the cinnamon 8 cm to the left.", "put the cinnamon 8 cm to the left"),
        ("bring the marmalade near the left edge", "bring the marmalade near the left edge"),
        ("Change the place of cola with the place of salt.", GroupAct("swap", ("cola", "salt"))),
        ("All apples must to be together.", GroupAct("all", ("apples",), "next to each other")),
    ],
)
def test_orders_of_many_frames_are_read(said: str, act: object) -> None:
    assert [part.act for part in read(said)] == [Deed(act) if isinstance(act, str) else act]


@pytest.mark.parametrize(
    ("said", "kind", "objects"),
    [
        ("is the lemon left or right of the crackers", "which_side", ("the lemon", "the crackers")),
        ("Is the honey closer to the bunny or to the shampoo?", "nearer", ("the honey", "the bunny", "the shampoo")),
        ("Confirm whether the container is empty.", "empty", ("the container",)),
        ("State the distance between the two screwdrivers in centimetres.", "apart", ("screwdrivers",)),
        ("which things here can u eat", "what_is", ("foods",)),
        ("Got any eggs?", "is_there", ("eggs",)),
        ("How much balls is here?", "how_many", ("balls",)),
    ],
)
def test_questions_of_many_frames_are_read(said: str, kind: str, objects: tuple[str, ...]) -> None:
    (part,) = read(said)
    assert isinstance(part.act, QuestionAct)
    assert (part.act.kind, part.act.things) == (kind, objects)


@pytest.mark.parametrize(
    ("said", "remark", "order"),
    [
        (
            "That banana looks lonely, put the hotdog beside it",
            "That banana looks lonely",
            Deed("put the hotdog beside the banana"),
        ),
        (
            "Who left a wrench in my kitchen? Shove it in the back right corner.",
            "Who left a wrench in my kitchen",
            Deed("put the wrench in the back right corner"),
        ),
        ("I am hungry, give me some fruit.", "I am hungry", SkillAct("hand_over", "some fruit")),
    ],
)
def test_a_remark_is_told_and_its_object_is_meant_by_it(said: str, remark: str, order: object) -> None:
    (part,) = read(said)
    assert (part.remark, part.act) == (remark, order)


@pytest.mark.parametrize("said", ["do not touch the cup, put the cup in the bowl", "unless I stop you, take the lemon"])
def test_what_may_change_a_wish_is_no_remark(said: str) -> None:
    assert not any(part.remark for part in read(said))


@pytest.mark.parametrize(
    ("said", "pace", "told"),
    [
        ("slower please", "slower", "0.3"),
        ("a bit slower", "a bit slower", "0.6"),
        ("half speed", "half speed", "0.5"),
        ("that's too fast", "a bit slower", "0.6"),
        ("full speed again", "", "as fast as I am allowed to"),
    ],
)
def test_a_speed_alone_holds_for_what_follows(said: str, pace: str, told: str) -> None:
    operator = OperatorMemory(pace="slowly")
    (part,) = read(said)
    assert isinstance(part.act, FollowUp)
    answer = FollowUps(RobotMemory(), operator, lambda: 0.0).meant(part.act)
    assert isinstance(answer, str)
    assert told in answer
    assert operator.pace == pace


def test_an_object_that_is_left_alone_is_told_as_a_remark() -> None:
    (part,) = read("Do not touch the cup; put the lemon in the bowl.")
    assert (part.remark, part.act) == ("Do not touch the cup", Deed("put the lemon in the bowl"))


def test_nothing_moves_for_a_sentence_whose_end_is_refused() -> None:
    robot = TextRobot(sees={"ketchup": [(0.2, 0.5)], "red box": [(0.6, 0.5)]})
    turn = Dialogue(robot).say("Ketchup to red box, what's it worth?")
    assert (turn.success, robot.deeds) == (False, [])
    assert "what's it worth" in turn.answer or 'Do you mean "' in turn.answer


def test_it_is_not_guessed_where_a_remark_names_two_objects() -> None:
    assert not any(
        "pick the bowl" in getattr(part.act, "text", "") for part in read("The can touches the bowl, pick it up")
    )


def test_an_empty_plan_of_one_container_needs_no_measuring() -> None:
    act = GroupAct("all", ("cans",), "in the bin")
    points = {"can": [(0.3, 0.4), (0.5, 0.4)], "bin": [(0.7, 0.5)]}
    steps = steps_of(
        act, lambda names: {name: points.get(name, []) for name in names}, lambda points: [None] * len(points)
    )
    assert len(steps) == 2


def test_what_has_no_room_in_a_container_is_refused_before_the_first_motion() -> None:
    def box(side_m: float) -> SeenBox:
        return SeenBox(np.array([side_m, side_m, 0.1]), np.zeros((8, 3)))

    act = GroupAct("all", ("cans",), "in the bin")
    points = {"can": [(0.2, 0.4), (0.3, 0.4), (0.5, 0.4)], "bin": [(0.7, 0.5)]}
    with pytest.raises(ToolError, match="will not all fit into the bin") as refused:
        steps_of(
            act,
            lambda names: {name: points.get(name, []) for name in names},
            lambda points: [box(0.2), *(box(0.12) for _ in points[1:])],
        )
    assert refused.value.code is ErrorCode.PLACE_BLOCKED
