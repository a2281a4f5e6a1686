"""Position and dimensions of an object from the part of it that the camera sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError
from scipy.special import ndtri

from toolhand.tool_nodes.types import FloatArray

_TOP_QUANTILE = 0.985
"""Quantile of the heights that is the top; the stem of a fruit lies above it."""

_NOISE_BAND = 4.0
"""Heights so far below the measured top may be those of a level top in noise [standard deviations]; a round figure,
about twice what `_TOP_QUANTILE` is above the mean of a normal distribution."""

_CELL_M = 0.004
"""Two pixels of a flat object fall into a cell of this side at 640x480 [m]; in coarser images it is larger."""
_FEW = 200
"""Points at 640x480 below which none is taken for noise; a round figure."""


@dataclass(frozen=True)
class Extents:
    """An upright box around an object that stands on something.

    Attributes:
        centre: (3,) centre in the coordinates of the points it was measured from [m].
        size: (3,) length, width, height [m]; length >= width.
        yaw: Direction of the length, in [0, pi) [rad].
        outline: (K, 2) corners of the seen footprint's convex outline, counter-clockwise [m].
        fill: Area of the footprint's convex outline over the area of its rectangle: a disc has 0.79, a box 1.
    """

    centre: FloatArray
    size: FloatArray
    yaw: float
    outline: FloatArray
    fill: float


def outline(xy: NDArray[np.floating]) -> FloatArray:
    """Corners (K, 2) of the convex outline of points (N, 2), counter-clockwise; the points where they have no area."""
    points = np.asarray(xy, dtype=float)
    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return points


def rectangle(corners: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The smallest rectangle around an outline (K, 2): centre (2,), sides (2,) long first, yaw of the long one."""
    edges = np.roll(corners, -1, axis=0) - corners
    angles = np.unique(np.mod(np.arctan2(edges[:, 1], edges[:, 0]), np.pi / 2))
    axes = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    normals = np.stack([-axes[:, 1], axes[:, 0]], axis=1)
    along, across = axes @ corners.T, normals @ corners.T
    spans = np.stack([np.ptp(along, axis=1), np.ptp(across, axis=1)], axis=1)
    best = int(np.argmin(spans[:, 0] * spans[:, 1]))
    middle = 0.5 * (along[best].min() + along[best].max()), 0.5 * (across[best].min() + across[best].max())
    centre = middle[0] * axes[best] + middle[1] * normals[best]
    sides, yaw = spans[best], float(angles[best])
    if sides[1] > sides[0]:
        sides, yaw = sides[::-1], yaw + np.pi / 2
    return centre, sides, float(np.mod(yaw, np.pi))


def area(corners: FloatArray) -> float:
    """Area of a polygon (K, 2) [m^2]."""
    x, y = corners.T
    return float(0.5 * abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def distance_to_outline(xy: NDArray[np.floating], corners: FloatArray) -> FloatArray:
    """Distance (...) of points (..., 2) to the edge of a convex polygon (K, 2), negative inside [m].

    The corners go counter-clockwise. Distances inside are to the nearest edge line.
    """
    x, y = (np.ascontiguousarray(np.asarray(xy)[..., axis], dtype=np.float32) for axis in (0, 1))
    square = np.full(x.shape, np.inf, dtype=np.float32)
    inside = np.full(x.shape, -np.inf, dtype=np.float32)
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        length = max(float(np.hypot(*(end - start))), 1e-9)
        ex, ey = ((end - start) / length).astype(np.float32)
        dx, dy = x - np.float32(start[0]), y - np.float32(start[1])
        beyond = dx * ex + dy * ey
        beyond -= np.clip(beyond, 0.0, np.float32(length))
        across = dx * ey - dy * ex
        square = np.minimum(square, beyond * beyond + across * across)
        inside = np.maximum(inside, across)
    return np.where(inside < 0.0, inside, np.sqrt(square)).astype(float)


def measure(
    points: NDArray[np.floating], support: float, eye: FloatArray, coarse: float = 1.0, rough: float = 0.0
) -> Extents:
    """The box around an object of which points (N, 3) are seen; its hidden back and foot are completed.

    What stands on the table shows its whole top, so the outline of all points is that of the object except where
    it bulges lower down: there the far side is completed by symmetry about the axis of the two tangents.

    Args:
        points: (N, 3) seen surface, z up, N >= 1 [m].
        support: Height of what it stands on [m].
        eye: (3,) where the camera is [m].
        coarse: Depth in coarse steps, see `Surface`.
        rough: Standard deviation of the height of the bare table, which is noise of the depth [m].
    """
    points = np.array(points, dtype=float)
    top = _top(points[:, 2], rough, float(eye[2]))
    height = max(top - support, 1e-3)
    corners = outline(_without_strays(points[:, :2], coarse))
    if len(corners) < 3:
        centre = points[:, :2].mean(axis=0)
        return Extents(np.append(centre, support + height / 2), np.array([1e-3, 1e-3, height]), 0.0, corners, 1.0)
    centre, sides, yaw = rectangle(corners)
    fill = area(corners) / max(float(sides[0] * sides[1]), 1e-9)

    round_top = fill < 0.90 and sides[0] < 1.15 * sides[1]
    if round_top:
        # A disc's rectangle has no direction of its own: measure across the line of sight, where both flanks show.
        away = centre - np.asarray(eye)[:2]
        away = away / np.linalg.norm(away)
        across = corners @ [-away[1], away[0]]
        depth = corners @ away
        width = min(float(np.ptp(across)), float(sides[0]))
        if np.ptp(depth) < width:
            near = depth.min()
            centre = away * (near + width / 2) + np.array([-away[1], away[0]]) * 0.5 * (across.min() + across.max())
            sides = np.array([width, width])
    return Extents(np.append(centre, support + height / 2), np.array([*sides, height]), yaw, corners, float(fill))


def _top(heights: NDArray[np.floating], rough: float, eye: float) -> float:
    """Height of the top of points with heights (N,), without what noise adds to it [m].

    Args:
        heights: Heights over the table, N >= 1 [m].
        rough: Standard deviation of the height of the bare table [m].
        eye: Height of the camera [m].
    """
    top = _quantile(heights, _TOP_QUANTILE)
    # The error of depth from disparity grows with the square of the distance.
    noise = rough * (1.0 - float(np.clip(top / eye, 0.0, 0.9))) ** 2 if eye > 0.0 else 0.0
    band = _NOISE_BAND * noise
    # What is as frequent further down is no level top: sides, or a round object.
    share = float(np.mean(heights > top - band) - np.mean((heights > top - 2.0 * band) & (heights <= top - band)))
    # Of a top that so large a share of the points shows, this quantile of the noise is what was measured.
    above = float(ndtri(1.0 - (1.0 - _TOP_QUANTILE) / max(share, 2.0 * (1.0 - _TOP_QUANTILE))))
    return top - above * noise


def _quantile(values: NDArray[np.floating], share: float) -> float:
    """`np.quantile` of values (N,), without its overhead."""
    place = share * (len(values) - 1)
    low = int(place)
    near = np.partition(values, (low, min(low + 1, len(values) - 1)))[low : low + 2]
    return float(near[0] + (near[-1] - near[0]) * (place - low))


def _without_strays(points: NDArray[np.floating], coarse: float) -> FloatArray:
    """Points (N, 2) without those that are alone in their cell, which are noise at an edge."""
    xy: FloatArray = np.asarray(points, dtype=np.float64)
    if len(xy) < _FEW / coarse**2:
        return xy
    cells = np.floor((xy - xy.min(axis=0)) / (_CELL_M * coarse)).astype(int)
    flat = cells[:, 0] * (cells[:, 1].max() + 1) + cells[:, 1]
    kept = xy[np.bincount(flat)[flat] >= 2]
    return kept if len(kept) >= 3 else xy
