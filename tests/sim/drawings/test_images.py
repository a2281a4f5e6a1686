"""Images with truth, and the reader that knows it."""

from dataclasses import replace

import numpy as np
import pytest

from toolhand.sim.drawings import samples as images
from toolhand.sim.drawings.builder import COLOURS, ImageBuilder
from toolhand.sim.drawings.text_truth import SimTextReader, TextNoise, font_size
from toolhand.sim.station import Station
from toolhand.sim.tasks.tasks import random_task
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Frame

EXACT = SimTextReader(noise=TextNoise(confusion_rate=0.0))
NAMES = [name for name in images.IMAGES if name != "street"]


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_gives_the_same_image_and_another_seed_another(name: str) -> None:
    make = images.IMAGES[name]
    assert np.array_equal(make(1).rgb, make(1).rgb)
    assert not np.array_equal(make(1).rgb, make(2).rgb)


@pytest.mark.parametrize("name", NAMES)
def test_truth_lies_inside_the_image_and_every_id_has_a_label(name: str) -> None:
    frame = images.IMAGES[name](3)
    width, height = frame.size
    assert frame.ids is not None
    assert frame.labels is not None
    assert frame.texts is not None
    assert frame.ids.max() < len(frame.labels)
    assert np.isnan(frame.depth).all()
    for span in frame.texts:
        left, top, right, bottom = span.box
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height


def test_shapes_are_where_their_truth_says_in_the_colour_of_their_name() -> None:
    frame = images.shapes(5)
    assert frame.ids is not None
    assert frame.labels is not None
    assert len(frame.labels) >= 7
    for index, label in enumerate(frame.labels):
        mask = frame.ids == index
        assert np.allclose(np.median(frame.rgb[mask], axis=0), COLOURS[label.split()[0]], atol=3)


def test_what_is_drawn_later_covers_what_is_there() -> None:
    image = ImageBuilder(60, 40)
    image.circle((20, 20), 10, COLOURS["red"], "red circle")
    image.rectangle((20, 0, 60, 40), COLOURS["blue"], "blue square")
    ids = image.frame().ids
    assert ids is not None
    assert ids[20, 15] == 0
    assert ids[20, 25] == 1


def test_a_text_that_sticks_out_of_the_image_is_cut() -> None:
    image = ImageBuilder(40, 20)
    image.text("Harbour", (-10, 15), 16)
    assert image.frame().rgb.shape == (20, 40, 3)


@pytest.mark.parametrize("size", [14, 22, 60])
@pytest.mark.parametrize("text", ["Harbour", "PEINTRE", "summon", "Quay 12"])
def test_the_font_size_follows_from_the_height_of_the_ink(text: str, size: int) -> None:
    image = ImageBuilder(600, 100)
    image.text(text, (10, 70), size)
    (span,) = image.frame().texts or ()
    assert font_size(span) == pytest.approx(size, rel=0.14)


# -- the reader that knows the truth ---------------------------------------------------------------


def lines(size: float, text: str = "Market Square 12") -> Frame:
    image = ImageBuilder(900, 100)
    image.text(text, (20, 60), size)
    return image.frame()


@pytest.mark.parametrize(("size", "read"), [(7, []), (20, ["Market Square 12"])])
def test_print_below_the_limit_is_not_read(size: float, read: list[str]) -> None:
    frame = lines(size)
    assert [span.text for span in EXACT.read(SessionImage(frame.rgb, frame)).value] == read


def test_a_crop_shows_the_letters_that_lie_in_it_in_its_own_pixels() -> None:
    frame = lines(24)
    (whole,) = frame.texts or ()
    middle = round((whole.box[0] + whole.box[2]) / 2)
    (cut,) = EXACT.read(SessionImage(frame.rgb, frame).cropped(0, 20, middle, 90)).value
    assert whole.text.startswith(cut.text)
    assert 6 <= len(cut.text) <= 10
    assert cut.box[1] == whole.box[1] - 20
    assert EXACT.read(SessionImage(frame.rgb, frame).cropped(0, 80, 900, 100)).value == []


def test_misreadings_are_rarer_in_larger_print_and_the_same_each_time() -> None:
    reader = SimTextReader(seed=1, noise=TextNoise(confusion_rate=1.0, fading_px=3.0))
    text = "Bullock Zone 580 Bullock Zone 580"

    def wrong(size: float) -> int:
        frame = lines(size, text)
        (span,) = reader.read(SessionImage(frame.rgb, frame)).value
        assert reader.read(SessionImage(frame.rgb, frame)).value == [span]
        return sum(a != b for a, b in zip(span.text, text, strict=True))

    assert wrong(11) > wrong(40) == 0


def test_a_simulated_table_has_no_text() -> None:
    frame = Station(random_task(seed=0).scene).camera.capture()
    assert EXACT.read(SessionImage(frame.rgb, frame)).value == []


@pytest.mark.parametrize("known", [False, True])
def test_an_image_without_truth_cannot_be_read(known: bool) -> None:
    frame = replace(lines(20), ids=None, texts=None)
    with pytest.raises(ToolError) as caught:
        EXACT.read(SessionImage(frame.rgb, frame if known else None))
    assert caught.value.code is ErrorCode.IMAGE_UNUSABLE


@pytest.mark.parametrize("values", [{"confusion_rate": 1.5}, {"confusion_rate": -0.1}, {"fading_px": 0.0}])
def test_noise_out_of_range_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(ToolError, match="must be"):
        TextNoise(**values)
