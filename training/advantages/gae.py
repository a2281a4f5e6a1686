"""Advantages of single turns by a critic: GAE."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import FloatArray

GAE_LAMBDA = 1.0
"""How much of what comes after the next state is told by rewards instead of the critic [-]: 1 is the return less the
value, 0 the step's own surprise. Below 1 what the critic does not understand becomes a direction: with 0.5 and a linear
one the small policy learned to check less, see docs/learning.md; 0.95 is usual for critics that are networks."""


def gae(
    rewards: Sequence[float] | FloatArray,
    values: Sequence[float] | FloatArray,
    gamma: float = 1.0,
    gae_lambda: float = GAE_LAMBDA,
) -> FloatArray:
    """A_t = sum_k (gamma lambda)^k d_(t+k) with d_t = r_t + gamma V(s_(t+1)) - V(s_t) (Schulman et al. 2016, Eq. 16).

    The episode is over after the last turn, whatever ended it: V is 0 there.

    Args:
        rewards: (T,) of each turn of one rollout.
        values: (T,) V(s_t), the return that a critic expects before each turn.
        gamma: Discount, 0..1.
        gae_lambda: 0..1.

    Returns:
        (T,) float64.

    Raises:
        ToolError: INVALID_ARGUMENT for other lengths, numbers that are not finite, or parameters out of range.
    """
    told, expected = np.asarray(rewards, np.float64), np.asarray(values, np.float64)
    if told.ndim != 1 or told.shape != expected.shape or not np.isfinite([told, expected]).all():
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Rewards and values must be finite and as many of each.")
    if not (0 <= gamma <= 1 and 0 <= gae_lambda <= 1):
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"gamma and gae_lambda must be in 0..1, got {gamma} and {gae_lambda}."
        )
    surprises = told + gamma * np.append(expected[1:], 0.0)[: len(told)] - expected
    advantages = np.zeros(len(told))
    after = 0.0
    for t in reversed(range(len(told))):
        after = advantages[t] = surprises[t] + gamma * gae_lambda * after
    return advantages
