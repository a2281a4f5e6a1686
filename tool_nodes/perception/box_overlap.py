"""Boxes that overlap: (left, top, right, bottom) [px], right and bottom exclusive."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolhand.tool_nodes.types import BoolArray

PixelBox = tuple[int, int, int, int]
"""(left, top, right, bottom) [px]."""

AnyBox = PixelBox | tuple[float, float, float, float]


def box_iou(a: AnyBox, b: AnyBox) -> float:
    """Area that two boxes share over the area that they cover together, in [0, 1]."""
    shared = max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


def not_suppressed(boxes: Sequence[PixelBox], scores: Sequence[float], limit: float) -> list[int]:
    """Greedy non-maximum suppression: indices of the boxes that overlap no better one by more than a limit of IoU.

    Args:
        boxes, scores: In one order.
        limit: IoU in [0, 1] above which the worse box is dropped, whatever its label.

    Returns:
        Indices, best score first; of equal scores the earlier box.
    """
    kept: list[int] = []
    for k in sorted(range(len(boxes)), key=lambda k: -scores[k]):
        if all(box_iou(boxes[k], boxes[other]) <= limit for other in kept):
            kept.append(k)
    return kept


def inside_box(mask: BoolArray, box: PixelBox) -> tuple[BoolArray, float]:
    """The part of a mask (H, W) inside a box, and its share of the mask's area in [0, 1]; the mask is not empty."""
    left, top, right, bottom = box
    part = np.zeros_like(mask)
    part[top:bottom, left:right] = mask[top:bottom, left:right]
    return part, float(np.count_nonzero(part) / np.count_nonzero(mask))
