"""Boxes around things that are named, for callers that want detections rather than points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tool_nodes.ports import Pointer, Segmenter
from tool_nodes.types import Frame


@dataclass(frozen=True)
class Detection:
    """One thing in a picture.

    Attributes:
        box: (left, top, right, bottom) [px], right and bottom exclusive.
        label: What was looked for.
        score: Predicted IoU of the thing's mask, in [0, 1].
    """

    box: tuple[int, int, int, int]
    label: str
    score: float


def detect_boxes(pointer: Pointer, segmenter: Segmenter, frame: Frame, text: str) -> list[Detection]:
    """Every match of a text, best first: what is pointed at is outlined, and the outline is framed.

    Raises:
        ToolError: What pointer and segmenter raise, e.g. OBJECT_NOT_FOUND.
    """
    found = [segmenter.segment(frame, [point])[0] for point in pointer.points(frame, text)]
    return [Detection(_bounds(one.mask), text, one.score) for one in found]


def _bounds(mask: np.ndarray) -> tuple[int, int, int, int]:
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def describe_detections(detections: Sequence[Detection], text: str) -> str:
    """What a language model reads about detections."""
    shown = ", ".join(str(list(one.box)) for one in detections)
    return f"Detected {len(detections)} box(es) of '{text}' as [left, top, right, bottom] in pixels: {shown}"
