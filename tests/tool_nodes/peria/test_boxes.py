r"""Places as PERIA writes them: `\boxed{...}` strings and points in 0..1000."""

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.tool_nodes.toolbox.arguments import ArgumentType, InvalidValue, Level
from toolhand.tool_nodes.toolbox.toolbox import Session
from toolhand.tool_nodes.tools.peria.boxes import (
    MAX_POINTS,
    BoxArgument,
    PlaceArgument,
    box_pixels,
    boxed,
    point_pixels,
    show_box,
)

BOX, POINT, LINE, PATH = BoxArgument(), PlaceArgument(1, 1), PlaceArgument(2, 2), PlaceArgument(2, MAX_POINTS)
numbers = st.floats(0, 1000).map(lambda v: round(v, 3))
sizes = st.tuples(st.integers(1, 3000), st.integers(1, 3000))


def parse(kind: ArgumentType, value: Any) -> Any:
    return kind.parse(value, Session())


def refusal(kind: ArgumentType, value: Any) -> InvalidValue:
    with pytest.raises(InvalidValue) as caught:
        parse(kind, value)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "text", [r"\boxed{1,2,3,4}", r"\boxed{1, 2, 3, 4}", r" \boxed{ 1 ,2,3 , 4 } ", r"\boxed{1.0,2.,3,+4}"]
)
def test_blanks_and_decimals_do_not_matter(text: str) -> None:
    assert parse(BOX, text).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("written", [r'"\boxed{700,300,1000,500}"', r'"\\boxed{700,300,1000,500}"'])
def test_json_with_and_without_the_escape_gives_the_same_box(written: str) -> None:
    assert parse(BOX, json.loads(written, strict=False)).tolist() == [700, 300, 1000, 500]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            r"boxed{1,2,3,4}",
            r"must be a string such as \boxed{100,200,300,400}, that is \boxed{x1,y1,x2,y2} in 0..1000",
        ),
        ("1,2,3,4", r"\boxed{x1,y1,x2,y2}"),
        (r"\boxed(1,2,3,4)", "must be a string such as"),
        (r"\boxed{1,2,3,4", "must be a string such as"),
        (r"\boxed{1,2,3,4} please", "must be a string such as"),
        (r"\boxed{{1,2,3,4}}", "must be a string such as"),
        (r"\\boxed{1,2,3,4}", "must be a string such as"),
        ("oxed{1,2,3,4}", "must be a string such as"),
        ("", "must be a string such as"),
        ([1, 2, 3, 4], "got [1, 2, 3, 4]"),
        (None, "got None"),
        (True, "got True"),
        (r"\boxed{1,2,nan,4}", "must hold numbers with commas between them, got 'nan'"),
        (r"\boxed{1,2,inf,4}", "got 'inf'"),
        (r"\boxed{1 2 3 4}", "got '1 2 3 4'"),
        (r"\boxed{1,2,,4}", "got ''"),
        (r"\boxed{}", "got ''"),
        (r"\boxed{1e2,2,3e2,4}", "got '1e2'"),
        (r"\boxed{1,2,3}", "must hold 4 numbers x1,y1,x2,y2, got 3"),
        (r"\boxed{1,2,3,4,5}", "got 5"),
        (r"\boxed{1,2,3,1001}", "must hold numbers from 0 to 1000 (any picture is 1000 wide and 1000 high), got 1001"),
        (r"\boxed{-1,2,3,4}", "got -1"),
        (r"\boxed{3,2,1,4}", r"must have x1 < x2 and y1 < y2 (top left, then bottom right), got \boxed{3,2,1,4}"),
        (r"\boxed{1,4,3,2}", "x1 < x2 and y1 < y2"),
        (r"\boxed{1,2,1,4}", "x1 < x2 and y1 < y2"),
    ],
)
def test_a_wrong_box_is_told_what_is_allowed(value: Any, said: str) -> None:
    assert said in str(refusal(BOX, value))


def test_each_kind_of_mistake_has_its_level() -> None:
    for value, level in (
        ("nothing", Level.TYPE),
        (r"\boxed{1,2}", Level.CARDINALITY),
        (r"\boxed{1,2,3,2000}", Level.BOUNDS),
        (r"\boxed{5,2,3,9}", Level.GEOMETRY),
    ):
        assert refusal(BOX, value).level == level


@settings(max_examples=25)
@given(st.lists(numbers, min_size=4, max_size=4))
def test_a_written_box_reads_as_the_same_numbers_or_is_refused_for_its_order(box: list[float]) -> None:
    text = "\\boxed{" + ",".join(f"{v:.3f}" for v in box) + "}"
    if box[0] < box[2] and box[1] < box[3]:
        assert np.allclose(parse(BOX, text), box)
    else:
        assert refusal(BOX, text).level == Level.GEOMETRY


@settings(max_examples=25)
@given(st.one_of(st.text(max_size=30), st.from_regex(r"\\boxed\{[0-9,. -]*\}", fullmatch=True)))
def test_any_text_gives_a_box_inside_the_space_or_one_sentence(text: str) -> None:
    try:
        x1, y1, x2, y2 = parse(BOX, text)
    except InvalidValue:
        return
    assert 0 <= x1 < x2 <= 1000
    assert 0 <= y1 < y2 <= 1000


def test_thousands_of_digits_are_out_of_range() -> None:
    assert "from 0 to 1000" in str(refusal(BOX, "\\boxed{0,0," + "9" * 5000 + ",1}"))


@settings(max_examples=25)
@given(sizes, st.data())
def test_the_printed_box_of_pixels_can_be_given_back(size: tuple[int, int], data: st.DataObject) -> None:
    width, height = size
    left, top = data.draw(st.integers(0, width - 1)), data.draw(st.integers(0, height - 1))
    right, bottom = data.draw(st.integers(left + 1, width)), data.draw(st.integers(top + 1, height))
    back = box_pixels(parse(BOX, boxed(left, top, right, bottom, size)), size)
    if max(size) < 1000:  # a pixel is then more than one unit
        assert back == (left, top, right, bottom)
    assert np.abs(np.subtract(back, (left, top, right, bottom))).max() <= max(size) / 1000 + 1


@settings(max_examples=25)
@given(st.lists(numbers, min_size=4, max_size=4), sizes)
def test_a_box_covers_pixels_of_the_image_only(box: list[float], size: tuple[int, int]) -> None:
    x1, x2 = sorted(box[::2])
    y1, y2 = sorted(box[1::2])
    left, top, right, bottom = box_pixels([x1, y1, x2, y2], size)
    assert 0 <= left < right <= size[0]
    assert 0 <= top < bottom <= size[1]


def test_the_whole_space_is_the_whole_image() -> None:
    assert box_pixels([0, 0, 1000, 1000], (640, 480)) == (0, 0, 640, 480)
    assert point_pixels([[0, 0], [500, 500], [1000, 1000]], (640, 480)) == [(0, 0), (320, 240), (639, 479)]


def test_figure_12s_crop_is_the_right_middle_of_the_image() -> None:
    assert box_pixels([700, 300, 1000, 500], (2000, 1500)) == (1400, 450, 2000, 750)


@pytest.mark.parametrize("value", [[500, 300], (500, 300.0), r"\boxed{500,300}", "\x08oxed{500, 300}"])
def test_a_point_is_written_as_a_pair_or_boxed(value: Any) -> None:
    assert parse(POINT, value).tolist() == [[500, 300]]


@pytest.mark.parametrize("value", [[[1, 2], [3, 4]], r"\boxed{1,2,3,4}"])
def test_a_line_is_written_as_two_points_or_boxed(value: Any) -> None:
    assert parse(LINE, value).tolist() == [[1, 2], [3, 4]]


def test_a_line_may_run_backwards() -> None:
    assert parse(LINE, r"\boxed{900,900,100,100}").tolist() == [[900, 900], [100, 100]]


def test_a_path_has_two_or_more_points() -> None:
    points = [[10 * k, 20 * k] for k in range(7)]
    assert parse(PATH, points).tolist() == points
    assert parse(PATH, show_box(np.ravel(points))).tolist() == points


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (POINT, [1, 2, 3], r"must be a point such as [500, 300] or \boxed{500,300}, in 0..1000, got [1, 2, 3]"),
        (POINT, [[1, 2]], "must be a point such as"),
        (POINT, "5,3", "must be a point such as"),
        (POINT, r"\boxed{1,2,3,4}", "must hold 1 point, got 2"),
        (POINT, [1, 1000.5], "from 0 to 1000"),
        (POINT, [1, math.nan], "must be a finite number, got nan"),
        (POINT, [True, 1], "must be a number, got True"),
        (POINT, ["1", "2"], "must be a number, got '1'"),
        (LINE, [[1, 2]], "must hold 2 points, got 1; it must be points such as [[100, 200], [300, 400]] or"),
        (LINE, [[1, 2], [3, 4], [5, 6]], "must hold at most 2 points, got 3"),
        (LINE, [1, 2, 3, 4], "must hold at most 2 points, got 4"),
        (LINE, r"\boxed{1,2,3}", "must hold pairs of numbers x,y, got 3 numbers"),
        (LINE, {"x": 1}, "must be points such as"),
        (PATH, [], "must hold 2 to 500 points, got 0"),
        (PATH, [[1, 2]], "must hold 2 to 500 points, got 1"),
        (PATH, [[0, 0]] * 501, "must hold at most 500 points, got 501"),
        (PATH, [[1, 2], [3]], "must be points such as"),
        (PATH, [[1, 2], None], "must be points such as"),
        (PATH, [[1, 2], [3, -4]], "got -4"),
    ],
)
def test_wrong_points_are_told_what_is_allowed(kind: ArgumentType, value: Any, said: str) -> None:
    assert said in str(refusal(kind, value))


def test_the_schemas_accept_what_the_kinds_print() -> None:
    assert re.fullmatch(BOX.schema()["pattern"], boxed(1, 2, 3, 4, (10, 10)))
    assert re.fullmatch(BOX.schema()["pattern"], BOX.schema()["examples"][0])
    text, pair = POINT.schema()["anyOf"]
    assert re.fullmatch(text["pattern"], r"\boxed{1,2}")
    assert (pair["minItems"], pair["maxItems"]) == (2, 2)
    assert PATH.schema()["anyOf"][1]["maxItems"] == MAX_POINTS
