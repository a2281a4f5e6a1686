"""Tasks about objects of any object set in clutter, in words that need no product list: colours and sides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from toolhand.sim.scene.scenes import SIDES, PlacedObject, Scene
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.arrangement import furthest, placeable
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.predicates import Relation
from toolhand.sim.tasks.relational_pick import RelationalPickTask
from toolhand.sim.tasks.task import Category
from toolhand.sim.tasks.tasks import GeneratedTask
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.names import stream_of

_OBJECT = "object"
"""What an object is called that has no name."""
_BESIDE: tuple[Relation, ...] = ("left_of", "right_of", "in_front_of", "behind", "next_to")
"""Where an object is put: places on the table, which need nothing of another object but its outline."""


def _pick(rng: np.random.Generator, scene: Scene, visible: Collection[str]) -> PickTask | None:
    for placed, phrase in _called(rng, scene, visible):
        text = sentences.choose(rng, sentences.PICK).format(target=f"the {phrase}")
        return PickTask(text, scene, (placed.id,))
    return None


def _relational_pick(rng: np.random.Generator, scene: Scene, visible: Collection[str]) -> PickTask | None:
    objects = [placed for placed in scene.objects if placed.asset.graspable]
    if len(objects) < 2 or len(objects) < len(scene.objects):  # a bin is an object too, and furthest or not
        return None
    for side in rng.permutation(list(SIDES)):
        target = furthest(objects, side)
        if target is not None and target.id in visible:
            words = sentences.COMPARATIVES if len(objects) == 2 else sentences.SUPERLATIVES
            phrase = sentences.choose(rng, words[str(side)]).format(_OBJECT)
            text = sentences.choose(rng, sentences.PICK).format(target=phrase)
            return RelationalPickTask(text, scene, (target.id,))
    return None


def _pick_and_place(rng: np.random.Generator, scene: Scene, visible: Collection[str]) -> PlaceTask | None:
    called = list(_called(rng, scene, visible))
    for target, phrase in called:
        for reference, other in called:
            for relation in rng.permutation(list(_BESIDE)):
                if reference is target or not placeable(scene.objects, target, relation, [reference]):
                    continue
                where = sentences.choose(rng, sentences.WHERE[relation]).format(f"the {other}")
                text = sentences.choose(rng, sentences.PICK_AND_PLACE).format(target=f"the {phrase}", where=where)
                return PlaceTask(text, scene, (target.id,), relation, (reference.id,))
    return None


def _called(rng: np.random.Generator, scene: Scene, visible: Collection[str]) -> Iterator[tuple[PlacedObject, str]]:
    """Objects that can be asked for, in random order, each with words that mean nothing else of the scene."""
    assets = [placed.asset for placed in scene.objects]
    for k in rng.permutation(len(scene.objects)):
        placed = scene.objects[k]
        if placed.id not in visible or not placed.asset.graspable:
            continue
        phrases: Sequence[str] = sentences.unique_descriptions(placed.asset, assets)
        if placed.item not in load_catalogue():
            phrases = [phrase for phrase in phrases if phrase == f"{placed.asset.colour} {_OBJECT}"]
        if phrases:
            yield placed, sentences.choose(rng, phrases)


_MAKERS: dict[Category, Callable[[np.random.Generator, Scene, Collection[str]], GeneratedTask | None]] = {
    "pick": _pick,
    "relational_pick": _relational_pick,
    "pick_and_place": _pick_and_place,
}


def clutter_tasks(scene: Scene, seed: int, visible: Collection[str]) -> Iterator[GeneratedTask]:
    """What can be asked in a scene: a pick, a pick by its side, and a pick and place, those of them that words allow.

    Products are called by any words that single them out. Whatever the product list does not have is called by its
    colour, because a robot knows no more of it, and only where nothing else of the scene has that colour.

    Args:
        seed: Decides what is asked, and the wording.
        visible: Ids of the objects that the scene camera sees well; only these are asked for.
    """
    for category, make in _MAKERS.items():
        task = make(np.random.default_rng([seed, stream_of(category)]), scene, visible)
        if task is not None:
            yield task
