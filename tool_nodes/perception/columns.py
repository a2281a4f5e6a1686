"""What stands about an object to be grasped, as upright boxes that leave the gaps between objects open."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.perception.heights import HeightMap, SeenTable
from toolhand.tool_nodes.types import BoolArray, Box, FloatArray

HAND_REACH = 0.12
"""How far beside an object the hand comes near the table [m]: the open hand and the camera on it reach 0.11 m from its
axis."""
_LEVEL = 0.01
"""Heights that differ by less share a box, which is as high as the highest of them [m]; a round figure."""
_OWN = 0.005
"""A cell beside the object belongs to its rim, which the mask has missed, unless it is higher by this [m]."""


def within_hand(heights: HeightMap, item: NDArray[np.floating]) -> BoolArray:
    """Which cells (nx, ny) the hand may be over while it grasps an object (N, 3) in the base frame [m]."""
    low, high = item[:, :2].min(axis=0) - HAND_REACH, item[:, :2].max(axis=0) + HAND_REACH
    xs, ys = heights.centres()
    return ((xs > low[0]) & (xs < high[0]))[:, None] & ((ys > low[1]) & (ys < high[1]))[None, :]


def around(near: BoolArray) -> tuple[BoolArray, ...]:
    """Four rectangles of cells (nx, ny) that make up all that is not near, where what is near is one rectangle."""
    rows, columns = near.any(axis=1), near.any(axis=0)
    (low, high), (left, right) = ((int(at[0]), int(at[-1]) + 1) for at in map(np.flatnonzero, (rows, columns)))
    found = [np.zeros(near.shape, bool) for _ in range(4)]
    found[0][:low] = found[1][high:] = found[2][low:high, :left] = found[3][low:high, right:] = True
    return tuple(found)


def rim(seen: SeenTable, item: NDArray[np.floating]) -> BoolArray:
    """Which pixels (H, W) belong to the rim of an object (N, 3), which its mask has missed; see `without_own`."""
    own = own_heights(seen, item)
    return seen.below(np.where(own > 0.0, own + _OWN, 0.0))


def own_heights(cells: HeightMap | SeenTable, item: NDArray[np.floating]) -> FloatArray:
    """Height (nx, ny) of an object (N, 3) [m], a cell wider than it was seen; 0 elsewhere."""
    at = np.floor((item[:, :2] - (cells.x0, cells.y0)) / cells.cell).astype(int)
    inside = ((at >= 0) & (at < cells.shape)).all(axis=1)
    own = np.zeros(cells.shape)
    np.maximum.at(own, tuple(at[inside].T), item[inside, 2])
    return np.asarray(ndimage.maximum_filter(own, 3))


def without_own(heights: HeightMap, columns: FloatArray, item: NDArray[np.floating]) -> FloatArray:
    """Heights (nx, ny) of columns [m] without those that belong to the rim of an object (N, 3)."""
    own = own_heights(heights, item)
    return np.where((own > 0.0) & (columns < own + _OWN), 0.0, columns)


def column_boxes(columns: FloatArray, heights: HeightMap | SeenTable) -> tuple[Box, ...]:
    """Boxes in the base frame that cover columns (nx, ny) of given heights [m] and nothing beside them."""
    levels = np.where(columns > 0.0, np.floor(columns / _LEVEL).astype(int) + 1, 0)
    found = _rectangles(levels)
    if not found:
        return ()
    half = np.array([columns[top:bottom, left:right].max() for top, bottom, left, right in found]) / 2.0
    edges = np.array(found)
    low, high = edges[:, (0, 2)], edges[:, (1, 3)]
    middles = np.array([heights.x0, heights.y0]) + (low + high) * heights.cell / 2.0
    poses = np.tile(np.eye(4), (len(found), 1, 1))
    poses[:, :3, 3] = np.column_stack([middles, workspace.TABLE_Z + half])
    sizes = np.column_stack([(high - low) * heights.cell / 2.0, half])
    return tuple(Box(T, size) for T, size in zip(poses, sizes, strict=True))


def _rectangles(levels: NDArray[np.signedinteger]) -> list[tuple[int, int, int, int]]:
    """(first row, end, first column, end) of rectangles of one level each that cover all cells but those of level 0.

    Runs of one level are followed down the rows as long as they start and end in the same columns.
    """
    found: list[tuple[int, int, int, int]] = []
    started: dict[tuple[int, int, int], int] = {}
    padded = np.pad(levels, ((0, 1), (1, 1)))
    rows, columns = np.nonzero(padded[:, 1:] != padded[:, :-1])
    starts = np.searchsorted(rows, np.arange(len(padded) + 1)).tolist()
    columns_at, after = columns.tolist(), padded[rows, columns + 1].tolist()
    for row, (start, end) in enumerate(pairwise(starts)):
        now: dict[tuple[int, int, int], int] = {}
        for at in range(start, end - 1):
            if level := after[at]:
                left, right = columns_at[at], columns_at[at + 1]
                now[left, right, level] = started.pop((left, right, level), row)
        found += [(first, row, left, right) for (left, right, _), first in started.items()]
        started = now
    return found
