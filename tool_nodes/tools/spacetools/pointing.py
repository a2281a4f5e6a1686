"""Pointing tools: `roborefer.*` and `vlm.*` (point1 and point2 of the SpaceTools appendix B.5).

A phrase that names a mark drawn into the picture, such as "red circle under label A", is looked up in the picture's own
pixels first; everything else, and what is not found there, goes to the Pointer port.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tool_nodes.perception.drawings.marks import Mark, MarkFinder, parse_mark_phrase
from tool_nodes.ports import Pointer
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError, ToolResult
from tool_nodes.toolbox.arguments import ImageIndex, Text
from tool_nodes.toolbox.images import SessionImage
from tool_nodes.toolbox.toolbox import tool
from tool_nodes.tools.drawing import draw_points

Point = tuple[float, float]


@dataclass(frozen=True)
class _Found:
    """Normalized points of the picture, best first, and who found them."""

    points: Sequence[Point]
    backend: str


def _show(points: Sequence[Point]) -> str:
    return ", ".join(f"({x:.3f}, {y:.3f})" for x, y in points)


def variable_name(obj_name: str) -> str:
    """The name as a `$variable` can carry it: blanks, and whatever else no variable may have, become underscores."""
    return re.sub(r"^(?=[^\WA-Za-z_])|\W", "_", obj_name)


class _PointingTools:
    suite = "spacetools"

    def __init__(self, pointer: Pointer, marks: MarkFinder | None = None) -> None:
        self._pointer = pointer
        self._marks = marks or MarkFinder()

    def _detect(self, obj_name: str, image: SessionImage, only_one: bool) -> ToolResult:
        found = self._find(obj_name, image)
        points = [(round(x, 3), round(y, 3)) for x, y in (found.points[:1] if only_one else found.points)]
        suffix = "detection" if only_one else "detections"
        picture = draw_points(image.rgb, points)
        return ToolResult(
            value=str(points[0]) if only_one else str(points),
            text=f"Detected {len(points)} instance(s) of '{obj_name}': [{_show(points)}]",
            image=picture,
            variables={f"{variable_name(obj_name)}_{suffix}": points[0] if only_one else points},
            source=image.redrawn(picture),
            backend=found.backend,
            facts={"points": points},
        )

    def _find(self, text: str, image: SessionImage) -> _Found:
        phrase = parse_mark_phrase(text)
        marks = self._marks.find(image.rgb, phrase) if phrase else []
        if phrase is None or not marks:
            return _Found(self._point(text, image), self._pointer.backend)
        if phrase.kind == "circle":
            return _Found([_normalized(mark.centre, image) for mark in marks], self._marks.backend)
        return self._in_boxes(phrase.name, marks, image)

    def _in_boxes(self, name: str, marks: Sequence[Mark], image: SessionImage) -> _Found:
        """The things of that name in a marked box, or the main thing of one, or its middle where nothing is seen."""
        for text in [name, "everything"] if name else ["everything"]:
            try:
                points = self._point(text, image)
            except ToolError as error:
                if error.code in INFRASTRUCTURE_ERRORS and image.frame is not None:
                    raise
                continue
            for mark in marks:
                left, top, right, bottom = np.array(mark.box) / (*image.size, *image.size)
                inside = [(x, y) for x, y in points if left <= x <= right and top <= y <= bottom]
                if inside:
                    chosen = inside if text == name else [_nearest(inside, _normalized(mark.centre, image))]
                    return _Found(chosen, self._pointer.backend)
        return _Found([_normalized(marks[0].centre, image)], self._marks.backend)

    def _point(self, text: str, image: SessionImage) -> list[Point]:
        """What the Pointer finds in the camera frame, as far as the picture shows it."""
        found = image.from_frame(self._pointer.points(image.require_frame(), text))
        points = [(float(x), float(y)) for x, y in found if 0.0 <= x <= 1.0 and 0.0 <= y <= 1.0]
        if not points:
            raise ToolError(
                ErrorCode.OBJECT_NOT_FOUND,
                f"{text[:60]!r} is not in the part of the camera picture that this image shows.",
                "Look at the whole picture.",
            )
        return points


def _normalized(point: Point, image: SessionImage) -> Point:
    width, height = image.size
    return point[0] / width, point[1] / height


def _nearest(points: Sequence[Point], to: Point) -> Point:
    return min(points, key=lambda point: float(np.hypot(point[0] - to[0], point[1] - to[1])))


class RoboReferTools(_PointingTools):
    """Pointing by RoboRefer, or by whichever backend stands behind the Pointer port.

    Args:
        pointer: Finds by words.
        marks: Finds marks that are drawn into a picture.
    """

    @tool("roborefer.detect_one", aliases=["point1.detect_one"], renamed={"image": "image_index"})
    def detect_one(self, obj_name: Text, image_index: ImageIndex) -> ToolResult:
        """Identify one instance of the named object by pointing to it. Free space can be named too.

        Args:
            obj_name: What to point at, e.g. "red box" or "free table left of the coconut water".
            image_index: Index of the image to look at.
        """
        return self._detect(obj_name, image_index, only_one=True)

    @tool("roborefer.detect_all", aliases=["point1.detect_all"], renamed={"image": "image_index"})
    def detect_all(self, obj_name: Text, image_index: ImageIndex) -> ToolResult:
        """Identify all instances of the named object by pointing to them.

        Args:
            obj_name: What to point at, e.g. "can".
            image_index: Index of the image to look at.
        """
        return self._detect(obj_name, image_index, only_one=False)


class VlmTools(_PointingTools):
    """Pointing by a general VLM (Molmo), or by whichever backend stands behind the Pointer port.

    Args:
        pointer: Finds by words.
        marks: Finds marks that are drawn into a picture.
    """

    @tool("vlm.detect_one", aliases=["point2.detect_one"], renamed={"image": "image_index"})
    def detect_one(self, obj_name: Text, image_index: ImageIndex) -> ToolResult:
        """Identify one instance of the named object by pointing to it with a general VLM.

        Args:
            obj_name: What to point at.
            image_index: Index of the image to look at.
        """
        return self._detect(obj_name, image_index, only_one=True)

    @tool("vlm.detect_all", aliases=["point2.detect_all"], renamed={"image": "image_index"})
    def detect_all(self, obj_name: Text, image_index: ImageIndex) -> ToolResult:
        """Identify all instances of the named object by pointing to them with a general VLM.

        Args:
            obj_name: What to point at.
            image_index: Index of the image to look at.
        """
        return self._detect(obj_name, image_index, only_one=False)
