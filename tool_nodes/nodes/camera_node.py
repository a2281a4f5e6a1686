"""ROS 2 node `camera`: images and depth of the robot's cameras, as the services capture_image and get_depth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from tf2_ros import Buffer, StaticTransformBroadcaster, TransformListener
from toolhand_interfaces.srv import CaptureImage, GetDepth

from toolhand.tool_nodes.camera_names import WRIST_LINK
from toolhand.tool_nodes.geometry import backproject, matrix_from_quat_wxyz, pose
from toolhand.tool_nodes.results import ToolResult, invalid
from toolhand.tool_nodes.ros import parameters
from toolhand.tool_nodes.ros.calibrated_frames import CalibratedFrames, declare_calibrations, transform_message
from toolhand.tool_nodes.ros.camera_parameters import declare_cameras
from toolhand.tool_nodes.ros.messages import (
    BASE_FRAME,
    cloud_to_message,
    header_of,
    put_frame,
    put_image,
)
from toolhand.tool_nodes.ros.parameters import NonEmpty, Seconds
from toolhand.tool_nodes.ros.spinning import Unrecoverable, run_node
from toolhand.tool_nodes.ros.status import answering, success, use_tool, visualization
from toolhand.tool_nodes.ros.topic_camera import SILENT_DEADLINES
from toolhand.tool_nodes.toolbox.toolbox import Session, Toolbox
from toolhand.tool_nodes.tools.spacetools.robot import CameraTools
from toolhand.tool_nodes.types import FloatArray, Frame

_ANSWER_S = 0.5
"""How long an answer may take to leave before the node ends [s]."""


@dataclass(frozen=True)
class _Parameters:
    """Parameters of the camera node.

    Attributes:
        base_frame: Frame of the robot's base.
        availability_deadline_s: How long to wait for an image [s].
        wrist_mount: Pose of the wrist camera's body in the robot's tip frame, to publish: x y z roll pitch yaw.
    """

    base_frame: NonEmpty = BASE_FRAME
    availability_deadline_s: Seconds = 5.0
    wrist_mount: str = ""


class CameraNode(Node):
    """Serves the scene camera and the wrist camera.

    Parameters: `robot`, those of `declare_cameras`, `base_frame`, `availability_deadline_s` for a complete image, and
    `wrist_mount`, the pose of camera_link in the robot's tip frame as "x y z roll pitch yaw" [m, rad]: where it is not
    empty, the node publishes it on /tf_static. `calibration` names files of `toolhand calibrate`: the cameras in them
    are published where the files have them, the one at the wrist instead of `wrist_mount`.

    The node ends, to be started again by its launch file, when it hears nothing of a driver that is there.

    Args:
        options: For `rclpy.node.Node`.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__("camera", **options)
        self._robot = parameters.robot(self)
        own = parameters.read(self, _Parameters)
        base_frame, deadline_s, mount = own.base_frame, own.availability_deadline_s, own.wrist_mount
        self._transforms = Buffer(node=self)
        self._listener = TransformListener(self._transforms, self)
        self._cameras = declare_cameras(
            self, ["scene", "wrist"], self._transforms, deadline_s, base_frame, self._robot, self._end_soon
        )
        made = declare_calibrations(self, self._robot)
        self._calibrated = CalibratedFrames(self, made, self._transforms) if made else None
        if mount and not any(one.camera == "wrist" for one in made):
            self._mount = StaticTransformBroadcaster(self)
            self._mount.sendTransform(transform_message(mount_pose(mount), self._robot.tip_frame, WRIST_LINK))
        group = MutuallyExclusiveCallbackGroup()  # the default group stays free for parameters
        self.create_service(CaptureImage, "capture_image", self._on_capture, callback_group=group)
        self.create_service(GetDepth, "get_depth", self._on_depth, callback_group=group)
        # Wall-clock time, because the robot's own may stand still.
        self._ending = self.create_timer(_ANSWER_S, self._end, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._ending.cancel()

    def _capture(self, name: str) -> Frame:
        camera = self._cameras.get(name or CaptureImage.Request.SCENE)
        if camera is None:
            raise invalid(f"camera must be {' or '.join(self._cameras)}, got {name!r}.")
        return camera.capture()

    def _end_soon(self) -> None:
        """A camera is lost: the node ends once the answer has left."""
        self._ending.reset()

    def _end(self) -> None:
        raise Unrecoverable(
            f"{SILENT_DEADLINES} requests in a row heard nothing of a camera whose driver is there; a new node may."
        )

    def _on_capture(self, request: Any, response: Any) -> Any:
        with answering(self, response, "capture_image"):
            frame = self._capture(request.camera)
            put_image(response, frame)
            response.status = success(_use("robot.capture_image", frame).text)
        return response

    def _on_depth(self, request: Any, response: Any) -> Any:
        with answering(self, response, "get_depth"):
            frame = self._capture(request.camera)
            header = header_of(frame)
            put_frame(response, frame)
            response.focal_length = float(frame.K[0, 0])
            if request.with_point_cloud:
                response.point_cloud = cloud_to_message(backproject(frame.depth, frame.K), frame.size, header)
            response.status = success("")
            if not request.data_only:
                tool = "robot.get_depth_with_pointcloud" if request.with_point_cloud else "robot.get_depth"
                result = _use(tool, frame)
                response.visualization = visualization(result, header)
                response.status = success(result.text)
        return response


def mount_pose(text: str) -> FloatArray:
    """The pose (4, 4) that "x y z roll pitch yaw" [m, rad] means, as in a URDF. Raises ToolError INVALID_ARGUMENT."""
    try:
        numbers = np.array([float(word) for word in text.split()])
    except ValueError:
        numbers = np.empty(0)
    if numbers.shape != (6,) or not np.isfinite(numbers).all():
        raise invalid(f"Parameter wrist_mount must be six numbers, x y z [m] roll pitch yaw [rad], got {text!r}.")
    R = np.eye(3)
    for angle, axis in zip(numbers[3:], np.eye(3), strict=True):  # about the parent's axes, x first
        R = matrix_from_quat_wxyz([np.cos(angle / 2.0), *(np.sin(angle / 2.0) * axis)]) @ R
    return pose(R, numbers[:3])


class _Taken:
    """A camera that shows an image which was taken before."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def capture(self) -> Frame:
        """See ports.Camera."""
        return self._frame


def _use(tool: str, frame: Frame) -> ToolResult:
    """What a tool makes of a frame."""
    return use_tool(Toolbox([CameraTools(_Taken(frame))]), tool, {}, Session())


def main(args: list[str] | None = None) -> None:
    """Run the node."""
    run_node(CameraNode, args)


if __name__ == "__main__":
    main()
