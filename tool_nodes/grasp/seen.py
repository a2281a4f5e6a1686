"""The points of the thing to be grasped: what of a mask is known, stands out of the table and hangs together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tool_nodes import workspace
from tool_nodes.grasp.clearance import ROOM
from tool_nodes.perception.shape_completion import voxel_means
from tool_nodes.results import ErrorCode, ToolError, invalid
from tool_nodes.types import BoolArray, FloatArray

MIN_HEIGHT = 0.004
"""Lower points are the table [m]."""
_LEAST_POINTS = 12
"""Fewer points above the table are no thing [-]; a round figure."""


def checked_mask(cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> BoolArray:
    """The mask as bool (N,), after checks of all shapes."""
    if cloud.ndim != 2 or cloud.shape[1] != 3:
        raise invalid(f"The cloud must have shape (H*W, 3), but it has {cloud.shape}.")
    if mask.size != len(cloud):
        raise invalid(f"The mask must have one value per point of the cloud ({len(cloud)}), but it has {mask.size}.")
    if np.shape(T_base_camera) != (4, 4):
        raise invalid(f"The camera pose must have shape (4, 4), but it has {np.shape(T_base_camera)}.")
    flat = mask.reshape(-1).astype(bool)
    if not flat.any():
        raise ToolError(ErrorCode.EMPTY_MASK, "The mask of the object to grasp is empty.", "Segment an object first.")
    return flat


def raised_points(points: NDArray[np.float32], least: float = MIN_HEIGHT) -> FloatArray:
    """Those of the points (N, 3) of a mask, base frame, that are known and stand out of the table by `least` [m].

    Raises:
        ToolError: NO_DEPTH where none is known, NO_GRASP where hardly any stands out.
    """
    known = points[~np.isnan(points[:, 2])].astype(float)
    if len(known) == 0:
        raise ToolError(ErrorCode.NO_DEPTH, "No depth is known anywhere on the object.", "Look from elsewhere.")
    raised = known[(known[:, 2] > workspace.TABLE_Z + least) & (known[:, 2] < workspace.TABLE_Z + ROOM)]
    if len(raised) < _LEAST_POINTS:
        raise ToolError(
            ErrorCode.NO_GRASP,
            f"The masked points do not stand more than {1000 * least:.0f} mm above the table, so the fingers "
            "cannot hold them.",
        )
    return raised


def object_points(points: NDArray[np.float32], least: float = MIN_HEIGHT) -> FloatArray:
    """The object's main cluster (N, 3) of points that stand out of the table by `least` [m], one per 3 mm voxel."""
    raised = raised_points(points, least)
    cells = np.floor((raised[:, :2] - raised[:, :2].min(axis=0)) / 0.006).astype(int)
    grid = np.zeros(cells.max(axis=0) + 1, dtype=int)
    np.add.at(grid, (cells[:, 0], cells[:, 1]), 1)
    labels, count = ndimage.label(grid, structure=np.ones((3, 3)))
    sizes = ndimage.sum_labels(grid, labels, np.arange(1, count + 1))
    main = np.flatnonzero(sizes >= 0.15 * sizes.max()) + 1
    kept = raised[np.isin(labels[cells[:, 0], cells[:, 1]], main)]
    return voxel_means(kept, 0.003)
