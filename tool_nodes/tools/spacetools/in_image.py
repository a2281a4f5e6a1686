"""Errors in the coordinates that a model has: points of the image, marks, and distances to what it sees."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.motion.targets import shown_at
from toolhand.tool_nodes.perception.masks import inner_point
from toolhand.tool_nodes.perception.neighbours import neighbours
from toolhand.tool_nodes.perception.support import lie_of
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.marks import Marks
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_AROUND_PX = 40
"""What reaches so near to an object in the image may be in its way [px]: 6 cm at the scene camera's distance, half of
the open hand and the thickness of a finger."""
_PART = 0.5
"""A neighbour that is likelier than this to be a part of the object is none [-]."""


def out_of_reach(error: ToolError, point: FloatArray, frame: Frame) -> ToolError:
    """OUT_OF_WORKSPACE of a grasp with its point (3,), base frame [m], in the image; others as they are."""
    if error.code is not ErrorCode.OUT_OF_WORKSPACE:
        return error
    u, v = shown_at(frame, point)
    return error.reworded(hint=f"In the picture it is at ({u:.3f}, {v:.3f}).")


def hemmed_in(error: ToolError, mask: BoolArray, frame: Frame, marks: Marks | None) -> ToolResult:
    """An error of a grasp as a result: NO_GRASP with the neighbours that are in the way; others as they are.

    The result of NO_GRASP has the fact `in_the_way`, see `toolhand.tool_nodes.tools.clearing.clearing.InTheWayTool`.

    Args:
        error: Why there is no grasp.
        mask: (H, W), true on the object.
        frame: The image.
        marks: Numbers of objects, of this image or another.
    """
    if error.code is not ErrorCode.NO_GRASP or not np.isfinite(frame.depth).any():
        return ToolResult(error=error)
    around = np.asarray(ndimage.distance_transform_edt(~mask) < _AROUND_PX, bool) & ~frame.robot
    others = [other.mask & ~mask for other in neighbours(frame, mask, around) if other.one < _PART]
    masks = [mask, *(other for other in others if other.any())]
    lie = lie_of(frame, masks, 0)
    if lie.first is None:
        return ToolResult(error=error)
    x, y = inner_point(masks[lie.first])
    number = marks.at(*pixel((x, y), frame.size)) if marks is not None and marks.frame is frame else None
    named = f"mark {number}, at ({x:.3f}, {y:.3f})," if number else f"what is seen at ({x:.3f}, {y:.3f})"
    why = "lies on it" if lie.above else "leaves no room for the fingers beside it"
    told = error.reworded(f"{error.message} {named[0].upper()}{named[1:]} {why}.", "Take that away first.")
    return ToolResult(error=told, facts={"in_the_way": lie.facts(masks)})
