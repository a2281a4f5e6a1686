"""Sentences that cannot be read, and the nearest ones that can."""

from __future__ import annotations

import pytest

from tests.agent_node.dialogue.operators import TextRobot, dialogue
from toolhand.agent_node.dialogue.nearly import nearly
from toolhand.tool_nodes.results import ErrorCode


@pytest.mark.parametrize(
    ("said", "near", "left_out"),
    [
        ("Show off a bit: put the can in the bowl.", "put the can in the bowl", "Show off a bit"),
        ("put the can in the bowl, splendidly", "put the can in the bowl", "splendidly"),
        ("put the can zealously in the bowl", "put the can in the bowl", "zealously"),
        ("I am so eager today, stack the red boxes", "stack the red boxes", "I am so eager today"),
    ],
)
def test_a_run_of_words_is_left_out(said: str, near: str, left_out: str) -> None:
    found = nearly(said)
    assert found is not None
    assert (found.text, found.left_out) == (near, left_out)


@pytest.mark.parametrize(
    "said",
    [
        "put the can in the bowl unless it zings",
        "in five minutes put the can in the bowl",
        "pretend to put the can in the bowl",
        "not zealously, put the can in the bowl",
        "frobnicate the can",
        "weigh the cup and record the value",
        "the lemon frowns, put the can next to it",
        "put the can in the bowl twice, zealously",
        "pon el limón en la mesa por favor",
        "put the can on the lid of the jam",
    ],
)
def test_what_binds_a_wish_or_names_an_object_is_never_left_out(said: str) -> None:
    assert nearly(said) is None


def test_the_nearest_sentence_is_carried_out_after_a_yes_alone() -> None:
    robot = TextRobot()
    talk = dialogue(robot)
    asked = talk.say("Show off a bit: pick up the can")
    assert (asked.error_code, robot.said) == (ErrorCode.AMBIGUOUS, [])
    assert asked.answer == (
        'I do not understand "Show off a bit". Do you mean "pick up the can"? Answer yes, or say it in other words.'
    )
    assert talk.say("yes").success
    assert robot.deeds == ["pick up the can"]


@pytest.mark.parametrize(("answer", "deeds"), [("no", []), ("pick up the lemon", ["pick up the lemon"])])
def test_another_answer_leaves_it(answer: str, deeds: list[str]) -> None:
    robot = TextRobot()
    talk = dialogue(robot)
    talk.say("Show off a bit: pick up the can")
    assert talk.say(answer).question is None
    assert robot.deeds == deeds
