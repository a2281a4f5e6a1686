"""What is not found where the arm hides a part of the image: the error says so, whichever backend has looked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

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
    image = next((value for value in values.values() if isinstance(value, SessionImage)), None)
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
