"""What tools answer, in tokens: points as registers, errors by their codes, and whether a new picture came.

| answer to | tokens |
|---|---|
| any call that failed | its code, such as OBJECT_NOT_FOUND |
| LOOK | `[see]` for each of the 12 likeliest things, OK for its depth |
| POINT, ROOM | a register for each point, `SAME p1` after it where p1 of an earlier answer is at that place; EMPTY |
| | without one; MORE where there are more than registers |
| | after a POINT's register LIKE or UNLIKE, where the eyes can tell what it is on |
| TAKE, NEXT | OK for the outline, OK for the grasp; EMPTY where nothing came back |
| GRASP | HOLDS, and `[see]` twelve times for the new picture |
| PLACE | PLACED, UNVERIFIED where the tool did not see it there, and `[see]` twelve times for the new picture |

After an answer stands NOTE where the agent added something to it, LAST where that is that one turn is left.
"""

from __future__ import annotations

from dataclasses import dataclass

from agent_node.policies.scripted.transcript import PicturePoint, Response, read_response
from agent_node.policies.tiny import vocabulary as v
from agent_node.policy import Message
from agent_node.protocol import NOTE
from agent_node.recovery import LAST_TURN

_CAMERA = frozenset({"robot.capture_image", "robot.execute_grasp", "robot.place_object_at_2d_location"})
"""Tools whose picture is a new one of the camera; those of others are drawn over one that was seen."""
_POINTING = frozenset({"roborefer.detect_all", "roborefer.detect_one", "vlm.detect_all", "vlm.detect_one"})
_SUCCESS = {"robot.execute_grasp": v.HOLDS, "robot.place_object_at_2d_location": v.PLACED}


@dataclass(frozen=True)
class ToolAnswer:
    """One tool message.

    Attributes:
        tokens: Its tokens, without those of the picture and of points.
        points: Normalized points that a pointer gave.
        image_index: Index of a new picture of the camera; None where none came.
        notes: Tokens of what the agent added; they come last.
    """

    tokens: tuple[str, ...] = ()
    points: tuple[PicturePoint, ...] = ()
    image_index: int | None = None
    notes: tuple[str, ...] = ()


def observe(message: Message, tool: str) -> ToolAnswer:
    """What a tool message says.

    Args:
        message: The response.
        tool: Name of the tool that answered; empty where the whole turn was refused.
    """
    response = read_response(message)
    _, noted, note = f"\n{message.said}".partition(NOTE)
    notes = () if not noted else (v.LAST,) if LAST_TURN in note else (v.NOTE,)
    image = response.image_index if tool in _CAMERA else None
    points = response.points if tool in _POINTING else ()
    return ToolAnswer(_tokens(response, tool, bool(points)), points, image, notes)


def _tokens(response: Response, tool: str, points: bool) -> tuple[str, ...]:
    if response.error is not None:
        return (v.code_token(response.error),)
    if tool in _POINTING:
        return () if points else (v.EMPTY,)
    if not response.text or response.text.startswith(NOTE.strip()):
        return (v.EMPTY,)
    if tool == "robot.capture_image":
        return ()
    doubt = (v.UNVERIFIED,) if response.unverified else ()
    return (_SUCCESS.get(tool, v.OK), *doubt)
