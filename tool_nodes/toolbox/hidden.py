"""What is not found because of the image: the error says so, whichever backend has looked, and what to use.

The arm hides a part of it, it shows no objects, or it is drawn over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.session import Session
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_NOT_OF_OBJECTS = frozenset(
    {ErrorCode.EMPTY_MASK, ErrorCode.OBJECT_NOT_FOUND, ErrorCode.NOT_RECOGNISED, ErrorCode.IMAGE_UNUSABLE}
)
"""Errors that an image of no objects may be the cause of."""
_NOT_SEEN = frozenset(
    {
        ErrorCode.EMPTY_MASK,
        ErrorCode.OBJECT_NOT_FOUND,
        ErrorCode.NOT_RECOGNISED,
        ErrorCode.NO_DEPTH,
        ErrorCode.NO_GRASP,
        ErrorCode.PLACE_BLOCKED,
    }
)
"""Errors that the arm before an object or a place may be the cause of."""
_AROUND = 0.08
"""What lies so far about a point, as a share of the image's sides, is there [-]: half an object."""
LEAST = 0.02
"""Less of an image than this tells nobody that something is hidden [-]: a finger has as much."""


def hidden_by_arm(error: ToolError, values: Mapping[str, Any], seen: Frame | None) -> ToolError:
    """An error with the hint that the arm hides the place, where it does; else the error as it is.

    Args:
        error: Error of a tool.
        values: Checked values of its arguments.
        seen: Newest frame of the robot's camera, which a call without an image was about.
    """
    if error.code not in _NOT_SEEN:
        return error
    image = _image_of(values)
    if image is None and seen is not None:
        image = SessionImage(seen.rgb, seen)
    if image is None or image.frame is None:
        return error
    robot = image.cut(image.frame.robot)
    points = _points(values)
    share = float(np.mean([_around(robot, point) for point in points])) if points else float(robot.mean())
    if share < LEAST:
        return error
    where = "the picture there" if points else "the picture"
    hint = f"The arm covers {100 * share:.0f} % of {where}: bring it away with robot.return_to_park, and look again."
    return error.reworded(hint=hint)


def _points(values: Mapping[str, Any]) -> list[FloatArray]:
    """The normalized points (2,) among the values of a call."""
    if {"x", "y"} <= values.keys():
        return [np.array([values["x"], values["y"]], float)]
    named = [np.asarray(value, float) for key, value in values.items() if "point" in key and "3d" not in key]
    return [point for value in named if value.ndim and value.shape[-1] == 2 for point in value.reshape(-1, 2)]


def _around(robot: BoolArray, point: FloatArray) -> float:
    """Share of what lies about a normalized point (2,) that a mask (H, W) covers."""
    size = np.array(robot.shape[::-1])
    low, high = (np.clip((point + side) * size, 0, size).astype(int) for side in (-_AROUND, _AROUND))
    part = robot[low[1] : max(high[1], low[1] + 1), low[0] : max(high[0], low[0] + 1)]
    return float(part.mean()) if part.size else 0.0


def not_of_objects(error: ToolError, values: Mapping[str, Any], session: Session) -> ToolError:
    """An error of a call that was given colours of depth, or a drawing, with the image to use; else as it is.

    Args:
        error: Error of a tool.
        values: Checked values of its arguments.
        session: The conversation.
    """
    image = _image_of(values)
    if error.code not in _NOT_OF_OBJECTS or image is None:
        return error
    number = next((index for index, known in enumerate(session.images) if known is image), None)
    named = "This picture" if number is None else f"Image {number}"
    if image.shows:
        message = f"{named} shows {image.shows} as colours, no objects."
        return ToolError(ErrorCode.IMAGE_UNUSABLE, message, f"Use {_plain(image, session)}.", error.backend)
    if image.is_whole_frame and image.frame is not None and image.rgb is not image.frame.rgb:
        hint = f"{named} is drawn over: use {_plain(image, session)}. {error.hint}".rstrip()
        return error.reworded(hint=hint)
    return error


def _plain(image: SessionImage, session: Session) -> str:
    """The image that the camera took, in words: that under a drawing, else the newest."""
    frames = [image.frame] if image.frame is not None else [known.frame for known in reversed(session.images)]
    for frame in (frame for frame in frames if frame is not None):
        for index, known in enumerate(session.images):
            if known.frame is frame and known.rgb is frame.rgb:
                return f"the colour picture, image {index}"
        for name, value in session.variables.items():
            if isinstance(value, SessionImage) and value.frame is frame and value.rgb is frame.rgb:
                return f"the colour picture, ${name}"
    return "a colour picture"


def _image_of(values: Mapping[str, Any]) -> SessionImage | None:
    return next((value for value in values.values() if isinstance(value, SessionImage)), None)
