"""The points of the object to be grasped: what of a mask is known, stands out of the table and hangs together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.grasp.clearance import ROOM
from toolhand.tool_nodes.perception.shape_completion import voxel_means
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import BoolArray, FloatArray

MIN_HEIGHT = 0.004
"""Lower points are the table [m]."""
_LEAST_POINTS = 12
"""Fewer points above the table are no object [-]; a round figure."""
_QUIET = 0.0002
"""Depth that is less noisy than this is taken as it is [m]; a round figure."""
_TAKEN = 2000
"""Points to which a plane is fitted, of more [-]; they bound the time."""
_ROUNDS = 3
"""Fits of the plane, each without what the one before left over [-]."""
_NOISES = 3.0
"""Points belong to the plane within so many standard deviations of the noise [-]."""
_FLAT_SHARE = 0.95
"""Share of the points on the plane from which on the object is flat [-]: of a card's, one in fifty is at its sides."""
_SAME_NOISE = 1.15
"""Points of a plane spread by no more than so many times the table's noise [-]: a bent top of the same depth range
spreads by more."""


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


def known_points(points: NDArray[np.float32]) -> FloatArray:
    """Those of points (N, 3) that are known, which are finite. Raises ToolError NO_DEPTH where none is."""
    known = points[np.isfinite(points).all(axis=1)].astype(float)
    if len(known) == 0:
        raise ToolError(ErrorCode.NO_DEPTH, "No depth is known anywhere on the object.", "Look from elsewhere.")
    return known


def flattened(points: NDArray[np.float32], noise: float) -> NDArray[np.float32]:
    """Points (N, 3) of an object, without the noise of its top where that is one plane; as they are where it is not.

    A card is hardly thicker than the noise of a stereo camera: its single points would be lost among the table's, but
    the plane through all of them is known to a fraction of it.

    Args:
        points: Points in the base frame [m].
        noise: Standard deviation of the depth's noise [m].
    """
    if noise < _QUIET:
        return points
    some = points[:: max(len(points) // _TAKEN, 1)].astype(float)
    centre = some.mean(axis=0)
    terms = np.column_stack([some[:, :2] - centre[:2], np.ones(len(some))])
    on = np.ones(len(some), dtype=bool)
    for _ in range(_ROUNDS):
        plane = np.linalg.lstsq(terms[on], some[on, 2], rcond=None)[0]
        off = some[:, 2] - terms @ plane
        on = np.abs(off) < _NOISES * noise
        if on.mean() < _FLAT_SHARE or float(np.std(off[on])) > _SAME_NOISE * noise:
            return points
    level = (points[:, :2] - centre[:2]) @ plane[:2] + plane[2]
    flat = points.copy()
    flat[:, 2] = np.where(np.abs(points[:, 2] - level) < _NOISES * noise, level, points[:, 2])
    return flat


def raised_points(points: NDArray[np.float32], least: float = MIN_HEIGHT) -> FloatArray:
    """Those of the points (N, 3) of a mask, base frame, that are known and stand out of the table by `least` [m].

    Raises:
        ToolError: NO_DEPTH where none is known, NO_GRASP where hardly any stands out.
    """
    known = known_points(points)
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
