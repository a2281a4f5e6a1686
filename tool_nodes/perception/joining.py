"""Joins patches of one cluster to objects, the surest pair first, and keeps what else they may be.

Each joint is judged by its common border and by what the two would be together; after it, the sums of both are one,
and the neighbours are judged again: J. Nunez-Iglesias et al., "Machine Learning of Hierarchical Clustering to Segment
2D and 3D Images", PLoS ONE 8(8), 2013.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.perception.fitted import logistic
from toolhand.tool_nodes.perception.parts import Pairs
from toolhand.tool_nodes.perception.relief import Relief
from toolhand.tool_nodes.types import BoolArray, FloatArray

JOINT_FEATURES = 47
"""Features of two regions that may be one, see `RegionSums.features` [-]."""
SCORE_FEATURES = 14
"""Features of a region that the expected IoU is read from, see `Joined.score_features` [-]."""

_SIDES = 8
"""Directions in the image in which extents are kept: their 16 tangents bound the hull [-]."""
_ANGLES = np.arange(_SIDES) * np.pi / _SIDES
_NEXT, _BEFORE = np.roll(np.arange(2 * _SIDES), -1), np.roll(np.arange(2 * _SIDES), 1)
"""Neighbours of each tangent."""
_PAIR_COLUMNS = (0, 2, 3, 5, 7, 10, 13, 14, 15, 16)
"""Features of pixel pairs whose means a border keeps: bend, step of depth, turn and valley at two reaches, and
changes of brightness and hue."""
_STEP_COLUMN, _VALLEY_COLUMN = 2, 10
"""Those of which it also keeps where the surface goes on: step of depth, and valley at the long reach."""
_LEVEL, _VALLEY = 1.4, -0.15
"""Up to this step of depth, 15 mm over 7 px, and from this valley on, 1.5 mm deep, the surface goes on without a crease
[as features]; round figures."""
_MOMENTS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
"""Products of coordinates whose sums tell how far a region is from a plane."""
_SQUARE = np.array([_MOMENTS.index((min(i, j), max(i, j))) for i in range(3) for j in range(3)])
"""Which of them the entries of a matrix (3, 3) of moments are, row by row."""
_STEPS_M = np.array([[0.15], [0.15], [0.2]])
"""Bounds of the differences between tops, feet, and a foot and a top [m]; round figures."""
_FLAT_M = 2e-3
"""What is as thin as this is flat [m]: the noise of a mean over some dozens of pixels."""
_SURE = 0.5
"""Regions are one object from this probability on [-]."""

JointJudge = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""Probabilities (N,) of being one object, for features (N, F)."""
JointObserver = Callable[[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]], None]
"""Is shown the region of each patch, and of what is judged the regions (N,), (N,) and the features (N, F)."""


class RegionSums:
    """Sums over the regions of a cluster and over the borders between each two.

    Args:
        relief: The cluster.
        labels: (h, w) of patches, 0 outside.
        pairs: Its pairs of pixels.
    """

    def __init__(self, relief: Relief, labels: NDArray[np.int32], pairs: Pairs) -> None:
        self.count = int(labels.max()) + 1
        self.noise, self.rough = relief.noise, relief.rough
        self.table = 1
        self.borders = self._borders(labels.ravel(), pairs)
        own = labels > 0
        members = labels[own]
        points, normals, colour = relief.points[own], relief.normals[own], relief.colour[own]
        pitch = (relief.depth[own] / relief.focal).astype(float)
        place = (points - points.mean(axis=0)).astype(float)
        columns = [np.ones(len(members)), pitch**2, pitch, *normals.T, *colour.T, *(colour.T.astype(float) ** 2)]
        columns += [relief.own[own], *place.T, *(place[:, i] * place[:, j] for i, j in _MOMENTS)]
        # Region 1 is the table, which may be out of sight: no pixels, no borders.
        sums = [np.bincount(members, column, self.count) for column in columns]
        self.sums: FloatArray = np.stack(sums, axis=1).astype(float)
        self.whole = max(float(np.count_nonzero(relief.own)), 1.0)
        rows, across = np.nonzero(own)
        spread = np.outer(np.cos(_ANGLES), across) + np.outer(np.sin(_ANGLES), rows)
        order = np.argsort(members, kind="stable")
        spread = np.vstack([spread, points[:, 2]])[:, order]
        starts = np.flatnonzero(np.diff(members[order], prepend=-1))
        self.low = np.full((self.count, _SIDES + 1), np.inf)
        self.high = -self.low
        self.low[members[order][starts]] = np.minimum.reduceat(spread, starts, axis=1).T
        self.high[members[order][starts]] = np.maximum.reduceat(spread, starts, axis=1).T
        self.around = self.borders[:, :, 0].sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.fill = np.log(self.sums[:, 0] / _hull(self.low, self.high))
        self.thin = _thinness(self.sums)

    def _borders(self, labels: NDArray[np.int32], pairs: Pairs) -> FloatArray:
        """(n, n, 15): how many pixel pairs two regions share, and the sums of what these are like."""
        a, b = labels[pairs.first], labels[pairs.second]
        across = a != b
        key = np.minimum(a, b)[across].astype(np.intp) * self.count + np.maximum(a, b)[across]
        logits = pairs.logits[across]
        columns = [np.ones(len(key)), logits, logistic(logits)]
        columns += [pairs.features[across, k] for k in _PAIR_COLUMNS]
        step, valley = pairs.features[across, _STEP_COLUMN], pairs.features[across, _VALLEY_COLUMN]
        columns += [step < _LEVEL, (step < _LEVEL) & (valley > _VALLEY)]
        size = self.count**2
        sums = np.stack([np.bincount(key, column, size) for column in columns], axis=1)
        square = sums.reshape(self.count, self.count, len(columns))
        return np.asarray(square + square.transpose(1, 0, 2), float)

    def neighbours(self, i: int) -> NDArray[np.intp]:
        """Regions that share a border with region i."""
        return np.flatnonzero(self.borders[i, :, 0] > 0)

    def join(self, i: int, j: int) -> None:
        """Make region j part of region i."""
        self.borders[i] += self.borders[j]
        self.borders[:, i] = self.borders[i]
        self.borders[j] = self.borders[:, j] = 0.0
        self.borders[i, i] = 0.0
        self.table = i if j == self.table else self.table
        self.sums[i] += self.sums[j]
        self.low[i] = np.minimum(self.low[i], self.low[j])
        self.high[i] = np.maximum(self.high[i], self.high[j])
        self.around[i], self.around[j] = self.borders[i, :, 0].sum(), 0.0
        self.fill[i] = np.log(self.sums[i, 0] / _hull(self.low[[i]], self.high[[i]])[0])
        self.thin[i] = _thinness(self.sums[[i]])[0]

    def features(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float32]:
        """(N, JOINT_FEATURES) of pairs of regions that share a border."""
        # The larger one is a: the order of two says nothing.
        swap = self.sums[first, 0] < self.sums[second, 0]
        a, b = np.where(swap, second, first), np.where(swap, first, second)
        border = self.borders[a, b]
        length = border[:, 0]
        sums_a, sums_b = self.sums[a], self.sums[b]
        pixels_a, pixels_b = sums_a[:, 0], sums_b[:, 0]
        pitch = (sums_a[:, 2] + sums_b[:, 2]) / (pixels_a + pixels_b)
        mean_a, mean_b = sums_a / pixels_a[:, None], sums_b / pixels_b[:, None]
        hue = mean_a[:, 6:9] - mean_b[:, 6:9]
        spread = np.maximum(mean_a[:, 9:12] - mean_a[:, 6:9] ** 2, 0.0)
        spread += np.maximum(mean_b[:, 9:12] - mean_b[:, 6:9] ** 2, 0.0)
        chroma = np.hypot(hue[:, 1], hue[:, 2])
        low, high = np.minimum(self.low[a], self.low[b]), np.maximum(self.high[a], self.high[b])
        fill = np.log((pixels_a + pixels_b) / _hull(low, high))
        thin = _thinness(sums_a + sums_b)
        width = (high - low)[:, :_SIDES]
        top_a, top_b, foot_a, foot_b = self.high[a, -1], self.high[b, -1], self.low[a, -1], self.low[b, -1]
        steps = np.array([top_b - top_a, foot_b - foot_a, foot_b - top_a])
        columns = [
            *(border[:, 1:] / length[:, None]).T,
            np.log(length),
            length / np.sqrt(pixels_b),
            np.log(sums_b[:, 1]) + 8.0,
            np.log(sums_a[:, 1]) + 7.0,
            3.0 * np.minimum(np.abs(hue[:, 0]), 1.0),
            np.minimum(10.0 * chroma, 3.0),
            np.log1p(np.abs(hue[:, 0]) / np.sqrt(spread[:, 0] + 1e-3)),
            np.log1p(chroma / np.sqrt(spread[:, 1] + spread[:, 2] + 1e-4)),
            fill,
            fill - self.fill[a],
            self.fill[b],
            self.fill[a],
            np.einsum("ij,ij->i", mean_a[:, 3:6], mean_b[:, 3:6]),
            10.0 * width.max(axis=1) * pitch,
            10.0 * width.min(axis=1) * pitch,
            *(20.0 * np.minimum(np.maximum(steps, -_STEPS_M), _STEPS_M)),
            20.0 * np.minimum(foot_a, foot_b),
            np.full(len(a), self.noise / 0.001),
            np.full(len(a), self.rough / 0.005),
            (a == self.table) | (b == self.table),
            length / self.around[a],
            length / self.around[b],
            self.borders[a, self.table, 0] / self.around[a],
            self.borders[b, self.table, 0] / self.around[b],
            sums_a[:, 12] / pixels_a,
            sums_b[:, 12] / pixels_b,
            thin + 9.0,
            thin - self.thin[a],
            self.thin[b] - self.thin[a],
            (sums_a[:, 12] + sums_b[:, 12]) / self.whole,
            np.full(len(a), np.log(self.whole) - 6.0),
        ]
        return np.array(columns).T.astype(np.float32, order="C")


def _thinness(sums: FloatArray) -> FloatArray:
    """(N,) logarithm of the mean square distance [m^2] of regions with sums (N, K) from the planes nearest to them."""
    n = np.maximum(sums[:, :1], 1.0)
    middle, square = sums[:, 13:16] / n, sums[:, 16:22] / n
    spread = square[:, _SQUARE].reshape(-1, 3, 3) - middle[:, :, None] * middle[:, None, :]
    return np.asarray(np.log(np.maximum(np.linalg.eigvalsh(spread)[:, 0], 0.0) + _FLAT_M**2), float)


def _hull(low: FloatArray, high: FloatArray) -> FloatArray:
    """(N,) area of the polygon between tangents at distances (N, 9) [px^2]: a little more than that of the hull."""
    reach = np.concatenate([high[:, :_SIDES], -low[:, :_SIDES]], axis=1) + 0.5
    beside = reach[:, _NEXT] + reach[:, _BEFORE]
    turn = np.pi / _SIDES
    sides = np.maximum(beside - 2.0 * np.cos(turn) * reach, 0.0)
    return np.maximum((reach * sides).sum(axis=1) * (0.5 / np.sin(turn)), 1.0)


@dataclass(frozen=True)
class Joint:
    """Two regions that became one.

    Attributes:
        first: bool (n,), patches of the one.
        second: Those of the other.
        probability: Probability of being one object.
    """

    first: BoolArray
    second: BoolArray
    probability: float


@dataclass(frozen=True)
class Joined:
    """The objects of a cluster.

    Attributes:
        regions: Their sums.
        owner: (n,) number of the region that each patch belongs to.
        alone: Numbers of the regions, largest first.
        joints: Parts that were joined, in order.
        same: (n, n) probability that two regions that share a border are one object; negative where they share none.
        pixels: (n,) size of each patch [px].
    """

    regions: RegionSums
    owner: NDArray[np.intp]
    alone: tuple[int, ...]
    joints: tuple[Joint, ...]
    same: FloatArray
    pixels: FloatArray

    def weakest(self, region: int) -> Joint | None:
        """The joint within a region that is most likely wrong, by how much of the region it would take."""
        return max(self._within.get(region, ()), key=lambda found: found[1], default=(None,))[0]

    def score_features(self, region: int) -> NDArray[np.float32]:
        """(SCORE_FEATURES,) of a region."""
        own = self.regions.sums[region]
        inside = self._within.get(region, [])
        losses = [loss / own[0] for _, loss in inside]
        near = self.regions.neighbours(region)
        same, others = self.same[region, near], self.regions.sums[near, 0]
        gains = same * others / (own[0] + others)
        borders = self.regions.borders[region, near]
        length = float(borders[:, 0].sum())
        low = self.regions.low[region]
        fill = float(self.regions.fill[region])
        return np.array(
            [
                max(losses, default=0.0),
                sum(losses),
                gains.max(initial=0.0),
                gains.sum(),
                same.max(initial=0.0),
                min((joint.probability for joint, _ in inside), default=1.0),
                np.log(own[1]) + 6.0,
                borders[:, 2].sum() / length if length else 1.0,
                length / np.sqrt(own[0]),
                self.regions.noise / 0.001,
                np.log(own[0]) - 6.0,
                fill,
                min(len(self.alone), 10) / 5.0,
                20.0 * float(np.clip(low[-1], 0.0, 0.2)),
            ],
            np.float32,
        )

    @cached_property
    def _within(self) -> dict[int, list[tuple[Joint, float]]]:
        """The joints within each region, and pixels that are too many, on average, because of each."""
        found: dict[int, list[tuple[Joint, float]]] = {}
        for joint in self.joints:
            sizes = self.pixels[joint.first].sum(), self.pixels[joint.second].sum()
            loss = (1.0 - joint.probability) * float(min(sizes))
            found.setdefault(int(self.owner[np.argmax(joint.first)]), []).append((joint, loss))
        return found


def join(regions: RegionSums, judge: JointJudge, watch: JointObserver | None = None) -> Joined:
    """Join regions as long as two are more likely one object than not.

    Args:
        regions: The patches; they are changed.
        judge: Probability of being one object, for `RegionSums.features`.
        watch: Is shown what is judged; for fitting.
    """
    n = regions.count
    pixels = np.array(regions.sums[:, 0], float)
    owner = np.arange(n)
    same = np.full((n, n), -1.0)

    def ask(first: NDArray[np.intp], second: NDArray[np.intp]) -> None:
        if len(first):
            features = regions.features(first, second)
            same[first, second] = same[second, first] = judge(features)
            if watch is not None:
                watch(owner, first, second, features)

    ask(*np.nonzero(np.triu(regions.borders[:, :, 0])))
    joints: list[Joint] = []
    while n > 1:
        i, j = divmod(int(np.argmax(same)), n)
        if same[i, j] < _SURE:
            break
        joints.append(Joint(owner == i, owner == j, float(same[i, j])))
        regions.join(i, j)
        owner[owner == j] = i
        same[[i, j]] = same[:, [i, j]] = -1.0
        near = regions.neighbours(i)
        ask(np.full(len(near), i), near)
    alone = np.unique(owner[2:][pixels[2:] > 0])
    alone = alone[alone != regions.table]
    alone = alone[np.argsort(-regions.sums[alone, 0], kind="stable")]
    return Joined(regions, owner, tuple(int(k) for k in alone), tuple(joints), same, pixels)
