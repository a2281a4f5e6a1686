"""What the hand does beside grasping, placing and looking: open, close, lift, point, hand over, stand an object up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy import ndimage
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import pose, rotation_z, shifted
from toolhand.tool_nodes.motion.grip import EMPTY_OPENING, steady_grip
from toolhand.tool_nodes.motion.guard import LIFT_M, recorded
from toolhand.tool_nodes.motion.limits import require_share
from toolhand.tool_nodes.motion.moves import NOBODY_MOVES, first_planned
from toolhand.tool_nodes.motion.plans import PlacePlan, SkillPlan
from toolhand.tool_nodes.motion.returning import GuardedReturns
from toolhand.tool_nodes.motion.targets import HeldObject
from toolhand.tool_nodes.perception.heights import MIN_HEIGHT, HeightMap, height_map
from toolhand.tool_nodes.perception.obstacles import fit_obstacles
from toolhand.tool_nodes.perception.placed import seen_heights
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import (
    Box,
    CollisionScene,
    FloatArray,
    Frame,
    JointGoal,
    LinearGoal,
    MotionStatus,
    PoseGoal,
    SkillOutcome,
    SkillRequest,
    Trajectory,
)

HOVER_M = 0.06
"""What points at an object stays so far above it [m]: clear of it by several times what its height errs by."""
LEAST_LIFT_M = 0.01
"""Shortest lift [m]; a shorter one is not seen."""
LOW_M = 0.02
"""A held object that is let go of from no higher than this over the table is put down, and does not fall [m]: as high
as the highest release of a placement on open ground, less a third."""
HANDS_OVER_S = 15.0
"""How long the hand holds an object out for a person [s]; a round figure, long enough to come near and take it."""

_AROUND_M = 0.04
"""An object that is pointed at is looked for so far around the point [m]: half of a wide object."""
_YAWS = np.deg2rad([0, 90, 180, -90, 45, -45, 135, -135])
"""Turns of the hand about the vertical that are tried, in this order [rad]."""
_OFFERED_X = (0.66, 0.62, 0.57)
"""How far in front an object is held out, in the order in which they are tried [m]: first the farthest towards the
camera that the arm reaches with its hand pointing down."""
_OFFERED_Y = (0.0, 0.12, -0.12)
"""How far aside [m]: first in the middle."""
_OFFERED_Z = (0.20, 0.12, 0.28)
"""How far the lowest point of the object is over the table [m]: first where a seated person's hand is."""
_LOOK_S = 0.1
"""Between two looks whether somebody pulls [s]."""
_SETTLES = 10
"""Looks until the arm has stopped swinging [-]: those of a second."""
_PULL_M = 0.0008
"""A hand that is farther from where it came to rest is pulled [m]: the simulated arm gives way by 0.1 mm a newton."""
_LOOKS = 5
"""The place of the hand is the mean of so many looks [-]: noise of 0.02 degrees in each joint is 0.3 mm at the hand
then, and a bump is shorter."""
_AFTER_S = 1.0
"""From opening the jaws to moving away [s]: a person's hand has to be gone."""


class GuardedSkills(GuardedReturns):
    """Skills of the hand; arguments and errors as of `Manipulator`."""

    _offered_q: FloatArray | None = None
    plan_stand: Callable[[HeldObject, FloatArray, Frame], PlacePlan]
    run_place: Callable[[PlacePlan], None]

    def skill(self, asked: SkillRequest, frame: Frame) -> SkillOutcome:
        """See ports.GraspAndPlace.

        Raises:
            ToolError: INVALID_ARGUMENT for another skill, speed or distance; ALREADY_HOLDING or NOT_HOLDING where the
                hand is full or empty and should not be; PLAN_FAILED, IK_FAILED or OUT_OF_WORKSPACE before anything
                moved; EXECUTION_FAILED, CONTROLLER_FAULT, STOPPED.
        """
        skills: dict[str, Callable[[SkillRequest, Frame], str]] = {
            "open_gripper": self._open,
            "close_gripper": self._close,
            "park": self._go_home,
            "lift": self._lift,
            "point_at": self._point_at,
            "hand_over": self._hand_over,
            "stand_upright": self._stand_upright,
        }
        if asked.name not in skills:
            raise invalid(f"There is no skill {asked.name[:60]!r}: it must be one of {', '.join(skills)}.")
        require_share(asked.speed)
        if asked.point is not None and not self.robot.reach.contains(asked.point[:2]):
            x, y = asked.point[:2]
            raise ToolError(ErrorCode.OUT_OF_WORKSPACE, f"The place at x={x:.2f} m, y={y:.2f} m is out of reach.")
        with self.job():
            began = self._arm.state().stamp
            if asked.name in _OVER_THE_TABLE and not self._parked:
                self.return_to_park(asked.speed)
                frame = self._camera.capture()  # the arm hid a part of the table, and would be an obstacle itself
            told = skills[asked.name](asked, frame)
            state = self._arm.state()
            return SkillOutcome(told, state.opening_m, max(0.0, state.stamp - began))

    def _run(self, plan: SkillPlan, stage: str) -> None:
        """Run the steps of a plan; call within `_permit`."""
        for step in plan.steps:
            if isinstance(step, Trajectory):
                self._follow(step, stage)
            else:
                self._jaws(step, stage)

    # -- the gripper ---------------------------------------------------------------------------

    def _open(self, asked: SkillRequest, frame: Frame) -> str:
        self._has_lost()
        q = self._arm.state().q
        T = self._kinematics.fk(q)
        if self.held is not None:
            offered = self._offered_q is not None and np.abs(q - self._offered_q).max() < _SAME_Q
            if not offered and (T[:3, :3] @ self.held.middle + T[:3, 3])[2] > workspace.TABLE_Z + LOW_M:
                raise ToolError(
                    ErrorCode.ALREADY_HOLDING,
                    f"The gripper holds the {self._called} in the air; it would fall.",
                    'An operator says "put it down" or "hand it to me".',
                )
        released = self._called
        plan = SkillPlan("Open the gripper", (self._gripper.max_opening,), T, frame)
        with self._permit(plan):
            self._run(plan, "opening")
            self.held = None
        return f"The gripper is open; it has let go of the {released}." if released else "The gripper is open."

    def _close(self, asked: SkillRequest, frame: Frame) -> str:
        self._has_lost()
        if self.held is not None:
            return f"The gripper is closed on the {self._called} already; nothing has moved."
        plan = SkillPlan("Close the gripper", (0.0,), self._kinematics.fk(self._arm.state().q), frame)
        with self._permit(plan):
            self._run(plan, "closing")
        opening = steady_grip(self._arm).opening_m
        if opening < EMPTY_OPENING:
            return "The gripper is closed."
        return f"The gripper closed to {1000 * opening:.0f} mm: something is between the jaws, I do not know what."

    # -- the arm -------------------------------------------------------------------------------

    def _go_home(self, asked: SkillRequest, frame: Frame) -> str:
        self.return_to_park(asked.speed)
        return "The arm is at its park position."

    def _lift(self, asked: SkillRequest, frame: Frame) -> str:
        if not LEAST_LIFT_M <= asked.distance_m <= LIFT_M:
            raise invalid(f"The distance must be {LEAST_LIFT_M} to {LIFT_M} m, got {asked.distance_m}.")
        self._has_lost()
        plan = self._plan_lift(asked, frame)
        before = self._kinematics.fk(self._arm.state().q)[2, 3]
        with self._permit(plan):
            self._run(plan, "the lift")
        risen = self._kinematics.fk(self._arm.state().q)[2, 3] - before
        return f"The gripper is {100 * risen:.1f} cm higher."

    @recorded("plan a lift")
    def _plan_lift(self, asked: SkillRequest, frame: Frame) -> SkillPlan:
        self._on_stage("planning")
        q = self._arm.state().q
        raised = shifted(self._kinematics.fk(q), (0.0, 0.0, asked.distance_m))
        # Whatever stands around the hand, straight up leads away from it.
        up = self._plan(q, LinearGoal(raised), replace(self._now(self._last_scene), boxes=()), asked.speed)
        return SkillPlan("Lift the gripper", (up,), raised, frame)

    def _now(self, scene: CollisionScene) -> CollisionScene:
        """A scene with what is held in the hand, or with the jaws as they are."""
        if self.held is not None:
            return self._carrying(scene, self.held)
        return replace(scene, opening_m=self._gripper.clipped(self._arm.state().opening_m))

    def _point_at(self, asked: SkillRequest, frame: Frame) -> str:
        if asked.point is None:
            raise invalid("point_at needs a point.")
        self._has_lost()
        plan = self._plan_point(asked.point, asked.speed, frame)
        with self._permit(plan):
            self._last_scene = _scene_of(frame)
            self._run(plan, "the move above the place")
        return "The gripper points at the place from above; it touches nothing."

    @recorded("plan to point at a place")
    def _plan_point(self, point: FloatArray, speed: float, frame: Frame) -> SkillPlan:
        self._on_stage("planning")
        heights = height_map(frame)
        point = np.array([*_middle(heights, point[:2]), point[2]])
        top = heights.support_height(point[:2], _AROUND_M)
        above = max(float(point[2]), 0.0 if np.isnan(top) else top) + HOVER_M
        steps: tuple[float, ...] = () if self.held is not None else (0.0,)
        scene = _scene_of(frame)
        scene = replace(scene, opening_m=0.0) if self.held is None else self._carrying(scene, self.held)
        way, T = self._way_over([np.array([*point[:2], above])], scene, speed)
        return SkillPlan("Point at a place", (*steps, way), T, frame)

    def _way_over(
        self, lowest: Sequence[FloatArray], scene: CollisionScene, speed: float
    ) -> tuple[Trajectory, FloatArray]:
        """The way of the hand, pointing down, until its lowest point or that of what it holds is at one of some points.

        Raises:
            ToolError: That of the first point, where there is a way to none.
        """
        R, tip = np.diag([1.0, -1.0, -1.0]), np.array([0.0, 0.0, self._gripper.fingertip_depth(0.0)])
        if self.held is not None:
            R, tip = self.held.R_base_gripper, self.held.middle
        q, turned = self._arm.state().q, [rotation_z(float(yaw)) @ R for yaw in _YAWS]
        goals = (PoseGoal(np.array([pose(each, point - each @ tip) for each in turned])) for point in lowest)
        way = first_planned(goals, lambda goal: self._plan(q, goal, scene, speed))
        return way, self._kinematics.fk(way.q[-1])

    # -- with an object --------------------------------------------------------------------------

    def _hand_over(self, asked: SkillRequest, frame: Frame) -> str:
        self._require_held("hand over")
        called, plan = self._called, self._plan_hand_over(asked.speed, frame)
        with self._permit(plan):
            self._last_scene = _scene_of(frame)
            way, _ = plan.steps
            assert isinstance(way, Trajectory)
            self._follow(way, "the move to the person")
            self._on_stage("the wait for the person")
            self._offered_q = self._arm.state().q
            if not self._pulled():
                return (
                    f"Nobody took the {called}, so it is still held out. "
                    '"Open the gripper" lets go of it, "go home" takes it back.'
                )
            self._jaws(self._gripper.max_opening, "opening")
            self.held = self._offered_q = None
            self._rest(_AFTER_S)
            try:
                self._move(JointGoal(self.robot.park), self._last_scene, "the return to the park position", asked.speed)
            except ToolError as error:
                if error.code in NOBODY_MOVES:
                    raise
                # Not the planner's code: that one says that nothing has moved.
                sentence = f"The {called} was let go of, but the arm could not go home. {error.message}"
                raise ToolError(ErrorCode.EXECUTION_FAILED, sentence, error.hint) from error
        return f"Somebody pulled, and I let go of the {called}."

    @recorded("plan a handover")
    def _plan_hand_over(self, speed: float, frame: Frame) -> SkillPlan:
        self._on_stage("planning")
        assert self.held is not None
        scene = self._carrying(_scene_of(frame), self.held)
        places = [np.array([x, y, z]) for x in _OFFERED_X for z in _OFFERED_Z for y in _OFFERED_Y]
        way, T = self._way_over(places, scene, min(speed, _OFFERING_SPEED))
        return SkillPlan(
            "Hold the object out for a person", (way, self._gripper.max_opening), T, frame, "to the park position"
        )

    def _pulled(self) -> bool:
        """Whether somebody pulls at what is held within HANDS_OVER_S: the hand gives way, or the object is gone."""
        self._rest(_SETTLES * _LOOK_S)
        places: list[FloatArray] = []
        for _ in range(round(HANDS_OVER_S / _LOOK_S)):
            self._rest(_LOOK_S)
            if self._arm.state().opening_m < EMPTY_OPENING:
                return True
            places.append(self._hand_now())
            if len(places) > 2 * _LOOKS:
                at_rest, now = np.mean(places[:-_LOOKS], axis=0), np.mean(places[-_LOOKS:], axis=0)
                if float(np.linalg.norm(now - at_rest)) > _PULL_M:
                    return True
        return False

    def _hand_now(self) -> FloatArray:
        return self._kinematics.fk(self._arm.state().q)[:3, 3]

    def _rest(self, seconds: float) -> None:
        if self._arm.rest(seconds).status is MotionStatus.STOPPED:
            raise ToolError(ErrorCode.STOPPED, "The arm was stopped while it waited; it holds its position.")

    def _stand_upright(self, asked: SkillRequest, frame: Frame) -> str:
        held = self._require_held("stand up")
        if asked.point is None:
            raise invalid("stand_upright needs a point.")
        called = self._called
        point = asked.point
        try:
            turned, plan = first_planned(
                list(stood_up(held)) or [held], lambda each: (each, self.plan_stand(each, point, frame))
            )
        except ToolError as error:
            if error.code in NOBODY_MOVES:
                raise
            sentence = f"The {called} cannot be turned upright there as the gripper holds it."
            raise ToolError(ErrorCode.PLACE_BLOCKED, sentence, 'An operator says "put it down".') from error
        self.run_place(plan)
        high = 2.0 * float(turned.box.half_extents[2])
        seen = seen_heights(self._camera.capture()).support_height(plan.candidate.point[:2], _BESIDE_M)
        if seen < _STANDS_SHARE * high:
            raise ToolError(
                ErrorCode.OBJECT_DROPPED,
                f"The {called} does not stay upright: what is seen there is {100 * seen:.0f} cm high, and not "
                f"{100 * high:.0f} cm.",
            )
        return f"The {called} stands on the table, upright."


_STANDS_SHARE = 0.7
"""What stands on its end is seen at least so high [-], of its length: the depth of a narrow top is uncertain."""
_BESIDE_M = 0.03
"""Its top is seen no further than this from the middle of where it was set down [m]."""
_OVER_THE_TABLE = ("point_at", "hand_over", "stand_upright")
"""Skills that begin at the park position: their way is planned by an image of the table without the arm in it."""
_SAME_Q = 0.05
"""The arm still holds an object out where no joint is further away than this [rad], as it counts as parked."""
_OFFERING_SPEED = 0.4
"""Share of the allowed speed of the way to a person [-]; a round figure, some 0.2 m/s at the hand."""


def _middle(heights: HeightMap, xy: FloatArray) -> FloatArray:
    """The middle (2,) of what stands at a place (2,), as far as it is seen; the place itself where nothing does.

    An image's point shows the near side of an object, and the far wall of a hollow one. What reaches farther than an
    object does is several that touch: of them the place is kept.
    """
    labels, _ = ndimage.label(np.nan_to_num(heights.heights) > MIN_HEIGHT, structure=np.ones((3, 3)))
    i, j = (int(v) for v in heights.cells(xy))
    near = labels[max(i - 1, 0) : i + 2, max(j - 1, 0) : j + 2]
    if not near.any():
        return xy
    cells = np.argwhere(labels == np.bincount(near[near > 0]).argmax())
    low, high = cells.min(axis=0), cells.max(axis=0) + 1
    middle = np.array([heights.x0, heights.y0]) + heights.cell * (low + high) / 2
    return middle if np.linalg.norm(middle - xy) <= _HALF_AN_OBJECT_M else xy


_HALF_AN_OBJECT_M = 0.08
"""A place at an object is no farther than this from its middle [m]: half of the largest product that the arm lifts."""


def _scene_of(frame: Frame) -> CollisionScene:
    return CollisionScene(fit_obstacles(frame), table_z=workspace.TABLE_Z)


_STANDS = 1.2
"""An object lies where it is longer than it is high by more than this factor [-]; a round figure, for cubes and
balls."""


def stood_up(held: HeldObject) -> Iterator[HeldObject]:
    """The object as it is to be set down on either end: by a quarter turn of the hand that swings its length upright.

    Nothing for an object that stands already.
    """
    R_box, half = held.box.T_parent_box[:3, :3], np.asarray(held.box.half_extents)
    length = int(np.argmax(half[:2]))
    if half[length] <= _STANDS * half[2]:
        return
    along = held.R_base_gripper @ R_box[:, length]
    axis = np.cross(along, [0.0, 0.0, 1.0])
    for angle in (np.pi / 2, -np.pi / 2):
        R = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix() @ held.R_base_gripper
        yield _turned(held, R)


def _turned(held: HeldObject, R: FloatArray) -> HeldObject:
    """The object in a hand of another orientation R (3, 3): its box is named by the axis that is upright now."""
    T, half = held.box.T_parent_box, np.asarray(held.box.half_extents)
    upright = int(np.argmax(np.abs((R @ T[:3, :3])[2])))
    order = [(upright + 1) % 3, (upright + 2) % 3, upright]
    box = T.copy()
    box[:3, :3] = T[:3, :3][:, order]
    if (R @ box[:3, 2])[2] < 0.0:
        box[:3, 1:3] *= -1.0
    half = half[order]
    middle = box[:3, 3] - box[:3, 2] * half[2]
    return replace(held, box=Box(box, half), R_base_gripper=R, middle=middle)
