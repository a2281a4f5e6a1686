"""Errors in the coordinates that a model has: points of the picture, marks, and distances to what it sees."""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.motion.targets import ELEVATED, cloud_in_base, shown_at
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.marks import Marks
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_NEAR_M = 0.06
"""A neighbour that is farther away than this is in nobody's way [m]: half of the open hand and the thickness of a
finger."""
_RIM_PX = 4
"""Pixels about a mask that may still show its object."""
_HIGHEST_M = 0.4
"""What is higher than this over the table is the robot or the room [m]."""


def out_of_reach(error: ToolError, point: FloatArray, frame: Frame) -> ToolError:
    """OUT_OF_WORKSPACE of a grasp with its point (3,), base frame [m], in the image; others as they are."""
    if error.code is not ErrorCode.OUT_OF_WORKSPACE:
        return error
    u, v = shown_at(frame, point)
    return error.reworded(hint=f"In the picture it is at ({u:.3f}, {v:.3f}).")


def hemmed_in(error: ToolError, mask: BoolArray, frame: Frame, marks: Marks | None) -> ToolError:
    """NO_GRASP with the neighbour that is nearest to the object, where one is near; others as they are.

    Args:
        error: Why there is no grasp.
        mask: (H, W), true on the object.
        frame: The image.
        marks: Numbers of objects, of this image or another.
    """
    if error.code is not ErrorCode.NO_GRASP:
        return error
    cloud = cloud_in_base(frame).reshape(*mask.shape, 3)
    with np.errstate(invalid="ignore"):
        stands = (cloud[..., 2] > workspace.TABLE_Z + ELEVATED) & (cloud[..., 2] < workspace.TABLE_Z + _HIGHEST_M)
    own, others = stands & mask, stands & ~ndimage.binary_dilation(mask, iterations=_RIM_PX) & ~frame.robot
    others = ndimage.binary_opening(others, iterations=2)  # edges of the object that the mask has missed
    if not own.any() or not others.any():
        return error
    rows, columns = np.nonzero(others)
    away = np.asarray(cKDTree(cloud[own][:, :2]).query(cloud[others][:, :2])[0])
    nearest = int(np.argmin(away))
    if away[nearest] > _NEAR_M:
        return error
    row, column = int(rows[nearest]), int(columns[nearest])
    number = marks.at(column, row) if marks is not None and marks.frame is frame else None
    w, h = frame.size
    point = f"({(column + 0.5) / w:.3f}, {(row + 0.5) / h:.3f})"
    named = f"mark {number}, at {point}," if number else f"what stands at {point}"
    message = f"{error.message} Its nearest neighbour, {named} is {100 * away[nearest]:.1f} cm away."
    return error.reworded(message)
