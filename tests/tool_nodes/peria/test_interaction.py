"""PERIA's interaction tools: what they draw where, what they say, and what they refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.peria.boxes import box_pixels
from toolhand.tool_nodes.tools.peria.interaction import MIN_CROP_PX, PeriaInteractionTools

RED, WHITE = [230, 30, 30], [255, 255, 255]
SUCCESS = "Tool executed successfully.\n"
DRAWINGS: list[tuple[str, dict[str, Any]]] = [
    ("image_label", {"text": "start", "position": [100, 100]}),
    ("draw_line", {"coordinates": r"\boxed{0,0,1000,1000}"}),
    ("draw_path", {"points": [[0, 0], [500, 1000], [1000, 0]]}),
    ("bounding_box", {"bounding_box": r"\boxed{250,250,750,750}"}),
    ("image_highlight", {"bounding_box": r"\boxed{250,250,750,750}"}),
]
BLACK = np.zeros((480, 640, 3), np.uint8)


def test_image_crop_gives_the_region_as_it_is(sheet: Any, drawing: np.ndarray) -> None:
    result = sheet.do("image_crop", bounding_box=r"\boxed{500,250,750,500}")
    assert result.text == SUCCESS + r"Cropped the region \boxed{500,250,750,500}: 160x120 px."
    assert np.array_equal(result.image, drawing[120:240, 320:480])
    assert result.value == {"box_px": (320, 120, 480, 240)}


def test_a_crop_of_a_camera_image_keeps_its_place_in_the_frame(table: Any) -> None:
    table.do("image_crop", bounding_box=r"\boxed{500,250,750,500}")
    table.do("image_crop", image_index=1, bounding_box=r"\boxed{500,0,1000,500}")
    assert table.newest.frame is table.session.images[0].frame
    assert table.newest.window == (400, 120, 480, 180)


@pytest.mark.parametrize("box", [r"\boxed{0,0,11,1000}", r"\boxed{0,0,1000,15}"])
def test_a_crop_of_a_few_pixels_is_refused(sheet: Any, box: str) -> None:
    error = sheet.refusal("image_crop", bounding_box=box)
    assert "px of a picture of 640x480 px; a side must have at least 8 px." in error.message
    assert error.hint == "Choose a larger bounding_box."


@pytest.mark.parametrize(("name", "arguments"), DRAWINGS)
def test_a_drawing_keeps_the_size_and_the_link_to_the_camera_frame(table: Any, name: str, arguments: Any) -> None:
    before = table.session.images[0].rgb.copy()
    result = table.do(name, **arguments)
    assert result.image.shape == before.shape
    assert not np.array_equal(result.image, before)
    assert np.array_equal(table.session.images[0].rgb, before)
    assert table.newest.frame is table.session.images[0].frame
    assert table.newest.window is None
    assert result.backend == ""


@pytest.mark.parametrize(("name", "arguments"), DRAWINGS)
def test_a_drawing_over_a_crop_keeps_the_crops_window(table: Any, name: str, arguments: Any) -> None:
    table.do("image_crop", bounding_box=r"\boxed{200,200,800,800}")
    table.do(name, image_index=1, **arguments)
    assert table.newest.window == (128, 96, 512, 384)


def test_a_label_stands_at_its_position(sheet_of: Callable[..., Any]) -> None:
    sheet = sheet_of(BLACK)
    result = sheet.do("image_label", text="goal", position=[250, 500])
    rows, columns = np.nonzero(result.image.any(axis=2))
    assert (columns.min(), rows.min()) == (160, 240)
    assert columns.max() < 260
    assert rows.max() < 290
    assert (result.image == WHITE).all(axis=2).any()
    assert (result.image[250:280] == RED).all(axis=2).sum() > 40
    assert result.text.startswith(SUCCESS + r"Added the label 'goal' at \boxed{250,500,")


def test_a_label_at_the_far_corner_is_moved_inside_and_says_so(sheet_of: Callable[..., Any]) -> None:
    result = sheet_of(BLACK).do("image_label", text="goal", position=r"\boxed{1000,1000}")
    assert result.text.endswith(r",1000,1000}, moved to stay inside the picture.")
    assert result.image[-1, -1].tolist() == RED


def test_a_label_of_several_lines_has_them_all(sheet_of: Callable[..., Any]) -> None:
    sheet = sheet_of(BLACK)
    one, two = (sheet.do("image_label", text=text, position=[0, 0]).image for text in ("goal", "goal\ngoal"))
    assert np.count_nonzero(two.any(axis=(1, 2))) > 1.5 * np.count_nonzero(one.any(axis=(1, 2)))


def test_the_letters_of_a_label_shrink_to_fit_a_narrow_image(sheet_of: Callable[..., Any]) -> None:
    text = "a label of some length"
    wide = sheet_of(np.zeros((600, 800, 3), np.uint8)).do("image_label", text=text, position=[0, 0]).image
    narrow = sheet_of(np.zeros((600, 200, 3), np.uint8)).do("image_label", text=text, position=[0, 0]).image
    assert 0 < np.count_nonzero(narrow.any(axis=(1, 2))) < np.count_nonzero(wide.any(axis=(1, 2)))


@pytest.mark.parametrize("size", [(480, 640), (100, 300), (900, 1200)])
@pytest.mark.parametrize("text", ["Köln Süd, Große Straße", "Évora, São João, Ängelholm, Ærø", "ß"])
def test_umlauts_and_accents_are_drawn(sheet_of: Callable[..., Any], text: str, size: tuple[int, int]) -> None:
    drawn, plain = (
        sheet_of(np.zeros((*size, 3), np.uint8)).do("image_label", text=words, position=[100, 100])
        for words in (text, "".join(c if c < "\x7f" else "¿" for c in text))
    )
    assert drawn.image.shape == plain.image.shape == (*size, 3)
    assert not np.array_equal(drawn.image, plain.image)
    assert f"Added the label {text!r}" in drawn.text


def test_a_label_of_a_thousand_characters_is_broken_into_lines_inside_the_image(sheet_of: Callable[..., Any]) -> None:
    text = ("platform nine to the old harbour " * 40)[:999] + "."
    result = sheet_of(np.zeros((480, 640, 3), np.uint8)).do("image_label", text=text, position=[500, 500])
    rows, columns = np.nonzero((result.image == (230, 30, 30)).all(axis=2))
    frame = (columns.min(), rows.min(), columns.max(), rows.max())
    inside = result.image[frame[1] : frame[3] + 1, frame[0] : frame[2] + 1]
    assert (inside.max(axis=2) > 0).all()  # the whole label, on white, is in the image
    assert frame[2] - frame[0] > 500
    inner = np.s_[frame[1] + 3 : frame[3] - 2, frame[0] + 3 : frame[2] - 2]
    ink = (result.image[inner][..., 1] < 128).any(axis=1)
    lines = np.count_nonzero(np.diff(ink.astype(int)) == 1)
    assert lines >= 8


def test_a_label_that_cannot_fit_is_refused(sheet_of: Callable[..., Any]) -> None:
    error = sheet_of(np.zeros((30, 30, 3), np.uint8)).refusal("image_label", text="much too long", position=[0, 0])
    assert "px, but the picture has 30x30 px." in error.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "中国",
            "the font has no glyphs for '中国'. Use letters of western European languages, digits and ASCII signs.",
        ),
        ("a\tb", r"no glyphs for '\t'"),
        ("", "argument 'text' must have 1 to 1000 characters, got 0"),
        ("x" * 1001, "got 1001"),
        (5, "argument 'text' must be a string, got 5"),
    ],
)
def test_what_cannot_be_written_is_refused(sheet: Any, text: Any, said: str) -> None:
    assert said in str(sheet.refusal("image_label", text=text, position=[0, 0]))


def test_a_line_joins_its_ends(sheet_of: Callable[..., Any]) -> None:
    result = sheet_of(BLACK).do("draw_line", coordinates=[[250, 250], [750, 750]])
    assert result.text == SUCCESS + "Drew a line from (250, 250) to (750, 750)."
    for x, y in ((160, 120), (320, 240), (480, 360)):
        assert result.image[y, x].tolist() == RED
    assert not result.image[:110].any()
    assert not result.image[240, 340:].any()


def test_a_path_goes_through_its_waypoints_in_order(sheet_of: Callable[..., Any]) -> None:
    result = sheet_of(BLACK).do("draw_path", points=r"\boxed{100,100,100,900,900,900}")
    assert result.text == SUCCESS + "Drew a path through 3 points from (100, 100) to (100, 900) to (900, 900)."
    for x, y in ((64, 48), (64, 200), (64, 432), (300, 432), (576, 432)):
        assert result.image[y, x].tolist() == RED
    assert not result.image[40:420, 80:].any()


def test_a_long_path_is_told_by_its_ends(sheet: Any) -> None:
    result = sheet.do("draw_path", points=[[10 * k, 5] for k in range(50)])
    assert result.text.endswith("through 50 points from (0, 5) to (10, 5) to ... to (480, 5) to (490, 5).")


def test_a_bounding_box_is_a_frame_on_the_regions_edge(sheet_of: Callable[..., Any]) -> None:
    result = sheet_of(BLACK).do("bounding_box", bounding_box=r"\boxed{250,250,750,750}")
    assert result.text == SUCCESS + r"Drew a box around \boxed{250,250,750,750}."
    rows, columns = np.nonzero(result.image.any(axis=2))
    assert (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1) == (160, 120, 480, 360)
    assert not result.image[130:350, 170:470].any()


def test_a_highlight_tints_the_region_and_leaves_what_it_shows_visible(sheet: Any, drawing: np.ndarray) -> None:
    result = sheet.do("image_highlight", bounding_box=r"\boxed{0,0,500,500}")
    assert result.text == SUCCESS + r"Highlighted \boxed{0,0,500,500}."
    inside, outside = np.s_[:240, :320], np.s_[240:]
    assert np.array_equal(result.image[outside], drawing[outside])
    tinted, before = result.image[inside].astype(float), drawing[inside].astype(float)
    assert np.abs(tinted - (0.65 * before + 0.35 * np.array([255, 220, 0]))).max() <= 0.5
    contrast = np.corrcoef(tinted.ravel(), before.ravel())[0, 1]
    assert contrast > 0.8


ONE_PIXEL = np.full((1, 1, 3), 9, np.uint8)


@pytest.mark.parametrize(("name", "arguments"), [d for d in DRAWINGS if d[0] != "image_label"])
def test_even_an_image_of_one_pixel_can_be_drawn_on(sheet_of: Callable[..., Any], name: str, arguments: Any) -> None:
    assert sheet_of(ONE_PIXEL).do(name, **arguments).image.shape == (1, 1, 3)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("image_crop", {"bounding_box": r"\boxed{0,0,1000,1000}"}), ("image_label", {"text": "x", "position": [0, 0]})],
)
def test_an_image_of_one_pixel_has_no_room_for_a_crop_or_a_label(
    sheet_of: Callable[..., Any], name: str, arguments: Any
) -> None:
    assert "1x1 px" in sheet_of(ONE_PIXEL).refusal(name, **arguments).message


def test_wrong_arguments_are_named_together(sheet: Any) -> None:
    error = sheet.refusal("image_label", image_index=7, text=1, position=[2000, 0])
    for said in ("'image_index' must be between 0 and 0", "'text' must be a string", "'position' must hold numbers"):
        assert said in error.message


@settings(max_examples=20)
@given(
    st.data(), st.tuples(st.integers(1, 90), st.integers(1, 90)), st.sampled_from(["bounding_box", "image_highlight"])
)
def test_drawing_in_a_box_changes_nothing_outside_it(data: st.DataObject, size: tuple[int, int], name: str) -> None:
    x = sorted(data.draw(st.lists(st.integers(0, 1000), min_size=2, max_size=2, unique=True)))
    y = sorted(data.draw(st.lists(st.integers(0, 1000), min_size=2, max_size=2, unique=True)))
    rgb = np.full((size[1], size[0], 3), 77, np.uint8)
    session = Session(images=[SessionImage(rgb)])
    text = f"\\boxed{{{x[0]},{y[0]},{x[1]},{y[1]}}}"
    call = {"image_index": 0, "bounding_box": text}
    result = Toolbox([PeriaInteractionTools()]).call(name, call, session).result
    left, top, right, bottom = box_pixels([x[0], y[0], x[1], y[1]], size)
    changed = (result.image != rgb).any(axis=2)
    assert changed[top, left]
    changed[top:bottom, left:right] = False
    assert not changed.any()
    crop = Toolbox([PeriaInteractionTools()]).call("image_crop", call, session).result
    assert crop.ok == (min(right - left, bottom - top) >= MIN_CROP_PX)
