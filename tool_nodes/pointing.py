"""Pointing tools: `roborefer.*` and `vlm.*` (point1 and point2 of the SpaceTools appendix B.5)."""

from __future__ import annotations

import re

from tool_nodes.drawing import draw_points
from tool_nodes.kinds import ImageIndex, SessionImage, Text
from tool_nodes.ports import Pointer
from tool_nodes.results import ToolResult
from tool_nodes.toolbox import tool


def _show(points: list[tuple[float, float]]) -> str:
    return ", ".join(f"({x:.3f}, {y:.3f})" for x, y in points)


def variable_name(obj_name: str) -> str:
    """The name as a `$variable` can carry it: blanks, and whatever else no variable may have, become underscores."""
    return re.sub(r"^(?=\d)|\W", "_", obj_name)


class _PointingTools:
    def __init__(self, pointer: Pointer) -> None:
        self._pointer = pointer

    def _detect(self, obj_name: str, image: SessionImage, only_one: bool) -> ToolResult:
        points = self._pointer.points(image.require_frame(), obj_name)
        points = [(round(x, 3), round(y, 3)) for x, y in (points[:1] if only_one else points)]
        suffix = "detection" if only_one else "detections"
        return ToolResult(
            value=str(points[0]) if only_one else str(points),
            text=f"Detected {len(points)} instance(s) of '{obj_name}': [{_show(points)}]",
            image=draw_points(image.rgb, points),
            variables={f"{variable_name(obj_name)}_{suffix}": points[0] if only_one else points},
        )


class RoboReferTools(_PointingTools):
    """Pointing by RoboRefer, or by whichever backend stands behind the Pointer port."""

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
    """Pointing by a general VLM (Molmo), or by whichever backend stands behind the Pointer port."""

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
