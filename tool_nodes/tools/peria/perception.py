r"""PERIA's perception tools for objects: detection, segmentation, counting and presence (appendix C.1, table 7).

Each answers with text alone, in the form of the paper's figure 12: `Tool executed successfully.`, then `Result: ` and
one JSON object that names its task. Boxes are `\boxed{x1,y1,x2,y2}` in 0..1000; centroids are [x, y] in the same space,
and areas are in its units, so that the whole image has 1,000,000. The thresholds are those of the paper: detections
from a box score of 0.25, non-maximum suppression at an IoU of 0.8, segments from a score of 0.25, at most 20 of them.

What stands behind the tools are the backends of the ports Detector and Segmenter instead of Grounding DINO and SAM 3.1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from toolhand.tool_nodes.perception.box_overlap import box_iou, inside_box, not_suppressed
from toolhand.tool_nodes.perception.drawings.exemplar import Appearance
from toolhand.tool_nodes.perception.instances import Instance
from toolhand.tool_nodes.perception.object_finder import ObjectFinder, joined
from toolhand.tool_nodes.ports import Answer
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult, invalid
from toolhand.tool_nodes.toolbox.arguments import ImageIndex, Text
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import tool
from toolhand.tool_nodes.tools.peria.boxes import SPACE, SpaceBox, box_pixels, boxed, show_box
from toolhand.tool_nodes.tools.peria.interaction import SUCCESS
from toolhand.tool_nodes.types import Detection, FloatArray

BOX_THRESHOLD = 0.25
"""Least score of a box [-]: the threshold for boxes and text of PERIA's detection agent (appendix C.1)."""
NMS_THRESHOLD = 0.8
"""Boxes of a larger intersection over union are one object [-]; PERIA, likewise."""
SCORE_THRESHOLD = 0.25
"""Least score of a mask [-]; PERIA's segmentation agent."""
_UNITS = "bbox and centroid in thousandths of the width and height, area in millionths of the picture"
_NOTE = 400
"""Most characters of what is said of names that are not known, which lists those that are [-]; a round figure."""
MAX_PROPOSALS = 20
"""Most regions in an answer [-]; PERIA's segmentation agent."""

_MAX_NAMES = 10
"""Most names in a question: each is a detection."""
_INSIDE = 0.5
"""Share of an object that must lie in a box for the box to hold it [-], unless _FILLS is reached."""
_FILLS = 0.25
"""Share of a box that an object fills for the box to hold it [-], whatever part of the object that is."""
_EXEMPLAR_IOU = 0.2
"""The exemplar's own box overlaps the given one by at least this IoU."""

_NAMES = re.compile(r"\s*(?:[,;?!\n]|\.(?=\s|$))\s*")
_ASKED = re.compile(
    r"^(?:please )?(?:where(?: is| are|'s)|what(?: is| are|'s)|which(?: is| are)?|(?:is|are) there(?: an?| any)?|"
    r"how many|find|locate|detect|show(?: me)?|point (?:to|at)|segment|count)\s+(?P<name>.+?)(?: (?:is|are) there)?$",
    re.IGNORECASE,
)
"""A caption of Grounding DINO is a list of names; a question about one is taken too."""


class PeriaPerceptionTools:
    """Object detection and segmentation.

    Args:
        finder: Finds objects in the images of a conversation.
    """

    suite = "peria"

    def __init__(self, finder: ObjectFinder) -> None:
        self._finder = finder

    @tool("grounding_dino", example=Example({"image_index": 0, "question": "coconut water . black bin"}))
    def grounding_dino(self, image_index: ImageIndex, question: Text) -> ToolResult:
        """Perform open-vocabulary object detection from text descriptions. It returns detected objects with bounding
        boxes, confidence scores, and labels, which helps locate landmarks, icons, objects, or semantic regions.

        Args:
            image_index: Index of the input image.
            question: What to look for; several names are divided by commas or by " . ".
        """
        names = _names(question)
        found: list[Detection] = []
        missing: list[str] = []
        unknown: dict[str, ToolError] = {}
        backends: list[str] = []
        for name in names:
            try:
                answer = self._finder.detect(image_index, name)
                found += answer.value
                backends.append(answer.backend)
            except ToolError as error:
                if error.code is ErrorCode.NOT_RECOGNISED:
                    unknown[name] = error
                    continue
                if error.code is not ErrorCode.OBJECT_NOT_FOUND:
                    raise
                missing.append(name)
                backends.append(error.backend)
        if len(unknown) == len(names):
            raise unknown[names[0]]
        found = [detection for detection in found if detection.score >= BOX_THRESHOLD]
        kept = not_suppressed(
            [detection.box for detection in found], [detection.score for detection in found], NMS_THRESHOLD
        )
        detections = [found[k] for k in kept]
        document: dict[str, Any] = {
            "task": "detection",
            "objects": [
                {
                    "label": detection.label,
                    "confidence": _confidence(detection),
                    "bbox": boxed(*detection.box, image_index.size),
                }
                for detection in detections
            ],
        }
        if missing:
            document["not_found"] = missing
        if unknown:
            document |= {"not_recognised": list(unknown), "note": next(iter(unknown.values())).message[:_NOTE]}
        return _answer(document, joined(backends))

    @tool("auto_segment", example=Example({"image_index": 0}))
    def auto_segment(self, image_index: ImageIndex) -> ToolResult:
        """Automatically segment objects in the full image and return proposals with bounding boxes, confidence
        scores, areas, and centroids.

        Args:
            image_index: Index of the input image.
        """
        return _proposals(image_index, self._finder.everything(image_index))

    @tool("bbox_segment", example=Example({"image_index": 0, "bounding_box": "\\boxed{300, 440, 400, 680}"}))
    def bbox_segment(self, image_index: ImageIndex, bounding_box: SpaceBox) -> ToolResult:
        r"""Perform region-constrained segmentation inside a specified bounding box, enabling focused analysis or
        refinement of a target area.

        Args:
            image_index: Index of the input image.
            bounding_box: Region as \boxed{x1,y1,x2,y2}, top left and bottom right corner in 0..1000.
        """
        box = box_pixels(bounding_box, image_index.size)
        area = (box[2] - box[0]) * (box[3] - box[1])
        found = []
        everything = self._finder.everything(image_index)
        for instance in everything.value:
            part, share = inside_box(instance.mask, box)
            if share >= _INSIDE or np.count_nonzero(part) >= _FILLS * area:
                found.append((box_iou(instance.box, box), Instance.of_mask(part, instance.score)))
        if not found:
            raise _nothing_in(bounding_box)
        found.sort(key=lambda pair: -pair[0])
        return _proposals(image_index, Answer([instance for _, instance in found], everything.backend))

    @tool("text_segment", example=Example({"image_index": 0, "text_prompt": "rice box"}))
    def text_segment(self, image_index: ImageIndex, text_prompt: Text) -> ToolResult:
        """Segment objects described by a natural-language prompt, supporting open-vocabulary object localization and
        isolation.

        Args:
            image_index: Index of the input image.
            text_prompt: What to segment, e.g. "red circles".
        """
        return _proposals(image_index, self._finder.find(image_index, text_prompt), prompt=text_prompt)

    @tool("exemplar_segment", example=Example({"image_index": 0, "bounding_box": "\\boxed{300, 440, 400, 680}"}))
    def exemplar_segment(self, image_index: ImageIndex, bounding_box: SpaceBox) -> ToolResult:
        r"""Use a bounding box as a visual exemplar and find visually similar objects in the image, which is useful for
        repeated patterns or "find more like this" reasoning.

        Args:
            image_index: Index of the input image.
            bounding_box: Box around one object as \boxed{x1,y1,x2,y2}, in 0..1000; the object itself is found too.
        """
        box = box_pixels(bounding_box, image_index.size)
        everything = self._finder.everything(image_index)
        exemplar = max(everything.value, key=lambda instance: box_iou(instance.box, box), default=None)
        if exemplar is None or box_iou(exemplar.box, box) < _EXEMPLAR_IOU:
            raise _nothing_in(bounding_box)
        wanted = Appearance.of(image_index.rgb, exemplar.mask)
        found = [
            replace(instance, score=instance.score * wanted.likeness(Appearance.of(image_index.rgb, instance.mask)))
            for instance in everything.value
        ]
        found.sort(key=lambda instance: -instance.score)
        return _proposals(image_index, Answer(found, everything.backend))

    @tool("concept_count", example=Example({"image_index": 0, "text_prompt": "coconut water"}))
    def concept_count(self, image_index: ImageIndex, text_prompt: Text) -> ToolResult:
        """Count objects matching a text prompt and return both the count and instance locations.

        Args:
            image_index: Index of the input image.
            text_prompt: What to count, e.g. "cans".
        """
        found, _, backend, note = self._found_or_none(image_index, text_prompt)
        answer = {"task": "counting", "prompt": text_prompt, "count": len(found)}
        answer |= _listed("instances", image_index, found) | note
        return _answer(answer, backend, found)

    @tool("presence_check", example=Example({"image_index": 0, "text_prompt": "teddy bear"}))
    def presence_check(self, image_index: ImageIndex, text_prompt: Text) -> ToolResult:
        """Check whether a described concept is present in the image and return a presence flag, confidence score, and
        count.

        Args:
            image_index: Index of the input image.
            text_prompt: What to look for, e.g. "a red box".
        """
        found, sure_of_absence, backend, note = self._found_or_none(image_index, text_prompt)
        answer = {
            "task": "presence",
            "prompt": text_prompt,
            "present": bool(found),
            "confidence": max(map(_confidence, found)) if found else sure_of_absence,
            "count": len(found),
        }
        return _answer(answer | note, backend, found)

    def _found_or_none(self, image: SessionImage, text: str) -> tuple[list[Instance], float, str, dict[str, str]]:
        """What a text names; how sure it is that there is none; the backend that says so; a note where there is none.

        It is as sure as the least sure object in view, which would have to be it, or as the best match is unsure.

        Raises:
            ToolError: NOT_RECOGNISED where it cannot be said whether there is any.
        """
        try:
            answer = self._finder.find(image, text)
        except ToolError as error:
            if error.code is not ErrorCode.OBJECT_NOT_FOUND:
                raise
            sure = min(map(_confidence, self._finder.everything(image).value), default=1.0)
            return [], sure, error.backend or self._finder.backend, {"note": error.message}
        found = _confident(answer.value)
        best = max(map(_confidence, answer.value), default=0.0)
        note = {} if found else {"note": f"The best match has a score of {best:g}, below {SCORE_THRESHOLD:g}."}
        return found, round(1.0 - best, 3), answer.backend, note


def _proposals(image: SessionImage, answer: Answer[list[Instance]], **more: Any) -> ToolResult:
    found = _confident(answer.value)
    document = {"task": "segmentation", **more} | _listed("proposals", image, found)
    return _answer(document, answer.backend, found[:MAX_PROPOSALS])


def _answer(document: dict[str, Any], backend: str, found: Sequence[Instance] | None = None) -> ToolResult:
    masks = {} if found is None else {"masks": [instance.mask for instance in found]}
    return ToolResult(
        value=document | masks,
        text=f"{SUCCESS}\nResult: {json.dumps(document, ensure_ascii=False)}",
        backend=backend,
    )


def _names(question: str) -> list[str]:
    """The names in a caption such as "cat . dog .", without the words of a question.

    Raises:
        ToolError: INVALID_ARGUMENT for none or too many.
    """
    asked = [_ASKED.sub(r"\g<name>", part) for part in _NAMES.split(question) if part]
    names = list(dict.fromkeys(asked))
    if not 1 <= len(names) <= _MAX_NAMES:
        raise invalid(f"grounding_dino: argument 'question' must hold 1 to {_MAX_NAMES} names, got {len(names)}.")
    return names


def _confident(found: Sequence[Instance]) -> list[Instance]:
    return [instance for instance in found if instance.score >= SCORE_THRESHOLD]


def _confidence(instance: Instance | Detection) -> float:
    return round(float(instance.score), 3)


def _listed(key: str, image: SessionImage, found: Sequence[Instance]) -> dict[str, Any]:
    """The first instances as JSON data, and how many there are where not all are listed."""
    listed = {key: [_described(image, instance) for instance in found[:MAX_PROPOSALS]]}
    more = {"found": len(found)} if len(found) > MAX_PROPOSALS else {}
    return listed | more | ({"units": _UNITS} if found else {})


def _described(image: SessionImage, instance: Instance) -> dict[str, Any]:
    rows, columns = np.nonzero(instance.mask)
    width, height = image.size
    return {
        "bbox": boxed(*instance.box, image.size),
        "confidence": _confidence(instance),
        "area": round(len(rows) / (width * height) * SPACE**2),
        "centroid": [round((columns.mean() + 0.5) / width * SPACE), round((rows.mean() + 0.5) / height * SPACE)],
    }


def _nothing_in(box: FloatArray) -> ToolError:
    return ToolError(
        ErrorCode.EMPTY_MASK, f"There is no object in {show_box(box)}.", "auto_segment lists what there is."
    )
