"""What every picture of a camera needs, whatever it comes from: a pose, light and depth."""

from __future__ import annotations

import time

from rclpy.duration import Duration
from rclpy.time import Time
from tf2_ros import Buffer, TransformException

from tool_nodes.results import ErrorCode, ToolError, unavailable
from tool_nodes.ros.messages import rigid
from tool_nodes.types import FloatArray, Frame

BLACK = 4
"""A picture without any value above this, of 255, is black."""


def pose_of(transforms: Buffer, base_frame: str, frame_id: str, stamp: Time, end: float) -> FloatArray:
    """The pose (4, 4) of a frame in the base frame at a time.

    Args:
        transforms: Filled by a `tf2_ros.TransformListener`.
        base_frame: Name of the base's frame.
        frame_id: Name of the camera's optical frame.
        stamp: Time of the picture.
        end: When to stop waiting for it, on the monotonic clock [s].

    Raises:
        ToolError: UNAVAILABLE where nobody publishes it.
        BadMessage: The transform holds NaN or a zero quaternion.
    """
    left = Duration(seconds=max(0.0, end - time.monotonic()))
    try:
        found = transforms.lookup_transform(base_frame, frame_id, stamp, timeout=left).transform
    except TransformException as error:
        raise unavailable(f"The pose of {frame_id} in {base_frame} is unknown: {error}.") from error
    p, q = found.translation, found.rotation
    return rigid((p.x, p.y, p.z), (q.w, q.x, q.y, q.z))


def require_usable(frame: Frame, picture: str, depth: str) -> None:
    """Raise ToolError UNAVAILABLE where the picture is black, NO_DEPTH where no pixel has depth.

    Args:
        frame: A new frame.
        picture: What the picture is called, as a sentence begins, e.g. "The ZED's picture".
        depth: What the depth image is called inside a sentence.
    """
    if int(frame.rgb.max()) <= BLACK:
        raise unavailable(f"{picture} is black.", "Is the lens covered, or the light off?")
    if not (frame.depth > 0.0).any():
        raise ToolError(ErrorCode.NO_DEPTH, f"No pixel of {depth} has depth.", "Check the depth camera.")
