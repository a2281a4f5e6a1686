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
from toolhand.tool_nodes.perception.masks import Window, dilated, eroded, expected_iou, miss_px, widened, window_of
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
_LEAST_LIMIT = STRANGE + CONFIDENCE * _EXPLAINED - 1.5
"""Two parts are no product whose colours add less than this to every product's likelihood at most [log likelihood]:
then none explains them; 1.5 for what few pixels say wrongly."""
_FEW = 48
"""Pixels of a part that this is read from [-]: a fifth of the sample, which errs by 1 then."""
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
    """The objects of one frame before they have names. What a cluster consists of is found when it is asked for, and
    of a part what it is.

    Args:
        frame: The image.
        recogniser: Says how well objects are understood.
    """

    def __init__(self, frame: Frame, recogniser: Recogniser) -> None:
        self.surface = find_surface(frame)
        self.clusters = find_clusters(frame, self.surface)
        self._frame = frame
        self._recogniser = recogniser
        self._known: dict[int, list[Piece]] = {}
        self._found: dict[tuple[int, int], list[SegmentedObject]] = {}
        self._divisible = divisible(self.surface, self.clusters)
        self._noise = depth_noise(frame, self.surface)
        self._occupied = np.zeros(frame.depth.shape, dtype=np.int16)
        for number, cluster in enumerate(self.clusters, start=1):
            self._occupied[cluster.window][cluster.mask[cluster.window]] = number

    def near(self, points: Sequence[tuple[float, float]]) -> list[SegmentedObject]:
        """The objects that normalized points (x, y) are on, or near to where they are on none.

        Raises:
            ToolError: INVALID_ARGUMENT for what is no point.
        """
        chosen: set[tuple[int, int]] = set()
        for u, v in (pixel(point, self._frame.size) for point in points):
            parts = {
                (k, n): part.cluster.mask
                for k, cluster in enumerate(self.clusters)
                if _within(widened(cluster.window, MARGIN_PX), u, v)
                for n, part in enumerate(self._parts(k))
            }
            on = {number for number, mask in parts.items() if mask[v, u]}
            chosen |= on or {number for number, mask in parts.items() if np.isfinite(miss_px(mask, u, v))}
        return self._listed(chosen)

    def split_at(self, points: Sequence[tuple[float, float]]) -> Halves | None:
        """How the object under the first of normalized points may as well be two; None where that is clear."""
        u, v = pixel(points[0], self._frame.size)
        return next((item.split for item in self.near(points[:1]) if item.cluster.mask[v, u]), None)

    def seen(self) -> list[SegmentedObject]:
        """All objects: the first of each cluster, then what else they hold."""
        return self._listed((k, n) for k in range(len(self.clusters)) for n in range(len(self._parts(k))))

    def _listed(self, chosen: Iterable[tuple[int, int]]) -> list[SegmentedObject]:
        """The objects of some parts, given by the numbers of cluster and part, as `seen` lists them."""
        found = [(n, self._objects(k, n)) for k, n in sorted(chosen)]
        first = [item for n, objects in found for item in objects[: n == 0]]
        return first + [item for n, objects in found for item in objects[n == 0 :]]

    def _objects(self, k: int, n: int) -> list[SegmentedObject]:
        """What part n of cluster k is: one object or two."""
        if (k, n) not in self._found:
            part, others = self._parts(k)[n], _without(self._parts(k), n)
            known = [(part, self._look(part.cluster, others))]
            if k in self._divisible and self._recogniser.items:
                known = self._halved(*known[0], others)
            self._found[k, n] = [self._object(*one) for one in known]
        return self._found[k, n]

    def _parts(self, k: int) -> list[Piece]:
        """What cluster k consists of."""
        if k not in self._known:
            self._known[k] = self._taken_apart(k)
        return self._known[k]

    def _taken_apart(self, k: int) -> list[Piece]:
        if k not in self._divisible:
            cluster = self.clusters[k]  # what stands in a container is a part of it
            return [Piece(cluster, np.zeros(0, np.float32))] if cluster.within is None else []
        cluster, taken = self._divisible[k], self._occupied > 0
        division = divide(self._frame, self.surface, cluster, self._noise, taken, least_pixels(self._frame))
        parts, same = list(division.parts), division.same.copy()
        if cluster.hollow and parts:
            parts, same = self._container(cluster, parts, same)
        return self._joined(parts, same) if self._recogniser.items else parts

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

    def _joined(self, parts: list[Piece], same: FloatArray) -> list[Piece]:
        """Parts joined where a product explains both together better than geometry and products tell them apart."""
        eye = self._frame.T_base_camera[:3, 3]
        limits = [self._colour_limits(part.cluster) for part in parts] if (same >= 0.0).any() else []
        while True:
            best = None
            for i, j in zip(*np.nonzero(np.triu(same >= 0.0, 1)), strict=True):
                pixels, most = zip(limits[i], limits[j], strict=True)
                if np.average(most, axis=0, weights=pixels).max() < _LEAST_LIMIT:
                    continue
                whole = united(self.surface, eye, [parts[i].cluster, parts[j].cluster])
                others = _without(parts, i, j)
                gain = self._evidence(self._look(whole, others), _EXPLAINED)
                if gain > _EXPLAINED:
                    alone = max(self._evidence(self._look(parts[k].cluster, _without(parts, k))) for k in (i, j))
                    more = gain + _FEWER + _odds(same[i, j]) - alone
                    if more > 0.0 and (best is None or more > best[0]):
                        best = more, i, j, whole
            if best is None:
                return parts
            _, i, j, whole = best
            larger = max(parts[i], parts[j], key=lambda part: np.count_nonzero(part.cluster.mask))
            parts[i] = replace(larger, cluster=whole, split=None)
            same[i] = np.maximum(same[i], same[j])
            same[:, i] = same[i]
            same[i, i] = -1.0
            same = np.delete(np.delete(same, j, axis=0), j, axis=1)
            del parts[j], limits[j]
            limits[i] = self._colour_limits(whole)

    def _halved(self, part: Piece, look: Look, others: Sequence[Cluster]) -> list[tuple[Piece, Look]]:
        """A part as two products, by a weak joint or one upon the other, where these explain far more; else as it is.

        Args:
            part: The part.
            look: How it looks.
            others: Other parts of its cluster.
        """
        whole = self._evidence(look)
        found, best = [(part, look)], 0.0
        for halves, against in self._ways(part) if whole < _EXPLAINED else ():
            seen, gains = [], []
            for half, rest in (halves, halves[::-1]):
                seen.append(self._look(half, [rest, *others]))
                gains.append(self._evidence(seen[-1], _EXPLAINED))
                if gains[-1] <= max(_EXPLAINED, whole + _BETTER):
                    break
            else:
                if sum(gains) - whole - against > best:
                    best = sum(gains) - whole - against
                    found = [
                        (replace(part, cluster=half, split=None), one) for half, one in zip(halves, seen, strict=True)
                    ]
        return found

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

    def _colour_limits(self, cluster: Cluster) -> tuple[int, FloatArray]:
        """Pixels of a cluster, and what their colours may add to the log-likelihood of each product at most."""
        colours = self._frame.rgb[self._sample(cluster, _FEW)]
        return int(np.count_nonzero(cluster.mask)), self._recogniser.colour_limits(colours)

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
        v, u = self._sample(cluster, _SAMPLE)
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
    def _sample(cluster: Cluster, count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Rows and columns of at most so many pixels of a cluster, not on its outline: there colours mix."""
        rows, columns = cluster.window
        mask = cluster.mask[cluster.window]
        core = eroded(mask)
        v, u = np.nonzero(core if core.any() else mask)
        chosen = np.linspace(0, len(v) - 1, min(len(v), count)).astype(int)
        return v[chosen] + rows.start, u[chosen] + columns.start

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


def _within(window: Window, u: int, v: int) -> bool:
    """Whether a window holds a pixel, or ends at it."""
    rows, columns = window
    return bool(rows.start <= v <= rows.stop and columns.start <= u <= columns.stop)


def _without(parts: Sequence[Piece], *left_out: int) -> list[Cluster]:
    """The clusters of some parts without those of some numbers."""
    return [part.cluster for k, part in enumerate(parts) if k not in left_out]


def _median(depth: NDArray[np.float32]) -> float:
    """Median of what is known; NaN where nothing is."""
    known = depth[np.isfinite(depth)]
    return float(np.median(known)) if len(known) else np.nan


def _odds(probability: float) -> float:
    """Logarithm of the odds, bounded."""
    p = min(max(probability, 1e-6), 1.0 - 1e-6)
    return float(np.clip(np.log(p / (1.0 - p)), -_CERTAIN, _CERTAIN))
