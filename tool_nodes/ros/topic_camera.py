"""A camera on topics: the driver of a real one, or the simulator's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rclpy.callback_groups import CallbackGroup, ReentrantCallbackGroup
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, Image
from tf2_ros import Buffer, TransformException

from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.ros.calling import require_positive
from tool_nodes.ros.frame_memory import FrameMemory
from tool_nodes.ros.messages import BASE_FRAME, BadMessage, RosFrame, make_frame, nanoseconds, rigid
from tool_nodes.types import FloatArray

BLACK = 4
"""A picture without any value above this, of 255, is black."""

_KEPT = 8
"""Captures whose messages are still coming."""


@dataclass(frozen=True)
class CameraTopics:
    """Topics of one camera: colour (sensor_msgs/Image), its calibration, and depth in the colour image's frame."""

    image: str
    camera_info: str
    depth: str


SCENE_TOPICS = CameraTopics(
    "/zed/zed_node/rgb/image_rect_color", "/zed/zed_node/rgb/camera_info", "/zed/zed_node/depth/depth_registered"
)
"""As zed-ros2-wrapper names them."""

WRIST_TOPICS = CameraTopics(
    "/camera/color/image_raw", "/camera/color/camera_info", "/camera/depth_registered/image_rect"
)
"""As kinova_vision names them with depth_registration:=true."""


class TopicCamera:
    """The Camera port over topics. It listens only while a picture is wanted, so that nothing renders for nobody.

    `capture` blocks: call it from a thread of your own, or in a callback of a MultiThreadedExecutor whose other threads
    are free for the messages.

    Args:
        node: Listens.
        topics: Where the pictures are.
        transforms: Filled by a `tf2_ros.TransformListener`: tells where the camera is.
        deadline_s: Wall-clock seconds within which a picture must be complete; greater than 0.
        base_frame: Frame of the robot's base.
    """

    def __init__(
        self,
        node: Node,
        topics: CameraTopics,
        transforms: Buffer,
        deadline_s: float = 5.0,
        base_frame: str = BASE_FRAME,
    ) -> None:
        require_positive("deadline_s", deadline_s)
        self._node = node
        self._topics = topics
        self._transforms = transforms
        self._deadline_s = deadline_s
        self._base_frame = base_frame
        self._group: CallbackGroup = ReentrantCallbackGroup()
        self._one_at_a_time = threading.Lock()
        self._frames = FrameMemory()

    def capture(self) -> RosFrame:
        """A picture that is not older than this call; the same picture gives the same frame.

        Raises:
            ToolError: UNAVAILABLE where no usable picture comes, the camera's pose is unknown, or the picture is black
                or cannot be read; NO_DEPTH where no pixel has depth.
        """
        with self._one_at_a_time:
            end = time.monotonic() + self._deadline_s
            image, camera_info, depth = self._listen(end)
            stamp = Time.from_msg(image.header.stamp)
            T_base_camera = self._pose(image.header.frame_id, stamp, end)
            return self._frames.known(self._checked(image, depth, camera_info, T_base_camera))

    def _listen(self, end: float) -> tuple[Image, CameraInfo, Image]:
        clock = self._node.get_clock()
        topics = self._topics.image, self._topics.camera_info, self._topics.depth
        arrived = _Arrived(topics, lambda: int(clock.now().nanoseconds))
        subscriptions = [
            # The image last: a simulator that renders for its first listener would send it before the others listen.
            self._subscribe(CameraInfo, self._topics.camera_info, arrived.add),
            self._subscribe(Image, self._topics.depth, arrived.add),
            self._subscribe(Image, self._topics.image, arrived.add),
        ]
        try:
            image, camera_info, depth = arrived.wait(end)
        except TimeoutError:
            raise self._incomplete(arrived) from None
        finally:
            for subscription in subscriptions:
                self._node.destroy_subscription(subscription)
        return image, camera_info, depth

    def _subscribe(self, kind: type, topic: str, add: Callable[[str, Any], None]) -> Subscription:
        # Best effort matches every driver, reliable or not.
        profile = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
        return self._node.create_subscription(kind, topic, partial(add, topic), profile, callback_group=self._group)

    def _incomplete(self, arrived: _Arrived) -> ToolError:
        """Why there was no picture in time."""
        waited = f"within {self._deadline_s:g} s"
        silent = arrived.silent()
        if silent:
            absent = [topic for topic in silent if not self._node.count_publishers(topic)]
            why = f"nobody publishes {absent[0]}" if absent else f"nothing came on {silent[0]}"
            return _unavailable(f"No picture came from the camera {waited}: {why}.", "Look at the camera's driver.")
        behind_s = arrived.behind_s()
        if behind_s > 0.0:
            return _unavailable(
                f"The camera is stale: its newest picture on {self._topics.image} is {behind_s:.2f} s older than the "
                "request.",
                "Look at the camera's driver, at the clocks and at use_sim_time.",
            )
        return _unavailable(f"Image, depth and camera_info never had the same stamp {waited}.")

    def _pose(self, frame_id: str, stamp: Time, end: float) -> FloatArray:
        """T_base_camera (4, 4) at the time of the picture."""
        left = Duration(seconds=max(0.0, end - time.monotonic()))
        try:
            found = self._transforms.lookup_transform(self._base_frame, frame_id, stamp, timeout=left).transform
        except TransformException as error:
            raise _unavailable(f"The pose of {frame_id} in {self._base_frame} is unknown: {error}.") from error
        p, q = found.translation, found.rotation
        return self._readable(lambda: rigid((p.x, p.y, p.z), (q.w, q.x, q.y, q.z)))

    def _checked(self, image: Image, depth: Image, camera_info: CameraInfo, T_base_camera: FloatArray) -> RosFrame:
        frame: RosFrame = self._readable(lambda: make_frame(image, depth, camera_info, T_base_camera))
        if int(frame.rgb.max()) <= BLACK:
            raise _unavailable(
                f"The picture on {self._topics.image} is black.", "Is the lens covered, or the light off?"
            )
        if not (frame.depth > 0.0).any():
            raise ToolError(
                ErrorCode.NO_DEPTH, f"No pixel of {self._topics.depth} has depth.", "Check the depth camera."
            )
        return frame

    def _readable(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except BadMessage as error:
            raise _unavailable(f"The camera on {self._topics.image} cannot be used: {error}") from error


class _Arrived:
    """Messages by topic and stamp; complete when one stamp, not older than the object, has all topics.

    Args:
        topics: Their names.
        now_ns: The clock that the stamps are of [ns].
    """

    def __init__(self, topics: tuple[str, ...], now_ns: Callable[[], int]) -> None:
        self._topics = topics
        self._now_ns = now_ns
        self._wanted_ns = now_ns()
        self._newest: dict[str, int] = {}
        self._captures: dict[int, dict[str, Any]] = {}
        self._complete: dict[str, Any] | None = None
        self._changed = threading.Condition()

    def add(self, topic: str, message: Any) -> None:
        """Take one message."""
        stamp_ns = nanoseconds(message.header.stamp)
        with self._changed:
            self._newest[topic] = max(stamp_ns, self._newest.get(topic, stamp_ns))
            # A simulator that begins again sets its clock back; what was wanted lies in its future then.
            self._wanted_ns = min(self._wanted_ns, self._now_ns())
            if stamp_ns < self._wanted_ns:
                return
            capture = self._captures.setdefault(stamp_ns, {})
            capture[topic] = message
            if len(capture) == len(self._topics) and self._complete is None:
                self._complete = capture
                self._changed.notify_all()
            while len(self._captures) > _KEPT:
                self._captures.pop(min(self._captures))

    def wait(self, end: float) -> list[Any]:
        """The messages of one capture in the order of the topics. Raises TimeoutError at `end` (monotonic) [s]."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._complete is not None, max(0.0, end - time.monotonic())):
                raise TimeoutError
            assert self._complete is not None
            return [self._complete[topic] for topic in self._topics]

    def silent(self) -> list[str]:
        """Topics on which nothing came."""
        with self._changed:
            return [topic for topic in self._topics if topic not in self._newest]

    def behind_s(self) -> float:
        """How much older than the object the newest message of the slowest topic is [s]."""
        with self._changed:
            return (self._wanted_ns - min(self._newest.values())) / 1e9


def _unavailable(message: str, hint: str = "") -> ToolError:
    return ToolError(ErrorCode.UNAVAILABLE, message, hint)
