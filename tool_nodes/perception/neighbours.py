"""What stands about an object in an image, and how likely it is a part of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from toolhand.tool_nodes.perception.clusters import Cluster, find_clusters, least_pixels
from toolhand.tool_nodes.perception.division import Division, divide, divisible
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
        meets: It has a border with that object.
    """

    mask: BoolArray
    one: float
    meets: bool = False


def neighbours(frame: Frame, mask: BoolArray, where: BoolArray) -> list[Neighbour]:
    """The objects and parts of objects in some region, as relief and colour alone tell them apart.

    Args:
        frame: The image, with depth.
        mask: bool (H, W), true on the object that is asked about; its own parts have the probability 1.
        where: bool (H, W), region that they reach into.
    """
    found = []
    for cluster, division in _divisions(frame, where):
        if division is None:
            if cluster.within is None:
                its_own = np.count_nonzero(cluster.mask & mask) > _OF_MASK * np.count_nonzero(mask)
                found.append(Neighbour(cluster.mask, float(its_own)))
            continue
        parts = [part.cluster.mask for part in division.parts]
        own = _own(parts, mask)
        for n, part in enumerate(parts):
            one = 1.0 if own[n] else float(division.same[n, own].max(initial=-1.0))
            found.append(Neighbour(part, max(one, 0.0), one >= 0.0))
    return [other for other in found if (other.mask & where).any()]


def surely_one(frame: Frame, mask: BoolArray) -> float:
    """Probability that what a mask (H, W) shows is one object, by the least sure joint of its parts; 1 without any."""
    sure = 1.0
    for _, division in _divisions(frame, mask):
        if division is not None and division.parts:
            own = _own([part.cluster.mask for part in division.parts], mask)
            halves = [part.split for part, is_own in zip(division.parts, own, strict=True) if is_own]
            sure = min([sure, *(split.same for split in halves if split is not None)])
    return sure


def _divisions(frame: Frame, where: BoolArray) -> Iterator[tuple[Cluster, Division | None]]:
    """The clusters that reach into a region (H, W), and what each consists of; None for what is not taken apart."""
    surface = find_surface(frame)
    clusters = find_clusters(frame, surface)
    taken = np.any([cluster.mask for cluster in clusters], axis=0) if clusters else where
    whole = divisible(surface, clusters)
    for k, cluster in enumerate(clusters):
        cluster = whole.get(k, cluster)
        if not (cluster.mask & where).any():
            continue
        division = None
        if k in whole:
            division = divide(frame, surface, cluster, depth_noise(frame, surface), taken, least_pixels(frame))
        yield cluster, division


def _own(parts: Sequence[BoolArray], mask: BoolArray) -> BoolArray:
    """Which parts (n,) are those of the object of a mask (H, W)."""
    share = np.array([float(mask[part].mean()) if part.any() else 0.0 for part in parts])
    # Where the mask is a part of a part, what else that holds is of the same object.
    return share > _OF_MASK if (share > _OF_MASK).any() else (share > 0.0) & (share == share.max(initial=0.0))
