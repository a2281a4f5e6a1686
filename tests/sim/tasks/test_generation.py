"""A task is decided by its kind, seed and split alone: further kinds change none of the others."""

from __future__ import annotations

import hashlib
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sim.tasks import tasks as categories
from sim.tasks.generation import TASKS_VERSION, draw, make_kind
from sim.tasks.pick import random_pick
from sim.tasks.task import Task
from sim.tasks.tasks import random_task
from tests.extensions.package import install
from tool_nodes import registry
from tool_nodes.results import ErrorCode, ToolError
from training.recipes import RECIPES
from training.tasks.kinds import MANIPULATION, QUESTIONS

KINDS = ("depth", "choice", "count", "size", "small_print", "pick")
SEEDS = range(3)


def written(task: Task) -> bytes:
    """All that a task holds, as bytes; a question's picture is decided by its scene or its truth."""
    return pickle.dumps((task.text, task.scene, task.goal, getattr(task, "truth", None)))


@pytest.fixture
def further_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two kinds of somebody else, the first and the last in alphabetical order."""
    source = "def make(rng):\n    from sim.tasks.pick import random_pick\n    return random_pick(rng)\n"
    entries = {"toolhand.task": {"a_first": "further_kinds:make", "zz_last": "further_kinds:make"}}
    monkeypatch.syspath_prepend(str(install(tmp_path, "further_kinds", source, entries).folder))
    yield
    registry._entries.cache_clear()
    sys.modules.pop("further_kinds", None)


def test_further_kinds_change_no_byte_of_the_others(request: pytest.FixtureRequest) -> None:
    before = {(kind, seed): written(make_kind(kind, seed)) for kind in KINDS for seed in SEEDS}
    mixed = {(name, seed): recipe.kind(seed) for name, recipe in RECIPES.items() for seed in range(200)}
    known = registry.names("task")
    request.getfixturevalue("further_kinds")
    registry._entries.cache_clear()
    assert set(registry.names("task")) - set(known) == {"a_first", "zz_last"}
    assert registry.names("task")[0] == "a_first"
    assert written(make_kind("a_first", 1)) != written(make_kind("zz_last", 1))
    assert {(kind, seed): written(make_kind(kind, seed)) for kind, seed in before} == before
    assert {(name, seed): RECIPES[name].kind(seed) for name, seed in mixed} == mixed


def test_a_further_category_changes_no_random_task(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(6)
    before = [written(random_task(seed)) for seed in seeds]
    further = {"a_first": random_pick, **categories._MAKERS, "zz_last": random_pick}
    monkeypatch.setattr(categories, "_MAKERS", further)
    monkeypatch.setattr(categories, "CATEGORIES", tuple(further))
    assert [written(random_task(seed)) for seed in seeds] == before


def test_splits_and_kinds_of_one_seed_have_random_numbers_of_their_own() -> None:
    def numbers(rng: np.random.Generator, seed: int, split: str, fate: float) -> Task:
        drawn.append((float(rng.random()), fate))
        return random_task(0)

    drawn: list[tuple[float, float]] = []
    for kind in ("one", "other"):
        for split in ("train", "test"):
            for seed in (0, 1, 2**63 - 1):
                draw(kind, numbers, seed, split)
    assert len(set(drawn)) == len(drawn) == 12
    draw("other", numbers, 2**63 - 1, "test")
    assert drawn[-1] == drawn[-2]


def test_what_is_no_task_is_told_in_a_sentence() -> None:
    with pytest.raises(ToolError, match="What the task 'bare' makes is no task: it has no text") as caught:
        draw("bare", lambda rng: object(), 0)
    assert caught.value.code is ErrorCode.UNAVAILABLE
    with pytest.raises(ToolError, match="No task never was found for seed 3 of train"):
        draw("never", lambda seed: None, 3)


def test_tasks_are_those_of_the_version_that_their_records_note() -> None:
    # Where this fails without a mistake, the tasks are others: raise TASKS_VERSION, and note its digest here.
    # Numbers to a tenth of a millimetre: their last bits are those of the processor, by whose kernels BLAS multiplies.
    told = hashlib.sha256()
    for task in (*(make_kind(kind, 4) for kind in (*MANIPULATION, *QUESTIONS, "view")), *map(random_task, range(3))):
        places = [(placed.item, np.round(placed.position_m, 4).tolist()) for placed in task.scene.objects]
        goal = re.sub(r"-?\d+\.\d+(e-\d+)?", lambda number: f"{round(float(number[0]), 4) + 0.0:.4f}", task.goal)
        told.update(f"{task.text}\n{goal}\n{places}\n".encode())
    assert (TASKS_VERSION, told.hexdigest()[:16]) == (3, "7939054593bf3640")
