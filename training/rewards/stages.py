"""Partial credit for how far a manipulation came, from measured stages. Ours, of no paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from toolhand.tool_nodes.types import FloatArray
from toolhand.training.rewards.shapes import wrong

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
"""Share of each stage before they are divided by their sum [-]: what the task is for weighs most."""

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
    counts = [_counts(reached, stage) for stage in reached]
    return 1.0 if all(counts) else float(own[counts].sum() / own.sum())


def stage_credit(
    first_at_s: Mapping[str, float | None], turn_ends_s: Sequence[float], weights: Mapping[str, float] = WEIGHTS
) -> FloatArray:
    """What each turn brought of `stage_reward`: the share of the stages that were first reached in it. Ours.

    What only the end shows has the time of the end, which no turn reaches: it belongs to the last turn that let time
    pass, since nothing was moved after it. So a turn that only looks or talks has no share.

    Args:
        first_at_s: Stage -> simulated time when it was first reached [s], None where it was not; as of `stage_reward`.
        turn_ends_s: (T,) simulated time when each turn was over [s], T 1 or more, finite, never falling.
        weights: Weights of the stages, see `stage_reward`.

    Returns:
        (T,), 0 or more, whose sum is `stage_reward`.

    Raises:
        ToolError: INVALID_ARGUMENT for times that are none, and as `stage_reward`.
    """
    ends = np.asarray(turn_ends_s, dtype=np.float64)
    if ends.ndim != 1 or not len(ends) or not np.isfinite(ends).all() or (np.diff(ends) < 0).any():
        raise wrong("Times of turns must be one or more finite numbers that never fall.")
    reached = {stage: at is not None for stage, at in first_at_s.items()}
    total = stage_reward(reached, weights)
    last_that_moved = int(np.argmax(ends == ends[-1]))
    credit = np.zeros(len(ends))
    for stage, at in first_at_s.items():
        if at is not None and _counts(reached, stage):
            credit[min(int(np.searchsorted(ends, at)), last_that_moved)] += weights[stage]
    return credit * (total / credit.sum()) if credit.any() else credit


def _counts(reached: Mapping[str, _Truth], stage: str) -> bool:
    """Reached, and not before the deed that it needs."""
    return bool(reached[stage]) and bool(reached.get(ONLY_AFTER.get(stage, stage), True))
