"""Splits a cluster of objects side by side: by a straight line on the table between their footprints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tool_nodes.perception.clusters import Cluster
from tool_nodes.perception.extents import measure
from tool_nodes.perception.surface import Surface
from tool_nodes.types import BoolArray, FloatArray, Frame

_ANGLES = 24
"""Directions of the lines that are tried, over half a turn."""

_BIN_M = 0.002
"""Distance between two lines of one direction [m]; a round figure."""
_THINNEST_M = 0.02
"""Either part is at least this wide across the line [m]."""

_MIN_PIXELS = 80
"""Least pixels of either part at 640x480, as in clusters.py."""
_LINES = 24
"""Lines, the best ranked, that are compared in full."""

_COLOUR_SCALE = 40.0
"""What counts as a difference in colour when lines are ranked [grey levels]; a round figure."""
_HEIGHT_SCALE = 0.02
"""What counts as a difference in height when lines are ranked [m]; a round figure."""


def split_neighbours(frame: Frame, surface: Surface, cluster: Cluster) -> Iterator[tuple[Cluster, Cluster]]:
    """Ways to see a cluster as two things beside each other, the most likely lines first.

    Between two convex footprints there always is a line. A line is likely where colours or heights differ from one side
    to the other, or where little is seen on the line itself.

    Args:
        frame: The picture.
        surface: Its cloud.
        cluster: Cluster of points on the table.
    """
    rows, columns = np.nonzero(cluster.mask & surface.inside)
    least = _MIN_PIXELS / surface.coarse**2
    if len(rows) < 2 * least:
        return
    points = surface.points[rows, columns].astype(float)
    middle = points[:, :2].mean(axis=0)
    features = np.column_stack([frame.rgb[rows, columns] / _COLOUR_SCALE, points[:, 2] / _HEIGHT_SCALE])
    lines = []
    for angle in np.arange(_ANGLES) * np.pi / _ANGLES:
        normal = np.array([np.cos(angle), np.sin(angle)])
        along = (points[:, :2] - middle) @ normal
        lines += [(rank, normal, offset) for rank, offset in _likely_offsets(along, features, least)]
    lines.sort(key=lambda line: -line[0])
    eye = frame.T_base_camera[:3, 3]
    for _, normal, offset in lines[:_LINES]:
        side = (points[:, :2] - middle) @ normal > offset
        parts = [_part(cluster, surface, rows[chosen], columns[chosen], eye) for chosen in (side, ~side)]
        yield parts[0], parts[1]


def _likely_offsets(along: FloatArray, features: FloatArray, least: float) -> list[tuple[float, float]]:
    """(how likely, offset [m]) of lines across a direction, of pixels at `along` (N,) [m] with features (N, F).

    `least` is the fewest pixels of either part.
    """
    low, high = float(along.min()), float(along.max())
    bins = int((high - low) / _BIN_M) + 1
    if high - low < 2 * _THINNEST_M:
        return []
    index = np.minimum(((along - low) / _BIN_M).astype(int), bins - 1)
    count = np.bincount(index, minlength=bins).astype(float)
    sums = np.stack([np.bincount(index, weights=column, minlength=bins) for column in features.T], axis=1)
    left, before = np.cumsum(count)[:-1], np.cumsum(sums, axis=0)[:-1]
    right, after = count.sum() - left, sums.sum(axis=0) - before
    edges = low + _BIN_M * np.arange(1, bins)
    with np.errstate(divide="ignore", invalid="ignore"):
        contrast = (
            ((before / left[:, None] - after / right[:, None]) ** 2).sum(axis=1) * left * right / count.sum() ** 2
        )
    spread = features.var(axis=0).sum()
    contrast = contrast / max(float(spread), 1e-9)
    smooth = np.convolve(count, np.ones(3) / 3, mode="same")
    around = np.convolve(count, np.ones(21) / 21, mode="same")
    waist = 1.0 - (smooth / np.maximum(around, 1.0))[:-1]
    allowed = (edges > low + _THINNEST_M) & (edges < high - _THINNEST_M)
    allowed &= (left >= least) & (right >= least)
    found = []
    for rank in (contrast, 0.6 * waist):
        usable = np.where(allowed, np.nan_to_num(rank), -1.0)
        best = int(np.argmax(usable))
        if usable[best] > 0.0:
            found.append((float(usable[best]), float(edges[best])))
    return found


def _part(
    cluster: Cluster, surface: Surface, rows: NDArray[np.intp], columns: NDArray[np.intp], eye: FloatArray
) -> Cluster:
    mask: BoolArray = np.zeros_like(cluster.mask)
    mask[rows, columns] = True
    extents = measure(surface.points[rows, columns], cluster.support, eye, surface.coarse)
    window = (slice(int(rows.min()), int(rows.max()) + 1), slice(int(columns.min()), int(columns.max()) + 1))
    return replace(cluster, mask=mask, window=window, extents=extents)
