"""Segmentation tools: `sam2.*`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolhand.tool_nodes.drawing import draw_mask, draw_points
from toolhand.tool_nodes.perception.prompts import segment_by
from toolhand.tool_nodes.ports import Segmenter
from toolhand.tool_nodes.results import ToolResult, invalid
from toolhand.tool_nodes.toolbox.arguments import ImageIndex, Points2D, UnitX, UnitY
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.toolbox import tool
from toolhand.tool_nodes.types import MOST_POINTS, BoolArray, GraspTarget, PointPrompt

_SHOWN_POINTS = 5
"""Most points outside of a mask that a text lists."""


class Sam2Tools:
    """Promptable segmentation by SAM 2, or by whichever backend stands behind the Segmenter port."""

    suite = "spacetools"

    def __init__(self, segmenter: Segmenter) -> None:
        self._segmenter = segmenter

    @tool(
        "sam2.segment_from_point",
        renamed={"image": "image_index"},
        makes=("segmentation_mask",),
        example=Example({"x": 0.349, "y": 0.545, "image_index": 0}),
    )
    def segment_from_point(self, x: UnitX, y: UnitY, image_index: ImageIndex) -> ToolResult:
        """Segment the object at a single image point.

        Args:
            x: Normalized x-coordinate in [0, 1], from the left.
            y: Normalized y-coordinate in [0, 1], from the top.
            image_index: Index of the image to segment.
        """
        found = segment_by(self._segmenter, image_index, PointPrompt([(x, y)]))
        best = found.value[0]
        h, w = best.mask.shape
        return ToolResult(
            value={"mask": best.mask, "iou_score": best.score},
            text=f"Segmented object at normalized coords ({x:.3f}, {y:.3f}) with IoU score: {best.score:.3f}. "
            f"Use $segmentation_mask (boolean array, {h}x{w}) to reference it.",
            image=draw_points(draw_mask(image_index.rgb, best.mask), [(x, y)]),
            variables={"segmentation_mask": best.mask},
            outlined=GraspTarget(best.mask, ((x, y),)),
            backend=found.backend,
        )

    @tool(
        "sam2.segment_from_points",
        renamed={"image": "image_index"},
        makes=("segmentation_mask",),
        example=Example({"points": [[0.349, 0.52], [0.349, 0.56]], "image_index": 0}),
    )
    def segment_from_points(self, points: Points2D, image_index: ImageIndex) -> ToolResult:
        """Segment one object using multiple foreground points.

        Args:
            points: List of normalized [x, y] points that all lie on the object.
            image_index: Index of the image to segment.
        """
        if not len(points):
            raise invalid("sam2.segment_from_points: argument 'points' is an empty list.")
        prompts = [(float(x), float(y)) for x, y in points]
        answer = segment_by(self._segmenter, image_index, PointPrompt(prompts))
        found = answer.value
        h, w = found[0].mask.shape
        return ToolResult(
            value={"mask": found[0].mask, "iou_scores": np.array([s.score for s in found])},
            text=f"Segmented object from {len(prompts)} point(s) with best IoU score: {found[0].score:.3f}. "
            f"{_outside(found[0].mask, prompts)}Use $segmentation_mask (boolean array, {h}x{w}) to reference it.",
            image=draw_points(draw_mask(image_index.rgb, found[0].mask), prompts),
            variables={"segmentation_mask": found[0].mask},
            outlined=GraspTarget(
                found[0].mask, tuple(point for point in prompts if _is_on(found[0].mask, point))[:MOST_POINTS]
            ),
            backend=answer.backend,
        )


def _is_on(mask: BoolArray, point: tuple[float, float]) -> bool:
    height, width = mask.shape
    return bool(mask[min(int(point[1] * height), height - 1), min(int(point[0] * width), width - 1)])


def _outside(mask: BoolArray, points: Sequence[tuple[float, float]]) -> str:
    """A sentence and a blank about normalized points that are not on a mask (H, W); empty where all are."""
    beside = [point for point in points if not _is_on(mask, point)]
    if not beside:
        return ""
    shown = ", ".join(f"({x:.3f}, {y:.3f})" for x, y in beside[:_SHOWN_POINTS])
    more = f" and {len(beside) - _SHOWN_POINTS} more" if len(beside) > _SHOWN_POINTS else ""
    lie = "lies" if len(beside) == 1 else "lie"
    return f"{len(beside)} of the {len(points)} points {lie} outside of it, on something else: {shown}{more}. "
