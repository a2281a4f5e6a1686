"""An arm that only notes what it is told, and motions for the guard before it, without a simulator or a planner."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest

from tests.gen3 import MAX_OPENING, NAMED_STATES, time_waypoints
from tool_nodes.geometry import pose
from tool_nodes.motion.approval import PlannedMotion
from tool_nodes.motion.guard import MotionGuard
from tool_nodes.motion.kinematics import Kinematics
from tool_nodes.motion.stop_latch import StopLatch, StopWatch
from tool_nodes.ports import Arm
from tool_nodes.results import ToolError
from tool_nodes.types import ArmState, FloatArray, GripperOutcome, MotionOutcome, MotionStatus, Trajectory

PARK = NAMED_STATES["Park"]
KINEMATICS = Kinematics()


def _over_the_table() -> FloatArray:
    q = KINEMATICS.descend(pose(np.diag([1.0, -1.0, -1.0]), (0.45, 0.0, 0.4)), PARK, 60)
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
