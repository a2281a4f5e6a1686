"""Tasks about things in clutter: words that mean one thing, of what is seen, whatever set it is of."""

from __future__ import annotations

from functools import cache

import pytest

from sim.scene.clutter import Clutter, clutter_scene
from sim.scene.scenes import Scene
from sim.tasks import sentences
from sim.tasks.clutter import clutter_tasks
from sim.tasks.place import PlaceTask
from sim.tasks.relational_pick import RelationalPickTask
from sim.tasks.tasks import GeneratedTask
from tool_nodes.catalogue import load_catalogue


@cache
def scene_of(kind: Clutter, seed: int, *sets: str) -> Scene:
    return clutter_scene(kind, seed, sets or ("generated",))


def tasks_of(scene: Scene, seed: int = 0, but: str = "") -> list[GeneratedTask]:
    return list(clutter_tasks(scene, seed, {placed.id for placed in scene.objects if placed.id != but}))


@pytest.mark.parametrize("kind", ["single", "packed", "lying"])
def test_each_thing_is_called_by_a_colour_that_nothing_else_has(kind: Clutter) -> None:
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
