"""The scene camera's picture with what an operator points at marked in it, for policies that look at pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolhand.agent_node.dialogue.memory import at_point
from toolhand.agent_node.pointed import PointedPoint
from toolhand.tool_nodes.drawing import draw_numbers, draw_points
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.types import Frame


def pointed_picture(
    sentence: str, pointed: Sequence[PointedPoint], capture: Callable[[], Frame]
) -> tuple[list[SessionImage], str]:
    """The marked picture and a sentence about it; nothing and no words where a command names none of the points.

    Args:
        sentence: The command, with its points in words: "pick up the thing at (0.412, 0.530)".
        pointed: Points of the scene camera's picture, in order.
        capture: Takes that picture.

    Raises:
        ToolError: As `capture`.
    """
    meant = dict.fromkeys(each.point for each in pointed if each.point is not None and at_point(each.point) in sentence)
    points = list(meant)
    if not points:
        return [], ""
    frame = capture()
    marked = draw_numbers(draw_points(frame.rgb, points), points)
    listed = ", ".join(f"{k} at {at_point(point)}" for k, point in enumerate(points, 1))
    return (
        [SessionImage(frame.rgb, frame).redrawn(marked)],
        f"The scene camera's picture; what the operator points at is marked: {listed}.",
    )
