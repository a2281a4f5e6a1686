"""Perception from pixels: colour and geometry of one RGB-D picture, with no access to the simulator's truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tool_nodes.catalogue import CatalogueItem, load_catalogue
from tool_nodes.perception.clusters import Cluster, find_clusters
from tool_nodes.perception.colours import main_colours
from tool_nodes.perception.frames import FrameCache, fill_holes
from tool_nodes.perception.masks import expected_iou, inner_point, masks_at
from tool_nodes.perception.recognition import Look, Recogniser, describe_unknown
from tool_nodes.perception.stacks import split_candidates
from tool_nodes.perception.surface import Surface, find_surface
from tool_nodes.perception.word_pointer import point_by_words
from tool_nodes.types import BoolArray, Frame, ObjectView, Segmentation

_SAMPLE = 240
_DOUBTFUL = -12.0
_PILE_ADVANTAGE = 3.0


_Seen = tuple[Cluster, Look]


@dataclass(frozen=True)
class PixelScene:
    """One frame, understood: clusters, what they look like, and what they are taken for, in one order."""

    surface: Surface
    clusters: tuple[Cluster, ...]
    looks: tuple[Look, ...]
    views: tuple[ObjectView, ...]

    @property
    def masks(self) -> tuple[BoolArray, ...]:
        """Visible pixels (H, W) of each view."""
        return tuple(cluster.mask for cluster in self.clusters)


class PixelPerception:
    """Pointer, Segmenter and DepthEstimator from colour and geometry alone.

    Args:
        items: The products that are recognised by name; the shipped catalogue where None. What fits none of them
            is described instead, e.g. "red box-shaped object".
    """

    def __init__(self, items: Sequence[CatalogueItem] | None = None) -> None:
        self._recogniser = Recogniser(list(load_catalogue().values()) if items is None else items)
        self._scene = FrameCache(self._understand)

    def views(self, frame: Frame) -> list[ObjectView]:
        """Every object that stands out of the table."""
        return list(self._scene(frame).views)

    def points(self, frame: Frame, text: str) -> list[tuple[float, float]]:
        """Normalized (x, y) of every match, best first; a phrase for free space gives one free point.

        Raises:
            ToolError: OBJECT_NOT_FOUND, naming what can be seen; PLACE_BLOCKED where no free space is left.
        """
        return point_by_words(frame, text, self._scene(frame))

    def segment(self, frame: Frame, points: Sequence[tuple[float, float]]) -> list[Segmentation]:
        """Masks of the objects under the points, the one under most of them first.

        Raises:
            ToolError: EMPTY_MASK where there is no object.
        """
        return masks_at(frame, points, [cluster.mask for cluster in self._scene(frame).clusters], expected_iou)

    def estimate(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        """The sensor's depth (H, W) [m] with small holes filled where their border is smooth, and fx [px]."""
        return fill_holes(frame.depth), float(frame.K[0, 0])

    def _understand(self, frame: Frame) -> PixelScene:
        surface = find_surface(frame)
        clusters = find_clusters(frame, surface)
        occupied = np.zeros(frame.depth.shape, dtype=np.int16)
        for number, cluster in enumerate(clusters, start=1):
            occupied[cluster.mask] = number
        looks = [_look(frame, surface, cluster, occupied, k) for k, cluster in enumerate(clusters, start=1)]
        for k in range(len(clusters)):
            pair = self._unstack(frame, surface, clusters[k], looks[k])
            if pair is not None:
                (clusters[k], looks[k]), (upper, upper_look) = pair
                clusters.append(upper)
                looks.append(upper_look)
        views = [self._name(frame, surface, *pair) for pair in zip(clusters, looks, strict=True)]
        return PixelScene(surface, tuple(clusters), tuple(looks), tuple(views))

    def _unstack(self, frame: Frame, surface: Surface, cluster: Cluster, look: Look) -> tuple[_Seen, _Seen] | None:
        """(lower, upper) with their looks if a cluster is understood far better as a pile of two things."""
        alone = self._recogniser.score(look)
        if cluster.hollow or look.cut or alone > _DOUBTFUL:
            return None
        best, found = max(alone + _PILE_ADVANTAGE, _DOUBTFUL), None
        for lower, upper in split_candidates(surface, cluster, frame.T_base_camera[:3, 3]):
            occupied = lower.mask + 2 * upper.mask.astype(np.int16)
            pair = [_look(frame, surface, part, occupied, n) for n, part in ((1, lower), (2, upper))]
            score = min(self._recogniser.score(part) for part in pair)
            if score > best:
                best, found = score, ((lower, pair[0]), (upper, pair[1]))
        return found

    def _name(self, frame: Frame, surface: Surface, cluster: Cluster, look: Look) -> ObjectView:
        item = self._recogniser.best(look)
        size, centre = cluster.extents.size, cluster.extents.centre.copy()
        centre[2] += surface.table_z(centre[0], centre[1])
        point = inner_point(cluster.mask)
        if item is None:
            return describe_unknown(look, main_colours(look.pixels), point, centre, size)
        return ObjectView(
            name=item.name,
            kind=item.kind,
            colour=item.colour,
            synonyms=item.synonyms,
            categories=item.categories,
            attributes=item.attributes,
            point=point,
            position_m=centre,
            size_m=size,
            container=item.container,
        )


def _look(frame: Frame, surface: Surface, cluster: Cluster, occupied: NDArray[np.int16], number: int) -> Look:
    rows, columns = cluster.window
    mask = cluster.mask[cluster.window]
    height, width = frame.depth.shape
    # Pixels on the outline mix the thing's colour with the background's.
    core = ndimage.binary_erosion(mask)
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
    around = ndimage.binary_dilation(mine, iterations=2) & (others > 0) & ~mine
    if np.count_nonzero(around) < 6:
        return False
    depth = frame.depth[rows, columns]
    return bool(np.nanmedian(depth[around]) < np.nanmedian(depth[mine]))
