"""A look at the table by fixed calls: where objects of some words stand, for plans that only an image can make."""

from __future__ import annotations

from collections.abc import Sequence

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.dialogue.fixed_calls import FixedCalls
from toolhand.agent_node.dialogue.measured import SeenBox, read_box
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policies.scripted.steps import Done, Script, ScriptPart, ScriptStep
from toolhand.agent_node.policies.scripted.transcript import Response
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.results import NOT_THERE, ErrorCode, ToolError
from toolhand.tool_nodes.types import ImagePoint

_AT_ONCE = 12
"""Most phrases of one turn [-]: a turn may have 16 calls."""
FREE_TABLE = "free table"
"""Words by which a pointer is asked for room on the table."""


def look(why: str, depth: bool = True) -> ScriptPart[Response]:
    """Take an image; the answer to it.

    Args:
        why: Thought of the turn.
        depth: With depth.

    Raises:
        Done: Nothing could be seen.
    """
    calls = (ToolCall("robot.capture_image", {}), ToolCall("robot.get_depth_with_pointcloud", {}))
    responses = yield ScriptStep(why, calls if depth else calls[:1])
    failed = next((response for response in responses if not response.ok), None)
    if failed is not None:
        raise Done("I cannot see the table.", f"{failed.error}: I could not look at the table: {failed.text}")
    return responses[0]


def boxes_at(points: Sequence[ImagePoint], image: int) -> ScriptPart[list[SeenBox | None]]:
    """The box about the object at each point; None where nothing could be measured."""
    seen = {"point_cloud": "$point_cloud", "mask": "$segmentation_mask", "focal_length_px": "$focal_length_px"}
    box = ToolCall("bounding_box.compute_bbox", seen)
    found: list[SeenBox | None] = []
    for k in range(0, len(points), _AT_ONCE // 2):
        calls: list[ToolCall] = []
        for x, y in points[k : k + _AT_ONCE // 2]:
            calls += (ToolCall("sam2.segment_from_point", {"x": x, "y": y, "image_index": image}), box)
        told = yield ScriptStep("I measure what stands there.", tuple(calls))
        pairs = zip(told[::2], told[1::2], strict=True)
        found += [read_box(boxed.text) if mask.ok and boxed.ok else None for mask, boxed in pairs]
    return found


class LookPolicy(FixedCalls):
    """Takes an image and points at everything that some words name. Nothing moves.

    Args:
        phrases: Noun phrases, or `FREE_TABLE`.
        protocol: Protocol that it writes.
    """

    def __init__(self, phrases: Sequence[str], protocol: Protocol) -> None:
        super().__init__("look", self._looking, protocol, on_the_way=True)
        self.phrases = tuple(phrases)

    def _looking(self) -> Script:
        seen = yield from look("I need to see what stands there: a picture with depth.")
        image = seen.image_index or 0
        for k in range(0, len(self.phrases), _AT_ONCE):
            asked = self.phrases[k : k + _AT_ONCE]
            yield ScriptStep("I look for what I need to know of.", tuple(_detect(each, image) for each in asked))
        raise Done("I have seen what I need for a plan.", "I have looked at the table.")


class MeasurePolicy(FixedCalls):
    """Takes an image and measures what stands at some points. Nothing moves.

    Args:
        points: Normalized points of the image.
        protocol: Protocol that it writes.
    """

    def __init__(self, points: Sequence[ImagePoint], protocol: Protocol) -> None:
        super().__init__("measure", self._measuring, protocol, on_the_way=True)
        self.points = tuple(points)

    def _measuring(self) -> Script:
        seen = yield from look("I need to know how large they are and where they stand.")
        yield from boxes_at(self.points, seen.image_index or 0)
        raise Done("I have measured.", "I have measured what stands there.")


def measured(episode: Episode, number: int) -> list[SeenBox | None]:
    """The box about the object at each of so many points; None where it could not be measured."""
    results = [
        (record.name, record.result)
        for record in episode.records
        if record.name in ("sam2.segment_from_point", "bounding_box.compute_bbox")
    ]
    pairs = zip(results[::2], results[1::2], strict=False)
    found = [read_box(boxed.text) if mask.ok and boxed.ok else None for (_, mask), (_, boxed) in pairs]
    return (found + [None] * number)[:number]


def _detect(phrase: str, image: int) -> ToolCall:
    which = "one" if phrase == FREE_TABLE else "all"
    return ToolCall(f"roborefer.detect_{which}", {"obj_name": phrase, "image_index": image})


def found(episode: Episode) -> dict[str, list[tuple[float, float]]]:
    """Normalized points of each phrase of a look, from left to right; none for a phrase that nothing fits.

    Raises:
        ToolError: The error with which the look ended, or that of a phrase that could not be looked for.
    """
    points: dict[str, list[tuple[float, float]]] = {}
    for record in episode.records:
        result = record.result
        if result.error is not None and result.error.code not in NOT_THERE:
            raise result.error
        if record.name.startswith("roborefer."):
            facts = result.facts.get("points") if result.ok else None
            points[str(record.arguments["obj_name"])] = sorted((float(x), float(y)) for x, y in facts or ())
    if not points:
        raise ToolError(episode.error_code or ErrorCode.INTERNAL, episode.answer or "I could not look at the table.")
    return points
