"""Errors in the coordinates that a model has: points of the picture, marks, and distances to what it sees."""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import invert, project, transform
from toolhand.tool_nodes.motion.robot_model import Reach
from toolhand.tool_nodes.motion.targets import ELEVATED, cloud_in_base
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.toolbox.marks import Marks
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_STEP_M = 0.01
"""Distance of the places of the table that are looked through for one within reach [m]."""
_WITHIN_M = 0.02
"""A place that is offered lies so far within the reach, at the least [m]."""
_NEAR_M = 0.06
"""A neighbour that is farther away than this is in nobody's way [m]: half of the open hand and the thickness of a
finger."""
_RIM_PX = 4
"""Pixels about a mask that may still show its object."""
_HIGHEST_M = 0.4
"""What is higher than this over the table is the robot or the room [m]."""


def _shown(frame: Frame, point: FloatArray) -> FloatArray:
    """Where an image shows a point (3,) of the base frame [m], normalized (2,)."""
    return np.asarray(project(transform(invert(frame.T_base_camera), point[None]), frame.K)[0] / frame.size)


def out_of_reach(error: ToolError, point: FloatArray, frame: Frame, reach: Reach) -> ToolError:
    """OUT_OF_WORKSPACE with the place in the picture, and the nearest one that is within reach; others as they are.

    Args:
        error: Why nothing was moved.
        point: (3,) the place, base frame [m].
        frame: The image that it was chosen in.
        reach: Where the arm works.
    """
    if error.code is not ErrorCode.OUT_OF_WORKSPACE:
        return error
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    grid = np.stack(np.meshgrid(np.arange(x0, x1, _STEP_M), np.arange(y0, y1, _STEP_M)), axis=-1).reshape(-1, 2)
    radius = reach.radius[0] + _WITHIN_M, reach.radius[1] - _WITHIN_M
    grid = grid[workspace.in_sector(grid, radius, reach.x_min + _WITHIN_M, reach.y_max - _WITHIN_M)]
    seen = [place for place in grid[np.argsort(np.hypot(*(grid - point[:2]).T))] if _inside(_shown(frame, _on(place)))]
    u, v = _shown(frame, point)
    nearest = (
        ""
        if not seen
        else "; the nearest place within reach is at ({:.3f}, {:.3f})".format(*_shown(frame, _on(seen[0])))
    )
    hint = f"In the picture it is at ({u:.3f}, {v:.3f}){nearest}."
    return ToolError(error.code, error.message, hint, error.backend, error.cause)


def _on(place: FloatArray) -> FloatArray:
    return np.array([*place, workspace.TABLE_Z])


def _inside(point: FloatArray) -> bool:
    return bool(((point >= 0.0) & (point <= 1.0)).all())


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
    return ToolError(error.code, message, error.hint, error.backend, error.cause)
