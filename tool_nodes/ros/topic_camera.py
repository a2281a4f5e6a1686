"""A camera on topics: the driver of a real one, or the simulator's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from rclpy.callback_groups import CallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, Image
from tf2_ros import Buffer

from toolhand.tool_nodes.camera_checks import BadMessage, NotRegistered, require_usable
from toolhand.tool_nodes.camera_names import CameraTopics
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.results import ToolError, unavailable
from toolhand.tool_nodes.ros.arm_trace import ArmTrace
from toolhand.tool_nodes.ros.calibration import rectified_by_name
from toolhand.tool_nodes.ros.calling import require_positive
from toolhand.tool_nodes.ros.frame_memory import FrameMemory
from toolhand.tool_nodes.ros.image_checks import pose_of, require_registered
from toolhand.tool_nodes.ros.image_matching import ImageMatching, MatchedMessages
from toolhand.tool_nodes.ros.messages import BASE_FRAME, RosFrame, make_frame, nanoseconds
from toolhand.tool_nodes.types import FloatArray

STAMP_TOLERANCE_S = 0.05
"""Image and depth of one image may be so far apart while the arm stands still [s]: more than a frame at 30 Hz, which
is what kinova_vision's two streams need."""

SILENT_DEADLINES = 3
"""Requests in a row that hear nothing of a running driver before the subscriptions are taken for lost."""

LINGER_S = 3.0
"""How long it goes on listening after an image [s]: a conversation asks for image, depth and cloud one after the
other."""

_REOPEN_S = 1.0
"""Subscriptions that were kept and bring nothing new for so long are made anew [s]."""

_OPENED = (("camera_info", CameraInfo), ("depth", Image), ("image", Image))
"""The image last: a simulator that renders for its first listener would send it before the others listen."""


class TopicCamera:
    """The Camera port over topics. It listens while images are wanted and `LINGER_S` longer, so that nothing renders
    for nobody; not longer where time stands still, because its stepper wants no more images.

    `capture` blocks: call it from a thread of your own, or in a callback of a MultiThreadedExecutor whose other threads
    are free for the messages.

    Args:
        node: Listens.
        topics: Where the images are.
        transforms: Filled by a `tf2_ros.TransformListener`: the camera's pose.
        deadline_s: Wall-clock seconds within which an image must be complete; greater than 0.
        base_frame: Frame of the robot's base.
        stamp_tolerance_s: How far image and depth may be apart while the arm stands still [s]; 0 demands one stamp.
        robot: Robot with the wrist camera; the default robot where None.
        rectified: Whether the image is without distortion already; as its topic's name says where None. What is raw is
            rectified here.
        lost: Called after `SILENT_DEADLINES` requests in a row that heard nothing on a topic that has a publisher.
        camera: "scene" or "wrist".
        registered_by: Argument with which its driver sends depth that is registered to the image; empty where that
            is not known.
    """

    def __init__(
        self,
        node: Node,
        topics: CameraTopics,
        transforms: Buffer,
        deadline_s: float = 5.0,
        base_frame: str = BASE_FRAME,
        stamp_tolerance_s: float = STAMP_TOLERANCE_S,
        robot: RobotModel | None = None,
        rectified: bool | None = None,
        lost: Callable[[], None] = lambda: None,
        camera: str = "scene",
        registered_by: str = "",
    ) -> None:
        require_positive("deadline_s", deadline_s)
        self._node = node
        self._topics = topics
        self._transforms = transforms
        self._deadline_s = deadline_s
        self._base_frame = base_frame
        self._tolerance_ns = round(stamp_tolerance_s * 1e9)
        self._rectified = rectified_by_name(topics.image, topics.depth, rectified)
        self._silent_deadlines, self._lost = 0, lost
        self._camera = camera
        given = f": start the driver with {registered_by}." if registered_by else "; see the settings of its driver."
        self._registration = f"Depth must be registered to the image{given}"
        self._group: CallbackGroup = ReentrantCallbackGroup()
        self._one_at_a_time = threading.Lock()
        self._frames = FrameMemory()
        self._subscriptions: list[Subscription] = []
        self._profiles: list[QoSProfile] = []
        self._matching: ImageMatching | None = None
        self._latched: CameraInfo | None = None
        self._arm = ArmTrace(node, self._on_arm, robot=robot)
        # Wall-clock time, because the robot's own may stand still.
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._leaving = node.create_timer(LINGER_S, self._leave, callback_group=self._group, clock=steady)
        self._leaving.cancel()

    def capture(self) -> RosFrame:
        """An image that is not older than this call; the same image gives the same frame.

        Raises:
            ToolError: UNAVAILABLE where no usable image comes, the camera's pose is unknown, or the image is black
                or cannot be read; NO_DEPTH where no pixel has depth.
        """
        with self._one_at_a_time:
            end = time.monotonic() + self._deadline_s
            image = self._listen(end)
            stamp = Time.from_msg(image.image.header.stamp)
            T_base_camera = self._pose(image.image.header.frame_id, stamp, end)
            return self._frames.known(self._checked(image, T_base_camera, end))

    def close(self) -> None:
        """Listen no more, until the next image is wanted."""
        with self._one_at_a_time:
            self._leaving.cancel()
            self._close()

    # -- listening -------------------------------------------------------------------------------

    def _listen(self, end: float) -> MatchedMessages:
        clock = self._node.get_clock()
        stays = False
        profiles = [self._profile(kind) for kind, _ in _OPENED]
        if profiles != self._profiles:  # another driver publishes now
            self._close()
        self._matching = matching = ImageMatching(
            lambda: int(clock.now().nanoseconds), self._tolerance_ns, self._arm.turned, self._latched
        )
        try:
            if self._subscriptions:
                with suppress(TimeoutError):
                    matching.wait(min(end, time.monotonic() + _REOPEN_S), last_chance=False)
                if matching.outdated():
                    self._close()
            if not self._subscriptions:
                self._open(profiles)
            image = matching.wait(end)
            self._silent_deadlines = 0
            stays = int(clock.now().nanoseconds) > nanoseconds(image.image.header.stamp)
        except TimeoutError:
            raise self._incomplete(matching) from None
        finally:
            self._matching = None
            if stays:
                self._leaving.reset()
            else:
                self._close()
        return image

    def _open(self, profiles: list[QoSProfile]) -> None:
        self._profiles = profiles
        # Without the events' own entities, which a real rclpy's executor may wait for while they are destroyed.
        events = SubscriptionEventCallbacks(use_default_callbacks=False)
        self._subscriptions = [
            self._node.create_subscription(
                message_type,
                getattr(self._topics, kind),
                partial(self._on_message, kind),
                profile,
                callback_group=self._group,
                event_callbacks=events,
            )
            for (kind, message_type), profile in zip(_OPENED, profiles, strict=True)
        ]

    def _close(self) -> None:
        subscriptions, self._subscriptions = self._subscriptions, []
        for subscription in subscriptions:
            self._node.destroy_subscription(subscription)
        self._latched = None
        self._arm.close()

    def _leave(self) -> None:
        """No image was requested for a while."""
        if not self._one_at_a_time.acquire(blocking=False):
            return  # a request has come since
        try:
            self._leaving.cancel()
            self._close()
        finally:
            self._one_at_a_time.release()

    def _profile(self, kind: str) -> QoSProfile:
        """What the publishers offer: best effort matches them all, but loses big images where buffers are small."""
        offered = [info.qos_profile for info in self._publishers(kind)]
        reliable = offered and all(profile.reliability == ReliabilityPolicy.RELIABLE for profile in offered)
        latched = offered and all(profile.durability == DurabilityPolicy.TRANSIENT_LOCAL for profile in offered)
        return QoSProfile(
            depth=5,
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
            durability=DurabilityPolicy.TRANSIENT_LOCAL
            if latched and kind == "camera_info"
            else DurabilityPolicy.VOLATILE,
        )

    def _publishers(self, kind: str) -> list[Any]:
        found: list[Any] = self._node.get_publishers_info_by_topic(getattr(self._topics, kind))
        return found

    def _on_message(self, kind: str, message: Any) -> None:
        if kind == "camera_info" and self._profiles[0].durability == DurabilityPolicy.TRANSIENT_LOCAL:
            self._latched = message
        matching = self._matching
        if matching is not None:
            matching.add(kind, message)

    def _on_arm(self) -> None:
        matching = self._matching
        if matching is not None:
            matching.look_again()

    def _incomplete(self, matching: ImageMatching) -> ToolError:
        """Why there was no image in time."""
        waited = f"within {self._deadline_s:g} s"
        silent = matching.silent()
        absent = [kind for kind in silent if not self._publishers(kind)]
        self._silent_deadlines = self._silent_deadlines + 1 if silent and not absent else 0
        if self._silent_deadlines >= SILENT_DEADLINES:
            self._lost()
        if silent:
            why = f"nobody publishes {self._name(absent[0])}" if absent else f"nothing came on {self._name(silent[0])}"
            hint = self._registration if absent == ["depth"] else "Look at the camera's driver."
            return unavailable(f"No picture came from the camera {waited}: {why}.", hint)
        slower, behind_s = matching.behind()
        if behind_s > 0.0:
            return unavailable(
                f"The camera is stale: its newest picture on {self._name(slower)} is {behind_s:.2f} s older than the "
                "request.",
                "Look at the camera's driver, at the clocks and at use_sim_time.",
            )
        return unavailable(f"No picture came from the camera {waited}: {matching.rejected}.")

    def _name(self, kind: str) -> str:
        """The topic's name as the graph knows it."""
        return str(self._node.resolve_topic_name(getattr(self._topics, kind)))

    # -- the frame -------------------------------------------------------------------------------

    def _pose(self, frame_id: str, stamp: Time, end: float) -> FloatArray:
        """T_base_camera (4, 4) at the time of the image."""
        return self._readable(lambda: pose_of(self._transforms, self._base_frame, frame_id, stamp, end))

    def _checked(self, shown: MatchedMessages, T_base_camera: FloatArray, end: float) -> RosFrame:
        image, depth, info = shown.image, shown.depth, shown.camera_info
        self._readable(lambda: require_registered(self._transforms, image.header, depth.header, end))
        options = self._tolerance_ns, self._rectified, self._camera
        frame: RosFrame = self._readable(lambda: make_frame(image, depth, info, T_base_camera, *options))
        require_usable(frame, f"The picture on {self._name('image')}", self._name("depth"))
        return frame

    def _readable(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except BadMessage as error:
            hint = self._registration if isinstance(error, NotRegistered) else ""
            raise unavailable(f"The camera on {self._name('image')} cannot be used: {error}", hint) from error
