"""What stands about an object in an image, and how likely it is a part of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toolhand.tool_nodes.perception.clusters import find_clusters, least_pixels
from toolhand.tool_nodes.perception.division import divide, divisible
from toolhand.tool_nodes.perception.relief import depth_noise
from toolhand.tool_nodes.perception.surface import find_surface
from toolhand.tool_nodes.types import BoolArray, Frame

_OF_MASK = 0.5
"""A part is the object's where the mask covers more of it, and so is a whole cluster that holds more of the mask
[-]."""


@dataclass(frozen=True)
class Neighbour:
    """What may be an object by itself.

    Attributes:
        mask: bool (H, W), its pixels.
        one: Probability that it is a part of the object that is asked about.
    """

    mask: BoolArray
    one: float


def neighbours(frame: Frame, mask: BoolArray, where: BoolArray) -> list[Neighbour]:
    """The objects and parts of objects in some region, as relief and colour alone tell them apart.

    Args:
        frame: The image, with depth.
        mask: bool (H, W), true on the object that is asked about; its own parts have the probability 1.
        where: bool (H, W), region that they reach into.
    """
    surface = find_surface(frame)
    clusters = find_clusters(frame, surface)
    taken = np.any([cluster.mask for cluster in clusters], axis=0) if clusters else where
    whole = divisible(surface, clusters)
    found = []
    for k, cluster in enumerate(clusters):
        cluster = whole.get(k, cluster)
        if not (cluster.mask & where).any():
            continue
        if k not in whole:
            if cluster.within is None:
                its_own = np.count_nonzero(cluster.mask & mask) > _OF_MASK * np.count_nonzero(mask)
                found.append(Neighbour(cluster.mask, float(its_own)))
            continue
        division = divide(frame, surface, cluster, depth_noise(frame, surface), taken, least_pixels(frame))
        parts = [part.cluster.mask for part in division.parts]
        share = np.array([float(mask[part].mean()) for part in parts])
        # Where the mask is a part of a part, what else that holds is of the same object.
        own = share > _OF_MASK if (share > _OF_MASK).any() else (share > 0.0) & (share == share.max(initial=0.0))
        for n, part in enumerate(parts):
            one = 1.0 if own[n] else max(float(division.same[n, own].max(initial=0.0)), 0.0)
            found.append(Neighbour(part, one))
    return [other for other in found if (other.mask & where).any()]
