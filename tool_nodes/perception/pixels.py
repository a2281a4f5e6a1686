"""Perception from pixels: colour and geometry of one RGB-D image, with no access to the simulator's truth."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.catalogue import CatalogueItem, load_catalogue
from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.language.vocabulary import Lexicon
from toolhand.tool_nodes.perception.certainty import Candidate, ReadScene, ReadView, candidates_by_words
from toolhand.tool_nodes.perception.colours import main_colours
from toolhand.tool_nodes.perception.frame_perception import FramePerception
from toolhand.tool_nodes.perception.frames import FrameCache, fill_holes
from toolhand.tool_nodes.perception.masks import inner_point, masks_at
from toolhand.tool_nodes.perception.objects import FrameObjects, SegmentedObject
from toolhand.tool_nodes.perception.recognition import Recogniser, describe_unknown
from toolhand.tool_nodes.perception.surface import Surface
from toolhand.tool_nodes.perception.word_pointer import point_by_words
from toolhand.tool_nodes.types import Frame, ObjectView, Segmentation


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
        self._objects = FrameCache(partial(FrameObjects, recogniser=self._recogniser))
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
        objects = self._objects(frame)
        seen = objects.near(points)
        found = masks_at(frame, points, [item.cluster.mask for item in seen], [item.iou for item in seen])
        split = objects.split_at(points) if len(points) > 1 else None
        # Several points decide between one object and two.
        halves = () if split is None else (split.first, split.second)
        meant = [half for half in halves if all(half[v, u] for u, v in (pixel(point, frame.size) for point in points))]
        return [*(Segmentation(half, found[0].score) for half in meant), *found]

    def halves_at(self, frame: Frame, points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
        """See FramePerception."""
        split = self._objects(frame).split_at(points) if len(points) == 1 else None
        return () if split is None else (inner_point(split.first), inner_point(split.second))

    def masks(self, frame: Frame) -> list[Segmentation]:
        """Masks of all objects, the one with the best score first."""
        found = [
            Segmentation(item.cluster.mask, item.iou, several=item.split is not None)
            for item in self._objects(frame).seen()
        ]
        return sorted(found, key=lambda segmentation: -segmentation.score)

    def depth(self, frame: Frame) -> tuple[NDArray[np.float32], float]:
        """The sensor's depth (H, W) [m] with small holes filled where their border is smooth, and fx [px]."""
        return fill_holes(frame.depth), float(frame.K[0, 0])

    def _understand(self, frame: Frame) -> ReadScene:
        objects = self._objects(frame)
        seen = objects.seen()
        return ReadScene(
            tuple(self._read(objects.surface, item) for item in seen), tuple(item.cluster.mask for item in seen)
        )

    def _read(self, surface: Surface, obj: SegmentedObject) -> tuple[ReadView, ...]:
        """What an object may be, first what it is taken for."""
        extents, look = obj.cluster.extents, obj.look
        size, centre = extents.size, extents.centre.copy()
        centre[2] += surface.table_z(centre[0], centre[1])
        point = inner_point(obj.cluster.mask)

        def view(item: CatalogueItem | None) -> ObjectView:
            if item is None:
                several = obj.split is not None
                return describe_unknown(look, main_colours(look.pixels), point, centre, size, several)
            return item.seen(point, centre, size)

        return tuple(ReadView(view(reading.item), reading.probability) for reading in self._recogniser.readings(look))
