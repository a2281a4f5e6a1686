"""The stages that `Manipulator` names, and how far along a motion is when each begins."""

from __future__ import annotations

from collections.abc import Mapping

SHARES: Mapping[str, float] = {
    "planning": 0.0,
    "waiting for approval": 0.05,
    "the return from where the arm was left": 0.05,
    # of a grasp
    "opening": 0.1,
    "the move to the pre-grasp": 0.15,
    "the approach": 0.4,
    "closing": 0.55,
    "the lift": 0.7,
    # of a placement
    "the move above the place": 0.1,
    "the descent": 0.45,
    "the release": 0.6,
    "the retreat": 0.7,
    # of a look
    "the move to the view": 0.15,
    "the look from the wrist": 0.5,
    # of a trial
    "the way up": 0.1,
    "the way back": 0.5,
    # of all
    "the return to the park position": 0.8,
    "the look at what was lifted": 0.95,
    "the look at the place": 0.95,
}
"""Share of the whole, 0 to 1."""
