"""The tool that finds a free place in relation to objects that were pointed at, by what the camera measures."""

from __future__ import annotations

from collections.abc import Sequence

from toolhand.tool_nodes.drawing import draw_points
from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.perception.free_space import check_place, find_free_space
from toolhand.tool_nodes.perception.masks import inner_point
from toolhand.tool_nodes.perception.prompts import Outlines
from toolhand.tool_nodes.place_argument import PlaceInImage
from toolhand.tool_nodes.ports import Segmenter
from toolhand.tool_nodes.results import ToolResult
from toolhand.tool_nodes.toolbox.arguments import NewestPoint2DOrNone
from toolhand.tool_nodes.toolbox.example import Example
from toolhand.tool_nodes.toolbox.images import SessionImage
from toolhand.tool_nodes.toolbox.toolbox import InSession, tool
from toolhand.tool_nodes.tools.spacetools.robot import CameraTools
from toolhand.tool_nodes.types import BoolArray, Frame


class FindPlaceTool:
    """Finds free places, on the table, in containers and on top of objects.

    The fact `points` has the place, normalized.

    Args:
        segmenter: Outlines the objects at the points.
        robot: The robot's own tools, which look.
        printed: Whether prompts list the tool.
    """

    suite = "clearing"

    def __init__(self, segmenter: Segmenter, robot: CameraTools, printed: bool = True) -> None:
        self.printed = printed
        self._segmenter, self._robot = segmenter, robot

    @tool(
        "robot.find_place",
        timeout_s=None,
        example=Example(
            {"place": {"relation": "left_of", "references": [{"name": "salt", "points": [[0.349, 0.545]]}]}},
            before=("robot.capture_image",),
        ),
    )
    def find_place(self, place: PlaceInImage, session: InSession, item: NewestPoint2DOrNone = None) -> ToolResult:
        """Find a free place to put something down, by points of the newest scene image. Nothing moves.

        Args:
            place: Where it is to be. Left, right, front and back are those of the image; front is near.
            item: Normalized [x, y] on what is to go there while it stands on the table: its size is heeded, and it
                is in the way of nothing.
        """
        request = place.request
        check_place(request, [len(points) for points in place.points])
        frame = self._robot.last_seen(session)
        image = SessionImage(frame.rgb, frame)
        at_item = None if item is None else (float(item[0]), float(item[1]))
        outlines = Outlines(self._segmenter, image)
        own = None if at_item is None else outlines.at(at_item)
        masks = [[outlines.at(at) for at in points] for points in place.points]
        named = _named(frame, request.all_references, masks, outlines.everything())
        x, y = find_free_space(frame, request, masks, named=[each for each in named if each[1] is not own], item=own)
        shown = draw_points(frame.rgb, [(x, y)])
        return ToolResult(
            [x, y],
            f"There is room at ({x:.3f}, {y:.3f}).",
            shown,
            source=image.redrawn(shown),
            backend=outlines.backend,
            facts={"points": [(round(x, 3), round(y, 3))]},
        )


def _named(
    frame: Frame, names: Sequence[str], masks: Sequence[Sequence[BoolArray]], others: Sequence[BoolArray]
) -> list[tuple[str, BoolArray]]:
    """Pixels (H, W) of what stands on the table with names for it, so that an error can say what is in the way."""
    known = [(name, mask) for name, group in zip(names, masks, strict=True) for mask in group]
    for mask in others:
        x, y = inner_point(mask)
        u, v = pixel((x, y), frame.size)
        if not any(own[v, u] for _, own in known):
            known.append((f"object at ({x:.2f}, {y:.2f})", mask))
    return known
