"""What the jaws hold follows what is measured of them, also where the program that moves them has begun anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from toolhand.tool_nodes.motion.grip import CARRIED_M, EMPTY_OPENING, steady_grip
from toolhand.tool_nodes.motion.moves import GuardedMoves
from toolhand.tool_nodes.motion.targets import HeldObject, held_object
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import ArmState, CollisionScene

LOST_OPENING = 0.012
"""Jaws that are further open than when they closed [m] have lost what they held."""
OPEN_SLACK = 0.003
"""Jaws that are measured within this of their full stroke are open, and hold nothing [m]: three times what a reading
errs by."""


class GuardedHolding(GuardedMoves):
    """What is held; arguments and errors as of `Manipulator`.

    Attributes:
        held: The object in the hand; None where the hand is empty.
    """

    held: HeldObject | None
    _jaws_known = False

    def meet_jaws(self, state: ArmState) -> str:
        """Let what is held follow a measurement of the jaws, between two motions.

        Jaws that were opened hold nothing any more. Jaws that this program has never moved, and that are neither open
        nor closed, are taken to hold an object, of which nothing is known but how wide it is: nothing opens them
        unasked. So a motion node that is started anew does not let fall what the one before it has grasped.

        Args:
            state: The arm, at rest.

        Returns:
            One sentence where that changed what is held; else "".
        """
        opening, known = state.opening_m, self._jaws_known
        self._jaws_known = True
        if self.held is not None:
            is_open = opening > self._gripper.max_opening - OPEN_SLACK
            if not is_open and opening <= self.held.opening_m + LOST_OPENING:
                return ""
            self.held = None
            return f"The jaws were measured {1000 * opening:.0f} mm open: they do not hold any more what they held."
        if known or not EMPTY_OPENING <= opening <= self._gripper.max_width:
            return ""
        self.held = held_object(np.empty((0, 3)), self._kinematics.fk(state.q), opening, self._gripper)
        return (
            f"The jaws were found {1000 * opening:.0f} mm open, neither open nor closed: they are taken to hold an "
            "object. It can be put down, handed over, or let go of with the gripper low."
        )

    def _has_lost(self) -> bool:
        """True, and nothing is held any more, if the jaws have closed on nothing; they are watched where they moved."""
        opening = self._arm.state().opening_m
        if self.held is not None and opening < self.held.opening_m - CARRIED_M:
            opening = steady_grip(self._arm).opening_m
        if self.held is None or opening >= EMPTY_OPENING:
            return False
        self.held = None
        return True

    def _carrying(self, scene: CollisionScene, held: HeldObject) -> CollisionScene:
        """The obstacles of a scene, with what is held in the hand."""
        opening = self._gripper.clipped(held.opening_m)
        return replace(scene, attached=(held.box,), opening_m=opening, yielding_m=0.0)

    @property
    def _called(self) -> str:
        return self.held.called or "thing" if self.held is not None else ""

    def _require_held(self, what: str) -> HeldObject:
        if self._has_lost():
            raise ToolError(ErrorCode.OBJECT_DROPPED, "The object is no longer between the jaws.", "Look again.")
        if self.held is None:
            raise ToolError(ErrorCode.NOT_HOLDING, f"The gripper holds nothing to {what}.", "Grasp an object first.")
        return self.held
