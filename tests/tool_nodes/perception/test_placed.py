"""What was put down, by the images before and after, and masks in the image of another camera."""

from dataclasses import replace

import numpy as np
import pytest

from toolhand.sim.scene.files import parse_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes.perception.carrying import carried_target
from toolhand.tool_nodes.perception.placed import standing_at
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, Frame, GraspTarget

# -- where an object that was put down stands, by the images before and after ----------------------

ACROSS_M = 0.01
BIN = "  - {name: black bin, position: [0.50, 0.30]}\n"
BOX = "  - {name: red box, position: [0.40, -0.20]}\n"


def seen(*rows: str) -> Frame:
    scene = parse_scene("objects:\n" + "".join(rows))
    return Station(scene).camera.capture()


@pytest.fixture(scope="module")
def before() -> Frame:
    return seen(BIN, BOX)


@pytest.mark.parametrize(
    ("name", "x", "y"),
    [("apple", 0.5, 0.0), ("cereal box", 0.45, 0.1), ("baseball", 0.35, 0.1), ("apple in the bin", 0.5, 0.3)],
)
def test_it_stands_where_something_new_is_seen(before: Frame, name: str, x: float, y: float) -> None:
    place = [x, y, 0.05] if "bin" in name else [x, y]
    after = seen(BIN, BOX, f"  - {{name: {name.removesuffix(' in the bin')}, position: {place}}}\n")
    found = standing_at(before, after, np.array([x + 0.02, y - 0.02, 0.0]))
    assert found is not None
    assert np.hypot(*(found[:2] - (x, y))) < ACROSS_M


def test_where_nothing_is_new_nearby_nothing_stands(before: Frame) -> None:
    after = seen(BIN, BOX, "  - {name: apple, position: [0.5, 0.0]}\n")
    assert standing_at(before, before, np.array([0.5, 0.0, 0.0])) is None
    assert standing_at(before, after, np.array([0.3, 0.3, 0.0])) is None
    assert standing_at(after, before, np.array([0.5, 0.0, 0.0])) is None  # gone, not new


def test_an_image_without_depth_is_refused(before: Frame) -> None:
    blind = replace(before, depth=np.full_like(before.depth, np.nan))
    with pytest.raises(ToolError) as caught:
        standing_at(before, blind, np.zeros(3))
    assert caught.value.code is ErrorCode.NO_DEPTH


# -- A mask of one camera's image, in the image of another one ---------------------------------


SCENE = """
objects:
  - {name: toy block, position: [0.45, %s]}
  - {name: red box, position: [0.50, -0.15]}
"""


def scene_at(y: float) -> Scene:
    return parse_scene(SCENE % y)


def block_in(frame: Frame) -> BoolArray:
    assert frame.ids is not None
    return frame.ids == 0


@pytest.fixture(scope="module")
def views() -> tuple[Frame, Frame]:
    """The scene camera's image and the wrist camera's."""
    station = Station(scene_at(0.0), StationConfig(perception="sim"))
    first = station.camera.capture()
    return first, station.manipulator.look(np.array([0.45, 0.0, 0.02]), first)


def test_all_of_the_object_is_outlined_with_the_side_that_only_the_other_camera_sees(
    views: tuple[Frame, Frame],
) -> None:
    scene, wrist = views
    rows, columns = np.nonzero(block_in(wrist))
    point = (float(np.median(columns)) + 0.5) / wrist.size[0], (float(np.median(rows)) + 0.5) / wrist.size[1]
    target = carried_target(wrist, GraspTarget(block_in(wrist), (point,), "toy block"), scene)
    assert target is not None
    true = block_in(scene)
    assert np.count_nonzero(target.mask & true) > 0.85 * np.count_nonzero(true)
    assert np.count_nonzero(target.mask & true) > 0.9 * np.count_nonzero(target.mask)
    ((x, y),) = target.points
    assert true[int(y * scene.size[1]), int(x * scene.size[0])]
    assert target.called == "toy block"


def test_two_calibrations_that_differ_by_six_millimetres_do_no_harm(views: tuple[Frame, Frame]) -> None:
    scene, wrist = views
    T = wrist.T_base_camera.copy()
    T[:3, 3] += (0.004, 0.004, 0.002)
    target = carried_target(replace(wrist, T_base_camera=T), GraspTarget(block_in(wrist)), scene)
    assert target is not None
    true = block_in(scene)
    assert np.count_nonzero(target.mask & true) > 0.85 * np.count_nonzero(true)
    assert np.count_nonzero(target.mask & true) > 0.9 * np.count_nonzero(target.mask)


def test_an_object_that_is_elsewhere_now_is_not_carried_over(views: tuple[Frame, Frame]) -> None:
    _, wrist = views
    now = Station(scene_at(0.1), StationConfig(perception="sim")).camera.capture()
    assert carried_target(wrist, GraspTarget(block_in(wrist)), now) is None


def test_a_mask_without_depth_is_not_carried_over(views: tuple[Frame, Frame]) -> None:
    scene, wrist = views
    assert carried_target(wrist, GraspTarget(np.isnan(wrist.depth)), scene) is None
