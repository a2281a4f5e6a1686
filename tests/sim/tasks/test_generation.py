"""Tasks that are drawn at random, in clutter too."""

import hashlib
import pickle
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.extensions.package import install
from toolhand.sim.scene.clutter import Clutter, clutter_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks import tasks as categories
from toolhand.sim.tasks.clutter import clutter_tasks
from toolhand.sim.tasks.generation import TASKS_VERSION, draw, make_kind
from toolhand.sim.tasks.pick import random_pick
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.relational_pick import RelationalPickTask
from toolhand.sim.tasks.task import Task
from toolhand.sim.tasks.tasks import GeneratedTask, random_task
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.recipes import RECIPES
from toolhand.training.tasks.kinds import MANIPULATION, QUESTIONS

# -- a task is decided by its kind, seed and split alone: further kinds change none of the others

KINDS = ("depth", "choice", "count", "size", "small_print", "pick")
SEEDS = range(3)


def written(task: Task) -> bytes:
    """All that a task holds, as bytes; a question's image is decided by its scene or its truth."""
    return pickle.dumps((task.text, task.scene, task.goal, getattr(task, "truth", None)))


@pytest.fixture
def further_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two kinds of somebody else, the first and the last in alphabetical order."""
    source = "def make(rng):\n    from toolhand.sim.tasks.pick import random_pick\n    return random_pick(rng)\n"
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


# -- tasks about objects in clutter: words that mean one object, of what is seen, whatever set it is of


@cache
def scene_of(kind: Clutter, seed: int, *sets: str) -> Scene:
    return clutter_scene(kind, seed, sets or ("generated",))


def tasks_of(scene: Scene, seed: int = 0, but: str = "") -> list[GeneratedTask]:
    return list(clutter_tasks(scene, seed, {placed.id for placed in scene.objects if placed.id != but}))


@pytest.mark.parametrize("kind", ["single", "packed", "lying"])
def test_each_object_is_called_by_a_colour_that_nothing_else_has(kind: Clutter) -> None:
    for seed in range(4):
        scene = scene_of(kind, seed)
        for task in tasks_of(scene, seed):
            (target,) = task.target_ids
            if isinstance(task, RelationalPickTask):
                assert "object" in task.text
                continue
            named = [target, *(task.reference_ids if isinstance(task, PlaceTask) else ())]
            for name in named:
                colour = scene.find(name).asset.colour
                assert f"the {colour} object" in task.text
                assert sum(sentences.could_mean(colour, placed.asset) for placed in scene.objects) == 1


def test_products_may_be_called_by_their_names() -> None:
    scenes = [scene_of("packed", seed, "catalogue") for seed in range(4)]
    asked = [(scene.find(task.target_ids[0]).item, task.text) for scene in scenes for task in tasks_of(scene)]
    assert asked
    assert any(item in load_catalogue() and item in text for item, text in asked)


def test_what_is_not_seen_well_is_not_asked_for() -> None:
    scene = scene_of("packed", 1)
    (task, *_) = tasks_of(scene)
    (target,) = task.target_ids
    others = tasks_of(scene, but=target)
    assert others
    for other in others:
        assert target not in other.target_ids
        assert not (isinstance(other, PlaceTask) and target in other.reference_ids)


def test_the_same_seed_asks_the_same_and_a_bin_is_neither_leftmost_nor_asked_for() -> None:
    scene = scene_of("bin", 0)
    first, again, other = tasks_of(scene, 1), tasks_of(scene, 1), tasks_of(scene, 2)
    assert first == again
    assert [task.text for task in first] != [task.text for task in other]
    assert not any(isinstance(task, RelationalPickTask) for task in first)
