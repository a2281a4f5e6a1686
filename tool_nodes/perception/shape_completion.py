"""Shape completion: the unseen side of an object on a table, from the points that one camera sees.

A camera that looks down at the table sees an object's top and front. Balls, eggs and lying rods are
fitted and completed; upright round objects are turned about their axis; everything else is
extruded down to what it stands on. What the camera saw to be free carves all of it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import ndimage
from scipy.spatial import ConvexHull

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.types import BoolArray, FloatArray

_FIT_RMS = 0.0012
"""Points lie on a surface if their root mean square distance from it is less than this [m]."""
_FIT_WORST = 0.004
"""Distance from that surface within which 98 % of the points lie too [m]; a round figure."""
_MAX_RADIUS = 0.12
"""Surfaces with a larger radius are not believed: no object is as large [m]."""
_CELL = 0.003
"""Side of a cell of the footprint [m]; a round figure."""
_LEVEL_STEP = 0.006
"""Distance in height between points that are guessed [m]; a round figure."""
_BINS = 24
"""Sectors about the axis of a turned body, 15 degrees each."""
_FREE_SHARE = 0.06
"""Share of a guessed body that may lie where nothing was seen to be [-]: of a true one none does but for noise."""


def complete_shape(
    points: FloatArray, table_z: float = workspace.TABLE_Z, seen_free: Callable[[FloatArray], BoolArray] | None = None
) -> FloatArray:
    """Seen points and guessed points of one object.

    A guess is held against what was seen: of a fitted body no more than `_FREE_SHARE` may lie where the camera
    looked through to something farther away, in front of the object or beside it; single points that do are left out.

    Args:
        points: (N, 3) seen points in the base frame [m], z up, at most about one per 3 mm.
        table_z: Height of what the object stands on [m].
        seen_free: (K, 3) points in the base frame [m] -> (K,) True where the camera saw that nothing is there; None
            where that is unknown.

    Returns:
        (M, 3), M >= N: the seen points first.
    """
    for fit in (_ellipsoid, _lying_rod):
        guessed = fit(points, table_z)
        if guessed is None:
            continue
        free = _free(guessed, seen_free)
        if free.mean() <= _FREE_SHARE:
            return np.vstack([points, guessed[~free]])
    turned = _turned(points, table_z)
    free = _free(turned, seen_free)
    if len(turned) and free.mean() <= _FREE_SHARE:
        points = np.vstack([points, turned[~free]])
    walls = _extruded(points, table_z)
    return np.vstack([points, walls[~_free(walls, seen_free)]])


def _free(points: FloatArray, seen_free: Callable[[FloatArray], BoolArray] | None) -> BoolArray:
    return np.zeros(len(points), dtype=bool) if seen_free is None or not len(points) else seen_free(points)


def voxel_means(points: FloatArray, cell: float) -> FloatArray:
    """One point (M, 3) per occupied voxel: the mean of the points (N, 3) in it, in a fixed order."""
    keys = np.floor((points - points.min(axis=0)) / cell).astype(np.int64)
    size = keys.max(axis=0) + 1
    flat = (keys[:, 0] * size[1] + keys[:, 1]) * size[2] + keys[:, 2]
    _, index, counts = np.unique(flat, return_inverse=True, return_counts=True)
    sums = [np.bincount(index, weights=points[:, axis]) for axis in range(3)]
    return np.column_stack(sums) / counts[:, None]


def _mirror_height(points: FloatArray, table_z: float) -> tuple[FloatArray, float]:
    """(z - middle)^2 (N,) and the middle height [m] of an object that stands on the table."""
    middle = (table_z + float(np.percentile(points[:, 2], 99.0))) / 2.0
    return (points[:, 2] - middle) ** 2, middle


def _misfit(value: FloatArray, gradient: FloatArray) -> float | None:
    """Rms distance [m] of points from the surface value = 0, to first order; None if they do not lie on it."""
    distance = np.abs(value) / np.maximum(np.linalg.norm(gradient, axis=1), 1e-9)
    rms = float(np.sqrt(np.mean(distance**2)))
    return rms if rms < _FIT_RMS and np.percentile(distance, 98.0) < _FIT_WORST else None


def _ellipsoid(points: FloatArray, table_z: float) -> FloatArray | None:
    """Surface points of an ellipsoid with one vertical axis that touches the table, or None if none fits."""
    middle = points[:, :2].mean(axis=0)
    x, y = (points[:, :2] - middle).T
    w, z_middle = _mirror_height(points, table_z)
    # The height's own coefficient is 1, so that the least squares have a unique answer.
    terms = np.column_stack([x * x, x * y, y * y, x, y, np.ones(len(x))])
    coefficients = np.linalg.lstsq(terms, -w, rcond=None)[0]
    a, b, c, d, e, k = coefficients
    form = np.array([[a, b / 2.0], [b / 2.0, c]])
    eigenvalues, axes = np.linalg.eigh(form)
    gradient = np.column_stack([2.0 * a * x + b * y + d, b * x + 2.0 * c * y + e, 2.0 * (points[:, 2] - z_middle)])
    if eigenvalues[0] <= 0.0 or _misfit(terms @ coefficients + w, gradient) is None:
        return None
    centre = -0.5 * np.linalg.solve(form, np.array([d, e]))
    radii = np.sqrt(max(centre @ form @ centre - k, 0.0) / np.array([*eigenvalues, 1.0]))
    half_seen = float(np.ptp(points[:, :2] @ axes, axis=0).max()) / 2.0
    if radii.max() > min(_MAX_RADIUS, half_seen + radii[2]):
        return None
    rotation = np.eye(3)
    rotation[:2, :2] = axes
    return (_fibonacci_sphere(500) * radii) @ rotation.T + np.array([*(middle + centre), z_middle])


def _fibonacci_sphere(n: int) -> FloatArray:
    """n unit vectors, evenly spread."""
    k = np.arange(n) + 0.5
    z = 1.0 - 2.0 * k / n
    azimuth = np.pi * (1.0 + np.sqrt(5.0)) * k
    ring = np.sqrt(1.0 - z**2)
    return np.column_stack([ring * np.cos(azimuth), ring * np.sin(azimuth), z])


def _lying_rod(points: FloatArray, table_z: float) -> FloatArray | None:
    """Surface points of a lying cylinder with elliptic section that touches the table, or None if none fits."""
    middle = points[:, :2].mean(axis=0)
    yaw = tightest_yaw(points[:, :2] - middle)
    if np.ptp(_turn(points[:, :2], yaw)[:, 0]) < np.ptp(_turn(points[:, :2], yaw)[:, 1]):
        yaw += np.pi / 2.0
    # The far side of the footprint is unseen, so its tightest rectangle is a few degrees off.
    sections = [_section(points, middle, yaw + turn, table_z) for turn in np.radians([0.0, -2.0, 2.0, -4.0, 4.0])]
    fitting = [section for section in sections if section is not None]
    if not fitting:
        return None
    _, yaw, low, high, centre, radius, z_middle, half_height = min(fitting)
    angle = np.arange(0.0, 2.0 * np.pi, np.pi / 16.0)
    stations = np.linspace(low, high, max(2, round((high - low) / 0.005)))
    s, phi = (grid.ravel() for grid in np.meshgrid(stations, angle, indexing="ij"))
    xy = middle + _turn(np.column_stack([s, centre + radius * np.cos(phi)]), -yaw)
    return np.column_stack([xy, z_middle + half_height * np.sin(phi)])


_Section = tuple[float, float, float, float, float, float, float, float]


def _section(points: FloatArray, middle: FloatArray, yaw: float, table_z: float) -> _Section | None:
    """The elliptic section across a rod that lies along a yaw.

    Returns:
        (rms, yaw, ends low and high along the rod, centre across it, radius across it, height of the
        middle, half height), or None if the points are not a rod along this yaw.
    """
    along, across = _turn(points[:, :2] - middle, yaw).T
    low, high = (float(end) for end in np.percentile(along, (1.0, 99.0)))
    if high - low < 1.5 * np.ptp(across):
        return None
    body = np.abs(along - (low + high) / 2.0) < 0.4 * (high - low)
    w, z_middle = _mirror_height(points[body], table_z)
    terms = np.column_stack([across[body] ** 2, across[body], np.ones(int(body.sum()))])
    coefficients = np.linalg.lstsq(terms, -w, rcond=None)[0]
    a, b, k = coefficients
    gradient = np.column_stack([2.0 * a * across[body] + b, 2.0 * (points[body, 2] - z_middle)])
    rms = _misfit(terms @ coefficients + w, gradient)
    if a <= 0.0 or rms is None:
        return None
    centre = -b / (2.0 * a)
    half_height = float(np.sqrt(max(a * centre**2 - k, 0.0)))
    radius = half_height / float(np.sqrt(a))
    # No camera above the table misses more of a rod's width than its height hides: a level face is none of a wide rod.
    widest = min(_MAX_RADIUS, float(np.ptp(across)) / 2.0 + half_height)
    return None if radius > widest else (rms, yaw, low, high, centre, radius, z_middle, half_height)


def _turn(xy: FloatArray, yaw: float) -> FloatArray:
    """Points (N, 2) seen from axes that are turned by yaw [rad]."""
    c, s = np.cos(yaw), np.sin(yaw)
    return xy @ np.array([[c, -s], [s, c]])


def _turned(points: FloatArray, table_z: float) -> FloatArray:
    """The unseen part (K, 3) of an upright round object; empty if the object is not round."""
    circle = _footprint_circle(points[:, :2])
    if circle is None:
        return np.empty((0, 3))
    centre = circle
    offset = points[:, :2] - centre
    radius = np.hypot(offset[:, 0], offset[:, 1])
    sector = ((np.arctan2(offset[:, 1], offset[:, 0]) / (2.0 * np.pi) + 0.5) * _BINS).astype(int) % _BINS
    level = ((points[:, 2] - table_z) / _LEVEL_STEP).astype(int)
    reach = np.zeros((level.max() + 1, _BINS))
    np.maximum.at(reach, (level, sector), radius)
    azimuth = (np.arange(_BINS) + 0.5) / _BINS * 2.0 * np.pi - np.pi
    guessed = []
    for k, row in enumerate(reach):
        outer = row[row > 0.75 * row.max()]
        if len(outer) < _BINS // 4:
            continue
        typical = float(np.median(outer))
        missing = row < typical - 0.006
        ring = centre + typical * np.column_stack([np.cos(azimuth), np.sin(azimuth)])[missing]
        guessed.append(np.column_stack([ring, np.full(len(ring), table_z + (k + 0.5) * _LEVEL_STEP)]))
    return np.vstack(guessed) if guessed else np.empty((0, 3))


def _footprint_circle(xy: FloatArray) -> FloatArray | None:
    """Centre (2,) of the circle about most of the footprint (N, 2), or None if that is not round."""
    middle = xy.mean(axis=0)
    offset = xy - middle
    sector = ((np.arctan2(offset[:, 1], offset[:, 0]) / (2.0 * np.pi) + 0.5) * 48).astype(int) % 48
    distance = np.hypot(offset[:, 0], offset[:, 1])
    order = np.lexsort((distance, sector))
    last = np.append(np.diff(sector[order]) > 0, True)
    rim = offset[order[last]]
    keep = np.ones(len(rim), dtype=bool)
    for _ in range(4):
        if keep.sum() < 24:
            return None
        terms = np.column_stack([2.0 * rim[keep], np.ones(int(keep.sum()))])
        cx, cy, k = np.linalg.lstsq(terms, np.sum(rim[keep] ** 2, axis=1), rcond=None)[0]
        radius = np.sqrt(max(k + cx**2 + cy**2, 0.0))
        error = np.abs(np.hypot(rim[:, 0] - cx, rim[:, 1] - cy) - radius)
        keep = error <= max(float(np.percentile(error, 75.0)), 0.001)
    if np.sqrt(np.mean(error[keep] ** 2)) > 0.0012 or radius > _MAX_RADIUS:
        return None
    return middle + np.array([cx, cy])


def _extruded(points: FloatArray, table_z: float) -> FloatArray:
    """Points (K, 3) on vertical walls from the outline of the footprint down to the table."""
    low = points[:, :2].min(axis=0) - 2.0 * _CELL
    cells = ((points[:, :2] - low) / _CELL).astype(int)
    shape = cells.max(axis=0) + 3
    top = np.zeros(shape)
    np.maximum.at(top, (cells[:, 0], cells[:, 1]), points[:, 2] - table_z)
    filled = ndimage.binary_closing(top > 0.0, structure=np.ones((3, 3), dtype=bool))
    outline = filled & ~ndimage.binary_erosion(filled) & (top > 0.0)
    at_outline = np.flatnonzero(outline[cells[:, 0], cells[:, 1]])
    wall = points[at_outline]
    _, first = np.unique(cells[at_outline] @ np.array([shape[1], 1]), return_index=True)
    wall = wall[first]
    height = top[tuple(cells[at_outline[first]].T)]
    levels = np.arange(0.002, max(float(height.max()), 0.004), _LEVEL_STEP)
    below = levels[None, :] < height[:, None]
    row, level = np.nonzero(below)
    return np.column_stack([wall[row, :2], table_z + levels[level]])


def tightest_yaw(xy: FloatArray) -> float:
    """Yaw [rad] in [0, pi/2) of the smallest of 90 rectangles about points (N, 2)."""
    yaws = np.radians(np.arange(0.0, 90.0, 1.0))
    u, v = np.array([np.cos(yaws), np.sin(yaws)]), np.array([-np.sin(yaws), np.cos(yaws)])
    outline = xy[ConvexHull(xy).vertices] if np.linalg.matrix_rank(xy - xy[0], tol=1e-4) == 2 else xy
    return float(yaws[int(np.argmin(np.ptp(outline @ u, axis=0) * np.ptp(outline @ v, axis=0)))])
