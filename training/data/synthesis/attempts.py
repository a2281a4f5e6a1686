"""One attempt at a task: a policy in a session, to the end, with the task's own score."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from toolhand.agent_node.agent import next_turn
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.policy import Policy
from toolhand.sim.tasks.task import Task
from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError
from toolhand.training.env.environment import Environment
from toolhand.training.env.grading import EpisodeScore
from toolhand.training.env.session import EpisodeSession, ScoredEpisode


@dataclass(frozen=True)
class Attempt:
    """What came of one attempt.

    Attributes:
        scored: The episode and its score; None where an infrastructure error left none.
        labels: How it was made, for its record.
        trouble: The infrastructure error in one sentence, or empty.
    """

    task: Task
    scored: ScoredEpisode | None
    labels: Mapping[str, Any] = field(default_factory=dict)
    trouble: str = ""

    @property
    def episode(self) -> Episode | None:
        """What was said and done."""
        return None if self.scored is None else self.scored.episode

    @property
    def score(self) -> EpisodeScore | None:
        """The task's own score, graded."""
        return None if self.scored is None else self.scored.score

    @property
    def right(self) -> bool:
        """The task's own score says that all is as it should be."""
        return self.score is not None and self.score.truth.success


def attempt(
    environment: Environment,
    task: Task,
    policy: Policy,
    seed: int,
    rollout: int = 0,
    labels: Mapping[str, Any] = MappingProxyType({}),
) -> Attempt:
    """Let a policy try a task from its beginning to its end.

    Args:
        seed, rollout: Seed and rollout number, see `Environment.open`.

    Raises:
        ToolError: What the policy raises; infrastructure errors of the tools are `trouble` instead.
    """
    return played(task, lambda: _to_the_end(environment.open(task, seed, rollout), policy), labels)


def played(task: Task, play: Callable[[], EpisodeSession], labels: Mapping[str, Any]) -> Attempt:
    """The attempt that `play` makes, which gives its session when all is said; the session is closed then."""
    try:
        with play() as session:
            return Attempt(task, session.scored(), labels)
    except ToolError as error:
        if error.code not in INFRASTRUCTURE_ERRORS:
            raise
        return Attempt(task, None, labels, trouble=f"{error.code}: {error}")


def _to_the_end(session: EpisodeSession, policy: Policy) -> EpisodeSession:
    try:
        while not session.done:
            session.say(next_turn(policy, session.messages()))
    except BaseException:
        session.close()
        raise
    return session
