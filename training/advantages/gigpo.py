"""Advantages of single turns: GiGPO, and OR-GIGPO of PERIA, which takes observations that are much alike for the same
one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray
from toolhand.training.advantages.grouping import DELTA, observation_groups
from toolhand.training.advantages.grpo import DDOF, EPSILON, grpo, grpo_by_group, members
from toolhand.training.advantages.steps import Anchor, ScoredRollout, ScoredTurn

OMEGA = 1.0
"""Weight of the turn's advantage beside the rollout's [-]; PERIA, Table 5."""
GAMMA = 0.99
"""Discount of a turn's return [-]; PERIA, Table 5."""

AnchorChoice = Literal["answered", "returned"]
"""Which observation a turn is compared by: the one that its call brought, as PERIA prints it, or the one that it
answered, which is the anchor state of GiGPO."""
PRINTED: AnchorChoice = "returned"
"""PERIA, section 4.3 and C.3."""


@dataclass(frozen=True, eq=False)
class TurnAdvantages:
    """Advantages of N rollouts with T_i turns each.

    Attributes:
        episode: A_E, (N,).
        turns: A_S, N arrays (T_i,).
        total: A_E + omega A_S, N arrays (T_i,).
        groups: Group of each turn, N arrays (T_i,), numbered over the whole batch.
    """

    episode: FloatArray
    turns: tuple[FloatArray, ...]
    total: tuple[FloatArray, ...]
    groups: tuple[NDArray[np.int64], ...]

    @property
    def share_of_credited_turns(self) -> float:
        """Share of turns with a turn's advantage, 0..1: 9.3 % with exact groups and 62.3 % with relaxed ones in
        PERIA, 5.2."""
        every = np.concatenate([*self.turns, np.zeros(0)])
        return float(np.mean(every != 0)) if len(every) else 0.0


def or_gigpo(
    rollouts: Sequence[ScoredRollout],
    delta: float | None = DELTA,
    omega: float = OMEGA,
    gamma: float = GAMMA,
    with_std: bool = True,
    epsilon: float = EPSILON,
    ddof: int = DDOF,
    anchor: AnchorChoice = PRINTED,
) -> TurnAdvantages:
    """A_t = A_E(tau) + omega A_S(a_t) (PERIA, section 4.3 and C.3).

    A_E compares the rewards of the rollouts of one prompt, each counted once however many turns it has. A_S compares
    the discounted returns of the turns of one prompt whose observations are the same (`observation_groups`); a turn
    that stands alone in its group has none, and neither has a rollout alone in its: 0, not its raw reward.

    Section 4.3 groups a_t by o_t, which by the history c_(t-1) = (..., o_(t-1)) is the observation that a_t brought;
    the last turn brings none and stands alone. `anchor="answered"` is a variant of this project: it compares the turns
    that answered the same observation, as GiGPO does (Feng et al. 2025), so by what they started from in place of what
    they led to.

    Args:
        rollouts: N, of any prompts in any order.
        delta: Likeness from which on texts are one observation; None for GiGPO, equal observations alone.
        omega: Weight of A_S.
        gamma: Discount, 0..1.
        with_std: Divide by the standard deviations, or only take the means away.
        epsilon: Added to each standard deviation.
        ddof: See `grpo`.
        anchor: Which observation turns are compared by, see above.

    Raises:
        ToolError: INVALID_ARGUMENT for a parameter out of range.
    """
    if not 0 <= gamma <= 1 or not np.isfinite(omega) or anchor not in ("answered", "returned"):
        raise invalid(
            f'gamma must be in 0..1, omega finite, anchor "answered" or "returned"; got {gamma}, {omega}, "{anchor}".'
        )
    prompts = [rollout.prompt for rollout in rollouts]
    episode = grpo_by_group([rollout.total for rollout in rollouts], prompts, with_std, epsilon, ddof)
    turns = [np.zeros(len(rollout.turns)) for rollout in rollouts]
    groups = [np.zeros(len(rollout.turns), dtype=np.int64) for rollout in rollouts]
    seen = 0
    for group in members(prompts):
        places = [(i, t) for i in group for t in range(len(rollouts[i].turns))]
        returns = np.concatenate([rollouts[i].returns(gamma) for i in group])
        labels = observation_groups([_anchor(rollouts[i].turns[t], (i, t), anchor) for i, t in places], delta)
        for same in members(labels.tolist()):
            for k, advantage in zip(same, grpo(returns[same], with_std, epsilon, ddof), strict=True):
                turns[places[k][0]][places[k][1]] = advantage
        for (i, t), label in zip(places, labels, strict=True):
            groups[i][t] = seen + label
        seen += int(labels.max()) + 1
    total = tuple(episode[i] + omega * values for i, values in enumerate(turns))
    return TurnAdvantages(episode, tuple(turns), total, tuple(groups))


def gigpo(
    rollouts: Sequence[ScoredRollout],
    omega: float = OMEGA,
    gamma: float = GAMMA,
    with_std: bool = True,
    epsilon: float = EPSILON,
    ddof: int = DDOF,
) -> TurnAdvantages:
    """GiGPO (Feng et al. 2025, as PERIA's section 4.3 describes it): equal observations alone, those
    that were answered."""
    return or_gigpo(rollouts, None, omega, gamma, with_std, epsilon, ddof, "answered")


def _anchor(turn: ScoredTurn, place: tuple[int, int], choice: AnchorChoice) -> Anchor:
    if choice == "answered":
        return turn.anchor
    return turn.returned or Anchor(f"nothing after turn {place}")
