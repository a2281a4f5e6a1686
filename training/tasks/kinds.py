"""Tasks by kind, seed and split: made, written down in a line, and made again from it.

    task = make_task("distance", seed=7, split="train")
    document = task_document(task)          # {"kind": "distance", "seed": 7, "split": "train"}
    assert task_from_document(document) == task

A kind and a seed decide everything; the same seed of another split is another task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tool_nodes.results import ErrorCode, ToolError
from training.tasks import boxes, maps, measures, pointing, prints, relations
from training.tasks.manipulation import MANIPULATION, ManipulationTask
from training.tasks.question import QuestionTask
from training.tasks.splits import SPLITS, Split, split_named

TrainingTask = QuestionTask | ManipulationTask
"""Both fulfil `sim.tasks.task.Task`."""

QUESTIONS: dict[str, Callable[[np.random.Generator, int, Split, float], QuestionTask | None]] = {
    "point": pointing.make_point,
    "free_space": pointing.make_free_space,
    "depth": measures.make_depth,
    "count": measures.make_count,
    "box": boxes.make_box,
    "pose": boxes.make_pose,
    "grasp": boxes.make_grasp,
    "size": measures.make_size,
    "distance": measures.make_distance,
    "yes_no": relations.make_yes_no,
    "choice": relations.make_choice,
    "map_route": maps.make_route,
    "map_stations": maps.make_stations,
    "small_print": prints.make_small_print,
}
"""Kinds of questions, with what makes them."""

TASK_KINDS: tuple[str, ...] = (*MANIPULATION, *QUESTIONS)
"""Every kind."""

MOST_SEED = 2**63 - 1
"""Largest seed [-]: what a record can hold."""
_ATTEMPTS = 200
"""Draws for one task before giving up [-]; chosen by hand, many times what any seed is known to need."""
_KEYS = frozenset({"kind", "seed", "split"})


def make_task(kind: str, seed: int, split: str = "train") -> TrainingTask:
    """The task of a kind, seed and split.

    Args:
        kind: One of TASK_KINDS.
        seed: Decides everything, 0 or more.
        split: "train", "validation" or "test": they share no product that is asked for, no layout and no wording.

    Raises:
        ToolError: INVALID_ARGUMENT for another kind, seed or split; INTERNAL if no task was found, which no seed is
            known to do.
    """
    if kind not in TASK_KINDS:
        raise _invalid(f"There is no task kind {kind!r}, only {', '.join(TASK_KINDS)}.")
    if type(seed) is not int or not 0 <= seed <= MOST_SEED:
        raise _invalid(f"The seed of a task must be a whole number from 0 to {MOST_SEED}, got {seed!r}.")
    chosen = split_named(split)
    stream = [seed, SPLITS.index(chosen), TASK_KINDS.index(kind)]
    # The answer is drawn first and once: what is hard to find a scene for would else be answered less often.
    fate = float(np.random.default_rng([*stream, 1]).random())
    rng = np.random.default_rng([*stream, 0])
    make: Callable[..., TrainingTask | None] = MANIPULATION[kind] if kind in MANIPULATION else QUESTIONS[kind]
    for _ in range(_ATTEMPTS):
        task = make(rng, seed, chosen, fate)
        if task is not None:
            return task
    raise ToolError(ErrorCode.INTERNAL, f"No task {kind} was found for seed {seed} of {chosen}.")


def task_document(task: TrainingTask) -> dict[str, Any]:
    """What stands for a task in records."""
    return {"kind": task.kind, "seed": task.seed, "split": task.split}


def task_from_document(document: Mapping[str, Any]) -> TrainingTask:
    """The task that a document stands for.

    Raises:
        ToolError: INVALID_ARGUMENT for a document of other keys, and as `make_task`.
    """
    if not isinstance(document, Mapping) or set(document) != _KEYS:
        raise _invalid("A task's document has exactly the keys kind, seed and split.")
    return make_task(document["kind"], document["seed"], document["split"])


def _invalid(message: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, message)
