"""The planner `moveit`: MoveIt's move_group plans, by its services; only in a graph of ROS 2.

move_group is another process with any rmw, which may be slow, crash or be wrong: its answers are read with care
(`toolhand.tool_nodes.ros.move_group`), and what is read is checked like any planner's
(`toolhand.tool_nodes.motion.checked_planner`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from toolhand.tool_nodes.drivers.external_planner import ExternalPlanner
from toolhand.tool_nodes.geometry import shifted, transform
from toolhand.tool_nodes.motion.collision import Checker
from toolhand.tool_nodes.motion.kinematics import check_pose
from toolhand.tool_nodes.motion.reach import reach_error
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.scene_model import attached_opening
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid, unavailable
from toolhand.tool_nodes.types import CollisionScene, FloatArray, PoseGoal, Trajectory

PLANNING_S = 5.0
"""How long move_group may search for one path [s] where nothing else is said: MoveIt's own clients' default."""


class MoveItPlanner(ExternalPlanner):
    """Plans by the services of MoveIt's move_group; see ports.Planner.

    Poses are reached by GetMotionPlan within the goal's tolerances, straight lines by GetCartesianPath. Obstacles and
    what is held are kept in MoveIt's planning scene, where they replace those before.

    Args:
        node: The rclpy Node that serves motions; its executor spins in other threads.
        robot: The robot; the default one where None.
        planning_s: Time that one search for a path may take [s]; PLANNING_S where None.
        base_frame: Frame of the robot's base.
        deadlines: A `toolhand.tool_nodes.ros.calling.Deadlines`; the usual ones where None.
        interrupted: Polled while move_group is waited for; True, as after a stop, ends the question by
            InterruptedPlanning. What move_group still answers is dropped.

    Raises:
        ToolError: INVALID_ARGUMENT without a node, or for a parameter; UNAVAILABLE where MoveIt's messages are missing.
    """

    def __init__(
        self,
        node: Any = None,
        robot: RobotModel | None = None,
        planning_s: float | None = None,
        base_frame: str = "base_link",
        deadlines: Any = None,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        if node is None:
            raise invalid(
                "The planner 'moveit' asks move_group by services of ROS 2, and in one process there is none.",
                "Start a graph with it: toolhand up sim planner:=moveit",
            )
        try:
            from toolhand.tool_nodes.ros.calling import Deadlines
            from toolhand.tool_nodes.ros.move_group import MoveGroup
        except ImportError as error:
            raise unavailable(
                f"The planner 'moveit' needs MoveIt's messages: {error}.",
                "Install ros-$ROS_DISTRO-moveit-msgs beside ROS 2; the package moveit of the Python index is another "
                "project.",
            ) from error

        super().__init__(0, robot, planning_s)
        limits = deadlines or Deadlines()
        self._move_group = MoveGroup(node, self._robot, base_frame, limits, planning_s or PLANNING_S, interrupted)
        self._there: frozenset[str] = frozenset()
        self._applied = b""

    def reseed(self, seed: int) -> None:
        """See ports.Planner. MoveIt's planners draw anew for each plan; its scene is sent again."""
        self._applied = b""

    def _line(self, q: FloatArray, T: FloatArray, scene: CollisionScene, speed: float) -> Trajectory:
        return self._move_group.line(q, T, attached_opening(scene, self._robot.gripper), speed)

    def _to_joints(self, q: FloatArray, target: FloatArray, scene: CollisionScene, speed: float) -> Trajectory:
        return self._asked(q, scene, lambda opening_m: self._move_group.to_joints(q, target, opening_m, speed))

    def _to_poses(
        self, q: FloatArray, poses: list[FloatArray], goal: PoseGoal, scene: CollisionScene, speed: float
    ) -> Trajectory:
        tolerance = (goal.position_tolerance, goal.rotation_tolerance)
        return self._asked(q, scene, lambda opening_m: self._move_group.to_poses(q, poses, tolerance, opening_m, speed))

    def _asked(self, q: FloatArray, scene: CollisionScene, ask: Callable[[float], Trajectory]) -> Trajectory:
        """A path from q (n,) among obstacles; `ask` gets the opening of the jaws [m]."""
        T, opening_m = self._kinematics.fk(q), attached_opening(scene, self._robot.gripper)
        self._show(scene, transform(T, self._robot.gripper.tips(opening_m)))
        try:
            return ask(opening_m)
        except ToolError as error:
            if error.code is ErrorCode.PLAN_FAILED:
                # Its plans' service says FAILURE whatever the reason is; inverse kinematics says what is set up wrong.
                self._move_group.solve(T, q, opening_m, avoid=False)
            raise

    def reachable(self, T_base_gripper: FloatArray, scene: CollisionScene, back: FloatArray | None = None) -> bool:
        """See ports.Planner: MoveIt solves the pose, and follows the line to it; the own check says what is free.

        Raises:
            ToolError: INVALID_ARGUMENT on malformed input; UNAVAILABLE or TIMEOUT, as `plan`.
        """
        T = check_pose(T_base_gripper, "pose")
        first = T if back is None else shifted(T, back)
        if any(reach_error(each, scene, self._robot) is not None for each in (T, first)):
            return False
        checker = Checker(self._models.of(scene))
        opening_m = attached_opening(scene, self._robot.gripper)
        # Where fingers may reach into boxes, which MoveIt does not know, it is not asked to keep clear of them.
        avoid = scene.yielding_m == 0.0 or back is not None
        if avoid:
            self._show(scene, transform(first, self._robot.gripper.tips(opening_m)))
        q = self._move_group.solve(first, self._robot.park, opening_m, avoid)
        if q is None or (self._robot.beyond(q) > 0.0).any() or not checker.free(q):
            return False
        if back is None:
            return True
        try:
            line = self._move_group.line(q, T, opening_m, 1.0)
        except ToolError as error:
            if error.code is not ErrorCode.IK_FAILED:
                raise
            return False
        return checker.path_free(line.q)

    def _show(self, scene: CollisionScene, tips: FloatArray) -> None:
        """Let MoveIt plan among these obstacles, and with this in the hand.

        Nothing is sent where it does already. It is asked each time what it has: a move_group that was started again
        has nothing, and others may change its scene, too.

        Args:
            scene: Obstacles, and what is held.
            tips: (2, 3) where the ends of the fingers are, base frame [m]; outside the workspace they may come back.
        """
        reach, opening_m = self._robot.reach, attached_opening(scene, self._robot.gripper)
        low, high = np.minimum(reach.low, tips.min(axis=0)), np.maximum(reach.high, tips.max(axis=0))
        content = _content(scene) + np.array([*low, *high, opening_m]).tobytes()
        there = self._move_group.ours()
        if there != self._there or content != self._applied:
            self._applied = b""  # unknown, should this fail
            self._there = self._move_group.apply(scene, there, low, high, opening_m)
            self._applied = content


def _content(scene: CollisionScene) -> bytes:
    """A digest of all in a scene that MoveIt is shown."""
    digest = hashlib.sha256(np.array([scene.table_z, scene.margin, scene.point_radius], float).tobytes())
    for boxes in (scene.boxes, scene.attached):
        digest.update(len(boxes).to_bytes(4, "little"))
        for box in boxes:
            digest.update(np.asarray(box.T_parent_box, float).tobytes() + np.asarray(box.half_extents, float).tobytes())
    digest.update(np.asarray(scene.points, float).tobytes())
    return digest.digest()
