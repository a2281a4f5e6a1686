"""What DAPO adds to GRPO (Yu et al. 2025; its clipping in PERIA's Table 5), and how losses of tokens become one
number."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import BoolArray, FloatArray
from toolhand.training.advantages.grpo import members

CLIP = 0.2
"""Epsilon_clip of GRPO and OR-GIGPO, and epsilon_low of DAPO [-]; PERIA, Table 5; E-ViC, section 4.2."""
CLIP_HIGH = 0.28
"""Epsilon_high of DAPO [-]; PERIA, Table 5."""


def informative(rewards: Sequence[float] | FloatArray, groups: Sequence[Hashable]) -> BoolArray:
    """Dynamic sampling: which of N rollouts are in a group whose rewards differ; DAPO draws the others again.

    With rewards of 0 and 1 that is 0 < number of right answers < size of the group. A group of one never differs.

    Args:
        rewards: (N,), finite.
        groups: (N,), what is equal within a group.

    Returns:
        (N,) bool.
    """
    values = np.asarray(rewards, dtype=np.float64)
    if len(values) != len(groups) or not np.isfinite(values).all():
        raise invalid("Each rollout needs one finite reward and one group.")
    kept = np.zeros(len(values), dtype=bool)
    for indices in members(groups):
        kept[indices] = np.ptp(values[indices]) > 0
    return kept


def clipped(ratio: FloatArray, advantage: FloatArray, low: float = CLIP, high: float = CLIP) -> FloatArray:
    """min(rho A, clip(rho, 1 - low, 1 + high) A), to be maximized, elementwise (SpaceTools Eq. 2, E-ViC Eq. 4, LAST
    Eq. 5).

    DAPO clips higher: `high=CLIP_HIGH` lets unlikely tokens with a positive advantage grow further.

    Misprint: SpaceTools' Eq. 2 has rho = pi / pi_ref, the model after stage 1; GRPO's, and that of the other papers,
    is pi / pi_old, the policy that sampled. The caller decides with `ratio`; pi_old is right.

    Args:
        ratio: rho, 0 or more, any shape.
        advantage: A, of the same shape or one that broadcasts.
        low: Epsilon below 1, 0..1.
        high: Epsilon above 1, 0 or more.
    """
    if not 0 <= low <= 1 or not high >= 0:
        raise invalid(f"low must be in 0..1 and high 0 or more, got {low} and {high}.")
    return np.minimum(ratio * advantage, np.clip(ratio, 1 - low, 1 + high) * advantage)


def mean_of_tokens(values: Sequence[FloatArray], masks: Sequence[BoolArray]) -> float:
    """DAPO: the mean over all of the policy's tokens of the batch; long rollouts weigh by their length.

    Args:
        values: N arrays (L_i,).
        masks: N arrays (L_i,), True on the policy's tokens.

    Returns:
        0 where no token is the policy's.
    """
    tokens = sum(int(mask.sum()) for mask in _paired(values, masks))
    return _sum(values, masks) / tokens if tokens else 0.0


def mean_of_rollouts(values: Sequence[FloatArray], masks: Sequence[BoolArray]) -> float:
    """GRPO as it was first written: the mean over rollouts of each one's mean; tokens of long rollouts weigh less.

    A rollout without a token of the policy counts as 0. Arguments as in `mean_of_tokens`.
    """
    means = [float(v[m].mean()) if m.any() else 0.0 for v, m in zip(values, _paired(values, masks), strict=True)]
    return float(np.mean(means)) if means else 0.0


def sum_by_rollouts(values: Sequence[FloatArray], masks: Sequence[BoolArray]) -> float:
    """E-ViC's Eq. 4: the sum over all of the policy's steps or tokens by the number of rollouts.

    PERIA's objective (section 4.3) divides further by T, as though all rollouts had the same number of turns.
    Arguments as in `mean_of_tokens`.
    """
    return _sum(values, masks) / len(values) if values else 0.0


def _paired(values: Sequence[FloatArray], masks: Sequence[BoolArray]) -> Sequence[BoolArray]:
    if [v.shape for v in values] != [m.shape for m in masks]:
        raise invalid("Each rollout needs a mask as long as its values.")
    return masks


def _sum(values: Sequence[FloatArray], masks: Sequence[BoolArray]) -> float:
    return float(sum(v[m].sum() for v, m in zip(values, _paired(values, masks), strict=True)))
