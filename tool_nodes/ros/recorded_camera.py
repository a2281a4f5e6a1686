"""Frames of messages that were kept: what `topic_camera` makes of those that come, with the same checks."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from rclpy.duration import Duration
from rclpy.time import Time
from sensor_msgs.msg import CompressedImage, Image
from tf2_ros import Buffer

from toolhand.tool_nodes.camera_checks import BadMessage, known_depth, require_usable
from toolhand.tool_nodes.camera_names import CameraTopics
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.ros.calibration import rectified_by_name
from toolhand.tool_nodes.ros.image_checks import pose_of, require_registered
from toolhand.tool_nodes.ros.messages import RosFrame, depth_to_image, make_frame, nanoseconds, rgb_to_image
from toolhand.tool_nodes.toolbox.image_files import ImageFileError, opened

TF, TF_STATIC = "/tf", "/tf_static"
"""Topics of the transforms."""

NEAR_NS = 20_000_000
"""Colour and depth whose stamps differ by no more show the same moment [ns]: less than a period at 30 Hz."""

_DAYS = Duration(seconds=1e7)
"""Transforms of so long a recording are kept."""

_DEPTH_HEADER = struct.Struct("<iff")
"""What compressed_depth_image_transport writes before its PNG: the format, and A and B of depth = A / (value - B)."""


def compressed_topics(names: CameraTopics) -> Mapping[str, tuple[str, ...]]:
    """Where image_transport publishes colour and depth of a camera: as they are, then compressed."""
    return {
        "image": (names.image, f"{names.image}/compressed"),
        "depth": (names.depth, f"{names.depth}/compressedDepth", f"{names.depth}/compressed"),
    }


def frames_of(
    messages: Iterable[tuple[str, Any]],
    names: CameraTopics,
    camera: str,
    base_frame: str,
    left_out: Callable[[str], None],
) -> Iterator[RosFrame]:
    """The images of a camera that have depth, in the order of their stamps.

    Args:
        messages: (topic, message) of the camera's topics, as they are or compressed, and of the transforms.
        names: Names of the topics.
        camera: "scene" or "wrist".
        base_frame: Frame of the robot's base.
        left_out: Told why an image cannot be used, in one sentence; the others are given all the same.

    Raises:
        ToolError: INVALID_ARGUMENT where several images of one topic have the same stamp.
    """
    transforms = Buffer(cache_time=_DAYS)
    kept: dict[str, dict[int, Any]] = {"image": {}, "depth": {}, "camera_info": {}}
    kinds = {topic: kind for kind, topics in compressed_topics(names).items() for topic in topics}
    kinds[names.camera_info] = "camera_info"
    for topic, message in messages:
        if topic in (TF, TF_STATIC):
            add = transforms.set_transform if topic == TF else transforms.set_transform_static
            for transform in message.transforms:
                add(transform, topic)
            continue
        stamp_ns = nanoseconds(message.header.stamp)
        if kept[kinds[topic]].setdefault(stamp_ns, message) is not message and kinds[topic] != "camera_info":
            raise invalid(
                f"{topic} has several pictures with the stamp {stamp_ns / 1e9:g} s: none is known to be first."
            )
    rectified = rectified_by_name(names.image, names.depth)
    for stamp_ns, deep in sorted(kept["depth"].items()):
        image, info = _nearest(kept["image"], stamp_ns, NEAR_NS), _nearest(kept["camera_info"], stamp_ns)
        if image is None or info is None:
            left_out("No colour picture and calibration have the time of its depth.")
            continue
        try:
            image, depth = decompressed(image), decompressed(deep)
            require_registered(transforms, image.header, depth.header, 0.0)
            # A stamp of 0 would ask tf2 for its newest transform.
            at = Time(nanoseconds=max(nanoseconds(image.header.stamp), 1))
            T_base_camera = pose_of(transforms, base_frame, image.header.frame_id, at, 0.0)
            frame = make_frame(image, depth, info, T_base_camera, NEAR_NS, rectified, camera)
            require_usable(frame, f"The picture on {names.image}", names.depth)
        except (BadMessage, ToolError) as error:
            left_out(str(error))
            continue
        yield frame


def _nearest(messages: Mapping[int, Any], at: int, within: int | None = None) -> Any:
    best = min(messages, key=lambda stamp: abs(stamp - at), default=None)
    return None if best is None or (within is not None and abs(best - at) > within) else messages[best]


def decompressed(message: Image | CompressedImage) -> Image:
    """The image of one that image_transport has compressed (JPEG, PNG, or depth as PNG); any other as it is.

    Raises:
        BadMessage: It cannot be read.
    """
    if hasattr(message, "encoding"):
        return message
    data, encoding = bytes(message.data), message.format.partition(";")[0].strip()
    deep = "compressedDepth" in message.format
    if deep and data[_DEPTH_HEADER.size : _DEPTH_HEADER.size + 4] != b"\x89PNG":
        raise BadMessage(f"The depth image is packed as {message.format[:60]!r}, but must be a PNG.")
    try:
        with opened(data[_DEPTH_HEADER.size :] if deep else data) as image:
            if image.mode != "I;16":
                return rgb_to_image(np.array(image.convert("RGB")), message.header)
            raw = np.array(image)
    except ImageFileError as error:
        raise BadMessage(f"A compressed picture cannot be read: {error}.") from error
    if deep and encoding == "32FC1":
        _, a, b = _DEPTH_HEADER.unpack_from(data)
        values = raw.astype(np.float32)
        return depth_to_image(np.where(values > b, np.float32(a) / (values - np.float32(b)), np.nan), message.header)
    return depth_to_image(known_depth(raw, 1000.0, "depth image", "send millimetres"), message.header)
