"""The paper's 20 sentences as tasks, and a generator of further ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import MAX_OBJECTS, PlacedObject, Scene
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.arrangement import furthest, placeable
from toolhand.sim.tasks.generation import draw
from toolhand.sim.tasks.pick import PickTask, random_pick
from toolhand.sim.tasks.place import PlaceTask, random_place
from toolhand.sim.tasks.predicates import PlaceRelation
from toolhand.sim.tasks.relational_pick import RelationalPickTask, random_relational_pick
from toolhand.sim.tasks.sentences import RECIPES, Recipe
from toolhand.sim.tasks.task import Category
from toolhand.tool_nodes.names import stream_of
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

GeneratedTask = PickTask | PlaceTask
"""A RelationalPickTask is a PickTask."""

_MAKERS: dict[Category, Callable[[np.random.Generator], GeneratedTask | None]] = {
    "pick": random_pick,
    "relational_pick": random_relational_pick,
    "pick_and_place": random_place,
}
CATEGORIES: tuple[Category, ...] = tuple(_MAKERS)

DRAWN: tuple[Category, ...] = ("pick", "relational_pick", "pick_and_place")
"""What `random_task` draws from where no category is named. A further category changes no task until it is added here,
which changes those of most seeds: then `toolhand.sim.tasks.generation.TASKS_VERSION` is raised."""

ALL_PRODUCTS = ""
"""The split of tasks of the whole catalogue."""

OTHERS = 6
"""At least this many objects beside those the sentence is about."""


def paper_task(index: int, seed: int) -> GeneratedTask:
    """The paper's sentence `index` (0..19) in a random scene of its own.

    Raises:
        ToolError: INVALID_ARGUMENT for an index outside 0..19.
    """
    if not 0 <= index < len(RECIPES):
        raise invalid(f"The paper's sentences have numbers 0 to {len(RECIPES) - 1}, not {index}.")
    recipe = RECIPES[index]
    rng = np.random.default_rng([seed, index])
    required = _draw(rng, recipe)
    groups = _Groups.of(recipe, required)
    count = min(len(required) + OTHERS, MAX_OBJECTS)
    pair = (groups.references[0], groups.references[1]) if len(groups.references) == 2 else None
    scene = generate_scene(
        int(rng.integers(2**31)),
        required,
        recipe.forbids,
        count,
        arrangement_ok=lambda objects: groups.arranged(recipe, objects),
        pair=pair,
    )
    target = groups.target(recipe, scene.objects)
    references = tuple(scene.objects[k].id for k in groups.references)
    scene = replace(scene, name=f"paper {index}")
    if recipe.relation is not None:
        return PlaceTask(recipe.text, scene, (target.id,), recipe.relation, references)
    return (RelationalPickTask if recipe.side else PickTask)(recipe.text, scene, (target.id,))


def _draw(rng: np.random.Generator, recipe: Recipe) -> list[str]:
    """Names that must be there: candidates for the target, then references, then what it may be confused with."""
    required = [sentences.choose(rng, recipe.targets)] * recipe.copies
    for options in (*recipe.references, *recipe.also):
        required.append(sentences.choose(rng, [name for name in options if name not in required]))
    return required


@dataclass(frozen=True)
class _Groups:
    """Indices into the scene's objects: what the target is chosen from, and the references."""

    candidates: tuple[int, ...]
    references: tuple[int, ...]

    @classmethod
    def of(cls, recipe: Recipe, required: Sequence[str]) -> _Groups:
        first = recipe.copies + len(recipe.references)
        candidates = list(range(recipe.copies))
        if recipe.side:
            candidates += range(first, len(required))
        return cls(tuple(candidates), tuple(range(recipe.copies, first)))

    def target(self, recipe: Recipe, objects: Sequence[PlacedObject]) -> PlacedObject:
        candidates = [objects[k] for k in self.candidates]
        if recipe.side is None:
            return candidates[0]
        found = furthest(candidates, recipe.side)
        if found is None:
            raise ToolError(ErrorCode.INTERNAL, f'No object is clearly meant by "{recipe.text}".')
        return found

    def arranged(self, recipe: Recipe, objects: Sequence[PlacedObject]) -> bool:
        """True if the sentence has one clear meaning and something to do."""
        candidates = [objects[k] for k in self.candidates]
        target = candidates[0] if recipe.side is None else furthest(candidates, recipe.side)
        if target is None:
            return False
        references = [objects[k] for k in self.references]
        return recipe.relation is None or placeable(objects, target, recipe.relation, references)


def random_task(seed: int, category: Category | None = None) -> GeneratedTask:
    """A random task whose sentence has exactly one meaning in its scene.

    Args:
        seed: Decides everything.
        category: One of CATEGORIES; drawn where None. Named or drawn, the same category of a seed is the same task.
            Kinds of the group `toolhand.task` are made by `toolhand.sim.tasks.generation.make_kind`.

    Raises:
        ToolError: INVALID_ARGUMENT for another category; INTERNAL if no task was found, which no seed is known to do.
    """
    if category is None:
        category = DRAWN[int(np.random.default_rng([seed, stream_of("category")]).integers(len(DRAWN)))]
    elif category not in _MAKERS:
        raise invalid(f"The category must be {', '.join(CATEGORIES)}, got {category!r}.")
    task: GeneratedTask = draw(category, _MAKERS[category], seed, ALL_PRODUCTS)
    return replace(task, scene=replace(task.scene, name=f"task {seed}"))


def task_of(
    text: str,
    scene: Scene,
    target_ids: tuple[str, ...],
    relation: PlaceRelation | None = None,
    reference_ids: tuple[str, ...] = (),
) -> GeneratedTask:
    """The task of a sentence whose meaning is known: a pick without a relation, else a pick and place."""
    if relation is None:
        return PickTask(text, scene, target_ids)
    return PlaceTask(text, scene, target_ids, relation, reference_ids)
