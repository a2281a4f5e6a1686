"""The smallest box around points, in any direction."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes.clouds.checking import finite_points
from toolhand.tool_nodes.types import FloatArray

SIGNS = np.array([(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)])
"""Corners of a box as signs of its half sides (8, 3): around one face, then around the other."""

_MOST_FACETS = 300
"""Facets of the hull whose directions are tried [-], the largest ones; what lies between is found by the refinement."""
_MOST_CORNERS = 400
"""Corners of the hull that the directions are compared with [-]: those farthest out in as many directions; on a lump of
10 cm what lies between them reaches out by 0.2 mm more. The refinement looks at all."""
_REFINED = 6
"""Best directions that are refined [-]; a round figure."""
_FIRST_STEP, _LAST_STEP = np.radians(5.0), np.radians(0.01)
"""Turns that the refinement begins and ends with [rad]: about the angle between two facets, and 0.02 mm on 10 cm."""


def box_around(points: FloatArray, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Corners (8, 3) and extent (3,) [m] of the box around points (N, 3) along axes, rows of (3, 3), longest first."""
    along = points @ axes.T
    low, high = along.min(axis=0), along.max(axis=0)
    order = np.argsort(low - high, kind="stable")
    axes, low, high = axes[order], low[order], high[order]
    if np.linalg.det(axes) < 0.0:
        axes = np.array([axes[0], axes[1], -axes[2]])
        low[2], high[2] = -high[2], -low[2]
    return ((low + high) / 2.0 + SIGNS * (high - low) / 2.0) @ axes, high - low


def smallest_box(cloud: Any) -> tuple[FloatArray, FloatArray]:
    """The box of least volume around points.

    A box of least volume has two adjoining sides that touch edges of the convex hull (O'Rourke, 1985). Boxes with one
    side on a facet of the hull are tried first, each with the smallest rectangle across; the best ones are then turned
    about all three axes, a little less each time, as long as the volume shrinks.

    Args:
        cloud: (N, 3) points [m], N >= 4; what is not finite is left out.

    Returns:
        Corners (8, 3) [m] and extent (3,) [m], the longest side first.

    Raises:
        ToolError: INVALID_ARGUMENT for what is no cloud of 4 finite points.
    """
    points = finite_points(cloud, 4)
    try:
        hull = ConvexHull(points)
    except QhullError:  # all in one plane, or line
        return box_around(points, _upright(points, _principal_axes(points)[2]))
    corners = points[hull.vertices]
    middle = corners.mean(axis=0)
    corners = corners - middle
    outer = _outermost(corners)
    candidates = [_principal_axes(outer)]
    candidates += [_upright(outer, normal) for normal in _facet_normals(points, hull)]
    candidates.sort(key=lambda axes: _volume(outer, axes))
    axes = min((_refined(corners, one) for one in candidates[:_REFINED]), key=lambda one: _volume(corners, one))
    box, extent = box_around(corners, axes)
    return box + middle, extent


def _outermost(corners: FloatArray) -> FloatArray:
    """Those corners (N, 3) that lie farthest out in directions spread over the sphere, as on Fibonacci's spiral."""
    if len(corners) <= _MOST_CORNERS:
        return corners
    turn = np.arange(_MOST_CORNERS) * np.pi * (3.0 - np.sqrt(5.0))
    z = 1.0 - 2.0 * (np.arange(_MOST_CORNERS) + 0.5) / _MOST_CORNERS
    flat = np.sqrt(1.0 - z**2)
    directions = np.column_stack([flat * np.cos(turn), flat * np.sin(turn), z])
    return np.asarray(corners[np.unique((directions @ corners.T).argmax(axis=1))])


def _principal_axes(points: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2])


def _volume(points: FloatArray, axes: FloatArray) -> float:
    return float(np.prod(np.ptp(points @ axes.T, axis=0)))


def _facet_normals(points: FloatArray, hull: ConvexHull) -> FloatArray:
    """Directions (K, 3) of the hull's largest facets, each once."""
    triangles = points[hull.simplices]
    cross = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    area = np.linalg.norm(cross, axis=1)
    flat = area > 1e-12 * area.max()
    order = np.argsort(-area[flat], kind="stable")[:_MOST_FACETS]
    normals = hull.equations[flat][order, :3]
    normals = np.where(normals[:, [int(np.abs(normals).sum(axis=0).argmax())]] < 0.0, -normals, normals)
    _, first = np.unique(np.round(normals, 6), axis=0, return_index=True)
    return np.asarray(normals[np.sort(first)])


def _upright(points: FloatArray, up: FloatArray) -> FloatArray:
    """Axes (3, 3), rows, the last one `up`, with the smallest rectangle around the points across it."""
    first = np.cross(up, np.eye(3)[int(np.abs(up).argmin())])
    first /= np.linalg.norm(first)
    plane = np.stack([first, np.cross(up, first)])
    flat = points @ plane.T
    try:
        outline = flat[ConvexHull(flat).vertices]
    except QhullError:  # all in one line, from one end to the other
        along = flat @ np.linalg.svd(flat - flat.mean(axis=0), full_matrices=False)[2][0]
        outline = flat[[int(along.argmin()), int(along.argmax())]]
    edges = np.roll(outline, -1, axis=0) - outline
    length = np.linalg.norm(edges, axis=1)
    u = edges[length > 1e-12] / length[length > 1e-12, None]
    if not len(u):  # one point
        return np.stack([*plane, up])
    x, y = outline.T
    areas = np.ptp(np.outer(u[:, 0], x) + np.outer(u[:, 1], y), axis=1) * np.ptp(
        np.outer(u[:, 0], y) - np.outer(u[:, 1], x), axis=1
    )
    side = u[int(areas.argmin())] @ plane
    return np.stack([side, np.cross(up, side), up])


def _refined(points: FloatArray, axes: FloatArray) -> FloatArray:
    """Axes near the given ones, along which the box is smaller: a search over turns whose steps halve."""
    best, step = _volume(points, axes), _FIRST_STEP
    turns = np.concatenate([np.eye(3), -np.eye(3)])
    while step > _LAST_STEP:
        tried = [Rotation.from_rotvec(step * turn).as_matrix() @ axes for turn in turns]
        volumes = [_volume(points, one) for one in tried]
        smallest = int(np.argmin(volumes))
        if volumes[smallest] < best * (1.0 - 1e-9):
            best, axes = volumes[smallest], tried[smallest]
        else:
            step /= 2.0
    return axes


class SmallestBoxes:
    """The port BoxFitter with the smallest box around what is seen."""

    backend = "smallest"

    def box(
        self, points: FloatArray, around: FloatArray | None = None, pixel: float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """See ports.BoxFitter; what is around is not looked at."""
        return smallest_box(points)
