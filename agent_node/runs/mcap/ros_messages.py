"""Packets and definitions of ROS messages, for files that any ROS 2 tool reads; no ROS 2 is needed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from rclpy_zenoh.interfaces import get_class, registry, serialize, type_hash

STRING = "std_msgs/msg/String"
LOG = "rcl_interfaces/msg/Log"
JOINT_STATE = "sensor_msgs/msg/JointState"
IMAGE = "sensor_msgs/msg/Image"
CAMERA_INFO = "sensor_msgs/msg/CameraInfo"
COMPRESSED_IMAGE = "sensor_msgs/msg/CompressedImage"
TF_MESSAGE = "tf2_msgs/msg/TFMessage"
TRANSFORM = "geometry_msgs/msg/TransformStamped"
POINT = "geometry_msgs/msg/Point"
MARKER = "visualization_msgs/msg/Marker"
MARKER_ARRAY = "visualization_msgs/msg/MarkerArray"

INFO, ERROR = 20, 40
"""Levels of rcl_interfaces/msg/Log."""

_NANO = 1_000_000_000
"""Nanoseconds of a second."""
_SEPARATOR = "=" * 80
"""Line between two definitions of a concatenated schema, as MCAP's ros2msg encoding has it."""


def packet(name: str, /, **values: Any) -> bytes:
    """The CDR packet of a message, e.g. `packet("std_msgs/msg/String", data="x")`.

    Raises:
        InterfaceError: A value does not fit its field.
    """
    return bytes(serialize(message(name, **values)))


def message(name: str, /, **values: Any) -> Any:
    """A message. Raises InterfaceError where a value does not fit its field."""
    return get_class(name)(**values)


def stamp(time_ns: int) -> Any:
    """A time of so many nanoseconds; 0 or more."""
    return message("builtin_interfaces/msg/Time", sec=time_ns // _NANO, nanosec=time_ns % _NANO)


def header(time_ns: int, frame_id: str = "") -> Any:
    """A header with the time [ns] and the frame."""
    return message("std_msgs/msg/Header", stamp=stamp(time_ns), frame_id=frame_id)


def ros_text(text: str) -> str:
    """The text as a ROS string can hold it: NUL and half of a surrogate pair become question marks."""
    return text.replace("\0", "?").encode("utf-8", errors="replace").decode("utf-8")


def hash_of(name: str) -> str:
    """REP 2016's hash of a message, "RIHS01_" and 64 hexadecimal digits."""
    return type_hash(get_class(name))


@cache
def definition(name: str) -> str:
    """The text of a message and of all it contains, in MCAP's "ros2msg" form, which is rosbag2's."""
    known = registry()
    parts = [known.path(name).read_text(encoding="utf-8")]
    for inner in dict.fromkeys(_inner(name)):
        package, _, short = inner.split("/")
        parts.append(f"{_SEPARATOR}\nMSG: {package}/{short}\n{known.path(inner).read_text(encoding='utf-8')}")
    return "\n".join(parts)


def _inner(name: str) -> Iterator[str]:
    for field in registry().definition(name).fields:
        if field.type.nested:
            yield field.type.base
            yield from _inner(field.type.base)
