"""Images of a conversation in requests: the camera frame, the part of it that is shown, what was drawn over it."""

from __future__ import annotations

from typing import Any

import numpy as np
from std_msgs.msg import Header

from toolhand.tool_nodes.ros.frame_memory import FrameMemory
from toolhand.tool_nodes.ros.messages import (
    BadMessage,
    box_to_message,
    header_of,
    image_to_rgb,
    message_to_box,
    put_frame,
    rgb_to_image,
)
from toolhand.tool_nodes.toolbox.images import FrameWindow, SessionImage

_ROUNDING_PX = 1e-6
"""A window whose middle and sizes were sent is off by less than this [px]."""


def put_image(request: Any, image: SessionImage) -> None:
    """Fill the fields `image`, `depth`, `camera_info`, `camera_pose`, `window` and `image` that requests share."""
    frame = image.frame
    if frame is None:
        request.image = rgb_to_image(image.rgb, Header())
        return
    put_frame(request, frame)
    if image.window is not None:
        request.window = box_to_message(*image.window)
    if image.scale != (1.0, 1.0) or not np.array_equal(image.rgb, image.cut(frame.rgb)):
        request.shown = rgb_to_image(image.rgb, header_of(frame))


def take_image(request: Any, frames: FrameMemory) -> SessionImage:
    """The image that `put_image` put into a request.

    Args:
        request: Holds the fields.
        frames: Gives the same frame for equal content.

    Raises:
        BadMessage: The first object that is wrong or does not fit together.
    """
    if _is_alone(request):
        return SessionImage(image_to_rgb(request.image))
    frame = frames.take(request)
    window = _window(request.window, frame.size)
    if request.shown.width or request.shown.height:
        return SessionImage(image_to_rgb(request.shown), frame, window)
    whole = SessionImage(frame.rgb, frame)
    if window is None:
        return whole
    sides = [round(side) for side in window]
    if any(abs(side - whole_px) > _ROUNDING_PX for side, whole_px in zip(window, sides, strict=True)):
        raise BadMessage("A window that cuts pixels needs the picture that it shows.")
    return whole.cropped(*sides)


def _window(message: Any, size: tuple[int, int]) -> FrameWindow | None:
    """The part of a frame of size (width, height) [px] that is shown; None for all of it. Raises BadMessage."""
    if not (message.size_x or message.size_y):
        return None
    left, top, right, bottom = message_to_box(message)
    inside = all(
        -_ROUNDING_PX <= low < high <= side + _ROUNDING_PX
        for low, high, side in ((left, right, size[0]), (top, bottom, size[1]))
    )
    if not inside:
        raise BadMessage(
            f"The window does not lie in the image: [{left:g}, {top:g}, {right:g}, {bottom:g}] is no part of "
            f"{size[0]}x{size[1]} px."
        )
    return max(left, 0.0), max(top, 0.0), min(right, size[0]), min(bottom, size[1])


def header_for(image: SessionImage) -> Header:
    """The header of answers about an image: of its capture; empty for an image of no camera."""
    return Header() if image.frame is None else header_of(image.frame)


def _is_alone(request: Any) -> bool:
    """True for an image that comes without anything of a camera."""
    return bool(
        request.image.width
        and not request.camera_pose.header.frame_id
        and not (request.camera_info.width or request.camera_info.height)
        and not (request.depth.width or request.depth.height)
    )
