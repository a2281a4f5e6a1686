"""Questions that are answered with a point: on an object, or on free table beside one."""

from __future__ import annotations

import numpy as np

from toolhand.sim.scene.scenes import (
    FREE_RADIUS,
    SIDES,
    PlacedObject,
    Side,
    distances,
    footprint,
    reachable_grid,
)
from toolhand.sim.tasks.predicates import THRESHOLDS
from toolhand.tool_nodes.types import FloatArray
from toolhand.training.rewards import evic, spacetools
from toolhand.training.rewards.shapes import area, convex_hull
from toolhand.training.tasks.answers import rows
from toolhand.training.tasks.drawn import called, draw_asked, draw_scene, drawn_products, is_plain
from toolhand.training.tasks.question import Marking, QuestionTask, Truth, asked_of_table
from toolhand.training.tasks.seen import SeenScene
from toolhand.training.tasks.splits import Split

LEAST_CONVEX = 0.85
"""Least free share of the hull of free places that are asked for [-]: the papers' rewards take the whole hull for the
region."""
LEAST_PLACES = 12
"""Fewest such places, a centimetre apart [-]."""
CELL = 0.012
"""A point counts as one of them up to this far away [image widths]; half a centimetre of table is 0.004."""


def _point_terms(answer: FloatArray, truth: Truth) -> dict[str, float]:
    region = np.array(truth)
    return {
        "spacetools.nndc": spacetools.nndc(answer, region),
        "spacetools.in_hull": spacetools.in_hull(answer, region),
        "evic.single_point": evic.single_point(answer, region.mean(axis=0)),
    }


POINT = Marking(
    lambda answer: rows(answer, 2),
    _point_terms,
    lambda terms: terms["spacetools.in_hull"] == 1.0,
    "within the hull of what is seen of it",
    ("spacetools.nndc", "spacetools.in_hull", "evic.single_point"),
)


def _free_terms(answer: FloatArray, truth: Truth) -> dict[str, float]:
    hull, places = (np.array(points) for points in truth)
    nearest = float(np.linalg.norm(places - answer.mean(axis=0), axis=1).min())
    return {
        "spacetools.nndc": spacetools.nndc(answer, hull),
        "spacetools.nsdh": spacetools.nsdh(answer, hull),
        "spacetools.nac": spacetools.nac(answer, hull),
        "spacetools.in_hull": spacetools.in_hull(answer, hull),
        "evic.region": evic.region(answer, hull),
        "free": float(nearest <= CELL),
    }


FREE_SPACE = Marking(
    lambda answer: rows(answer, 2),
    _free_terms,
    lambda terms: terms["free"] == 1.0,
    "where a cup would stand free on that side",
    ("spacetools.nndc", "spacetools.nsdh", "spacetools.nac", "spacetools.in_hull", "evic.region", "free"),
)


def make_point(rng: np.random.Generator, seed: int, split: Split) -> QuestionTask | None:
    """Point at an object."""
    asked = draw_asked(rng, split, is_plain)
    if asked is None:
        return None
    seen, target, name = asked
    truth = tuple(map(tuple, seen.region(target).tolist()))
    return asked_of_table(rng, "point", seed, split, seen.scene, truth, (name,), POINT)


def make_free_space(rng: np.random.Generator, seed: int, split: Split) -> QuestionTask | None:
    """Point at free table on one side of an object."""
    scene = draw_scene(rng, split, drawn_products(rng, split, 1, is_plain))
    if scene is None:
        return None
    seen, reference = SeenScene(scene), scene.objects[0]
    name = called(scene, reference)
    side = list(SIDES)[int(rng.integers(len(SIDES)))]
    if name is None or not seen.clear(reference):
        return None
    places = free_places(seen, reference, side)
    if len(places) < LEAST_PLACES:
        return None
    hull = convex_hull(seen.project(_on_table(places)))
    if area(hull) <= 0 or _free_share(seen, hull, places) < LEAST_CONVEX:
        return None
    truth = tuple(tuple(map(tuple, points.tolist())) for points in (hull, seen.project(_on_table(places))))
    return asked_of_table(rng, "free_space", seed, split, scene, truth, (name,), FREE_SPACE, side=side)


def free_places(seen: SeenScene, reference: PlacedObject, side: Side) -> FloatArray:
    """Points (N, 2) of the table on a side of an object where a cup would stand free, and be seen to [m].

    As of `toolhand.sim.tasks.predicates.relation_holds`: within 45 degrees of the direction, apart from everything and
    with at most `gap_m` to the reference, edge to edge.
    """
    direction = np.asarray(SIDES[side])
    grid = reachable_grid(0.01)
    offset = grid - np.asarray(reference.position_m[:2])
    along, across = offset @ direction, np.abs(offset @ np.array([-direction[1], direction[0]]))
    margin = THRESHOLDS.margin_m
    farthest = reference.asset.outer_radius + FREE_RADIUS + THRESHOLDS.gap_m
    beside = (along >= across + margin) & (along >= margin) & (along <= farthest)
    grid = grid[beside]
    ok = distances(grid, footprint(reference)) - FREE_RADIUS <= THRESHOLDS.gap_m
    for placed in seen.scene.objects:
        ok &= distances(grid, footprint(placed)) >= FREE_RADIUS
    image = seen.project(_on_table(grid))
    ok &= ((image > 0.01) & (image < 0.99)).all(axis=1)
    height, width = seen.ids.shape
    pixels = np.clip((image * (width, height)).astype(int), 0, (width - 1, height - 1))
    return np.asarray(grid[ok & (seen.ids[pixels[:, 1], pixels[:, 0]] < 0)])


def _free_share(seen: SeenScene, hull: FloatArray, places: FloatArray) -> float:
    """How much of the table in a hull of the image is free."""
    image = seen.project(_on_table(reachable_grid(0.01)))
    edge = np.roll(hull, -1, axis=0) - hull
    offset = image[:, None] - hull
    turns = edge[:, 0] * offset[..., 1] - edge[:, 1] * offset[..., 0]
    inside = (turns >= 0).all(axis=1) | (turns <= 0).all(axis=1)
    return len(places) / max(int(inside.sum()), 1)


def _on_table(points: FloatArray) -> FloatArray:
    return np.column_stack([points, np.zeros(len(points))])
