"""Position of a placed object, from the depth images before and after."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.perception.heights import LEAST_POINTS, MIN_HEIGHT, HeightMap, SeenTable
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

CELL_M = 0.005
"""Side of a cell of the two height maps [m]; a round figure."""
_RISE_M = 0.010
"""The table rose by at least this where something new stands: several times the noise of the depth."""
_TOP_M = 0.012
"""Thickness of an object's top, from its highest point [m]: its middle is seen from the front as well as from above."""
_NEAR_M = 0.12
"""What rose further away than this is another object, which was pushed or fell."""


def standing_at(before: Frame, after: Frame, point_base: FloatArray) -> FloatArray | None:
    """Middle of the top (3,) of what is new in the second image, base frame [m]; None where nothing new is near.

    Args:
        before: An image without the object, with depth.
        after: One of the same table with it.
        point_base: (3,) where it was to be put, base frame [m].

    Raises:
        ToolError: NO_DEPTH for an image without depth.
    """
    old, new = (seen_heights(frame) for frame in (before, after))
    xs, ys = new.centres()
    away = np.hypot(xs[:, None] - point_base[0], ys[None, :] - point_base[1])
    labels, count = ndimage.label(risen(old, new) & (away <= _NEAR_M), structure=np.ones((3, 3)))
    if not count:
        return None
    nearest = labels == 1 + int(np.argmin(ndimage.minimum(away, labels, range(1, count + 1))))
    return top_of(new, nearest)


def seen_heights(frame: Frame, support_m: float = workspace.TABLE_Z, lowest: float = MIN_HEIGHT) -> HeightMap:
    """Heights over a support [m] in which specks of noise are no objects; what is lower than `lowest` is the
    support."""
    return SeenTable(frame, CELL_M, support_m, lowest=lowest).heights(least=LEAST_POINTS)


def rise(old: HeightMap, new: HeightMap) -> FloatArray:
    """How much (nx, ny) higher the second map is [m], beyond edges that flicker by a cell; what is unseen is level."""
    return np.nan_to_num(new.heights) - ndimage.maximum_filter(np.nan_to_num(old.heights), 3)


def risen(old: HeightMap, new: HeightMap) -> BoolArray:
    """Where (nx, ny) something stands now that did not before."""
    return np.asarray(rise(old, new) > _RISE_M, bool)


def top_of(heights: HeightMap, item: BoolArray) -> FloatArray:
    """Middle of the top (3,) of what stands on some cells (nx, ny), base frame [m]."""
    xs, ys = heights.centres()
    top = float(heights.heights[item].max())
    rows, columns = np.nonzero(item & (np.nan_to_num(heights.heights) > top - _TOP_M))
    return np.array([xs[rows].mean(), ys[columns].mean(), top])
