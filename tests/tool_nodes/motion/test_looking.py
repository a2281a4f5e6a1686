"""A look from the wrist is a guarded motion there and back, and its image lacks the hand."""

from dataclasses import replace

import numpy as np
import pytest

from tests.refusals import refused
from tests.stations import BLOCK_AND_BOX, FAST
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.geometry import invert, project, transform
from toolhand.tool_nodes.motion.guard import Mode, MotionGuard
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.looking import views_of
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.types import Frame

PLACE = np.array([0.45, 0.0, 0.045])


def is_parked(station: Station) -> bool:
    robot = station.robot
    q = station.arm.state().q
    return bool(np.abs(robot.nearest_turn(robot.park, q) - q).max() < 0.01)


def test_the_image_shows_the_place_from_its_other_side_and_the_arm_is_parked_again() -> None:
    station = Station(BLOCK_AND_BOX, FAST)
    scene = station.camera.capture()
    seen = station.manipulator.look(PLACE, scene)
    assert seen.camera == "wrist"
    local = transform(invert(seen.T_base_camera), PLACE[None])
    assert 0.3 < local[0, 2] < 0.4
    shown = project(local, seen.K)[0] / seen.size
    np.testing.assert_allclose(shown, 0.5, atol=0.03)
    assert seen.T_base_camera[0, 3] < PLACE[0] < scene.T_base_camera[0, 3]
    assert is_parked(station)


def test_no_depth_of_the_fingers_is_left_and_all_else_is() -> None:
    station = Station(BLOCK_AND_BOX, FAST)
    seen = station.manipulator.look(PLACE, station.camera.capture())
    assert float(np.nanmin(seen.depth)) > 0.2
    assert float(np.isnan(seen.depth).mean()) < 0.15


def test_a_viewpoint_from_which_the_place_is_hidden_comes_after_those_that_see_it() -> None:
    wall = parse_scene("objects: [{name: toy block, position: [0.45, 0.0]}, {name: red box, position: [0.38, 0.0]}]")
    free, hidden = (Station(scene, FAST).camera.capture() for scene in (BLOCK_AND_BOX, wall))
    first, other = (next(views_of(np.array([0.43, 0.0, 0.01]), frame))[0] for frame in (free, hidden))
    assert abs(first[1, 3]) < 0.02
    assert np.linalg.norm(other[:3, 3] - first[:3, 3]) > 0.04


def test_without_a_camera_at_the_wrist_it_is_unavailable_and_nothing_moves() -> None:
    station = Station(BLOCK_AND_BOX, FAST)
    manipulator = Manipulator(station.arm, station.planner, station.camera, robot=station.robot)
    frame, began = station.camera.capture(), station.world.time
    with refused(ErrorCode.UNAVAILABLE, "no camera at its wrist"):
        manipulator.look(PLACE, frame)
    assert station.world.time == began


def test_a_dry_run_refuses_the_look_before_anything_moves() -> None:
    station = Station(BLOCK_AND_BOX, FAST, guard=MotionGuard(Mode.DRY_RUN))
    frame, began = station.camera.capture(), station.world.time
    with refused(ErrorCode.NOT_APPROVED, r"Look with the wrist camera.*is planned and within the limits"):
        station.manipulator.look(PLACE, frame)
    assert station.world.time == began


def test_a_camera_that_fails_there_is_told_once_the_arm_is_back() -> None:
    station = Station(BLOCK_AND_BOX, FAST)
    wrist = station.wrist_camera

    class Failing:
        images = 0

        def capture(self) -> Frame:
            self.images += 1
            if self.images > 1:
                raise unavailable("The camera is silent.")
            return wrist.capture()

    manipulator = Manipulator(station.arm, station.planner, station.camera, robot=station.robot, wrist=Failing())
    with pytest.raises(ToolError, match="The camera is silent"):
        manipulator.look(PLACE, station.camera.capture())
    assert station.world.time > 1.0
    assert is_parked(station)


def test_what_the_first_camera_cannot_see_the_second_one_clears() -> None:
    """Behind a high object the first camera sees nothing: that is an obstacle, unless the second one saw it free."""
    station = Station(parse_scene("objects: [{name: red box, position: [0.45, 0.0]}]"), FAST)
    frame = station.camera.capture()
    T = Kinematics().fk(station.robot.park)
    before = station.manipulator._scenes.of(T, frame)[0][0].boxes
    station.manipulator.look(PLACE, frame)
    after = station.manipulator._scenes.of(T, frame)[0][0].boxes

    def volume(boxes: tuple) -> float:
        return float(sum(8.0 * np.prod(box.half_extents) for box in boxes))

    assert 0.0 < volume(after) < volume(before)
    # An image of before something was moved is no second view of it.
    moved = replace(frame, depth=frame.depth.copy())
    moved.depth[100:140, 100:140] -= 0.1
    assert station.manipulator._scenes._other_view(moved) is None
