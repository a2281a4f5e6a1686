"""How far a perception's answers are from the simulator's truth: overlaps of masks and boxes, and mean rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

from toolhand.tool_nodes.perception.masks import window_of
from toolhand.tool_nodes.types import BoolArray, Box, FloatArray

_RESAMPLES = 2000
"""Bootstrap samples of a 95 % interval [-]."""
_FLAT_M = 1e-6
"""Boxes that share less than a sphere of this radius do not overlap [m]."""


def mask_iou(a: BoolArray, b: BoolArray) -> float:
    """Intersection over union of two masks (H, W), in [0, 1]; 0 where both are empty."""
    union = np.count_nonzero(a | b)
    return float(np.count_nonzero(a & b) / union) if union else 0.0


def outline_iou(a: BoolArray, b: BoolArray) -> float:
    """Intersection over union, in [0, 1], of the upright rectangles around two masks (H, W)."""
    if not (a.any() and b.any()):
        return 0.0
    spans = [np.array([[side.start, side.stop] for side in window_of(mask)]) for mask in (a, b)]
    low, high = np.maximum(spans[0][:, 0], spans[1][:, 0]), np.minimum(spans[0][:, 1], spans[1][:, 1])
    shared = float(np.prod(np.maximum(high - low, 0)))
    return shared / (float(sum(np.prod(span[:, 1] - span[:, 0]) for span in spans)) - shared)


def box_iou(a: Box, b: Box) -> float:
    """Intersection over union of two oriented boxes in one parent frame, in [0, 1]: exact, from their common solid."""
    shared = _shared_volume(np.concatenate([_halfspaces(a), _halfspaces(b)]))
    volumes = [8.0 * float(np.prod(box.half_extents)) for box in (a, b)]
    return shared / (sum(volumes) - shared)


def box_of_corners(corners: FloatArray) -> Box:
    """The box with corners (8, 3): a bottom face in order around, then the face over it in the same order [m]."""
    axes = [corners[1] - corners[0], corners[3] - corners[0], corners[4] - corners[0]]
    sides = np.array([np.linalg.norm(axis) for axis in axes])
    T = np.eye(4)
    T[:3, :3] = np.stack([axis / max(side, 1e-9) for axis, side in zip(axes, sides, strict=True)], axis=1)
    T[:3, 3] = corners.mean(axis=0)
    return Box(T, sides / 2)


def _halfspaces(box: Box) -> FloatArray:
    """(6, 4) rows n, d: the box is where n @ x + d <= 0."""
    R, centre = box.T_parent_box[:3, :3], box.T_parent_box[:3, 3]
    normals = np.concatenate([R.T, -R.T])
    return np.column_stack([normals, -(normals @ centre + np.tile(box.half_extents, 2))])


def _shared_volume(halfspaces: FloatArray) -> float:
    """Volume of what halfspaces (N, 4) have in common [m^3]."""
    # The centre of the largest sphere inside; its radius says whether there is anything.
    lengths = np.linalg.norm(halfspaces[:, :3], axis=1, keepdims=True)
    found = linprog(
        [0.0, 0.0, 0.0, -1.0],
        A_ub=np.hstack([halfspaces[:, :3], lengths]),
        b_ub=-halfspaces[:, 3],
        bounds=[(None, None)] * 3 + [(0.0, None)],
    )
    if found.x is None or found.x[3] < _FLAT_M:
        return 0.0
    try:
        return float(ConvexHull(HalfspaceIntersection(halfspaces, found.x[:3]).intersections).volume)
    except QhullError:
        return 0.0


def depth_errors(depth: NDArray[np.float32], truth: NDArray[np.float32]) -> tuple[float, float]:
    """(mean absolute error [m], mean of error over true depth) of the pixels (H, W) that have both; NaN if none has."""
    valid = np.isfinite(depth) & np.isfinite(truth)
    if not valid.any():
        return float("nan"), float("nan")
    error = np.abs(depth[valid].astype(float) - truth[valid])
    return float(error.mean()), float((error / truth[valid]).mean())


def mean_row(name: str, groups: Sequence[Sequence[float]], **more: Any) -> dict[str, Any]:
    """A row with the mean of all values and its 95 % bootstrap interval; None where there is no value.

    Args:
        groups: The values of each scene. Scenes are resampled, for objects of one scene err together.
        more: Further entries of the row.
    """
    sums = np.array([sum(group) for group in groups if len(group)])
    counts = np.array([len(group) for group in groups if len(group)])
    row: dict[str, Any] = {"name": name, "n": int(counts.sum()), "mean": None, "low": None, "high": None}
    if len(sums):
        chosen = np.random.default_rng(0).integers(len(sums), size=(_RESAMPLES, len(sums)))
        means = sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1)
        low, high = np.percentile(means, [2.5, 97.5])
        mean = sums.sum() / counts.sum()
        row |= {"mean": round(float(mean), 5), "low": round(float(low), 5), "high": round(float(high), 5)}
    return row | more


def format_means(rows: Sequence[dict[str, Any]]) -> str:
    """Mean rows as an aligned text table."""
    lines = [f"{'':34}{'n':>6}{'mean':>10}   95 % interval"]
    for row in rows:
        cells = ["-" if row[key] is None else f"{row[key]:.4f}" for key in ("mean", "low", "high")]
        lines.append(f"{row['name']:34}{row['n']:>6}{cells[0]:>10}   {cells[1]} .. {cells[2]}")
    return "\n".join(lines)
