"""Whether the jaws still hold what they closed on: read until they are steady, since objects slip out slowly."""

from __future__ import annotations

from dataclasses import dataclass

from toolhand.tool_nodes.perception.hanging import Hanging
from toolhand.tool_nodes.perception.lifted import Lift
from toolhand.tool_nodes.ports import Arm
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import MotionStatus

EMPTY_OPENING = 0.002
"""Jaws closed further than this hold nothing [m]: twice what their reading errs by, which is a step of 0.4 mm, an error
of the zero point as large, and noise; walls of cups and bowls, and cards, are 3 mm thick or more."""

LOOK_S = 0.4
"""Between two readings of the jaws [s]: the shortest in which those that lose an object were seen to move."""
NARROWED_M = 0.0005
"""Jaws that closed by more than this in between are not steady [m]. What is held askew settles by less; the slowest
that was seen to slip out closed by 1.2 mm."""
CARRIED_M = 0.002
"""Closing of the jaws since the lift above which it is checked whether the object is still there [m]; a round
figure."""
LONGEST_S = 6.0
"""Longest time that the jaws are watched [s]: what slips is steady or out by then. One object that was out after
4 s still closed the jaws by 0.5 mm a look after 2.4 s."""


@dataclass(frozen=True)
class GripReading:
    """What the jaws hold: opening_m, the newest reading [m]; took_s, how long they were watched [s]."""

    opening_m: float
    took_s: float

    @property
    def empty(self) -> bool:
        """True if nothing is between the jaws."""
        return self.opening_m < EMPTY_OPENING


def steady_grip(arm: Arm) -> GripReading:
    """Watch closed jaws until two readings agree, or they are empty, or for LONGEST_S.

    Raises:
        ToolError: STOPPED.
    """
    opening, took_s = arm.state().opening_m, 0.0
    while opening >= EMPTY_OPENING and took_s < LONGEST_S:
        before = opening
        if arm.rest(LOOK_S).status is MotionStatus.STOPPED:
            raise ToolError(ErrorCode.STOPPED, "The arm was stopped while it looked what it holds.")
        opening, took_s = arm.state().opening_m, took_s + LOOK_S
        if opening > before - NARROWED_M:
            break
    return GripReading(opening, took_s)


def wrong_object(lift: Lift, hanging: Hanging, grip: GripReading) -> ToolError | None:
    """The error where the images say that what is held is not the target, or not it alone; else None.

    What is seen to hang in the hand says more than what is missing on the table.
    """
    held = f"the gripper holds an object {grip.opening_m:.3f} m wide"
    if hanging.alone:
        return None
    if hanging.beside is not None:
        what = f"More than the target was lifted: what was seen at {_at(hanging.beside)} hangs in the hand too; {held}."
    elif lift.stays is not None:
        what = f"Something else was lifted: the target still stands at {_at(lift.stays)}; {held}."
    elif lift.beside is not None:
        what = f"More than the target was lifted: what stood beside it at {_at(lift.beside)} is gone too; {held}."
    else:
        return None
    return ToolError(ErrorCode.WRONG_OBJECT, what, "Put it down where there is room, look again, and grasp anew.")


def _at(point: tuple[float, float]) -> str:
    return f"image point ({point[0]:.3f}, {point[1]:.3f})"
