"""The arm that a node moves, from its parameters."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node

from tool_nodes.ros import parameters
from tool_nodes.ros.calling import Deadlines
from tool_nodes.ros.controllers import RosArm
from tool_nodes.ros.faults import DriverFaults
from tool_nodes.ros.goals import Stepper
from tool_nodes.ros.joint_states import JointStates
from tool_nodes.ros.motion_messages import GRIPPER_TYPES
from tool_nodes.stop_latch import StopLatch


def ros2_control(
    node: Node,
    joints: JointStates,
    latch: StopLatch,
    deadlines: Deadlines,
    lockstep: bool,
    cancelled: Callable[[], bool],
    faults: DriverFaults,
) -> RosArm:
    """The arm behind the controllers of ros2_control; the node's parameters `gripper_action` and `time_step` are its.

    Args:
        node: Has the parameters, and gets the clients.
        joints: Measured joints, and the robot that they belong to.
        latch: Forbids motion.
        deadlines: Longest waits, by the wall clock.
        lockstep: True where time of the robot passes only by steps that are asked for.
        cancelled: Polled during motions, see `RosArm`.
        faults: Listener to what the driver says of the arm.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    gripper_action = parameters.choice(
        node, "gripper_action", "GripperCommand", tuple(GRIPPER_TYPES), "Type of the gripper's action"
    )
    time_step = parameters.seconds(node, "time_step", 0.002, "Simulated time of one step in lockstep")
    stepper = Stepper(node, deadlines, time_step) if lockstep else None
    return RosArm(node, joints, latch, deadlines, gripper_action, stepper, cancelled, faults)
