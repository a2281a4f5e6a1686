"""What is watched of a robot over the graph: images, joints, frames with depth, and its description.

Each is subscribed to only while somebody listens: cameras take images for whoever listens.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from toolhand.console.layers import box_edges
from toolhand.console.robot import CameraImage, Close, JointPositions, MotionMark
from toolhand.tool_nodes.camera_names import WRIST, ZED
from toolhand.tool_nodes.geometry import transform
from toolhand.tool_nodes.ros.link import RosLink
from toolhand.tool_nodes.ros.messages import BadMessage, image_to_rgb, nanoseconds, pose_to_matrix
from toolhand.tool_nodes.ros.motion_markers import QOS, TOPIC
from toolhand.tool_nodes.ros.remote import RemoteCamera
from toolhand.tool_nodes.types import Box, FloatArray, Frame

TOPICS = {"scene": ZED["new"].topics.image, "wrist": WRIST.topics.image}
"""Topic of the colour images of each camera, where nothing else was chosen."""

MOST_PX = 4096 * 4096
"""Pixels of an image that is looked at: more than any camera of an arm has."""

MOST_MARKERS = 200
"""Markers of a motion that are shown; a scene has 60 boxes and five others."""
MOST_MARKER_POINTS = 5000
"""Points of a marker that are shown; the motion node sends a tenth."""
_CIRCLE = np.linspace(0.0, 2.0 * np.pi, 25)
"""Angles of the corners by which a disc is drawn [rad]."""

_NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""Old images and positions are not waited for."""


class Watching:
    """Subscriptions that last as long as somebody listens.

    Args:
        link: Takes part in the graph.
        topics: Topic of the colour images of each camera.
    """

    def __init__(self, link: RosLink, topics: Mapping[str, str] = TOPICS) -> None:
        self._link = link
        self._topics = topics
        self._lock = threading.Lock()
        self._cameras: dict[str, RemoteCamera] = {}
        self._description = ""
        self._describing: Any = None

    def images(self, camera: str, hear: Callable[[CameraImage], None]) -> Close:
        """See `toolhand.console.robot.Robot`. Images that cannot be read, or are too big, are left out."""

        def on_image(message: Any) -> None:
            if message.height * message.width > MOST_PX:
                return
            try:
                rgb = image_to_rgb(message)
            except BadMessage:
                return
            hear(CameraImage(camera, rgb, nanoseconds(message.header.stamp), time.monotonic()))

        return self._subscribe(Image, self._topics[camera], on_image)

    def joints(self, hear: Callable[[JointPositions], None]) -> Close:
        """See `toolhand.console.robot.Robot`. Positions that are no numbers are left out."""

        def on_state(message: Any) -> None:
            positions = np.array(message.position, float)
            if len(positions) == len(message.name) and np.isfinite(positions).all():
                hear(JointPositions(tuple(message.name), positions, nanoseconds(message.header.stamp)))

        return self._subscribe(JointState, "joint_states", on_state)

    def marks(self, hear: Callable[[tuple[MotionMark, ...]], None]) -> Close:
        """See `toolhand.console.robot.Robot`."""
        return self._subscribe(MarkerArray, TOPIC, lambda message: hear(marks_of(message)), QOS)

    def frame(self, camera: str) -> Frame:
        """See `toolhand.console.robot.Robot`. Raises ToolError UNAVAILABLE, NO_DEPTH or TIMEOUT."""
        with self._lock:
            if camera not in self._cameras:
                self._cameras[camera] = RemoteCamera(self._link.node, self._link.deadlines, camera)
        return self._cameras[camera].capture()

    def description(self) -> str:
        """See `toolhand.console.robot.Robot`; the first call subscribes, and the description that comes ends that."""
        with self._lock:
            if not self._description and self._describing is None:
                latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
                self._describing = self._subscribe(String, "robot_description", self._on_description, latched)
            if self._description and self._describing is not None:
                self._describing()
                self._describing = None
            return self._description

    def _on_description(self, message: Any) -> None:
        self._description = str(message.data)

    def _subscribe(
        self, kind: Any, topic: str, hear: Callable[[Any], None], profile: QoSProfile | None = None
    ) -> Close:
        group = MutuallyExclusiveCallbackGroup()
        node = self._link.node
        subscription = node.create_subscription(kind, topic, hear, profile or _NEWEST, callback_group=group)
        ended = threading.Lock()

        def close() -> None:
            if ended.acquire(blocking=False):
                node.destroy_subscription(subscription)

        return close


def marks_of(message: Any) -> tuple[MotionMark, ...]:
    """What the markers of a MarkerArray show, as points and lines; those that are no numbers are left out."""
    marks = []
    for marker in message.markers[:MOST_MARKERS]:
        with contextlib.suppress(BadMessage):
            if marker.action == Marker.ADD and (mark := _mark(marker)) is not None:
                marks.append(mark)
    return tuple(marks)


def _mark(marker: Any) -> MotionMark | None:
    """What a marker shows; None for kinds that are not drawn. Raises BadMessage."""
    T, none = pose_to_matrix(marker.pose), np.zeros((0, 2, 3))
    if marker.type in (Marker.CUBE, Marker.CYLINDER):
        half = np.array([marker.scale.x, marker.scale.y, marker.scale.z], float) / 2.0
        _require_numbers(half)
        if marker.type == Marker.CUBE:
            return MotionMark(marker.ns, none[:, 0], box_edges(Box(T, half)))
        circle = transform(T, np.column_stack([half[0] * np.cos(_CIRCLE), half[1] * np.sin(_CIRCLE), 0.0 * _CIRCLE]))
        return MotionMark(marker.ns, none[:, 0], np.stack([circle[:-1], circle[1:]], axis=1))
    points = np.array([(p.x, p.y, p.z) for p in marker.points[:MOST_MARKER_POINTS]], float).reshape(-1, 3)
    _require_numbers(points)
    points = transform(T, points)
    match marker.type:
        case Marker.POINTS:
            return MotionMark(marker.ns, points, none)
        case Marker.LINE_LIST:
            return MotionMark(marker.ns, none[:, 0], points[: len(points) // 2 * 2].reshape(-1, 2, 3))
        case Marker.LINE_STRIP:
            return MotionMark(marker.ns, none[:, 0], np.stack([points[:-1], points[1:]], axis=1))
    return None


def _require_numbers(values: FloatArray) -> None:
    """Raises BadMessage where one of them is no number."""
    if not np.isfinite(values).all():
        raise BadMessage("A marker must not hold NaN or infinite numbers.")
