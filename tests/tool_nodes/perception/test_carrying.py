"""A mask of one camera's picture, in the picture of another one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.scene.files import parse_scene
from sim.scene.scenes import Scene
from sim.station import Station, StationConfig
from tool_nodes.perception.carrying import carried_target
from tool_nodes.types import BoolArray, Frame, GraspTarget

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
    """The scene camera's picture and the wrist camera's."""
    station = Station(scene_at(0.0), StationConfig(perception="sim"))
    first = station.camera.capture()
    return first, station.manipulator.look(np.array([0.45, 0.0, 0.02]), first)


def test_all_of_the_thing_is_outlined_with_the_side_that_only_the_other_camera_sees(views: tuple[Frame, Frame]) -> None:
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


def test_a_thing_that_is_elsewhere_now_is_not_carried_over(views: tuple[Frame, Frame]) -> None:
    _, wrist = views
    now = Station(scene_at(0.1), StationConfig(perception="sim")).camera.capture()
    assert carried_target(wrist, GraspTarget(block_in(wrist)), now) is None


def test_a_mask_without_depth_is_not_carried_over(views: tuple[Frame, Frame]) -> None:
    scene, wrist = views
    assert carried_target(wrist, GraspTarget(np.isnan(wrist.depth)), scene) is None
