"""What stands about a thing to be grasped, as upright boxes that leave the gaps between things open."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tool_nodes.geometry import pose
from tool_nodes.perception.heights import HeightMap, SeenTable
from tool_nodes.types import BoolArray, Box, FloatArray

HAND_REACH = 0.12
"""How far beside a thing the hand comes near the table [m]: the open hand and the camera on it reach 0.11 m from its
axis."""
_LEVEL = 0.01
"""Heights that differ by less share a box, which is as high as the highest of them [m]; a round figure."""
_OWN = 0.005
"""A cell beside the thing belongs to its rim, which the mask has missed, unless it is higher by this [m]."""


def within_hand(heights: HeightMap, thing: NDArray[np.floating]) -> BoolArray:
    """Which cells (nx, ny) the hand may be over while it grasps a thing (N, 3) in the base frame [m]."""
    low, high = thing[:, :2].min(axis=0) - HAND_REACH, thing[:, :2].max(axis=0) + HAND_REACH
    xs, ys = heights.centres()
    return ((xs > low[0]) & (xs < high[0]))[:, None] & ((ys > low[1]) & (ys < high[1]))[None, :]


def around(near: BoolArray) -> tuple[BoolArray, ...]:
    """Four rectangles of cells (nx, ny) that make up all that is not near, where what is near is one rectangle."""
    rows, columns = near.any(axis=1), near.any(axis=0)
    (low, high), (left, right) = ((int(at[0]), int(at[-1]) + 1) for at in map(np.flatnonzero, (rows, columns)))
    found = [np.zeros(near.shape, bool) for _ in range(4)]
    found[0][:low] = found[1][high:] = found[2][low:high, :left] = found[3][low:high, right:] = True
    return tuple(found)


def rim(seen: SeenTable, thing: NDArray[np.floating]) -> BoolArray:
    """Which pixels (H, W) belong to the rim of a thing (N, 3), which its mask has missed; see `without_own`."""
    own = _own_heights(seen, thing)
    return seen.below(np.where(own > 0.0, own + _OWN, 0.0))


def _own_heights(cells: HeightMap | SeenTable, thing: NDArray[np.floating]) -> FloatArray:
    """Height (nx, ny) of a thing (N, 3) [m], a cell wider than it was seen; 0 elsewhere."""
    at = np.floor((thing[:, :2] - (cells.x0, cells.y0)) / cells.cell).astype(int)
    inside = ((at >= 0) & (at < cells.shape)).all(axis=1)
    own = np.zeros(cells.shape)
    np.maximum.at(own, tuple(at[inside].T), thing[inside, 2])
    return np.asarray(ndimage.maximum_filter(own, 3))


def without_own(heights: HeightMap, columns: FloatArray, thing: NDArray[np.floating]) -> FloatArray:
    """Heights (nx, ny) of columns [m] without those that belong to the rim of a thing (N, 3)."""
    own = _own_heights(heights, thing)
    return np.where((own > 0.0) & (columns < own + _OWN), 0.0, columns)


def column_boxes(columns: FloatArray, heights: HeightMap, table_z: float) -> tuple[Box, ...]:
    """Boxes in the base frame that cover columns (nx, ny) of given heights [m] and nothing beside them."""
    levels = np.where(columns > 0.0, np.floor(columns / _LEVEL).astype(int) + 1, 0)
    boxes = []
    for top, bottom, left, right in _rectangles(levels):
        high = float(columns[top:bottom, left:right].max())
        size = np.array([bottom - top, right - left]) * heights.cell / 2.0
        middle = np.array([heights.x0, heights.y0]) + np.array([top + bottom, left + right]) * heights.cell / 2.0
        boxes.append(Box(pose(np.eye(3), [*middle, table_z + high / 2.0]), np.array([*size, high / 2.0])))
    return tuple(boxes)


def _rectangles(levels: NDArray[np.signedinteger]) -> list[tuple[int, int, int, int]]:
    """(first row, end, first column, end) of rectangles of one level each that cover all cells but those of level 0.

    Runs of one level are followed down the rows as long as they start and end in the same columns.
    """
    found: list[tuple[int, int, int, int]] = []
    started: dict[tuple[int, int, int], int] = {}
    rows = np.flatnonzero(levels.any(axis=1))
    for row in range(rows[0], rows[-1] + 2) if rows.size else ():
        now: dict[tuple[int, int, int], int] = {}
        line = levels[row] if row < len(levels) else np.zeros(levels.shape[1], int)
        edges = np.flatnonzero(np.diff(line, prepend=0, append=0)).tolist()
        for left, right in pairwise(edges):
            if level := int(line[left]):
                now[left, right, level] = started.pop((left, right, level), row)
        found += [(first, row, left, right) for (left, right, _), first in started.items()]
        started = now
    return found
