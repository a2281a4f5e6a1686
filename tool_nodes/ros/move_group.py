"""MoveIt's move_group by its services, over plain rclpy: it may crash, or be another program that answers like it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from moveit_msgs.msg import Constraints, PlanningSceneComponents
from moveit_msgs.srv import ApplyPlanningScene, GetCartesianPath, GetMotionPlan, GetPlanningScene, GetPositionIK
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from std_msgs.msg import Header

from toolhand.tool_nodes.camera_checks import BadMessage
from toolhand.tool_nodes.motion.planner_wrapper import InterruptedPlanning
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.calling import Deadlines, call
from toolhand.tool_nodes.ros.messages import matrix_to_pose
from toolhand.tool_nodes.ros.moveit_messages import (
    ACCELERATION_SHARE,
    HELD,
    OURS,
    SPEED_SHARE,
    TIPS,
    WALLS,
    followed,
    hand_links,
    joint_constraints,
    joint_positions,
    pose_constraints,
    refusal,
    robot_state,
    scene_change,
    stamped,
    unusable,
    workspace,
)
from toolhand.tool_nodes.ros.parameters import NonEmpty
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Trajectory

JOINT_TOLERANCE = 1e-4
"""How near a joint goal is to be reached [rad]: what MoveIt's own clients ask for."""

_LINE_STEP = 0.005
"""Steps that a straight line is followed in [m]: the embedded planner's. Of 2.12.4's service the thresholds of jumps
have no effect: it halves a step until the middle between two configurations is within 1 mm of the line."""
_WHOLE = 1.0 - 1e-6
"""A straight line that was followed by this share was followed to its end [-]; rounding."""

_COMPONENTS = PlanningSceneComponents.WORLD_OBJECT_NAMES | PlanningSceneComponents.ROBOT_STATE_ATTACHED_OBJECTS


@dataclass(frozen=True)
class _Parameters:
    """Parameters of the planner.

    Attributes:
        moveit_group: Planning group of MoveIt that is the arm.
        moveit_pipeline: Planning pipeline; empty: MoveIt's own.
        moveit_planner: Planner in it; empty: its own.
    """

    moveit_group: NonEmpty = "manipulator"
    moveit_pipeline: str = ""
    moveit_planner: str = ""


class MoveGroup:
    """The services of move_group, for one robot; the node's parameters `moveit_*` are read here.

    Args:
        node: Gets the clients and the parameters; spun by an executor in another thread than the callers'.
        robot: Robot whose joints are asked for.
        base_frame: Frame of the robot's base, in which all poses are.
        deadlines: How long to wait for move_group.
        planning_s: How long move_group may search for one path [s].
        interrupted: Polled while an answer is waited for; True ends the waiting by InterruptedPlanning.

    Raises:
        ToolError: INVALID_ARGUMENT for a parameter.
    """

    def __init__(
        self,
        node: Node,
        robot: RobotModel,
        base_frame: str,
        deadlines: Deadlines,
        planning_s: float,
        interrupted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._interrupted = interrupted
        self._robot, self._frame, self._deadlines, self._planning_s = robot, base_frame, deadlines, planning_s
        own = parameters.read(node, _Parameters)
        self._group, self._pipeline, self._planner = own.moveit_group, own.moveit_pipeline, own.moveit_planner
        group = ReentrantCallbackGroup()
        self._plan, self._line, self._ik, self._apply, self._get = (
            node.create_client(kind, name, callback_group=group)
            for kind, name in (
                (GetMotionPlan, "plan_kinematic_path"),
                (GetCartesianPath, "compute_cartesian_path"),
                (GetPositionIK, "compute_ik"),
                (ApplyPlanningScene, "apply_planning_scene"),
                (GetPlanningScene, "get_planning_scene"),
            )
        )
        self._hand = hand_links(robot)
        self._joints, self._same_robot = (*robot.arm_joints, robot.gripper.joint), False

    # -- the planning scene ----------------------------------------------------------------------

    def ours(self) -> frozenset[str]:
        """Names of what is in MoveIt's planning scene and was put there by a client of this sort."""
        scene = self._scene()
        attached = {each.object.id for each in scene.robot_state.attached_collision_objects}
        return OURS & ({each.id for each in scene.world.collision_objects} | attached)

    def _scene(self) -> Any:
        """MoveIt's planning scene. Raises ToolError UNAVAILABLE where its robot lacks a joint of ours: it ends itself
        where it is asked about one that it does not know."""
        request = GetPlanningScene.Request()
        request.components.components = _COMPONENTS
        scene = self._call(self._get, request).scene
        if missing := [name for name in self._joints if name not in scene.robot_state.joint_state.name]:
            raise unavailable(
                f"The robot of move_group has no joint {missing[0]!r}.",
                "move_group must have the same robot description.",
            )
        self._same_robot = True
        return scene

    def apply(
        self, scene: CollisionScene, there: frozenset[str], low: FloatArray, high: FloatArray, opening_m: float
    ) -> frozenset[str]:
        """Put a scene in the place of the one before.

        Args:
            scene: Obstacles and what is held.
            there: Names of what is there, from `ours`.
            low: (3,) corner of the box that the ends of the fingers stay in, base frame [m].
            high: (3,) the opposite one.
            opening_m: Opening of the jaws [m].

        Returns:
            What is there now.
        """
        change = scene_change(scene, self._frame, self._robot.tip_frame, self._hand, there)
        change.robot_state.attached_collision_objects += workspace(self._robot, self._frame, low, high, opening_m)
        if not self._call(self._apply, ApplyPlanningScene.Request(scene=change)).success:
            raise unavailable("move_group did not take the obstacles into its planning scene.", "Look at its log.")
        world = {each.id for each in change.world.collision_objects if each.operation == each.ADD}
        return frozenset(world | {WALLS, TIPS} | ({HELD} if scene.attached else set()))

    # -- paths -----------------------------------------------------------------------------------

    def to_joints(self, start: FloatArray, q: FloatArray, opening_m: float, speed: float) -> Trajectory:
        """A path to joint positions (n,) [rad]; arguments and errors as of `to_poses`."""
        return self._path(start, [joint_constraints(self._robot.arm_joints, q, JOINT_TOLERANCE)], opening_m, speed)

    def to_poses(
        self,
        start: FloatArray,
        poses: Sequence[FloatArray],
        tolerance: tuple[float, float],
        opening_m: float,
        speed: float,
    ) -> Trajectory:
        """A path to any of some poses of the tip frame.

        Args:
            start: (n,) joint positions [rad].
            poses: Each (4, 4), base frame.
            tolerance: How near to one of them it ends [m], [rad].
            opening_m: Opening of the jaws [m].
            speed: Share of the full speed, in (0, 1].

        Returns:
            Samples as they are to be followed; they begin exactly at the start.

        Raises:
            ToolError: IK_FAILED or PLAN_FAILED as MoveIt says; UNAVAILABLE or TIMEOUT where it does not answer, or
                answers what is no trajectory of this robot.
        """
        tip = self._robot.tip_frame
        goals = [pose_constraints(T, self._frame, tip, *tolerance) for T in poses]
        return self._path(start, goals, opening_m, speed)

    def _path(self, start: FloatArray, goals: list[Constraints], opening_m: float, speed: float) -> Trajectory:
        request = GetMotionPlan.Request()
        asked = request.motion_plan_request
        asked.start_state = self._state(start, opening_m)
        asked.goal_constraints = goals
        asked.pipeline_id, asked.planner_id, asked.group_name = self._pipeline, self._planner, self._group
        asked.num_planning_attempts, asked.allowed_planning_time = 1, float(self._planning_s)
        _slow_down(asked, speed)
        began = time.monotonic()
        answer = self._call(self._plan, request, self._planning_s).motion_plan_response
        error = refusal(answer.error_code, "MoveIt found no path")
        if error is not None and time.monotonic() - began < self._planning_s:
            # It did not search for long: where its timing rounds off a corner into something it says FAILURE, too.
            answer = self._call(self._plan, request, self._planning_s).motion_plan_response
            error = refusal(answer.error_code, "MoveIt found no path")
        if error is not None:
            raise error
        return followed(answer.trajectory, start, self._robot)

    def line(self, start: FloatArray, T: FloatArray, opening_m: float, speed: float) -> Trajectory:
        """A path on which the tip frame goes straight to a pose (4, 4); arguments and errors as of `to_poses`.

        Obstacles are left out of account: a motion may start in contact, as when it lets go, and ends beside what it
        grasps, where MoveIt refuses both. Whoever asks checks the line.
        """
        request = GetCartesianPath.Request(header=Header(frame_id=self._frame), avoid_collisions=False)
        request.start_state = self._state(start, opening_m)
        request.group_name, request.link_name = self._group, self._robot.tip_frame
        request.waypoints = [matrix_to_pose(T)]
        request.max_step = _LINE_STEP
        _slow_down(request, speed)
        answer = self._call(self._line, request, self._planning_s)
        if (error := refusal(answer.error_code, "MoveIt found no straight line")) is not None:
            raise error
        if not answer.fraction >= _WHOLE:
            raise ToolError(
                ErrorCode.IK_FAILED,
                f"MoveIt can follow the straight line to {100 * answer.fraction:.0f} % of its length, and not beyond "
                "without a joint reaching its limit or jumping.",
            )
        return followed(answer.solution, start, self._robot)

    def solve(self, T: FloatArray, near: FloatArray, opening_m: float, avoid: bool) -> FloatArray | None:
        """Joint positions (n,) at a pose (4, 4) of the tip frame, or None where MoveIt finds none.

        It searches for its `kinematics_solver_timeout`: of a request's timeout it reads whole seconds alone.

        Args:
            T: The pose, base frame.
            near: (n,) where the search begins [rad]; continuous joints are at the turn that is nearest to it.
            opening_m: Opening of the jaws [m].
            avoid: Whether they have to be free of collision.

        Raises:
            ToolError: UNAVAILABLE or TIMEOUT, as of `to_poses`.
        """
        request = GetPositionIK.Request()
        asked = request.ik_request
        asked.group_name, asked.ik_link_name = self._group, self._robot.tip_frame
        asked.robot_state, asked.avoid_collisions = self._state(near, opening_m), avoid
        asked.pose_stamped = stamped(T, self._frame)
        answer = self._call(self._ik, request)
        error = refusal(answer.error_code, "MoveIt found no joint positions")
        if error is not None:
            if error.code is ErrorCode.UNAVAILABLE:
                raise error
            return None
        try:
            q = joint_positions(answer.solution, self._robot.arm_joints)
        except BadMessage as bad:
            raise unusable(bad) from bad
        return self._robot.nearest_turn(q, near)

    # -- calls and answers -----------------------------------------------------------------------

    def _state(self, q: FloatArray, opening_m: float) -> Any:
        """The state at joint positions (n,) [rad]; MoveIt refuses a start whose continuous joints are beyond +-pi."""
        if not self._same_robot:
            self._scene()
        within = self._robot.nearest_turn(q, np.zeros(len(q)))
        return robot_state(self._joints, (*within, self._robot.gripper.joint_position(opening_m)))

    def _call(self, client: Any, request: Any, longer_s: float = 0.0) -> Any:
        limits = self._deadlines
        answer = call(client, request, limits.response_s + longer_s, limits.availability_s, self._interrupted)
        if answer is None and self._interrupted():
            raise InterruptedPlanning
        if answer is None:
            raise unavailable(f"{client.srv_name} answered nothing.", "Look at the log of move_group.")
        return answer


def _slow_down(request: Any, speed: float) -> None:
    request.max_velocity_scaling_factor = SPEED_SHARE * speed
    request.max_acceleration_scaling_factor = ACCELERATION_SHARE * speed**2
