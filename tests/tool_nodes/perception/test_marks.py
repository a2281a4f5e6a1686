"""Marks drawn into images: found by what was painted, named by the letters beside them, and pointed at."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageFont

from tests.refusals import refused
from toolhand.sim.mock.data import read_dataset
from toolhand.sim.perception import SimPerception
from toolhand.tool_nodes.drawing import draw_points
from toolhand.tool_nodes.perception.drawings.mark_letters import LetterReader
from toolhand.tool_nodes.perception.drawings.marks import Mark, MarkFinder, MarkPhrase, find_marks, parse_mark_phrase
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.pointing import RoboReferTools, VlmTools
from toolhand.tool_nodes.types import Frame, TextSpan

COLOURS = {"red": (255, 0, 0), "blue": (0, 0, 255), "green": (0, 220, 0), "yellow": (255, 255, 0)}


@cache
def table(index: int = 0) -> Frame:
    return read_dataset().frame(index).frame


class Sketch:
    """An image that is painted on."""

    def __init__(self, rgb: np.ndarray | None = None) -> None:
        self.image = Image.fromarray(table().rgb.copy() if rgb is None else rgb)
        self.draw = ImageDraw.Draw(self.image)

    def disc(self, x: int, y: int, colour: str = "red", radius: int = 7, label: str = "", ink: str = "black") -> Sketch:
        self.draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=COLOURS[colour])
        if label:
            font = ImageFont.load_default(size=18)
            self.draw.text((x, y - radius - 13), label, fill=ink, anchor="mm", font=font)
        return self

    def box(self, left: int, top: int, right: int, bottom: int, colour: str = "red", width: int = 3) -> Sketch:
        self.draw.rectangle((left, top, right - 1, bottom - 1), outline=COLOURS[colour], width=width)
        return self

    @property
    def rgb(self) -> np.ndarray:
        return np.asarray(self.image)

    def compressed(self, quality: int) -> np.ndarray:
        buffer = io.BytesIO()
        self.image.save(buffer, "jpeg", quality=quality)
        return np.asarray(Image.open(buffer))


def plain(width: int = 200, height: int = 160, colour: tuple[int, int, int] = (170, 160, 150)) -> np.ndarray:
    return np.full((height, width, 3), colour, np.uint8)


# -- phrases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("red circle under label A", MarkPhrase("circle", "red", "A")),
        ("the Red Dot labelled 'b'", MarkPhrase("circle", "red", "B")),
        ("blue point marked with the letter C", MarkPhrase("circle", "blue", "C")),
        ("point B", MarkPhrase("circle", "", "B")),
        ("label D", MarkPhrase("circle", "", "D")),
        ("magenta circles", MarkPhrase("circle", "purple")),
        ("the green marker B", MarkPhrase("circle", "green", "B")),
        ("books (highlighted by a red box)", MarkPhrase("box", "red", name="books")),
        ("the chair, which is outlined in a blue rectangle", MarkPhrase("box", "blue", name="chair")),
        ("object in the green bounding box", MarkPhrase("box", "green")),
        ("yellow rectangle", MarkPhrase("box", "yellow")),
    ],
)
def test_a_phrase_can_name_marks(text: str, phrase: MarkPhrase) -> None:
    assert parse_mark_phrase(text) == phrase


@pytest.mark.parametrize(
    "text",
    [
        "red box",
        "the red box",
        "inside the red box",
        "can in the red box",
        "red ball",
        "circle",
        "A",
        "free table left of the can",
        "point at the can",
        "highlighter",
        "red marker",
    ],
)
def test_a_phrase_for_an_object_names_no_mark(text: str) -> None:
    assert parse_mark_phrase(text) is None


@given(st.text(max_size=300))
@settings(max_examples=150)
def test_any_text_is_a_phrase_or_none(text: str) -> None:
    assert isinstance(parse_mark_phrase(text), MarkPhrase | None)


@pytest.mark.parametrize("text", [",(" * 150, "a " * 150, "red " * 75, "x highlighted by " * 18])
def test_a_long_text_is_no_trap(text: str) -> None:
    assert parse_mark_phrase(text) is None


# -- finding ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("radius", [3, 6, 12])
def test_a_disc_is_found_where_it_was_painted(colour: str, radius: int) -> None:
    found = find_marks(Sketch(plain()).disc(70, 90, colour, radius).rgb)
    assert found == [Mark("circle", colour, (70 - radius, 90 - radius, 71 + radius, 91 + radius))]


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("width", [1, 3, 6])
def test_a_box_is_found_where_it_was_painted(colour: str, width: int) -> None:
    found = find_marks(Sketch(plain()).box(30, 20, 150, 100, colour, width).rgb)
    assert found == [Mark("box", colour, (30, 20, 150, 100))]


def test_only_what_is_asked_for_is_looked_for() -> None:
    rgb = Sketch(plain()).disc(30, 40, "red").disc(90, 40, "blue").box(20, 80, 120, 150, "red").rgb
    assert len(find_marks(rgb)) == 3
    assert [mark.kind for mark in find_marks(rgb, colour="red")] == ["circle", "box"]
    assert [mark.colour for mark in find_marks(rgb, "circle")] == ["red", "blue"]


def test_filled_squares_bars_and_muted_colours_are_no_marks() -> None:
    sketch = Sketch(plain())
    sketch.draw.rectangle((20, 20, 60, 60), fill=(255, 0, 0))
    sketch.draw.rectangle((80, 20, 180, 24), fill=(0, 0, 255))
    sketch.draw.ellipse((100, 80, 120, 100), fill=(190, 120, 110))
    sketch.draw.polygon([(30, 150), (60, 100), (90, 150)], outline=(255, 0, 0), width=3)
    assert find_marks(sketch.rgb) == []


def test_a_ring_is_a_circle_and_so_is_a_disc_with_a_letter_in_it() -> None:
    sketch = Sketch(plain())
    sketch.draw.ellipse((40, 40, 60, 60), outline=COLOURS["red"], width=3)
    sketch.disc(120, 50, "red", 12)
    sketch.draw.text((120, 50), "B", fill="white", anchor="mm", font=ImageFont.load_default(size=14))
    assert [mark.kind for mark in find_marks(sketch.rgb)] == ["circle", "circle"]


def test_a_box_that_another_one_crosses_is_found() -> None:
    rgb = Sketch(plain()).box(20, 20, 120, 100, "red").box(80, 50, 180, 140, "blue").rgb
    assert {(mark.colour, mark.box) for mark in find_marks(rgb)} == {
        ("red", (20, 20, 120, 100)),
        ("blue", (80, 50, 180, 140)),
    }


@pytest.mark.parametrize("quality", [75, 90])
def test_compression_hides_no_mark(quality: int) -> None:
    rgb = Sketch(plain()).disc(40, 40, "red", 8).box(70, 30, 170, 120, "blue", 4).compressed(quality)
    found = find_marks(rgb)
    assert sorted((mark.kind, mark.colour) for mark in found) == [("box", "blue"), ("circle", "red")]
    box = next(mark.box for mark in found if mark.kind == "box")
    assert np.abs(np.subtract(box, (70, 30, 170, 120))).max() <= 3


def test_a_table_full_of_objects_has_no_box_drawn_into_it() -> None:
    assert [mark for k in range(8) for mark in find_marks(table(k).rgb, "box")] == []


def test_points_that_a_tool_has_drawn_are_circles() -> None:
    rgb = draw_points(plain(), [(0.25, 0.5), (0.75, 0.5)])
    assert [mark.centre for mark in find_marks(rgb, "circle", "red")] == [(50.5, 80.5), (150.5, 80.5)]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_no_image_is_too_small_or_too_wild(width: int, height: int, seed: int) -> None:
    """Noise has no outlines of one colour: there is nothing to find in it, and nothing to fail at."""
    rgb = np.random.default_rng(seed).integers(0, 256, (height, width, 3)).astype(np.uint8)
    assert find_marks(rgb) == []


@pytest.mark.parametrize("x", [8, 10, 20, 30])
@pytest.mark.parametrize("y", [8, 10, 20, 30])
def test_the_box_of_a_mark_at_the_border_lies_inside_the_image(x: int, y: int) -> None:
    (mark,) = find_marks(Sketch(plain(40, 40)).disc(x, y).rgb)
    assert mark.box == (x - 7, y - 7, x + 8, y + 8)


# -- letters ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ink", ["white", "black", "red"])
@pytest.mark.parametrize("letter", "ABCDEGKR")
def test_a_letter_is_read_in_any_plain_ink(letter: str, ink: str) -> None:
    image = Image.fromarray(plain(80, 60, (120, 110, 100)))
    ImageDraw.Draw(image).text((40, 30), letter, fill=ink, anchor="mm", font=ImageFont.load_default(size=20))
    assert [span.text for span in LetterReader().read(SessionImage(np.asarray(image))).value] == [letter]


def test_noise_and_emptiness_are_no_letters() -> None:
    noise = np.random.default_rng(0).integers(100, 156, (120, 160, 3)).astype(np.uint8)
    assert LetterReader().read(SessionImage(noise)).value == []
    assert LetterReader().read(SessionImage(plain(1, 1))).value == []


def test_each_letter_names_the_mark_beside_it() -> None:
    sketch = Sketch().disc(200, 300, label="A").disc(240, 300, label="B").disc(420, 200, "blue", label="C")
    for letter, x in (("A", 200.5), ("B", 240.5), ("C", 420.5)):
        (mark,) = MarkFinder().find(sketch.rgb, MarkPhrase("circle", label=letter))
        assert mark.centre[0] == x
        assert mark.label == letter
    for phrase, known in ((MarkPhrase("circle", "blue", "A"), "C"), (MarkPhrase("circle", label="E"), "A, B, C")):
        with refused(ErrorCode.OBJECT_NOT_FOUND, f"the labels that I read at them are: {known}\\."):
            MarkFinder().find(sketch.rgb, phrase)


def test_a_mark_whose_letter_cannot_be_read_is_no_answer_to_a_label() -> None:
    sketch = Sketch().disc(200, 300, label="A").disc(420, 220)
    with refused(ErrorCode.NOT_RECOGNISED, "read at them are: A, and 1 of 2 have a label that I cannot read"):
        MarkFinder().find(sketch.rgb, MarkPhrase("circle", "red", "B"))


def test_a_red_letter_on_a_red_disc_is_read_or_said_not_to_be() -> None:
    sketch = Sketch().disc(200, 300, label="A", ink="red").disc(420, 220, label="B", ink="red")
    for label in "CDX2":
        with pytest.raises(ToolError) as caught:
            MarkFinder().find(sketch.rgb, MarkPhrase("circle", "red", label))
        assert caught.value.code in (ErrorCode.NOT_RECOGNISED, ErrorCode.OBJECT_NOT_FOUND)


def test_another_reader_can_read_the_letters() -> None:
    class AlwaysQ:
        backend = "fixed"

        def read(self, image: SessionImage) -> Answer[list[TextSpan]]:
            width, height = image.size
            span = TextSpan("(q)", (width / 2 - 5, height / 2 - 25, width / 2 + 5, height / 2 - 10))
            return Answer([span], self.backend)

    (mark,) = MarkFinder(AlwaysQ()).find(Sketch().disc(300, 200).rgb, MarkPhrase("circle", "red", "Q"))
    assert mark.label == "Q"


# -- pointing at marks -----------------------------------------------------------------------------


@cache
def tools() -> Toolbox:
    perception = SimPerception()
    return Toolbox([RoboReferTools(perception), VlmTools(perception)])


def point(image: SessionImage, text: str, tool: str = "roborefer.detect_one") -> tuple[CallRecord, Session]:
    session = Session(images=[image])
    return tools().call(tool, {"obj_name": text, "image_index": 0}, session), session


def found(image: SessionImage, text: str) -> tuple[float, float]:
    record, _ = point(image, text)
    assert record.result.ok, record.result.text
    (where,) = record.result.variables.values()
    return where


def id_at(where: tuple[float, float]) -> str:
    frame = table()
    assert frame.ids is not None
    k = frame.ids[int(where[1] * 480), int(where[0] * 640)]
    return "" if k < 0 else (frame.labels or ())[k]


def bounds(name: str) -> tuple[int, int, int, int]:
    frame = table()
    assert frame.ids is not None
    rows, columns = np.nonzero(frame.ids == (frame.labels or ()).index(name))
    return int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1


def test_a_disc_is_pointed_at_by_the_label_over_it() -> None:
    image = SessionImage(Sketch().disc(160, 240, label="A").disc(480, 120, label="B", ink="white").rgb, table())
    assert found(image, "red circle under label A") == pytest.approx((160.5 / 640, 240.5 / 480), abs=0.002)
    record, _ = point(image, "point B", "vlm.detect_one")
    assert record.result.text == "Detected 1 instance(s) of 'point B': [(0.751, 0.251)] (backend: pixels)"


def test_all_discs_of_a_colour_are_listed_from_left_to_right() -> None:
    image = SessionImage(Sketch(plain()).disc(150, 50).disc(50, 60).disc(100, 120, "blue").rgb)
    record, _ = point(image, "red circles", "roborefer.detect_all")
    assert record.result.text.startswith("Detected 2 instance(s) of 'red circles': [(0.253, 0.378), (0.752, 0.316)]")


def test_a_foreign_image_shows_its_marks_and_nothing_else() -> None:
    image = SessionImage(Sketch(plain()).disc(50, 60, label="A").box(100, 40, 180, 120, "blue").rgb)
    assert found(image, "red circle under label A") == pytest.approx((0.2525, 0.378), abs=0.002)
    assert found(image, "chair (highlighted by a blue box)") == pytest.approx((0.7, 0.5), abs=0.002)
    error = point(image, "chair")[0].result.error
    assert error is not None
    assert error.code is ErrorCode.IMAGE_UNUSABLE


@pytest.mark.parametrize("k", range(4))
def test_a_marked_box_means_the_object_of_that_name_in_it(k: int) -> None:
    name = (table().labels or ())[k]
    left, top, right, bottom = bounds(name)
    image = SessionImage(Sketch().box(left - 6, top - 6, right + 6, bottom + 6).rgb, table())
    assert id_at(found(image, f"{name} (highlighted by a red box)")) == name
    assert id_at(found(image, "violin (highlighted by a red box)")) == name
    assert id_at(found(image, "object in the red rectangle")) == name
    assert point(image, f"{name} (highlighted by a red box)")[0].result.text.endswith("(backend: sim)")


def test_of_two_boxes_the_one_that_holds_the_name_is_meant() -> None:
    first, second = (table().labels or ())[:2]
    sketch = Sketch()
    for name in (first, second):
        left, top, right, bottom = bounds(name)
        sketch.box(left - 6, top - 6, right + 6, bottom + 6)
    image = SessionImage(sketch.rgb, table())
    assert {id_at(found(image, f"{name} (highlighted by a red box)")) for name in (first, second)} == {first, second}


def test_an_empty_box_means_its_middle() -> None:
    image = SessionImage(Sketch().box(10, 400, 90, 470, "blue").rgb, table())
    assert found(image, "spot (highlighted by a blue box)") == pytest.approx((50 / 640, 435 / 480), abs=0.002)


def test_a_phrase_whose_mark_is_not_there_goes_to_the_pointer() -> None:
    error = point(SessionImage(table().rgb, table()), "red circle under label A")[0].result.error
    assert error is not None
    assert error.code is ErrorCode.NOT_RECOGNISED


# -- pointing in crops -----------------------------------------------------------------------------


def test_a_point_in_a_crop_is_where_the_crop_shows_the_object() -> None:
    name = (table().labels or ())[0]
    left, top, right, bottom = bounds(name)
    crop = SessionImage(table().rgb, table()).cropped(left - 20, top - 10, right + 5, bottom + 30)
    x, y = found(crop, name)
    width, height = crop.size
    assert id_at(((left - 20 + x * width) / 640, (top - 10 + y * height) / 480)) == name


def test_an_object_outside_a_crop_is_not_in_it() -> None:
    left, top, right, bottom = bounds((table().labels or ())[0])
    crop = SessionImage(table().rgb, table()).cropped(left, top, right, bottom)
    other = next(name for name in (table().labels or ()) if name != (table().labels or ())[0])
    error = point(crop, other)[0].result.error
    assert error is not None
    assert error.code is ErrorCode.OBJECT_NOT_FOUND
    assert "part of the camera picture" in error.message


@pytest.mark.parametrize("tool", ["roborefer.detect_one", "roborefer.detect_all", "vlm.detect_one", "vlm.detect_all"])
def test_every_pointing_tool_keeps_the_link_and_names_its_backend(tool: str) -> None:
    crop: Any = SessionImage(table().rgb, table()).cropped(0, 100, 600, 480)
    name = next(n for n in (table().labels or ()) if bounds(n)[1] > 120)
    record, session = point(crop, name, tool)
    assert record.result.text.endswith("(backend: sim)")
    assert session.images[1].window == (0, 100, 600, 480)
    assert session.images[1].frame is table()
