"""Grasp and place: what happens between a pose and a truthful outcome.

Everything is planned against the scene as the camera saw it. Outcomes rest on what the robot measures: joint positions,
the jaws until they are steady, after lifting and before each placement, and a fresh image after lifting and placing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import invert, shifted, transform
from toolhand.tool_nodes.motion.grasp_scenes import APPROACH, DOWNWARDS, RISE, GraspScenes, mirrored, ways_back
from toolhand.tool_nodes.motion.grip import EMPTY_OPENING, steady_grip, wrong_object
from toolhand.tool_nodes.motion.guard import LIFT_M, MotionGuard, recorded
from toolhand.tool_nodes.motion.looking import SETTLES_S, GuardedLooks
from toolhand.tool_nodes.motion.moves import NOBODY_MOVES, HeldUp, first_planned, may_go_on
from toolhand.tool_nodes.motion.placing import (
    MOST_IN_VAIN,
    PlaceCandidate,
    free_near,
    inside_candidates,
    no_room,
    no_way,
    out_of_reach,
    place_candidates,
    settled_inside,
    verify_placed,
    with_nearest,
)
from toolhand.tool_nodes.motion.plans import GraspPlan, Legs, ManipulatorState, PlacePlan
from toolhand.tool_nodes.motion.returning import CARRY_SPEED
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.scene_model import attached_opening
from toolhand.tool_nodes.motion.skills import GuardedSkills
from toolhand.tool_nodes.motion.targets import HeldObject, firm_points, held_object, lowered, target_mask
from toolhand.tool_nodes.perception.containers import is_cavity
from toolhand.tool_nodes.perception.hanging import Hanging, what_hangs
from toolhand.tool_nodes.perception.heights import HeightMap, height_map
from toolhand.tool_nodes.perception.lifted import what_was_lifted
from toolhand.tool_nodes.perception.obstacles import fit_obstacles
from toolhand.tool_nodes.perception.placed import seen_heights
from toolhand.tool_nodes.ports import Arm, Camera, Planner
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Frame, Grasped, GraspTarget, LinearGoal, Trajectory

RELEASE = 0.03
"""The jaws open by this to let go of what they hold [m]."""


class Manipulator(GuardedLooks, GuardedSkills):
    """Runs grasps, placements and looks on an Arm, planned by a Planner.

    Args:
        arm: The arm and gripper.
        planner: Plans motion.
        camera: Looked through after lifting, to see whether the object is gone, and after placing, whether it is there.
        on_stage: Called with what begins, e.g. "the lift", before it is planned and moved.
        guard: Decides what may move; without one motions run at once, within the limits.
        robot: The robot; the guard's where None, and without a guard the default one.
        wrist: The camera at the wrist, for a second view; None where there is none.

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
        wrist: Camera | None = None,
    ) -> None:
        super().__init__(arm, planner, camera, on_stage, guard, robot)
        self._wrist = wrist
        self._scenes = GraspScenes(planner, self._gripper)
        self.reset()

    def reset(self, held: HeldObject | None = None) -> None:
        """Know no obstacles: as a new one, which holds nothing, or what it is told."""
        self.restore(ManipulatorState(held))
        self._offered_q = None

    def save(self) -> ManipulatorState:
        """What is known from the motions before, between two of them."""
        return ManipulatorState(self.held, self._last_scene, self._scenes.views)

    def restore(self, state: ManipulatorState) -> None:
        """Go on from a saved state, once the arm has."""
        self.held, self._last_scene = state.held, state.last_scene
        self._scenes.look_also(state.views)

    def holds(self) -> str | None:
        """See ports.GraspAndPlace."""
        return None if self.held is None else self.held.called

    # -- grasp -----------------------------------------------------------------------------------

    def reachable(self, T_base_gripper: FloatArray, frame: Frame, target: GraspTarget | None = None) -> float:
        """How well the arm can come to a grasp in the scene of an image, in [0, 1]; see `GraspScenes.reachable`."""
        return self._scenes.reachable(T_base_gripper, frame, target)

    def grasp(
        self, T_base_gripper: FloatArray, frame: Frame, target: GraspTarget | None = None, speed: float = 1.0
    ) -> Grasped:
        """Grasp at a pose of the robot's tip frame, lift, carry to the park position, and look what is held.

        Args:
            T_base_gripper: (4, 4), +Z approaches, fingers close along X.
            frame: The image that the pose comes from; obstacles are fitted to it.
            target: The object to be grasped, in that image. For a pose that code made it is whatever stands between
                the fingers, and no image can say afterwards whether that was lifted.
            speed: Share of the allowed speed, in (0, 1].

        Raises:
            ToolError: INVALID_ARGUMENT for another speed, IK_FAILED, PLAN_FAILED or OUT_OF_WORKSPACE before anything
                moved; GRIPPER_EMPTY or OBJECT_DROPPED, with the hand empty; WRONG_OBJECT, where something else, or
                more, is held; STOPPED, EXECUTION_FAILED, CONTROLLER_FAULT.
        """
        with self.job():
            return self.run_grasp(self.plan_grasp(T_base_gripper, self._uncovered(frame), target, speed))

    @recorded("plan a grasp")
    def plan_grasp(
        self, T_base_gripper: FloatArray, frame: Frame, target: GraspTarget | None = None, speed: float = 1.0
    ) -> GraspPlan:
        """The first half of `grasp`, before anything moves; same arguments and errors."""
        self._on_stage("planning")
        self._require_uncovered(frame)
        self._has_lost()
        if self.held is not None:
            called = f" that was grasped as '{self.held.called}'" * bool(self.held.called)
            raise ToolError(
                ErrorCode.ALREADY_HOLDING,
                f"The gripper already holds an object{called}.",
                'Place it before the next grasp: an operator says "put it down".',
            )
        scenes, whole, points = self._scenes.of(T_base_gripper, frame, target)
        with self._at_share(speed):
            legs, T, scene = self._plan_grasp(T_base_gripper, scenes, whole)
        return GraspPlan(legs, T, scene, points, frame, attached_opening(scene, self._gripper), target, speed)

    def run_grasp(self, plan: GraspPlan) -> Grasped:
        """The second half of `grasp`: moves. The arm must be where it was when the plan was made."""
        with self.job(), self._permit(plan), self._at_share(plan.speed):
            return self._grasp(plan)

    def _grasp(self, plan: GraspPlan) -> Grasped:
        legs, scene = plan.legs, plan.scene
        self._last_scene = scene.without_attached()
        self._jaws(plan.opening_m, "opening")
        self._follow(legs[0], "the move to the pre-grasp")
        self._follow(legs[1], "the approach")
        opening = self._jaws(0.0, "closing")
        if opening < EMPTY_OPENING:
            self._retreat()
            raise ToolError(
                ErrorCode.GRIPPER_EMPTY,
                f"The gripper closed to {1000 * opening:.0f} mm without holding anything.",
                "Look again and try another grasp.",
            )
        T = self._kinematics.fk(self._arm.state().q)  # closing off the middle pushes the arm aside
        called = plan.target.called if plan.target else ""
        eye = plan.frame.T_base_camera[:3, 3]
        self.held = replace(held_object(plan.points, T, opening, self._gripper, eye), called=called)
        carried = self._carrying(scene, self.held)
        try:
            # Obstacles are columns: whatever stands around the hand, and touches what it holds, straight up leads away.
            self._linear_up(replace(carried, boxes=()), "the lift", (LIFT_M, 0.08, 0.05), CARRY_SPEED)
            hanging = self._hanging(plan, T)
            self._park(carried, CARRY_SPEED)
        except ToolError as error:
            if not may_go_on(error):
                raise
            self._retreat()
            # Not the planner's code: that one says that nothing has moved.
            raise ToolError(
                ErrorCode.EXECUTION_FAILED,
                f"The object was grasped and let go again. {error.message}",
                "Look again and try another grasp.",
            ) from error
        return self._proven(plan, T, hanging)

    def _hanging(self, plan: GraspPlan, T_closed: FloatArray) -> Hanging:
        """What is seen to hang in the hand that closed at T_closed; nothing where no image of it can be had."""
        if plan.target is None:
            return Hanging()
        self._rest(SETTLES_S)
        held, self.held = self.held, None  # a camera takes what is held out of its images, with the robot
        try:
            lifted = self._camera.capture()
        except ToolError:
            return Hanging()
        finally:
            self.held = held
        T = self._kinematics.fk(self._arm.state().q)
        return what_hangs(plan.frame, lifted, T @ invert(T_closed), T[:3, 3], plan.target)

    def _proven(self, plan: GraspPlan, T_closed: FloatArray, hanging: Hanging) -> Grasped:
        """What is held once the jaws are steady and an image was looked at. Raises ToolError."""
        self._on_stage("the look at what was lifted")
        grip = steady_grip(self._arm)
        if grip.empty:
            self.held = None
            self._jaws(self._gripper.max_opening, "opening")
            raise ToolError(
                ErrorCode.OBJECT_DROPPED,
                f"The object slipped out after lifting: the jaws are at {1000 * grip.opening_m:.0f} mm.",
                "Look again and try another grasp.",
            )
        if plan.target is None:
            return Grasped(grip.opening_m, grip.took_s)
        hand = self._kinematics.fk(self._arm.state().q)[:3, 3]
        lift = what_was_lifted(plan.frame, self._camera.capture(), plan.target, hand)
        lifted = firm_points(plan.frame, lift.lifted)
        fault = wrong_object(lift, hanging, grip)
        if not lift.alone and (near := target_mask(lifted, T_closed, self._gripper)).any():
            lifted = lifted[near]  # what else has left its place was pushed, and is not held
        if len(lifted):
            eye = plan.frame.T_base_camera[:3, 3]
            self.held = replace(
                held_object(lifted, T_closed, grip.opening_m, self._gripper, eye), called=plan.target.called
            )
        if fault is not None:
            self.held = self.held and replace(self.held, called="")
            raise fault
        stood = transform(T_closed, self.held.middle[None])[0] if self.held is not None and len(lifted) else None
        return Grasped(grip.opening_m, grip.took_s, stood)

    def _plan_grasp(
        self, T: FloatArray, scenes: Sequence[CollisionScene], whole: CollisionScene
    ) -> tuple[Legs, FloatArray, CollisionScene]:
        """Legs to the grasp or to its mirror image (a parallel gripper is symmetric), in the first scene with a way.

        The hand can rise at their end. The first leads around the target, too, unless that leaves no way.
        """
        start, ways = self._arm.state().q, tuple(product(scenes, ways_back(T), (T, mirrored(T))))

        def to(
            way: tuple[CollisionScene, tuple[CollisionScene, FloatArray, FloatArray]],
        ) -> tuple[Legs, FloatArray, CollisionScene]:
            first, (scene, back, candidate) = way
            approach = self._approach(start, candidate, back, replace(scene, boxes=first.boxes))
            descent = self._descent(approach, candidate, scene)
            self._plan(descent.q[-1], LinearGoal(shifted(candidate, RISE)), replace(scene, boxes=()))
            return (approach, descent), candidate, scene

        return first_planned(product((whole, scenes[0]), ways), to, told=len(ways))

    # -- place -----------------------------------------------------------------------------------

    def place(self, point_base: FloatArray, frame: Frame, speed: float = 1.0) -> None:
        """Set the held object down with its bottom centre on a point (3,) of the base frame [m].

        Args:
            point_base: The point.
            frame: The image that it comes from; obstacles are fitted to it.
            speed: Share of the allowed speed, in (0, 1].

        Raises:
            ToolError: NOT_HOLDING, OUT_OF_WORKSPACE, PLACE_BLOCKED, IK_FAILED before anything moved;
                OBJECT_DROPPED on the way, if the fresh image shows nothing there, or for a container, in which it may
                be hidden, shows it elsewhere; EXECUTION_FAILED; STOPPED.
        """
        with self.job():
            self.run_place(self.plan_place(point_base, self._uncovered(frame), speed))

    @recorded("plan a placement")
    def plan_place(self, point_base: FloatArray, frame: Frame, speed: float = 1.0) -> PlacePlan:
        """The first half of `place`, before anything moves; same arguments and errors."""
        self._on_stage("planning")
        self._require_uncovered(frame)
        held = self._require_held("place")
        heights = seen_heights(frame)
        point = settled_inside(point_base, held, heights) if is_cavity(heights, point_base) else point_base
        try:
            if not self.robot.reach.contains(point[:2]):
                raise out_of_reach(point[:2], self.robot.reach)
            with self._at_share(speed):
                return self._plan_down(held, point, frame, heights)
        except ToolError as error:
            if error.code not in (ErrorCode.OUT_OF_WORKSPACE, ErrorCode.PLACE_BLOCKED) or error.hint:
                raise
            scene = self._carrying(CollisionScene(fit_obstacles(frame), table_z=workspace.TABLE_Z), held)
            above = np.array([0.0, 0.0, APPROACH])
            nearest = free_near(
                point, held, frame, self.robot.reach, lambda T: self._planner.reachable(T, scene, above)
            )
            raise with_nearest(error, point, nearest, frame) from None

    def plan_stand(self, held: HeldObject, point_base: FloatArray, frame: Frame) -> PlacePlan:
        """A plan that sets an object, held in some orientation, down on a point (3,) of an image. Raises ToolError."""
        return self._plan_down(held, point_base, frame, seen_heights(frame))

    def _plan_down(self, held: HeldObject, point_base: FloatArray, frame: Frame, finely: HeightMap) -> PlacePlan:
        """See `plan_stand`; with the image's heights in cells of 5 mm."""
        scene = self._carrying(CollisionScene(fit_obstacles(frame), table_z=workspace.TABLE_Z), held)
        into = is_cavity(finely, point_base)
        heights, candidates = (finely, inside_candidates) if into else (height_map(frame), place_candidates)
        ways = candidates(point_base, held, heights, self.robot.reach)
        legs, chosen = self._plan_place(ways, scene, point_base, lambda: no_room(point_base, held, heights, frame))
        release = self._gripper.clipped(self._arm.state().opening_m + RELEASE)
        back = self._plan_back(legs[1].q[-1], chosen.T_base_gripper, replace(scene, attached=(), opening_m=release))
        return PlacePlan(legs, chosen, scene, into, release, frame, back, self._share)

    def run_place(self, plan: PlacePlan) -> None:
        """The second half of `place`: moves. The arm must be where it was when the plan was made."""
        with self.job(), self._permit(plan), self._at_share(plan.speed):
            self._place(plan)
        self._on_stage("the look at the place")
        around = max(float(box.half_extents[:2].max()) for box in plan.scene.attached)
        verify_placed(plan.candidate.point, plan.into, plan.frame, self._camera.capture(), around)

    def _place(self, plan: PlacePlan) -> None:
        legs = plan.legs
        bare = self._last_scene = plan.scene.without_attached()
        self._follow(legs[0], "the move above the place")
        if self._has_lost():
            self._dropped(bare)
        try:
            self._follow(legs[1], "the descent")
        except HeldUp:
            above = float(self._kinematics.fk(self._arm.state().q)[2, 3] - plan.candidate.T_base_gripper[2, 3])
            if self.held is not None and not plan.into and above > 0.0:
                # What lay in a heap reaches lower than the camera saw: the next try lets go of it where it touches.
                self.held = lowered(self.held, above)
            raise
        if self._has_lost():
            self._linear_up(bare, "the retreat", (APPROACH, 0.06, 0.03))
            self._dropped(bare)
        self._jaws(plan.release_m, "the release")
        self.held = None
        if plan.back is None:
            self._linear_up(bare, "the retreat", (APPROACH, 0.06, 0.03))
        else:
            self._follow(plan.back, "the retreat")
        self._jaws(self._gripper.max_opening, "opening")
        self._park(bare)

    def _plan_back(self, q: FloatArray, T: FloatArray, scene: CollisionScene) -> Trajectory | None:
        """The way back along a slanted or level approach to T (4, 4), from the joint positions (n,) there.

        Straight up, a finger in a handle would take the object along. None where straight up is the way back, or where
        there is no other.
        """
        if T[2, 2] < -DOWNWARDS:
            return None
        try:
            return first_planned(ways_back(T), lambda back: self._plan(q, LinearGoal(shifted(T, back)), scene))
        except ToolError as error:
            if error.code in NOBODY_MOVES:
                raise
            return None

    def _dropped(self, scene: CollisionScene) -> None:
        self._park(scene)
        raise ToolError(ErrorCode.OBJECT_DROPPED, "The object slipped out on the way to the place.", "Look again.")

    def _plan_place(
        self, ways: Iterable[PlaceCandidate], scene: CollisionScene, point: FloatArray, none: Callable[[], ToolError]
    ) -> tuple[Legs, PlaceCandidate]:
        start, above = self._arm.state().q, np.array([0.0, 0.0, APPROACH])
        failure: ToolError | None = None
        tried = in_vain = 0
        for candidate in ways:
            tried += 1
            T, approach = candidate.T_base_gripper, None
            if not self._planner.reachable(T, scene):
                continue
            try:
                approach = self._approach(start, T, above, scene, CARRY_SPEED)
                return (approach, self._descent(approach, T, scene, CARRY_SPEED)), candidate
            except ToolError as error:
                if error.code in NOBODY_MOVES:
                    raise
                failure = error.with_traceback(None)
            in_vain += approach is None
            if in_vain == MOST_IN_VAIN:
                break
        raise no_way(point, failure) if tried else none()
