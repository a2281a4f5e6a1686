"""Tasks with their truth: the paper's 20 sentences and a generator of further ones.

Truth comes from the sampled positions alone; no parser has a say in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sim.scene.generator import generate_scene
from sim.scene.objects import hull_points
from sim.scene.scenes import (
    FREE_CLEARANCE,
    FREE_GAP,
    FREE_RADIUS,
    MAX_OBJECTS,
    SIDES,
    PlacedObject,
    Scene,
    Side,
    distances,
    footprint,
    reachable_grid,
)
from sim.tasks import sentences
from sim.tasks.predicates import RELATIONS, ObjectState, Relation, Thresholds, relation_holds
from sim.tasks.sentences import PAPER_SENTENCES, RECIPES, Recipe
from tool_nodes import workspace
from tool_nodes.catalogue import CatalogueItem, load_catalogue
from tool_nodes.geometry import look_at
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import FloatArray

__all__ = ["CATEGORIES", "PAPER_SENTENCES", "Task", "free_spot", "furthest", "paper_task", "placeable", "random_task"]

Category = Literal["pick", "relational_pick", "pick_and_place"]
CATEGORIES: tuple[Category, ...] = ("pick", "relational_pick", "pick_and_place")

CLEAR_M = 0.10
"""Two things told apart by "left" or "far" differ by at least this much in that direction [m]."""

_T_BASE_CAMERA = look_at(workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET)
_SIDE_OF: dict[Relation, Side] = {
    "left_of": "left",
    "right_of": "right",
    "in_front_of": "front",
    "behind": "behind",
}


@dataclass(frozen=True)
class Task:
    """One sentence to carry out in one scene.

    Attributes:
        category: "pick", "relational_pick" or "pick_and_place".
        text: What the operator says.
        target_ids: The objects to pick; any one of them counts.
        relation: Where to place it, None for a pick.
        reference_ids: In relation to what; empty for a pick.
        scene: The table before.
    """

    category: Category
    text: str
    target_ids: tuple[str, ...]
    relation: Relation | None
    reference_ids: tuple[str, ...]
    scene: Scene


OTHERS = 6
"""At least this many objects beside those the sentence is about."""


def paper_task(index: int, seed: int) -> Task:
    """The paper's sentence `index` (0..19) in a random scene of its own.

    Raises:
        ToolError: INVALID_ARGUMENT for an index outside 0..19.
    """
    if not 0 <= index < len(RECIPES):
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"The paper's sentences have numbers 0 to {len(RECIPES) - 1}, not {index}."
        )
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
    category: Category = "pick_and_place" if recipe.relation else "relational_pick" if recipe.side else "pick"
    return Task(category, recipe.text, (target.id,), recipe.relation, references, replace(scene, name=f"paper {index}"))


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


# ---- Truth from positions ----


def furthest(candidates: Sequence[PlacedObject], side: Side) -> PlacedObject | None:
    """The candidate clearly furthest to a side, on the table and in the camera's picture alike; None if in doubt."""
    direction = np.asarray(SIDES[side])
    positions = np.array([placed.position_m for placed in candidates])
    along = positions[:, :2] @ direction
    rays = positions - workspace.SCENE_CAMERA_POSITION
    local = rays @ _T_BASE_CAMERA[:3, :3]
    if side in ("left", "right"):
        # Perspective can swap left and right of what stands at different depths.
        seen = local[:, 0] / local[:, 2] * (1 if side == "right" else -1)
    else:
        seen = np.linalg.norm(rays, axis=1) * (1 if side == "behind" else -1)
    first, second = np.argsort(along)[::-1][:2]
    clear = along[first] - along[second] >= CLEAR_M and seen[first] - np.delete(seen, first).max() >= CLEAR_M / 2
    return candidates[first] if clear else None


def placeable(
    objects: Sequence[PlacedObject], moved: PlacedObject, relation: Relation, references: Sequence[PlacedObject]
) -> bool:
    """True if a relation is not yet true and a reachable spot exists where it would be."""
    if _holds(objects, moved, relation, references):
        return False
    return free_spot(objects, moved, relation, references) is not None


def free_spot(
    objects: Sequence[PlacedObject], moved: PlacedObject, relation: Relation, references: Sequence[PlacedObject]
) -> FloatArray | None:
    """A reachable spot (2,) where an object, at any yaw, would stand in a relation [m]; None if there is none."""
    centres = np.array([placed.position_m[:2] for placed in references])
    if relation in ("in", "on"):
        return centres[0] if workspace.within_reach(centres[0]) else None
    grid = reachable_grid(0.01)
    radius = max(FREE_RADIUS, radius_of(moved.product))
    ok = np.ones(len(grid), dtype=bool)
    nearest = np.full(len(grid), np.inf)
    for placed in objects:
        if placed.id == moved.id:
            continue
        clearance = distances(grid, footprint(placed)) - radius
        is_reference = any(placed.id == reference.id for reference in references)
        ok &= clearance >= (FREE_GAP[0] if is_reference else FREE_CLEARANCE)
        if is_reference:
            nearest = np.minimum(nearest, clearance)
    ok &= nearest <= FREE_GAP[1]
    if relation == "between":
        axis = centres[1] - centres[0]
        length = float(np.linalg.norm(axis))
        along = (grid - centres[0]) @ axis / length
        across = np.abs((grid - centres[0]) @ np.array([-axis[1], axis[0]]) / length)
        ok &= (along > 0.3 * length) & (along < 0.7 * length) & (across < 0.25 * length)
    elif relation != "next_to":
        direction = np.asarray(SIDES[_SIDE_OF[relation]])
        offset = grid - centres.mean(axis=0)
        across = np.abs(offset @ np.array([-direction[1], direction[0]]))
        beyond = ((grid[:, None] - centres) @ direction).min(axis=1)
        ok &= (offset @ direction >= across + 0.02) & (beyond >= 0.02)
    if not ok.any():
        return None
    return grid[np.flatnonzero(ok)[np.argmin(nearest[ok])]]


def radius_of(item: CatalogueItem) -> float:
    """Radius of the circle about an item's axis that holds its footprint [m]."""
    return float(np.linalg.norm(hull_points(item.name)[:, :2], axis=1).max())


def _holds(
    objects: Sequence[PlacedObject],
    moved: PlacedObject,
    relation: Relation,
    references: Sequence[PlacedObject],
    thresholds: Thresholds | None = None,
) -> bool:
    states = {
        placed.id: ObjectState(
            id=placed.id,
            position_m=np.asarray(placed.position_m),
            quat_wxyz=np.array([np.cos(placed.yaw / 2), 0.0, 0.0, np.sin(placed.yaw / 2)]),
            velocity=np.zeros(6),
            touching=frozenset({"table"}),
        )
        for placed in objects
    }
    nowhere = (0.0, 0.0, 0.0)
    scene = Scene(0, tuple(objects), nowhere, nowhere, nowhere, nowhere, "")
    ids = [reference.id for reference in references]
    return relation_holds(relation, moved.id, ids, scene, states, _T_BASE_CAMERA, thresholds or Thresholds())


# ---- Further tasks ----

_TOPS = ("red box", "tea box", "sugar box")
_SMALL = ("cinnamon", "basil", "salt", "toy block", "tuna can")
_MOVED_RADIUS = 0.058
_FAR_M = 0.40
"""Centres further apart than this are beside each other in no one's eyes [m]."""

_ATTEMPTS = 60


def random_task(seed: int) -> Task:
    """A random task whose sentence has exactly one meaning in its scene.

    Raises:
        ToolError: INTERNAL if no task was found, which no seed is known to do.
    """
    rng = np.random.default_rng([seed, len(RECIPES)])
    category = CATEGORIES[int(rng.integers(len(CATEGORIES)))]
    make = {"pick": _random_pick, "relational_pick": _random_relational, "pick_and_place": _random_place}[category]
    for _ in range(_ATTEMPTS):
        task = make(rng)
        if task is not None:
            return replace(task, scene=replace(task.scene, name=f"task {seed}"))
    raise ToolError(ErrorCode.INTERNAL, f"No task was found for seed {seed}.")


def _random_pick(rng: np.random.Generator) -> Task | None:
    scene = generate_scene(int(rng.integers(2**31)))
    found = _one_described(rng, scene, [placed for placed in scene.objects if placed.product.graspable])
    if found is None:
        return None
    target, phrase = found
    text = sentences.choose(rng, sentences.PICK).format(target=f"the {phrase}")
    return Task("pick", text, (target.id,), None, (), scene)


def _random_relational(rng: np.random.Generator) -> Task | None:
    graspable = [item.name for item in load_catalogue().values() if item.graspable]
    name = sentences.choose(rng, graspable)
    scene = generate_scene(int(rng.integers(2**31)), [name, name])
    options = list(_relational_options(scene))
    if not options:
        return None
    target, words = options[int(rng.integers(len(options)))]
    text = sentences.choose(rng, sentences.PICK).format(target=sentences.choose(rng, words))
    return Task("relational_pick", text, (target.id,), None, (), scene)


def _relational_options(scene: Scene) -> Iterator[tuple[PlacedObject, tuple[str, ...]]]:
    """(target, wordings) of everything in a scene that only its place tells from its like."""
    phrases = {phrase for placed in scene.objects for phrase in (placed.product.name, placed.product.kind)}
    for phrase in sorted(phrases):
        group = [placed for placed in scene.objects if sentences.could_mean(phrase, placed.product)]
        # Whatever the phrase could mean must also be called so: nobody says "the near ball" of a tube of balls.
        called = all(phrase in (placed.product.name, placed.product.kind) for placed in group)
        if len(group) < 2 or not called or not all(placed.product.graspable for placed in group):
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
    items = [placed.product for placed in scene.objects]
    doubtful = Thresholds(margin_m=-0.06, gap_m=0.22)
    for reference in scene.objects:
        name = reference.product.name
        if reference in group or sum(sentences.could_mean(name, item) for item in items) != 1:
            continue
        near = [p for p in group if math.dist(p.position_m[:2], reference.position_m[:2]) < _FAR_M]
        for relation in ("left_of", "right_of", "in_front_of", "behind", "next_to"):
            possible = [p for p in near if _holds(scene.objects, p, relation, [reference], doubtful)]
            if len(possible) == 1 and _holds(scene.objects, possible[0], relation, [reference]):
                where = tuple(word.format(f"the {name}") for word in sentences.WHERE[relation])
                yield possible[0], tuple(f"the {phrase} {word}" for word in where)


def _random_place(rng: np.random.Generator) -> Task | None:
    relation = RELATIONS[int(rng.integers(len(RELATIONS)))]
    required: list[str] = []
    if relation == "in":
        required = [sentences.choose(rng, [i.name for i in load_catalogue().values() if i.container])]
    elif relation == "on":
        required = [sentences.choose(rng, _TOPS), sentences.choose(rng, _SMALL)]
    scene = generate_scene(int(rng.integers(2**31)), required)
    moved = _one_described(rng, scene, [p for p in scene.objects if _movable(p, relation)])
    if moved is None:
        return None
    target, target_phrase = moved
    others = [placed for placed in scene.objects if placed.id != target.id and _refers(placed, relation)]
    references: list[tuple[PlacedObject, str]] = []
    for _ in range(2 if relation == "between" else 1):
        found = _one_described(rng, scene, [p for p in others if all(p.id != r.id for r, _ in references)])
        if found is None:
            return None
        references.append(found)
    if not placeable(scene.objects, target, relation, [placed for placed, _ in references]):
        return None
    where = sentences.choose(rng, sentences.WHERE[relation]).format(*(f"the {phrase}" for _, phrase in references))
    text = sentences.choose(rng, sentences.PICK_AND_PLACE).format(target=f"the {target_phrase}", where=where)
    return Task("pick_and_place", text, (target.id,), relation, tuple(p.id for p, _ in references), scene)


def _movable(placed: PlacedObject, relation: Relation) -> bool:
    if relation == "on":
        return placed.item in _SMALL
    return placed.product.graspable and radius_of(placed.product) <= _MOVED_RADIUS


def _refers(placed: PlacedObject, relation: Relation) -> bool:
    if relation == "in":
        return placed.product.container
    return placed.item in _TOPS if relation == "on" else True


def _one_described(
    rng: np.random.Generator, scene: Scene, candidates: Sequence[PlacedObject]
) -> tuple[PlacedObject, str] | None:
    """A random candidate that words can single out, with such words."""
    items = [placed.product for placed in scene.objects]
    for k in rng.permutation(len(candidates)):
        phrases = sentences.unique_descriptions(candidates[k].product, items)
        if phrases:
            # Half the time people simply say the name.
            plain = rng.random() < 0.5 or len(phrases) == 1
            return candidates[k], phrases[0] if plain else sentences.choose(rng, phrases[1:])
    return None
