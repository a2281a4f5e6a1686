"""Questions to any planner: starts and goals that are well formed and within reach of the arm, before one plans."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from toolhand.tool_nodes.geometry import transform
from toolhand.tool_nodes.motion.collision import TIP_SLACK
from toolhand.tool_nodes.motion.kinematics import POSITION_TOLERANCE, ROTATION_TOLERANCE, Kinematics, check_pose
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.scene_model import attached_opening
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import CollisionScene, FloatArray, JointGoal, PoseGoal

_LIMIT_SLACK = 0.02
"""A motion may start this far beyond a joint's limit, where a measurement may lie [rad]; a round figure."""

_IK_SEEDS, _IK_ITERATIONS = 12, 60
"""Random postures, and iterations from each, by which it is told whether a pose has joint positions; round figures."""


def check_start(start: ArrayLike, robot: RobotModel) -> FloatArray:
    """Joint positions (n,) that a motion may start at [rad]. Raises ToolError INVALID_ARGUMENT."""
    q = robot.check_joints(start, "start")
    beyond = robot.beyond(q, _LIMIT_SLACK) > 0.0
    if beyond.any():
        joint = int(np.argmax(beyond))
        raise invalid(
            f"The start must be within the joint limits, but {robot.arm_joints[joint]} is at {q[joint]:.3f} rad "
            f"(limit {_range(robot, joint)})."
        )
    return q


def check_speed(speed: float) -> None:
    """Raises ToolError INVALID_ARGUMENT for a speed that is not in (0, 1]."""
    if not 0.0 < speed <= 1.0:
        raise invalid(f"The speed must be in (0, 1], got {speed}.")


def joint_target(start: FloatArray, goal: JointGoal, robot: RobotModel) -> FloatArray:
    """The joint positions (n,) of a goal, at the whole turns that are nearest to the start (n,) [rad].

    Raises:
        ToolError: INVALID_ARGUMENT for what is not n numbers, or is beyond a joint's limit.
    """
    target = robot.nearest_turn(robot.check_joints(goal.q, "goal"), start)
    beyond = robot.beyond(target) > 0.0
    if beyond.any():
        joint = int(np.argmax(beyond))
        raise invalid(f"{robot.arm_joints[joint]} must be within {_range(robot, joint)}, got {target[joint]:.3f}.")
    return target


def check_poses(goal: PoseGoal) -> tuple[FloatArray, tuple[float, float]]:
    """The poses (M, 4, 4) of a goal, and how exactly they are to be solved: [m] and [rad].

    Raises:
        ToolError: INVALID_ARGUMENT for poses or tolerances that are none.
    """
    poses = np.asarray(goal.T_base_gripper, dtype=float)
    if poses.ndim != 3 or len(poses) == 0:
        raise invalid(f"A pose goal needs poses of shape (M, 4, 4), M >= 1, got {poses.shape}.")
    tolerance = (min(goal.position_tolerance, POSITION_TOLERANCE), min(goal.rotation_tolerance, ROTATION_TOLERANCE))
    if not min(tolerance) > 0:
        raise invalid("The tolerances of a pose goal must be positive.")
    return np.array([check_pose(T, "goal pose") for T in poses]), tolerance


def reachable_poses(poses: FloatArray, scene: CollisionScene, robot: RobotModel) -> list[tuple[int, FloatArray]]:
    """(rank, pose) of the poses (M, 4, 4) that `reach_error` lets pass.

    Raises:
        ToolError: OUT_OF_WORKSPACE where there is none.
    """
    errors = [reach_error(T, scene, robot) for T in poses]
    within = [(rank, T) for rank, T in enumerate(poses) if errors[rank] is None]
    if not within:
        raise next(error for error in errors if error is not None)
    return within


def reach_error(T: FloatArray, scene: CollisionScene, robot: RobotModel) -> ToolError | None:
    """OUT_OF_WORKSPACE if the pose (4, 4) is farther than the arm is long, or a fingertip would leave the workspace."""
    reach, gripper = robot.reach, robot.gripper
    wrist = T[:3, 3] - reach.wrist_to_tip * T[:3, 2]
    beyond = float(np.linalg.norm(wrist - reach.shoulder)) - reach.wrist_reach
    if beyond > 0:
        x, y, z = T[:3, 3]
        return ToolError(
            ErrorCode.OUT_OF_WORKSPACE,
            f"The pose at x={x:.2f} m, y={y:.2f} m, z={z:.2f} m is {beyond:.2f} m beyond the arm's reach.",
        )
    tips = transform(T, gripper.points(attached_opening(scene, gripper))[3:])
    low, high = reach.low, reach.high
    outside = float(np.maximum(low - tips, tips - high).max())
    if outside > TIP_SLACK:
        return ToolError(
            ErrorCode.OUT_OF_WORKSPACE,
            f"A fingertip would be {outside:.3f} m outside the workspace: x {low[0]:.2f} to {high[0]:.2f} m, "
            f"y {low[1]:.2f} to {high[1]:.2f} m, z {low[2]:.2f} to {high[2]:.2f} m.",
        )
    return None


def has_solution(T: FloatArray, start: FloatArray, kinematics: Kinematics) -> bool:
    """True where joint positions reach a pose (4, 4), whatever is in the way: from start (n,), Park, or anywhere."""
    robot = kinematics.robot
    seeds = [start, robot.park, *np.random.default_rng(0).uniform(*robot.sampled_range, (_IK_SEEDS, robot.dof))]
    return any(kinematics.solve_ik(T, seed, _IK_ITERATIONS) is not None for seed in seeds)


def no_solution(T: FloatArray, robot: RobotModel) -> ToolError:
    """IK_FAILED for the pose (4, 4)."""
    x, y, z = T[:3, 3]
    return ToolError(
        ErrorCode.IK_FAILED,
        f"No joint positions within their limits reach the pose at x={x:.2f} m, y={y:.2f} m, z={z:.2f} m, "
        f"{np.linalg.norm(T[:3, 3] - robot.reach.shoulder):.2f} m from the shoulder.",
        "Try another orientation or a nearer pose.",
    )


def _range(robot: RobotModel, joint: int) -> str:
    """A joint's range, for people."""
    return f"[{robot.lower[joint]:g}, {robot.upper[joint]:g}] rad"
