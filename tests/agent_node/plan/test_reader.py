"""What the exact reader takes for the robot's own words, and what it leaves to others."""

import pytest

from toolhand.agent_node.plan.reader import CanonicalReader, context_of
from toolhand.agent_node.plan.reading import is_plan, read_plan, say


def read(text: str, question: str = "") -> str | None:
    understood = CanonicalReader().read(text, context_of("", question))
    return None if understood is None else say(understood.plan)


@pytest.mark.parametrize(
    ("said", "plan"),
    [
        ("Please pick up the red box.", "pick up the red box"),
        ("Grab the left can, please!", "pick up the left can"),
        ("Pick up the pony and place it into the black bin", "pick up the pony ; put it in the black bin"),
        ("Pick up the pony. Put it on top of the red box.", "pick up the pony ; put it on the red box"),
        ("move the can to the left of the bowl", "put the can left of the bowl"),
        ("put the can 10cm from the bowl", "put the can 10 cm next to the bowl"),
        ("pick up the can left of the bowl", "pick up the can that is left of the bowl"),
        ("pick up the can on the left", "pick up the can that is on the left"),
        ("pick up the can not next to the bowl", "pick up the can that is not next to the bowl"),
        ("get the can furthest to the left", "pick up the can that is leftmost"),
        ("take the can that is closer to the camera", "pick up the can that is closest to me"),
        ("put the can closest to the robot in the bin", "put the can that is closest to you in the bin"),
        ("put the can between the two boxes", "put the can between the two boxes"),
        ("put the pear in the middle of the table", "put the pear in the middle"),
        ("put the pear on the free spot at (0.5, 0.25)", "put the pear on the free spot at (0.500, 0.250)"),
        ("Slowly, pick up an egg", "slowly , pick up a egg"),
        ("pick up the egg at half speed", "at 50 % speed , pick up the egg"),
        ("put it down", "put it on the table"),
        ("speed slower", "speed slower"),
    ],
)
def test_a_few_other_words_for_those_of_the_grammar_are_read(said: str, plan: str) -> None:
    assert read(said) == plan
    assert read(plan) == plan


@pytest.mark.parametrize(
    "said",
    [
        "",
        "grab me the red box",
        "pick up the can if it is red",
        "pick up the can upside down",
        "pick up the can into the bowl",
        "pick up the colour of the can and the",
        "put the can left of the bowl in the bin",
        "put the can next to the bowl on the left",
        "put the can on the near side of the box",
        "take the teddy further back",
        "put the can at the point (7, x)",
        "the left one",
        "2",
    ],
)
def test_what_may_mean_something_else_is_left_to_others(said: str) -> None:
    assert read(said) is None


@pytest.mark.parametrize(
    ("said", "plan"),
    [
        ("the left one", "choose the left one"),
        ("Left!", "choose the left"),
        ("no, the one on the left please", "choose the one that is on the left"),
        ("number 2", "choose number 2"),
        ("2", "choose number 2"),
        ("the box and the bowl", "choose the box and the bowl"),
        ("choose any", "choose any"),
        ("never mind", "cancel"),
        ("put the can in the bin", "put the can in the bin"),
    ],
)
def test_where_a_question_waits_an_object_is_a_choice(said: str, plan: str) -> None:
    assert read(said, "Which can do you mean?") == plan


def test_a_second_clause_is_of_the_same_object_as_the_first() -> None:
    text = "pick up the can that is left of the bowl and is not red"
    [act] = read_plan(text)
    assert [clause.kind for clause in act.objects[0].clauses] == ["relation", "words"]
    assert act.objects[0].clauses[0].objects[0].clauses == ()
    assert say((act,)) == text


def test_a_word_in_brackets_is_no_point() -> None:
    assert is_plan("put it at the point (0.5, 1)")
    assert not is_plan("put it at the point (x")
