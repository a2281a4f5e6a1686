"""Finding objects in drawings by colour alone: regions, names, words and points."""

import io
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from tests.refusals import refused
from toolhand.sim.drawings import samples as images
from toolhand.tool_nodes.perception.drawings.finder import FlatPerception
from toolhand.tool_nodes.perception.drawings.segments import find_regions
from toolhand.tool_nodes.perception.drawings.shapes import measure_shape, name_flat_colour, name_shape
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Segmentation

Box = tuple[int, int, int, int]
RGB = NDArray[np.uint8]


def box_of(found: Segmentation) -> Box:
    rows, columns = np.nonzero(found.mask)
    return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1


def near(a: Box, b: Box, px: int = 3) -> bool:
    return bool(np.abs(np.subtract(a, b)).max() <= px)


def meant_by(flat: FlatPerception, rgb: RGB, words: str) -> list[Segmentation]:
    """What is kept by PERIA's threshold."""
    return [one for one, certainty in flat.find(rgb, words) if certainty >= 0.25]


def darkened(rgb: RGB) -> NDArray[np.float64]:
    """Light that falls off by 60 grey levels towards a corner."""
    rows, columns = np.indices(rgb.shape[:2])
    return rgb - 60.0 * ((rows / rgb.shape[0] + columns / rgb.shape[1]) / 2)[..., None]


def noisy(rgb: RGB) -> NDArray[np.float64]:
    return rgb + np.random.default_rng(5).normal(0.0, 6.0, rgb.shape)


def compressed(rgb: RGB) -> NDArray[np.float64]:
    file = io.BytesIO()
    Image.fromarray(rgb).save(file, "JPEG", quality=85)
    return np.asarray(Image.open(file).convert("RGB"), float)


@pytest.fixture(params=["clean", "darkened", "noisy", "compressed"])
def seen(request: pytest.FixtureRequest, drawing: RGB) -> RGB:
    """The drawing as it is, under uneven light, with sensor noise, and as a JPEG."""
    change: dict[str, Any] = {"clean": lambda a: a, "darkened": darkened, "noisy": noisy, "compressed": compressed}
    return np.clip(change[request.param](drawing), 0, 255).astype(np.uint8)


def test_every_shape_is_named_and_outlined(seen: RGB, shapes: dict[str, Box]) -> None:
    flat = FlatPerception()
    for name, box in shapes.items():
        found = [box_of(one) for one in meant_by(flat, seen, name.replace("line", "stroke"))]
        assert any(near(one, box, px=6) for one in found), (name, found)


def test_nothing_else_is_seen(seen: RGB, shapes: dict[str, Box], dots: list[Box]) -> None:
    found = FlatPerception().everything(seen)
    assert len(found) == len(shapes) + len(dots)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert not (np.sum([one.mask for one in found], axis=0) > 1).any()


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("the largest square", ["blue square"]),
        ("the smallest blue square", ["dark blue square"]),
        ("dark blue square", ["dark blue square"]),
        ("the circle in the top left corner", ["red circle"]),
        ("the leftmost ellipse", ["purple ellipse"]),
        ("oval", ["purple ellipse"]),
        ("the bottom right shape", ["red rectangle"]),
        ("the shape above the star", ["yellow ring"]),
        ("the red shape below the ring", ["red star"]),
        ("the shape between the blue square and the ring", ["green triangle"]),
        ("the square on the grey circle", ["dark blue square"]),
        ("the square inside the grey circle", ["dark blue square"]),
        ("red shapes", ["red circle", "red star", "red rectangle"]),
        ("the hollow rectangle", ["red rectangle"]),
        ("the outline", ["yellow ring", "red rectangle"]),
        ("something yellow", ["yellow ring"]),
        ("violet shape", ["purple ellipse"]),
        ("the square that is not dark", ["blue square"]),
    ],
)
def test_words_about_colour_shape_size_and_place_are_understood(
    drawing: RGB, shapes: dict[str, Box], words: str, meant: list[str]
) -> None:
    found = [box_of(one) for one in meant_by(FlatPerception(), drawing, words)]
    assert len(found) == len(meant)
    assert all(any(near(box, shapes[name]) for box in found) for name in meant)


@pytest.mark.parametrize(
    ("words", "meant"),
    [("green dots", [0, 1, 2, 3, 4]), ("the second green dot from the left", [1]), ("the rightmost green circle", [4])],
)
def test_repeated_objects_are_counted_and_told_apart(
    drawing: RGB, dots: list[Box], words: str, meant: list[int]
) -> None:
    found = {box_of(one) for one in meant_by(FlatPerception(), drawing, words)}
    assert len(found) == len(meant)
    assert all(any(near(box, dots[k]) for box in found) for k in meant)


def test_what_is_not_there_is_told_with_what_is(drawing: RGB) -> None:
    with refused(ErrorCode.OBJECT_NOT_FOUND, r"no 'blue star' here; I see: .*red star"):
        FlatPerception().find(drawing, "blue star")


@pytest.mark.parametrize("words", ["cat", "cup", "red cat", "the table", "text"])
def test_what_is_neither_colour_nor_plain_shape_cannot_be_known(drawing: RGB, words: str) -> None:
    with refused(ErrorCode.NOT_RECOGNISED, r"I see: .*red star"):
        FlatPerception().find(drawing, words)


def test_an_even_image_has_nothing_in_it() -> None:
    even = np.full((100, 120, 3), 90, np.uint8)
    flat = FlatPerception()
    assert flat.everything(even) == []
    with pytest.raises(ToolError, match="no 'cat' here; nothing stands out of this picture by its colour"):
        flat.find(even, "cat")
    with refused(ErrorCode.EMPTY_MASK, "There is no object at"):
        flat.at(even, [(0.5, 0.5)])


def test_a_point_means_the_object_under_it_or_just_beside_it(drawing: RGB, shapes: dict[str, Box]) -> None:
    flat = FlatPerception()
    for x, y in ((90, 90), (90, 36)):
        assert near(box_of(flat.at(drawing, [(x / 640, y / 480)])), shapes["red circle"])
    with pytest.raises(ToolError, match="no object"):
        flat.at(drawing, [(300 / 640, 160 / 480)])


def test_of_several_points_the_object_under_most_of_them_is_meant(drawing: RGB, shapes: dict[str, Box]) -> None:
    flat = FlatPerception()
    points = [(90 / 640, 90 / 480), (240 / 640, 90 / 480), (95 / 640, 95 / 480)]
    found = flat.at(drawing, points)
    assert near(box_of(found), shapes["red circle"])
    assert found.score < flat.at(drawing, points[:1]).score


def test_an_object_and_the_line_around_it_are_one(drawing: RGB, shapes: dict[str, Box]) -> None:
    (found,) = meant_by(FlatPerception(), drawing, "orange rectangle")
    assert box_of(found) == pytest.approx(shapes["orange rectangle"], abs=1)
    assert FlatPerception().names(drawing).count("black rectangle") == 0


def test_an_object_does_not_hold_what_lies_on_it(drawing: RGB) -> None:
    flat = FlatPerception()
    (circle,), (square,) = meant_by(flat, drawing, "grey circle"), meant_by(flat, drawing, "dark blue square")
    assert not (circle.mask & square.mask).any()
    assert not circle.mask[385, 115]


def test_a_dark_background_does_as_well() -> None:
    image = Image.new("RGB", (200, 100), (20, 25, 40))
    ImageDraw.Draw(image).ellipse((30, 20, 90, 80), fill=(250, 250, 250))
    assert FlatPerception().names(np.asarray(image)) == ["white circle"]


def test_the_squares_of_a_chessboard_are_all_seen() -> None:
    board = 60 + 180 * np.kron(np.indices((8, 8)).sum(axis=0) % 2, np.ones((30, 30)))
    names = FlatPerception().names(np.repeat(board[..., None], 3, axis=2).astype(np.uint8))
    assert sorted(names) == ["dark grey square"] * 32 + ["white square"] * 32


def test_a_large_image_gives_masks_of_its_own_size(drawing: RGB) -> None:
    large = np.asarray(Image.fromarray(drawing).resize((1600, 1200)))
    flat = FlatPerception()
    (found,) = meant_by(flat, large, "the leftmost red circle")
    assert found.mask.shape == (1200, 1600)
    assert near(box_of(found), (100, 100, 350, 350), px=5)
    assert near(box_of(flat.at(large, [(0.14, 0.19)])), (100, 100, 350, 350), px=5)


def test_the_same_image_is_looked_at_once(drawing: RGB, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    monkeypatch.setattr(
        "toolhand.tool_nodes.perception.drawings.finder.find_regions",
        lambda rgb: looks.append(rgb) or find_regions(rgb),
    )
    flat = FlatPerception()
    flat.everything(drawing)
    flat.find(drawing, "star")
    assert len(looks) == 1
    flat.everything(drawing.copy())
    assert len(looks) == 2


@pytest.mark.parametrize("seed", range(4))
def test_rendered_shapes_are_outlined_and_called_what_they_are(seed: int) -> None:
    frame = images.shapes(seed)
    assert frame.labels is not None
    flat = FlatPerception()
    assert sorted(flat.names(frame.rgb)) == sorted(frame.labels)
    for one in flat.everything(frame.rgb):
        iou = max(
            np.count_nonzero(one.mask & (frame.ids == k)) / np.count_nonzero(one.mask | (frame.ids == k))
            for k in range(len(frame.labels))
        )
        assert iou > 0.9


@settings(max_examples=15)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40)).flatmap(
        lambda size: hnp.arrays(np.uint8, (*size, 3), elements=st.sampled_from([0, 40, 90, 200, 255]))
    )
)
def test_any_image_gives_disjoint_objects_with_names(rgb: RGB) -> None:
    flat = FlatPerception()
    found = flat.everything(rgb)
    assert len(flat.names(rgb)) == len(found)
    for one in found:
        assert one.mask.shape == rgb.shape[:2]
        assert np.count_nonzero(one.mask) >= 12
        assert 0.0 <= one.score <= 1.0
    assert not found or not (np.sum([one.mask for one in found], axis=0) > 1).any()


# -- regions ---------------------------------------------------------------------------------------


def test_regions_are_numbered_by_size_and_lie_in_their_windows(drawing: RGB) -> None:
    regions = find_regions(drawing)
    areas = np.bincount(regions.labels.ravel())[1:]
    assert list(areas) == sorted(areas, reverse=True)
    assert len(areas) == len(regions.windows) == len(regions.colours)
    for k, window in enumerate(regions.windows):
        assert np.count_nonzero(regions.labels[window] == k + 1) == areas[k]


@pytest.mark.parametrize("width", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("slope", [0, 17, 120])
def test_a_line_of_any_width_and_slope_is_one_object(width: int, slope: int) -> None:
    image = Image.new("RGB", (320, 240), "white")
    ImageDraw.Draw(image).line((40, 60, 280, 60 + slope), fill="black", width=width)
    flat = FlatPerception()
    assert flat.names(np.asarray(image)) == ["black line"]


def test_light_that_falls_off_leaves_the_background_whole() -> None:
    rows, columns = np.indices((240, 320))
    light = 250 - 120 * np.hypot(rows - 60, columns - 80) / 300
    assert find_regions(np.repeat(light[..., None], 3, axis=2).astype(np.uint8)).windows == ()


# -- names -----------------------------------------------------------------------------------------


def polygon(corners: int, radius: float, turn: float = 0.3, spike: float = 1.0) -> NDArray[np.bool_]:
    """A regular polygon; every second corner at a share of the radius."""
    image = Image.new("L", (200, 200))
    angles = [turn + 2 * math.pi * k / corners for k in range(corners)]
    radii = [radius if k % 2 == 0 else radius * spike for k in range(corners)]
    ImageDraw.Draw(image).polygon(
        [(100 + r * math.cos(a), 100 + r * math.sin(a)) for r, a in zip(radii, angles, strict=True)], fill=1
    )
    return np.asarray(image).astype(bool)


@pytest.mark.parametrize("radius", [25, 45, 80])
@pytest.mark.parametrize(
    ("corners", "spike", "name"),
    [
        (3, 1, "triangle"),
        (4, 1, "square"),
        (5, 1, "pentagon"),
        (6, 1, "hexagon"),
        (60, 1, "circle"),
        (10, 0.45, "star"),
    ],
)
def test_polygons_are_named_by_their_corners(corners: int, spike: float, name: str, radius: float) -> None:
    mask = polygon(corners, radius, spike=spike)
    assert name_shape(mask, ~mask).name == name


def test_a_square_on_its_corner_is_a_diamond_and_still_a_square() -> None:
    mask = polygon(4, 50, turn=0.0)
    named = name_shape(mask, ~mask)
    assert named.name == "diamond"
    assert "square" in named.synonyms


@given(st.floats(0.0, 2 * math.pi), st.integers(20, 90))
@settings(max_examples=15)
def test_the_numbers_of_a_shape_do_not_change_with_its_size_and_direction(turn: float, radius: int) -> None:
    wanted, numbers = measure_shape(polygon(3, 60.0)), measure_shape(polygon(3, float(radius), turn))
    assert numbers.spread == pytest.approx(wanted.spread, abs=0.05)
    assert numbers.straight == pytest.approx(wanted.straight, abs=0.08)
    assert numbers.solidity > 0.82


def test_spread_has_its_textbook_values() -> None:
    for corners, value in ((3, 0.827), (4, 3 / math.pi), (60, 1.0)):
        assert measure_shape(polygon(corners, 90)).spread == pytest.approx(value, abs=0.015)


def test_a_hole_counts_only_where_the_background_shows() -> None:
    disc = polygon(60, 80)
    hole = polygon(60, 40)
    mask = disc & ~hole
    assert name_shape(mask, ~disc | hole).name == "ring"
    assert name_shape(mask, ~disc).name == "circle"
    assert measure_shape(mask).holes == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(
    ("rgb", "name"),
    [
        ((255, 0, 0), "red"),
        ((128, 0, 128), "purple"),
        ((148, 0, 211), "purple"),
        ((255, 0, 255), "pink"),
        ((0, 0, 128), "dark blue"),
        ((0, 128, 0), "dark green"),
        ((255, 165, 0), "orange"),
        ((139, 69, 19), "brown"),
        ((255, 255, 255), "white"),
        ((0, 0, 0), "black"),
        ((128, 128, 128), "grey"),
    ],
)
def test_paint_has_the_name_that_people_give_it(rgb: tuple[int, int, int], name: str) -> None:
    assert name_flat_colour(np.array(rgb, float)) == name
