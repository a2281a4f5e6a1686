"""E-ViC's tools: where they zoom and draw, and what they refuse, in the order of section E.7."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.images import SessionImage, resized
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from toolhand.tool_nodes.tools.evic.visual_tools import (
    MAX_ASPECT,
    MAX_POINTS,
    MIN_SIDE,
    PALETTE,
    EvicTools,
    zoom_region,
)
from toolhand.tool_nodes.types import Frame

WIDTH, HEIGHT = 200, 100
TOOLBOX = Toolbox([EvicTools()])
SHAPES = {
    "draw_point": ("points", [[10, 20]]),
    "draw_box": ("boxes", [[10, 20, 40, 60]]),
    "draw_trajectory": ("trajectories", [[[10, 20], [40, 60]]]),
    "draw_3d_bbox": ("boxes_3d", [[[10, 10], [50, 10], [50, 50], [10, 50], [30, 5], [70, 5], [70, 45], [30, 45]]]),
    "image_zoom_in": ("bbox_2d", [10, 20, 60, 70]),
}


def frame() -> Frame:
    rgb = np.random.default_rng(3).integers(90, 160, (HEIGHT, WIDTH, 3), dtype=np.uint8)
    return Frame(rgb, np.ones((HEIGHT, WIDTH), np.float32), np.eye(3), np.eye(4), 0.0)


def session(images: int = 1) -> Session:
    seen = frame()
    return Session(images=[SessionImage(seen.rgb, seen) for _ in range(images)])


def call(name: str, where: Session | None = None, **arguments: Any) -> CallRecord:
    return TOOLBOX.call(name, arguments, where if where is not None else session())


def refusal(name: str, where: Session | None = None, **arguments: Any) -> str:
    where = where if where is not None else session()
    before = len(where.images)
    error = call(name, where, **arguments).result.error
    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENT
    assert len(where.images) == before
    assert "\n" not in str(error)
    assert len(str(error)) < 400
    return str(error)


# -- the order of E.7 ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("index", [1, -1, 10**30, True, 0.5, "0", None, [0]])
def test_an_index_is_checked_before_everything_else_and_the_range_is_told(name: str, index: Any) -> None:
    sentence = refusal(name, image_idx=index, **{SHAPES[name][0]: "nonsense"})
    assert "image_idx" in sentence
    assert SHAPES[name][0] not in sentence
    if isinstance(index, int) and index is not True:
        assert "the valid range is [0, 0]" in sentence


@pytest.mark.parametrize("name", SHAPES)
def test_without_an_image_nothing_is_drawn(name: str) -> None:
    argument, value = SHAPES[name]
    assert "no image yet" in refusal(name, Session(), image_idx=0, **{argument: value})
    assert "No image was taken" in refusal(name, Session(), **{argument: value})


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        # type before cardinality, bounds and geometry
        ("draw_point", [[math.nan, 500]], "must be a finite number"),
        ("draw_point", [[math.inf, 5]], "must be a finite number"),
        ("draw_point", [[10**400, 5]], "must be a finite number"),
        ("draw_point", [[True, 5]], "must be a number"),
        ("draw_point", [["5", 5]], "must be a number"),
        ("draw_point", [[500, 5], [1, 2, 3]], "must be a list of points, each [x, y], got [1, 2, 3]"),
        ("draw_point", [10, 20], "must be a list of points, each [x, y], got 10"),
        ("draw_point", "[[1, 2]]", "must be a list of points"),
        ("draw_box", [[50, 5, 20]], "must be a list of boxes, each [x1, y1, x2, y2]"),
        ("draw_trajectory", [[[1, 2]], [[1]]], "must be a list of lists of [x, y]"),
        ("draw_3d_bbox", [[[1, 2]] * 7 + [[1, "a"]]], "must be a number"),
        ("image_zoom_in", [1, 2, 3], "must be [x1, y1, x2, y2]"),
        ("image_zoom_in", [[1, 2, 3, 4]], "must be [x1, y1, x2, y2]"),
        # cardinality before bounds and geometry
        ("draw_point", [], "is empty"),
        ("draw_box", [], "is empty"),
        ("draw_trajectory", [], "is empty"),
        ("draw_3d_bbox", [], "is empty"),
        ("draw_trajectory", [[[500, 500], [1, 1]], [[1, 1]]], "Trajectory requires >= 2 waypoints, got 1 in number 1"),
        ("draw_trajectory", [[]], "Trajectory requires >= 2 waypoints, got 0"),
        ("draw_3d_bbox", [[[500, 500]] * 7], "3D box requires exactly 8 corners, got 7"),
        ("draw_3d_bbox", [[[1, 1]] * 9], "3D box requires exactly 8 corners, got 9"),
        ("draw_point", [[1, 1]] * (MAX_POINTS + 1), f"may hold at most {MAX_POINTS} rows of numbers in all"),
        ("draw_3d_bbox", [[[1, 1]] * 8] * 63, f"may hold at most {MAX_POINTS} rows of numbers in all, got 504"),
        # bounds before geometry
        ("draw_point", [[1, 1], [200.5, 50]], "Point (200.5, 50) exceeds image bounds [0, 200] x [0, 100]"),
        ("draw_point", [[5, -1]], "Point (5, -1) exceeds image bounds"),
        ("draw_trajectory", [[[1, 1], [5, 101]]], "Point (5, 101) exceeds image bounds"),
        ("draw_3d_bbox", [[[1, 1]] * 7 + [[201, 1]]], "Point (201, 1) exceeds image bounds"),
        (
            "draw_box",
            [[60, 60, 20, 20], [1, 1, 300, 50]],
            "Invalid bounding box coordinates: [1,1,300,50] must lie within",
        ),
        # geometry
        (
            "draw_box",
            [[60, 60, 20, 80]],
            "Invalid bounding box coordinates: [60,60,20,80] requires x1 < x2 and y1 < y2",
        ),
        ("draw_box", [[20, 20, 20, 80]], "Invalid bounding box coordinates"),
        ("image_zoom_in", [60, 60, 20, 80], "Invalid bounding box: requires x1 < x2 and y1 < y2"),
        ("image_zoom_in", [250, 10, 300, 50], "Invalid bounding box: requires x1 < x2 and y1 < y2"),
    ],
)
def test_the_first_level_that_fails_is_told_in_the_papers_words(name: str, value: Any, words: str) -> None:
    assert words in refusal(name, **{SHAPES[name][0]: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("draw_point", [[0, 0], [WIDTH, HEIGHT]]),
        ("draw_box", [[0, 0, WIDTH, HEIGHT]]),
        ("draw_trajectory", [[[0, 0], [WIDTH, HEIGHT]]]),
        ("draw_point", [[1.5, 2]] * MAX_POINTS),
    ],
)
def test_both_ends_of_the_bounds_and_the_largest_number_are_allowed(name: str, value: Any) -> None:
    record = call(name, **{SHAPES[name][0]: value})
    assert record.result.ok, record.result.text
    assert len(record.result.text) < 400


# -- zooming ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("box", "region", "factor"),
    [
        ([-20, -5, 60, 300], (0, 0, 60, 100), 2),  # clamped
        ([50, 40, 52, 90], (37, 40, 65, 90), 4),  # widened about its centre
        ([0, 0, 2, 2], (0, 0, 28, 28), 4),  # ... and shifted inside
        ([199, 99, 500, 500], (172, 72, 200, 100), 4),
        ([10.4, 20.6, 60.2, 70.0], (10, 20, 61, 70), 3),  # outward to whole pixels
        ([0, 0, 120, 100], (0, 0, 120, 100), 1),  # no longer than the image's longer side, 200 px
    ],
)
def test_a_zoom_shows_the_region_that_algorithm_3_gives_and_small_ones_enlarged(
    box: list[float], region: tuple[int, int, int, int], factor: int
) -> None:
    where = session()
    record = call("image_zoom_in", where, bbox_2d=box)
    left, top, right, bottom = region
    assert record.result.text == f"Zoomed in on image 0 to region [{left},{top},{right},{bottom}]."
    size = factor * (right - left), factor * (bottom - top)
    assert np.array_equal(where.images[1].rgb, resized(where.images[0].rgb[top:bottom, left:right], size))
    assert where.images[1].window == region


def test_what_is_marked_in_an_enlarged_zoom_is_marked_in_its_own_pixels() -> None:
    where = session()
    call("image_zoom_in", where, bbox_2d=[50, 20, 78, 48])
    assert where.images[1].size == (112, 112)
    call("draw_point", where, image_idx=1, points=[[100, 60]])
    assert where.images[2].rgb[60, 100].tolist() == [255, 0, 0]
    at = where.images[2].to_frame([(100 / 112, 60 / 112)])[0] * where.images[0].size
    assert at.tolist() == pytest.approx([50 + 100 / 4, 20 + 60 / 4])


def test_a_zoom_into_a_zoom_keeps_the_link_to_the_frame_and_a_drawing_does_too() -> None:
    where = session()
    call("image_zoom_in", where, bbox_2d=[50, 20, 150, 90])
    assert where.images[1].size == (200, 140)
    call("image_zoom_in", where, image_idx=1, bbox_2d=[20, 20, 121, 120], label="handle")
    record = call("draw_point", where, image_idx=2, points=[[5, 5]])
    assert record.image_index == 3
    for image in where.images[2:]:
        assert image.window == (60, 30, 110.5, 80)
        assert image.frame is where.images[0].frame


def test_a_label_is_repeated_in_the_text() -> None:
    record = call("image_zoom_in", bbox_2d=[50, 20, 150, 90], label=" handle ")
    assert record.result.text == "Zoomed in on image 0 to region [50,20,150,90]. Label: handle."


def test_an_image_that_is_too_small_to_zoom_gets_one_sentence() -> None:
    small = Session(images=[SessionImage(np.zeros((20, 300, 3), np.uint8))])
    assert "300x20 px is too small; a region has at least 28 px a side" in refusal(
        "image_zoom_in", small, bbox_2d=[0, 0, 300, 20]
    )


def test_a_region_a_hundred_times_as_long_as_high_is_the_longest() -> None:
    wide = Session(images=[SessionImage(np.zeros((28, 2900, 3), np.uint8))])
    assert call("image_zoom_in", wide, bbox_2d=[0, 0, 2800, 28]).result.ok
    sentence = refusal("image_zoom_in", wide, bbox_2d=[0, 10, 2801, 11])
    assert "Aspect ratio exceeds maximum threshold 100" in sentence


@settings(max_examples=200)
@given(
    st.tuples(*[st.floats(-500, 3500)] * 4),
    st.tuples(st.integers(1, 3000), st.integers(1, 3000)),
)
def test_a_region_lies_in_the_image_holds_the_clamped_box_and_is_large_enough(
    box: tuple[float, float, float, float], size: tuple[int, int]
) -> None:
    width, height = size
    x1, y1, x2, y2 = max(0.0, box[0]), max(0.0, box[1]), min(width, box[2]), min(height, box[3])
    try:
        left, top, right, bottom = zoom_region(box, size)
    except ValueError as problem:
        too_long = "Aspect" in str(problem)
        assert x1 >= x2 or y1 >= y2 or min(size) < MIN_SIDE or too_long
        if too_long:
            assert max(x2 - x1, y2 - y1) + 2 > MAX_ASPECT * MIN_SIDE
        return
    assert 0 <= left <= x1 < x2 <= right <= width
    assert 0 <= top <= y1 < y2 <= bottom <= height
    for low, high, start, end in ((x1, x2, left, right), (y1, y2, top, bottom)):
        assert end - start >= MIN_SIDE
        assert end - start <= max(MIN_SIDE, math.ceil(high) - math.floor(low))
    assert max(right - left, bottom - top) <= MAX_ASPECT * min(right - left, bottom - top)


# -- drawing ---------------------------------------------------------------------------------------


def test_a_point_is_a_filled_red_circle_with_a_radius_of_five_pixels() -> None:
    where = session()
    call("draw_point", where, points=[[60, 50]])
    red = (where.images[1].rgb == [255, 0, 0]).all(axis=2)
    rows, columns = np.nonzero(red)
    assert (columns.min(), columns.max(), rows.min(), rows.max()) == (55, 65, 45, 55)
    assert 0.95 < red.sum() / (math.pi * 5.5**2) < 1.05
    assert np.array_equal(where.images[1].rgb[~red], where.images[0].rgb[~red])


def test_a_box_is_an_outline_three_pixels_wide() -> None:
    where = session()
    call("draw_box", where, boxes=[[20, 10, 120, 80]])
    red = (where.images[1].rgb == [255, 0, 0]).all(axis=2)
    assert red[45, 15:30].sum() == 3
    assert red[5:20, 70].sum() == 3
    assert not red[13:78, 23:118].any()
    assert np.array_equal(where.images[1].rgb[~red], where.images[0].rgb[~red])


def test_eight_colours_take_turns_and_the_ninth_trajectory_is_red_again() -> None:
    where = session()
    lines = [[[5, 5 + 10 * k], [190, 5 + 10 * k]] for k in range(9)]
    text = call("draw_trajectory", where, trajectories=lines).result.text
    assert text.startswith("Drew 9 trajectories on image 0: red with 2 waypoints, blue with 2 waypoints, green")
    colours = [where.images[1].rgb[5 + 10 * k, 100].tolist() for k in range(9)]
    assert PALETTE == ("red", "blue", "green", "yellow", "orange", "purple", "cyan", "magenta")
    assert colours == [
        [255, 0, 0],
        [0, 0, 255],
        [0, 128, 0],
        [255, 255, 0],
        [255, 165, 0],
        [128, 0, 128],
        [0, 255, 255],
        [255, 0, 255],
        [255, 0, 0],
    ]


def test_a_line_is_three_pixels_wide_and_bends_at_its_waypoints() -> None:
    where = session()
    call("draw_trajectory", where, trajectories=[[[20, 20], [120, 20], [120, 80]]])
    red = (where.images[1].rgb == [255, 0, 0]).all(axis=2)
    assert red[10:30, 70].sum() == 3
    assert red[50, 110:130].sum() == 3
    assert not red[60:, 20:110].any()


def test_the_same_call_gives_the_same_image() -> None:
    first, second = session(), session()
    for where in (first, second):
        call("draw_3d_bbox", where, boxes_3d=SHAPES["draw_3d_bbox"][1])
    assert np.array_equal(first.images[1].rgb, second.images[1].rgb)
    assert not np.array_equal(first.images[1].rgb, first.images[0].rgb)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=12,
)


@settings(max_examples=80)
@given(st.sampled_from(sorted(SHAPES)), JUNK)
def test_whatever_is_given_is_drawn_or_refused_in_one_sentence(name: str, value: Any) -> None:
    error = call(name, **{SHAPES[name][0]: value}).result.error
    assert error is None or error.code is ErrorCode.INVALID_ARGUMENT
