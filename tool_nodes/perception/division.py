"""Takes a cluster apart: the objects that it consists of, by relief and colour, and what else each may be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.perception.clusters import ROUGH_TABLE_M, Cluster
from toolhand.tool_nodes.perception.extents import measure
from toolhand.tool_nodes.perception.fitted import network
from toolhand.tool_nodes.perception.joining import Joined, RegionSums, join
from toolhand.tool_nodes.perception.masks import Window, widened, window_of
from toolhand.tool_nodes.perception.parts import find_pairs, find_patches
from toolhand.tool_nodes.perception.relief import MARGIN_PX, Relief, find_relief
from toolhand.tool_nodes.perception.surface import SOLID_M, Surface, firm_pixels
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_ABSORBED = 0.2
"""What is too small for an object belongs to the neighbour that it is one with by at least this probability; else it is
left out, as a fringe between objects [-]; a round figure."""
_OWN_SHARE = 0.5
"""A low region that has a smaller share of the cluster's own pixels is no object [-]; a round figure."""
_LIFTED_M, _LOW_SHARE = 0.02, 0.03
"""What is seen down to this height only, but for this share of it, may stand on another object [m], [-]; round
figures."""
_LEVEL = 0.7
"""Vertical part of the normal of what something can stand on [-]: up to 45 degrees of slope."""
_CONTACT = 0.15
"""Share of an object's pixels across, that touch what it stands on, for it to stand there [-]; a round figure."""


@dataclass(frozen=True)
class Halves:
    """One object may be two: their masks (H, W), and the probability that they are one."""

    first: BoolArray
    second: BoolArray
    same: float


@dataclass(frozen=True)
class Piece:
    """An object of a cluster.

    Attributes:
        cluster: The object as geometry sees it.
        features: Numbers that its expected IoU is read from, see `Joined.score_features`.
        split: How it would most likely be two; None where there is no way.
    """

    cluster: Cluster
    features: NDArray[np.float32]
    split: Halves | None = None


@dataclass(frozen=True)
class Division:
    """The parts of a cluster, largest first.

    Attributes:
        parts: The objects.
        same: (len(parts), len(parts)) probability that two are one object; negative where they do not meet.
    """

    parts: tuple[Piece, ...]
    same: FloatArray = field(default_factory=lambda: np.full((1, 1), -1.0))


def divisible(surface: Surface, clusters: Sequence[Cluster]) -> dict[int, Cluster]:
    """By their numbers the clusters that are taken apart, each with all that belongs to it.

    A container and what stands in it were told apart by heights, unless these are too rough for it.
    """
    rough = surface.rough > ROUGH_TABLE_M
    found = {}
    for k, cluster in enumerate(clusters):
        if not cluster.hollow:
            if cluster.within is None or not rough:
                found[k] = cluster
        elif rough:
            contents = [other.mask for other in clusters if other.within == k]
            mask = np.any([cluster.mask, *contents], axis=0)
            found[k] = replace(cluster, mask=mask, window=window_of(mask))
    return found


def divide(frame: Frame, surface: Surface, cluster: Cluster, noise: float, taken: BoolArray, smallest: int) -> Division:
    """What a cluster consists of.

    Args:
        frame: The image.
        surface: Its cloud and table.
        cluster: One that is no container.
        noise: See `relief.depth_noise` [m].
        taken: bool (H, W), pixels of all clusters.
        smallest: Fewest pixels of an object.
    """
    window = widened(cluster.window, MARGIN_PX)
    relief = find_relief(frame, surface, cluster.mask, window, noise, taken)
    pairs = find_pairs(relief, network("border"))
    patches = find_patches(relief, pairs)
    joined = join(RegionSums(relief, patches, pairs), network("joint"))
    shadows = _shadows(joined, relief, cluster.mask[window][:: relief.every, :: relief.every], patches)
    owner, kept = _without_fringes(joined, smallest // relief.every**2, shadows)
    own = owner[patches]
    a, b = own.ravel()[pairs.first], own.ravel()[pairs.second]
    ends = np.stack([pairs.first, pairs.second])[:, a != b]
    across = ends.ravel(), ends[::-1].ravel()
    known = np.isfinite(surface.height[window])
    view = _View(frame, surface, cluster, window, relief, patches, own, across, known, joined)
    parts = [view.part(k) for k in kept]
    chosen = [k for k, part in enumerate(parts) if part is not None]
    numbers = np.array([kept[k] for k in chosen], int)
    return Division(
        tuple(part for part in parts if part is not None),
        joined.same[np.ix_(numbers, numbers)] if len(numbers) else np.zeros((0, 0)),
    )


def united(surface: Surface, eye: FloatArray, parts: list[Cluster]) -> Cluster:
    """One cluster in place of several, which stands where the lowest of them does."""
    mask = np.zeros_like(parts[0].mask)
    for part in parts:
        mask |= part.mask
    return _cluster(surface, eye, mask, min(part.support for part in parts), parts[0].within)


def _cluster(surface: Surface, eye: FloatArray, mask: BoolArray, support: float, within: int | None) -> Cluster:
    window = window_of(mask)
    points = surface.points[window][firm_pixels(surface, window, mask[window])]
    points = points[np.isfinite(points[:, 2])]
    high = points[points[:, 2] > support + SOLID_M / 2]
    extents = measure(
        high if len(high) >= max(len(points) // 4, 1) else points, support, eye, surface.coarse, surface.rough
    )
    return Cluster(mask, window, extents, support, within=within)


def _shadows(joined: Joined, relief: Relief, own: BoolArray, patches: NDArray[np.int32]) -> set[int]:
    """Regions that lie on the table beside the cluster's pixels `own` (h, w): what looks unlike the table only."""
    region = joined.owner[patches]
    share = np.bincount(region.ravel(), own.ravel(), joined.regions.count) / np.maximum(joined.regions.sums[:, 0], 1.0)
    low = max(SOLID_M, 2.0 * relief.rough)
    return {
        k
        for k in joined.alone
        if share[k] < _OWN_SHARE and float(np.quantile(relief.points[..., 2][region == k], 0.9)) < low
    }


def _without_fringes(joined: Joined, smallest: int, shadows: set[int]) -> tuple[NDArray[np.intp], list[int]]:
    """The region of each patch, after what is too small has gone to a neighbour; and the regions that are objects."""
    owner = joined.owner.copy()
    sizes = joined.regions.sums[:, 0]
    kept = [k for k in joined.alone if sizes[k] >= smallest and k not in shadows]
    for k in joined.alone:
        if sizes[k] < smallest and kept:
            best = max(kept, key=lambda other: joined.same[k, other])
            if joined.same[k, best] >= _ABSORBED:
                owner[owner == k] = best
    return owner, kept


@dataclass(frozen=True)
class _View:
    """All that is known of a cluster while its parts are made: `own` (h, w) is the region of each pixel, `across` flat
    indices (N,) of pixels at a border and of those beyond it, `known` which pixels of the window have a depth."""

    frame: Frame
    surface: Surface
    cluster: Cluster
    window: Window
    relief: Relief
    patches: NDArray[np.int32]
    own: NDArray[np.intp]
    across: tuple[NDArray[np.intp], NDArray[np.intp]]
    known: BoolArray
    joined: Joined

    def part(self, region: int) -> Piece | None:
        """The object of a region; None where too few of its points are known to measure it."""
        support = self._support(region)
        mask = self._mask(self.own == region)
        if np.count_nonzero(mask[self.window] & self.known) < 3:
            return None
        eye = self.frame.T_base_camera[:3, 3]
        cluster = _cluster(self.surface, eye, mask, max(support, self.cluster.support), self.cluster.within)
        if len(cluster.extents.outline) < 3:
            return None
        joint = self.joined.weakest(region)
        split = None
        if joint is not None:
            first, second = (self._mask(half[self.patches]) for half in (joint.first, joint.second))
            split = Halves(first, second, joint.probability)
        return Piece(cluster, self.joined.score_features(region), split)

    def _mask(self, chosen: BoolArray) -> BoolArray:
        """bool (H, W) of pixels (h, w)."""
        mask = np.zeros(self.cluster.mask.shape, dtype=bool)
        part = mask[self.window]
        part[:] = self.relief.full(chosen, part.shape)
        return mask

    def _support(self, region: int) -> float:
        """Height over the table of what a region stands on [m]: where it touches the level top of another."""
        heights = self.relief.points[..., 2]
        seen = self.own == region
        if np.count_nonzero(heights[seen] < _LIFTED_M) > _LOW_SHARE * np.count_nonzero(seen):
            return 0.0
        inner, outer = self.across
        own = self.own.ravel()
        beside = (own[inner] == region) & (own[outer] > 0) & (own[outer] != self.joined.regions.table)
        inner, outer = inner[beside], outer[beside]
        depth, level = self.relief.depth.ravel(), self.relief.normals[..., 2].ravel()
        touching = (np.abs(depth[inner] - depth[outer]) < 0.01 + 3.0 * self.relief.noise) & (level[outer] > _LEVEL)
        across_px = float(np.ptp(np.flatnonzero(seen.any(axis=0)))) + 1.0
        if np.count_nonzero(touching) < _CONTACT * across_px:
            return 0.0
        return float(np.median(heights.ravel()[outer[touching]]))
