"""Words that point mean the points that go with them, in order; where they do not fit, the robot asks."""

from __future__ import annotations

import pytest

from tests.agent_node.dialogue.operators import TextRobot
from toolhand.agent_node.dialogue.clauses import parses
from toolhand.agent_node.dialogue.dialogue import Dialogue
from toolhand.agent_node.dialogue.pointing import answer_at, bound
from toolhand.agent_node.dialogue.reading import read
from toolhand.agent_node.pointed import MOST_POINTS, PointedPoint
from toolhand.tool_nodes.results import ErrorCode, ToolError

A, B, C = PointedPoint((0.412, 0.53)), PointedPoint((0.7, 0.6)), PointedPoint((0.1, 0.2))
AT_A, AT_B, AT_C = "at (0.412, 0.530)", "at (0.700, 0.600)", "at (0.100, 0.200)"


@pytest.mark.parametrize(
    ("said", "points", "meant"),
    [
        ("Pick up this one, put it here.", [A, B], f"Pick up the thing {AT_A}, put it on the free spot {AT_B}."),
        ("put this here", [A, B], f"put the thing {AT_A} on the free spot {AT_B}"),
        ("put it here", [B], f"put it on the free spot {AT_B}"),
        ("put it here", [A, B], f"put the thing {AT_A} on the free spot {AT_B}"),
        ("put this can over there", [A, B], f"put the can {AT_A} on the free spot {AT_B}"),
        ("put this red box next to that one", [A, B], f"put the red box {AT_A} next to the thing {AT_B}"),
        ("put this in that bowl", [A, B], f"put the thing {AT_A} in the bowl {AT_B}"),
        ("put it in there", [A], f"put it in the thing {AT_A}"),
        ("put this at this spot", [A, B], f"put the thing {AT_A} on the free spot {AT_B}"),
        ("move this to there", [A, B], f"move the thing {AT_A} on the free spot {AT_B}"),
        ("put it to the left of this", [A], f"put it to the left of the thing {AT_A}"),
        (
            "put this between this one and that",
            [A, B, C],
            f"put the thing {AT_A} between the thing {AT_B} and the thing {AT_C}",
        ),
        ("put the box that is red here", [A], f"put the box that is red on the free spot {AT_A}"),
        ("pick up the red can", [A], f"pick up the red can {AT_A}"),
        ("give me that", [A], f"give me the thing {AT_A}"),
        ("put this here", [], "put this here"),
    ],
)
def test_words_that_point_become_words_that_stand_alone(said: str, points: list[PointedPoint], meant: str) -> None:
    assert bound(said, points) == meant
    assert not points or parses(meant)


@pytest.mark.parametrize(
    ("said", "points", "asked"),
    [
        ("pick up this one", [A, B], 'You have given 2 points for "this one"'),
        ("pick up this one and put that one here", [A, B], '2 points for "this one", "that one" and "here"'),
        ("put the can in the bowl", [A], 'one point, and no word such as "this one"'),
        ("hello", [A], "one point, and no word"),
    ],
)
def test_words_and_points_that_do_not_fit_are_asked_about(said: str, points: list[PointedPoint], asked: str) -> None:
    with pytest.raises(ToolError, match=asked) as refused:
        bound(said, points)
    assert refused.value.code is ErrorCode.AMBIGUOUS
    assert refused.value.message.count("?") == 1
    robot = TextRobot()
    turn = Dialogue(robot).say(said, points)
    assert (turn.error_code, robot.said) == (ErrorCode.AMBIGUOUS, [])


def test_points_that_nobody_can_refer_to_are_refused() -> None:
    for points in ([PointedPoint((0.5, 0.5), camera="wrist")], [A] * (MOST_POINTS + 1), [PointedPoint(None)]):
        with pytest.raises(ToolError) as refused:
            bound("pick up this one", points)
        assert refused.value.code is ErrorCode.INVALID_ARGUMENT
    for wrong in ((1.2, 0.5), (float("nan"), 0.5)):
        with pytest.raises(ToolError, match="A point is"):
            PointedPoint(wrong)


def test_two_objects_at_two_points_are_two_commands() -> None:
    said = bound("pick up this can and then pick up that can", [A, B])
    assert [part.said for part in read(said)] == [
        f"pick up the can {AT_A}".removesuffix(")"),
        f"pick up the can {AT_B}".removesuffix(")"),
    ]


def test_a_dialogue_carries_out_what_was_pointed_at() -> None:
    robot = TextRobot()
    turn = Dialogue(robot).say("pick up this one, put it here", [A, B])
    assert turn.success
    assert robot.deeds == [f"pick up the thing {AT_A}, put it on the free spot {AT_B}"]


def test_a_click_answers_the_question_that_waits() -> None:
    which = "Which can do you mean: the left one at (0.20, 0.50) or the right one at (0.80, 0.50)?"
    for words in ("", "this one", "that one please"):
        robot = TextRobot(endings=[(ErrorCode.AMBIGUOUS, which), None])
        dialogue = Dialogue(robot)
        question = dialogue.say("pick up the can").question
        assert question is not None
        assert [each.point for each in question.candidates] == [(0.2, 0.5), (0.8, 0.5)]
        assert dialogue.say(words, [PointedPoint((0.78, 0.52))]).success
        assert robot.deeds[-1] == "pick up the can at (0.800, 0.500)"


def test_only_a_point_alone_is_an_answer_by_itself() -> None:
    assert answer_at("that one", [A]) == "(0.412, 0.530)"
    assert not answer_at("the red one", [A])
    assert not answer_at("this can", [A])
    assert not answer_at("this one", [A, B])
