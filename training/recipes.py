"""The recipes of four papers: which tasks, which tools, how turns are written, and what an episode is worth.

    recipe = recipe_named("dirl")
    task = recipe.task(seed=7)
    grade = recipe(task, episode, truth)       # a training.grading.Grader

A task's score has several rewards as terms; a recipe takes one of them for each kind, and adds what its paper adds for
the form of the conversation, as the paper's formula has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from agent_node.episode import Episode
from sim.tasks.task import Score, Task
from tool_nodes.results import ErrorCode, ToolError
from training.grading import Grade
from training.rewards import evic, last, peria, spacetools
from training.rewards.stages import stage_reward
from training.tasks.kinds import TrainingTask, make_task

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
        name: Of the recipe.
        paper: Where it is from.
        protocol: How its policy writes turns; a name of `agent_node.protocol.load_protocol`.
        suites: Whose tools its policy is offered.
        mix: Kind of task -> share of the tasks; the papers' own sets are larger, these are their kinds.
        rewards: Kind -> which term of the task's score is the task's reward.
        totals: What the form of the conversation adds.
        adds: Names of what `totals` adds.
    """

    name: str
    paper: str
    protocol: str
    suites: tuple[str, ...]
    mix: Mapping[str, float]
    rewards: Mapping[str, str]
    totals: Totals
    adds: tuple[str, ...]

    def task(self, seed: int, split: str = "train") -> TrainingTask:
        """A task of the mix; the seed decides its kind too. Raises ToolError as `training.tasks.kinds.make_task`."""
        return make_task(self.kind(seed), seed, split)

    def kind(self, seed: int) -> str:
        """Of the task of a seed."""
        kinds, shares = list(self.mix), np.array(list(self.mix.values()))
        rng = np.random.default_rng([abs(seed), _STREAM])
        return kinds[int(rng.choice(len(kinds), p=shares / shares.sum()))]

    def __call__(self, task: Task, episode: Episode, truth: Score) -> Grade:
        """See `training.grading.Grader`. Raises ToolError INVALID_ARGUMENT for a task of another kind."""
        kind = str(getattr(task, "kind", type(task).__name__))
        if kind not in self.rewards:
            kinds = ", ".join(self.rewards)
            raise ToolError(
                ErrorCode.INVALID_ARGUMENT,
                f"The recipe {self.name} has no reward for a task of kind {kind!r}, only for {kinds}.",
            )
        name = self.rewards[kind]
        correct = _stages(truth) if name == STAGES else float(truth.terms[name])
        total, added = self.totals(episode, correct, truth.success)
        return Grade(total, {name: correct, **added})


def _stages(truth: Score) -> float:
    return stage_reward(truth.stages) if truth.stages else 0.0


def _texts(episode: Episode) -> list[str]:
    """What the policy wrote, a text a turn."""
    return [turn.as_sampled.text for turn in episode.turns]


def _dirl(episode: Episode, correct: float, right: bool) -> tuple[float, Mapping[str, float]]:
    """C.2: R_acc + 0.3 R_format."""
    form = spacetools.format_score(_texts(episode), as_printed=False)
    return spacetools.with_format(correct, form), {"spacetools.format": form}


def _peria(episode: Episode, correct: float, right: bool) -> tuple[float, Mapping[str, float]]:
    """4.3: R_rep + R_format + R_correct, from -4 to 2."""
    text = "\n".join(_texts(episode))
    repeated, form = peria.repetition(text, len(episode.turns)), peria.format_reward(text)
    return peria.total(repeated, form, correct), {"peria.repetition": repeated, "peria.format": form}


def _evic(episode: Episode, correct: float, right: bool) -> tuple[float, Mapping[str, float]]:
    """Eq. 1 and E.7: (R_k + R_format) G - 0.05 for each failed call."""
    exchanges = [exchange for turn in episode.turns for exchange in turn.exchanges if exchange.call is not None]
    calls = [(str(e.call.name), e.call.arguments) for e in exchanges if e.call is not None]
    failed = sum(exchange.record is None or not exchange.record.result.ok for exchange in exchanges)
    form, gated = evic.format_reward(_texts(episode)), evic.gate(calls)
    added = {"evic.format": form, "evic.gate": gated, "failed_calls": evic.FAILED_CALL * failed}
    return evic.total(correct, form, gated, failed), added


def _last(episode: Episode, correct: float, right: bool) -> tuple[float, Mapping[str, float]]:
    """3.2: 0.3 r_format + r_correct + 0.3 r_tool."""
    form = last.format_reward("\n".join(_texts(episode)))
    tool = last.tool_reward([record.result.ok for record in episode.records], right)
    return last.total(form, correct, tool), {"last.format": form, "last.tool": tool}


RECIPES: dict[str, TrainingRecipe] = {
    recipe.name: recipe
    for recipe in (
        TrainingRecipe(
            name="dirl",
            paper="SpaceTools",
            protocol="spacetools",
            suites=("spacetools",),
            mix={
                "point": 2, "free_space": 2, "depth": 1, "yes_no": 1, "choice": 1, "box": 1, "pose": 1, "grasp": 1,
                "pick": 1, "relational_pick": 1, "pick_and_place": 1,
            },
            rewards={
                "point": "spacetools.nndc",
                "free_space": "spacetools.nsdh",
                "depth": "spacetools.choice",
                "yes_no": "spacetools.choice",
                "choice": "spacetools.choice",
                "box": "spacetools.mean_iou",
                "pose": "spacetools.pose_iou",
                "grasp": "spacetools.nnce",
                "pick": STAGES,
                "relational_pick": STAGES,
                "pick_and_place": STAGES,
            },
            totals=_dirl,
            adds=("spacetools.format",),
        ),
        TrainingRecipe(
            name="peria",
            paper="PERIA",
            protocol="peria",
            suites=("peria",),
            mix={"map_route": 2, "map_stations": 2, "small_print": 2, "count": 1, "yes_no": 1},
            rewards={
                "map_route": "peria.path",
                "map_stations": "peria.answer",
                "small_print": "peria.answer",
                "count": "peria.answer",
                "yes_no": "peria.answer",
            },
            totals=_peria,
            adds=("peria.repetition", "peria.format"),
        ),
        TrainingRecipe(
            name="evic",
            paper="E-ViC",
            protocol="evic",
            suites=("evic",),
            mix={
                "choice": 2, "depth": 1, "point": 2, "free_space": 2, "box": 1, "map_route": 1, "count": 1, "size": 1,
                "distance": 1, "small_print": 1,
            },
            rewards={
                "choice": "evic.choice",
                "depth": "evic.choice",
                "small_print": "evic.choice",
                "point": "evic.single_point",
                "free_space": "evic.region",
                "box": "evic.iou",
                "map_route": "evic.trajectory",
                "count": "evic.mra",
                "size": "evic.mra",
                "distance": "evic.mra",
            },
            totals=_evic,
            adds=("evic.format", "evic.gate", "failed_calls"),
        ),
        TrainingRecipe(
            name="last",
            paper="LAST",
            protocol="last",
            suites=("last",),
            mix={"depth": 1, "choice": 1, "count": 1, "size": 1, "distance": 1},
            rewards={
                "depth": "last.choice",
                "choice": "last.choice",
                "count": "last.number",
                "size": "last.number",
                "distance": "last.number",
            },
            totals=_last,
            adds=("last.format", "last.tool"),
        ),
    )
}  # fmt: skip
"""Every recipe by name. The papers' sets hold photographs; shares of the mixes are chosen by hand."""


def recipe_named(name: str) -> TrainingRecipe:
    """The recipe of this name.

    Raises:
        ToolError: INVALID_ARGUMENT for another one, with all names.
    """
    if name not in RECIPES:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"There is no recipe {name!r}, only {', '.join(RECIPES)}.")
    return RECIPES[name]
