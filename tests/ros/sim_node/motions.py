"""Trajectories, and the goals that ask for them."""

import numpy as np
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory, GripperCommand
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from tests.gen3 import ARM_JOINTS, NAMED_STATES
from toolhand.tool_nodes.types import FloatArray, Trajectory

ARM = (FollowJointTrajectory, "/joint_trajectory_controller/follow_joint_trajectory")
GRIPPER = (GripperCommand, "/robotiq_gripper_controller/gripper_cmd")
PARK = np.asarray(NAMED_STATES["Park"], float)


def swing(start: FloatArray, delta: FloatArray, duration: float = 1.0) -> Trajectory:
    """From rest to rest; its times are whole nanoseconds, as a message carries them."""
    t = np.round(np.linspace(0.0, duration, 51), 9)
    share = (1.0 - np.cos(np.pi * t / duration)) / 2.0
    rate = np.pi / 2.0 / duration * np.sin(np.pi * t / duration)
    return Trajectory(ARM_JOINTS, t, start + share[:, None] * delta, rate[:, None] * delta)


def arm_goal(trajectory: Trajectory) -> FollowJointTrajectory.Goal:
    message = JointTrajectory(joint_names=list(trajectory.joint_names))
    for t, q, qd in zip(trajectory.t, trajectory.q, trajectory.qd, strict=True):
        sec, nanosec = divmod(round(t * 1e9), 10**9)
        message.points.append(
            JointTrajectoryPoint(
                time_from_start=Duration(sec=sec, nanosec=nanosec), positions=q.tolist(), velocities=qd.tolist()
            )
        )
    return FollowJointTrajectory.Goal(trajectory=message)


def gripper_goal(position: float) -> GripperCommand.Goal:
    goal = GripperCommand.Goal()
    goal.command.position = position
    return goal
