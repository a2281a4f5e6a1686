"""Pictures of a conversation in requests: the camera frame, the part of it that is shown, what was drawn over it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sensor_msgs.msg import RegionOfInterest
from std_msgs.msg import Header

from tool_nodes.ros.frame_memory import FrameMemory
from tool_nodes.ros.messages import BadMessage, header_of, image_to_rgb, put_frame, rgb_to_image
from tool_nodes.toolbox.images import SessionImage


def put_picture(request: Any, image: SessionImage) -> None:
    """Fill the fields `image`, `depth`, `camera_info`, `camera_pose`, `window` and `picture` that requests share."""
    frame = image.frame
    if frame is None:
        request.image = rgb_to_image(image.rgb, Header())
        return
    put_frame(request, frame)
    if image.window is not None:
        left, top, right, bottom = image.window
        request.window = RegionOfInterest(x_offset=left, y_offset=top, width=right - left, height=bottom - top)
    if not np.array_equal(image.rgb, image.cut(frame.rgb)):
        request.picture = rgb_to_image(image.rgb, header_of(frame))


def take_picture(request: Any, frames: FrameMemory) -> SessionImage:
    """The picture that `put_picture` put into a request.

    Args:
        request: Holds the fields.
        frames: Gives the same frame for equal content.

    Raises:
        BadMessage: The first thing that is wrong or does not fit together.
    """
    if _is_alone(request):
        return SessionImage(image_to_rgb(request.image))
    frame = frames.take(request)
    whole = SessionImage(frame.rgb, frame)
    part = request.window
    if part.width or part.height:
        right, bottom = part.x_offset + part.width, part.y_offset + part.height
        try:
            whole = whole.cropped(part.x_offset, part.y_offset, right, bottom)
        except ValueError as error:
            raise BadMessage(f"The window does not lie in the image: {error}.") from error
    if not (request.picture.width or request.picture.height):
        return whole
    rgb = image_to_rgb(request.picture)
    if rgb.shape != whole.rgb.shape:
        raise BadMessage(
            f"The picture has {rgb.shape[1]}x{rgb.shape[0]} pixels, but the part that it shows has "
            f"{whole.size[0]}x{whole.size[1]}."
        )
    return whole.redrawn(rgb)


def header_for(image: SessionImage) -> Header:
    """The header of answers about a picture: of its capture; empty for a picture of no camera."""
    return Header() if image.frame is None else header_of(image.frame)


def _is_alone(request: Any) -> bool:
    """True for a picture that comes without anything of a camera."""
    return bool(
        request.image.width
        and not request.camera_pose.header.frame_id
        and not (request.camera_info.width or request.camera_info.height)
        and not (request.depth.width or request.depth.height)
    )
