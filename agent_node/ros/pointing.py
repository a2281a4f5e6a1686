"""Points that operators have pointed at, and candidates of questions, as messages."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from toolhand_interfaces.msg import PointedAt
from vision_msgs.msg import Point2D

from agent_node.dialogue.memory import Choice
from agent_node.pointed import LONGEST_LABEL, MOST_POINTS, PointedPoint
from tool_nodes.results import invalid
from tool_nodes.ros.messages import nanoseconds, time_message


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
