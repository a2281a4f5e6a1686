"""Pointing tools: `roborefer.*` and `vlm.*` (point1 and point2 of the SpaceTools appendix B.5).

A phrase that names a mark drawn into the image, such as "red circle under label A", is looked up in the image's own
pixels first; everything else, and what is not found there, goes to the Pointer port.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from toolhand.tool_nodes.drawing import draw_points
from toolhand.tool_nodes.language.phrases import MAX_PHRASE, parse_noun_phrase
from toolhand.tool_nodes.language.pointed import at_point
from toolhand.tool_nodes.models.table import WRITES_POINTS
from toolhand.tool_nodes.perception.drawings.marks import Mark, MarkFinder, parse_mark_phrase
from toolhand.tool_nodes.perception.prompts import points_by
from toolhand.tool_nodes.ports import Answer, Pointer
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.arguments import ImageIndex, Text
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.provenance import variable_name
from toolhand.tool_nodes.toolbox.toolbox import tool

Point = tuple[float, float]


def _show(points: Sequence[Point]) -> str:
    return ", ".join(f"({x:.3f}, {y:.3f})" for x, y in points)


class PointingTools:
    """What both suites of pointing tools do."""

    suite = "spacetools"

    def __init__(self, pointer: Pointer, marks: MarkFinder | None = None) -> None:
        self._pointer = pointer
        self._marks = marks or MarkFinder()
        self._given: WeakKeyDictionary[SessionImage, dict[tuple[Point, ...], str]] = WeakKeyDictionary()
        """Which phrase gave which points, by the conversation's own image, with which it is forgotten."""

    def _detect(self, obj_name: str, image: SessionImage, only_one: bool) -> ToolResult:
        return self.report(obj_name, image, self.find(obj_name, image), only_one)

    def report(self, obj_name: str, image: SessionImage, found: Answer[list[Point]], only_one: bool) -> ToolResult:
        """The tool's result for some points, best first, normalized; `only_one` keeps the first."""
        points = [(round(x, 3), round(y, 3)) for x, y in (found.value[:1] if only_one else found.value)]
        suffix = "detection" if only_one else "detections"
        shown = draw_points(image.rgb, points)
        alike = self._alike(obj_name, image, points) if found.backend in WRITES_POINTS else ""
        note = f". Note: {alike!r} gave the very same; if those are different things, one of the two is wrong"
        return ToolResult(
            value=str(points[0]) if only_one else str(points),
            text=f"Detected {len(points)} instance(s) of '{obj_name}': [{_show(points)}]" + (note if alike else ""),
            image=shown,
            variables={f"{variable_name(obj_name)}_{suffix}": points[0] if only_one else points},
            source=image.redrawn(shown),
            backend=found.backend,
            named=obj_name,
            facts={"points": points} | ({"same_as": alike} if alike else {}),
        )

    def _alike(self, phrase: str, image: SessionImage, points: Sequence[Point]) -> str:
        """An earlier, other phrase that gave the same points in this image; empty where none did.

        A model that writes points may write the same ones whatever it is asked: RoboRefer was seen to.
        """
        words = " ".join(phrase.lower().removeprefix("the ").split())
        first = self._given.setdefault(image, {}).setdefault(tuple(points), words)
        return "" if first == words else first

    def find(self, text: str, image: SessionImage) -> Answer[list[Point]]:
        """Points on what a text means, of the marks in an image or else by the Pointer port. Raises as the port."""
        phrase = parse_mark_phrase(text)
        marks = self._marks.find(image.rgb, phrase) if phrase else []
        if phrase is None or not marks:
            return _where_said(text, points_by(self._pointer, image, text))
        if phrase.kind == "circle":
            return Answer([_normalized(mark.centre, image) for mark in marks], self._marks.backend)
        return self._in_boxes(phrase.name, marks, image)

    def _in_boxes(self, name: str, marks: Sequence[Mark], image: SessionImage) -> Answer[list[Point]]:
        """The objects of that name in a marked box, or the main object of one, or its middle where nothing is seen."""
        for text in [name, "everything"] if name else ["everything"]:
            try:
                answer = points_by(self._pointer, image, text)
            except ToolError as error:
                if error.code in INFRASTRUCTURE_ERRORS:
                    raise
                continue
            for mark in marks:
                left, top, right, bottom = np.array(mark.box) / (*image.size, *image.size)
                inside = [(x, y) for x, y in answer.value if left <= x <= right and top <= y <= bottom]
                if inside:
                    chosen = inside if text == name else [_nearest(inside, _normalized(mark.centre, image))]
                    return Answer(chosen, answer.backend)
        return Answer([_normalized(marks[0].centre, image)], self._marks.backend)


def _where_said(text: str, answer: Answer[list[Point]]) -> Answer[list[Point]]:
    """Of what a model points at, which need not heed a point in the words, the one there. Raises OBJECT_NOT_FOUND."""
    if (
        answer.backend not in WRITES_POINTS
        or len(text) > MAX_PHRASE
        or (named := parse_noun_phrase(text)).point is None
    ):
        return answer
    return replace(answer, value=[answer.value[at_point(named, answer.value)]])


def _normalized(point: Point, image: SessionImage) -> Point:
    width, height = image.size
    return point[0] / width, point[1] / height


def _nearest(points: Sequence[Point], to: Point) -> Point:
    return min(points, key=lambda point: float(np.hypot(point[0] - to[0], point[1] - to[1])))


class RoboReferTools(PointingTools):
    """Pointing by RoboRefer, or by whichever backend stands behind the Pointer port.

    Args:
        pointer: Finds by words.
        marks: Finds marks that are drawn into an image.
    """

    @tool(
        "roborefer.detect_one",
        aliases=["point1.detect_one"],
        renamed={"image": "image_index"},
        makes=("{obj_name}_detection",),
        example=Example({"obj_name": "the carton on the left", "image_index": 0}),
    )
    def detect_one(self, obj_name: Text, image_index: ImageIndex) -> ToolResult:
        """Identify one instance of the named object by pointing to it. Free space can be named too.

        Args:
            obj_name: What to point at, e.g. "red box" or "free table left of the coconut water".
            image_index: Index of the image to look at.
        """
        return self._detect(obj_name, image_index, only_one=True)

    @tool(
        "roborefer.detect_all",
        aliases=["point1.detect_all"],
        renamed={"image": "image_index"},
        makes=("{obj_name}_detections",),
        example=Example({"obj_name": "coconut water", "image_index": 0}),
    )
    def detect_all(self, obj_name: Text, image_index: ImageIndex) -> ToolResult:
        """Identify all instances of the named object by pointing to them.

        Args:
            obj_name: What to point at, e.g. "can".
            image_index: Index of the image to look at.
        """
        return self._detect(obj_name, image_index, only_one=False)


class VlmTools(PointingTools):
    """Pointing by a general VLM (Molmo), or by whichever backend stands behind the Pointer port.

    Args:
        pointer: Finds by words.
        marks: Finds marks that are drawn into an image.
    """

    @tool(
        "vlm.detect_one",
        aliases=["point2.detect_one"],
        renamed={"image": "image_index"},
        makes=("{obj_name}_detection",),
        example=Example({"obj_name": "black bin", "image_index": 0}),
    )
    def detect_one(self, obj_name: Text, image_index: ImageIndex) -> ToolResult:
        """Identify one instance of the named object by pointing to it with a general VLM.

        Args:
            obj_name: What to point at.
            image_index: Index of the image to look at.
        """
        return self._detect(obj_name, image_index, only_one=True)

    @tool(
        "vlm.detect_all",
        aliases=["point2.detect_all"],
        renamed={"image": "image_index"},
        makes=("{obj_name}_detections",),
        example=Example({"obj_name": "food", "image_index": 0}),
    )
    def detect_all(self, obj_name: Text, image_index: ImageIndex) -> ToolResult:
        """Identify all instances of the named object by pointing to them with a general VLM.

        Args:
            obj_name: What to point at.
            image_index: Index of the image to look at.
        """
        return self._detect(obj_name, image_index, only_one=False)
