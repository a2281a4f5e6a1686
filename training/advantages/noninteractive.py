"""The non-interactive baseline (SpaceTools, D.4): single turns of recorded conversations, no tool is executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.tool_nodes.types import FloatArray
from toolhand.training.advantages.grpo import DDOF, grpo
from toolhand.training.rewards.words import canonical_call


def call_reward(
    well_formed: bool,
    calls: Sequence[tuple[str, Mapping[str, Any]]],
    recorded: Sequence[tuple[str, Mapping[str, Any]]],
) -> float:
    """Eq. 4: 1 where the turn is well formed and its calls are exactly the recorded ones, else 0.

    Names and arguments are compared as JSON; several calls of one turn in their order. The last turn of a
    conversation calls
    nothing: its reward is that of its task.

    Args:
        well_formed: FormatCorrect, whether the turn is wrapped in the tags that are asked for.
        calls: Name and arguments of each call of the turn that was sampled.
        recorded: The same of the recorded turn.
    """
    sampled, known = ([canonical_call(*call) for call in turn] for turn in (calls, recorded))
    return float(well_formed and sampled == known)


def noninteractive(
    rewards: Sequence[Sequence[float]], with_std: bool = True, epsilon: float = 0.0, ddof: int = DDOF
) -> list[FloatArray]:
    """Advantages of turns that were sampled N times each from the same recorded history: each history is a group of
    `grpo`.

    A conversation of T turns is T such groups; nothing that a turn leads to counts for it.

    Args:
        rewards: For each recorded history, those of its samples.
        with_std: See `grpo`, also for epsilon and ddof.

    Returns:
        An array (N,) a history.
    """
    return [grpo(group, with_std, epsilon, ddof) for group in rewards]
