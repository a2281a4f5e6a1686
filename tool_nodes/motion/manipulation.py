"""Grasp and place: what happens between a pose and a truthful outcome.

Everything is planned against the scene as the camera saw it. Outcomes rest on what the robot measures:
joint positions, the jaw opening after closing and after lifting, and a fresh picture after placing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np

from tool_nodes import workspace
from tool_nodes.geometry import rotation_angle
from tool_nodes.motion.approval import MotionStep, PlannedMotion
from tool_nodes.motion.grasp_scenes import APPROACH, GraspScenes
from tool_nodes.motion.guard import LIFT_M, MOVED_M, MOVED_RAD, GuardedArm, Mode, MotionGuard, recorded
from tool_nodes.motion.kinematics import Kinematics
from tool_nodes.motion.limits import MotionLimits
from tool_nodes.motion.placing import MOST_IN_VAIN, PlaceCandidate, blocked, place_candidates
from tool_nodes.motion.plans import GraspPlan, Legs, ManipulatorState, ParkPlan, PlacePlan
from tool_nodes.motion.robot_model import RobotModel, load_robot
from tool_nodes.motion.scene_change import changed
from tool_nodes.motion.scene_model import attached_opening
from tool_nodes.motion.stop_latch import StopWatch
from tool_nodes.motion.targets import HeldObject, held_object
from tool_nodes.perception.containers import is_cavity, seen_inside
from tool_nodes.perception.obstacles import HeightMap, fit_obstacles, height_map
from tool_nodes.ports import Arm, Camera, Planner
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import (
    CollisionScene,
    FloatArray,
    Frame,
    Goal,
    JointGoal,
    LinearGoal,
    MotionStatus,
    PoseGoal,
    Trajectory,
)

EMPTY_OPENING = 0.006
"""Jaws closed further than this hold nothing [m]."""

LIFT = LIFT_M
CARRY_SPEED = 0.7
"""Share of the full speed on the way home, with or without something in the hand [-]; chosen by hand."""
RELEASE = 0.03
"""The jaws open by this to let go of what they hold [m]."""

AT_PARK = 0.05
"""The arm is parked when no joint is further away than this [rad]."""

_NOBODY_MOVES = frozenset({ErrorCode.STOPPED, ErrorCode.UNAVAILABLE, ErrorCode.TIMEOUT, ErrorCode.CONTROLLER_FAULT})
"""After these the arm is not commanded any more: it was stopped, does not answer, or does not follow its commands."""


class Manipulator:
    """Runs grasps and placements on an Arm, planned by a Planner.

    Args:
        arm: The arm and gripper.
        planner: Plans motion.
        camera: Looked through after placing, to see whether the thing is there.
        on_stage: Called with what begins, e.g. "the lift", before it is planned and moved.
        guard: Decides what may move; without one motions run at once, within the limits.
        robot: The robot; the guard's where None, and without a guard the default one.

    Raises:
        ToolError: INVALID_ARGUMENT where the guard is of another robot.
    """

    def __init__(
        self,
        arm: Arm,
        planner: Planner,
        camera: Camera,
        on_stage: Callable[[str], None] = lambda stage: None,
        guard: MotionGuard | None = None,
        robot: RobotModel | None = None,
    ) -> None:
        if guard is None:
            guard = MotionGuard(limits=MotionLimits(robot=robot or load_robot()))
        if robot not in (None, guard.robot):
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT,
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
        self._on_stage = on_stage
        self._scenes = GraspScenes(planner, self._gripper)
        self.held: HeldObject | None
        self.reset()

    def reset(self) -> None:
        """Hold nothing, and know no obstacles: as a new one."""
        self.restore(ManipulatorState())

    def save(self) -> ManipulatorState:
        """What is known from the motions before, between two of them."""
        return ManipulatorState(self.held, self._last_scene)

    def restore(self, state: ManipulatorState) -> None:
        """Go on from a saved state, once the arm has."""
        self.held, self._last_scene = state.held, state.last_scene

    def job(self) -> AbstractContextManager[StopWatch]:
        """See ports.Arm; every motion is one by itself, and part of one that surrounds it."""
        return self._arm.job()

    # -- motions ---------------------------------------------------------------------------------

    def _plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        trajectory = self._planner.plan(start, goal, scene, speed * self.guard.limits.speed)
        self.guard.check(trajectory, attached_opening(scene, self._gripper))
        return trajectory

    def _permit(self, plan: GraspPlan | PlacePlan | ParkPlan) -> AbstractContextManager[None]:
        """Within it the plan may run. Raises ToolError NOT_APPROVED, OUT_OF_WORKSPACE, SCENE_CHANGED, ..."""
        if self.guard.in_force is Mode.ASK:
            self._on_stage("waiting for approval")
        return self.guard.permit(plan.motion, self._arm.state().opening_m, self._unchanged)

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
            code = ErrorCode.CONTROLLER_FAULT if outcome.faulty else ErrorCode.EXECUTION_FAILED
            raise ToolError(code, f"The arm could not finish {stage}: {outcome.message}.")

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

    def _retreat(self, scene: CollisionScene, T_base_gripper: FloatArray) -> None:
        """Open, back out and park after a failure; a second failure leaves the arm where it is, at rest."""
        try:
            self._jaws(self._gripper.max_opening, "the retreat")
            self.held = None
            self._linear_up(scene, T_base_gripper, "the retreat", (APPROACH, 0.05))
            self._park(scene)
        except ToolError as error:
            if error.code in _NOBODY_MOVES:
                raise

    def _linear_up(
        self, scene: CollisionScene, T: FloatArray, stage: str, heights: Iterable[float], speed: float = 1.0
    ) -> None:
        """Straight up by the first height that can be planned [m]."""
        self._on_stage(stage)
        failures: list[ToolError] = []
        for height in heights:
            raised = T.copy()
            raised[2, 3] += height
            try:
                trajectory = self._plan(self._arm.state().q, LinearGoal(raised), scene, speed)
            except ToolError as error:
                failures.append(error.with_traceback(None))
                continue
            self._follow(trajectory, stage)
            return
        raise failures.pop()  # out of the list: its traceback holds this frame

    def _approach_and_descend(
        self, start: FloatArray, T: FloatArray, back: FloatArray, scene: CollisionScene, speed: float = 1.0
    ) -> Legs:
        """Both legs to T, by way of T moved by `back` (3,) in the base frame; planned before anything moves."""
        approach = self._approach(start, T, back, scene, speed)
        return approach, self._descent(approach, T, scene, speed)

    def _approach(
        self, start: FloatArray, T: FloatArray, back: FloatArray, scene: CollisionScene, speed: float
    ) -> Trajectory:
        before = T.copy()
        before[:3, 3] += back
        return self._plan(start, PoseGoal(before[None]), scene, speed)

    def _descent(self, approach: Trajectory, T: FloatArray, scene: CollisionScene, speed: float) -> Trajectory:
        return self._plan(approach.q[-1], LinearGoal(T), scene, min(speed, 0.6))

    def return_to_park(self) -> None:
        """Bring the arm back from wherever a stop or a fault has left it; nothing happens if it is parked.

        It keeps what it holds. Obstacles are those of the last motion: a picture that shows the arm as well would show
        it as one of them. It is a motion like others: planned first, and approved where others are.

        Raises:
            ToolError: PLAN_FAILED, NOT_APPROVED; EXECUTION_FAILED, CONTROLLER_FAULT; STOPPED.
        """
        with self.job():
            self._return_to_park()

    def _return_to_park(self) -> None:
        q = self._arm.state().q
        if np.abs(self.robot.nearest_turn(self.robot.park, q) - q).max() < AT_PARK:
            return
        plan = self._plan_park(q)
        stage = "the return from where the arm was left"
        with self._permit(plan):
            for step in plan.steps:
                if not isinstance(step, Trajectory):
                    self._jaws(step, stage)
                    continue
                try:
                    self._follow(step, stage)
                except ToolError as error:
                    if error.code in _NOBODY_MOVES or step is plan.steps[-1]:
                        raise
                    self._move(JointGoal(self.robot.park), plan.scene, stage, CARRY_SPEED)
                    return

    def _plan_park(self, q: FloatArray) -> ParkPlan:
        self._on_stage("the return from where the arm was left")
        steps: list[MotionStep] = [] if self.held is not None else [self._gripper.max_opening]
        scene = self._last_scene if self.held is None else replace(self._last_scene, attached=(self.held.box,))
        T = self._kinematics.fk(q)
        # Whatever stands around the hand, straight up leads away from it.
        for height in (LIFT, 0.06, 0.03):
            raised = T.copy()
            raised[2, 3] += height
            try:
                steps.append(self._plan(q, LinearGoal(raised), replace(scene, boxes=(), attached=())))
            except ToolError:
                continue
            break
        last = steps[-1] if steps else None
        start = last.q[-1] if isinstance(last, Trajectory) else q
        steps.append(self._plan(start, JointGoal(self.robot.park), scene, CARRY_SPEED))
        frame = self._camera.capture() if self.guard.in_force is Mode.ASK else None
        return ParkPlan(tuple(steps), scene, self._kinematics.fk(self.robot.park), frame)

    # -- grasp -----------------------------------------------------------------------------------

    def reachable(self, T_base_gripper: FloatArray, frame: Frame) -> bool:
        """True if the arm can be at a grasp and at its pre-grasp, in the scene as seen in the frame."""
        return self._scenes.reachable(T_base_gripper, frame)

    def grasp(self, T_base_gripper: FloatArray, frame: Frame) -> float:
        """Grasp at a pose of the robot's tip frame, lift, and carry to the park position.

        Args:
            T_base_gripper: (4, 4), +Z approaches, fingers close along X.
            frame: The picture that the pose comes from; obstacles are fitted to it.

        Returns:
            Jaw opening after lifting [m].

        Raises:
            ToolError: IK_FAILED, PLAN_FAILED or OUT_OF_WORKSPACE before anything moved; GRIPPER_EMPTY or
                OBJECT_DROPPED after a retreat; STOPPED, EXECUTION_FAILED, CONTROLLER_FAULT.
        """
        with self.job():
            return self.run_grasp(self.plan_grasp(T_base_gripper, frame))

    @recorded("plan a grasp")
    def plan_grasp(self, T_base_gripper: FloatArray, frame: Frame) -> GraspPlan:
        """The first half of `grasp`, before anything moves; same arguments and errors."""
        self._on_stage("planning")
        if self.held is not None:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT, "The gripper already holds an object.", "Place it before the next grasp."
            )
        scenes, target = self._scenes.of(T_base_gripper, frame)
        legs, T, scene = self._plan_grasp(T_base_gripper, scenes)
        return GraspPlan(legs, T, scene, target, frame, attached_opening(scene, self._gripper))

    def run_grasp(self, plan: GraspPlan) -> float:
        """The second half of `grasp`: moves. The arm must be where it was when the plan was made."""
        with self.job(), self._permit(plan):
            return self._grasp(plan)

    def _grasp(self, plan: GraspPlan) -> float:
        legs, T, scene = plan.legs, plan.T_base_gripper, plan.scene
        self._last_scene = scene
        self._jaws(plan.opening_m, "opening")
        self._follow(legs[0], "the move to the pre-grasp")
        self._follow(legs[1], "the approach")
        opening = self._jaws(0.0, "closing")
        if opening < EMPTY_OPENING:
            self._retreat(scene, T)
            raise ToolError(
                ErrorCode.GRIPPER_EMPTY,
                f"The gripper closed to {1000 * opening:.0f} mm without holding anything.",
                "Look again and try another grasp.",
            )
        self.held = held_object(plan.target, T, opening, self._gripper)
        carried = CollisionScene(scene.boxes, (self.held.box,), scene.table_z, scene.margin)
        try:
            self._linear_up(carried, T, "the lift", (LIFT, 0.08, 0.05), CARRY_SPEED)
            self._park(carried, CARRY_SPEED)
        except ToolError as error:
            if error.code in _NOBODY_MOVES:
                raise
            self._retreat(scene, T)
            # Not the planner's code: that one says that nothing has moved.
            raise ToolError(
                ErrorCode.EXECUTION_FAILED,
                f"The object was grasped and let go again. {error.message}",
                "Look again and try another grasp.",
            ) from error
        opening = self._arm.state().opening_m
        if opening < EMPTY_OPENING:
            self.held = None
            self._jaws(self._gripper.max_opening, "opening")
            raise ToolError(
                ErrorCode.OBJECT_DROPPED,
                f"The object slipped out while lifting: the jaws are at {1000 * opening:.0f} mm.",
                "Look again and try another grasp.",
            )
        return opening

    def _plan_grasp(self, T: FloatArray, scenes: Sequence[CollisionScene]) -> tuple[Legs, FloatArray, CollisionScene]:
        """Legs to the grasp or to its mirror image (a parallel gripper is symmetric), in the first scene with a way."""
        start = self._arm.state().q
        flipped = T.copy()
        flipped[:3, :2] *= -1
        failures = []
        for scene in scenes:
            for candidate in (T, flipped):
                try:
                    legs = self._approach_and_descend(start, candidate, -APPROACH * candidate[:3, 2], scene)
                except ToolError as error:
                    failures.append(error.with_traceback(None))
                    continue
                return legs, candidate, scene
        raise failures.pop(0)

    # -- place -----------------------------------------------------------------------------------

    def place(self, point_base: FloatArray, frame: Frame) -> None:
        """Set the held object down with its bottom centre on a point (3,) of the base frame [m].

        Raises:
            ToolError: NOT_HOLDING, OUT_OF_WORKSPACE, PLACE_BLOCKED, IK_FAILED before anything moved;
                OBJECT_DROPPED on the way, if the fresh picture shows nothing there, or for a container, in which it may
                be hidden, shows it elsewhere; EXECUTION_FAILED; STOPPED.
        """
        with self.job():
            self.run_place(self.plan_place(point_base, frame))

    @recorded("plan a placement")
    def plan_place(self, point_base: FloatArray, frame: Frame) -> PlacePlan:
        """The first half of `place`, before anything moves; same arguments and errors."""
        self._on_stage("planning")
        held = self.held
        if held is None:
            raise ToolError(ErrorCode.NOT_HOLDING, "The gripper holds nothing to place.", "Grasp an object first.")
        if not self.robot.reach.contains(point_base[:2]):
            x, y = point_base[:2]
            raise ToolError(
                ErrorCode.OUT_OF_WORKSPACE,
                f"The place at x={x:.2f} m, y={y:.2f} m is out of the arm's reach "
                f"({self.robot.reach.radius[0]:.2f} to {self.robot.reach.radius[1]:.2f} m from its base).",
            )
        if self._arm.state().opening_m < EMPTY_OPENING:
            self.held = None
            raise ToolError(ErrorCode.OBJECT_DROPPED, "The object is no longer between the jaws.", "Look again.")
        heights = height_map(frame)
        scene = CollisionScene(fit_obstacles(frame), (held.box,), workspace.TABLE_Z)
        legs, chosen = self._plan_place(point_base, held, heights, scene)
        release = min(self._gripper.max_opening, self._arm.state().opening_m + RELEASE)
        return PlacePlan(legs, chosen, scene, is_cavity(heights, point_base), release, frame)

    def run_place(self, plan: PlacePlan) -> None:
        """The second half of `place`: moves. The arm must be where it was when the plan was made."""
        with self.job(), self._permit(plan):
            self._place(plan)
        self._verify_placed(plan)

    def _place(self, plan: PlacePlan) -> None:
        legs, chosen, scene = plan.legs, plan.candidate, plan.scene
        self._last_scene = scene.without_attached()
        self._follow(legs[0], "the move above the place")
        if self._arm.state().opening_m < EMPTY_OPENING:
            self._dropped(scene)
        self._follow(legs[1], "the descent")
        self._jaws(plan.release_m, "the release")
        self.held = None
        bare = scene.without_attached()
        self._linear_up(bare, chosen.T_base_gripper, "the retreat", (APPROACH, 0.06, 0.03))
        self._jaws(self._gripper.max_opening, "opening")
        self._park(bare)

    def _dropped(self, scene: CollisionScene) -> None:
        self.held = None
        self._park(scene.without_attached())
        raise ToolError(ErrorCode.OBJECT_DROPPED, "The object slipped out on the way to the place.", "Look again.")

    def _plan_place(
        self, point: FloatArray, held: HeldObject, heights: HeightMap, scene: CollisionScene
    ) -> tuple[Legs, PlaceCandidate]:
        start, above = self._arm.state().q, np.array([0.0, 0.0, APPROACH])
        failure: ToolError | None = None
        tried = in_vain = 0
        for candidate in place_candidates(point, held, heights, self.robot.reach):
            tried += 1
            T, approach = candidate.T_base_gripper, None
            if not self._planner.reachable(T, scene):
                continue
            try:
                approach = self._approach(start, T, above, scene, CARRY_SPEED)
                return (approach, self._descent(approach, T, scene, CARRY_SPEED)), candidate
            except ToolError as error:
                failure = error.with_traceback(None)
            in_vain += approach is None
            if in_vain == MOST_IN_VAIN:
                break
        raise blocked(point, tried, failure)

    def _verify_placed(self, plan: PlacePlan) -> None:
        """Look again: something higher than the support must stand where it was set down, or be new in a container."""
        self._on_stage("the look at the place")
        point, after = plan.candidate.point, self._camera.capture()
        if plan.into:
            seen_inside(plan.frame, after, point)
            return
        seen = height_map(after).support_height(point[:2], 0.03)
        if not seen > point[2] + 0.008:
            raise ToolError(
                ErrorCode.OBJECT_DROPPED,
                "The object was released, but the new picture does not show it at the place.",
                "Look again.",
            )
