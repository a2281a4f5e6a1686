"""Tasks by kind, seed and split: made, written down in a line, and made again from it.

    document = task_document("distance", seed=7)    # {"kind": "distance", "seed": 7, "split": "train", "version": 2}
    task = task_from_document(document)             # make_task("distance", 7, "train")

A kind and a seed decide everything; the same seed of another split is another task. Kinds are the entry points of the
group `toolhand.task`, this project's in `pyproject.toml` like anybody's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolhand.sim.tasks.generation import TASKS_VERSION, make_kind
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.results import invalid
from toolhand.training.tasks.splits import split_named

if TYPE_CHECKING:
    from toolhand.sim.tasks.task import Task

MANIPULATION = ("pick", "relational_pick", "pick_and_place")
"""This project's kinds that the arm carries out."""

QUESTIONS = (
    "point",
    "free_space",
    "depth",
    "count",
    "box",
    "pose",
    "grasp",
    "size",
    "distance",
    "yes_no",
    "choice",
    "map_route",
    "map_stations",
    "small_print",
)
"""This project's kinds of questions about a table or a drawing."""

TASK_KINDS = (*MANIPULATION, *QUESTIONS)
"""This project's kinds of both."""

MOST_SEED = 2**63 - 1
"""Largest seed [-]: what a record can hold."""

_KEYS = frozenset({"kind", "seed", "split", "version"})


def make_task(kind: str, seed: int, split: str = "train") -> Task:
    """The task of a kind, seed and split.

    Args:
        kind: Name in the group `toolhand.task`.
        seed: Decides everything, 0 or more.
        split: "train", "validation" or "test": they share no product that is asked for, no layout and no wording.

    Raises:
        ToolError: INVALID_ARGUMENT for another kind, seed or split; UNAVAILABLE for a kind whose module cannot be
            imported; INTERNAL if no task was found, which no seed is known to do.
    """
    check_task(task_document(kind, seed, split))
    return make_kind(kind, seed, split)


def task_document(kind: str, seed: int, split: str = "train") -> dict[str, Any]:
    """What stands for a task in plans and records; nothing is checked."""
    return {"kind": kind, "seed": seed, "split": split, "version": TASKS_VERSION}


def task_from_document(document: Mapping[str, Any]) -> Task:
    """The task that a document stands for. Raises ToolError as `check_task` and `make_task`."""
    check_task(document)
    return make_kind(document["kind"], document["seed"], document["split"])


def check_task(document: Mapping[str, Any]) -> None:
    """Refuse what stands for no task of this version; no task is made, which takes 0.1 s, and no module imported.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    if not isinstance(document, Mapping) or not _KEYS - {"version"} <= set(document) <= _KEYS:
        raise invalid("A task's document has exactly the keys kind, seed, split and version.")
    if why := other_version(document):
        raise invalid(why, "The record can be read; the task cannot be made again.")
    kind, seed, split = document["kind"], document["seed"], document["split"]
    if not isinstance(kind, str):
        raise invalid(f"The kind of a task must be a text, not {str(kind)[:60]!r}.")
    registry.find("task", kind)
    if type(seed) is not int or not 0 <= seed <= MOST_SEED:
        raise invalid(f"The seed of a task must be a whole number from 0 to {MOST_SEED}, got {str(seed)[:60]!r}.")
    if not isinstance(split, str):
        raise invalid(f"The split of a task must be a text, not {str(split)[:60]!r}.")
    split_named(split)


def other_version(document: Mapping[str, Any]) -> str:
    """A sentence about a task of another version of the generator, 1 where none is noted; "" for one of this."""
    noted = document.get("version", 1)
    if noted == TASKS_VERSION:
        return ""
    return f"The task is of version {str(noted)[:20]} of the task generator; version {TASKS_VERSION} makes other tasks."
