"""Pick up one of several objects that are alike, distinguished from the others by where it stands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import SIDES, PlacedObject, Scene
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.arrangement import furthest, holds
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.predicates import Thresholds
from toolhand.sim.tasks.task import Category

_FAR_M = 0.40
"""Centres further apart than this are beside each other in no one's eyes [m]."""


@dataclass(frozen=True)
class RelationalPickTask(PickTask):
    """The operator says which one by a side ("the left can") or by what it stands beside ("the can behind the bowl").

    **Randomised**: the scene, in which two objects at least are alike, the object, and the words for its place. Which
    one is meant is clear on the table and in the camera's image.

    **Success**: as of `PickTask`.
    """

    category: ClassVar[Category] = "relational_pick"


def random_relational_pick(rng: np.random.Generator) -> RelationalPickTask | None:
    """A random task; None where nothing of the drawn scene is distinguished from its like by its place alone."""
    graspable = [item.name for item in PRODUCTS.values() if item.graspable]
    name = sentences.choose(rng, graspable)
    scene = generate_scene(int(rng.integers(2**31)), [name, name])
    options = list(relational_options(scene))
    if not options:
        return None
    target, words = options[int(rng.integers(len(options)))]
    text = sentences.choose(rng, sentences.PICK).format(target=sentences.choose(rng, words))
    return RelationalPickTask(text, scene, (target.id,))


def relational_options(scene: Scene) -> Iterator[tuple[PlacedObject, tuple[str, ...]]]:
    """(target, wordings) of everything in a scene that only its place distinguishes from its like."""
    phrases = {phrase for placed in scene.objects for phrase in (placed.asset.name, placed.asset.kind)}
    for phrase in sorted(phrases):
        group = [placed for placed in scene.objects if sentences.could_mean(phrase, placed.asset)]
        # Whatever the phrase could mean must also be called so: a tube of balls is not called "the near ball".
        called = all(phrase in (placed.asset.name, placed.asset.kind) for placed in group)
        if len(group) < 2 or not called or not all(placed.asset.graspable for placed in group):
            continue
        for side in SIDES:
            target = furthest(group, side)
            if target is not None:
                words = sentences.COMPARATIVES if len(group) == 2 else sentences.SUPERLATIVES
                yield target, tuple(word.format(phrase) for word in words[side])
        yield from _beside_options(scene, phrase, group)


def _beside_options(
    scene: Scene, phrase: str, group: Sequence[PlacedObject]
) -> Iterator[tuple[PlacedObject, tuple[str, ...]]]:
    """Those of a group that a relation to some other, uniquely named, object singles out."""
    items = [placed.asset for placed in scene.objects]
    doubtful = Thresholds(margin_m=-0.06, gap_m=0.22)
    for reference in scene.objects:
        name = reference.asset.name
        if reference in group or sum(sentences.could_mean(name, item) for item in items) != 1:
            continue
        near = [p for p in group if math.dist(p.position_m[:2], reference.position_m[:2]) < _FAR_M]
        for relation in ("left_of", "right_of", "in_front_of", "behind", "next_to"):
            possible = [p for p in near if holds(scene.objects, p, relation, [reference], doubtful)]
            if len(possible) == 1 and holds(scene.objects, possible[0], relation, [reference]):
                where = tuple(word.format(f"the {name}") for word in sentences.WHERE[relation])
                yield possible[0], tuple(f"the {phrase} {word}" for word in where)
