"""The way back to the park position from where a motion was broken off."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest

from tests.gen3 import NAMED_STATES, pad_depth
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion import planner
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.motion.placing import no_way
from toolhand.tool_nodes.motion.trajectory_checks import beside
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import (
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


def missing(station: Station, leg: int, held_up: bool) -> list[str]:
    """Let a leg of the arm, counted from 1, end short of its goal; returns what is commanded, while it is."""
    follow, move, commands = station.arm.follow, station.arm.move_gripper, list[str]()

    def meet(trajectory: Trajectory) -> MotionOutcome:
        commands.append("arm")
        outcome = follow(trajectory)
        missed = MotionOutcome(MotionStatus.FAILED, "the goal was missed by 0.057 rad", held_up=held_up)
        return missed if commands.count("arm") == leg else outcome

    def grip(opening_m: float) -> GripperOutcome:
        commands.append("jaws")
        return move(opening_m)

    station.arm.follow, station.arm.move_gripper = meet, grip  # type: ignore[method-assign]
    return commands


def is_parked(station: Station) -> bool:
    return bool(np.abs(station.arm.state().q - NAMED_STATES["Park"]).max() < 0.01)


BLOCK = "objects:\n  - {name: toy block, position: [0.45, 0.0]}\n"
ON_BLOCK = pose(np.diag([1.0, -1.0, -1.0]), (0.45, 0.0, 0.025 + pad_depth(0.046)))


@pytest.mark.parametrize("leg", [1, 2])
def test_an_arm_that_was_held_up_beside_its_path_backs_out_and_parks_and_says_so(leg: int) -> None:
    station = Station(parse_scene(BLOCK))
    missing(station, leg, held_up=True)
    with pytest.raises(ToolError, match=r"missed by 0.057 rad\. It has backed out and is parked") as caught:
        station.manipulator.grasp(ON_BLOCK, station.camera.capture())
    assert caught.value.code is ErrorCode.EXECUTION_FAILED
    assert is_parked(station)
    assert station.arm.state().opening_m > 0.08
    assert station.manipulator.held is None
    station.manipulator.grasp(ON_BLOCK, station.camera.capture())


@pytest.mark.parametrize("leg", [1, 2, 3, 4])
def test_an_arm_that_strayed_from_its_path_gets_no_further_command(leg: int) -> None:
    station = Station(parse_scene(BLOCK))
    commands = missing(station, leg, held_up=False)
    with pytest.raises(ToolError, match=r"missed by 0\.057 rad") as caught:
        station.manipulator.grasp(ON_BLOCK, station.camera.capture())
    assert caught.value.code is ErrorCode.EXECUTION_FAILED
    assert "robot.return_to_park" in caught.value.hint
    assert commands.count("arm") == leg
    assert commands[-1] == "arm", "nothing follows it"


def test_what_is_held_is_kept_where_a_placement_is_held_up_and_can_be_placed_elsewhere() -> None:
    station = Station(parse_scene(BLOCK))
    station.manipulator.grasp(ON_BLOCK, station.camera.capture())
    missing(station, 2, held_up=True)
    with pytest.raises(ToolError, match=r"the descent: .* backed out and is parked"):
        station.manipulator.place(np.array([0.45, 0.2, 0.0]), station.camera.capture())
    assert is_parked(station)
    assert station.manipulator.held is not None
    station.manipulator.place(np.array([0.45, -0.2, 0.0]), station.camera.capture())


def test_a_latched_stop_is_followed_by_nothing() -> None:
    station = Station(parse_scene(BLOCK))
    follow, commands = station.arm.follow, list[str]()

    def stop_in_the_second(trajectory: Trajectory) -> MotionOutcome:
        commands.append("arm")
        if len(commands) == 2:
            station.arm.stop()
        return follow(trajectory)

    station.arm.follow = stop_in_the_second  # type: ignore[method-assign]
    with pytest.raises(ToolError) as caught:
        station.manipulator.grasp(ON_BLOCK, station.camera.capture())
    assert caught.value.code is ErrorCode.STOPPED
    assert len(commands) == 2


def test_an_arm_rests_beside_its_path_within_5_hundredths_whatever_whole_turns_it_has_made(station: Station) -> None:
    park, joint = NAMED_STATES["Park"], np.eye(7)
    path = station.planner.plan(park, JointGoal(park + 0.1 * joint[0]), CollisionScene())
    assert station.arm.follow(path).held_up is False, "it has arrived"
    assert beside(path, park + 0.04 * joint[0], station.robot)
    assert beside(path, park + 0.14 * joint[0] + 2.0 * np.pi * joint[6], station.robot)
    assert not beside(path, park + 0.06 * joint[1], station.robot)


@pytest.mark.parametrize("xy", [(0.42, 0.08), (0.50, -0.10), (0.35, 0.25)])
def test_a_start_within_an_obstacle_is_refused_soon_with_what_to_do_also_for_a_place(xy: tuple[float, float]) -> None:
    station = Station(parse_scene("objects:\n  - {name: toy block, position: [0.45, -0.25]}\n"))
    low = PoseGoal(pose(np.diag([1.0, -1.0, -1.0]), (*xy, 0.17))[None])
    station.arm.follow(station.planner.plan(NAMED_STATES["Park"], low, CollisionScene()))
    T = pose(np.diag([1.0, -1.0, -1.0]), (0.45, -0.25, 0.025 + pad_depth(0.046)))
    unfiltered = station._alive_cameras()[0].capture()  # as of a camera that knows no joints
    with (
        mock.patch.object(planner, "rrt_connect", side_effect=AssertionError("a search in vain takes 200,000 checks")),
        pytest.raises(
            ToolError, match=r"The arm stands within an obstacle: the robot's .* with the obstacle near"
        ) as caught,
    ):
        station.manipulator.grasp(T, unfiltered)
    assert caught.value.code is ErrorCode.PLAN_FAILED
    assert "robot.return_to_park" in caught.value.hint
    assert "robot.return_to_park" in no_way(np.zeros(3), caught.value).hint, "not: choose another place"
    station.manipulator.grasp(T, station.camera.capture())
    assert station.manipulator.held is not None, "a picture that knows the robot is planned by as it is"
