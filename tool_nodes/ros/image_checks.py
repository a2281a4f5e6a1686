"""Where a camera was when it took an image, by the transforms."""

from __future__ import annotations

import time

import numpy as np
from rclpy.duration import Duration
from rclpy.time import Time
from std_msgs.msg import Header
from tf2_ros import Buffer, TransformException

from toolhand.tool_nodes.camera_checks import NotRegistered
from toolhand.tool_nodes.geometry import rotation_angle
from toolhand.tool_nodes.results import ToolError, unavailable
from toolhand.tool_nodes.ros.messages import rigid
from toolhand.tool_nodes.types import FloatArray

SAME_PLACE_M, SAME_PLACE_RAD = 1e-3, 1e-3
"""Two frames so near each other are one [m, rad]: a pixel, at half a metre and with a focal length of 500 px."""


_SHOWN = 80
"""Characters of the name of a frame that a message repeats."""


def pose_of(transforms: Buffer, base_frame: str, frame_id: str, stamp: Time, end: float) -> FloatArray:
    """The pose (4, 4) of a frame in the base frame at a time.

    Args:
        transforms: Filled by a `tf2_ros.TransformListener`.
        base_frame: Name of the base's frame.
        frame_id: Name of the camera's optical frame.
        stamp: Time of the image.
        end: When to stop waiting for it, on the monotonic clock [s].

    Raises:
        ToolError: UNAVAILABLE where nobody publishes it.
        BadMessage: The transform holds NaN or a zero quaternion.
    """
    left = Duration(seconds=max(0.0, end - time.monotonic()))
    try:
        found = transforms.lookup_transform(base_frame, frame_id, stamp, timeout=left).transform
    except TransformException as error:
        shown = frame_id[:_SHOWN]  # a stranger's name may be of any length
        why = str(error).replace(frame_id, shown).rstrip(" .")
        raise unavailable(f"The pose of {shown} in {base_frame} is unknown: {why}.") from error
    p, q = found.translation, found.rotation
    return rigid((p.x, p.y, p.z), (q.w, q.x, q.y, q.z))


def require_registered(transforms: Buffer, image: Header, depth: Header, end: float) -> None:
    """Raise NotRegistered where depth is measured in another frame than the image.

    Args:
        transforms: Tells whether frames of two names lie at one place.
        image: Header of the colour image.
        depth: Header of the depth image.
        end: When to stop waiting for their places, on the monotonic clock [s].
    """
    frames = image.frame_id, depth.frame_id
    if frames[0] == frames[1] or not frames[1]:
        return
    try:
        T = pose_of(transforms, *frames, Time.from_msg(depth.stamp), end)
    except ToolError:
        apart = "whose place in it is not known"
    else:
        shift, turn = np.linalg.norm(T[:3, 3]), rotation_angle(np.eye(3), T[:3, :3])
        if shift <= SAME_PLACE_M and turn <= SAME_PLACE_RAD:
            return
        apart = f"which lies {shift * 1e3:.1f} mm and {np.degrees(turn):.2f} degrees away"
    raise NotRegistered(f"The image is in the frame {frames[0]}, but the depth image in {frames[1]}, {apart}.")
