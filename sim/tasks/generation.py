"""A task of a kind and a seed: the same bytes whatever other kinds there are.

A kind is a name in the group of entry points `toolhand.task`, with a function that makes a random task of it. Its
random numbers come from the seed and from its name, never from its place in a list, so that a further kind changes no
task of another one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.names import stream_of
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable

if TYPE_CHECKING:
    from toolhand.sim.tasks.task import Task

TASKS_VERSION = 3
"""Version of the task generator [-], noted with whatever was made of its tasks. It is raised when the same kind, seed
and split become another task: by another catalogue, other wordings, or another way to draw. Version 1 numbered kinds
by their place in a list; what notes no version was made by it."""

ATTEMPTS = 200
"""Draws for one task before giving up [-]; many times what any seed is known to need."""

_PARTS = ("text", "scene", "goal", "source", "holds_s", "score")
"""What a task has, see `toolhand.sim.tasks.task.Task`."""


def make_kind(kind: str, seed: int, split: str = "train") -> Task:
    """The task of a kind of the group `toolhand.task`; its module is imported now.

    Args:
        kind: Name of the entry point.
        seed: Decides everything, 0 or more.
        split: "train", "validation" or "test", for kinds that have splits.

    Raises:
        ToolError: As `toolhand.tool_nodes.registry.load` and `draw`.
    """
    return draw(kind, registry.load("task", kind), seed, split)


def draw(kind: str, make: Callable[..., Any], seed: int, split: str = "train") -> Any:
    """The first task that a function makes of the random numbers of a kind, seed and split.

    Args:
        kind: Name of the kind; decides the random numbers together with seed and split.
        make: Called with those of these that it has parameters for: `rng`, a generator of random numbers; `seed`;
            `split`; `fate`, a number in [0, 1) that stays the same over all attempts. It returns None where what it
            has drawn makes no task, and is called again.
        seed: 0 or more.

    Raises:
        ToolError: UNAVAILABLE where what is made is no task; INTERNAL if no task was found, which no seed of this
            project's kinds is known to do.
    """
    stream = [seed, stream_of(split), stream_of(kind)]
    # The answer is drawn first and once: what is hard to find a scene for would else be answered less often.
    fate = float(np.random.default_rng([*stream, 1]).random())
    offered = {"rng": np.random.default_rng([*stream, 0]), "seed": seed, "split": split, "fate": fate}
    asked = inspect.signature(make).parameters
    given = {name: value for name, value in offered.items() if name in asked}
    for _ in range(ATTEMPTS):
        task = make(**given)
        if task is not None:
            if missing := [part for part in _PARTS if not hasattr(task, part)]:
                raise unavailable(f"What the task {kind!r} makes is no task: it has no {missing[0]}.")
            return task
    raise ToolError(ErrorCode.INTERNAL, f"No task {kind} was found for seed {seed} of {split or 'all products'}.")
