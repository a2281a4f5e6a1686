"""Sides of the table: which of some points of the image are left, near or closest to the robot."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import look_at
from toolhand.tool_nodes.language.phrases import Selector
from toolhand.tool_nodes.types import FloatArray

MIDDLE_HEIGHT = 0.05
"""Height above the table of the points that pointing gives, on average [m]."""
CLEARLY_NEARER = 0.75
"""An object is what a relation means, although others fit, when its distance is below this share of theirs."""
TIED = 0.02
"""Objects that differ by less than this in a direction are equally far in it [m]."""
BESIDE_MIDDLE = 0.05
"""An object is on the left of the table if it is no further right of the middle than this [m]; so for every side."""
AROUND_MIDDLE = 0.20
"""An object is in the middle of the table if it is at most this far from it in each direction [m]."""


def select_points(
    selectors: Sequence[Selector], points: Sequence[tuple[float, float]], count: int | None = None
) -> list[int]:
    """Indices of the points that positional selectors pick, best first.

    Args:
        selectors: From a noun phrase; size selectors are ignored.
        points: Normalized (x, y) of the candidates.
        count: How many are meant; None for one.

    Returns:
        No index when there are fewer points than the selectors count ("the third can" of two); several where it cannot
        be asked which one is meant.
    """
    chosen = [s for s in selectors if s.positional]
    if not chosen or not points:
        return list(range(len(points)))
    xy = table_points(points)
    spread = np.maximum(np.ptp(xy, axis=0), 1e-6)
    from_base = np.hypot(xy[:, 0], xy[:, 1])
    keys = {"left": xy[:, 0], "right": -xy[:, 0], "near": -xy[:, 1], "far": xy[:, 1]}
    keys |= {"robot": from_base, "robotless": -from_base}
    if len(chosen) == 1 and chosen[0].key == "middle":
        order = _middle(xy)
    elif len(chosen) == 1:
        along = keys[chosen[0].key]
        order = np.argsort(along, kind="stable").tolist()
        tied = [i for i in order if along[i] - along[order[0]] < TIED]
        if chosen[0].rank == 1 and count is None and len(tied) > 1:
            return tied
    else:
        middle = np.abs(xy - np.median(xy, axis=0)).sum(axis=1)
        cost = sum(
            keys[s.key] / spread[int(s.key not in ("left", "right"))] if s.key != "middle" else middle for s in chosen
        )
        order = np.argsort(np.asarray(cost), kind="stable").tolist()
    if chosen[0].key == "middle" and len(chosen) == 1 and count is None:
        return order
    return take(order, chosen[0].rank, count)


def _middle(xy: FloatArray) -> list[int]:
    """The middle one of a row; several where the points (N, 2) are no row, or an even number."""
    spread = np.ptp(xy, axis=0)
    ranks = np.abs(_ranks(xy[:, int(spread[1] > spread[0])]) - (len(xy) - 1) / 2)
    chosen = np.flatnonzero(ranks == ranks.min()).tolist()
    if len(xy) > 3:
        away = np.linalg.norm(xy - xy.mean(axis=0), axis=1)
        order = np.argsort(away, kind="stable").tolist()
        clear = away[order[0]] < CLEARLY_NEARER * away[order[1]]
        chosen += [i for i in order[: 1 if clear else 2] if i not in chosen]
    return chosen


def on_side(selectors: Sequence[Selector], point: tuple[float, float]) -> bool:
    """True unless an object at a normalized point is clearly not on the side of the table that selectors say."""
    (x, y), (middle_x, middle_y) = table_points([point, (0.5, 0.5)])
    right, near = float(x - middle_x), float(y - middle_y)
    offsets = {"left": -right, "right": right, "near": near, "far": -near}
    return all(
        max(abs(right), abs(near)) <= AROUND_MIDDLE if s.key == "middle" else offsets[s.key] >= -BESIDE_MIDDLE
        for s in selectors
        if s.positional and s.rank == 1 and not s.most
    )


def table_points(points: Sequence[tuple[float, float]], height_m: float = MIDDLE_HEIGHT) -> FloatArray:
    """(N, 2) metres to the right and towards the camera of normalized image points, at a height over the table."""
    position, target = workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET
    width, height = workspace.IMAGE_SIZE
    R = look_at(position, target)[:3, :3]
    pixels = (np.asarray(points, float) - 0.5) * (width, height) / workspace.SCENE_CAMERA_FOCAL_PX
    rays = np.column_stack([pixels, np.ones(len(pixels))]) @ R.T
    on_table = position + rays * ((height_m - position[2]) / rays[:, 2])[:, None]
    towards = (position - target)[:2] / np.linalg.norm((position - target)[:2])
    return np.column_stack([on_table @ R[:, 0], on_table[:, :2] @ towards])


def _ranks(values: FloatArray) -> FloatArray:
    return np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(float)


def take(order: list[int], rank: int, count: int | None) -> list[int]:
    """The one of a rank, or as many from it on as are meant; a negative rank counts from the end."""
    if rank < 0:
        return order[::-1][: count or 1]
    return order[rank - 1 : rank - 1 + (count or 1)]
