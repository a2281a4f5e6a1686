"""Plans of grasps, placements, looks, trials and the way home; kept plans run later if they still fit the scene."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.motion.approval import MotionStep, PlannedMotion
from toolhand.tool_nodes.motion.placing import PlaceCandidate
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.motion.targets import HeldObject
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.scene_change import changed
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Frame, GraspTarget, Trajectory

KEPT = 8
"""Plans of one action that are kept until they are run, the newest."""
SAME_CONFIGURATION = 0.01
"""The arm counts as moved when a joint is further away than this [rad]."""

Legs = tuple[Trajectory, Trajectory]


@dataclass(frozen=True)
class GraspPlan:
    """How a grasp begins; nothing has moved yet.

    Attributes:
        legs: To the pre-grasp, and on to the grasp.
        T_base_gripper: (4, 4) the grasp, or its mirror image.
        scene: Obstacles without the target.
        points: (N, 3) of the target, base frame [m].
        frame: The image that it was planned on.
        opening_m: Opening of the jaws on the way [m].
        target: The object to be grasped, as the image shows it; None where it is not known.
        speed: Share of the allowed speed, in (0, 1].
    """

    legs: Legs
    T_base_gripper: FloatArray
    scene: CollisionScene
    points: NDArray[np.float32]
    frame: Frame
    opening_m: float
    target: GraspTarget | None = None
    speed: float = 1.0

    def motion(self) -> PlannedMotion:
        """What would be run, made of the arrays as they are now."""
        return PlannedMotion(
            f"Grasp with the gripper at {_where(self.T_base_gripper[:3, 3])}{_share_of_speed(self.speed)}",
            (self.opening_m, *self.legs, 0.0),
            self.T_base_gripper,
            "straight up by at most 120 mm and to the park position; after a failure open, straight up, park",
            self.frame,
        )


@dataclass(frozen=True)
class PlacePlan:
    """How the held object gets to its place; nothing has moved yet.

    Attributes:
        legs: To above the place, and down.
        candidate: Where exactly it is set down.
        scene: Obstacles, with the held object.
        into: True if it is let go inside of a container.
        release_m: Opening that lets go [m].
        frame: The image that it was planned on.
        back: From there back along the approach; None for straight up, which is planned when the hand is there.
        speed: Share of the allowed speed, in (0, 1].
    """

    legs: Legs
    candidate: PlaceCandidate
    scene: CollisionScene
    into: bool
    release_m: float
    frame: Frame
    back: Trajectory | None = None
    speed: float = 1.0

    def motion(self) -> PlannedMotion:
        """What would be run, made of the arrays as they are now."""
        return PlannedMotion(
            f"Place the held object at {_where(self.candidate.point)}{_share_of_speed(self.speed)}",
            (*self.legs, self.release_m, *(() if self.back is None else (self.back,))),
            self.candidate.T_base_gripper,
            "straight up by at most 120 mm, open, and to the park position",
            self.frame,
        )


@dataclass(frozen=True)
class ParkPlan:
    """How an arm that was left somewhere gets home; nothing has moved yet.

    Attributes:
        steps: Open unless something is held, straight up where there is a way, and to the park position.
        scene: Obstacles of the last motion.
        T_park: (4, 4) the gripper when parked.
        frame: An image of now; None where no approval is asked for.
    """

    steps: tuple[MotionStep, ...]
    scene: CollisionScene
    T_park: FloatArray
    frame: Frame | None

    def motion(self) -> PlannedMotion:
        """What would be run, made of the arrays as they are now."""
        what = f"Return to the park position, with the gripper at {_where(self.T_park[:3, 3])}"
        return PlannedMotion(
            what, self.steps, self.T_park, "straight to the park position if the way up fails", self.frame
        )


@dataclass(frozen=True)
class LookPlan:
    """How the wrist camera gets to a view and the arm home again; nothing has moved yet.

    Attributes:
        legs: To the view, and back to the park position.
        T_base_gripper: (4, 4) the gripper at the view.
        scene: Obstacles.
        frame: The image that it was planned on.
        opening_m: Opening of the jaws on the way [m].
    """

    legs: Legs
    T_base_gripper: FloatArray
    scene: CollisionScene
    frame: Frame
    opening_m: float

    def motion(self) -> PlannedMotion:
        """What would be run, made of the arrays as they are now."""
        return PlannedMotion(
            f"Look with the wrist camera, with the gripper at {_where(self.T_base_gripper[:3, 3])}",
            (self.opening_m, *self.legs),
            self.T_base_gripper,
            "to the park position, if the way back fails",
            self.frame,
        )


@dataclass(frozen=True)
class TrialPlan:
    """How an arm is tried for the first time; nothing has moved yet.

    Attributes:
        legs: Straight up, and back.
        T_base_gripper: (4, 4) the gripper at the top.
        frame: An image of now.
    """

    legs: Legs
    T_base_gripper: FloatArray
    frame: Frame

    def motion(self) -> PlannedMotion:
        """What would be run, made of the arrays as they are now."""
        return PlannedMotion(
            f"Try the arm: straight up with the gripper to {_where(self.T_base_gripper[:3, 3])}, and back",
            self.legs,
            self.T_base_gripper,
            "nothing",
            self.frame,
        )


@dataclass(frozen=True)
class SkillPlan:
    """What the hand does beside grasping, placing and looking; nothing has moved yet.

    Attributes:
        what: Deed in words, for whoever approves it.
        steps: Trajectories and openings of the jaws, in order.
        T_base_gripper: (4, 4) the gripper when it is done.
        frame: The image that it was planned on.
        afterwards: Motions that may follow and are planned only then.
    """

    what: str
    steps: tuple[MotionStep, ...]
    T_base_gripper: FloatArray
    frame: Frame
    afterwards: str = "nothing"

    def motion(self) -> PlannedMotion:
        """What would be run, made of the arrays as they are now."""
        what = f"{self.what}, with the gripper at {_where(self.T_base_gripper[:3, 3])}"
        return PlannedMotion(what, self.steps, self.T_base_gripper, self.afterwards, self.frame)


@dataclass(frozen=True)
class ManipulatorState:
    """What a Manipulator knows from the motions before.

    Attributes:
        held: The object that the gripper holds, or None.
        last_scene: Obstacles of the last motion.
        views: Images by the scene camera and by the one at the wrist of the last second view, or None.
    """

    held: HeldObject | None = None
    last_scene: CollisionScene = field(default_factory=lambda: CollisionScene(table_z=workspace.TABLE_Z))
    views: tuple[Frame, Frame] | None = None


def _share_of_speed(speed: float) -> str:
    return "" if speed == 1.0 else f", at {speed:g} of the allowed speed"


def _where(point: FloatArray) -> str:
    x, y, z = point
    return f"x={x:.3f} m, y={y:.3f} m, z={z:.3f} m"


Plan = GraspPlan | PlacePlan


@dataclass(frozen=True)
class _Kept:
    plan: Plan
    frame: Frame
    q: FloatArray
    held: HeldObject | None


class PlanBook:
    """The newest plans, each by an id, to be run once.

    Args:
        robot: Robot that the plans are for; the default robot where None.
    """

    def __init__(self, robot: RobotModel | None = None) -> None:
        self._robot = robot or load_robot()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def keep(self, plan: Plan, frame: Frame, q: FloatArray, held: HeldObject | None) -> str:
        """Remember a plan that was made with this image, configuration (n,) [rad] and held object; its id."""
        plan_id = uuid.uuid4().hex
        self._kept[plan_id] = _Kept(plan, frame, q, held)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return plan_id

    def take(self, plan_id: str, kind: type[Plan], frame: Frame, q: FloatArray, held: HeldObject | None) -> Plan:
        """The plan of an id, which is forgotten, if the world is as it was; arguments as of `keep`, but now.

        Raises:
            ToolError: INVALID_ARGUMENT for an id that is not known; SCENE_CHANGED where something has changed.
        """
        kept = self._kept.get(plan_id)
        if kept is None or not isinstance(kept.plan, kind):
            raise invalid(
                f"No plan of this action has the plan_id {plan_id[:64]!r}; the newest {KEPT} are kept, and run once.",
                "Plan anew.",
            )
        del self._kept[plan_id]
        if float(np.abs(self._robot.joint_difference(kept.q, q)).max()) > SAME_CONFIGURATION or kept.held is not held:
            raise ToolError(ErrorCode.SCENE_CHANGED, "The arm has moved since the plan was made.", "Plan anew.")
        if changed(kept.frame, frame):
            raise ToolError(ErrorCode.SCENE_CHANGED, "The scene has changed since the plan was made.", "Plan anew.")
        return kept.plan
