"""Balls that cover the surface of a convex hull, for the links whose shape is a mesh.

The depth of a point inside a convex hull is its distance from the nearest face, so that a ball about it with that depth
and the excess as its radius sticks out by the excess and no more. A triangle is covered where one ball holds its three
corners. So the faces are cut into small triangles, and of the balls about points of a grid and about the triangles
those are taken, one after the other, that cover most of what is left.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.distance import cdist

from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.types import FloatArray

_SIDE_SHARE = 0.75
"""Longest side of a triangle as a share of the excess: up to sqrt(3) a ball about its middle holds it. Round figure."""
_GRID_STEPS = 12
"""Points of the grid along the hull's longest side at least; a round figure."""
_ROWS = 512
"""Balls whose distances are computed at once; a round figure."""
MOST_TRIANGLES = 20_000
"""Most triangles, and points of the grid, of one hull: with an excess of 12 mm a surface of 0.4 m^2 at least, where the
shoulder of a Gen3 has 0.1 m^2. They take 0.8 GB for a moment."""


def cover_hull(vertices: FloatArray, excess: float) -> tuple[FloatArray, FloatArray]:
    """Centres (N, 3) and radii (N,) of balls that cover the surface of the convex hull of vertices (V, 3) [m].

    Raises:
        ToolError: INVALID_ARGUMENT for a mesh without a volume, or that is too large.
    """
    try:
        hull = ConvexHull(vertices)
    except (QhullError, ValueError) as error:
        raise invalid("A collision mesh must have a volume, so that spheres can cover it.") from error
    triangles = _small_triangles(vertices[hull.simplices], _SIDE_SHARE * excess)
    centers = np.vstack([_grid(vertices, excess), triangles.mean(axis=1)])
    depth = -(centers @ hull.equations[:, :3].T + hull.equations[:, 3]).max(axis=1)
    inside = depth > -1e-9
    centers, radii = centers[inside], np.maximum(depth[inside], 0.0) + excess
    return _fewest(triangles, centers, radii)


def _grid(vertices: FloatArray, excess: float) -> FloatArray:
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    step = min(excess, float((high - low).max()) / _GRID_STEPS)
    axes = [np.linspace(a, b, max(2, math.ceil((b - a) / step) + 1)) for a, b in zip(low, high, strict=True)]
    if math.prod(map(len, axes)) > MOST_TRIANGLES:
        raise _too_large()
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


def _small_triangles(triangles: FloatArray, longest_side: float) -> FloatArray:
    """Triangles (F, 3, 3), cut in halves until no side is longer [m]."""
    small: list[FloatArray] = []
    while len(triangles):
        if sum(map(len, small)) + len(triangles) > MOST_TRIANGLES:
            raise _too_large()
        sides = np.linalg.norm(triangles - np.roll(triangles, -1, axis=1), axis=2)
        long = sides.max(axis=1) > longest_side
        small.append(triangles[~long])
        triangles, index = triangles[long], sides[long].argmax(axis=1)
        rows = np.arange(len(triangles))
        a, b, c = (triangles[rows, (index + k) % 3] for k in range(3))
        middle = (a + b) / 2.0
        triangles = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(small)


def _too_large() -> ToolError:
    return invalid("A collision mesh is too large for spheres that keep close to it.")


def _fewest(triangles: FloatArray, centers: FloatArray, radii: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of the balls those that together hold every triangle (F, 3, 3); greedily, the largest gain first."""
    corners, corner = np.unique(triangles.reshape(-1, 3), axis=0, return_inverse=True)
    of_triangle = corner.reshape(-1, 3)
    covers = np.empty((len(centers), len(triangles)), bool)
    for rows in np.array_split(np.arange(len(centers)), max(1, len(centers) // _ROWS)):
        covers[rows] = (cdist(centers[rows], corners) <= radii[rows, None])[:, of_triangle].all(axis=2)
    left = np.ones(len(triangles), bool)
    gains = covers.sum(axis=1)
    chosen: list[int] = []
    while left.any():
        # A gain can only have fallen since it was counted: what is still the largest after a count is the largest.
        best = int(np.argmax(gains))
        gain = int((covers[best] & left).sum())
        if gain < gains[best]:
            gains[best] = gain
            continue
        chosen.append(best)
        left &= ~covers[best]
        gains[best] = 0
    return centers[chosen], radii[chosen]
