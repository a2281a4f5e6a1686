"""Containers as a depth camera sees them from outside, and whether what was dropped into one is seen in it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes.perception.heights import HeightMap
from toolhand.tool_nodes.perception.placed import CELL_M, risen, seen_heights, top_of
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

WALL_M = 0.02
"""What rises so much above a place is a wall around it [m]; a round figure."""
_WIDEST_M = 0.13
"""Walls are looked for so far from the place [m]: half the diagonal of the largest bin and a hand's breadth."""
_RIM_M = 0.015
"""What is seen so far outside of the inner side of a wall still lies on the rim [m]; a round figure."""
_BELOW_RIM_M = 0.01
"""What is so much lower than the rim is among the contents of a container, and not its walls [m]; a round figure."""
_DIRECTIONS = 32
"""Directions in which the walls around a point are looked for [-]."""
_SURROUND = 0.75
"""Share of the directions in which walls stand about a point that is inside of a container [-]."""

_LEAST_CELLS = 9
"""Cells of what lies beside a container at the least [-]: 15 x 15 mm, as the smallest object has."""
_APART = np.pi / 2
"""What lies on walls in directions further apart than this spans the opening [rad]; an object that leans over one wall
has them closer together."""
_GONE_SHARE = 0.5
"""A container of whose walls less than this share [-] is seen where it was has been moved; a round figure."""


def is_cavity(heights: HeightMap, point: FloatArray) -> bool:
    """True if walls rise around a point (3,) [m], above it and above what is seen at it, in most directions."""
    lowest = max(float(point[2]), np.nan_to_num(heights.support_height(point[:2], 0.01)))
    return bool(rim_around(heights, point) > lowest + WALL_M)


def rim_around(heights: HeightMap, point: FloatArray) -> float:
    """Greatest height [m] that what stands around a point (2,) or (3,) reaches in most directions."""
    highest = np.sort(_rays(heights, point)[1].max(axis=1))[::-1]
    return float(highest[int(np.ceil(_SURROUND * _DIRECTIONS)) - 1])


def clearance(heights: HeightMap, point: FloatArray) -> FloatArray:
    """Distances (nx, ny) of the cells from the walls around a point (3,), and from what rises to the rim [m]; less than
    zero on them and outside."""
    away, angles = _polar(heights, point)
    low = ~(heights.heights > rim_around(heights, point) - _BELOW_RIM_M)
    rooms, _ = ndimage.label(low & (away < _inner_side(heights, point, angles) + _RIM_M))
    inside = rooms == rooms[np.unravel_index(int(np.argmin(away)), away.shape)]
    distances = [ndimage.distance_transform_edt(cells) for cells in (inside, ~inside)]
    return np.asarray((distances[0] - distances[1]) * heights.cell, float)


def seen_inside(before: Frame, after: Frame, point: FloatArray) -> FloatArray | None:
    """Middle of the top (3,) of what is new in a container, base frame [m]; None where nothing new is seen anywhere.

    What lies behind a wall is seen by no camera, so that None says neither yes nor no.

    Args:
        before: An image without the object, with depth.
        after: One of the same table after it was let go.
        point: (3,) a place inside of the container, a cavity in the first image, base frame [m].

    Raises:
        ToolError: OBJECT_DROPPED where the container is no longer there, or what is new lies elsewhere or across the
            rim; NO_DEPTH for an image without depth.
    """
    old, new = (seen_heights(frame) for frame in (before, after))
    away, angles = _polar(old, point)
    inner = _inner_side(old, point, angles)
    inside = away < inner + _RIM_M
    if _is_gone(inside & (away > inner - CELL_M) & (old.heights > point[2] + WALL_M), new, point[2]):
        raise ToolError(
            ErrorCode.OBJECT_DROPPED,
            "The object was released, but the container is no longer where it was.",
            "Look where both are.",
        )
    # Single cells at edges flicker; what was put there covers more.
    solid = ndimage.binary_opening(risen(old, new), np.ones((2, 2), bool))
    labels, count = ndimage.label(solid, structure=np.ones((3, 3)))
    elsewhere = None
    for label in sorted(range(1, count + 1), key=lambda label: float(away[labels == label].min())):
        top = top_of(new, labels == label)
        if inside[tuple(new.cells(top[:2]))]:
            if _spans(angles[(labels == label) & (away >= inner)]):
                raise ToolError(
                    ErrorCode.OBJECT_DROPPED,
                    "The object was released, but it lies across the rim of the container and not in it.",
                    "Pick it up again, and place it at another point of the container, or elsewhere.",
                )
            return top
        if elsewhere is None and np.count_nonzero(labels == label) >= _LEAST_CELLS:
            elsewhere = top
    if elsewhere is not None:
        raise ToolError(
            ErrorCode.OBJECT_DROPPED,
            f"The object was released, but the new picture shows it at x={elsewhere[0]:.2f} m, y={elsewhere[1]:.2f} m, "
            "outside of the container.",
            "Look again.",
        )
    return None


def _polar(heights: HeightMap, point: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distances (nx, ny) [m] and directions [rad] of the cells from a point."""
    xs, ys = heights.centres()
    dx, dy = xs[:, None] - point[0], ys[None, :] - point[1]
    return np.hypot(dx, dy), np.arctan2(dy, dx)


def _rays(heights: HeightMap, point: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distances (K,) from a point [m], and the greatest height there (`_DIRECTIONS`, K) in each direction, from +x on
    [m]; what is unseen is table."""
    distances = np.arange(0.02, _WIDEST_M, heights.cell / 2)
    angles = np.arange(_DIRECTIONS) * 2 * np.pi / _DIRECTIONS
    toward = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    xy = point[:2] + distances[:, None] * toward[:, None, :]
    first = np.floor((xy - (heights.x0, heights.y0)) / heights.cell - 0.5).astype(int)
    cells = np.clip(first[..., None, :] + _NEXT, 0, np.array(heights.shape) - 1)
    return distances, np.nan_to_num(heights.heights[cells[..., 0], cells[..., 1]]).max(axis=2)


_NEXT = np.array([(0, 0), (0, 1), (1, 0), (1, 1)])
"""The four cells about a point between their middles [cells]."""


def _inner_side(heights: HeightMap, point: FloatArray, angles: FloatArray) -> FloatArray:
    """How far the walls around a point are in directions of any shape [rad], between those that were seen [m]."""
    distances, found = _rays(heights, point)
    walls = found > rim_around(heights, point) - _BELOW_RIM_M
    seen = walls.any(axis=1)
    looked = np.arange(_DIRECTIONS) * 2 * np.pi / _DIRECTIONS
    return np.asarray(np.interp(angles, looked[seen], distances[walls.argmax(axis=1)][seen], period=2 * np.pi), float)


def _spans(angles: FloatArray) -> bool:
    """True if directions [rad], here those in which an object lies on walls, are so far apart that it lies across."""
    toward = np.column_stack([np.cos(angles), np.sin(angles)])
    return bool(len(angles)) and float((toward @ toward.T).min()) < np.cos(_APART)


def _is_gone(walls: BoolArray, new: HeightMap, floor: float) -> bool:
    """True if cells that walls stood on are seen in a new image, mostly without a wall nearby."""
    highest: NDArray[np.float64] = ndimage.maximum_filter(np.nan_to_num(new.heights, nan=-np.inf), size=5)
    seen = highest[walls & np.isfinite(new.heights)]
    return bool(len(seen)) and float(np.mean(seen > floor + WALL_M / 2)) < _GONE_SHARE
