"""Crowded tables: catalogue objects that stand closer together than fingers are thick, and what is asked of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.scenes import MIN_GAP, PlacedObject, Scene, footprint, gap, object_ids
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.arrangement import placeable
from toolhand.sim.tasks.pick import PickTask
from toolhand.sim.tasks.place import PlaceTask
from toolhand.sim.tasks.predicates import Relation
from toolhand.sim.tasks.tasks import GeneratedTask
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.results import invalid

GAPS_M = (0.0, 0.002, 0.005, 0.010, 0.020)
"""Edge to edge between neighbours of a crowd [m]."""

PAIRINGS = ("other colour", "same colour", "same height", "same colour and height")
"""What the first two objects of a crowd have in common."""

_TOUCHING_M = 2e-4
"""Objects that touch start this far apart, so that physics has nothing to push asunder [m]."""

_LIKE_M = 0.008
"""Heights that differ less are the same to look at [m]."""

_LONE = 3
"""Objects that stand alone beside the crowd."""

_ATTEMPTS = 4000
"""Arrangements that are tried before a seed is given up; a round figure."""


def crowd_gap(seed: int) -> float:
    """Gap between the objects of the crowd of a seed [m]; neighbouring seeds take turns through `GAPS_M`."""
    return GAPS_M[seed % len(GAPS_M)]


def crowd_pairing(seed: int) -> str:
    """One of `PAIRINGS`."""
    return PAIRINGS[seed // len(GAPS_M) % len(PAIRINGS)]


def crowded_scene(seed: int) -> Scene:
    """A scene whose first two objects stand `crowd_gap(seed)` apart, every third time with one more in the row.

    Three more stand alone. Each name means one object. The same seed gives the same scene.

    Raises:
        ToolError: INVALID_ARGUMENT for a seed below 0.
    """
    if seed < 0:
        raise invalid(f"The seed must be 0 or more, got {seed}.")
    rng = np.random.default_rng([seed, 0xC0])
    for _ in range(_ATTEMPTS):
        objects = _arranged(rng, crowd_gap(seed), crowd_pairing(seed), 3 if seed % 3 == 2 else 2)
        if objects is not None:
            surroundings = generate_scene(seed, n_objects=1)
            return Scene(
                seed,
                objects,
                surroundings.light_position_m,
                surroundings.camera_jitter_m,
                surroundings.camera_jitter_rad,
                surroundings.table_rgb,
                f"crowd {seed}",
            )
    raise invalid(f"No crowded arrangement was found for seed {seed}.")


def crowded_tasks(seed: int) -> list[GeneratedTask]:
    """What is asked in the scene of a seed: picks of each of the first two, by name and by a description that nothing
    else in the scene fits, and a placement in relation to one of them, where there is room for one."""
    scene = crowded_scene(seed)
    neighbours, lone = scene.objects[:2], scene.objects[-1]
    rng = np.random.default_rng([seed, 0xC1])
    tasks: list[GeneratedTask] = []
    for placed in neighbours:
        if placed.asset.graspable:
            phrases = (placed.item, _described(rng, scene, placed))
            texts = [f"pick up the {phrase}" for phrase in dict.fromkeys(phrases)]
            tasks += [PickTask(text, scene, (placed.id,)) for text in texts]
    return [*tasks, *_placements(rng, scene, lone, neighbours)]


def _described(rng: np.random.Generator, scene: Scene, placed: PlacedObject) -> str:
    """Words that only one object of a scene fits, other than its name where there are some."""
    phrases = sentences.unique_descriptions(placed.asset, [other.asset for other in scene.objects])
    return sentences.choose(rng, phrases[1:] or phrases or [placed.item])


def _placements(
    rng: np.random.Generator, scene: Scene, moved: PlacedObject, references: Sequence[PlacedObject]
) -> Iterator[PlaceTask]:
    sides: tuple[Relation, ...] = ("left_of", "right_of", "in_front_of", "behind")
    options = [
        (relation, reference)
        for relation in sides
        for reference in references
        if placeable(scene.objects, moved, relation, [reference])
    ]
    if options:
        relation, reference = options[int(rng.integers(len(options)))]
        name = reference.item if rng.random() < 0.5 else _described(rng, scene, reference)
        where = sentences.choose(rng, sentences.WHERE[relation]).format(f"the {name}")
        text = f"pick up the {moved.item} and place it {where}"
        yield PlaceTask(text, scene, (moved.id,), relation, (reference.id,))


def _arranged(rng: np.random.Generator, gap_m: float, pairing: str, row: int) -> tuple[PlacedObject, ...] | None:
    """One try at an arrangement, None where it does not fit on the table."""
    items = _chosen(rng, pairing, row)
    ids = object_ids([item.name for item in items])
    x, y = (float(rng.uniform(low, high)) for low, high in ((0.36, 0.60), (-0.22, 0.22)))
    yaw = float(rng.uniform(-math.pi, math.pi))
    objects = [_placed(ids[0], items[0], x, y, yaw)]
    # Half of the crowds stand face to face, as on a shelf: their outlines run into each other.
    along = yaw + math.pi / 2 * int(rng.integers(4)) if rng.random() < 0.5 else float(rng.uniform(-math.pi, math.pi))
    for object_id, item in zip(ids[1:row], items[1:row], strict=True):
        turned = yaw if rng.random() < 0.5 else float(rng.uniform(-math.pi, math.pi))
        objects.append(_beside(objects[-1], object_id, item, along, turned, max(gap_m, _TOUCHING_M)))
    for object_id, item in zip(ids[row:], items[row:], strict=True):
        spot = rng.uniform((workspace.TABLE_X[0], workspace.TABLE_Y[0]), (workspace.TABLE_X[1], workspace.TABLE_Y[1]))
        objects.append(_placed(object_id, item, float(spot[0]), float(spot[1]), float(rng.uniform(-math.pi, math.pi))))
    if not all(workspace.within_reach(placed.position_m[:2]) for placed in objects):
        return None
    outlines = [footprint(placed) for placed in objects]
    pairs = [(i, j) for j in range(len(objects)) for i in range(j)]
    neighbours = [(i, j) for i, j in pairs if j < row and j == i + 1]
    apart = all(gap(outlines[i], outlines[j]) >= MIN_GAP for i, j in pairs if j >= row)
    crowd = all(gap(outlines[i], outlines[j]) > 0 for i, j in pairs if j < row and (i, j) not in neighbours)
    return tuple(objects) if apart and crowd else None


def _chosen(rng: np.random.Generator, pairing: str, row: int) -> list[ObjectAsset]:
    """Items whose names mean one object each: the crowd, its first two as the pairing says, then those alone."""
    items = [item for _, item in sorted(PRODUCTS.items())]
    graspable = [item for item in items if item.graspable]
    first = graspable[int(rng.integers(len(graspable)))]
    others = [item for item in items if item is not first]
    fitting = [item for item in others if _goes_with(first, item, pairing)]
    if not fitting:
        return _chosen(rng, pairing, row)
    second = fitting[int(rng.integers(len(fitting)))]
    rest = [item for item in graspable if item not in (first, second)]
    more = [rest[k] for k in rng.permutation(len(rest))[: row - 2 + _LONE]]
    chosen = [first, second, *more]
    clear = all(sum(sentences.could_mean(item.name, other) for other in chosen) == 1 for item in chosen)
    return chosen if clear else _chosen(rng, pairing, row)


def _goes_with(first: ObjectAsset, item: ObjectAsset, pairing: str) -> bool:
    same_colour = first.colour.split()[-1] == item.colour.split()[-1]
    same_height = abs(first.size_m[2] - item.size_m[2]) < _LIKE_M
    return {
        "other colour": not same_colour,
        "same colour": same_colour,
        "same height": same_height and not same_colour,
        "same colour and height": same_colour and same_height,
    }[pairing]


def _placed(object_id: str, item: ObjectAsset, x: float, y: float, yaw: float) -> PlacedObject:
    return PlacedObject(object_id, item.name, (x, y, item.size_m[2] / 2), yaw)


def _beside(
    first: PlacedObject, object_id: str, item: ObjectAsset, along: float, yaw: float, gap_m: float
) -> PlacedObject:
    """An item in a direction of another object, exactly `gap_m` from it."""
    outline = footprint(first)
    low, high = 0.0, first.asset.outer_radius + item.outer_radius + gap_m
    for _ in range(40):
        middle = (low + high) / 2
        x, y = (first.position_m[k] + middle * (math.cos(along), math.sin(along))[k] for k in (0, 1))
        close = gap(outline, footprint(_placed(object_id, item, x, y, yaw))) < gap_m
        low, high = (middle, high) if close else (low, middle)
    x, y = (first.position_m[k] + high * (math.cos(along), math.sin(along))[k] for k in (0, 1))
    return _placed(object_id, item, x, y, yaw)
