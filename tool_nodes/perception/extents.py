"""Position and size of a thing from the part of it that the camera sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from tool_nodes.types import FloatArray


@dataclass(frozen=True)
class Extents:
    """An upright box around a thing that stands on something.

    Attributes:
        centre: (3,) centre in the coordinates of the points it was measured from [m].
        size: (3,) length, width, height [m]; length >= width.
        yaw: Direction of the length, in [0, pi) [rad].
        fill: Area of the footprint's convex outline over the area of its rectangle: a disc has 0.79, a box 1.
    """

    centre: FloatArray
    size: FloatArray
    yaw: float
    fill: float


def outline(xy: NDArray[np.floating]) -> FloatArray:
    """Corners (K, 2) of the convex outline of points (N, 2), counter-clockwise; the points where they have no area."""
    points = np.asarray(xy, dtype=float)
    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return points


def rectangle(corners: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The smallest rectangle around a convex outline (K, 2): centre (2,), sides (2,) long first, yaw of the long one."""
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


def measure(points: NDArray[np.floating], support: float, eye: FloatArray) -> Extents:
    """The box around a thing of which points (N, 3) are seen; its hidden back and foot are completed.

    What stands on the table shows its whole top, so the outline of all points is that of the thing except where
    it bulges lower down: there the far side is completed by symmetry about the axis of the two tangents.

    Args:
        points: (N, 3) seen surface, z up, N >= 1 [m].
        support: Height of what it stands on [m].
        eye: (3,) where the camera is [m].
    """
    points = np.asarray(points, dtype=float)
    top = float(np.quantile(points[:, 2], 0.995))
    height = max(top - support, 1e-3)
    corners = outline(_without_strays(points[:, :2]))
    if len(corners) < 3:
        centre = points[:, :2].mean(axis=0)
        return Extents(np.append(centre, support + height / 2), np.array([1e-3, 1e-3, height]), 0.0, 1.0)
    centre, sides, yaw = rectangle(corners)
    fill = area(corners) / max(float(sides[0] * sides[1]), 1e-9)

    round_top = fill < 0.90 and sides[0] < 1.35 * sides[1]
    if round_top:
        # A disc's rectangle has no direction of its own: measure across the line of sight, where both flanks show.
        away = centre - np.asarray(eye)[:2]
        away = away / np.linalg.norm(away)
        across = corners @ [-away[1], away[0]]
        depth = corners @ away
        width = float(np.ptp(across))
        if np.ptp(depth) < width:
            near = depth.min()
            centre = away * (near + width / 2) + np.array([-away[1], away[0]]) * 0.5 * (across.min() + across.max())
            sides = np.array([width, width])
    return Extents(np.append(centre, support + height / 2), np.array([*sides, height]), yaw, float(fill))


def _without_strays(xy: FloatArray, cell: float = 0.004) -> FloatArray:
    """Points (N, 2) without those that are alone in their 4 mm cell, which are noise at an edge."""
    if len(xy) < 200:
        return xy
    cells = np.floor((xy - xy.min(axis=0)) / cell).astype(int)
    flat = cells[:, 0] * (cells[:, 1].max() + 1) + cells[:, 1]
    kept = xy[np.bincount(flat)[flat] >= 2]
    return kept if len(kept) >= 3 else xy
