"""What the motions of a manipulator are made of: legs that are planned, checked, permitted and followed to the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TypeVar

import numpy as np

from toolhand.tool_nodes.geometry import rotation_angle, shifted
from toolhand.tool_nodes.motion.approval import PlannedMotion
from toolhand.tool_nodes.motion.guard import MOVED_M, MOVED_RAD, GuardedArm, MotionGuard
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.limits import MotionLimits, require_share
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.motion.scene_model import attached_opening
from toolhand.tool_nodes.ports import Arm, Camera, Planner
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.scene_change import changed
from toolhand.tool_nodes.stop_latch import StopWatch
from toolhand.tool_nodes.types import (
    CollisionScene,
    FloatArray,
    Goal,
    JointGoal,
    LinearGoal,
    MotionStatus,
    PoseGoal,
    Trajectory,
)

Alternative = TypeVar("Alternative")
Planned = TypeVar("Planned")

NOBODY_MOVES = frozenset({ErrorCode.STOPPED, ErrorCode.UNAVAILABLE, ErrorCode.TIMEOUT, ErrorCode.CONTROLLER_FAULT})
"""After these the arm is not commanded any more: it was stopped, does not answer, or does not follow its commands; and
nothing else is planned, because a planner that fails or does not answer would be waited for each time."""

_PARK = "It stands where it is: look at it, then bring it back with robot.return_to_park."
"""What to do about an arm that did not end where it should."""


class HeldUp(ToolError):
    """EXECUTION_FAILED of an arm that was measured at rest beside its path: it may be moved from there."""


def may_go_on(error: ToolError) -> bool:
    """Whether the arm may be commanded after an error, to bring it home: not where it strayed, see `HeldUp`."""
    return error.code not in NOBODY_MOVES and (
        error.code is not ErrorCode.EXECUTION_FAILED or isinstance(error, HeldUp)
    )


def first_planned(
    alternatives: Iterable[Alternative], plan: Callable[[Alternative], Planned], told: int = 0
) -> Planned:
    """The plan of the first alternative that has one.

    Args:
        alternatives: From the best one on.
        plan: Plans one, or raises ToolError.
        told: Index of the alternative whose error is raised where none has a plan.

    Raises:
        ToolError: That one; of any alternative at once after which nobody moves.
    """
    failures: list[ToolError] = []
    for each in alternatives:
        try:
            return plan(each)
        except ToolError as error:
            if error.code in NOBODY_MOVES:
                raise
            failures.append(error.with_traceback(None))
    raise failures.pop(told)  # out of the list: its traceback holds this frame


class GuardedMoves:
    """Plans and runs single legs on an arm that a guard stands before; arguments and errors as of `Manipulator`."""

    def __init__(
        self,
        arm: Arm,
        planner: Planner,
        camera: Camera,
        on_stage: Callable[[str], None],
        guard: MotionGuard | None,
        robot: RobotModel | None,
    ) -> None:
        if guard is None:
            guard = MotionGuard(limits=MotionLimits(robot=robot or load_robot()))
        if robot not in (None, guard.robot):
            raise invalid(
                f"The guard's limits are those of {guard.robot.name}, but the robot is {robot.name}.",
                "Make the guard with MotionLimits(robot=...).",
            )
        self.guard = guard
        self.robot = guard.robot
        self._gripper = self.robot.gripper
        self._kinematics = Kinematics(robot=self.robot)
        self._arm = GuardedArm(arm, self.guard)
        self._planner = planner
        self._camera = camera
        self._share = 1.0
        self._on_stage = on_stage

    def job(self) -> AbstractContextManager[StopWatch]:
        """See ports.Arm; every motion is one by itself, and part of one that surrounds it."""
        return self._arm.job()

    # -- motions ---------------------------------------------------------------------------------

    def _plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        trajectory = self._planner.plan(start, goal, scene, speed * self._share * self.guard.limits.speed)
        self.guard.check(trajectory, attached_opening(scene, self._gripper))
        return trajectory

    @contextlib.contextmanager
    def _at_share(self, speed: float) -> Iterator[None]:
        """Within it all that is planned is at a share of the allowed speed. Raises ToolError INVALID_ARGUMENT."""
        require_share(speed)
        before, self._share = self._share, speed
        try:
            yield
        finally:
            self._share = before

    def _unchanged(self, motion: PlannedMotion) -> None:
        """Raises ToolError SCENE_CHANGED if the arm or the scene is no longer as it was when the motion was planned."""
        start, now = (self._kinematics.fk(q) for q in (motion.legs[0].q[0], self._arm.state().q))
        turn = rotation_angle(start[:3, :3], now[:3, :3])
        if float(np.linalg.norm(start[:3, 3] - now[:3, 3])) > MOVED_M or turn > MOVED_RAD:
            raise ToolError(ErrorCode.SCENE_CHANGED, "The arm has moved since the plan was made.", "Plan anew.")
        if motion.frame is not None and changed(motion.frame, self._camera.capture()):
            raise ToolError(ErrorCode.SCENE_CHANGED, "The scene has changed since the plan was made.", "Look again.")

    def _follow(self, trajectory: Trajectory, stage: str) -> None:
        self._on_stage(stage)
        outcome = self._arm.follow(trajectory)
        if outcome.status is MotionStatus.STOPPED:
            raise ToolError(ErrorCode.STOPPED, f"The arm was stopped during {stage}; it holds its position.")
        if outcome.status is not MotionStatus.SUCCEEDED:
            sentence = f"The arm could not finish {stage}: {outcome.message}."
            if outcome.held_up and not outcome.faulty:
                raise HeldUp(ErrorCode.EXECUTION_FAILED, sentence, _PARK)
            code = ErrorCode.CONTROLLER_FAULT if outcome.faulty else ErrorCode.EXECUTION_FAILED
            raise ToolError(code, sentence, "" if outcome.faulty else _PARK)

    def _move(self, goal: Goal, scene: CollisionScene, stage: str, speed: float = 1.0) -> None:
        self._on_stage(stage)
        self._follow(self._plan(self._arm.state().q, goal, scene, speed), stage)

    def _jaws(self, opening_m: float, stage: str) -> float:
        self._on_stage(stage)
        outcome = self._arm.move_gripper(opening_m)
        if outcome.status is MotionStatus.STOPPED:
            raise ToolError(ErrorCode.STOPPED, f"The gripper was stopped during {stage}.")
        if outcome.status is not MotionStatus.SUCCEEDED:
            raise ToolError(ErrorCode.CONTROLLER_FAULT, f"The gripper failed during {stage}: {outcome.message}.")
        return outcome.opening_m

    def _park(self, scene: CollisionScene, speed: float = 1.0) -> None:
        self._move(JointGoal(self.robot.park), scene, "the return to the park position", speed)

    def _linear_up(self, scene: CollisionScene, stage: str, heights: Iterable[float], speed: float = 1.0) -> None:
        """Straight up from where the arm is measured, which may not be where it should be: by the first height that can
        be planned [m]; an error is that of the last one, the least."""
        self._on_stage(stage)
        q = self._arm.state().q
        T = self._kinematics.fk(q)
        goals = (LinearGoal(shifted(T, (0.0, 0.0, height))) for height in heights)
        self._follow(first_planned(goals, lambda goal: self._plan(q, goal, scene, speed), told=-1), stage)

    def _approach(
        self, start: FloatArray, T: FloatArray, back: FloatArray, scene: CollisionScene, speed: float = 1.0
    ) -> Trajectory:
        return self._plan(start, PoseGoal(shifted(T, back)[None]), replace(scene, yielding_m=0.0), speed)

    def _descent(self, approach: Trajectory, T: FloatArray, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        return self._plan(approach.q[-1], LinearGoal(T), scene, min(speed, 0.6))
