"""E-ViC's verifiability filter (4.1): a task is kept only where somebody is known to answer it.

Each candidate is tried by two models, 8 rollouts each, and kept where one rollout or more is correct; then the kinds
are balanced by stratified subsampling. The paper keeps the question alone, to learn from by RL; the rollout that
showed it to be answerable is kept with it here. The rest of the rollouts would not change the decision, so the first
that is right ends the search. Its two models are two policies here. Kinds are balanced beforehand: candidates are
drawn in turn."""

from __future__ import annotations

from collections.abc import Callable

from training.data.synthesis.attempts import Attempt

ROLLOUTS = 8
"""Rollouts of each policy for a candidate task; 4.1."""
POLICIES = 2
"""Policies that try it; 4.1."""

Try = Callable[[int, int], Attempt]
"""(policy, rollout) -> what came of it."""


def verifiable(tried: Try, policies: int = POLICIES, rollouts: int = ROLLOUTS) -> list[Attempt]:
    """The attempts up to the first that is right, which stands first; none is where the task is not verifiable.

    Args:
        tried: Lets a policy try the task; rollouts of one policy differ by their seeds.
        policies, rollouts: As of the paper.
    """
    found: list[Attempt] = []
    for rollout in range(rollouts):
        for policy in range(policies):
            made = tried(policy, rollout)
            if made.right:
                return [made, *found]
            found.append(made)
    return found
