"""One attempt at a task: a policy in an environment, to the end, with the task's own score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_node.episode import Episode
from agent_node.policy import Policy
from sim.tasks.task import Score, Task
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError
from training.environment import Environment


@dataclass(frozen=True)
class Attempt:
    """What came of one attempt.

    Attributes:
        task: What was to be done.
        episode: What was said and done; None where it could not even begin.
        truth: The task's own score; None where an infrastructure error left none.
        labels: How it was made, for its record.
        trouble: The infrastructure error in one sentence, or empty.
    """

    task: Task
    episode: Episode | None
    truth: Score | None
    labels: Mapping[str, Any] = field(default_factory=dict)
    trouble: str = ""

    @property
    def right(self) -> bool:
        """The task's own score says that all is as it should be."""
        return self.truth is not None and self.truth.success


def attempt(environment: Environment, task: Task, policy: Policy, seed: int, rollout: int = 0, **labels: Any) -> Attempt:
    """Let a policy try a task from its beginning to its end.

    Args:
        environment: Where; it is reset.
        task: What is to be done.
        policy: Who does it.
        seed, rollout: As of `Environment.reset`.
        labels: Of the attempt.

    Raises:
        ToolError: What the policy raises; infrastructure errors of the tools are `trouble` instead.
    """
    return finished(environment, task, lambda: _played(environment, task, policy, seed, rollout), labels)


def finished(environment: Environment, task: Task, play: Callable[[], None], labels: Mapping[str, Any]) -> Attempt:
    """The attempt that `play` makes of the environment's next episode; infrastructure errors become its trouble."""
    try:
        play()
    except ToolError as error:
        if error.code not in INFRASTRUCTURE_ERRORS:
            raise
        return Attempt(task, None, None, labels, f"{error.code}: {error}")
    return Attempt(task, environment.episode, environment.score, labels)


def _played(environment: Environment, task: Task, policy: Policy, seed: int, rollout: int) -> None:
    observation, done = environment.reset(task, seed, rollout), False
    while not done:
        observation, _, done = environment.step(policy.respond(observation))
