"""Lines, blanks and names of maps in what a reader has found."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolhand.sim.drawings.builder import ImageBuilder
from toolhand.tool_nodes.perception.text.blanks import EVEN_CHANCE, NOTHING, place_blanks
from toolhand.tool_nodes.perception.text.layout import (
    formulas,
    is_prose,
    looks_like_mathematics,
    read_table,
    reading_order,
    with_scripts,
)
from toolhand.tool_nodes.perception.text.rulings import Rulings, find_rulings
from toolhand.tool_nodes.tools.peria.text_reading import is_map_noise
from toolhand.tool_nodes.types import TextSpan

# -- reading order, formulas and tables from boxes alone -------------------------------------------


def span(text: str, left: float, top: float, width: float = 40, height: float = 20, kind: str = "text") -> TextSpan:
    return TextSpan(text, (left, top, left + width, top + height), 1.0, kind)


@given(st.permutations(["a", "b", "c", "d"]))
def test_texts_are_read_row_by_row_whatever_their_order(order: list[str]) -> None:
    places = {"a": (0, 4), "b": (100, 0), "c": (0, 50), "d": (100, 53)}
    read = reading_order([span(name, *places[name]) for name in order])
    assert [one.text for one in read] == ["a", "b", "c", "d"]


def test_scripts_become_latex_and_plain_text_stays_as_it_is() -> None:
    assert with_scripts([("x", 0, False), ("1", 1, False), ("2", 1, False), ("+", 0, True), ("%", 0, True)]) == (
        r"x^{12} + \%"
    )
    assert with_scripts([("5", 0, False), ("%", 0, True)]) == "5 %"


def test_text_above_and_below_a_bar_is_a_fraction_in_its_place() -> None:
    spans = [span("y =", 0, 40), span("a + b", 60, 10, 60), span("2c", 80, 65, 20), span("z", 0, 150)]
    assert formulas(spans, [(58, 122, 50.0)]) == [r"y = \frac{a + b}{2c}", "z"]


def test_a_bar_with_text_on_one_side_only_is_no_fraction() -> None:
    assert formulas([span("Heading", 0, 10, 80)], [(0, 80, 36.0)]) == ["Heading"]


def test_a_grid_gives_each_text_its_cell_and_empty_cells_stay() -> None:
    grid = Rulings(columns=(0.0, 100.0, 200.0), rows=(0.0, 50.0, 100.0))
    spans = [span("Item", 10, 15), span("Price", 110, 15), span("two", 150, 65, 30), span("lines", 110, 65, 30)]
    assert read_table(spans, grid).rows == [["Item", "Price"], ["", "lines two"]]


def test_without_a_grid_gaps_make_the_columns() -> None:
    spans = [span("Item", 0, 0), span("Price", 100, 0), span("Bread and butter", 0, 40, 80), span("3.20", 110, 40)]
    assert read_table(spans, Rulings()).rows == [["Item", "Price"], ["Bread and butter", "3.20"]]


def test_nothing_read_is_no_table() -> None:
    assert read_table([], Rulings()).rows == []


def test_the_lines_of_a_grid_are_found() -> None:
    image = ImageBuilder(300, 200)
    for x in (20, 120, 280):
        image.path([(x, 30), (x, 170)], 2.0, (0, 0, 0))
    for y in (30, 100, 170):
        image.path([(20, y), (280, y)], 2.0, (0, 0, 0))
    found = find_rulings(image.frame().rgb)
    assert np.allclose(found.columns, (20, 120, 280), atol=1.5)
    assert np.allclose(found.rows, (30, 100, 170), atol=1.5)


def test_a_plain_image_has_no_lines() -> None:
    assert find_rulings(np.full((40, 60, 3), 7, np.uint8)) == Rulings()
    assert find_rulings(np.zeros((1, 1, 3), np.uint8)) == Rulings()


@pytest.mark.parametrize("text", ["a = b", "x² + 1", "E = mc^2", "sin x + cos y", "2 + 2", "n ="])
def test_what_looks_like_mathematics(text: str) -> None:
    assert looks_like_mathematics(text)
    assert not is_prose(text)


@pytest.mark.parametrize("text", ["(+237) 650 58 49 04", "Platform 9 to Kings Cross", "A40", "C++ and Python", "18.50"])
def test_what_does_not(text: str) -> None:
    assert not looks_like_mathematics(text)


# -- where blanks are put between the letters of a line, by what the network says at each step -----


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


# -- PERIA's map OCR leaves out numbers, scales and single signs (C.1), and no name however short


@pytest.mark.parametrize("name", ["Ulm", "Bad", "Au", "Ob", "Köln", "É 7 St", "Y Fro", "B 27 Ost"])
def test_a_short_name_is_a_name(name: str) -> None:
    assert not is_map_noise(name)


@pytest.mark.parametrize("noise", ["U", "7", "A 4", "200 m", "1:5000", "°", "–", " ", ""])
def test_what_has_a_single_letter_or_none_is_noise(noise: str) -> None:
    assert is_map_noise(noise)
