"""ROS 2 node `camera`: pictures and depth of the robot's cameras, as the services capture_image and get_depth."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from tf2_ros import Buffer, TransformListener
from toolhand_interfaces.srv import CaptureImage, GetDepth

from tool_nodes.geometry import backproject
from tool_nodes.results import ErrorCode, ToolError, ToolResult
from tool_nodes.robot import CameraTools
from tool_nodes.ros import parameters
from tool_nodes.ros.messages import (
    BASE_FRAME,
    cloud_to_message,
    header_of,
    put_frame,
    put_picture,
)
from tool_nodes.ros.spinning import run_node
from tool_nodes.ros.status import answering, success, use_tool, visualization
from tool_nodes.ros.topic_camera import SCENE_TOPICS, WRIST_TOPICS, CameraTopics, TopicCamera
from tool_nodes.toolbox import Session, Toolbox
from tool_nodes.types import Frame


class CameraNode(Node):
    """Serves the scene camera and the wrist camera.

    Parameters: `scene.image_topic`, `scene.camera_info_topic`, `scene.depth_topic`, the same of `wrist`, `base_frame`,
    and `availability_deadline_s` for a complete picture.
    """

    def __init__(self) -> None:
        super().__init__("camera")
        base_frame = parameters.text(self, "base_frame", BASE_FRAME, "Frame of the robot's base")
        deadline_s = parameters.seconds(self, "availability_deadline_s", 5.0, "How long to wait for a picture")
        self._transforms = Buffer(node=self)
        self._listener = TransformListener(self._transforms, self)
        self._cameras = {
            name: TopicCamera(self, self._topics(name, default), self._transforms, deadline_s, base_frame)
            for name, default in (("scene", SCENE_TOPICS), ("wrist", WRIST_TOPICS))
        }
        group = MutuallyExclusiveCallbackGroup()  # the default group stays free for parameters
        self.create_service(CaptureImage, "capture_image", self._on_capture, callback_group=group)
        self.create_service(GetDepth, "get_depth", self._on_depth, callback_group=group)

    def _topics(self, camera: str, default: CameraTopics) -> CameraTopics:
        return CameraTopics(
            *(
                parameters.text(self, f"{camera}.{entry.name}_topic", getattr(default, entry.name), "Topic")
                for entry in fields(CameraTopics)
            )
        )

    def _capture(self, name: str) -> Frame:
        camera = self._cameras.get(name or CaptureImage.Request.SCENE)
        if camera is None:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"camera must be {' or '.join(self._cameras)}, got {name!r}.")
        return camera.capture()

    def _on_capture(self, request: Any, response: Any) -> Any:
        with answering(self, response, "capture_image"):
            frame = self._capture(request.camera)
            put_picture(response, frame)
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


class _Taken:
    """A camera that shows a picture which was taken before."""

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
