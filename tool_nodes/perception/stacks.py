"""Splits a cluster of two stacked objects: the upper one has the lower one's top at its foot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from toolhand.tool_nodes.perception.clusters import Cluster
from toolhand.tool_nodes.perception.extents import Extents, measure
from toolhand.tool_nodes.perception.surface import SOLID_M, Surface
from toolhand.tool_nodes.types import BoolArray, FloatArray

_BIN_M = 0.002
"""Bin of the histogram of heights [m]; a round figure."""
_LEAST_M = 0.025
"""Either part is at least this high [m]."""

_LEVEL_M = 0.003
"""The upper part begins this far above the level between the two [m]; a round figure."""
_MIN_PIXELS = 80
"""Least pixels of either part at 640x480, as in clusters.py."""
_CANDIDATES = 5
"""Levels that are tried, those with the most pixels first."""


def split_candidates(surface: Surface, cluster: Cluster, eye: FloatArray) -> Iterator[tuple[Cluster, Cluster]]:
    """Ways to see a cluster as (lower, upper) object, the most likely first.

    The seen rest of the lower object's top is level, so that many of the cluster's pixels share its height.

    Args:
        surface: The frame's cloud.
        cluster: Cluster of points on the table.
        eye: (3,) where the camera is, base frame [m].
    """
    window = cluster.window
    points = surface.points[window]
    mask = cluster.mask[window] & np.isfinite(points[:, :, 2])
    heights = points[:, :, 2][mask]
    top = float(heights.max(initial=0.0))
    if top < 2 * _LEAST_M:
        return
    counts, edges = np.histogram(heights, bins=np.arange(0.0, top + 2 * _BIN_M, _BIN_M))
    smooth = np.convolve(counts, [1, 1, 1], mode="same")
    peak = (smooth >= np.roll(smooth, 1)) & (smooth >= np.roll(smooth, -1))
    peak &= (edges[:-1] > _LEAST_M) & (edges[:-1] < top - _LEAST_M)
    for index in sorted(np.flatnonzero(peak), key=lambda k: -int(smooth[k]))[:_CANDIDATES]:
        level = float(edges[index]) + _BIN_M / 2
        upper = mask & (points[:, :, 2] > level + _LEVEL_M)
        lower = mask & ~upper & (points[:, :, 2] > cluster.support + SOLID_M / 2)
        if min(np.count_nonzero(upper), np.count_nonzero(lower)) >= _MIN_PIXELS / surface.coarse**2:
            yield (
                _part(
                    cluster,
                    lower,
                    measure(points[lower], cluster.support, eye, surface.coarse, surface.rough),
                    cluster.support,
                ),
                _part(cluster, upper, measure(points[upper], level, eye, surface.coarse, surface.rough), level),
            )


def _part(cluster: Cluster, mask: BoolArray, extents: Extents, support: float) -> Cluster:
    """The part of a cluster with these pixels of its window."""
    full = np.zeros_like(cluster.mask)
    full[cluster.window] = mask
    return replace(cluster, mask=full, extents=extents, support=support)
