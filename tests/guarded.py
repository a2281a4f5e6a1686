"""An arm that only notes what it is told, and motions for the guard before it, without a simulator or a planner."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest

from tests.gen3 import GEN3, MAX_OPENING, NAMED_STATES, time_path, time_waypoints
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.motion.approval import PlannedMotion
from toolhand.tool_nodes.motion.guard import GuardedArm, MotionGuard
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.limits import MotionLimits
from toolhand.tool_nodes.ports import Arm
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.stop_latch import StopLatch, StopWatch
from toolhand.tool_nodes.types import ArmState, FloatArray, GripperOutcome, MotionOutcome, MotionStatus, Trajectory

PARK = NAMED_STATES["Park"]
KINEMATICS = Kinematics()


def _over_the_table() -> FloatArray:
    q = KINEMATICS.solve_ik(pose(np.diag([1.0, -1.0, -1.0]), (0.45, 0.0, 0.4)), PARK, 60)
    assert q is not None
    return q


OVER_TABLE = _over_the_table()
"""Joints with which the hand points down, 0.4 m above the middle of the table."""


class RecordingArm:
    """Does at once what it is told."""

    def __init__(self, q: FloatArray = PARK, opening_m: float = MAX_OPENING) -> None:
        self.q = q.copy()
        self.opening_m = opening_m
        self.followed: list[Trajectory] = []
        self.openings: list[float] = []

    def state(self) -> ArmState:
        return ArmState(self.q, np.zeros(7), self.opening_m, 0.0)

    def follow(self, trajectory: Trajectory) -> MotionOutcome:
        self.followed.append(trajectory)
        self.q = trajectory.q[-1]
        return MotionOutcome(MotionStatus.SUCCEEDED)

    def move_gripper(self, opening_m: float) -> GripperOutcome:
        self.openings.append(opening_m)
        return GripperOutcome(MotionStatus.SUCCEEDED, opening_m, False)

    def rest(self, seconds: float) -> MotionOutcome:
        return MotionOutcome(MotionStatus.SUCCEEDED, duration=seconds)

    def stop(self) -> None:
        raise NotImplementedError

    def reset_stop(self) -> None:
        raise NotImplementedError

    def job(self) -> AbstractContextManager[StopWatch]:
        return StopLatch().job()


def turned(angle: float, speed: float = 1.0) -> Trajectory:
    """The base joint turns by an angle [rad] from the park position."""
    return time_waypoints(np.vstack([PARK, PARK + angle * np.eye(7)[0]]), speed)


def a_motion(*steps: Any) -> PlannedMotion:
    return PlannedMotion("Test", steps, KINEMATICS.fk(PARK), "nothing", None)


@contextmanager
def permitted(guard: MotionGuard, motion: PlannedMotion, opening_m: float = MAX_OPENING) -> Iterator[None]:
    with guard.permit(lambda: motion, opening_m, lambda motion: None):
        yield


def refused(arm: Arm, step: Trajectory | float) -> ToolError:
    """The error of a step that must not pass."""
    move: Callable[[Any], object] = arm.follow if isinstance(step, Trajectory) else arm.move_gripper
    with pytest.raises(ToolError) as caught:
        move(step)
    return caught.value


def compressed(leg: Trajectory, factor: float) -> Trajectory:
    """The same path, so many times as fast."""
    return Trajectory(leg.joint_names, leg.t / factor, leg.q, leg.qd * factor)


def line(offset: tuple[float, float, float], turn: float = 0.0) -> Trajectory:
    """The hand moves straight by an offset [m] from OVER_TABLE and turns about its own axis [rad] meanwhile."""
    T = KINEMATICS.fk(OVER_TABLE)
    path = [OVER_TABLE]
    for share in np.linspace(0.0, 1.0, 20)[1:]:
        target = T.copy()
        target[:3, 3] += share * np.array(offset)
        q = KINEMATICS.solve_ik(target, path[-1], 60)
        assert q is not None
        path.append(q)
    q = np.array(path)
    q[:, -1] += np.linspace(0.0, turn, len(q))
    return time_path(np.linspace(0.0, 1.0, len(q)), q)


def tip_high(opening_m: float) -> float:
    """The largest x that a fingertip has at OVER_TABLE [m]; more, the further the jaws are open."""
    T = KINEMATICS.fk(OVER_TABLE)
    return float((GEN3.gripper.tips(opening_m) @ T[:3, :3].T + T[:3, 3])[:, 0].max())


def under_way(limits: MotionLimits | None = None) -> tuple[MotionGuard, RecordingArm, GuardedArm, PlannedMotion]:
    """A guard whose motion has one approved step, which ends at OVER_TABLE."""
    guard, inner = MotionGuard(limits=limits), RecordingArm(OVER_TABLE)
    return guard, inner, GuardedArm(inner, guard), a_motion(turned(0.1))
