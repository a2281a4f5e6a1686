"""What the jaws hold follows what is measured of them, also where the program that moves them has begun anew."""

from __future__ import annotations

import numpy as np

from toolhand.tool_nodes.motion.grip import EMPTY_OPENING
from toolhand.tool_nodes.motion.moves import GuardedMoves
from toolhand.tool_nodes.motion.targets import HeldObject, held_object
from toolhand.tool_nodes.types import ArmState

LOST_OPENING = 0.012
"""Jaws that are further open than when they closed [m] have lost what they held."""
OPEN_SLACK = 0.003
"""Jaws that are measured within this of their full stroke are open, and hold nothing [m]: three times what a reading
errs by."""


class GuardedHolding(GuardedMoves):
    """What is held; arguments and errors as of `Manipulator`."""

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
