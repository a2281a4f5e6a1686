"""How a deed is taken back: the commands for it, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from toolhand.agent_node.dialogue.memory import DoneDeed, RobotMemory, at_point
from toolhand.tool_nodes.results import ErrorCode, ToolError


def last_deed(robot: RobotMemory) -> DoneDeed | None:
    """The newest deed that was done and not taken back."""
    return next((deed for deed in reversed(robot.deeds) if deed.success and not deed.undone), None)


def sequence_of(robot: RobotMemory) -> list[DoneDeed]:
    """The deeds of the plan that the last deed is a step of, the newest first; none where it was asked for by itself.

    A pick whose thing was then placed by a step of its own is taken back with that, and is none of them.
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


def taken_back(robot: RobotMemory) -> str:
    """The command that takes the last deed back.

    Raises:
        ToolError: INVALID_ARGUMENT where nothing was done, OBJECT_NOT_FOUND where it is not known where the thing stood
            or where it is.
    """
    deed = last_deed(robot)
    if deed is None:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "I remember nothing that I have done and could take back.")
    if deed.before is None:
        raise ToolError(
            ErrorCode.OBJECT_NOT_FOUND,
            f"I did not see where the {deed.thing} stood before, so I cannot put it back.",
            "Say where to put it.",
        )
    spot = f"on the free spot at {at_point(deed.before.point)}"
    if deed.action == "pick":
        return f"put it {spot}"
    if deed.after is None:
        raise ToolError(
            ErrorCode.OBJECT_NOT_FOUND,
            f"I do not know where the {deed.thing} is now, so I cannot take it back.",
            "Say what to pick up and where to put it.",
        )
    return f"put the {deed.thing} at {at_point(deed.after.point)} {spot}"


def put_back(robot: RobotMemory, thing: str = "") -> str:
    """The command that brings what is held, or a thing that was moved, to where it stood.

    Args:
        robot: The memory.
        thing: Plain name of the thing; empty for the one that is held or was moved last.

    Raises:
        ToolError: As `taken_back`.
    """
    deeds = [deed for deed in robot.deeds if deed.success and (not thing or deed.thing == thing)]
    if thing and not deeds:
        raise ToolError(
            ErrorCode.OBJECT_NOT_FOUND,
            f"I have not moved the {thing}, so I know no other place of it.",
            "Say where to put it.",
        )
    if not thing:
        return taken_back(robot)
    return taken_back(RobotMemory([replace(deeds[-1], undone=False)]))


def mark_undone(robot: RobotMemory) -> None:
    """Note that the last deed is taken back, and the pick that it began with where that was one of its own."""
    index = next(
        (k for k in reversed(range(len(robot.deeds))) if robot.deeds[k].success and not robot.deeds[k].undone), -1
    )
    if index < 0:
        return
    deed = robot.deeds[index]
    robot.deeds[index] = replace(deed, undone=True)
    before = robot.deeds[index - 1] if index else None
    lifted = before is not None and before.action == "pick" and before.success and before.thing == deed.thing
    if before is not None and lifted and deed.action == "place":
        robot.deeds[index - 1] = replace(before, undone=True)
