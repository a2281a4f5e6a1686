"""A double of MoveIt's move_group, for graphs without MoveIt: it answers with the embedded planner's paths.

It knows a motion only by the messages, and shares no line with the client that asks
(`toolhand.tool_nodes.ros.move_group`). It has the manners of the real one, MoveIt 2.12.4: its planning service says
FAILURE whatever the reason is, and no service says it in words; it refuses to start in collision or with a joint
without stops beyond +-pi; straight lines that end early are a success with a fraction; a link that is not the tip is
NO_IK_SOLUTION; samples are 0.1 s apart, and where the arm is at the goal already there is one. It shows that the
messages are right, and nothing of how MoveIt plans.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import numpy as np
from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import ApplyPlanningScene, GetCartesianPath, GetMotionPlan, GetPlanningScene, GetPositionIK
from rclpy.node import Node
from scipy.interpolate import CubicHermiteSpline
from trajectory_msgs.msg import JointTrajectoryPoint

from toolhand.sim.ros.move_group_scene import MessageRefused, Workcell, joints_of, matrix, read_goal
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.scene_model import SceneModels
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.messages import BASE_FRAME
from toolhand.tool_nodes.ros.parameters import NonEmpty
from toolhand.tool_nodes.ros.spinning import run_node
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Goal, LinearGoal, Trajectory

SAMPLE_S = 0.1
"""Spacing of the samples of an answer [s]: `resample_dt` of MoveIt's AddTimeOptimalParameterization."""

_IK_ATTEMPTS, _IK_ITERATIONS = 13, 40
"""Postures that inverse kinematics begins at, and iterations from each: as many as the embedded planner takes."""
_TENTHS = 10
"""A straight line that cannot be followed to its end is followed by a number of these."""


class MoveGroupDouble(Node):
    """Serves plan_kinematic_path, compute_cartesian_path, compute_ik, apply_planning_scene and get_planning_scene.

    Parameters: `robot`, `seed`, `group` (name of the arm's planning group), `base_frame`.

    Args:
        options: For `rclpy.node.Node`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("move_group", **options)
        self._robot = robot = parameters.robot(self)
        self._group = parameters.one(self, "group", "manipulator", "Name of the arm's planning group", NonEmpty)
        frame = parameters.one(self, "base_frame", BASE_FRAME, "Frame of the robot's base", NonEmpty)
        self._kinematics = Kinematics(robot)
        self._models = SceneModels(robot=robot)
        self._cell = Workcell(robot, frame, self._kinematics)
        self._lock = threading.Lock()
        parameters.seed(self, "Seeds planning", self._begin_anew)
        for kind, name, answer in (
            (GetMotionPlan, "plan_kinematic_path", self._on_plan),
            (GetCartesianPath, "compute_cartesian_path", self._on_line),
            (GetPositionIK, "compute_ik", self._on_ik),
            (ApplyPlanningScene, "apply_planning_scene", self._on_apply),
            (GetPlanningScene, "get_planning_scene", self._on_get),
        ):
            self.create_service(kind, name, answer)

    def _begin_anew(self, seed: int) -> None:
        self._seed, self._planner = seed, EmbeddedPlanner(seed, self._robot)

    # -- services --------------------------------------------------------------------------------

    def _on_plan(self, request: Any, response: Any) -> Any:
        asked, answer = request.motion_plan_request, response.motion_plan_response
        with self._lock:
            try:
                q, scene = self._start(asked)
                goal = read_goal(asked.goal_constraints, self._robot, self._cell.frame)
                if (np.abs(q[self._robot.continuous]) > np.pi).any():
                    raise MessageRefused("START_STATE_INVALID")
                if self._collides(q, scene):
                    raise MessageRefused("START_STATE_IN_COLLISION")
                trajectory = self._planned(q, goal, scene, asked)
            except (MessageRefused, ToolError) as error:
                # The real service writes FAILURE over every other code.
                return self._failed(response, answer.error_code, error, MoveItErrorCodes.FAILURE)
            answer.group_name = asked.group_name
            self._fill(answer.trajectory.joint_trajectory, trajectory)
            answer.trajectory_start = asked.start_state
            answer.error_code.val = MoveItErrorCodes.SUCCESS
        return response

    def _on_line(self, request: Any, response: Any) -> Any:
        with self._lock:
            try:
                q, scene = self._start(request)
                if request.link_name != self._robot.tip_frame:
                    raise MessageRefused("INVALID_LINK_NAME")
                if request.header.frame_id != self._cell.frame:
                    raise MessageRefused("FRAME_TRANSFORM_FAILURE")
                if not request.max_step > 0.0 or len(request.waypoints) != 1:
                    raise MessageRefused("FAILURE")
                if not request.avoid_collisions:
                    scene = CollisionScene(table_z=-10.0, opening_m=scene.opening_m)
                end = matrix(request.waypoints[0])
            except (MessageRefused, ToolError) as error:
                return self._failed(response, response.error_code, error)
            begin = self._kinematics.fk(q)
            for tenths in range(_TENTHS, 0, -1):
                # Only where it is cut off is it turned as the beginning of the line is: nobody follows that one.
                part = end.copy()
                part[:3, 3] = begin[:3, 3] + tenths / _TENTHS * (end[:3, 3] - begin[:3, 3])
                with contextlib.suppress(ToolError):
                    trajectory = self._planned(q, LinearGoal(part), scene, request)
                    response.fraction = tenths / _TENTHS
                    self._fill(response.solution.joint_trajectory, trajectory)
                    break
            response.start_state = request.start_state
            response.error_code.val = MoveItErrorCodes.SUCCESS
        return response

    def _on_ik(self, request: Any, response: Any) -> Any:
        asked = request.ik_request
        with self._lock:
            try:
                near, opening_m = self._joints(asked.group_name, asked.robot_state)
                if asked.ik_link_name != self._robot.tip_frame:
                    raise MessageRefused("NO_IK_SOLUTION")
                if asked.pose_stamped.header.frame_id != self._cell.frame:
                    raise MessageRefused("FRAME_TRANSFORM_FAILURE")
                T = matrix(asked.pose_stamped.pose)
                scene = self._cell.scene(opening_m, True) if asked.avoid_collisions else None
                q = self._solved(T, near, scene)
            except (MessageRefused, ToolError) as error:
                return self._failed(response, response.error_code, error)
            response.solution.joint_state.name = list(self._robot.arm_joints)
            response.solution.joint_state.position = self._near_zero(q)[0].tolist()
            response.error_code.val = MoveItErrorCodes.SUCCESS
        return response

    def _on_apply(self, request: Any, response: Any) -> Any:
        with self._lock:
            try:
                self._cell.change(request.scene)
                response.success = True
            except MessageRefused as error:
                self.get_logger().error(f"The planning scene was not changed: {error}")
                response.success = False
        return response

    def _on_get(self, request: Any, response: Any) -> Any:
        with self._lock:
            self._cell.describe(response.scene)
        return response

    # -- planning --------------------------------------------------------------------------------

    def _start(self, asked: Any) -> tuple[FloatArray, CollisionScene]:
        """Where a motion starts (n,) [rad], and among what; with what is held where the state is a difference."""
        q, opening_m = self._joints(asked.group_name, asked.start_state)
        self._cell.q = q
        return q, self._cell.scene(opening_m, asked.start_state.is_diff)

    def _joints(self, group: str, state: Any) -> tuple[FloatArray, float]:
        if group != self._group:
            raise MessageRefused("INVALID_GROUP_NAME")
        return joints_of(state, self._robot)

    def _planned(self, q: FloatArray, goal: Goal, scene: CollisionScene, asked: Any) -> Trajectory:
        """A path within the asked shares of the limits; 0, as in MoveIt, is the whole."""
        velocity = asked.max_velocity_scaling_factor or 1.0
        acceleration = asked.max_acceleration_scaling_factor or 1.0
        return self._planner.plan(q, goal, scene, float(min(1.0, velocity, np.sqrt(acceleration))))

    def _collides(self, q: FloatArray, scene: CollisionScene) -> bool:
        model = self._models.of(scene)
        return bool(model.update(q)) and any(depth > model.tolerance(pair) for pair, depth in model.depths())

    def _solved(self, T: FloatArray, near: FloatArray, scene: CollisionScene | None) -> FloatArray:
        rng = np.random.default_rng(self._seed)
        low, high = self._robot.sampled_range
        for attempt in range(_IK_ATTEMPTS):
            begin = near if attempt == 0 else rng.uniform(low, high)
            q = self._kinematics.solve_ik(T, begin, _IK_ITERATIONS)
            if q is not None and (scene is None or not self._collides(q, scene)):
                return q
        raise MessageRefused("NO_IK_SOLUTION")

    # -- answers ---------------------------------------------------------------------------------

    def _fill(self, message: Any, trajectory: Trajectory) -> None:
        t = np.arange(0.0, trajectory.duration, SAMPLE_S)
        t = np.append(t[trajectory.duration - t > 1e-3], trajectory.duration)
        if (trajectory.q == trajectory.q[0]).all():
            t = t[:1]
        path = CubicHermiteSpline(trajectory.t, trajectory.q, trajectory.qd)
        q, qd = self._near_zero(path(t)), path(t, 1)
        message.header.frame_id = self._cell.frame
        message.joint_names = list(self._robot.arm_joints)
        message.points = [_point(*sample) for sample in zip(t, q, qd, strict=True)]

    def _near_zero(self, q: FloatArray) -> FloatArray:
        """Positions (N, n) of which the first have their continuous joints within half a turn of 0 [rad]."""
        q = np.atleast_2d(q)
        return q + self._robot.nearest_turn(q[0], np.zeros(q.shape[1])) - q[0]

    def _failed(self, response: Any, code: Any, error: Exception, instead: int | None = None) -> Any:
        name = str(error) if isinstance(error, MessageRefused) else "PLANNING_FAILED"
        code.val = instead or getattr(MoveItErrorCodes, name, MoveItErrorCodes.FAILURE)
        self.get_logger().error(f"{name}: {error}")
        return response


def _point(t: float, q: FloatArray, qd: FloatArray) -> JointTrajectoryPoint:
    point = JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist())
    nanoseconds = round(float(t) * 1e9)
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(nanoseconds, 10**9)
    return point


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(MoveGroupDouble, args)


if __name__ == "__main__":
    main()
