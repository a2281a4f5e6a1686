"""What the simulator knows at each turn and the policy does not, for its critic alone (asymmetric actor-critic).

Whether a point lies on the thing that is meant decides most of what an episode still brings. A critic that knows it
does not take the luck of a pointer for the merit of a turn (Pinto et al. 2017, "Asymmetric Actor Critic for Image-Based
Robot Learning"). Nothing of it reaches the policy, in training or later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tool_nodes.types import FloatArray
from training.rewards.stages import WEIGHTS
from training.rollouts.labels import GRASP, OUTLINE, calls_with_things
from training.rollouts.record import CallEntry, RolloutRecord

PLACE, LOOK = "robot.place_object_at_2d_location", "robot.capture_image"
_POINTS = "detect_all"
"""What tools that point at things are called after their family and a dot."""


def truths(record: RolloutRecord) -> FloatArray:
    """(T, K) of 0 and 1 of a rollout, before each of its turns.

    | what | |
    |---|---|
    | the newest answer's first point | is on what is meant, or on something else |
    | some point since the newest picture | is on what is meant, or on something else |
    | the newest outline | is of what is meant, or of something else |
    | what the hand holds | is what is meant, or something else |
    | something else was picked up before | |
    | each stage, and all of them | was reached |
    """
    meant, known = frozenset(record.truth.get("meant", ())), _Known()
    rows = []
    ended: float | None = None
    for turn in record.turns:
        rows.append([*known.row(), *_reached(record.stages, ended)])
        for call, on in calls_with_things(turn):
            known.take(call, on, meant)
        ended = turn.ended_s
    return np.array(rows, np.float64)


def with_truths(minds: Sequence[NDArray[np.floating]], records: Sequence[RolloutRecord]) -> list[FloatArray]:
    """(T, D + K) of each rollout: what the policy had in mind before each turn (T, D), and what was true there."""
    return [np.hstack([mind, truths(record)]) for mind, record in zip(minds, records, strict=True)]


def _reached(stages: Mapping[str, float | None], ended: float | None) -> list[bool]:
    """Of each stage, and of all that the task has."""
    times = {name: stages.get(name) for name in WEIGHTS}
    found = [ended is not None and at is not None and at <= ended for at in times.values()]
    return [*found, bool(stages) and all(reached for reached, name in zip(found, times, strict=True) if name in stages)]


class _Known:
    """What is true of what was pointed at, outlined and held; each as (it is what is meant, it is something else)."""

    def __init__(self) -> None:
        self.first = self.some = self.outline = self.hand = (False, False)
        self.mistaken = False

    def row(self) -> list[bool]:
        """As of `truths`."""
        return [*self.first, *self.some, *self.outline, *self.hand, self.mistaken]

    def take(self, call: CallEntry, on: Sequence[str] | None, meant: frozenset[str]) -> None:
        """Go on by a call, and what its points lie on."""
        if not call.run or call.error_code is not None:
            return
        right = [thing in meant for thing in on or ()]
        if call.tool == LOOK:
            self.first = self.some = self.outline = (False, False)
        elif call.tool.endswith(_POINTS) and right:
            self.first = (right[0], not right[0])
            self.some = (self.some[0] or any(right), self.some[1] or not all(right))
        elif call.tool == OUTLINE and right:
            self.outline = (right[0], not right[0])
        elif call.tool == GRASP:
            self.hand = self.outline
            self.mistaken = self.mistaken or self.hand[1]
        elif call.tool == PLACE:
            self.hand = (False, False)
