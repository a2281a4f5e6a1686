"""Finding objects in an image by its colours alone: no depth, no calibration, no weights.

It is made for what is drawn: shapes, diagrams, maps. Photographs are beyond it (see `photographs`): their textures and
shadows fall apart into patches, and it knows colours and plain shapes, not the names of objects.
"""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import look_at, pixel
from toolhand.tool_nodes.language.referring import refer
from toolhand.tool_nodes.language.sides import MIDDLE_HEIGHT
from toolhand.tool_nodes.language.vocabulary import Lexicon
from toolhand.tool_nodes.language.words import stem
from toolhand.tool_nodes.perception.certainty import LEAST, WordFits
from toolhand.tool_nodes.perception.drawings.readings import read_colour, read_shape
from toolhand.tool_nodes.perception.drawings.segments import Regions, find_regions
from toolhand.tool_nodes.perception.drawings.shapes import SHAPE_WORDS, ShapeName
from toolhand.tool_nodes.perception.masks import expected_iou
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray, ObjectView, Segmentation

_REMEMBERED = 4
"""Images whose regions are kept."""
_NEAR_MISS_PX = 8
"""A point this near to an object still means it [px]; a round figure."""
_MOST = (20, 100)
"""Within these limits `everything` gives as many objects as have masks of _MASK_PIXELS together."""
_MASK_PIXELS = 100_000_000
"""Pixels of all masks that `everything` gives; bounds the memory [px]."""
_OUTLINE_ERROR_PX = 0.1
"""How far the outlines of plain shapes are off on average [px]: measured on the images of shapes, with and without
noise. Those of an image that was shrunk are off by a quarter of its coarser pixels."""
_MOST_UNLIKELY = 20
"""Objects, the likeliest, of those that a phrase does not name, whose other readings are looked at; a round figure."""
_NEAR_COLOUR = 0.05
"""How well the name of another colour fits, "red" for orange: `read_colour` says how near they are; a round figure."""
_MAX_PIXELS = 1_500_000
"""A larger image is shrunk to below this before it is looked at; what is thin gets lost then."""

_SPAN_M = 1.8
"""The longer side of an image on the plane that `refer` judges on: "next to" reaches a sixth of it [m]."""
_STEP_M = 2.0
"""Every smaller object lies so much higher on that plane: no object is taller [m]."""

_AREA_WORDS = ("area", "region", "blob")
"""What any shape is called too."""
_LEXICON = Lexicon(
    frozenset(stem(word) for word in (*SHAPE_WORDS, *_AREA_WORDS)),
    "colours and plain shapes in drawings (circle, ellipse, ring, square, rectangle, triangle, star, cross, line ...)",
)
_PLANE_WORDS = tuple(
    (re.compile(pattern), word)
    for pattern, word in (
        (r"\bon top of\b", "on"),
        (r"\b(?:above|over)\b", "behind"),
        (r"\b(?:below|beneath|underneath|under)\b", "in front of"),
        (r"\b(?:highest|(?:top|upper)[- ]?most)\b", "farthest"),
        (r"\b(?:lowest|(?:bottom|lower)[- ]?most)\b", "nearest"),
        (r"\b(?:top|upper)\b", "back"),
        (r"\b(?:bottom|lower)\b", "front"),
        (r"\b(?:shape|figure)(s?)\b", r"object\1"),
    )
)
"""`refer` reads images of a table: up and down in a drawing are far and near there, and a shape is any object."""


@dataclass(frozen=True, eq=False)
class _Image:
    """One image, understood.

    Attributes:
        rgb: The image (H, W, 3).
        shrunk: How many of its pixels, in a row, are one pixel of the regions.
        regions: Regions of the image.
    """

    rgb: NDArray[np.uint8]
    shrunk: int
    regions: Regions

    @cached_property
    def readings(self) -> list[list[tuple[ObjectView, float]]]:
        """What each object may be called and the probability of that, first what it is called."""
        return _readings(self.regions)

    @cached_property
    def views(self) -> list[ObjectView]:
        """What each object is called."""
        return [readings[0][0] for readings in self.readings]

    def segmentation(self, index: int) -> Segmentation:
        """Mask (H, W) and score of a region."""
        rows, columns = self.regions.windows[index]
        part = self.regions.labels[rows, columns] == index + 1
        mask = np.zeros(self.rgb.shape[:2], bool)
        part = part.repeat(self.shrunk, axis=0).repeat(self.shrunk, axis=1)
        target = mask[rows.start * self.shrunk :, columns.start * self.shrunk :][: part.shape[0], : part.shape[1]]
        target[...] = part[: target.shape[0], : target.shape[1]]
        error_px = _OUTLINE_ERROR_PX if self.shrunk == 1 else self.shrunk / 4
        return Segmentation(mask, expected_iou(mask, error_px))


class FlatPerception:
    """Finds plain shapes by words, by points, or all of them, in images uint8 (H, W, 3) without depth."""

    backend = "drawings"

    def __init__(self) -> None:
        self._seen: deque[_Image] = deque(maxlen=_REMEMBERED)

    def find(self, rgb: NDArray[np.uint8], text: str) -> list[tuple[Segmentation, float]]:
        """Everything that a text names, best first: "red circles", "the largest square", "the ring above the star".

        Then what it does not name, but would if the object were called something else that its outline and colour fit
        nearly as well.

        Returns:
            Each with its predicted IoU, and with the probability in [0, 1] that it is what the text means.

        Raises:
            ToolError: OBJECT_NOT_FOUND, naming what can be seen; NOT_RECOGNISED for words that are no colour and no
                plain shape; NOT_UNDERSTOOD for a text that means nothing.
        """
        image = self._look(rgb)
        if not image.regions.windows:
            raise ToolError(
                ErrorCode.OBJECT_NOT_FOUND, f"no {text[:80]!r} here; nothing stands out of this picture by its colour"
            )
        phrase = text.lower()
        for pattern, word in _PLANE_WORDS:
            phrase = pattern.sub(word, phrase)
        missing: ToolError | None = None
        try:
            found = refer(phrase, image.views, nearest=True, lexicon=_LEXICON)
        except ToolError as error:
            if error.code is not ErrorCode.OBJECT_NOT_FOUND:
                raise
            missing, found = error, []
        certainties = self._certainties(phrase, image, found)
        if missing is not None and not certainties:
            raise missing
        return [(image.segmentation(k), certainty) for k, certainty in certainties.items()]

    @staticmethod
    def _certainties(phrase: str, image: _Image, found: Sequence[int]) -> dict[int, float]:
        """The probability that each object is what a phrase means: of those found, then of those that may be meant."""
        fits = WordFits(phrase, _NEAR_COLOUR)
        chances: dict[int, float] = {}
        likeliest: dict[int, ObjectView] = {}
        for k, readings in enumerate(image.readings):
            # What is called by the words, and still was not found, is not where the phrase says.
            first = [(view, p * fits.of_meant(view)) for view, p in readings[:1] if k in found]
            fitting = first + [(view, p * fits.of(view)) for view, p in readings[1:]]
            chances[k] = min(sum(p for _, p in fitting), 1.0)
            if fitting:
                likeliest[k] = max(fitting, key=lambda one: one[1])[0]
        others = sorted((k for k in chances if k not in found and chances[k] >= LEAST), key=lambda k: -chances[k])
        views = image.views
        meant = [k for k in others[:_MOST_UNLIKELY] if _refers(phrase, [*views[:k], likeliest[k], *views[k + 1 :]], k)]
        return {k: chances[k] for k in (*found, *meant)}

    def everything(self, rgb: NDArray[np.uint8]) -> list[Segmentation]:
        """Every object in the image, best first; of very many, the largest."""
        image = self._look(rgb)
        most = min(max(_MASK_PIXELS // image.rgb[..., 0].size, _MOST[0]), _MOST[1])
        found = [image.segmentation(k) for k in range(min(len(image.regions.windows), most))]
        return sorted(found, key=lambda segment: -segment.score)

    def at(self, rgb: NDArray[np.uint8], points: Sequence[tuple[float, float]]) -> Segmentation:
        """The object under most of the normalized points (x, y); a near miss counts for the nearest object.

        Raises:
            ToolError: EMPTY_MASK where there is no object.
        """
        image = self._look(rgb)
        labels = image.regions.labels
        votes = Counter(_label_near(labels, *pixel(point, labels.shape[::-1])) for point in points)
        del votes[0]
        if not votes:
            where = ", ".join(f"({x:.3f}, {y:.3f})" for x, y in points)
            raise ToolError(ErrorCode.EMPTY_MASK, f"There is no object at {where}.", "Point at an object first.")
        label, count = votes.most_common(1)[0]
        found = image.segmentation(label - 1)
        return Segmentation(found.mask, found.score * count / len(points))

    def names(self, rgb: NDArray[np.uint8]) -> list[str]:
        """What each object is called, the largest first."""
        image = self._look(rgb)
        return [view.name for view in image.views]

    def _look(self, rgb: NDArray[np.uint8]) -> _Image:
        for known in tuple(self._seen):
            if known.rgb is rgb:
                return known
        shrunk = math.ceil(math.sqrt(rgb[..., 0].size / _MAX_PIXELS))
        small = rgb if shrunk == 1 else np.asarray(Image.fromarray(rgb).reduce(shrunk))
        image = _Image(rgb, shrunk, find_regions(small))
        self._seen.append(image)
        return image


def _label_near(labels: NDArray[np.int32], u: int, v: int) -> int:
    """The label at a pixel, or the nearest one within a near miss; 0 where there is none."""
    if labels[v, u]:
        return int(labels[v, u])
    top, left = max(v - _NEAR_MISS_PX, 0), max(u - _NEAR_MISS_PX, 0)
    near = labels[top : v + _NEAR_MISS_PX + 1, left : u + _NEAR_MISS_PX + 1]
    rows, columns = np.nonzero(near)
    distance = np.hypot(rows + top - v, columns + left - u)
    if not len(distance) or distance.min() > _NEAR_MISS_PX:
        return 0
    best = int(distance.argmin())
    return int(near[rows[best], columns[best]])


def _refers(phrase: str, views: Sequence[ObjectView], k: int) -> bool:
    """True if the phrase means object k, among others."""
    try:
        return k in refer(phrase, views, nearest=True, lexicon=_LEXICON)
    except ToolError:
        return False


def _readings(regions: Regions) -> list[list[tuple[ObjectView, float]]]:
    """What is known of each object, in the words and on the plane that `refer` reads."""
    height, width = regions.labels.shape
    scale = _SPAN_M / max(height, width)
    middles = np.array([((c.start + c.stop) / 2, (r.start + r.stop) / 2) for r, c in regions.windows]).reshape(-1, 2)
    plane = (middles - (width / 2, height / 2)) * scale
    points = _points_on_table(plane)
    readings = []
    for k, (window, rgb) in enumerate(zip(regions.windows, regions.colours, strict=True)):
        part = regions.labels[window]
        mask: BoolArray = part == k + 1
        shapes, colours = read_shape(mask, part == 0), read_colour(rgb)
        readings.append(
            [
                (_view(shape, colour, plane[k], points[k], mask, k, scale), by_shape * by_colour)
                for shape, by_shape in shapes
                for colour, by_colour in colours
            ]
        )
    return readings


def _view(
    shape: ShapeName,
    colour: str,
    position: FloatArray,
    point: tuple[float, float],
    mask: BoolArray,
    rank: int,
    scale: float,
) -> ObjectView:
    """An object in a drawing as if on a table: what is smaller lies on what is larger, and anything can hold it."""
    tall, wide = mask.shape
    # The product of the three sides, by which `refer` compares sizes, is the area times a constant.
    sides = np.array([wide, np.count_nonzero(mask) / (tall * wide), tall]) * scale
    level = rank * _STEP_M + sides[2] / 2
    return ObjectView(
        name=f"{colour} {shape.name}",
        kind=shape.name,
        colour=colour,
        synonyms=tuple(f"{colour} {word}" for word in shape.synonyms),
        categories=(*shape.synonyms, *_AREA_WORDS),
        attributes=shape.attributes,
        point=point,
        position_m=np.array([position[0], position[1], level]),
        size_m=sides,
        container=True,
    )


def _points_on_table(plane: FloatArray) -> list[tuple[float, float]]:
    """Where the scene camera would see points (N, 2) of a plane [m], right and near: `refer` takes them back to it."""
    position, target = workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET
    R = look_at(position, target)[:3, :3]
    towards = (position - target)[:2] / np.linalg.norm((position - target)[:2])
    centre = np.array([target[0], target[1], MIDDLE_HEIGHT])
    right = np.array([R[0, 0], R[1, 0], 0.0])
    near = np.array([towards[0], towards[1], 0.0])
    seen = (centre + plane[:, :1] * right + plane[:, 1:] * near - position) @ R
    pixels = workspace.SCENE_CAMERA_FOCAL_PX * seen[:, :2] / seen[:, 2:]
    normalized = pixels / workspace.IMAGE_SIZE + 0.5
    return [(float(x), float(y)) for x, y in normalized]
