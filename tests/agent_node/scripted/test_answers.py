"""What an answer to a question of the scripted policy means, before anything is looked for."""

import pytest

from toolhand.agent_node.policies.scripted.answers import another_command, choose, ends, with_two
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.tool_nodes.language.phrases import parse_noun_phrase

CAN = parse_noun_phrase("can")
TWO = ((0.5, 0.4), (0.2, 0.5))
"""The second one stands to the left and nearer."""
THREE = (*TWO, (0.8, 0.3))


@pytest.mark.parametrize(
    ("answer", "index"),
    [
        ("the left one", 1),
        ("left", 1),
        ("Right!", 0),
        ("the near one", 1),
        ("no, the far one", 0),
        ("take the left one", 1),
        ("choose the right can", 0),
        ("choose any", 0),
        ("number 2", 0),
        ("1", 1),
        ("the second one from the left", 0),
        ("the one on the left please", 1),
        ("(0.21, 0.49)", 1),
        ("0.5 0.41", 0),
        ("that one at 0.5,0.41", 0),
    ],
)
def test_sides_numbers_and_points_single_out_a_candidate(answer: str, index: int) -> None:
    assert choose(answer, CAN, TWO) == index


@pytest.mark.parametrize(
    ("answer", "index"), [("the second one from the left", 0), ("the middle one", 0), ("the last one from the left", 2)]
)
def test_sides_are_those_of_all_candidates(answer: str, index: int) -> None:
    assert choose(answer, CAN, THREE) == index


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "hm",
        "that one",
        "the other one",
        "the third one",
        "number 7",
        "0",
        "(0.35, 0.45)",
        "(0.9, 0.9)",
        "the can",
        "both",
        "the red one (0.2, 0.5)",
    ],
)
def test_what_singles_out_nothing_is_not_guessed(answer: str) -> None:
    assert not isinstance(choose(answer, CAN, TWO), int)


@pytest.mark.parametrize(
    ("answer", "phrases"),
    [
        ("the red one", ("red can",)),
        ("red", ("red can", "red")),
        ("the bigger one", ("bigger can",)),
        ("the one next to the bowl", ("can next to the bowl",)),
        ("the red can", ("red can",)),
        ("coke", ("coke can", "coke")),
    ],
)
def test_what_is_described_is_looked_for_among_the_candidates(answer: str, phrases: tuple[str, ...]) -> None:
    assert choose(answer, CAN, TWO) == phrases


@pytest.mark.parametrize("answer", ["Never mind!", "no", "cancel"])
def test_an_answer_can_end_the_command(answer: str) -> None:
    assert ends(answer)


@pytest.mark.parametrize("answer", ["Never mind! the left one", "no the left one", "no, the left one"])
def test_an_answer_that_chooses_ends_nothing(answer: str) -> None:
    assert not ends(answer)


def test_a_whole_command_is_one_and_the_choice_of_an_object_is_none() -> None:
    other = another_command("put the banana in the bowl")
    assert other is not None
    assert other.understood == "pick: banana; place: in the bowl"
    assert another_command("take the red one") is None
    assert another_command("the left can") is None


@pytest.mark.parametrize(
    ("answer", "understood"),
    [
        ("the box and the bowl", "pick: can; place: between the box and the bowl"),
        ("between the red box and the bin", "pick: can; place: between the red box and the bin"),
        ("the box", None),
    ],
)
def test_two_objects_are_named_for_a_place_between(answer: str, understood: str | None) -> None:
    settled = with_two(answer, parse_command("put the can between the two boxes"))
    assert (settled and settled.understood) == understood
