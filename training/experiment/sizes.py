"""How much of everything a run of the small experiment has, and where its tasks come from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from tool_nodes.results import invalid
from training.rollouts.plan import tasks_of

KINDS = ("pick", "relational_pick", "pick_and_place")
"""Kinds of tasks, in turn."""
RL_KINDS = ("pick_and_place", "pick", "pick_and_place", "relational_pick")
"""Those of RL: half of them of the kind that fails most often, whose groups are seldom all alike, and which begins with
a pick; RL teaches the mix that it is given, so that the others are not rarer."""
_SEEDS: Mapping[str, int] = {"careful": 0, "expert": 100_000, "rl": 300_000, "evaluation": 900_000}
"""First seed of the tasks of each use; they are never the same. The evaluation's are those of every seed and arm."""
_PER_SEED = 1_000_000
"""Seeds of tasks that one seed of the experiment has [-]."""


_ROWS = 8
"""Rows of the tables that one run measures [-]: two scripts by two pointers, SFT and RL sampled and greedy."""


@dataclass(frozen=True)
class Sizes:
    """How much a run does; the default takes about an hour on two cores.

    Attributes:
        label_scenes, label_steps: Stage 1's start: scenes with labels, and steps of 16 scenes.
        hit_scenes, hit_steps: Stage 1 itself: scenes with hits and misses as the only feedback, and steps.
        careful, expert: Teacher data: rollouts of the careful teacher and of the stage-1 expert.
        sft_wordings: Rows of each of them, the first as it was, the others with the command in other words.
        sft_epochs: Times that each row is seen.
        sft_sentences, sft_conversations: Rows of each epoch that practise copying, see `training.trainer.practice`.
        rl_iterations, rl_groups, rl_group: Stage 3: iterations, tasks of each, and rollouts of each task; SpaceTools
            has 5 of those, PERIA 4, E-ViC 16.
        evaluated: Episodes of each table's row.

    Raises:
        ToolError: INVALID_ARGUMENT for a number below what makes sense.
    """

    label_scenes: int = 100
    label_steps: int = 300
    hit_scenes: int = 1000
    hit_steps: int = 400
    careful: int = 400
    expert: int = 80
    sft_wordings: int = 3
    sft_epochs: int = 12
    sft_sentences: int = 6000
    sft_conversations: int = 400
    rl_iterations: int = 40
    rl_groups: int = 20
    rl_group: int = 8
    evaluated: int = 120

    @property
    def minutes(self) -> float:
        """How long a run with all stages takes on two quiet cores, from what each part took on an AMD EPYC [min]."""
        rollouts = self.rl_iterations * self.rl_groups * self.rl_group
        parts = (
            4.6 * self.hit_steps / 400,
            2.2 * (self.careful + self.expert) / 480,
            17.0 * self.sft_epochs / 12,
            37.0 * rollouts / 6400,
            _ROWS * 2.0 * self.evaluated / 400,
        )
        return sum(parts)

    def __post_init__(self) -> None:
        for entry in fields(self):
            least = 2 if entry.name in ("careful", "expert", "rl_group") else 1
            value = getattr(self, entry.name)
            if type(value) is not int or value < least:
                raise invalid(f"{entry.name} must be a whole number, {least} or more, got {value!r}.")

    def document(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


_UNSCALED = ("rl_group", "rl_groups", "sft_wordings", "sft_epochs")
"""Sizes that a factor leaves alone: steps stay as they are, and there are fewer."""
SMOKE = Sizes(4, 1, 4, 1, 2, 2, 1, 1, 4, 2, 1, 1, 2, 1)
"""The least that goes through every stage: what a test runs."""


def scaled(sizes: Sizes, scale: float, evaluated: int | None = None) -> Sizes:
    """All sizes but the epochs and what an iteration compares times a factor, but at least those of SMOKE.

    Args:
        sizes: Sizes of a whole run.
        scale: Above 0.
        evaluated: Instead of what comes of it.

    Raises:
        ToolError: INVALID_ARGUMENT for another factor.
    """
    if not (0 < scale < math.inf):
        raise invalid(f"The scale must be above 0, got {scale}.")
    numbers = {
        entry.name: max(getattr(SMOKE, entry.name), round(scale * getattr(sizes, entry.name)))
        for entry in fields(Sizes)
        if entry.name not in _UNSCALED
    }
    found = replace(sizes, **numbers)
    return found if evaluated is None else replace(found, evaluated=evaluated)


def tasks_for(use: str, seed: int, count: int) -> tuple[Mapping[str, Any], ...]:
    """Documents of `count` tasks for one use ("careful", "expert", "rl", "evaluation").

    Those of an evaluation are the same for every seed; all are of the training's products and wordings, in other
    positions.
    """
    first = _SEEDS[use] + (0 if use == "evaluation" else _PER_SEED * (seed + 1))
    return tasks_of(RL_KINDS if use == "rl" else KINDS, count, first)
