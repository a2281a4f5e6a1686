"""Calibrations as transforms: each camera's body is published where its file has it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.time import Time
from tf2_ros import Buffer, StaticTransformBroadcaster, TransformException

from toolhand.tool_nodes.calibration.files import CameraCalibration, read_calibration_file
from toolhand.tool_nodes.geometry import invert
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.messages import matrix_to_pose, rigid
from toolhand.tool_nodes.types import FloatArray

_EVERY_S = 0.5
"""How often it is looked whether a driver has published what is below its camera's body [s]."""


def declare_calibrations(node: Node, robot: RobotModel) -> list[CameraCalibration]:
    """The calibrations that the parameter `calibration` of a node names: files, with commas between them.

    Raises:
        ToolError: INVALID_ARGUMENT for a file that cannot be used, is of another robot, or two of one camera.
    """
    text = parameters.one(node, "calibration", "", "Files of toolhand calibrate, with commas between; empty: none")
    made = [read_calibration_file(Path(part.strip())) for part in text.split(",") if part.strip()]
    for one in made:
        one.require_robot(robot)
    if len({one.camera for one in made}) < len(made):
        raise invalid("Parameter calibration must name one file for each camera.")
    return made


class CalibratedFrames:
    """Publishes the body of each calibrated camera, once its driver has said where the optical frame is below it.

    Args:
        node: Publishes.
        made: The calibrations.
        transforms: Filled by a `tf2_ros.TransformListener`.
    """

    def __init__(self, node: Node, made: Sequence[CameraCalibration], transforms: Buffer) -> None:
        self._node, self._transforms = node, transforms
        self._waiting = list(made)
        self._publisher = StaticTransformBroadcaster(node)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._timer = node.create_timer(_EVERY_S, self._publish, clock=steady)

    def _publish(self) -> None:
        sent = []
        for made in list(self._waiting):
            below = self._below(made)
            if below is not None:
                sent.append(transform_message(made.T @ invert(below), made.parent, made.link))
                self._waiting.remove(made)
                self._node.get_logger().info(
                    f"The {made.camera} camera is where its calibration of {made.date} has it, to {made.sd_mm:.2f} mm "
                    f"and {made.sd_deg:.3f} degrees."
                )
        if sent:
            self._publisher.sendTransform(sent)
        if not self._waiting:
            self._timer.cancel()

    def _below(self, made: CameraCalibration) -> FloatArray | None:
        """Pose (4, 4) of the optical frame in the camera's body; None while nobody has published it."""
        if made.link == made.frame:  # a camera whose driver publishes no frames
            return np.eye(4)
        try:
            found = self._transforms.lookup_transform(made.link, made.frame, Time()).transform
        except TransformException:
            return None
        p, q = found.translation, found.rotation
        return rigid((p.x, p.y, p.z), (q.w, q.x, q.y, q.z))


def transform_message(T: FloatArray, parent: str, child: str) -> TransformStamped:
    """The transform of a frame whose pose in its parent is T (4, 4)."""
    message, at = TransformStamped(), matrix_to_pose(T)
    message.header.frame_id, message.child_frame_id = parent, child
    p = message.transform.translation
    p.x, p.y, p.z = at.position.x, at.position.y, at.position.z
    message.transform.rotation = at.orientation
    return message
