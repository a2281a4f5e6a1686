"""Points that operators have pointed at, and candidates of questions, as messages."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

from toolhand_interfaces.msg import PointedAt
from vision_msgs.msg import Point2D

from agent_node.dialogue.memory import Choice, at_point
from agent_node.pointed import LONGEST_LABEL, MOST_POINTS, PointedPoint
from tool_nodes.motion.scene_change import changed_around
from tool_nodes.results import ErrorCode, ToolError, invalid
from tool_nodes.ros.link import RosLink
from tool_nodes.ros.messages import nanoseconds, time_message
from tool_nodes.ros.remote import RemoteCamera
from tool_nodes.types import Frame

_MOST_NOTED = 2 * MOST_POINTS
"""Points whose picture is kept [-]: those of a sentence that waits, and of the next; 2 MB each."""


def point_message(point: PointedPoint) -> Any:
    """The PointedAt of a point; (NaN, NaN) where it stands nowhere in a picture."""
    x, y = (math.nan, math.nan) if point.point is None else point.point
    stamp = time_message(point.stamp_ns)
    return PointedAt(camera=point.camera, stamp=stamp, point=Point2D(x=x, y=y), label=point.label)


def points_of(messages: Sequence[Any], most: int = MOST_POINTS) -> tuple[PointedPoint, ...]:
    """The points of PointedAt messages.

    Args:
        messages: The messages.
        most: Most of them that are taken.

    Raises:
        ToolError: INVALID_ARGUMENT for too many, a point outside the picture, or names that are too long.
    """
    if len(messages) > most:
        raise invalid(f"At most {most} points go with a sentence, got {len(messages)}.")
    return tuple(
        PointedPoint((each.point.x, each.point.y), each.camera, nanoseconds(each.stamp), each.label)
        for each in messages
    )


def candidates_of(messages: Sequence[Any]) -> tuple[PointedPoint, ...]:
    """The candidates of PointedAt messages; those of a picture have a point. Raises ToolError as `points_of`."""
    return tuple(
        PointedPoint(None, label=each.label) if math.isnan(each.point.x) else points_of([each])[0] for each in messages
    )


def candidate_messages(choices: Iterable[Choice]) -> list[Any]:
    """The PointedAt messages of what a question lets choose from, in the scene camera's picture."""
    return [point_message(PointedPoint(each.point, label=each.words[:LONGEST_LABEL])) for each in choices]


class PointWatch:
    """Knows whether the scene around a point that somebody has pointed at is still the one that they saw.

    Args:
        link: Takes part in the graph.
    """

    def __init__(self, link: RosLink) -> None:
        self._camera = RemoteCamera(link.node, link.deadlines)
        self._lock = threading.Lock()
        self._noted: OrderedDict[tuple[int, tuple[float, float] | None], Frame] = OrderedDict()

    def note(self, pointed: PointedPoint) -> None:
        """Keep how the scene looks now, just after somebody has pointed at it; nothing where no picture comes."""
        try:
            frame = self._camera.capture()
        except ToolError:
            return  # there is nothing to compare with later; grasping proves itself what it has grasped
        with self._lock:
            self._noted[pointed.stamp_ns, pointed.point] = frame
            while len(self._noted) > _MOST_NOTED:
                self._noted.popitem(last=False)

    def changed(self, pointed: PointedPoint) -> bool:
        """Whether the scene around a noted point looks otherwise now; False where that cannot be known."""
        with self._lock:
            before = self._noted.get((pointed.stamp_ns, pointed.point))
        if before is None or pointed.point is None:
            return False
        try:
            return changed_around(before, self._camera.capture(), pointed.point)
        except ToolError:
            return False

    def require_unchanged(self, pointed: Sequence[PointedPoint]) -> None:
        """Raises ToolError AMBIGUOUS with a question where the scene around one of some noted points has changed."""
        moved = [each.point for each in pointed if self.changed(each)]
        if moved and moved[0] is not None:
            where = at_point(moved[0])
            raise ToolError(
                ErrorCode.AMBIGUOUS,
                f"The picture around {where} has changed since you pointed at it: will you point again?",
            )
