"""Perception from pixels: colour and geometry of one RGB-D picture, with no access to the simulator's truth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tool_nodes.catalogue import CatalogueItem, load_catalogue
from tool_nodes.language.vocabulary import Lexicon
from tool_nodes.perception.certainty import Candidate, ReadScene, ReadView, candidates_by_words
from tool_nodes.perception.clusters import Cluster, find_clusters
from tool_nodes.perception.colours import main_colours
from tool_nodes.perception.frame_perception import FramePerception
from tool_nodes.perception.frames import FrameCache, fill_holes
from tool_nodes.perception.masks import dilated, eroded, expected_iou, inner_point, masks_at, votes_at
from tool_nodes.perception.neighbours import split_neighbours
from tool_nodes.perception.recognition import Look, Recogniser, describe_unknown
from tool_nodes.perception.stacks import split_candidates
from tool_nodes.perception.surface import Surface, find_surface
from tool_nodes.perception.word_pointer import point_by_words
from tool_nodes.types import BoolArray, Frame, ObjectView, Segmentation

_SAMPLE = 240
"""Pixels of a thing whose colours are compared; bounds the time."""
_DOUBTFUL = -12.0
"""Log likelihood below which no item explains a thing well."""
_PILE_ADVANTAGE = 3.0
"""A pile must explain a thing better than one item does, by this log likelihood; a round figure."""

_ROW = 3
"""Most things in a row that are taken apart."""

_CLEAR = -6.0
"""Log likelihood from which an item explains a part so well that it may be the end of a row; a round figure."""
_ENDS = 2
"""Ends of a row that are tried."""

_OUTLINE_ERROR_PX = 0.2
"""How far the outline of one thing is off, on average [px]: against the true masks of 2071 things at three sizes of
picture, seeds 1000 to 1049; `toolhand bench perception` measures it on others (mask score)."""
_UNCLEAR_IOU = 0.55
"""Mean IoU of what is most likely none of the products, often a fragment or several things [-]; of the same 2071."""


_Seen = tuple[Cluster, Look]


class _Things:
    """The things of one frame before they have names. Whether one is a pile is found out when it is asked for.

    Args:
        frame: The picture.
        recogniser: Says how well things are understood.
    """

    def __init__(self, frame: Frame, recogniser: Recogniser) -> None:
        self.surface = find_surface(frame)
        self.clusters = find_clusters(frame, self.surface)
        self._frame = frame
        self._recogniser = recogniser
        self._known: dict[int, tuple[_Seen, ...]] = {}
        self._occupied = np.zeros(frame.depth.shape, dtype=np.int16)
        for number, cluster in enumerate(self.clusters, start=1):
            self._occupied[cluster.window][cluster.mask[cluster.window]] = number

    def seen(self, chosen: Iterable[int] | None = None) -> list[_Seen]:
        """Some of the clusters, or all, with their looks; the upper things of piles follow at the end."""
        apart = [self._apart(k) for k in (range(len(self.clusters)) if chosen is None else chosen)]
        return [things[0] for things in apart] + [thing for things in apart for thing in things[1:]]

    def masks(self, chosen: Iterable[int] | None = None) -> list[BoolArray]:
        """Visible pixels (H, W) of each of `seen`."""
        return [cluster.mask for cluster, _ in self.seen(chosen)]

    def _apart(self, k: int) -> tuple[_Seen, ...]:
        """One cluster, or the things that it is understood far better as: a pile of two, or neighbours that touch."""
        if k not in self._known:
            cluster = self.clusters[k]
            look = _look(self._frame, self.surface, cluster, self._occupied, k + 1)
            self._known[k] = self._unstacked(cluster, look) or self._side_by_side(cluster, look) or ((cluster, look),)
        return self._known[k]

    def _unstacked(self, cluster: Cluster, look: Look) -> tuple[_Seen, ...]:
        if cluster.hollow or look.cut or self._recogniser.explains(look, _DOUBTFUL):
            return ()
        alone = self._recogniser.score(look, floor=_DOUBTFUL - _PILE_ADVANTAGE)
        best = max(alone + _PILE_ADVANTAGE, _DOUBTFUL)
        found: tuple[_Seen, ...] = ()
        for lower, upper in split_candidates(self.surface, cluster, self._frame.T_base_camera[:3, 3]):
            pair = self._looks((lower, upper))
            score = min(self._recogniser.score(part, floor=best) for _, part in pair)
            if score > best:
                best, found = score, pair
        return found

    def _side_by_side(self, cluster: Cluster, look: Look, row: int = _ROW) -> tuple[_Seen, ...]:
        """Up to `row` known things in place of a cluster that is none of them; nothing where no line gives such."""
        if cluster.hollow or row < 2 or self._recogniser.explains(look, _DOUBTFUL):
            return ()
        best = 2 * _DOUBTFUL
        found: tuple[_Seen, ...] = ()
        ends: list[tuple[float, _Seen, _Seen]] = []
        for pair in split_neighbours(self._frame, self.surface, cluster):
            seen = self._looks(pair)
            scores = [self._recogniser.score(part, floor=_DOUBTFUL) for _, part in seen]
            if min(scores) > _DOUBTFUL and sum(scores) > best:
                best, found = sum(scores), seen
            elif max(scores) > _CLEAR:
                end, rest = seen if scores[0] > scores[1] else seen[::-1]
                ends.append((max(scores), end, rest))
        for _, end, rest in sorted(ends, key=lambda end: -end[0])[: 0 if found else _ENDS]:
            others = self._side_by_side(*rest, row - 1)
            if others:
                return (end, *others)
        return found

    def _looks(self, parts: Sequence[Cluster]) -> tuple[_Seen, ...]:
        """Parts of one cluster with their looks, as far as other things hide them."""
        occupied = self._occupied.copy()
        first = len(self.clusters) + 1
        for number, part in enumerate(parts, start=first):
            occupied[part.window][part.mask[part.window]] = number
        return tuple(
            (part, _look(self._frame, self.surface, part, occupied, n)) for n, part in enumerate(parts, start=first)
        )


class PixelPerception(FramePerception):
    """The perception ports from colour and geometry alone.

    Args:
        items: The products that are recognised by name; the shipped catalogue where None. What fits none of them
            is described instead, e.g. "red box-shaped object".
    """

    backend = "pixels"

    def __init__(self, items: Sequence[CatalogueItem] | None = None) -> None:
        known = list(load_catalogue().values()) if items is None else items
        self._recogniser = Recogniser(known)
        self._lexicon = Lexicon.of_products(known)
        self._things = FrameCache(partial(_Things, recogniser=self._recogniser))
        self._scene = FrameCache(self._understand)

    def views(self, frame: Frame) -> list[ObjectView]:
        """Every object that stands out of the table."""
        return list(self._scene(frame).views)

    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        """Normalized (x, y) of every match, best first; a phrase for free space gives one free point.

        Raises:
            ToolError: OBJECT_NOT_FOUND, naming what can be seen; NOT_RECOGNISED where that cannot be said;
                PLACE_BLOCKED or OUT_OF_WORKSPACE without room.
        """
        return point_by_words(frame, text, self._scene(frame), self._lexicon)

    def candidates(self, frame: Frame, text: str) -> list[Candidate]:
        """`points`, each with the probability that it is on what the text means, then what may be meant.

        Raises:
            ToolError: As `points`; OBJECT_NOT_FOUND only where nothing may be meant either.
        """
        return candidates_by_words(frame, text, self._scene(frame), self._lexicon)

    def masks_at(self, frame: Frame, points: Sequence[tuple[float, float]]) -> list[Segmentation]:
        """Masks of the objects under the points, the one under most of them first.

        Raises:
            ToolError: EMPTY_MASK where there is no object.
        """
        things = self._things(frame)
        votes = votes_at(frame, points, [cluster.mask for cluster in things.clusters])
        seen = things.seen(np.flatnonzero(votes).tolist())
        return masks_at(frame, points, [cluster.mask for cluster, _ in seen], [self._iou(*thing) for thing in seen])

    def masks(self, frame: Frame) -> list[Segmentation]:
        """Masks of all objects, the one with the best score first."""
        found = [Segmentation(thing[0].mask, self._iou(*thing)) for thing in self._things(frame).seen()]
        return sorted(found, key=lambda segmentation: -segmentation.score)

    def _iou(self, cluster: Cluster, look: Look) -> float:
        """Predicted IoU of a thing's mask: a thing that is understood is one thing, and well outlined."""
        strange = next((r.probability for r in self._recogniser.readings(look) if r.item is None), 0.0)
        return expected_iou(cluster.mask, _OUTLINE_ERROR_PX) * (1.0 - strange + strange * _UNCLEAR_IOU)

    def depth(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        """The sensor's depth (H, W) [m] with small holes filled where their border is smooth, and fx [px]."""
        return fill_holes(frame.depth), float(frame.K[0, 0])

    def _understand(self, frame: Frame) -> ReadScene:
        things = self._things(frame)
        return ReadScene(tuple(self._read(things.surface, *seen) for seen in things.seen()), tuple(things.masks()))

    def _read(self, surface: Surface, cluster: Cluster, look: Look) -> tuple[ReadView, ...]:
        """What a thing may be, first what it is taken for."""
        size, centre = cluster.extents.size, cluster.extents.centre.copy()
        centre[2] += surface.table_z(centre[0], centre[1])
        point = inner_point(cluster.mask)

        def view(item: CatalogueItem | None) -> ObjectView:
            if item is None:
                return describe_unknown(look, main_colours(look.pixels), point, centre, size)
            return item.seen(point, centre, size)

        return tuple(ReadView(view(reading.item), reading.probability) for reading in self._recogniser.readings(look))


def _look(frame: Frame, surface: Surface, cluster: Cluster, occupied: NDArray[np.int16], number: int) -> Look:
    rows, columns = cluster.window
    mask = cluster.mask[cluster.window]
    height, width = frame.depth.shape
    # Pixels on the outline mix the thing's colour with the background's.
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
        cut=beyond or cluster.within is not None or _hidden_behind(surface, cluster, occupied, number, frame),
    )


def _hidden_behind(surface: Surface, cluster: Cluster, occupied: NDArray[np.int16], number: int, frame: Frame) -> bool:
    """True if another thing, nearer to the camera, touches the cluster in the picture."""
    rows = slice(max(cluster.window[0].start - 2, 0), cluster.window[0].stop + 2)
    columns = slice(max(cluster.window[1].start - 2, 0), cluster.window[1].stop + 2)
    mine = occupied[rows, columns] == number
    others = occupied[rows, columns]
    around = dilated(dilated(mine)) & (others > 0) & ~mine
    if np.count_nonzero(around) < 6:
        return False
    depth = frame.depth[rows, columns]
    return bool(np.nanmedian(depth[around]) < np.nanmedian(depth[mine]))
