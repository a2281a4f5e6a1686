"""Marks of answers, computed by hand from the published formulas."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.training.data.sets.layouts import half_mask, png
from tool_nodes.results import ToolError
from training.data.sets.marks import (
    MARKS,
    answer_part,
    chosen_letter,
    first_number,
    in_polygon,
    mark,
    mark_view,
    mean_relative_accuracy,
    measures_of,
    points_of,
    share_in_mask,
    stop_name,
)
from training.data.sets.question import Question, RowError


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("B", "B"),
        ("<think>A?</think> B ", "B"),
        ("<answer>A</answer> no, <answer>B</answer>", "B"),
        ("<analy>x</analy><ans>left</ans>", "left"),
        ("<answer>cut off", "cut off"),
    ],
)
def test_tags_and_thoughts_are_left_out(said: str, part: str) -> None:
    assert answer_part(said) == part


@pytest.mark.parametrize(
    ("said", "letter"),
    [
        ("A", "A"),
        ("b", "B"),
        ("(C)", "C"),
        ("(c)", "C"),
        ("B. the table", "B"),
        ("**B**", "B"),
        ("A) because it is near", "A"),
        ("The answer is (D).", "D"),
        ("Option A looks good, but the correct answer is: B", "B"),
        ("I chose (B) since it is red", "B"),
        ("cart", "D"),
        ("A cart is nearest", None),
        ("The answer is a table", None),
        ("E", None),
        ("(A) or (B)", "A"),
        ("It could be (A) or (B)", None),
        ("", None),
    ],
)
def test_the_letter_of_an_answer(said: str, letter: str | None) -> None:
    assert chosen_letter(said, ("garage door", "cabinet", "table", "cart")) == letter


def test_mean_relative_accuracy_counts_the_thresholds_that_are_kept() -> None:
    assert mean_relative_accuracy(4.0, 4.0) == 1.0
    assert mean_relative_accuracy(5.0, 4.0) == 0.6  # error 0.25 <= 1 - theta for theta 0.50 to 0.75
    assert mean_relative_accuracy(2.0, 4.0) == 0.1  # error 0.5: only theta 0.5, whose edge counts
    assert mean_relative_accuracy(9.0, 4.0) == 0.0
    assert mean_relative_accuracy(None, 4.0) == 0.0
    assert mean_relative_accuracy(0.0, 0.0) == 1.0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("3.5 m", 3.5),
        ("There are four chairs", 4.0),
        ("-2", -2.0),
        ("twenty", 20.0),
        ("none", None),
        ("chair 2 of 3", 2.0),
    ],
)
def test_the_first_number_of_a_text(text: str, number: float | None) -> None:
    assert first_number(text) == number


def test_points_are_shares_with_a_decimal_point_and_pixels_without() -> None:
    assert points_of("[(0.5, 0.25), (3, 4)]", 20, 10) == [(10, 2, 11, 3), (3, 4, 4, 5)]
    assert points_of("(0.0, 0.0, 0.5, 1.0)", 20, 10) == [(0, 0, 10, 10)]
    assert points_of("[0.5, 0.5]", 20, 10) == []


def test_the_share_of_points_in_a_mask() -> None:
    mask = np.zeros((10, 20))
    mask[:, :10] = 1
    assert share_in_mask("(0.1, 0.1)", mask) == 1.0
    assert share_in_mask("(0.1, 0.1) (0.9, 0.9)", mask) == 0.5
    assert share_in_mask("(0.1, 0.1) (1.5, 0.5) (-0.5, 0.5)", mask) == pytest.approx(1 / 3)
    assert share_in_mask("(0.25, 0.0, 1.0, 1.0)", mask) == pytest.approx(5 / 15)  # a box counts all its pixels
    assert share_in_mask("(0.0, 0.0, 999999.0, 999999.0)", mask) < 1e-9
    assert share_in_mask("nowhere", mask) == 0.0


def test_a_grey_mask_counts_in_part_for_where2place_and_whole_for_refspatial() -> None:
    grey = png((51, 51, 51))
    assert mark(Question("q", "?", (), "soft_mask", grey), "(0.5, 0.5)") == pytest.approx(0.2)
    assert mark(Question("q", "?", (), "mask", grey), "(0.5, 0.5)") == 1.0


def test_a_broken_mask_is_the_sets_fault() -> None:
    with pytest.raises(RowError, match="its mask cannot be read"):
        mark(Question("q", "?", (), "mask", half_mask()[:40]), "(0.5, 0.5)")


def test_a_polygon_is_taken_in_the_order_of_its_corners() -> None:
    square = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    bow_tie = ((0.0, 0.0), (1.0, 1.0), (1.0, 0.0), (0.0, 1.0))
    assert in_polygon(0.5, 0.1, square)
    assert not in_polygon(1.5, 0.5, square)
    assert not in_polygon(0.5, 0.1, bow_tie)
    assert in_polygon(0.1, 0.5, bow_tie)


def test_only_the_first_point_counts_in_a_polygon() -> None:
    question = Question("q", "?", (), "polygon", ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (0.0, 1.0)))
    assert mark(question, "[(0.9, 0.5), (0.1, 0.5)]") == 0.0
    assert mark(question, "[0.1, 0.5]") == 1.0


def test_yes_and_no_stand_at_the_beginning() -> None:
    question = Question("q", "?", (), "yes_no", "no")
    assert [mark(question, said) for said in ("No, it is not", '"no"', "I say no", "yes and no")] == [1, 1, 0, 0]


def test_moves_are_averaged_over_five_pairs_and_divided_by_the_answer_as_printed() -> None:
    question = Question("q", "?", (), "view", "move_right:1.0,rotate_up:10")
    assert mark(question, "move_right:1.0,rotate_up:10") == 1.0
    assert mark(question, "move_left:-1.0,rotate_up:10") == 1.0
    # moved twice as far: |1 - 2| / 2 = 0.5 as printed, 1 threshold of 10; |2 - 1| / 1 = 1 corrected, none
    assert mark(question, "move_right:2.0,rotate_up:10") == pytest.approx((0.1 + 4) / 5)
    assert mark_view(question, "move_right:2.0,rotate_up:10", as_printed=False) == pytest.approx(4 / 5)
    assert mark(question, "right by one") == 0.0


def test_a_path_is_right_below_a_distance_of_one() -> None:
    question = Question("q", "?", (), "path", [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0]])
    assert mark(question, "[(0.0, 0.3), (0.5, 0.3), (1.0, 0.3)]") == 1.0  # 3 x 0.3
    assert mark(question, "[(0.0, 0.4), (0.5, 0.4), (1.0, 0.4)]") == 0.0  # 3 x 0.4
    assert mark(question, "[(0.0, 0.0)]") == 0.0


def test_lengths_are_read_in_metres_with_their_units() -> None:
    assert measures_of("2 m by 50 cm by 10 inches, 1.5 feet, 30 mm", unit=True) == pytest.approx(
        [2.0, 0.5, 0.254, 0.4572, 0.03]
    )
    assert measures_of("4 chairs", unit=True) == []
    assert measures_of("4 chairs", unit=False) == [4.0]


def test_every_length_must_be_within_a_quarter() -> None:
    question = Question("q", "?", (), "measures", [2.0, 1.0], meta={"unit": "m"})
    assert mark(question, "2.5 m and 75 cm") == 1.0
    assert mark(question, "2.5 m and 74 cm") == 0.0
    assert mark(question, "2 m") == 0.0


LINES = {"Line 1": ["A", "B Station", "C"], "Line 2": ["C", "D"]}
ROUTE = Question("q", "?", (), "route", {"from": "A", "to": "D", "lines": LINES})


def section(line: str, start: str, end: str) -> str:
    return f"Route Name: {line}\nDeparture Stop: {start}\nArrival Stop: {end}\n"


@pytest.mark.parametrize(
    ("sections", "right"),
    [
        ([("Line 1", "A", "C"), ("Line 2", "C", "D")], 1.0),
        ([("Line 1", "a", "C (Transfer)"), ("Line 2", "C", "D")], 1.0),
        ([("Line 1", "A", "B Station"), ("Line 2", "C", "D")], 0.0),  # no change of lines there
        ([("Line 1", "A", "C"), ("Line 3", "C", "D")], 0.0),  # no such line
        ([("Line 1", "A", "D")], 0.0),  # not on that line
        ([("Line 2", "C", "D")], 0.0),  # another beginning
        ([], 0.0),
    ],
)
def test_a_route_can_be_travelled_or_not(sections: list[tuple[str, str, str]], right: float) -> None:
    assert mark(ROUTE, "--\n".join(section(*each) for each in sections)) == right


def test_names_of_stops_are_compared_without_brackets_and_blanks() -> None:
    assert stop_name("King's-Cross  (Transfer Station)") == stop_name("kings cross".replace("kings", "king's"))


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ToolError, match='no kind of question "smell"'):
        mark(Question("q", "?", (), "smell", ""), "x")


TRUTHS = {
    "choice": "A",
    "yes_no": "yes",
    "mask": half_mask(),
    "soft_mask": half_mask(),
    "number": 2.0,
    "last_number": 2.0,
    "polygon": ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)),
    "view": "move_up:1",
    "path": [[0.0, 0.0], [1.0, 1.0]],
    "text": "cup",
    "measures": [1.0],
    "route": ROUTE.truth,
}


@given(st.sampled_from(sorted(MARKS)), st.text(alphabet="AB()[],.:- 0123456789eyesnmd\n<>answer/", max_size=80))
def test_whatever_is_said_is_worth_between_0_and_1(kind: str, said: str) -> None:
    question = Question("q", "?", (), kind, TRUTHS[kind], ("left", "right"), meta={"unit": "m"})
    assert 0.0 <= mark(question, said) <= 1.0
