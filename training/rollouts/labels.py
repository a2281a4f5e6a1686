"""What the points that a policy got and used truly lay on: labels of turns, by the ids of the images.

    turn.labels["objects"] == [None, ["red box 1", "can 2"], ["can 2"]]

One entry a call: for a pointing tool the object under each of its points, for an outline the object under the point
that it was asked for, "" for bare table; None for all other calls, failed ones, and images without a known truth.
No policy sees them; `toolhand.training.rollouts.measures` counts with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolhand.agent_node.episode import Exchange
from toolhand.training.env.session import EpisodeSession
from toolhand.training.rollouts.plain_parts import OBJECTS
from toolhand.training.rollouts.record import CallEntry, TurnRecord

OUTLINE = "sam2.segment_from_point"
"""The tool whose argument is the point that a grasp will be for."""
GRASP = "robot.execute_grasp"
"""The tool that takes hold of what was outlined."""


def objects_of(session: EpisodeSession) -> list[Mapping[str, Any]]:
    """Labels of each turn of an episode."""
    found: list[Mapping[str, Any]] = []
    for turn in session.episode.turns:
        calls = [exchange for exchange in turn.exchanges if exchange.call is not None]
        found.append({OBJECTS: [_objects(session, exchange) for exchange in calls]})
    return found


def calls_with_objects(turn: TurnRecord) -> Iterator[tuple[CallEntry, Sequence[str] | None]]:
    """Each call of a turn with its entry of the labels, None where there are none."""
    return zip(turn.calls, turn.labels.get(OBJECTS) or [None] * len(turn.calls), strict=True)


def _objects(session: EpisodeSession, exchange: Exchange) -> list[str] | None:
    call, record = exchange.call, exchange.record
    if call is None or record is None or not isinstance(call.arguments, Mapping):
        return None
    points = record.result.facts.get("points")
    if points is None and call.name == OUTLINE:
        points = [(call.arguments.get("x"), call.arguments.get("y"))]
    index = call.arguments.get("image_index")
    if points is None or type(index) is not int:
        return None
    if not all(isinstance(value, int | float) for point in points for value in point):
        return None
    objects = session.object_ids_at(index, points)
    return None if objects is None else list(objects)
