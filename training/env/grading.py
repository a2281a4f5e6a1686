"""How an episode becomes one number: a grader makes named reward terms, and a total, of the task's own score.

The task says what is true (`toolhand.sim.tasks.task.Score`); a grader says what it is worth, and may look at how it was
said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from toolhand.agent_node.episode import Episode
from toolhand.sim.tasks.stages import Stages
from toolhand.sim.tasks.task import Score, Task
from toolhand.tool_nodes.results import ErrorCode, ToolError


@dataclass(frozen=True)
class EpisodeScore:
    """What an episode is worth, and what is true.

    Attributes:
        total: Reward that a policy is trained by; finite.
        terms: Parts of the total, by name; finite.
        truth: The task's own score.

    Raises:
        ToolError: INTERNAL for a number that is not finite: such an episode has no reward.
    """

    total: float
    terms: Mapping[str, float]
    truth: Score

    @property
    def stages(self) -> Stages:
        """How far it came, see `toolhand.sim.tasks.stages`; empty where the task has none."""
        return self.truth.stages

    def __post_init__(self) -> None:
        wrong = [f"{name}={value}" for name, value in {"total": self.total, **self.terms}.items() if not _finite(value)]
        if wrong:
            raise ToolError(ErrorCode.INTERNAL, f"The numbers of a score are finite, not {', '.join(wrong)}.")


class Grader(Protocol):
    """Grades a scored episode; a function, or an object that can be called."""

    def __call__(self, task: Task, episode: Episode, truth: Score) -> EpisodeScore:
        """What an episode is worth.

        Args:
            episode: The complete conversation.
            truth: The task's own score.

        Raises:
            ToolError: INVALID_ARGUMENT for a task that it cannot grade.
        """


def mean_of_terms(task: Task, episode: Episode, truth: Score) -> EpisodeScore:
    """The mean of the terms of the task's own score, 0..1: 1/2 where one of two parts was done. 0 without terms."""
    terms = {name: float(value) for name, value in truth.terms.items()}
    return EpisodeScore(math.fsum(terms.values()) / len(terms) if terms else 0.0, terms, truth)


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
