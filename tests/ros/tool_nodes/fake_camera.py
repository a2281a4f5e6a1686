"""A scene camera that can be made to misbehave, and what the simulator tells beside it."""

import json
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header, String
from tf2_ros import StaticTransformBroadcaster

from toolhand.sim.ros.perception import IDS_TOPICS, LABELS_TOPIC
from toolhand.tool_nodes.camera_names import ZED, CameraTopics
from toolhand.tool_nodes.ros.messages import (
    BASE_FRAME,
    depth_to_image,
    header_of,
    intrinsics_to_info,
    matrix_to_pose,
    rgb_to_image,
)
from toolhand.tool_nodes.types import Frame


class FakeCamera:
    """A scene camera that sends one frame over and over while somebody listens, and can be made to misbehave.

    Attributes:
        change: Gets the messages by name ("image", "depth", "camera_info"), may change or remove them.
        header: Of the messages that are sent; None means the frame's.
        sent: How many times the frame was sent.
    """

    def __init__(
        self,
        node: Node,
        frame: Frame,
        items: list[str],
        topics: CameraTopics = ZED["new"].topics,
        profile: QoSProfile | int = 5,
    ) -> None:
        self._node = node
        self.frame = frame
        self.change: Callable[[dict[str, Any]], None] = lambda messages: None
        self.header: Callable[[], Header] | None = None
        self.sent = 0
        self._lock = threading.Lock()
        kinds = {"image": Image, "depth": Image, "camera_info": CameraInfo}
        self._publishers = {
            name: node.create_publisher(kind, getattr(topics, name), profile) for name, kind in kinds.items()
        }
        self._ids = node.create_publisher(Image, IDS_TOPICS[0], 5)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._labels = node.create_publisher(String, LABELS_TOPIC, latched)
        self.set_world(items)
        self._transforms = StaticTransformBroadcaster(node)
        self._transforms.sendTransform(transform_of(frame))
        self._timer = node.create_timer(0.03, self._send)

    def set_world(self, items: list[str]) -> None:
        labels = [{"id": f"object_{index}", "item": item} for index, item in enumerate(items)]
        self._labels.publish(String(data=json.dumps(labels)))

    def listeners(self) -> int:
        return sum(publisher.get_subscription_count() for publisher in self._publishers.values())

    def remove(self, name: str) -> None:
        """Publish nothing of this name any more."""
        with self._lock:
            self._node.destroy_publisher(self._publishers.pop(name))

    def behave(self) -> None:
        """End all misbehaviour."""
        self.change, self.header = (lambda messages: None), None

    def _send(self) -> None:
        with self._lock:  # nobody destroys a publisher meanwhile
            self._send_frame()

    def _send_frame(self) -> None:
        if not self.listeners():
            return
        frame, header = self.frame, self.header() if self.header else header_of(self.frame)
        messages: dict[str, Any] = {
            "image": rgb_to_image(frame.rgb, header),
            "depth": depth_to_image(frame.depth, header),
            "camera_info": intrinsics_to_info(frame.K, frame.size, header),
        }
        self.change(messages)
        if frame.ids is not None and self._ids.get_subscription_count():
            self._ids.publish(ids_message(frame.ids, header))
        for name, message in messages.items():
            self._publishers[name].publish(message)
        self.sent += 1


def ids_message(ids: np.ndarray, header: Header) -> Image:
    height, width = ids.shape
    data = ids.astype("<i4").tobytes()
    return Image(header=header, height=height, width=width, encoding="32SC1", step=4 * width, data=data)


def transform_of(frame: Frame) -> TransformStamped:
    pose = matrix_to_pose(frame.T_base_camera)
    message = TransformStamped()
    message.header.frame_id = BASE_FRAME
    message.child_frame_id = header_of(frame).frame_id
    for axis in "xyz":
        setattr(message.transform.translation, axis, getattr(pose.position, axis))
    message.transform.rotation = pose.orientation
    return message
