"""Checks of every trajectory, whatever planned it and whatever follows it; limits of the operator's are in `limits`."""

from __future__ import annotations

import numpy as np

from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.types import FloatArray, Trajectory

JUMP = 1.1
"""Two points further apart than the arm gets at its velocity limit, by this factor [-], are a jump. A tenth more than
the limit lets trajectories of other planners through, which keep it at their samples only."""

AT_REST = 1.2e-7
"""A trajectory ends at rest below this [rad/s]: what joint_trajectory_controller refuses is faster."""

HELD_UP_RAD = 0.05
"""An arm at rest is beside its path when no joint is further from the nearest point of it [rad]: as far as it may be
from where a motion starts."""


def beside(trajectory: Trajectory, q: FloatArray, robot: RobotModel) -> bool:
    """Whether joint positions (n,) lie beside a path, wherever along it."""
    return bool(np.abs(robot.joint_difference(q, trajectory.q)).max(axis=1).min() <= HELD_UP_RAD)


def unfit(trajectory: Trajectory, robot: RobotModel) -> str:
    """Why the arm could not follow these arrays, to be put after "The trajectory was refused: "; empty where it can."""
    return malformed(trajectory, robot) or jump(np.asarray(trajectory.t, float), np.asarray(trajectory.q, float), robot)


def malformed(trajectory: Trajectory, robot: RobotModel) -> str:
    """Why these arrays are no trajectory of the robot, however fast it may be; empty where they are one."""
    t, q, qd = (np.asarray(array, float) for array in (trajectory.t, trajectory.q, trajectory.qd))
    shape = (len(t), robot.dof)
    if tuple(trajectory.joint_names) != robot.arm_joints or len(t) < 2 or q.shape != shape or qd.shape != shape:
        return f"it does not give {robot.dof} joint positions and velocities for each time"
    if not (np.isfinite(t).all() and np.isfinite(q).all() and np.isfinite(qd).all()):
        return "it holds NaN or infinite numbers"
    if t[0] != 0.0 or not (np.diff(t) > 0.0).all() or np.abs(qd[[0, -1]]).max() > AT_REST:
        return "its times do not increase from 0, or it does not begin and end at rest"
    return ""


def jump(t: FloatArray, q: FloatArray, robot: RobotModel) -> str:
    """Which joint would have to jump between two of the points q (N, n) [rad] at t (N,) [s]; empty for none."""
    speed = np.abs(np.diff(q, axis=0)) / np.diff(t)[:, None]
    index, joint = np.unravel_index(np.argmax(speed / robot.velocity), speed.shape)
    if speed[index, joint] <= JUMP * robot.velocity[joint]:
        return ""
    name = robot.arm_joints[joint]
    return (
        f"from point {index} to the next {name} would have to move at {speed[index, joint]:.4g} rad/s, "
        f"its limit is {robot.velocity[joint]:.4g} rad/s"
    )
