"""Words that point mean the points that go with them, in order; where they do not fit, the robot asks."""

import pytest

from tests.agent_node.dialogue.operators import TextRobot
from toolhand.agent_node.dialogue.dialogue import Dialogue
from toolhand.agent_node.dialogue.pointing import PointedNouns, answer_at
from toolhand.agent_node.dialogue.understanding import Understanding
from toolhand.agent_node.plan.reading import read_plan, say
from toolhand.agent_node.pointed import MOST_POINTS, PointedPoint
from toolhand.tool_nodes.results import ErrorCode, ToolError

A, B, C = PointedPoint((0.412, 0.53)), PointedPoint((0.7, 0.6)), PointedPoint((0.1, 0.2))
POINT_A, POINT_B = "on the free spot at (0.412, 0.530)", "on the free spot at (0.700, 0.600)"
AT_A, AT_B, AT_C = "at (0.412, 0.530)", "at (0.700, 0.600)", "at (0.100, 0.200)"


@pytest.mark.parametrize(
    ("said", "points", "heard", "meant"),
    [
        ("put this here", [A, B], "put the compass on the lantern", f"put the thing {AT_A} {POINT_B}"),
        ("put it here", [B], "put it on the lantern", f"put it {POINT_B}"),
        ("put it here", [A, B], "put the compass on the lantern", f"put the thing {AT_A} {POINT_B}"),
        ("put this can over there", [A, B], "put the compass on the lantern", f"put the can {AT_A} {POINT_B}"),
        (
            "put this red box next to that one",
            [A, B],
            "put the compass next to the lantern",
            f"put the red box {AT_A} next to the thing {AT_B}",
        ),
        ("put this in that bowl", [A, B], "put the compass in the lantern", f"put the thing {AT_A} in the bowl {AT_B}"),
        ("put it in there", [A], "put it in the lantern", f"put it in the thing {AT_A}"),
        ("put this at this spot", [A, B], "put the compass on the lantern", f"put the thing {AT_A} {POINT_B}"),
        ("put it left of this", [A], "put it left of the lantern", f"put it left of the thing {AT_A}"),
        (
            "put this between this one and that",
            [A, B, C],
            "put the whistle between the compass and the lantern",
            f"put the thing {AT_A} between the thing {AT_B} and the thing {AT_C}",
        ),
        ("hand over that", [A], "hand over the lantern", f"hand over the thing {AT_A}"),
        ("pick up the red can", [A], "pick up the red can", f"pick up the red can {AT_A}"),
        (
            "put the can at (0.1, 0.2) here",
            [A],
            "put the lantern on the compass",
            f"put the can {AT_C} {POINT_A}",
        ),
    ],
)
def test_words_that_point_reach_the_reader_as_nouns_and_come_back_with_their_points(
    said: str, points: list[PointedPoint], heard: str, meant: str
) -> None:
    assert PointedNouns(said, points).text == heard
    assert Understanding(None).hear(said, "", points).steps == (meant,)


def test_a_point_that_is_typed_is_no_word_of_another_readers_sentence() -> None:
    nouns = PointedNouns("grab the can at (0.412, 0.53) and drop it on the free spot at (0.7, 0.6)", [])
    assert nouns.text == "grab the lantern and drop it on the compass"
    [pick, put] = nouns.put_back(read_plan("pick up the lantern ; put it on the compass"))
    assert say((pick, put)) == f"pick up the can {AT_A} ; put it {POINT_B}"


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
    robot = TextRobot()
    turn = Dialogue(robot).say(said, points)
    assert asked in turn.answer
    assert turn.answer.count("?") == 1
    assert (turn.error_code, robot.said) == (ErrorCode.AMBIGUOUS, [])


def test_points_that_nobody_can_refer_to_are_refused() -> None:
    for points in ([PointedPoint((0.5, 0.5), camera="wrist")], [A] * (MOST_POINTS + 1), [PointedPoint(None)]):
        with pytest.raises(ToolError) as refused:
            PointedNouns("pick up this one", points)
        assert refused.value.code is ErrorCode.INVALID_ARGUMENT
    for wrong in ((1.2, 0.5), (float("nan"), 0.5)):
        with pytest.raises(ToolError, match="A point is"):
            PointedPoint(wrong)


def test_a_dialogue_carries_out_what_was_pointed_at() -> None:
    robot = TextRobot()
    turn = Dialogue(robot).say("pick up this one ; put it here", [A, B])
    assert turn.success
    assert robot.deeds == [f"pick up the thing {AT_A}", f"put it on the free spot {AT_B}"]


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
