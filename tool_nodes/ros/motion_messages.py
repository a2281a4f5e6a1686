"""Goals for the controllers of ros2_control, and what their results say."""

from __future__ import annotations

from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from control_msgs.msg import GripperCommand as GripperPosition
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from toolhand.tool_nodes.types import Trajectory

GRIPPER_TYPES = {"GripperCommand": GripperCommand, "ParallelGripperCommand": ParallelGripperCommand}

LEAST_S = 0.15
"""No goal takes less time [s]: ros_kortex ignores some of less than 0.1 s (its issue 339), and says success."""

_GRIPPER_EFFORT = 100.0
"""max_effort of a GripperCommand: of no effect with ros2_kortex, which takes the effort from a topic."""

_ERROR_CODES = {
    value: name.replace("_", " ").lower()
    for name, value in vars(FollowJointTrajectory.Result).items()
    if name.isupper() and isinstance(value, int)
}


def trajectory_goal(trajectory: Trajectory) -> Any:
    """Positions and velocities at whole nanoseconds; it begins at once, and holds its end until LEAST_S are over."""
    points = []
    rows = [*zip(trajectory.t, trajectory.q, trajectory.qd, strict=True)]
    if trajectory.duration < LEAST_S:
        rows.append((np.float64(LEAST_S), trajectory.q[-1], np.zeros_like(trajectory.qd[-1])))
    for t, q, qd in rows:
        nanoseconds = round(float(t) * 1e9)
        since = Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
        points.append(JointTrajectoryPoint(positions=q.tolist(), velocities=qd.tolist(), time_from_start=since))
    names = list(trajectory.joint_names)
    return FollowJointTrajectory.Goal(trajectory=JointTrajectory(joint_names=names, points=points))


def gripper_goal(kind: Any, joint: str, position: float) -> Any:
    """The goal of the driven joint's position [rad] for one of `GRIPPER_TYPES`."""
    if kind is GripperCommand:
        return GripperCommand.Goal(command=GripperPosition(position=position, max_effort=_GRIPPER_EFFORT))
    return ParallelGripperCommand.Goal(command=JointState(name=[joint], position=[position]))


def trajectory_failure(status: int, result: Any, late: bool, limit_s: float) -> str:
    """Why a trajectory was not carried out: how its goal ended, and whether that was cancelled for being late."""
    if result is None:
        return "the controller refused the goal"
    if late and status == GoalStatus.STATUS_CANCELED:
        return f"the controller did not finish within {limit_s:.2f} s and was cancelled"
    if status == GoalStatus.STATUS_CANCELED:
        return "somebody else cancelled the goal"
    return result.error_string.rstrip(".") or _ERROR_CODES.get(result.error_code, "no reason was given")


def gripper_failure(status: int, result: Any, late: bool, limit_s: float) -> str:
    """Why the jaws did not move as they should; arguments as of `trajectory_failure`."""
    if result is None:
        return "the controller refused the goal"
    if late:
        return f"the controller did not finish within {limit_s:g} s and was cancelled"
    if status == GoalStatus.STATUS_CANCELED:
        return "somebody else cancelled the goal"
    return "the jaws neither arrived nor met anything"
