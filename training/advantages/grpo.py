"""Advantages of whole rollouts within their group: GRPO."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

EPSILON = 1e-6
"""Epsilon_adv, added to the standard deviation [reward]; PERIA, Table 5. SpaceTools' Eq. 1 and E-ViC's Eq. 3 have
none."""
DDOF = 1
"""Degrees of freedom taken from N in the standard deviation: the papers do not say; their trainers take torch's, N -
1."""


def grpo(
    rewards: Sequence[float] | FloatArray, with_std: bool = True, epsilon: float = 0.0, ddof: int = DDOF
) -> FloatArray:
    """A_i = (r_i - mean) / (std + epsilon) of one group (SpaceTools, Eq. 1; E-ViC, Eq. 3; LAST, section 3.2).

    A group whose rewards are all equal says nothing about which was better: all its advantages are 0, not 0 / 0. The
    same holds for a group of one, whose standard deviation does not exist.

    Args:
        rewards: (N,), all finite.
        with_std: Divide by the standard deviation; without it, groups that hardly differ weigh as little as they
            differ.
        epsilon: Added to the standard deviation, 0 or more.
        ddof: 1 for the sample's standard deviation, by N - 1; 0 for the population's.

    Returns:
        (N,) float64, of mean 0.

    Raises:
        ToolError: INVALID_ARGUMENT for rewards that are not finite, another ddof or a negative epsilon.
    """
    values = np.asarray(rewards, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise invalid("Rewards of a group must be a list of finite numbers.")
    if ddof not in (0, 1) or not epsilon >= 0:
        message = f"ddof must be 0 or 1 and epsilon 0 or more, got {ddof} and {epsilon}."
        raise invalid(message)
    if len(values) < 2 or np.ptp(values) == 0:
        return np.zeros(len(values))
    centred = values - values.mean()
    if not with_std:
        return centred
    deviation = float(values.std(ddof=ddof)) + epsilon
    return centred / deviation if deviation > 0 else np.zeros(len(values))


def members(groups: Sequence[Hashable]) -> list[list[int]]:
    """Indices of each group, in order of first appearance."""
    found: dict[Hashable, list[int]] = {}
    for k, group in enumerate(groups):
        found.setdefault(group, []).append(k)
    return list(found.values())


def grpo_by_group(
    rewards: Sequence[float] | FloatArray,
    groups: Sequence[Hashable],
    with_std: bool = True,
    epsilon: float = 0.0,
    ddof: int = DDOF,
) -> FloatArray:
    """`grpo` within each group of a batch.

    Args:
        rewards: (N,).
        groups: (N,), what is equal within a group and nowhere else.
        with_std: See `grpo`, also for epsilon and ddof.

    Returns:
        (N,) in the order of `rewards`.
    """
    values = np.asarray(rewards, dtype=np.float64)
    if len(values) != len(groups):
        raise invalid(f"{len(values)} rewards cannot belong to {len(groups)} groups.")
    advantages = np.zeros(len(values))
    for indices in members(groups):
        advantages[indices] = grpo(values[indices], with_std, epsilon, ddof)
    return advantages
