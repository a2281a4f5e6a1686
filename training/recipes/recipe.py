"""What a recipe is: tasks, tools and form of a paper, what an episode is worth, and how the paper trains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from toolhand.agent_node.episode import Episode
from toolhand.sim.tasks.task import Score, Task
from toolhand.tool_nodes.results import invalid
from toolhand.training.env.grading import EpisodeScore
from toolhand.training.recipes.stages import PaperTraining
from toolhand.training.rewards.stages import stage_reward
from toolhand.training.tasks.kinds import make_task

Totals = Callable[[Episode, float, bool], tuple[float, Mapping[str, float]]]
"""(episode, the task's own reward, whether its answer is right) -> (total, further terms by name of REWARDS)."""

STAGES = "stages"
"""The reward of what the arm carries out: the stages that it came to. Ours; no paper has one."""
_STREAM = 16
"""Keeps these random numbers apart from others of the same seed."""


@dataclass(frozen=True)
class TrainingRecipe:
    """How a paper trains.

    Attributes:
        protocol: How its policy writes turns; a name of `toolhand.agent_node.protocol.load_protocol`.
        suites: Suites of tools that its policy is offered.
        kinds: Kind of task -> (share of the tasks, which term of the task's score is its reward); the papers' own sets
            are larger, these are their kinds.
        totals: Additions to the reward for the form of the conversation.
        adds: Names of what `totals` adds.
        training: The paper's stages with their numbers.
    """

    name: str
    paper: str
    protocol: str
    suites: tuple[str, ...]
    kinds: Mapping[str, tuple[float, str]]
    totals: Totals
    adds: tuple[str, ...]
    training: PaperTraining

    def task(self, seed: int, split: str = "train") -> Task:
        """A task of the mix; the seed decides its kind too. Raises ToolError as
        `toolhand.training.tasks.kinds.make_task`."""
        return make_task(self.kind(seed), seed, split)

    def kind(self, seed: int) -> str:
        """Of the task of a seed."""
        kinds, shares = list(self.kinds), np.array([share for share, _ in self.kinds.values()])
        rng = np.random.default_rng([abs(seed), _STREAM])
        return kinds[int(rng.choice(len(kinds), p=shares / shares.sum()))]

    def __call__(self, task: Task, episode: Episode, truth: Score) -> EpisodeScore:
        """See `toolhand.training.env.grading.Grader`. Raises ToolError INVALID_ARGUMENT for a task of another kind."""
        kind = str(getattr(task, "kind", type(task).__name__))
        if kind not in self.kinds:
            kinds = ", ".join(self.kinds)
            raise invalid(f"The recipe {self.name} has no reward for a task of kind {kind!r}, only for {kinds}.")
        _, name = self.kinds[kind]
        correct = _stages(truth) if name == STAGES else float(truth.terms[name])
        total, added = self.totals(episode, correct, truth.success)
        return EpisodeScore(total, {name: correct, **added}, truth)


def texts_of(episode: Episode) -> list[str]:
    """What the policy wrote, a text a turn."""
    return [turn.as_sampled.text for turn in episode.turns]


def _stages(truth: Score) -> float:
    return stage_reward(truth.stages) if truth.stages else 0.0
