"""The reader from pixels: what it reads, what it does not, and that nothing makes it fall over."""

from __future__ import annotations

import difflib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.drawings.builder import PictureBuilder
from sim.station import Station
from sim.tasks.tasks import random_task
from tool_nodes.perception.text import PixelTextReader
from tool_nodes.perception.text.reader import LONG_SIDE_PX
from tool_nodes.toolbox.images import SessionImage

SAMPLE = ("Station Road 58", "PEINTRE - LE DANAY", "(+237) 650 58 49 04", "front_left, Visuel: 12.50")


def texts(reader: PixelTextReader, picture: SessionImage) -> list[str]:
    return [span.text for span in reader.read(picture).value]


def likeness(reader: PixelTextReader, picture: SessionImage) -> float:
    return difflib.SequenceMatcher(None, "\n".join(SAMPLE), "\n".join(texts(reader, picture)), autojunk=False).ratio()


@pytest.mark.parametrize("size", [16, 24, 40])
def test_dark_print_is_read_letter_by_letter(reader: PixelTextReader, draw: Any, size: int) -> None:
    assert texts(reader, draw(*SAMPLE, size=size, width=16 * size)) == list(SAMPLE)


@pytest.mark.parametrize("size", [90, 150])
def test_poster_letters_are_read(reader: PixelTextReader, draw: Any, size: int) -> None:
    assert texts(reader, draw("Museum", size=size, width=6 * size)) == ["Museum"]


@pytest.mark.parametrize(
    ("ink", "ground"),
    [
        ((250, 250, 250), (30, 40, 90)),
        ((200, 30, 30), (250, 240, 200)),
        ((255, 255, 255), (40, 80, 200)),
        ((30, 150, 60), (190, 60, 60)),
    ],
)
def test_the_colours_of_ink_and_ground_do_not_matter(reader: PixelTextReader, draw: Any, ink: Any, ground: Any) -> None:
    assert texts(reader, draw(*SAMPLE, ink=ink, ground=ground)) == list(SAMPLE)


@pytest.mark.parametrize("fault", [{"noise": 8.0}, {"blur": 0.8}, {"blur": 0.5, "noise": 5.0}])
def test_slight_blur_and_noise_cost_few_letters(reader: PixelTextReader, draw: Any, fault: dict[str, float]) -> None:
    assert likeness(reader, draw(*SAMPLE, **fault)) > 0.97


def test_accented_letters_are_read(reader: PixelTextReader, draw: Any) -> None:
    line = "Café Hôtel Müller à côté"
    assert texts(reader, draw(line, size=30, width=500)) == [line]


def test_a_ground_that_changes_evenly_does_not_matter(reader: PixelTextReader) -> None:
    picture = PictureBuilder(400, 120)
    picture.gradient((90, 130, 220), (255, 230, 190))
    picture.text("Market Square", (20, 70), 32)
    assert texts(reader, SessionImage(picture.frame().rgb)) == ["Market Square"]


def test_boxes_are_in_pixels_of_the_picture_also_of_a_large_one(reader: PixelTextReader) -> None:
    picture = PictureBuilder(3 * LONG_SIDE_PX, 400)
    truth = picture.text("Harbour", (900, 250), 120)
    (span,) = reader.read(SessionImage(picture.frame().rgb)).value
    assert span.text == "Harbour"
    assert np.allclose(span.box, truth, atol=6.0)
    assert 0.7 < span.score <= 1.0


def test_small_print_is_lost_in_a_large_picture_and_read_in_a_crop(reader: PixelTextReader) -> None:
    picture = PictureBuilder(2000, 600)
    picture.text("Call 650 58 49 04", (1400, 300), 15)
    image = SessionImage(picture.frame().rgb)
    assert texts(reader, image) == []
    assert texts(reader, image.cropped(1300, 200, 1700, 400)) == ["Call 650 58 49 04"]


def test_columns_are_texts_of_their_own_in_reading_order(reader: PixelTextReader) -> None:
    picture = PictureBuilder(500, 140)
    for y in (50, 110):
        for x in (300, 20):
            picture.text(f"Cell {x + y}", (x, y), 24)
    assert texts(reader, SessionImage(picture.frame().rgb)) == ["Cell 70", "Cell 350", "Cell 130", "Cell 410"]


def test_raised_and_lowered_signs_make_a_line_a_formula(reader: PixelTextReader) -> None:
    picture = PictureBuilder(400, 120)
    right = picture.text("Area = 4r", (20, 80), 40)[2]
    picture.text("2", (right + 3, 80 - 0.36 * 40), 26)
    (span,) = reader.read(SessionImage(picture.frame().rgb)).value
    assert (span.text, span.kind) == ("Area = 4r^{2}", "formula")


@pytest.mark.parametrize("seed", [0, 9])
def test_a_table_without_print_has_no_text(reader: PixelTextReader, seed: int) -> None:
    frame = Station(random_task(seed=seed).scene).camera.capture()
    assert reader.read(SessionImage(frame.rgb, frame)).value == []


def test_shapes_have_no_text(reader: PixelTextReader) -> None:
    picture = PictureBuilder(320, 240)
    for x in range(30, 320, 40):
        picture.circle((x, 60), 12, (200, 30, 30))
        picture.rectangle((x - 10, 110, x + 10, 130), (30, 30, 200))
        picture.rectangle((x - 2, 170, x + 2, 200), (20, 20, 20))
    assert reader.read(SessionImage(picture.frame().rgb)).value == []


@settings(max_examples=12)
@given(
    width=st.integers(1, 90),
    height=st.integers(1, 90),
    kind=st.sampled_from(["noise", "bits", "uniform"]),
    seed=st.integers(0, 99),
)
def test_any_picture_gets_an_answer_with_boxes_inside_it(width: int, height: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rgb = {
        "noise": rng.integers(0, 256, (height, width, 3)),
        "bits": np.repeat(rng.integers(0, 2, (height, width, 1)) * 255, 3, axis=2),
        "uniform": np.full((height, width, 3), seed),
    }[kind].astype(np.uint8)
    for span in PixelTextReader().read(SessionImage(rgb)).value:
        left, top, right, bottom = span.box
        assert -1 <= left < right <= width + 1
        assert -1 <= top < bottom <= height + 1


@pytest.mark.parametrize("size", [(1, 1), (1, 700), (700, 1), (2, 3)])
def test_slivers_have_no_text(reader: PixelTextReader, size: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    assert reader.read(SessionImage(rng.integers(0, 256, (*size, 3)).astype(np.uint8))).value == []


def test_a_picture_of_twelve_megapixels_is_read_like_a_small_one(reader: PixelTextReader) -> None:
    picture = np.full((3000, 4000, 3), 240, np.uint8)
    picture[::2, ::2] = 200
    assert reader.read(SessionImage(picture)).value == []


def test_the_same_picture_gives_the_same_answer(reader: PixelTextReader, draw: Any) -> None:
    picture = draw("Castle Hill 27", noise=15.0)
    assert reader.read(picture).value == reader.read(picture).value
