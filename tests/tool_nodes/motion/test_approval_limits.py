"""Limits that hold in every mode, on the arrays that the arm is given, and the arm that moves only with a permit."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.gen3 import MAX_OPENING, VELOCITY_LIMITS, pad_depth, time_waypoints
from tests.guarded import PARK, RecordingArm, a_motion, permitted, refused, turned
from toolhand.sim.scene.files import parse_scene
from toolhand.sim.station import Station
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.guard import GuardedArm, Mode, MotionGuard, parse_mode, stricter
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.limits import MotionLimits, check_trajectory
from toolhand.tool_nodes.motion.manipulation import Manipulator
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.robot import RobotTools, robot_tools
from toolhand.tool_nodes.types import (
    CollisionScene,
    FloatArray,
    LinearGoal,
    MotionOutcome,
    Trajectory,
)

GRASP = pose(np.diag([1.0, -1.0, -1.0]), (0.45, 0.0, 0.025 + pad_depth(0.046)))
SCENE = "objects:\n  - {name: toy block, position: [0.45, 0.0]}\n"


@pytest.fixture(scope="module")
def kinematics() -> Kinematics:
    return Kinematics()


def test_a_planned_trajectory_is_within_the_limits(kinematics: Kinematics) -> None:
    check_trajectory(turned(0.3), MAX_OPENING, MotionLimits(), kinematics)
    check_trajectory(turned(0.3, 0.5), MAX_OPENING, MotionLimits(speed=0.5), kinematics)


def _at(array: FloatArray, index: tuple[int, ...], value: float) -> FloatArray:
    changed = array.copy()
    changed[index] = value
    return changed


@pytest.mark.parametrize(
    "wrong",
    [
        lambda leg: replace(leg, q=_at(leg.q, (9, 3), np.nan)),
        lambda leg: replace(leg, t=_at(leg.t, (9,), np.inf)),
        lambda leg: replace(leg, qd=_at(leg.qd, (9, 0), 1.1 * VELOCITY_LIMITS[0])),
        lambda leg: replace(leg, qd=_at(leg.qd, (9, 0), -1.1 * VELOCITY_LIMITS[0])),
        lambda leg: replace(leg, qd=_at(leg.qd, (9, 0), leg.qd[9, 0] + 0.5)),
        lambda leg: replace(leg, q=_at(leg.q, (9, 0), leg.q[9, 0] + 0.05)),
        lambda leg: replace(leg, q=leg.q + np.linspace(0, 1, len(leg.t))[:, None] * np.eye(7)[1] * 2.6),
        lambda leg: replace(leg, t=0.8 * leg.t),
        lambda leg: replace(leg, t=leg.t[::-1].copy()),
        lambda leg: replace(leg, t=leg.t + 1.0),
        lambda leg: replace(leg, t=leg.t[:-1]),
        lambda leg: replace(leg, q=leg.q[:, :6]),
        lambda leg: replace(leg, joint_names=leg.joint_names[::-1]),
        lambda leg: replace(leg, t=leg.t[:1], q=leg.q[:1], qd=leg.qd[:1]),
        lambda leg: replace(leg, t=leg.t[:-20], q=leg.q[:-20], qd=leg.qd[:-20]),
        lambda leg: replace(leg, qd=leg.qd * 1.3),
    ],
)
def test_a_trajectory_beyond_any_limit_is_refused(
    wrong: Callable[[Trajectory], Trajectory], kinematics: Kinematics
) -> None:
    with pytest.raises(ToolError, match="refused before it began") as caught:
        check_trajectory(wrong(turned(0.8)), MAX_OPENING, MotionLimits(), kinematics)
    assert caught.value.code is ErrorCode.EXECUTION_FAILED


def test_a_trajectory_faster_than_the_operator_allows_is_refused(kinematics: Kinematics) -> None:
    with pytest.raises(ToolError, match="times as fast"):
        check_trajectory(turned(0.8), MAX_OPENING, MotionLimits(speed=0.9), kinematics)


def test_no_fingertip_leaves_the_box_on_the_way_either(kinematics: Kinematics) -> None:
    there_and_back = time_waypoints(np.vstack([PARK, PARK + 1.0 * np.eye(7)[0], PARK]))
    check_trajectory(there_and_back, MAX_OPENING, MotionLimits(), kinematics)
    narrow = MotionLimits(low=(-0.10, -0.10, 0.0), high=(0.85, 0.62, 0.95))
    with pytest.raises(ToolError, match=r"mm out of the workspace.*y -0\.10 to 0\.62") as caught:
        check_trajectory(there_and_back, MAX_OPENING, narrow, kinematics)
    assert caught.value.code is ErrorCode.OUT_OF_WORKSPACE


def test_a_fingertip_that_was_left_outside_may_come_back(kinematics: Kinematics) -> None:
    narrow = MotionLimits(low=(-0.10, -0.10, 0.0), high=(0.85, 0.62, 0.95))
    check_trajectory(time_waypoints(np.vstack([PARK + 1.0 * np.eye(7)[0], PARK])), MAX_OPENING, narrow, kinematics)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"speed": 0.0}, "speed"),
        ({"speed": 1.5}, "speed"),
        ({"speed": float("nan")}, "speed"),
        ({"low": (0.5, 0.5, 0.5), "high": (0.1, 0.9, 0.9)}, "box"),
        ({"low": (0.0, 0.0)}, "box"),
        ({"high": (float("inf"), 1.0, 1.0)}, "box"),
        ({"low": (0.4, -0.5, 0.0)}, "parked"),
        ({"motions_per_command": 0}, "1 or more"),
        ({"motions_per_minute": -1}, "1 or more"),
    ],
)
def test_limits_that_are_none_are_refused_in_a_sentence(wrong: dict[str, Any], word: str) -> None:
    with pytest.raises(ToolError, match=word) as caught:
        MotionLimits(**wrong)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_all_motions_of_a_manipulator_keep_the_speed_limit() -> None:
    station = Station(parse_scene(SCENE))
    followed: list[Trajectory] = []
    follow = station.arm.follow

    def recorded(trajectory: Trajectory) -> MotionOutcome:
        followed.append(trajectory)
        return follow(trajectory)

    station.arm.follow = recorded  # type: ignore[method-assign]
    guard = MotionGuard(limits=MotionLimits(speed=0.4))
    Manipulator(station.arm, station.planner, station.camera, guard=guard).grasp(GRASP, station.camera.capture())
    assert len(followed) == 4
    for leg in followed:
        assert (np.abs(leg.qd) <= 0.4 * VELOCITY_LIMITS + 1e-6).all()


def test_a_grasp_outside_the_operators_box_is_refused_before_anything_moves() -> None:
    station = Station(parse_scene(SCENE))
    guard = MotionGuard(limits=MotionLimits(low=(-0.10, -0.62, 0.0), high=(0.40, 0.62, 0.95)))
    manipulator = Manipulator(station.arm, station.planner, station.camera, guard=guard)
    before = station.world.data.qpos.copy()
    with pytest.raises(ToolError) as caught:
        manipulator.grasp(GRASP, station.camera.capture())
    assert caught.value.code is ErrorCode.OUT_OF_WORKSPACE
    assert (station.world.data.qpos == before).all()


# -- permits -------------------------------------------------------------------------------------


def test_without_a_permit_the_arm_does_not_move() -> None:
    inner = RecordingArm()
    arm = GuardedArm(inner, MotionGuard())
    for step in (turned(0.1), MAX_OPENING, 0.0):
        assert refused(arm, step).code is ErrorCode.NOT_APPROVED
    assert not inner.followed
    assert not inner.openings


def test_a_permit_ends_with_its_motion() -> None:
    inner, guard = RecordingArm(), MotionGuard()
    arm = GuardedArm(inner, guard)
    with permitted(guard, a_motion(turned(0.1))):
        arm.follow(turned(0.1))
    assert refused(arm, turned(0.1)).code is ErrorCode.NOT_APPROVED
    with pytest.raises(ValueError, match="in the middle"), permitted(guard, a_motion(turned(0.1))):
        raise ValueError("in the middle")
    assert refused(arm, turned(0.1)).code is ErrorCode.NOT_APPROVED
    assert len(inner.followed) == 1


def test_the_arm_gets_the_steps_of_the_motion_bit_for_bit_and_in_order() -> None:
    inner, guard = RecordingArm(), MotionGuard()
    arm = GuardedArm(inner, guard)
    first, second = turned(0.2), time_waypoints(np.vstack([PARK + 0.2 * np.eye(7)[0], PARK + 0.4 * np.eye(7)[0]]))
    with permitted(guard, a_motion(0.05, first, second, 0.0)):
        assert refused(arm, first).code is ErrorCode.NOT_APPROVED
        assert refused(arm, 0.051).code is ErrorCode.NOT_APPROVED
        arm.move_gripper(0.05)
        off = replace(first, q=first.q + 1e-12)
        assert refused(arm, off).code is ErrorCode.NOT_APPROVED
        arm.follow(first)
        assert refused(arm, first).code is ErrorCode.NOT_APPROVED
        arm.follow(second)
        arm.move_gripper(0.0)
        assert refused(arm, 0.0).code is ErrorCode.NOT_APPROVED
    assert [leg.q.tobytes() for leg in inner.followed] == [first.q.tobytes(), second.q.tobytes()]
    assert inner.openings == [0.05, 0.0]


def test_what_the_caller_changes_afterwards_does_not_reach_the_arm() -> None:
    inner, guard = RecordingArm(), MotionGuard()
    leg = turned(0.2)
    with permitted(guard, a_motion(leg)):
        GuardedArm(inner, guard).follow(leg)
    kept = inner.followed[0].q.copy()
    leg.q[:] = 9.0
    assert (inner.followed[0].q == kept).all()


def test_after_the_approved_steps_only_up_open_and_home_follow_and_each_at_most_twice() -> None:
    guard, planner, kinematics = MotionGuard(), EmbeddedPlanner(), Kinematics()
    over_table = planner.plan(PARK, LinearGoal(_moved(kinematics.fk(PARK), (0.1, 0.0, -0.2))), CollisionScene())
    inner = RecordingArm()
    arm = GuardedArm(inner, guard)

    def line(offset: tuple[float, float, float]) -> Trajectory:
        return planner.plan(inner.q, LinearGoal(_moved(kinematics.fk(inner.q), offset)), CollisionScene())

    with permitted(guard, a_motion(over_table)):
        arm.follow(over_table)
        for wrong in ((0.0, 0.05, 0.0), (0.0, 0.0, -0.05), (0.03, 0.0, 0.05), (0.0, 0.0, 0.15)):
            assert refused(arm, line(wrong)).code is ErrorCode.NOT_APPROVED, wrong
        assert refused(arm, 0.04).code is ErrorCode.NOT_APPROVED
        arm.follow(line((0.0, 0.0, 0.05)))
        arm.follow(line((0.0, 0.0, 0.05)))
        assert refused(arm, line((0.0, 0.0, 0.05))).code is ErrorCode.NOT_APPROVED
        arm.move_gripper(MAX_OPENING)
        arm.follow(time_waypoints(np.vstack([inner.q, PARK])))
        assert refused(arm, over_table).code is ErrorCode.NOT_APPROVED
    assert len(inner.followed) == 4


def _moved(T: FloatArray, offset: tuple[float, float, float]) -> FloatArray:
    moved = T.copy()
    moved[:3, 3] += offset
    return moved


def test_a_second_motion_is_refused_while_one_runs() -> None:
    guard = MotionGuard()
    with permitted(guard, a_motion(turned(0.1))):
        with pytest.raises(ToolError, match="busy") as caught, permitted(guard, a_motion(turned(0.1))):
            pass
        assert caught.value.code is ErrorCode.UNAVAILABLE
    with permitted(guard, a_motion(turned(0.1))):
        pass


# -- how many, who -------------------------------------------------------------------------------


def test_a_command_has_so_many_motions() -> None:
    guard = MotionGuard(limits=MotionLimits(motions_per_command=2))
    for _ in range(2):
        with permitted(guard, a_motion(turned(0.1))):
            pass
    with pytest.raises(ToolError, match="has used its 2 motions") as caught, permitted(guard, a_motion(turned(0.1))):
        pass
    assert caught.value.code is ErrorCode.NOT_APPROVED
    guard.begin_command()
    with permitted(guard, a_motion(turned(0.1))):
        pass


def test_a_minute_has_so_many_motions() -> None:
    now = [0.0]
    guard = MotionGuard(limits=MotionLimits(motions_per_minute=2), clock=lambda: now[0])
    for now[0] in (0.0, 30.0):
        with permitted(guard, a_motion(turned(0.1))):
            pass
    now[0] = 59.0
    with pytest.raises(ToolError, match="within a minute") as caught, permitted(guard, a_motion(turned(0.1))):
        pass
    assert caught.value.code is ErrorCode.NOT_APPROVED
    now[0] = 60.0
    with permitted(guard, a_motion(turned(0.1))):
        pass


def test_modes_are_ordered_and_named() -> None:
    assert stricter(Mode.AUTO, Mode.ASK) is stricter(Mode.ASK, Mode.AUTO) is Mode.ASK
    assert stricter(Mode.DRY_RUN, Mode.ASK) is Mode.DRY_RUN
    assert parse_mode("ask-motion") is Mode.ASK
    with pytest.raises(ToolError, match="auto, ask-motion, dry-run"):
        parse_mode("yolo")


def test_an_observers_toolbox_has_no_motion_tool_under_any_name() -> None:
    station = Station(parse_scene(SCENE))
    observer = Toolbox([robot_tools("observer", station.camera, station.manipulator)])
    assert not [name for name in observer.specs if observer.is_motion(name)]
    error = observer.call("robot.execute_grasp", {"grasp_pose": GRASP.tolist()}, Session()).result.error
    assert error is not None
    assert error.code is ErrorCode.UNKNOWN_TOOL
    assert isinstance(robot_tools("operator", station.camera, station.manipulator), RobotTools)
    with pytest.raises(ToolError, match="observer or operator"):
        robot_tools("root", station.camera, station.manipulator)
