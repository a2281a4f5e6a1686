"""The two cameras' topics. Images are rendered in a thread of their own, and only while there is a subscriber.

The thread takes a copy of the positions from the physics and renders that, so that time goes on meanwhile. One image
of a stamp serves image, depth and ids, and is sent again rather than rendered again.

The noise of an image depends on how many were rendered before it. In lockstep images are therefore those of the
process, byte for byte, where listeners come for an image and go before time passes.
"""

from __future__ import annotations

import array
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header

from toolhand.sim.camera.following import qpos_before
from toolhand.sim.camera.ray import AUTO, jittered, make_camera, scene_camera, wrist_camera
from toolhand.sim.camera.sensor import device, latency_of, make_sensor
from toolhand.sim.camera.shading import wood_grain
from toolhand.sim.ros.perception import IDS_DEPTH
from toolhand.sim.ros.physics import Physics
from toolhand.sim.ros.settings import Settings
from toolhand.sim.ros.state import StatePublisher, stamp_ns
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.world import World
from toolhand.tool_nodes.camera_names import WRIST, ZED, CameraNames
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.ros.messages import depth_to_image, intrinsics_to_info, rgb_to_image, time_message
from toolhand.tool_nodes.types import FloatArray, Frame

POLL_S = 0.02
"""How often the thread looks for new listeners [s]."""

PHYSICS_DEADLINE_S = 5.0
"""How long a camera waits for the physics thread, wall clock [s]; a round figure."""


@dataclass(frozen=True)
class Moment:
    """Where everything is at one time: what an image is made of."""

    generation: int
    model: mujoco.MjModel
    body_index: dict[int, int]
    scene: Scene
    robot: RobotModel
    qpos: FloatArray
    time: float
    stamp_ns: int


DepthToImage = Callable[[NDArray[np.float32], Header], Image]


@dataclass(frozen=True)
class PublishedCamera:
    """Names of one camera's topics and frame, and how its depth is encoded."""

    image: str
    image_info: str
    depth: str
    depth_info: str
    ids: str
    frame_id: str
    depth_to_image: DepthToImage


def image_of(pixels: NDArray[Any], encoding: str, header: Header) -> Image:
    """An image of little-endian pixels (H, W)."""
    height, width = pixels.shape
    data = array.array("B")
    data.frombytes(np.ascontiguousarray(pixels).data.cast("B"))
    step = width * pixels.itemsize
    return Image(header=header, height=height, width=width, encoding=encoding, step=step, data=data)


def depth_to_millimetres(depth: NDArray[np.float32], header: Header) -> Image:
    """A 16UC1 image of depth (H, W) [m], whole millimetres, 0 where unknown."""
    millimetres = np.where(np.isfinite(depth), np.rint(depth * np.float32(1000.0)), np.float32(0.0))
    return image_of(np.clip(millimetres, 0, 65535).astype("<u2"), "16UC1", header)


def topics_of(zed_names: str) -> dict[str, PublishedCamera]:
    """The topics of both cameras as kinova_vision and the ZED wrapper ("new" or "old") name them, and the truth."""
    return {
        "scene": _topics_like(ZED[zed_names], "sim/scene_camera/instance_ids", depth_to_image),
        "wrist": _topics_like(WRIST, "sim/wrist_camera/instance_ids", depth_to_millimetres),
    }


def _topics_like(driver: CameraNames, ids: str, to_image: DepthToImage) -> PublishedCamera:
    topics = (driver.topics.image, driver.topics.camera_info, driver.topics.depth, driver.depth_info)
    image, image_info, depth, depth_info = (topic.lstrip("/") for topic in topics)  # in the simulator's namespace
    return PublishedCamera(image, image_info, depth, depth_info, ids, driver.optical_frame, to_image)


class CameraStream:
    """One camera: its publishers, who listens to them, and the last image."""

    def __init__(self, node: Node, name: str, topics: PublishedCamera) -> None:
        self.name = name
        self._topics = topics
        self._image = node.create_publisher(Image, topics.image, 2)
        self._depth = node.create_publisher(Image, topics.depth, 2)
        self._infos = [node.create_publisher(CameraInfo, topic, 2) for topic in (topics.image_info, topics.depth_info)]
        self._ids = node.create_publisher(Image, topics.ids, IDS_DEPTH)
        self._listeners: list[int] = []
        self._next_due = 0.0
        self._world: tuple[int, mujoco.MjModel] | None = None
        self._sent: tuple[Frame, int] | None = None

    def wanted(self, period_s: float) -> bool:
        """True if an image is to be sent now: a new subscriber is there, or the period is over."""
        before, self._listeners = self._listeners, []
        if not self._image.get_subscription_count() and not self._depth.get_subscription_count():
            return False
        publishers = (self._image, self._depth, *self._infos, self._ids)
        self._listeners = [publisher.get_subscription_count() for publisher in publishers]
        now = time.monotonic()
        grown = not before or any(count > known for count, known in zip(self._listeners, before, strict=True))
        if not grown and now < self._next_due:
            return False
        self._next_due = now + period_s
        return True

    def send(self, moment: Moment, camera_of: CameraFactory, fault: str) -> None:
        """Render, unless there is an image of this moment already, and send."""
        if self._world is None or moment.generation != self._world[0] or moment.model is not self._world[1]:
            self._world, self._data = (moment.generation, moment.model), mujoco.MjData(moment.model)
            self._camera = camera_of(self.name, self._data, moment)
            self._sent = None
        if fault == "camera_stale" and self._sent is not None:
            frame, stamp = self._sent
        else:
            self._data.qpos[:], self._data.time = moment.qpos, moment.time
            frame, stamp = self._camera.capture(), moment.stamp_ns
            self._sent = frame, stamp
        self._publish(_spoiled(frame, fault), stamp, fault)

    def _publish(self, frame: Frame, stamp: int, fault: str) -> None:
        header = Header(stamp=time_message(stamp), frame_id=self._topics.frame_id)
        # The calibration first: who listens to all has it when the image comes.
        if fault != "camera_no_info":
            info = intrinsics_to_info(frame.K, frame.size, header)
            for publisher in self._infos:
                publisher.publish(info)
        if self._ids.get_subscription_count():
            assert frame.ids is not None
            self._ids.publish(image_of(frame.ids.astype("<i4", copy=False), "32SC1", header))
        if self._depth.get_subscription_count():
            self._depth.publish(self._topics.depth_to_image(frame.depth, header))
        if self._image.get_subscription_count():
            image = rgb_to_image(frame.rgb, header)
            if fault == "camera_wrong_encoding":
                image.encoding = "yuv422"
            self._image.publish(image)


CameraFactory = Callable[[str, mujoco.MjData, Moment], Camera]


def _spoiled(frame: Frame, fault: str) -> Frame:
    if fault == "camera_black":
        return replace(frame, rgb=np.zeros_like(frame.rgb))
    if fault == "camera_nan_depth":
        return replace(frame, depth=np.full_like(frame.depth, np.nan))
    return frame


class CameraServer:
    """Serves both cameras until it is closed.

    Args:
        physics: Knows where everything is.
        state: Publishes the transforms of each image's moment.
        settings: The parameters now; asked before each image.
    """

    def __init__(self, node: Node, physics: Physics, state: StatePublisher, settings: Callable[[], Settings]) -> None:
        self._physics = physics
        self._state = state
        self._settings = settings
        self._streams = [CameraStream(node, name, topics) for name, topics in topics_of(settings().zed_names).items()]
        self._log_error = node.get_logger().error
        self._reported = ""
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cameras", daemon=True)

    def start(self) -> None:
        """Begin.

        Raises:
            ToolError: UNAVAILABLE where there is no library for the renderer, or the sensor cannot be loaded.
        """
        if self._settings().renderer != AUTO:
            world = self._physics.world
            self._camera("scene", mujoco.MjData(world.model), self._moment_of("scene", world))
        self._thread.start()

    def close(self) -> None:
        """End the thread; an image that is being rendered is finished."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        # The first image would have to wait for the table's grain.
        wood_grain(np.zeros((1, 3), np.float32))
        while not self._closing.wait(POLL_S):
            for stream in self._streams:
                try:
                    if stream.wanted(1.0 / self._settings().camera_rate):
                        moment = self._physics.call(partial(self._moment, stream.name)).result(PHYSICS_DEADLINE_S)
                        stream.send(moment, self._camera, self._settings().fault)
                except ToolError as error:
                    self._report(f"The {stream.name} camera failed: {error}")
                except Exception as error:  # the other camera goes on; when the context ends, publishing fails
                    if not self._closing.wait(0.2):
                        self._report(f"The {stream.name} camera failed: {error!r}")

    def _report(self, sentence: str) -> None:
        """Say it once, not with every image."""
        if sentence != self._reported:
            self._reported = sentence
            self._log_error(sentence)

    def _moment(self, camera: str, world: World) -> Moment:
        """In the physics thread; the transforms of the moment go out before its image."""
        moment = self._moment_of(camera, world)
        self._state.publish_transforms(world, moment.stamp_ns)
        return moment

    def _moment_of(self, camera: str, world: World) -> Moment:
        settings = self._settings()
        latency_s = latency_of(device(settings.sensor, camera, settings.seed))
        stamp = stamp_ns(world, self._physics.time_offset)
        return Moment(
            self._physics.generation,
            world.model,
            world.body_index,
            world.scene,
            world.robot,
            qpos_before(world, latency_s).copy(),
            world.time,
            stamp,
        )

    def _camera(self, name: str, data: mujoco.MjData, moment: Moment) -> Camera:
        settings = self._settings()
        size = settings.image_size
        model = jittered(scene_camera(size), moment.scene) if name == "scene" else wrist_camera(moment.robot, size)
        return make_camera(
            settings.renderer,
            moment.model,
            data,
            model,
            moment.body_index,
            sensor=make_sensor(settings.sensor, name, settings.seed),
            seed=settings.seed,
            lamp_position=np.asarray(moment.scene.light_position_m),
        )
