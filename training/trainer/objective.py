"""One update of RL: how rollouts compare, and what the network makes of it, wherever the rollouts come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tool_nodes.results import invalid
from tool_nodes.types import FloatArray
from training.advantages.gigpo import or_gigpo
from training.advantages.grpo import EPSILON, grpo_by_group
from training.advantages.steps import ScoredRollout
from training.trainer.sequences import TokenSequence, even_batches
from training.trainer.settings import PolicySettings

if TYPE_CHECKING:
    from training.trainer.learner import Learner


def turn_advantages(
    rollouts: Sequence[ScoredRollout], settings: PolicySettings
) -> tuple[list[FloatArray], Mapping[str, float]]:
    """Advantages of each turn of each rollout, (T,) each, by GRPO or OR-GIGPO as the settings say.

    Args:
        rollouts: With a reward for each turn, where turns are compared.
        settings: Settings of the advantages.

    Returns:
        The advantages, and metrics by name: with OR-GIGPO "credited_turns", the share of turns with an advantage of
        their own.

    Raises:
        ToolError: As `training.advantages.gigpo.or_gigpo`.
    """
    if settings.advantages == "or_gigpo":
        compared = or_gigpo(
            rollouts, settings.delta, settings.omega, settings.gamma, settings.with_std, anchor=settings.anchor
        )
        return list(compared.total), {"credited_turns": compared.share_of_credited_turns}
    totals, prompts = [rollout.total for rollout in rollouts], [rollout.prompt for rollout in rollouts]
    whole = grpo_by_group(totals, prompts, settings.with_std, EPSILON)
    return [np.full(len(rollout.turns), value) for rollout, value in zip(rollouts, whole, strict=True)], {}


def update(
    learner: Learner,
    sequences: Sequence[TokenSequence],
    settings: PolicySettings,
    rng: np.random.Generator,
    rate: float = 1.0,
) -> dict[str, float]:
    """Learn from sequences with advantages; those without any are left out, as nothing is to be learned from them.

    Args:
        learner: Is changed.
        sequences: Conversations with log-probabilities of the policy that sampled.
        settings: Settings of the objective.
        rng: Decides the order.
        rate: Share of the highest learning rate.

    Returns:
        Means over the steps of the metrics of `Learner.reinforce`, "rows" that were learned from, "steps", and
        "logprob_diff": the mean difference of log-probabilities as they were sampled and as the learner computes them
        before the update [nat].

    Raises:
        ToolError: INTERNAL for a loss that is no number; INVALID_ARGUMENT for a difference above
            `settings.max_logprob_diff`: the sequences were not sampled by these weights, or read otherwise. Nothing was
            changed by that.
    """
    telling = [sequence for sequence in sequences if sequence.advantages.any()]
    if not telling:
        return {"rows": 0.0}
    difference = logprob_diff(learner, telling)
    if not difference <= settings.max_logprob_diff:
        raise invalid(
            f"The rows do not fit the weights: log-probabilities differ by {difference:.3g} a token on average, and "
            f"{settings.max_logprob_diff:g} is allowed.",
            "Were they sampled by another policy?",
        )
    steps: list[dict[str, float]] = []
    for some in chain.from_iterable(even_batches(telling, settings.batch, rng) for _ in range(settings.epochs)):
        steps.append(learner.reinforce(some, settings, rate))
        if steps[-1]["approx_kl"] > settings.target_kl:
            break
    means = {name: float(np.mean([step[name] for step in steps])) for name in steps[0] if name != "tokens"}
    return {**means, "rows": float(len(telling)), "steps": float(len(steps)), "logprob_diff": difference}


def logprob_diff(learner: Learner, sequences: Sequence[TokenSequence]) -> float:
    """Mean difference of a token's log-probability as it was sampled and as the learner computes it [nat]."""
    pairs = zip(sequences, learner.logprobs(sequences), strict=True)
    differences = [np.abs(sequence.logprobs - own)[sequence.sampled] for sequence, own in pairs]
    return float(np.concatenate(differences).mean())
