"""Where blanks are put between the letters of a line, by what the network says at each step."""

from __future__ import annotations

import numpy as np
import pytest

from tool_nodes.perception.text.blanks import EVEN_CHANCE, NOTHING, place_blanks

A, B, BLANK = 1, 2, 9


def placed(signs: list[int], chances: list[float]) -> tuple[list[int], list[float]]:
    line, sure = np.array(signs), np.full(len(signs), 0.99)
    place_blanks(line, sure, np.array(chances), BLANK)
    return line.tolist(), sure.round(3).tolist()


def test_a_blank_less_likely_than_nothing_is_put_where_it_is_likeliest_and_is_not_sure() -> None:
    signs, sure = placed([A, A, NOTHING, NOTHING, B], [0.0, 0.05, 0.1, 0.15, 0.0])
    assert signs == [A, A, NOTHING, BLANK, B]
    assert sure == [0.99, 0.99, 0.99, pytest.approx(0.3**2 / (0.3**2 + EVEN_CHANCE**2), abs=1e-3), 0.99]


def test_a_clear_blank_stays_and_is_sure_and_there_is_one_between_two_letters() -> None:
    signs, sure = placed([A, BLANK, BLANK, NOTHING, BLANK, B], [0.0, 0.9, 0.95, 0.4, 0.6, 0.0])
    assert signs == [A, NOTHING, BLANK, NOTHING, NOTHING, B]
    assert min(sure) > 0.95


def test_letters_side_by_side_get_none_and_the_second_is_doubtful_where_there_might_be_one() -> None:
    assert placed([A, NOTHING, B], [0.0, 0.01, 0.0]) == ([A, NOTHING, B], [0.99, 0.99, 0.99])
    assert placed([A, NOTHING, B], [0.0, 0.1, 0.0]) == ([A, NOTHING, B], [0.99, 0.99, 0.8])


def test_where_there_is_no_room_for_a_likely_blank_the_letter_is_doubtful() -> None:
    signs, sure = placed([A, B], [0.3, 0.3])
    assert signs == [A, B]
    assert sure[1] <= 0.1


def test_the_same_letter_twice_is_two_letters_and_the_ends_of_a_line_are_left_alone() -> None:
    assert placed([BLANK, A, NOTHING, A, BLANK], [0.9, 0.0, 0.5, 0.0, 0.9])[0] == [BLANK, A, BLANK, A, BLANK]
    assert placed([NOTHING, NOTHING], [0.9, 0.9])[0] == [NOTHING, NOTHING]
