"""The objects of one frame: clusters taken apart by geometry, where products that are known may object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.perception.clusters import Cluster, find_clusters, least_pixels, shell_and_others
from toolhand.tool_nodes.perception.division import Halves, Piece, divide, divisible, united
from toolhand.tool_nodes.perception.fitted import network
from toolhand.tool_nodes.perception.masks import dilated, eroded, expected_iou, widened, window_of
from toolhand.tool_nodes.perception.recognition import CONFIDENCE, STRANGE, Look, Recogniser
from toolhand.tool_nodes.perception.relief import MARGIN_PX, depth_noise
from toolhand.tool_nodes.perception.stacks import split_candidates
from toolhand.tool_nodes.perception.surface import find_surface
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_SAMPLE = 240
"""Pixels of an object whose colours are compared; bounds the time."""
_OUTLINE_ERROR_PX = 0.2
"""How far the outline of one object is off, on average [px]: against the true masks of 2071 objects at three sizes of
image, seeds 1000 to 1049; `toolhand bench perception` measures it on others (mask score)."""
_CERTAIN = 6.0
"""Most that geometry says for or against two parts being one object [logarithm of odds]: 400 to 1, so that what looks
exactly like a product is one."""
_EXPLAINED = 3.0
"""Evidence from which on a product explains an object [logarithm of odds]: 20 to 1, as a fragment looks like many."""
_BETTER = 1.2
"""Each of two products must be so much better explained than one in their place [logarithm of odds]; a round figure."""
_FEWER = 3.0
"""What one product has over two that explain as much [logarithm of odds]: a fragment is taken for one more easily than
a pair for one."""
_EVEN = (0.4, 0.6)
"""Between these probabilities it is not known whether an object is one or two [-]: a refusal costs the attempt, and a
guess is right nearly as often as wrong."""
_BETWEEN = (0.25, 0.8)
"""Share of a container's height at which its walls are seen and neither its floor nor its rim [-]."""
_WALLS_SHARE = 0.08
"""Share of what is seen of a container that its walls have at the least where they are not clear [-]: of black bins
with `realsense_d435` it was 0.24 to 0.32, of transparent ones 0.01 to 0.03."""
_TOUCH_PX = 2
"""Pixels between objects that touch in the image, at most [px]: where neither is sure."""
_LEAST_SHARE = 0.25
"""Where the smaller part has at least this share of both [-]: less hardly changes a grasp; a round figure."""


@dataclass(frozen=True)
class SegmentedObject:
    """One object of a frame.

    Attributes:
        cluster: Its pixels and its box.
        look: Colours and size that the recogniser compares.
        iou: Expected IoU of its mask.
        split: How it could be two objects, with about even odds; None where it could not.
        features: Numbers that the expected IoU was read from; none for a container.
    """

    cluster: Cluster
    look: Look
    iou: float
    split: Halves | None = None
    features: NDArray[np.float32] | None = None


class FrameObjects:
    """The objects of one frame before they have names. What a cluster consists of is found when it is asked for.

    Args:
        frame: The image.
        recogniser: Says how well objects are understood.
    """

    def __init__(self, frame: Frame, recogniser: Recogniser) -> None:
        self.surface = find_surface(frame)
        self.clusters = find_clusters(frame, self.surface)
        self._frame = frame
        self._recogniser = recogniser
        self._known: dict[int, tuple[SegmentedObject, ...]] = {}
        self._divisible = divisible(self.surface, self.clusters)
        self._noise = depth_noise(frame, self.surface)
        self._occupied = np.zeros(frame.depth.shape, dtype=np.int16)
        for number, cluster in enumerate(self.clusters, start=1):
            self._occupied[cluster.window][cluster.mask[cluster.window]] = number

    def near(self, points: Sequence[tuple[float, float]]) -> list[SegmentedObject]:
        """The objects of the clusters that normalized points (x, y) are on, or close to."""
        height, width = self._frame.depth.shape
        chosen = []
        for k, cluster in enumerate(self.clusters):
            rows, columns = widened(cluster.window, MARGIN_PX)
            if any(
                rows.start <= y * height <= rows.stop and columns.start <= x * width <= columns.stop for x, y in points
            ):
                chosen.append(k)
        return self.seen(chosen)

    def split_at(self, points: Sequence[tuple[float, float]]) -> Halves | None:
        """How the object under the first of normalized points may as well be two; None where that is clear."""
        u, v = pixel(points[0], self._frame.size)
        return next((item.split for item in self.near(points[:1]) if item.cluster.mask[v, u]), None)

    def seen(self, chosen: Iterable[int] | None = None) -> list[SegmentedObject]:
        """The objects of some of the clusters, or of all: the first of each, then what else they hold."""
        apart = [self._apart(k) for k in (range(len(self.clusters)) if chosen is None else chosen)]
        return [objects[0] for objects in apart if objects] + [item for objects in apart for item in objects[1:]]

    def _apart(self, k: int) -> tuple[SegmentedObject, ...]:
        if k not in self._known:
            self._known[k] = self._taken_apart(self.clusters[k], k)
        return self._known[k]

    def _taken_apart(self, cluster: Cluster, number: int) -> tuple[SegmentedObject, ...]:
        if number not in self._divisible:
            if cluster.within is not None:
                return ()  # it is a part of the container that it stands in
            return (self._object(Piece(cluster, np.zeros(0, np.float32)), self._look(cluster, ())),)
        cluster, taken = self._divisible[number], self._occupied > 0
        division = divide(self._frame, self.surface, cluster, self._noise, taken, least_pixels(self._frame))
        parts, same = list(division.parts), division.same.copy()
        if cluster.hollow and parts:
            parts, same = self._container(cluster, parts, same)
        looks = self._looks([part.cluster for part in parts])
        if self._recogniser.items:
            parts, looks = self._joined(parts, looks, same)
            parts, looks = self._halved(parts, looks)
        return tuple(self._object(part, look) for part, look in zip(parts, looks, strict=True))

    def _container(self, cluster: Cluster, parts: list[Piece], same: FloatArray) -> tuple[list[Piece], FloatArray]:
        """The parts of a container with its walls and floor as one, which comes first, and without the table."""
        shell, others = shell_and_others(self.surface, cluster, [part.cluster.mask for part in parts])
        if not shell:
            shell, others = [0], list(range(1, len(parts)))
        mask = np.any([parts[k].cluster.mask for k in shell], axis=0)
        # Its size was measured at the rim.
        whole = replace(cluster, mask=mask, window=window_of(mask))
        kept = [shell[0], *others]
        same = same[np.ix_(kept, kept)].copy()
        same[0] = same[:, 0] = -1.0
        return [replace(parts[shell[0]], cluster=whole, split=None), *(parts[k] for k in others)], same

    def _joined(
        self, parts: list[Piece], looks: list[Look], same: NDArray[np.floating]
    ) -> tuple[list[Piece], list[Look]]:
        """Parts joined where a product explains both together better than geometry and products tell them apart."""
        eye = self._frame.T_base_camera[:3, 3]
        gains = [self._evidence(look) for look in looks]
        while True:
            best = None
            for i in range(len(parts)):
                for j in range(i + 1, len(parts)):
                    if same[i, j] < 0.0:
                        continue
                    whole = united(self.surface, eye, [parts[i].cluster, parts[j].cluster])
                    look = self._look(whole, [part.cluster for k, part in enumerate(parts) if k not in (i, j)])
                    gain = self._evidence(look, _EXPLAINED)
                    more = gain + _FEWER + _odds(same[i, j]) - max(gains[i], gains[j])
                    if gain > _EXPLAINED and more > 0.0 and (best is None or more > best[0]):
                        best = more, i, j, whole, look, gain
            if best is None:
                return parts, looks
            _, i, j, whole, look, gain = best
            larger = max(parts[i], parts[j], key=lambda part: np.count_nonzero(part.cluster.mask))
            parts[i], looks[i], gains[i] = replace(larger, cluster=whole, split=None), look, gain
            same[i] = np.maximum(same[i], same[j])
            same[:, i] = same[i]
            same[i, i] = -1.0
            same = np.delete(np.delete(same, j, axis=0), j, axis=1)
            del parts[j], looks[j], gains[j]

    def _halved(self, parts: list[Piece], looks: list[Look]) -> tuple[list[Piece], list[Look]]:
        """Parts that are two products, by a weak joint or one upon the other, where these explain far more."""
        out: list[tuple[Piece, Look]] = []
        for k, (part, look) in enumerate(zip(parts, looks, strict=True)):
            whole = self._evidence(look)
            found, best = [(part, look)], 0.0
            others = [other.cluster for n, other in enumerate(parts) if n != k]
            for halves, against in self._ways(part) if whole < _EXPLAINED else ():
                seen, gains = [], []
                for half, rest in (halves, halves[::-1]):
                    seen.append(self._look(half, [rest, *others]))
                    gains.append(self._evidence(seen[-1], _EXPLAINED))
                    if gains[-1] <= max(_EXPLAINED, whole + _BETTER):
                        break
                else:
                    if sum(gains) - whole - against <= best:
                        continue
                    best = sum(gains) - whole - against
                    found = [
                        (replace(part, cluster=half, split=None), one) for half, one in zip(halves, seen, strict=True)
                    ]
            out += found
        return [part for part, _ in out], [look for _, look in out]

    def _ways(self, part: Piece) -> Iterator[tuple[tuple[Cluster, Cluster], float]]:
        """How a part may be two objects, and what geometry says against it [logarithm of odds]."""
        eye, split = self._frame.T_base_camera[:3, 3], part.split
        for pair in split_candidates(self.surface, part.cluster, eye):
            yield pair, _CERTAIN
        if split is not None:
            least = least_pixels(self._frame)
            halves = [
                united(self.surface, eye, [replace(part.cluster, mask=mask)])
                for mask in (split.first, split.second)
                if np.count_nonzero(mask) >= least and np.isfinite(self.surface.points[mask][:, 2]).any()
            ]
            if len(halves) == 2 and all(len(half.extents.outline) > 2 for half in halves):
                yield (halves[0], halves[1]), _odds(split.same)

    def _evidence(self, look: Look, least: float = 0.0) -> float:
        """How much better a product explains a look than nothing known does [logarithm of odds]; 0 below `least`."""
        floor = STRANGE + least * CONFIDENCE
        return max(self._recogniser.score(look, floor) - STRANGE, 0.0) / CONFIDENCE

    def _object(self, part: Piece, look: Look) -> SegmentedObject:
        readings = self._recogniser.readings(look)
        outline = expected_iou(part.cluster.mask, _OUTLINE_ERROR_PX)
        if not len(part.features):
            return SegmentedObject(part.cluster, look, outline)
        features = np.append(part.features, [outline, self.surface.coarse - 1.0]).astype(np.float32)
        # What is a product is whole, and no mask is expected to be better than an outline can be measured.
        product = sum(reading.probability for reading in readings if reading.item is not None)
        iou = (1.0 - product) * min(float(network("score")(features[None])[0]), outline) + product * outline
        split = part.split
        if split is not None:
            sizes = sorted(np.count_nonzero(mask) for mask in (split.first, split.second))
            even = _EVEN[0] <= split.same <= _EVEN[1] and sizes[0] >= _LEAST_SHARE * sum(sizes)
            split = split if even and readings[0].item is None else None
        return SegmentedObject(part.cluster, look, iou, split, features)

    def _looks(self, parts: list[Cluster]) -> list[Look]:
        """Parts of one cluster with their looks, as far as other objects hide them."""
        return [self._look(part, [other for other in parts if other is not part]) for part in parts]

    def _look(self, part: Cluster, others: Iterable[Cluster]) -> Look:
        """The look of one part beside others of its cluster."""
        near = widened(part.window, _TOUCH_PX)
        occupied = self._occupied[near].copy()
        first = len(self.clusters) + 1
        for number, other in enumerate((part, *others), start=first):
            occupied[other.mask[near]] = number
        return self._seen(part, occupied, first)

    def _seen(self, cluster: Cluster, occupied: NDArray[np.int16], number: int) -> Look:
        frame, surface = self._frame, self.surface
        rows, columns = cluster.window
        mask = cluster.mask[cluster.window]
        height, width = frame.depth.shape
        # Pixels on the outline mix the object's colour with the background's.
        core = eroded(mask)
        v, u = np.nonzero(core if core.any() else mask)
        chosen = np.linspace(0, len(v) - 1, min(len(v), _SAMPLE)).astype(int)
        v, u = v[chosen] + rows.start, u[chosen] + columns.start
        levels = (surface.height[v, u] - cluster.support) / cluster.extents.size[2]
        beyond = rows.start <= 1 or columns.start <= 1 or rows.stop >= height - 1 or columns.stop >= width - 1
        return Look(
            extents=cluster.extents,
            hollow=cluster.hollow,
            pixels=frame.rgb[v, u],
            levels=np.nan_to_num(levels, nan=0.5).astype(float),
            cut=beyond or cluster.within is not None or self._hidden(cluster, occupied, number),
            clear=cluster.rim is not None and self._sees_through(mask, surface.height[cluster.window] / cluster.rim),
        )

    @staticmethod
    def _sees_through(mask: BoolArray, levels: NDArray[np.float32]) -> bool:
        """True if hardly a pixel of a container's mask (h, w) has a height between floor and rim, 0..1 in `levels`."""
        known = levels[mask & np.isfinite(levels)]
        walls = np.count_nonzero((known > _BETWEEN[0]) & (known < _BETWEEN[1]))
        return bool(walls < _WALLS_SHARE * len(known))

    def _hidden(self, cluster: Cluster, occupied: NDArray[np.int16], number: int) -> bool:
        """True if another object, nearer to the camera, touches the cluster in the image.

        Args:
            cluster: The object.
            occupied: (h, w) number of the object that each pixel shows, from `_TOUCH_PX` around its window.
            number: Its own.
        """
        mine: BoolArray = occupied == number
        around = dilated(dilated(mine)) & (occupied > 0) & ~mine
        if np.count_nonzero(around) < 6:
            return False
        depth = self._frame.depth[widened(cluster.window, _TOUCH_PX)]
        return _median(depth[around]) < _median(depth[mine])


def _median(depth: NDArray[np.float32]) -> float:
    """Median of what is known; NaN where nothing is."""
    known = depth[np.isfinite(depth)]
    return float(np.median(known)) if len(known) else np.nan


def _odds(probability: float) -> float:
    """Logarithm of the odds, bounded."""
    p = min(max(probability, 1e-6), 1.0 - 1e-6)
    return float(np.clip(np.log(p / (1.0 - p)), -_CERTAIN, _CERTAIN))
