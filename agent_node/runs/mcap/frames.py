"""Pictures with depth, calibration and camera pose out of a recording, of a run or of a camera's driver."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent_node.runs.mcap import ros_messages as ros
from agent_node.runs.mcap.reading import read_messages
from rclpy_zenoh.interfaces import deserialize, get_class
from tool_nodes import geometry
from tool_nodes.camera_names import REALSENSE, WRIST, ZED, CameraTopics
from tool_nodes.results import ToolError, invalid
from tool_nodes.toolbox.picture_files import PictureFileError, opened
from tool_nodes.types import FloatArray, Frame

BASE_FRAME = "base_link"
"""The robot's base in transforms, unless another frame is named."""

_OWN = {
    name: CameraTopics(f"/camera/{name}/image", f"/camera/{name}/camera_info", f"/camera/{name}/depth")
    for name in ("scene", "wrist")
}
_KNOWN = {
    "scene": (_OWN["scene"], *(names.topics for names in ZED.values()), REALSENSE.topics),
    "wrist": (_OWN["wrist"], WRIST.topics, REALSENSE.topics),
}
"""Topics that are looked for, by camera."""
_NEAR_NS = 20_000_000
"""Colour and depth whose stamps differ by no more show the same moment [ns]: less than a period at 30 Hz."""
_CHANNELS: Mapping[str, tuple[int, ...]] = {
    "rgb8": (0, 1, 2),
    "bgr8": (2, 1, 0),
    "rgba8": (0, 1, 2),
    "bgra8": (2, 1, 0),
}
"""Which channels of a raw picture are red, green and blue."""


def recorded_frames(path: Path, camera: str = "scene", base_frame: str = BASE_FRAME) -> Iterator[Frame]:
    """The pictures of a camera that have depth, in the order of their stamps.

    Args:
        path: A rosbag2 file (MCAP): of a run with `--record-depth`, or of the ZED wrapper, kinova_vision or
            realsense2_camera, with depth that is registered to the colours.
        camera: "scene" or "wrist".
        base_frame: Frame of the robot's base.

    Raises:
        ToolError: INVALID_ARGUMENT for a file that is damaged, without such pictures, or without the camera's pose.
    """
    wanted = {topic for names in _KNOWN[camera] for topic in (*vars(names).values(), f"{names.image}/compressed")}
    messages = read_messages(path, wanted | {"/tf", "/tf_static"})
    present = {topic for topic, _, _ in messages}
    for names in _KNOWN[camera]:
        colour = next((t for t in (names.image, f"{names.image}/compressed") if t in present), "")
        if colour and names.depth in present:
            yield from _frames(path, messages, names, colour, camera, base_frame)
            return
    raise invalid(
        f"{path} holds no colour pictures with depth of the {camera} camera.",
        "A run keeps depth with --record-depth.",
    )


def _frames(
    path: Path,
    messages: list[tuple[str, int, bytes]],
    names: CameraTopics,
    colour: str,
    camera: str,
    base_frame: str,
) -> Iterator[Frame]:
    kinds = {
        names.depth: ros.IMAGE,
        names.camera_info: ros.CAMERA_INFO,
        "/tf": ros.TF_MESSAGE,
        "/tf_static": ros.TF_MESSAGE,
    }
    kinds[colour] = ros.COMPRESSED_IMAGE if colour.endswith("/compressed") else ros.IMAGE
    tree, stamped = _Tree(), {topic: dict[int, Any]() for topic in kinds}
    for topic, _, packet in messages:
        if topic not in kinds:
            continue
        message = deserialize(packet, get_class(kinds[topic]))
        if topic.startswith("/tf"):
            tree.add(message, static=topic == "/tf_static")
        else:
            stamped[topic][_ns(message.header.stamp)] = message
    pictures, calibrations = stamped[colour], stamped[names.camera_info]
    found = 0
    for at, deep in sorted(stamped[names.depth].items()):
        seen, known = _nearest(pictures, at), _nearest(calibrations, at, None)
        if seen is None or known is None:
            continue
        rgb, depth = _rgb(path, seen), _depth(path, deep)
        if rgb.shape[:2] != depth.shape:
            raise invalid(f"{path}: depth must be registered to the colours, pixel by pixel, but the sizes differ.")
        T = tree.pose(base_frame, seen.header.frame_id, at)
        if T is None:
            raise invalid(
                f"{path} does not say where {seen.header.frame_id!r} is in {base_frame!r}: no such transforms."
            )
        found += 1
        K = np.array(known.k, dtype=float).reshape(3, 3)
        yield Frame(rgb, depth, K, geometry.carried(T), at / 1e9, camera)
    if not found:
        raise invalid(f"{path}: no colour picture and calibration of the {camera} camera have the time of its depth.")


def _nearest(messages: Mapping[int, Any], at: int, within: int | None = _NEAR_NS) -> Any:
    best = min(messages, key=lambda stamp: abs(stamp - at), default=None)
    return None if best is None or (within is not None and abs(best - at) > within) else messages[best]


def _ns(stamp: Any) -> int:
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def _rgb(path: Path, message: Any) -> NDArray[np.uint8]:
    if not hasattr(message, "encoding"):
        try:
            with opened(bytes(message.data)) as picture:
                return np.array(picture.convert("RGB"))
        except PictureFileError as error:
            raise invalid(f"{path} holds a picture that cannot be shown: {error}.") from error
    channels = _CHANNELS.get(message.encoding)
    if channels is None:
        raise _encoding(path, message, _CHANNELS)
    return _pixels(path, message, np.dtype(np.uint8), len(message.encoding.rstrip("8")))[:, :, channels]


def _depth(path: Path, message: Any) -> NDArray[np.float32]:
    if message.encoding in ("16UC1", "mono16"):  # the second from zed_wrapper with openni_depth_mode
        millimetres = _pixels(path, message, np.dtype("<u2"))[:, :, 0]
        return np.where(millimetres == 0, np.float32(np.nan), millimetres.astype(np.float32) / np.float32(1000.0))
    if message.encoding == "32FC1":
        metres = _pixels(path, message, np.dtype("<f4"))[:, :, 0]
        return np.where(np.isfinite(metres) & (metres > 0.0), metres, np.float32(np.nan))
    raise _encoding(path, message, ("16UC1", "mono16", "32FC1"))


def _encoding(path: Path, message: Any, allowed: Any) -> ToolError:
    return invalid(f"{path}: a picture is encoded as {message.encoding[:20]!r}, not as {' or '.join(allowed)}.")


def _pixels(path: Path, message: Any, kind: np.dtype[Any], channels: int = 1) -> NDArray[Any]:
    row = message.width * channels * kind.itemsize
    data = np.frombuffer(bytes(message.data), np.uint8)
    if message.is_bigendian or message.step < row or data.size != message.step * message.height:
        raise invalid(f"{path} holds a picture whose size is not what it says.")
    rows = np.ascontiguousarray(data.reshape(message.height, message.step)[:, :row])
    return rows.view(kind).reshape(message.height, message.width, channels)


@dataclass
class _Tree:
    """Transforms over time: for each child its parent, and the stamps [ns] and poses in it."""

    parents: dict[str, str] = field(default_factory=dict)
    moved: dict[str, list[tuple[int, FloatArray]]] = field(default_factory=dict)
    fixed: dict[str, FloatArray] = field(default_factory=dict)

    def add(self, message: Any, static: bool) -> None:
        for transform in message.transforms:
            child, turn, at = transform.child_frame_id, transform.transform.rotation, transform.transform.translation
            quaternion = np.array([turn.w, turn.x, turn.y, turn.z])
            if not np.isfinite(quaternion).all() or not np.linalg.norm(quaternion) > 0.0:
                continue
            T = geometry.pose(
                geometry.matrix_from_quat_wxyz(quaternion / np.linalg.norm(quaternion)), [at.x, at.y, at.z]
            )
            self.parents[child] = transform.header.frame_id
            if static:
                self.fixed[child] = T
            else:
                self.moved.setdefault(child, []).append((_ns(transform.header.stamp), T))

    def pose(self, base: str, frame: str, at: int) -> FloatArray | None:
        """Pose (4, 4) of a frame in the base at a time [ns]: the newest ones that are not later; None where unknown."""
        T, steps = np.eye(4), 0
        while frame != base:
            link, steps = self._link(frame, at), steps + 1
            if link is None or steps > len(self.parents):
                return None
            T, frame = link @ T, self.parents[frame]
        return T

    def _link(self, child: str, at: int) -> FloatArray | None:
        poses = sorted(self.moved.get(child, []), key=lambda stamped: stamped[0])
        if not poses:
            return self.fixed.get(child)
        k = bisect_right([stamp for stamp, _ in poses], at)
        return poses[max(k - 1, 0)][1]
