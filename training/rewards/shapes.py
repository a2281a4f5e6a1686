"""Points, boxes and convex hulls as rewards need them.

Two sides are kept apart everywhere: an answer is a policy's and may be anything, and what is no answer is None (its
reward is the lowest); a truth is a task's, and a broken one is an error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.types import FloatArray

MOST_POINTS = 1000
"""An answer of more points or boxes is none [-], so that no answer can hold up training."""
FARTHEST_NUMBER = 1e9
"""An answer with a coordinate beyond this is none [-]: squares of larger ones are no numbers any more."""
THINNEST = 1e-12
"""A hull of less area is a line [unit of the points, squared]: a millionth of an image, squared."""


def wrong(message: str) -> ToolError:
    """The error for a truth or a parameter that a reward cannot be computed with."""
    return invalid(message)


def answered_rows(value: Any, columns: int = 2, rows: int | None = None) -> FloatArray | None:
    """A policy's points or boxes as float64 (N, columns); None where they are no such object.

    One row may come without its outer list. None for anything that is not numbers of this shape up to 1e9, for an empty
    list, for another number of rows than `rows`, and for more than 1000 of them.
    """
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    if array.ndim == 1:
        array = array[None]
    if array.ndim != 2 or array.shape[1] != columns or not 1 <= len(array) <= MOST_POINTS:
        return None
    return array if (np.abs(array) <= FARTHEST_NUMBER).all() and rows in (None, len(array)) else None


def answered_number(value: Any) -> float | None:
    """A policy's number; None for what is none, NaN and the infinite among them."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if np.isfinite(number) else None


def true_rows(value: Any, what: str, columns: int = 2, rows: int | None = None) -> FloatArray:
    """A task's points or boxes as float64 (N, columns).

    Raises:
        ToolError: INVALID_ARGUMENT where `answered_rows` would be None.
    """
    array = answered_rows(value, columns, rows)
    if array is None:
        count = "1 to 1000" if rows is None else str(rows)
        raise wrong(f"The true {what} must be {count} rows of {columns} finite numbers.")
    return array


def positive(value: float, what: str) -> float:
    """The number itself.

    Raises:
        ToolError: INVALID_ARGUMENT unless it is finite and above 0.
    """
    if not (np.isfinite(value) and value > 0):
        raise wrong(f"{what} must be a finite number above 0, got {value}.")
    return float(value)


def true_number(value: float, what: str) -> float:
    """The number itself.

    Raises:
        ToolError: INVALID_ARGUMENT unless it is finite.
    """
    if not np.isfinite(value):
        raise wrong(f"{what} must be a finite number, got {value}.")
    return float(value)


def box_ious(boxes: FloatArray, others: FloatArray) -> FloatArray:
    """Intersection over union of each (x1, y1, x2, y2) of (N, 4) with each of (M, 4): (N, M) in 0..1.

    A box whose corners are not in order has no area; two boxes without area have the value 0.
    """
    low = np.maximum(boxes[:, None, :2], others[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], others[None, :, 2:])
    shared = np.prod(np.maximum(high - low, 0.0), axis=2)
    areas, other_areas = (np.prod(np.maximum(b[:, 2:] - b[:, :2], 0.0), axis=1) for b in (boxes, others))
    shared = np.where((areas[:, None] > 0) & (other_areas[None] > 0), shared, 0.0)
    union = areas[:, None] + other_areas[None] - shared
    return np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)


def convex_hull(points: FloatArray) -> FloatArray:
    """Corners (K, 2) of the convex hull of (N, 2), counterclockwise (y up); fewer than 3 where all lie on a line."""
    ordered = np.unique(points, axis=0)
    if len(ordered) < 3:
        return ordered
    halves: list[FloatArray] = []
    for run in (ordered, ordered[::-1]):
        corners: list[FloatArray] = []
        for point in run:
            while len(corners) > 1 and _turn(corners[-2], corners[-1], point) <= 0:
                corners.pop()
            corners.append(point)
        halves += corners[:-1]
    return np.array(halves)


def true_hull(value: Any, what: str) -> FloatArray:
    """Corners of the convex hull of a task's points, which must enclose an area.

    Raises:
        ToolError: INVALID_ARGUMENT for anything but points of which three are not on a line.
    """
    hull = convex_hull(true_rows(value, what))
    if area(hull) <= 0:
        raise wrong(f"The true {what} must have three points that are not on a line.")
    return hull


def area(hull: FloatArray) -> float:
    """Area of a convex polygon (K, 2); 0 for fewer than 3 corners, and for one so thin that it is a line."""
    if len(hull) < 3:
        return 0.0
    enclosed = float(abs(_crosses(hull).sum()) / 2)
    return enclosed if enclosed > THINNEST else 0.0


def centroid(points: FloatArray) -> FloatArray:
    """Centroid (2,) of the area of the convex hull of (N, 2); the mean of its corners where it has no area."""
    hull = convex_hull(points)
    if area(hull) <= 0:
        return np.asarray(hull.mean(axis=0), np.float64)
    cross = _crosses(hull)
    x, y = (hull - hull[0]).T
    weights = np.array([np.dot(x + np.roll(x, -1), cross), np.dot(y + np.roll(y, -1), cross)])
    return np.asarray(hull[0] + weights / (3 * cross.sum()), np.float64)


def signed_distance(point: FloatArray, hull: FloatArray) -> float:
    """Distance from a point (2,) to the edge of a counterclockwise hull (K, 2); negative inside, positive outside."""
    ends = np.roll(hull, -1, axis=0)
    edges, offsets = ends - hull, point - hull
    along = np.clip(np.sum(offsets * edges, axis=1) / np.sum(edges**2, axis=1), 0.0, 1.0)
    distance = float(np.linalg.norm(offsets - along[:, None] * edges, axis=1).min())
    inside = bool(np.all(edges[:, 0] * offsets[:, 1] - edges[:, 1] * offsets[:, 0] >= 0))
    return -distance if inside else distance


def intersection_area(hull: FloatArray, other: FloatArray) -> float:
    """Area that two counterclockwise convex polygons (K, 2) and (L, 2) share: each edge of one cuts the other."""
    left = hull
    for start, end in zip(other, np.roll(other, -1, axis=0), strict=True):
        side = np.array([_turn(start, end, corner) for corner in left])
        kept: list[FloatArray] = []
        for k in range(len(left)):
            here, there = left[k - 1], left[k]
            if (side[k - 1] >= 0) != (side[k] >= 0):
                kept.append(here + (there - here) * side[k - 1] / (side[k - 1] - side[k]))
            if side[k] >= 0:
                kept.append(there)
        if len(kept) < 3:
            return 0.0
        left = np.array(kept)
    return area(left)


def _crosses(hull: FloatArray) -> FloatArray:
    """Twice the signed area (K,) of the triangle of each edge with the first corner."""
    x, y = (hull - hull[0]).T
    return np.asarray(x * np.roll(y, -1) - np.roll(x, -1) * y, np.float64)


def _turn(a: FloatArray, b: FloatArray, c: FloatArray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
