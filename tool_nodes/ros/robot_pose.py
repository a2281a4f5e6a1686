"""Where the robot is in an image, for `SelfFilteredCamera`.

Its joints come from /tf at the image's stamp, what it holds from the motion node.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.time import Time
from tf2_ros import Buffer, TransformException
from visualization_msgs.msg import Marker

from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.motion.self_filter import RobotPose, RobotShape
from toolhand.tool_nodes.ros.messages import BadMessage, header_of, matrix_to_pose, pose_to_matrix, rigid
from toolhand.tool_nodes.types import Box, FloatArray, Frame

HELD_TOPIC = "toolhand/held"
"""What the motion node knows to be held, latched: a cube in the robot's tip frame, or the order to delete it."""
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_LATE_S = 0.2
"""Longest wait for the transforms of an image's time [s]: drivers publish them at 10 Hz and faster."""
_STALE_S = 0.5
"""Transforms that are further from an image's time say nothing about it [s]: the arm moves at 1 m/s."""


class HeldPublisher:
    """Tells the cameras what is held.

    Args:
        node: Gets the publisher.
        robot: The robot that holds it.
    """

    def __init__(self, node: Node, robot: RobotModel) -> None:
        self._publisher = node.create_publisher(Marker, HELD_TOPIC, _LATCHED)
        self._tip_frame = robot.tip_frame
        self._told: Box | None = None

    def tell(self, box: Box | None) -> None:
        """Publish a box in the tip frame, or that nothing is held; nothing where that was told already."""
        if box is self._told:
            return
        self._told = box
        marker = Marker(ns="held", action=Marker.DELETE)
        marker.header.frame_id = self._tip_frame
        if box is not None:
            marker.action, marker.type, marker.pose = Marker.ADD, Marker.CUBE, matrix_to_pose(box.T_parent_box)
            marker.scale.x, marker.scale.y, marker.scale.z = (float(2.0 * half) for half in box.half_extents)
            marker.color.g, marker.color.a = 1.0, 0.5
            marker.frame_locked = True
        self._publisher.publish(marker)


class RobotOnTf:
    """Where the robot was when an image was taken.

    Args:
        node: Listens.
        transforms: Filled by a `tf2_ros.TransformListener`; has the links where a robot_state_publisher runs.
        robot: The robot.
        shape: Its joints' places.
    """

    def __init__(self, node: Node, transforms: Buffer, robot: RobotModel, shape: RobotShape) -> None:
        self._transforms, self._robot, self._joints = transforms, robot, shape.joints
        self._held: tuple[Box, ...] = ()
        node.create_subscription(
            Marker, HELD_TOPIC, self._on_held, _LATCHED, callback_group=MutuallyExclusiveCallbackGroup()
        )

    def __call__(self, frame: Frame) -> RobotPose | None:
        """The pose of the frame's time; None where nobody publishes it. Jaws that nobody publishes count as open."""
        robot = self._robot
        stamp = self._time_of(frame)
        if stamp is None:
            return None
        try:
            q = np.array([self._angle(name, stamp) for name in robot.arm_joints])
        except (TransformException, BadMessage):
            return None
        try:
            opening = robot.gripper.opening(self._angle(robot.gripper.joint, stamp))
        except (TransformException, BadMessage):
            opening = robot.gripper.max_opening
        return RobotPose(q, opening, self._held)

    def _time_of(self, frame: Frame) -> Time | None:
        """When transforms are asked for: the image's time, or the newest near it; None where there is none."""
        joint = self._joints[self._robot.arm_joints[-1]]
        stamp = Time.from_msg(header_of(frame).stamp)
        if not self._transforms.can_transform(joint.parent, joint.child, Time()):
            return None
        if self._transforms.can_transform(joint.parent, joint.child, stamp, Duration(seconds=_LATE_S)):
            return stamp
        newest = Time.from_msg(self._transforms.lookup_transform(joint.parent, joint.child, Time()).header.stamp)
        return newest if abs((stamp - newest).nanoseconds) < _STALE_S * 1e9 else None

    def _angle(self, name: str, stamp: Time) -> float:
        joint = self._joints[name]
        return joint.angle(self._rotation(joint.parent, joint.child, stamp))

    def _rotation(self, parent: str, child: str, stamp: Time) -> FloatArray:
        q = self._transforms.lookup_transform(parent, child, stamp).transform.rotation
        R: FloatArray = rigid((0.0, 0.0, 0.0), (q.w, q.x, q.y, q.z))[:3, :3]
        return R

    def _on_held(self, message: Any) -> None:
        if message.action != Marker.ADD:
            self._held = ()
            return
        try:
            T = pose_to_matrix(message.pose)
        except BadMessage:
            return
        scale = message.scale
        self._held = (Box(T, np.array([scale.x, scale.y, scale.z]) / 2.0),)
