"""The ways back: to the park position from where the arm was left, and out of what a motion has run into."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from toolhand.tool_nodes.geometry import shifted
from toolhand.tool_nodes.motion.approval import MotionStep
from toolhand.tool_nodes.motion.grasp_scenes import APPROACH
from toolhand.tool_nodes.motion.guard import LIFT_M, Mode, recorded
from toolhand.tool_nodes.motion.holding import GuardedHolding
from toolhand.tool_nodes.motion.moves import NOBODY_MOVES, HeldUp, first_planned, may_go_on
from toolhand.tool_nodes.motion.plans import GraspPlan, LookPlan, ParkPlan, PlacePlan, SkillPlan, TrialPlan
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.scene_change import changed
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Frame, JointGoal, LinearGoal, Trajectory

CARRY_SPEED = 0.7
"""Share of the full speed on the way home, with or without something in the hand [-]; a round figure."""

AT_PARK = 0.05
"""The arm is parked when no joint is further away than this [rad]."""


TRIAL_M = 0.02
"""Length of the first motion, straight up [m]: seen from two metres away, and shorter than the fingers are high."""

_TRIAL_SPEED = 0.2
"""Share of the allowed speed of the first motion [-]: a person can press the emergency stop during it."""


class GuardedReturns(GuardedHolding):
    """Ways back to the park position, and the first way up and back; arguments and errors as of `Manipulator`."""

    _last_scene: CollisionScene

    @property
    def _parked(self) -> bool:
        q = self._arm.state().q
        return bool(np.abs(self.robot.nearest_turn(self.robot.park, q) - q).max() < AT_PARK)

    def _retreat(self, keep: bool = False) -> ToolError | None:
        """Open, back out and park after a failure; a second failure, which is returned, leaves the arm where it is.

        Args:
            keep: Whether what is held stays in the hand, which is not opened then.
        """
        try:
            scene = self._last_scene
            if keep and self.held is not None:
                scene = self._carrying(scene, self.held)
            else:
                self._jaws(self._gripper.max_opening, "the retreat")
                self.held = None
            # Whatever stands around the hand, straight up leads away from it.
            self._linear_up(replace(scene, boxes=()), "the retreat", (APPROACH, 0.05), CARRY_SPEED)
            self._park(scene, CARRY_SPEED)
        except ToolError as error:
            if error.code in NOBODY_MOVES:
                raise
            return error.with_traceback(None)
        return None

    @contextlib.contextmanager
    def _permit(self, plan: GraspPlan | PlacePlan | LookPlan | ParkPlan | TrialPlan | SkillPlan) -> Iterator[None]:
        """Within it the plan may run; where a leg of it is held up, the arm backs out and parks, and the error says so.

        Raises:
            ToolError: NOT_APPROVED, OUT_OF_WORKSPACE, SCENE_CHANGED, ...
        """
        if self.guard.in_force is Mode.ASK:
            self._on_stage("waiting for approval")
        with self.guard.permit(plan.motion, self._arm.state().opening_m, self._unchanged):
            try:
                yield
            except HeldUp as error:
                if isinstance(plan, (ParkPlan, TrialPlan)):  # the way back itself, and what a person watches
                    raise
                raise self._backed_out(error) from error

    def _backed_out(self, error: HeldUp) -> ToolError:
        failure = self._retreat(keep=True)
        if failure is None:
            return ToolError(error.code, f"{error.message} It has backed out and is parked.", "Look again.")
        return ToolError(error.code, f"{error.message} It could not back out: {failure.message}", error.hint)

    def _uncovered(self, frame: Frame) -> Frame:
        """An image of the table without the arm: one that shows it is completed by another, once the arm is parked.

        What the arm hides is unknown, and might be run into. Raises ToolError as `return_to_park`, or SCENE_CHANGED.
        """
        hidden = frame.robot
        if self._parked or not hidden.any():
            return frame
        self._return_to_park(1.0)
        now = self._camera.capture()
        if changed(frame, now):
            raise ToolError(
                ErrorCode.SCENE_CHANGED,
                "The arm hid a part of the picture; it is parked now, and the scene looks otherwise.",
                "Look again.",
            )
        return replace(frame, depth=np.where(hidden, now.depth, frame.depth))

    def _require_uncovered(self, frame: Frame) -> None:
        """Raises ToolError PLAN_FAILED where the arm hides a part of an image that is planned by."""
        if frame.robot.any() and not self._parked:
            raise ToolError(
                ErrorCode.PLAN_FAILED,
                "The arm hides a part of the picture, and what stands there is not known.",
                "Bring it back with robot.return_to_park, and look again.",
            )

    def return_to_park(self, speed: float = 1.0) -> None:
        """Bring the arm back from wherever a stop or a fault has left it; nothing happens if it is parked.

        It keeps what it holds. Obstacles are those of the last motion: an image that shows the arm as well would show
        it as one of them. It is a motion like others: planned first, and approved where others are.

        Args:
            speed: Share of the usual speed [-].

        Raises:
            ToolError: PLAN_FAILED, NOT_APPROVED; EXECUTION_FAILED, CONTROLLER_FAULT; STOPPED; OBJECT_DROPPED once it is
                parked, where it has lost what it held.
        """
        with self.job():
            self._return_to_park(speed)
            if self._has_lost():
                raise ToolError(
                    ErrorCode.OBJECT_DROPPED, "The arm is parked, but the object slipped out.", "Look again."
                )

    def _return_to_park(self, speed: float) -> None:
        q = self._arm.state().q
        if self._parked:
            return
        plan = self._plan_park(q, speed)
        stage = "the return from where the arm was left"
        with self._permit(plan):
            for step in plan.steps:
                if not isinstance(step, Trajectory):
                    self._jaws(step, stage)
                    continue
                try:
                    self._follow(step, stage)
                except ToolError as error:
                    if not may_go_on(error) or step is plan.steps[-1]:
                        raise
                    self._move(JointGoal(self.robot.park), plan.scene, stage, CARRY_SPEED * speed)
                    return

    def _plan_park(self, q: FloatArray, speed: float) -> ParkPlan:
        self._on_stage("the return from where the arm was left")
        steps: list[MotionStep] = [] if self.held is not None else [self._gripper.max_opening]
        scene = self._last_scene if self.held is None else self._carrying(self._last_scene, self.held)
        T = self._kinematics.fk(q)
        # Whatever stands around the hand, straight up leads away from it.
        goals = (LinearGoal(shifted(T, (0.0, 0.0, height))) for height in (LIFT_M, 0.06, 0.03))
        free = replace(scene, boxes=(), attached=())
        try:
            steps.append(first_planned(goals, lambda goal: self._plan(q, goal, free, speed)))
        except ToolError as error:
            if error.code in NOBODY_MOVES:
                raise
        last = steps[-1] if steps else None
        start = last.q[-1] if isinstance(last, Trajectory) else q
        steps.append(self._plan(start, JointGoal(self.robot.park), scene, CARRY_SPEED * speed))
        frame = self._camera.capture() if self.guard.in_force is Mode.ASK else None
        return ParkPlan(tuple(steps), scene, self._kinematics.fk(self.robot.park), frame)

    # -- the first motion of an arm that nobody has moved yet ---------------------------------------

    def try_motion(self) -> float:
        """Move the gripper straight up by `TRIAL_M` and back to where it was, once a person has approved.

        Returns:
            Height that was measured at the top, above where the motion began [m].

        Raises:
            ToolError: IK_FAILED, PLAN_FAILED, OUT_OF_WORKSPACE or NOT_APPROVED before anything moved; EXECUTION_FAILED,
                CONTROLLER_FAULT, STOPPED.
        """
        with self.job(), self.guard.at_least(Mode.ASK):
            plan = self._plan_trial()
            with self._permit(plan):
                up, back = plan.legs
                self._follow(up, "the way up")
                height = self._kinematics.fk(self._arm.state().q)[2, 3] - self._kinematics.fk(up.q[0])[2, 3]
                self._follow(back, "the way back")
        return float(height)

    @recorded("plan the first motion")
    def _plan_trial(self) -> TrialPlan:
        self._on_stage("planning")
        # Whatever stands around the hand, straight up leads away from it.
        scene = replace(self._last_scene, boxes=(), attached=())
        q = self._arm.state().q
        T = self._kinematics.fk(q)
        raised = shifted(T, (0.0, 0.0, TRIAL_M))
        up = self._plan(q, LinearGoal(raised), scene, _TRIAL_SPEED)
        back = self._plan(up.q[-1], LinearGoal(T), scene, _TRIAL_SPEED)
        return TrialPlan((up, back), raised, self._camera.capture())
