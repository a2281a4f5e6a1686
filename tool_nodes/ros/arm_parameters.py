"""The arm that a node moves, from its parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from rclpy.node import Node

from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.calling import Deadlines
from toolhand.tool_nodes.ros.controllers import RosArm
from toolhand.tool_nodes.ros.faults import DriverFaults
from toolhand.tool_nodes.ros.goals import Stepper
from toolhand.tool_nodes.ros.joint_states import JointStates
from toolhand.tool_nodes.ros.motion_messages import GRIPPER_TYPES
from toolhand.tool_nodes.ros.parameters import Seconds, one_of
from toolhand.tool_nodes.stop_latch import StopLatch


@dataclass(frozen=True)
class _Parameters:
    """Parameters of the arm.

    Attributes:
        gripper_action: Type of the gripper's action.
        time_step: Simulated time of one step in lockstep [s].
    """

    gripper_action: Annotated[str, one_of(tuple(GRIPPER_TYPES))] = "GripperCommand"
    time_step: Seconds = 0.002


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
    own = parameters.read(node, _Parameters)
    stepper = Stepper(node, deadlines, own.time_step) if lockstep else None
    return RosArm(node, joints, latch, deadlines, own.gripper_action, stepper, cancelled, faults)
