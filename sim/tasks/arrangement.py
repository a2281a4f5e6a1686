"""What is true of objects on the table before the robot moves, from their positions alone; no parser has a say in
it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolhand.sim.scene.scenes import (
    FREE_CLEARANCE,
    FREE_GAP,
    FREE_RADIUS,
    SIDES,
    PlacedObject,
    Scene,
    Side,
    distances,
    footprint,
    reachable_grid,
)
from toolhand.sim.snapshot import ObjectState
from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.predicates import Relation, Thresholds, relation_holds
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import look_at
from toolhand.tool_nodes.types import FloatArray

CLEAR_M = 0.10
"""Two objects distinguished by "left" or "far" differ by at least this much in that direction [m]."""

_T_BASE_CAMERA = look_at(workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET)
_SIDE_OF: dict[Relation, Side] = {
    "left_of": "left",
    "right_of": "right",
    "in_front_of": "front",
    "behind": "behind",
}


def furthest(candidates: Sequence[PlacedObject], side: Side) -> PlacedObject | None:
    """The candidate clearly furthest to a side, on the table and in the camera's image alike; None if in doubt."""
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
    if holds(objects, moved, relation, references):
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
    radius = max(FREE_RADIUS, moved.asset.outer_radius)
    ok = np.ones(len(grid), dtype=bool)
    nearest = np.full(len(grid), np.inf)
    for placed in objects:
        if placed.id == moved.id:
            continue
        # Further away an object blocks none, and nothing is beside it.
        near = (
            np.abs(grid - placed.position_m[:2]).max(axis=1) < placed.asset.outer_radius + radius + FREE_GAP[1] + 0.01
        )
        clearance = np.full(len(grid), np.inf)
        clearance[near] = distances(grid[near], footprint(placed)) - radius
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


def holds(
    objects: Sequence[PlacedObject],
    moved: PlacedObject,
    relation: Relation,
    references: Sequence[PlacedObject],
    thresholds: Thresholds | None = None,
) -> bool:
    """True if an object stands in a relation to others, all upright on the table; see `predicates.relation_holds`."""
    states = {
        placed.id: ObjectState(
            id=placed.id,
            position_m=np.asarray(placed.position_m),
            quat_wxyz=placed.quat_wxyz,
            velocity=np.zeros(6),
            touching=frozenset({"table"}),
        )
        for placed in objects
    }
    nowhere = (0.0, 0.0, 0.0)
    scene = Scene(0, tuple(objects), nowhere, nowhere, nowhere, nowhere, "")
    ids = [reference.id for reference in references]
    return relation_holds(relation, moved.id, ids, scene, states, _T_BASE_CAMERA, thresholds or Thresholds())


def one_described(
    rng: np.random.Generator, scene: Scene, candidates: Sequence[PlacedObject]
) -> tuple[PlacedObject, str] | None:
    """A random candidate that words can single out, with such words."""
    items = [placed.asset for placed in scene.objects]
    for k in rng.permutation(len(candidates)):
        phrases = sentences.unique_descriptions(candidates[k].asset, items)
        if phrases:
            # Half the time people simply say the name.
            plain = rng.random() < 0.5 or len(phrases) == 1
            return candidates[k], phrases[0] if plain else sentences.choose(rng, phrases[1:])
    return None
