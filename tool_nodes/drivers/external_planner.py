"""What the planners of other makers have in common: a question is checked and split by its goal before they are asked.

A path that meets something between the points that its planner checked is asked for once more, with more room.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.kinematics import Kinematics, check_pose
from toolhand.tool_nodes.motion.limits import between
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.reach import (
    check_poses,
    check_speed,
    check_start,
    has_solution,
    joint_target,
    no_solution,
    reach_error,
    reachable_poses,
)
from toolhand.tool_nodes.motion.robot_model import RobotModel, load_robot
from toolhand.tool_nodes.motion.scene_model import SceneModels, check_scene
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Goal, JointGoal, LinearGoal, PoseGoal, Trajectory

CUT_OFF = 0.002
"""What cubics between samples 0.1 s apart may leave a path by [m]: 1.1 mrad in the middle of a swing, 0.5 m from the
joint, and rounded up to the clearance of the embedded planner's search."""


class ExternalPlanner(ABC):
    """Hands each question on to the planner that a subclass asks; see ports.Planner.

    Args:
        seed: Seed of the embedded planner, which answers what the other one does not.
        robot: The robot; the default one where None.
        planning_s: Time that one search for a path may take [s]; the planner's default where None.
    """

    def __init__(self, seed: int, robot: RobotModel | None, planning_s: float | None) -> None:
        self._robot = robot or load_robot()
        self._seed, self._limit_s = seed, planning_s
        self._kinematics = Kinematics(self._robot)
        self._models = SceneModels(robot=self._robot)

    @cached_property
    def _own(self) -> EmbeddedPlanner:
        return EmbeddedPlanner(self._seed, self._robot, self._limit_s)

    def reseed(self, seed: int) -> None:
        """See ports.Planner; only the embedded planner's draws are certain to be the same again."""
        self._own.reseed(seed)

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        """See ports.Planner.

        Raises:
            ToolError: OUT_OF_WORKSPACE, IK_FAILED, PLAN_FAILED; INVALID_ARGUMENT on malformed input; TIMEOUT where the
                planner does not answer, UNAVAILABLE where it fails or answers what cannot be used.
        """
        q = check_start(start, self._robot)
        check_speed(speed)
        check_scene(scene)
        if isinstance(goal, LinearGoal):
            T = check_pose(goal.T_base_gripper, "goal pose")
            if (error := reach_error(T, scene, self._robot)) is not None:
                raise error
            return self._line(q, T, scene, speed)
        if isinstance(goal, JointGoal):
            target = joint_target(q, goal, self._robot)
            return self._with_room(q, scene, lambda among: self._to_joints(q, target, among, speed))
        if isinstance(goal, PoseGoal):
            within = [T for _, T in reachable_poses(check_poses(goal)[0], scene, self._robot)]
            # For a pose without joint positions others search as long as they may.
            poses = [T for T in within if has_solution(T, q, self._kinematics)]
            if not poses:
                raise no_solution(within[0], self._robot)
            return self._with_room(q, scene, lambda among: self._to_poses(q, poses, goal, among, speed))
        raise invalid(f"The goal must be a PoseGoal, LinearGoal or JointGoal, got {type(goal).__name__}.")

    def reachable(self, T_base_gripper: FloatArray, scene: CollisionScene, back: FloatArray | None = None) -> bool:
        """See ports.Planner; the embedded planner says so."""
        return self._own.reachable(T_base_gripper, scene, back)

    @abstractmethod
    def _line(self, q: FloatArray, T: FloatArray, scene: CollisionScene, speed: float) -> Trajectory:
        """The straight line of the tip frame from joint positions (n,) to a pose (4, 4)."""

    @abstractmethod
    def _to_joints(self, q: FloatArray, target: FloatArray, scene: CollisionScene, speed: float) -> Trajectory:
        """A path from joint positions (n,) to others [rad]."""

    @abstractmethod
    def _to_poses(
        self, q: FloatArray, poses: list[FloatArray], goal: PoseGoal, scene: CollisionScene, speed: float
    ) -> Trajectory:
        """A path from joint positions (n,) to one of the poses (4, 4) of a goal that have joint positions."""

    def _with_room(
        self, q: FloatArray, scene: CollisionScene, ask: Callable[[CollisionScene], Trajectory]
    ) -> Trajectory:
        """A path from q (n,) among obstacles, which are larger by the second time where it meets one after all."""
        path = ask(scene)
        if Checker(self._models.of(scene), q).path_free(between(path)):
            return path
        try:
            return ask(replace(scene, margin=scene.margin + CUT_OFF))
        except ToolError as error:
            if error.code is not ErrorCode.PLAN_FAILED:
                raise
            return path  # the check of all planners' answers says what it meets
