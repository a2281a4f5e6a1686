"""Tasks that the arm carries out, of a split's own products, layouts and wordings; `toolhand.sim.tasks` scores them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.scene.scenes import SIDES, PlacedObject, Scene
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.arrangement import furthest, placeable
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.predicates import RELATIONS, Relation
from toolhand.sim.tasks.relational_pick import RelationalPickTask
from toolhand.sim.tasks.task import History, Score, Transcript
from toolhand.sim.tasks.tasks import GeneratedTask
from toolhand.training.tasks.drawn import called, draw_scene, drawn_products
from toolhand.training.tasks.sayings import CommandWords, say_command
from toolhand.training.tasks.splits import Split, layout_of, products_of

LARGEST_RADIUS_M = 0.058
"""Wider objects are not put anywhere [m]; as of `toolhand.sim.tasks.place`."""
TOPS = ("red box", "tea box", "sugar box")
"""What small objects are put on; as of `toolhand.sim.tasks.place`."""
SMALL = ("cinnamon", "basil", "salt", "toy block", "tuna can")
"""What is put on them; as of `toolhand.sim.tasks.place`."""


@dataclass(frozen=True)
class ManipulationTask:
    """A task of `toolhand.sim.tasks` with a kind, seed and split of its own; its text, scene, goal and score are that
    one's.

    Attributes:
        kind: "pick", "relational_pick" or "pick_and_place".
        task: Task of `toolhand.sim.tasks` to be done.
        asked: Products that the sentence names.
        layout: The counts that decided the split of the arrangement.
    """

    kind: str
    seed: int
    split: Split
    task: GeneratedTask
    asked: tuple[str, ...]
    layout: tuple[int, ...]
    names: ClassVar[tuple[str, ...]] = ("stages",)

    @property
    def text(self) -> str:
        """See Task."""
        return self.task.text

    @property
    def scene(self) -> Scene:
        """See Task."""
        return self.task.scene

    @property
    def goal(self) -> str:
        """See Task."""
        return self.task.goal

    @property
    def source(self) -> str:
        """See Task."""
        return self.task.source

    @property
    def holds_s(self) -> tuple[float, ...]:
        """See Task."""
        return self.task.holds_s

    def with_scene(self, scene: Scene) -> ManipulationTask:
        """The same with objects that weigh more or slip."""
        return replace(self, task=replace(self.task, scene=scene))

    def score(self, history: History, transcript: Transcript) -> Score:
        """See Task: picked, placed, and the stages on the way."""
        return self.task.score(history, transcript)


def make_pick(rng: np.random.Generator, seed: int, split: Split) -> ManipulationTask | None:
    """Pick up one object."""
    scene = draw_scene(rng, split, drawn_products(rng, split, 1, lambda item: item.graspable), count=7)
    if scene is None or (name := called(scene, scene.objects[0])) is None:
        return None
    text = say_command(rng, split, CommandWords(name))
    return _made("pick", seed, split, PickTask(text, scene, (scene.objects[0].id,)), (name,))


def make_relational_pick(rng: np.random.Generator, seed: int, split: Split, fate: float) -> ManipulationTask | None:
    """Pick up one of two that are alike, by the side that it stands on."""
    side = list(SIDES)[int(fate * len(SIDES))]
    (name,) = drawn_products(rng, split, 1, lambda item: item.graspable)

    def told_apart(objects: Sequence[PlacedObject]) -> bool:
        return furthest(objects[:2], side) is not None

    scene = draw_scene(
        rng, split, [name, name], lambda item: sentences.could_mean(name, item), count=7, arrangement_ok=told_apart
    )
    target = None if scene is None else furthest(scene.objects[:2], side)
    if scene is None or target is None:
        return None
    text = say_command(rng, split, CommandWords(name, side))
    return _made("relational_pick", seed, split, RelationalPickTask(text, scene, (target.id,)), (name,))


def make_pick_and_place(rng: np.random.Generator, seed: int, split: Split, fate: float) -> ManipulationTask | None:
    """Pick up one object and put it somewhere."""
    relation = RELATIONS[int(fate * len(RELATIONS))]
    names = _for_place(rng, split, relation)
    references = slice(1, 3 if relation == "between" else 2)

    def possible(objects: Sequence[PlacedObject]) -> bool:
        return placeable(objects, objects[0], relation, objects[references])

    scene = None if names is None else draw_scene(rng, split, names, count=7, arrangement_ok=possible)
    if scene is None:
        return None
    target, beside = scene.objects[0], scene.objects[references]
    said = [called(scene, placed) for placed in (target, *beside)]
    if None in said:
        return None
    moved, *others = map(str, said)
    text = say_command(rng, split, CommandWords(moved, relation=relation, references=tuple(others)))
    task = PlaceTask(text, scene, (target.id,), relation, tuple(placed.id for placed in beside))
    return _made("pick_and_place", seed, split, task, (moved, *others))


def _for_place(rng: np.random.Generator, split: Split, relation: Relation) -> list[str] | None:
    """What is moved, of the split's own, and what it is put to, of its own or of the training's."""

    def movable(item: ObjectAsset) -> bool:
        small = item.name in SMALL if relation == "on" else item.outer_radius <= LARGEST_RADIUS_M
        return item.graspable and small

    def refers(item: ObjectAsset) -> bool:
        return item.container if relation == "in" else item.name in TOPS if relation == "on" else not item.container

    moved = drawn_products(rng, split, 1, movable)
    allowed = [name for name in dict.fromkeys((*products_of(split), *products_of("train"))) if name not in moved]
    beside = [name for name in allowed if refers(PRODUCTS[name])]
    need = 2 if relation == "between" else 1
    if not moved or len(beside) < need:
        return None
    return [*moved, *(beside[k] for k in rng.permutation(len(beside))[:need])]


def _made(kind: str, seed: int, split: Split, task: GeneratedTask, asked: tuple[str, ...]) -> ManipulationTask:
    return ManipulationTask(kind, seed, split, task, asked, layout_of(task.scene.objects))
