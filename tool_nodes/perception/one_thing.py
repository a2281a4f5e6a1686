"""Whether two regions of a picture show one thing: asked of what vanished from the table together."""

from __future__ import annotations

import numpy as np

from tool_nodes.perception.clusters import find_clusters, least_pixels
from tool_nodes.perception.division import divide, divisible
from tool_nodes.perception.relief import depth_noise
from tool_nodes.perception.surface import find_surface
from tool_nodes.types import BoolArray, Frame

_OF_MASK = 0.5
"""A part is the thing's where the mask covers more of it [-]."""


def probably_one(frame: Frame, mask: BoolArray, beside: BoolArray) -> float:
    """Probability that a region shows the same thing as a mask, from relief and colour alone; 0 where they are apart.

    Args:
        frame: The picture.
        mask: bool (H, W), true on the thing.
        beside: bool (H, W), a region outside of it.
    """
    surface = find_surface(frame)
    clusters = find_clusters(frame, surface)
    taken = np.any([cluster.mask for cluster in clusters], axis=0)
    whole = divisible(surface, clusters)
    best = 0.0
    for k, cluster in enumerate(clusters):
        cluster = whole.get(k, cluster)
        if not (cluster.mask & mask).any() or not (cluster.mask & beside).any():
            continue
        if k not in whole:
            return 1.0
        division = divide(frame, surface, cluster, depth_noise(frame, surface), taken, least_pixels(frame))
        parts = [part.cluster.mask for part in division.parts]
        if not parts:
            continue
        own = [float(mask[part].mean()) for part in parts]
        its = int(np.argmax([int(np.count_nonzero(part & beside)) for part in parts]))
        thing = [n for n, share in enumerate(own) if share > _OF_MASK] or [int(np.argmax(own))]
        best = max(best, 1.0 if its in thing else float(division.same[its, thing].max()))
    return best
