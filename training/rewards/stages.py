"""Partial credit for how far a manipulation came, from measured stages. Ours, of no paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from training.rewards.shapes import wrong

WEIGHTS: Mapping[str, float] = {
    "hand_at_target": 1.0,
    "jaws_touch_target": 1.0,
    "held": 2.0,
    "lifted": 2.0,
    "carried": 1.0,
    "above_place": 2.0,
    "let_go": 1.0,
    "at_rest": 1.0,
    "relation_true": 4.0,
    "nothing_else_moved": 2.0,
}
"""Share of each stage before they are divided by their sum [-]; chosen by hand: what the task is for weighs most."""

ONLY_AFTER = {"at_rest": "let_go", "relation_true": "let_go", "nothing_else_moved": "held"}
"""Stages that may be true before anything was done, and the stage without which they count for nothing."""


class _Truth(Protocol):
    """A bool, or a measured stage that is as good as one."""

    def __bool__(self) -> bool: ...


def stage_reward(reached: Mapping[str, _Truth], weights: Mapping[str, float] = WEIGHTS) -> float:
    """Weighted share of a task's stages that were reached, 0..1: 1 for all of them, 0 for doing nothing.

    A stage that can be true without any deed counts only after the stage of `ONLY_AFTER`, if the task has that one:
    else standing still would be paid for moving nothing.

    Args:
        reached: Stage -> whether it was; exactly the stages that the task has, such as `Score.stages`. A pick has no
            "above_place".
        weights: Stage -> weight, 0 or more; a stage of the task without one is an error.

    Raises:
        ToolError: INVALID_ARGUMENT for no stage, an unknown one, or weights that are negative, not finite or all 0.
    """
    unknown = sorted(set(reached) - set(weights))
    if unknown or not reached:
        found = f"unknown: {', '.join(unknown)}" if unknown else "none was given"
        raise wrong(f"Stages must be of {', '.join(weights)}; {found}.")
    own = np.array([weights[stage] for stage in reached])
    if not (np.isfinite(own).all() and (own >= 0).all() and own.sum() > 0):
        raise wrong("Weights of stages must be finite, 0 or more, and not all 0.")
    counts = [bool(done) and bool(reached.get(ONLY_AFTER.get(stage, stage), True)) for stage, done in reached.items()]
    return 1.0 if all(counts) else float(own[counts].sum() / own.sum())
