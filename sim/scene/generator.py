"""Random scenes from a seed: which objects, and where they stand."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence

import numpy as np

from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.scenes import (
    FREE_CLEARANCE,
    FREE_GAP,
    FREE_RADIUS,
    MAX_OBJECTS,
    MIN_GAP,
    PAIR_DISTANCE,
    SHADOW,
    TABLE_RGB,
    TALL,
    PlacedObject,
    Scene,
    distances,
    footprint,
    gap,
    in_cones,
    in_window,
    object_ids,
    reachable_grid,
    triple,
)
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray


def generate_scene(
    seed: int,
    required: Sequence[str] = (),
    forbidden: Callable[[ObjectAsset], bool] | Container[str] = (),
    n_objects: int | None = None,
    arrangement_ok: Callable[[Sequence[PlacedObject]], bool] | None = None,
    pair: tuple[int, int] | None = None,
) -> Scene:
    """A random scene in which every object that is no container can be gripped and placed beside.

    Args:
        seed: Decides everything; the same arguments give the same scene.
        required: Names of objects that must be there; a name given twice is there twice.
        forbidden: Which other items may not be there: names, or a function of the object.
        n_objects: How many; 7 to 9 at random where None.
        arrangement_ok: A further condition on the finished arrangement.
        pair: Indices into `required` of two objects that stand as a group, their centres PAIR_DISTANCE apart.

    Raises:
        ToolError: INVALID_ARGUMENT for unknown names or more objects than fit.
    """
    rng = np.random.default_rng(seed)
    for name in required:
        find_asset(name)
    low = max(7, len(required))
    count = n_objects if n_objects is not None else int(rng.integers(low, max(MAX_OBJECTS, low) + 1))
    if not max(1, len(required)) <= count <= MAX_OBJECTS:
        raise invalid(f"A generated scene has from {max(1, len(required))} to {MAX_OBJECTS} objects, not {count}.")
    names = _choose_items(rng, required, forbidden, count)
    objects = _arrange(rng, names, arrangement_ok, pair)
    shade = np.asarray(TABLE_RGB[rng.integers(len(TABLE_RGB))]) + rng.uniform(-0.03, 0.03)
    return Scene(
        seed=seed,
        objects=objects,
        light_position_m=triple(np.array([0.5, 0.0, 1.8]) + rng.uniform(-0.4, 0.4, 3)),
        camera_jitter_m=triple(rng.uniform(-0.01, 0.01, 3)),
        camera_jitter_rad=triple(rng.uniform(-1, 1, 3) * math.radians(1.0)),
        table_rgb=triple(shade),
        name=f"scene {seed}",
    )


def _choose_items(
    rng: np.random.Generator,
    required: Sequence[str],
    forbidden: Callable[[ObjectAsset], bool] | Container[str],
    count: int,
) -> list[str]:
    allowed = [
        item
        for item in PRODUCTS.values()
        if item.name not in required and not (forbidden(item) if callable(forbidden) else item.name in forbidden)
    ]
    names = list(required)
    has_container = any(find_asset(name).container for name in names)
    for index in rng.permutation(len(allowed)):
        item = allowed[index]
        if len(names) >= count:
            break
        if item.container and has_container:
            continue
        has_container |= item.container
        names.append(item.name)
        # Two alike, now and then, give relational sentences something to distinguish.
        if not item.container and len(names) < count and rng.random() < 0.08:
            names.append(item.name)
    if len(names) < count:
        raise invalid(f"Only {len(names)} items are allowed in the scene, {count} were asked for.")
    return names


_RESTARTS = 400
"""Arrangements that are tried before a scene is refused [-]."""
_PROPOSALS = 60
"""Poses that are tried for one object [-]; an arrangement without room for it begins again."""


def _arrange(
    rng: np.random.Generator,
    names: list[str],
    accept: Callable[[Sequence[PlacedObject]], bool] | None,
    pair: tuple[int, int] | None,
) -> tuple[PlacedObject, ...]:
    """Random poses that keep the promises: throw darts, start again when one object finds no room."""
    ids = object_ids(names)
    # Containers need the most room and a pair the most luck, so they choose first.
    order = sorted(range(len(names)), key=lambda k: (not find_asset(names[k]).container, k not in (pair or ())))
    for _ in range(_RESTARTS):
        table = _Table()
        for k in order:
            partner = pair[0] if pair and k == pair[1] else None
            if not table.add(rng, ids[k], names[k], None if partner is None else ids[partner]):
                break
        else:
            placed = {p.id: p for p in table.objects}
            objects = tuple(placed[object_id] for object_id in ids)
            if accept is None or accept(objects):
                return objects
    raise invalid(f"No arrangement of {len(names)} objects was found that keeps the free space around each.")


class _Table:
    """Objects placed so far, and where the table is still free."""

    def __init__(self) -> None:
        self.objects: list[PlacedObject] = []
        self.grid = reachable_grid(0.02)
        self.fields: list[FloatArray] = []
        self.outlines: list[FloatArray] = []

    def add(self, rng: np.random.Generator, object_id: str, item: str, beside: str | None) -> bool:
        """Find a pose for one more object, if wanted beside another; False if none keeps every promise."""
        spots = rng.permutation(self.grid)[:_PROPOSALS] + rng.uniform(-0.01, 0.01, (_PROPOSALS, 2))
        if beside is not None:
            (anchor,) = (placed.position_m[:2] for placed in self.objects if placed.id == beside)
            angle = rng.uniform(-math.pi, math.pi, _PROPOSALS)
            distance = rng.uniform(*PAIR_DISTANCE, _PROPOSALS)
            spots = np.asarray(anchor) + distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        half = find_asset(item).size_m[2] / 2
        for spot in spots:
            if not workspace.within_reach(spot):
                continue
            yaw = float(rng.uniform(-math.pi, math.pi))
            placed = PlacedObject(object_id, item, (float(spot[0]), float(spot[1]), half), yaw)
            outline = footprint(placed)
            if not self._fits(placed, outline):
                continue
            field = self._field(placed, outline)
            if self._promises_kept([*self.objects, placed], [*self.fields, field]):
                self.objects.append(placed)
                self.fields.append(field)
                self.outlines.append(outline)
                return True
        return False

    def _field(self, placed: PlacedObject, outline: FloatArray) -> FloatArray:
        """Distance of the grid's points from the object [m]; infinite where it is too far to matter."""
        offset = self.grid - np.asarray(placed.position_m[:2])
        near = np.abs(offset).max(axis=1) < placed.asset.outer_radius + FREE_RADIUS + FREE_GAP[1] + 0.01
        field = np.full(len(self.grid), np.inf)
        field[near] = distances(self.grid[near], outline)
        return field

    def _fits(self, placed: PlacedObject, outline: FloatArray) -> bool:
        for other, other_outline in zip(self.objects, self.outlines, strict=True):
            reach = placed.asset.outer_radius + other.asset.outer_radius + MIN_GAP
            far = math.dist(placed.position_m[:2], other.position_m[:2]) >= reach
            if not far and gap(outline, other_outline) < MIN_GAP:
                return False
            if _hides(placed, other) or _hides(other, placed):
                return False
        return True

    @staticmethod
    def _promises_kept(objects: list[PlacedObject], fields: list[FloatArray]) -> bool:
        grid = reachable_grid(0.02)
        near = np.stack(fields) < FREE_RADIUS + FREE_CLEARANCE
        blockers = near.sum(axis=0)
        for k, placed in enumerate(objects):
            if placed.asset.container:
                continue
            free = (blockers - near[k] == 0) & in_window(fields[k])
            if not (in_cones(grid - np.asarray(placed.position_m[:2])) & free).any(axis=1).all():
                return False
        return True


def _hides(front: PlacedObject, rear: PlacedObject) -> bool:
    """True if a tall object stands close before a lower one on the camera's line of sight."""
    height = front.asset.size_m[2]
    if height <= TALL or height <= rear.asset.size_m[2]:
        return False
    to_camera = workspace.SCENE_CAMERA_POSITION[:2] - np.asarray(rear.position_m[:2])
    to_camera = to_camera / np.linalg.norm(to_camera)
    offset = np.asarray(front.position_m[:2]) - np.asarray(rear.position_m[:2])
    radii = front.asset.outer_radius + rear.asset.outer_radius
    ahead = float(offset @ to_camera)
    aside = abs(float(offset[0] * to_camera[1] - offset[1] * to_camera[0]))
    return 0 < ahead < radii + SHADOW and aside < 0.6 * radii
