"""The way back to the park position from where a motion was broken off."""

from __future__ import annotations

import numpy as np
import pytest

from sim.scene.files import parse_scene
from sim.station import Station
from tests.gen3 import NAMED_STATES, pad_depth
from tool_nodes.geometry import pose
from tool_nodes.motion.manipulation import Manipulator
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import (
    CollisionScene,
    GripperOutcome,
    JointGoal,
    MotionOutcome,
    MotionStatus,
    PoseGoal,
    Trajectory,
)

SCENE = "objects:\n  - {name: red box, position: [0.50, -0.15]}\n"


class Stages(list[str]):
    """What the manipulator told, without repetitions."""

    def __call__(self, stage: str) -> None:
        if stage not in self:
            self.append(stage)


@pytest.fixture
def station() -> Station:
    return Station(parse_scene(SCENE))


def test_a_parked_arm_stays_where_it_is(station: Station) -> None:
    time = station.world.time
    station.manipulator.return_to_park()
    assert station.world.time == time


def test_an_arm_that_was_left_somewhere_comes_back(station: Station) -> None:
    stages = Stages()
    manipulator = Manipulator(station.arm, station.planner, station.camera, stages)
    park = NAMED_STATES["Park"]
    away = park + np.array([0.4, 0.2, 0.0, -0.2, 0.0, 0.0, 0.0])
    station.arm.follow(station.planner.plan(park, JointGoal(away), CollisionScene()))
    station.arm.move_gripper(0.03)
    manipulator.return_to_park()
    assert np.abs(station.arm.state().q - park).max() < 0.01
    assert station.arm.state().opening_m > 0.08, "an empty hand is opened"
    assert stages == ["the return from where the arm was left"]


def test_a_stop_ends_the_way_back(station: Station) -> None:
    away = NAMED_STATES["Park"] + 0.3 * np.eye(7)[0]
    station.arm.follow(station.planner.plan(NAMED_STATES["Park"], JointGoal(away), CollisionScene()))
    station.arm.stop()
    with pytest.raises(ToolError) as caught:
        station.manipulator.return_to_park()
    assert caught.value.code is ErrorCode.STOPPED
    assert "the return from where the arm was left" in caught.value.message


@pytest.mark.parametrize("leg", [1, 2, 3, 4])
def test_after_an_arm_that_did_not_obey_neither_arm_nor_jaws_are_commanded(leg: int) -> None:
    """Pre-grasp, approach, lift, way home: an arm in fault stands anywhere, and what it holds would fall from there."""
    station = Station(parse_scene("objects:\n  - {name: toy block, position: [0.45, 0.0]}\n"))
    follow, move = station.arm.follow, station.arm.move_gripper
    commands: list[str] = []

    def obey(trajectory: Trajectory) -> MotionOutcome:
        commands.append("arm")
        if commands.count("arm") == leg:
            return MotionOutcome(MotionStatus.FAILED, "it stayed where it was", faulty=True)
        return follow(trajectory)

    def grip(opening_m: float) -> GripperOutcome:
        commands.append("jaws")
        return move(opening_m)

    station.arm.follow, station.arm.move_gripper = obey, grip  # type: ignore[method-assign]
    T = pose(np.diag([1.0, -1.0, -1.0]), (0.45, 0.0, 0.025 + pad_depth(0.046)))
    with pytest.raises(ToolError, match=r"could not finish .*: it stayed where it was") as caught:
        station.manipulator.grasp(T, station.camera.capture())
    assert caught.value.code is ErrorCode.CONTROLLER_FAULT
    assert commands.count("arm") == leg
    assert commands[-1] == "arm", "nothing follows it"
    assert (station.manipulator.held is not None) == (leg > 2)


@pytest.mark.parametrize("xy", [(0.42, 0.08), (0.50, -0.10), (0.35, 0.25)])
def test_an_arm_that_a_picture_shows_as_an_obstacle_is_told_to_park_and_soon(xy: tuple[float, float]) -> None:
    station = Station(parse_scene("objects:\n  - {name: toy block, position: [0.45, -0.25]}\n"))
    low = PoseGoal(pose(np.diag([1.0, -1.0, -1.0]), (*xy, 0.17))[None])
    station.arm.follow(station.planner.plan(NAMED_STATES["Park"], low, CollisionScene()))
    T = pose(np.diag([1.0, -1.0, -1.0]), (0.45, -0.25, 0.025 + pad_depth(0.046)))
    frame = station.camera.capture()
    with pytest.raises(
        ToolError, match=r"The arm stands within an obstacle: the robot's .* with the obstacle near"
    ) as caught:
        station.manipulator.grasp(T, frame)
    assert caught.value.code is ErrorCode.PLAN_FAILED
    assert "park position" in (caught.value.hint or "")
    assert station.planner.stats.collision_checks == 0, "a search in vain takes 200,000, for each of eight ways"
    station.manipulator.return_to_park()
    station.manipulator.grasp(T, station.camera.capture())
