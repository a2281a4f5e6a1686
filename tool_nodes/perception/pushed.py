"""What a grasp or a placement has moved besides: objects that are gone from where they stood and new beside it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes.geometry import backproject, invert, project, transform
from toolhand.tool_nodes.perception.heights import HeightMap
from toolhand.tool_nodes.perception.placed import CELL_M, rise, seen_heights, top_of
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_CHANGED_M = 0.015
"""A cell has changed by more than this [m]: half of the height of the smallest object, several times the noise."""
_LEAST_CELLS = 8
"""Cells that are new, and that are free now, at the least [-]: of an object 4 cm wide that was moved by 1 cm."""
_WAY_M = 0.20
"""An object is pushed or topples at most this far [m]; a round figure: the height of the tallest one."""
_OWN_CELLS = 3
"""Cells about what is grasped or placed that are its own [-]: its edges, and what it tilts by."""


def pushed(
    before: Frame, after: Frame, lifted: BoolArray | None = None, placed_m: FloatArray | None = None
) -> list[tuple[float, float]]:
    """Normalized points of the second image at which other objects stand than before; none where that is not known.

    Only what both images show counts: what stood behind the object, and is seen now, was not moved.

    Args:
        before: An image with depth.
        after: One by the same camera after the motion.
        lifted: Pixels (H, W) of what was lifted, in the first image.
        placed_m: Where an object was put down (3,), base frame [m].
    """
    try:
        old, new = seen_heights(before), seen_heights(after)
    except ToolError as error:
        if error.code is not ErrorCode.NO_DEPTH:
            raise
        return []
    both = np.isfinite(old.heights) & np.isfinite(new.heights)
    own = np.zeros(old.shape, bool)
    if lifted is not None:
        points = transform(before.T_base_camera, backproject(before.depth, before.K))[lifted.reshape(-1)]
        own |= _cells_of(old, points[np.isfinite(points).all(axis=1)])
    more, less = rise(old, new) > _CHANGED_M, rise(new, old) > _CHANGED_M
    if placed_m is not None:
        labels, _ = ndimage.label(more | _cells_of(old, placed_m[None]), structure=np.ones((3, 3)))
        own |= np.isin(labels, np.unique(labels[_cells_of(old, placed_m[None])]))
    own = ndimage.binary_dilation(own, iterations=_OWN_CELLS) if own.any() else own
    return [_shown(after, top_of(new, part)) for part in _moved(more & both & ~own, less & both & ~own)]


def _cells_of(heights: HeightMap, points: NDArray[np.floating]) -> BoolArray:
    """The cells (nx, ny) over which points (N, 3) lie."""
    cells = heights.cells(points[:, :2])
    cells = cells[((cells >= 0) & (cells < heights.shape)).all(axis=1)]
    found = np.zeros(heights.shape, bool)
    found[cells[:, 0], cells[:, 1]] = True
    return found


def _moved(more: BoolArray, less: BoolArray) -> list[BoolArray]:
    """The new parts (nx, ny) that have a free one of the same object near them."""
    freed = _parts(less)
    near = round(_WAY_M / CELL_M)
    found = []
    for part in _parts(more):
        reach = ndimage.distance_transform_edt(~part) <= near
        if any((reach & each).any() for each in freed):
            found.append(part)
    return found


def _parts(cells: BoolArray) -> list[BoolArray]:
    labels, count = ndimage.label(cells, structure=np.ones((3, 3)))
    parts = [np.asarray(labels == k, bool) for k in range(1, count + 1)]
    return [part for part in parts if np.count_nonzero(part) >= _LEAST_CELLS]


def _shown(frame: Frame, point: FloatArray) -> tuple[float, float]:
    u, v = (project(transform(invert(frame.T_base_camera), point[None]), frame.K)[0] + 0.5) / frame.size
    return round(float(u), 4), round(float(v), 4)
