"""How a deed is taken back: the act for it, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from toolhand.agent_node.dialogue.naming import called
from toolhand.agent_node.memory import DoneDeed, RobotMemory, last_deed, mark_undone, to_take_back
from toolhand.agent_node.plan.types import ObjectRef, PlacePart, PlanAct
from toolhand.tool_nodes.results import ErrorCode, ToolError


def sequence_of(robot: RobotMemory) -> list[DoneDeed]:
    """The deeds of the plan that the last deed is a step of, the newest first; none where it was asked for by itself.

    A pick whose object was then placed by a step of its own is taken back with that, and is none of them.
    """
    last = last_deed(robot)
    if last is None or not last.sequence:
        return []
    rest, deeds = RobotMemory(list(robot.deeds)), []
    while (deed := last_deed(rest)) is not None and deed.sequence == last.sequence:
        deeds.append(deed)
        mark_undone(rest)
    return deeds if len(deeds) > 1 else []


def require_known(deeds: Sequence[DoneDeed]) -> None:
    """Raise ToolError as `taken_back` for a deed that cannot be taken back."""
    for deed in deeds:
        taken_back(RobotMemory([deed]))


def taken_back(robot: RobotMemory) -> PlanAct:
    """The act that takes the last deed back. Raises ToolError as `to_take_back`."""
    deed, before, now = to_take_back(robot)
    ref = ObjectRef("it") if now is None else called(deed.object, now.point)
    return PlanAct("put", (ref,), (PlacePart("point", point=before.point),))


def put_back(robot: RobotMemory, obj: str = "") -> PlanAct:
    """The act that brings what is held, or an object that was moved, to where it stood.

    Args:
        robot: The memory.
        obj: Plain name of the object; empty for the one that is held or was moved last.

    Raises:
        ToolError: As `taken_back`.
    """
    deeds = [deed for deed in robot.deeds if deed.success and (not obj or deed.object == obj)]
    if obj and not deeds:
        raise ToolError(
            ErrorCode.OBJECT_NOT_FOUND,
            f"I have not moved the {obj}, so I know no other place of it.",
            "Say where to put it.",
        )
    if not obj:
        return taken_back(robot)
    return taken_back(RobotMemory([replace(deeds[-1], undone=False)]))
