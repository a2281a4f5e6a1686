"""Looking at images: whole camera images, crops and drawings of them, and foreign ones."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from tests.refusals import refused
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.perception.certainty import Candidate
from toolhand.tool_nodes.perception.frame_perception import FramePerception
from toolhand.tool_nodes.perception.instances import Instance
from toolhand.tool_nodes.perception.object_finder import ObjectFinder
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import BoolArray, Frame, Segmentation


class Look:
    """An image of the example scene, and something that looks at it."""

    def __init__(self, perception: str) -> None:
        station = Station(load_scene(EXAMPLE_SCENE), StationConfig(perception=perception))
        frame = station.camera.capture()
        self.name = perception
        self.image = SessionImage(frame.rgb, frame)
        self.finder = ObjectFinder(station.ports.detector, station.ports.segmenter, station.ports.depth)

    def one(self, text: str, image: SessionImage | None = None) -> Instance:
        (found,) = self.finder.find(image or self.image, text).value
        return found


@pytest.fixture(scope="module", params=["sim", "pixels"])
def look(request: pytest.FixtureRequest) -> Look:
    return Look(request.param)


@pytest.fixture
def drawing() -> SessionImage:
    """A foreign image: a red disc and a blue square on white."""
    image = Image.new("RGB", (200, 120), "white")
    draw = ImageDraw.Draw(image)
    draw.ellipse((20, 30, 70, 80), fill="red")
    draw.rectangle((120, 40, 169, 89), fill="blue")
    return SessionImage(np.asarray(image))


def check(instance: Instance, image: SessionImage) -> None:
    """What is true of every instance: mask, box and point are of the image, and fit each other."""
    assert instance.mask.shape == image.rgb.shape[:2]
    assert instance.mask.dtype == np.bool_
    rows, columns = np.nonzero(instance.mask)
    assert instance.box == (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    assert all(type(side) is int for side in instance.box)
    width, height = image.size
    x, y = instance.point
    assert instance.mask[int(y * height), int(x * width)]
    assert 0.0 <= instance.score <= 1.0


def around(instance: Instance, image: SessionImage, margin: int) -> SessionImage:
    left, top, right, bottom = instance.box
    width, height = image.size
    return image.cropped(
        max(left - margin, 0), max(top - margin, 0), min(right + margin, width), min(bottom + margin, height)
    )


def iou(a: BoolArray, b: BoolArray) -> float:
    return np.count_nonzero(a & b) / np.count_nonzero(a | b)


# -- camera images -------------------------------------------------------------------------------


def test_what_is_found_by_words_is_outlined(look: Look) -> None:
    found = look.finder.find(look.image, "coconut water").value
    assert len(found) == 2
    for instance in found:
        check(instance, look.image)
        assert instance.label == "coconut water"
    assert not (found[0].mask & found[1].mask).any()


def test_everything_has_the_best_first_and_no_label(look: Look) -> None:
    found = look.finder.everything(look.image).value
    assert len(found) == 7
    for instance in found:
        check(instance, look.image)
        assert instance.label == ""
    scores = [instance.score for instance in found]
    assert scores == sorted(scores, reverse=True)


def test_a_point_names_the_object_under_it(look: Look) -> None:
    box = look.one("red box")
    found = look.finder.at(look.image, [box.point]).value
    check(found, look.image)
    assert iou(found.mask, box.mask) > 0.9
    assert iou(look.finder.at(look.image, np.array([box.point, box.point])).value.mask, box.mask) > 0.9


def test_a_point_on_the_bare_table_is_on_no_object(look: Look) -> None:
    with refused(ErrorCode.EMPTY_MASK, r"There is no object at \(0\.500, 0\.950\)"):
        look.finder.at(look.image, [(0.5, 0.95)])


def test_what_is_not_there_is_not_found(look: Look) -> None:
    for name, code in (("banana", ErrorCode.OBJECT_NOT_FOUND), ("violin", ErrorCode.NOT_RECOGNISED)):
        with refused(code):
            look.finder.find(look.image, name)


@pytest.mark.parametrize("word", ["table", "the desk", "surface"])
def test_the_table_is_one_object_and_none_of_those_that_stand_on_it(look: Look, word: str) -> None:
    table = look.one(word)
    assert 0.5 < table.score <= 1.0
    objects = np.any([one.mask for one in look.finder.everything(look.image).value], axis=0)
    assert not np.any(table.mask & objects)
    assert np.count_nonzero(table.mask) > np.count_nonzero(objects)
    (detected,) = look.finder.detect(look.image, word).value
    x, y = detected.point or (0.0, 0.0)
    height, width = table.mask.shape
    assert table.mask[int(y * height), int(x * width)]


def test_the_backend_is_the_ports(look: Look) -> None:
    assert look.finder.everything(look.image).backend == look.name


def test_the_same_question_has_the_same_answer(look: Look) -> None:
    first, second = (look.finder.find(look.image, "coconut water").value for _ in range(2))
    assert first
    for a, b in zip(first, second, strict=True):
        assert np.array_equal(a.mask, b.mask)
        assert (a.box, a.point, a.score) == (b.box, b.point, b.score)


# -- crops of camera images ----------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0, 3, 40])
def test_in_a_crop_the_same_object_has_the_crops_coordinates(look: Look, margin: int) -> None:
    whole = look.one("red box")
    crop = around(whole, look.image, margin)
    found = look.one("red box", crop)
    check(found, crop)
    assert np.array_equal(found.mask, crop.cut(whole.mask))
    assert crop.window is not None
    left, top, _, _ = crop.window
    shifted = tuple(np.add(found.box, (left, top, left, top)))
    assert shifted == whole.box


def test_a_crop_of_a_crop_is_looked_at_as_one_crop(look: Look) -> None:
    whole = look.one("red box")
    once = around(whole, look.image, 5)
    twice = around(look.one("red box", around(whole, look.image, 60)), around(whole, look.image, 60), 5)
    assert twice.window == once.window
    assert np.array_equal(look.one("red box", twice).mask, look.one("red box", once).mask)


def test_what_lies_outside_a_crop_is_not_shown(look: Look) -> None:
    crop = around(look.one("red box"), look.image, 5)
    assert len(look.finder.everything(crop).value) == 1
    with refused(ErrorCode.OBJECT_NOT_FOUND, "This part of the picture does not show 'black bin'"):
        look.finder.find(crop, "black bin")


@pytest.mark.parametrize(("share", "shown"), [(0.15, False), (0.8, True)])
def test_an_object_is_shown_where_enough_of_it_is_in_the_crop(look: Look, share: float, shown: bool) -> None:
    left, top, right, bottom = look.one("red box").box
    crop = look.image.cropped(left, top, left + round(share * (right - left)), bottom)
    assert len(look.finder.everything(crop).value) == shown


def test_a_bare_part_of_the_table_shows_nothing(look: Look) -> None:
    crop = look.image.cropped(300, 440, 340, 470)
    assert look.finder.everything(crop).value == []


def test_a_point_of_a_crop_names_the_object_under_it(look: Look) -> None:
    crop = around(look.one("red box"), look.image, 20)
    expected = look.one("red box", crop)
    found = look.finder.at(crop, [expected.point]).value
    check(found, crop)
    assert iou(found.mask, expected.mask) > 0.9
    with refused(ErrorCode.EMPTY_MASK):
        look.finder.at(crop, [(0.01, 0.01)])


def test_the_tiniest_crop_has_an_answer(look: Look) -> None:
    x, y = look.one("red box").point
    u, v = int(x * 640), int(y * 480)
    crop = look.image.cropped(u, v, u + 1, v + 1)
    assert look.finder.everything(crop).value == []
    check(look.finder.at(crop, [(0.5, 0.5)]).value, crop)


def test_depth_of_a_crop_is_the_crop_of_the_depth(look: Look) -> None:
    crop = around(look.one("red box"), look.image, 10)
    depth, focal = look.finder.depth_of(look.image).value
    part, same_focal = look.finder.depth_of(crop).value
    assert depth.shape == look.image.rgb.shape[:2]
    assert np.array_equal(part, crop.cut(depth), equal_nan=True)
    assert part.flags.c_contiguous
    assert focal == same_focal == 660.0


# -- drawings --------------------------------------------------------------------------------------


def test_a_drawing_over_a_camera_image_is_seen_as_the_image_under_it(look: Look) -> None:
    black = look.image.redrawn(np.zeros_like(look.image.rgb))
    assert np.array_equal(look.one("red box", black).mask, look.one("red box").mask)
    assert look.finder.everything(black).backend == look.name
    assert np.array_equal(
        look.finder.depth_of(black).value[0], look.finder.depth_of(look.image).value[0], equal_nan=True
    )


# -- foreign images ------------------------------------------------------------------------------


def test_in_a_foreign_image_objects_are_found_by_colour_and_shape(look: Look, drawing: SessionImage) -> None:
    disc, square = look.one("red circle", drawing), look.one("blue square", drawing)
    for instance in (disc, square):
        check(instance, drawing)
    assert np.abs(np.array(disc.box) - (20, 30, 71, 81)).max() <= 1
    assert np.abs(np.array(square.box) - (120, 40, 170, 90)).max() <= 1
    assert disc.label == "red circle"
    assert look.finder.everything(drawing).backend == "drawings"
    with refused(ErrorCode.OBJECT_NOT_FOUND):
        look.finder.find(drawing, "green star")
    for name in ("cup", "cat", "table"):
        with refused(ErrorCode.NOT_RECOGNISED, "I see: "):
            look.finder.find(drawing, name)


def test_in_a_foreign_image_everything_and_a_point_are_seen(look: Look, drawing: SessionImage) -> None:
    found = look.finder.everything(drawing).value
    assert len(found) == 2
    for instance in found:
        check(instance, drawing)
    at = look.finder.at(drawing, [(0.725, 0.54)]).value
    assert iou(at.mask, look.one("blue square", drawing).mask) > 0.95
    with refused(ErrorCode.EMPTY_MASK):
        look.finder.at(drawing, [(0.5, 0.05)])


def test_a_foreign_image_has_no_depth(look: Look, drawing: SessionImage) -> None:
    with refused(ErrorCode.IMAGE_UNUSABLE):
        look.finder.depth_of(drawing)


def test_a_crop_of_a_foreign_image_is_an_image_of_its_own(look: Look, drawing: SessionImage) -> None:
    crop = drawing.cropped(100, 20, 190, 110)
    found = look.one("blue square", crop)
    check(found, crop)
    assert np.abs(np.array(found.box) - (20, 20, 70, 70)).max() <= 1


def test_a_frame_without_depth_is_looked_at_as_a_foreign_image(look: Look, drawing: SessionImage) -> None:
    frame = look.image.require_frame()
    depth = np.full(drawing.rgb.shape[:2], np.nan, np.float32)
    flat = SessionImage(drawing.rgb, Frame(drawing.rgb, depth, frame.K, frame.T_base_camera, stamp=9.0))
    assert look.finder.everything(flat).backend == "drawings"
    assert len(look.finder.everything(flat).value) == 2


# -- what the ports say ----------------------------------------------------------------------------


class TwoPointsOnOneObject(FramePerception):
    """Answers with two points on the same object."""

    backend = "fake"
    mask = np.zeros((4, 6), bool)
    mask[1:3, 1:3] = True

    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        return [(0.2, 0.4), (0.45, 0.6)]

    def candidates(self, frame: Frame, text: str) -> list[Candidate]:
        return [Candidate(point, 1.0) for point in self.points(frame, text)]

    def masks_at(self, frame: Frame, points: object) -> list[Segmentation]:
        return [Segmentation(self.mask.copy(), 0.75)]

    def masks(self, frame: Frame) -> list[Segmentation]:
        return [Segmentation(self.mask, 0.75)]

    def depth(self, frame: Frame) -> tuple[np.ndarray, float]:
        return frame.depth, 7.0


def test_two_points_on_one_object_are_one_instance() -> None:
    rgb = np.zeros((4, 6, 3), np.uint8)
    frame = Frame(rgb, np.ones((4, 6), np.float32), np.eye(3), np.eye(4), stamp=0.0)
    image = SessionImage(rgb, frame)
    ports = TwoPointsOnOneObject()
    finder = ObjectFinder(ports, ports, ports)
    answer = finder.find(image, "thing")
    (found,) = answer.value
    assert found.box == (1, 1, 3, 3)
    assert found.score == 0.75
    assert answer.backend == "fake"
    depth, _ = finder.depth_of(replace(image, window=(2, 0, 6, 4), rgb=rgb[:, 2:])).value
    assert depth.shape == (4, 4)
