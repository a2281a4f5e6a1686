"""Scenes: what stands on the table and where, generated from a seed or read from YAML."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import yaml
from scipy.spatial import ConvexHull

from sim.objects import cavity, hull_points
from tool_nodes import workspace
from tool_nodes.catalogue import CatalogueItem, load_catalogue, nearest_names
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import FloatArray

Side = Literal["left", "right", "front", "behind"]

SIDES: dict[Side, tuple[float, float]] = {
    "left": (0.0, -1.0),
    "right": (0.0, 1.0),
    "front": (1.0, 0.0),
    "behind": (-1.0, 0.0),
}
"""Directions (x, y) in the base frame as the scene camera, opposite the robot, sees them."""

FREE_RADIUS = 0.045
"""Radius of the disc of free table promised on each side of an object [m]."""

FREE_GAP = (0.015, 0.09)
"""Gap from the object's edge to that disc's edge [m]."""

FREE_CLEARANCE = 0.01
"""Least gap from that disc to everything else [m]."""

MIN_GAP = 0.05
"""Least edge-to-edge gap between generated objects, so that fingers fit [m]."""

TALL = 0.12
SHADOW = 0.12
"""Nothing taller than TALL stands within SHADOW on the camera's side of something lower [m]."""

PAIR_DISTANCE = (0.10, 0.145)
"""Distance between the centres of two objects that stand as a group [m]."""

EXAMPLE_SCENE = Path(__file__).with_name("example_scene.yaml")
"""The scene of the README."""

MAX_OBJECTS = 9
_CONE = math.radians(44.0)
_TABLE_RGB = ((0.62, 0.58, 0.53), (0.50, 0.52, 0.55), (0.42, 0.40, 0.39))

Vector3 = tuple[float, float, float]


@dataclass(frozen=True)
class PlacedObject:
    """One object of a scene.

    Attributes:
        id: Unique in the scene, e.g. "coconut_water_1".
        item: Name in the catalogue, e.g. "coconut water".
        position_m: Body origin (centre of the bounding box) in the base frame [m].
        yaw: Rotation about z [rad].
    """

    id: str
    item: str
    position_m: Vector3
    yaw: float

    @property
    def product(self) -> CatalogueItem:
        """Its entry in the catalogue."""
        return load_catalogue()[self.item]


@dataclass(frozen=True)
class Scene:
    """What stands on the table, and what varies around it.

    Attributes:
        seed: Where it came from.
        objects: In the order of their index.
        light_position_m: Of the lamp, base frame [m].
        camera_jitter_m: Added to the scene camera's nominal position [m].
        camera_jitter_rad: Small rotation vector of the scene camera [rad].
        table_rgb: 0..1.
        name: For people.
    """

    seed: int
    objects: tuple[PlacedObject, ...]
    light_position_m: Vector3
    camera_jitter_m: Vector3
    camera_jitter_rad: Vector3
    table_rgb: Vector3
    name: str

    def find(self, object_id: str) -> PlacedObject:
        """The object with an id. Raises ToolError INVALID_ARGUMENT if there is none."""
        for placed in self.objects:
            if placed.id == object_id:
                return placed
        known = ", ".join(placed.id for placed in self.objects)
        raise _invalid(f'There is no object "{object_id}" in the scene, there are {known}.')


# ---- Footprints: convex polygons (K, 2), counter-clockwise, in the base frame [m] ----


def footprint(placed: PlacedObject) -> FloatArray:
    """The object's outline on the table, (K, 2) counter-clockwise [m]."""
    c, s = math.cos(placed.yaw), math.sin(placed.yaw)
    return _outline(placed.item) @ np.array([[c, s], [-s, c]]) + np.asarray(placed.position_m[:2])


@cache
def _outline(item: str) -> FloatArray:
    return convex_outline(hull_points(item)[:, :2])


def convex_outline(points: FloatArray) -> FloatArray:
    """Convex hull of points (N, 2), counter-clockwise."""
    return points[ConvexHull(points).vertices]


def distances(points: FloatArray, polygon: FloatArray) -> FloatArray:
    """Distance (N,) from points (N, 2) to a convex polygon (K, 2), 0 inside it [m]."""
    edge = np.roll(polygon, -1, axis=0) - polygon
    offset = points[:, None] - polygon
    along = np.einsum("nkd,kd->nk", offset, edge) / np.einsum("kd,kd->k", edge, edge)
    nearest = offset - np.clip(along, 0, 1)[..., None] * edge
    distance = np.sqrt(np.einsum("nkd,nkd->nk", nearest, nearest).min(axis=1))
    inside = (edge[:, 0] * offset[..., 1] - edge[:, 1] * offset[..., 0] >= 0).all(axis=1)
    return np.where(inside, 0.0, distance)


def gap(a: FloatArray, b: FloatArray) -> float:
    """Edge-to-edge gap between two convex polygons; 0 or less if they overlap [m]."""
    separation = max(_separation(a, b), _separation(b, a))
    if separation <= 0:
        return separation
    return float(min(distances(a, b).min(), distances(b, a).min()))


def _separation(a: FloatArray, b: FloatArray) -> float:
    """The widest gap along an outward edge normal of a; overlapping polygons have none above 0."""
    edge = np.roll(a, -1, axis=0) - a
    normal = np.stack([edge[:, 1], -edge[:, 0]], axis=1) / np.linalg.norm(edge, axis=1, keepdims=True)
    return float(((b @ normal.T).min(axis=0) - np.einsum("kd,kd->k", a, normal)).max())


# ---- Free table beside an object ----


def free_side(scene: Scene, object_id: str, side: Side) -> FloatArray | None:
    """A reachable spot of free table on one side of an object, as the scene camera sees sides.

    Args:
        scene: The scene.
        object_id: The object.
        side: "left", "right", "front" (nearer the camera) or "behind".

    Returns:
        Centre (2,) of a free disc of radius FREE_RADIUS [m], the one straightest to that side; None if there is none.
    """
    placed = scene.find(object_id)
    grid = reachable_grid(0.01)
    centre, direction = np.asarray(placed.position_m[:2]), np.asarray(SIDES[side])
    close = np.linalg.norm(grid - centre, axis=1) <= _radius(placed.item) + FREE_RADIUS + FREE_GAP[1]
    grid = grid[close & _in_cones(grid - centre)[list(SIDES).index(side)]]
    grid = grid[_in_window(distances(grid, footprint(placed)))]
    for other in scene.objects:
        if other.id != placed.id:
            grid = grid[distances(grid, footprint(other)) >= FREE_RADIUS + FREE_CLEARANCE]
    if not len(grid):
        return None
    offset = grid - centre
    straightness = offset @ direction / np.linalg.norm(offset, axis=1)
    return cast(FloatArray, grid[np.argmax(straightness)])


@cache
def reachable_grid(step: float) -> FloatArray:
    """Points (G, 2) of the table within reach."""
    x, y = (np.arange(low, high, step) for low, high in (workspace.TABLE_X, workspace.TABLE_Y))
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    return points[[workspace.within_reach(point) for point in points]]


def _in_window(own: FloatArray) -> FloatArray:
    return cast(FloatArray, (own >= FREE_RADIUS + FREE_GAP[0]) & (own <= FREE_RADIUS + FREE_GAP[1]))


def _in_cones(offset: FloatArray) -> FloatArray:
    """bool (4, N): which offsets (N, 2) lie within the cone of each side."""
    along = np.asarray(list(SIDES.values())) @ offset.T
    return cast(FloatArray, along >= math.cos(_CONE) * np.linalg.norm(offset, axis=1))


# ---- Generation ----


def generate_scene(
    seed: int,
    required: Sequence[str] = (),
    forbidden: Callable[[CatalogueItem], bool] | Container[str] = (),
    n_objects: int | None = None,
    arrangement_ok: Callable[[Sequence[PlacedObject]], bool] | None = None,
    pair: tuple[int, int] | None = None,
) -> Scene:
    """A random scene in which every object that is no container can be gripped and placed beside.

    Args:
        seed: Decides everything; the same arguments give the same scene.
        required: Catalogue names that must be there; a name given twice is there twice.
        forbidden: Which other items may not be there: names, or a function of the item.
        n_objects: How many; 7 to 9 at random where None.
        arrangement_ok: A further condition on the finished arrangement.
        pair: Indices into `required` of two objects that stand as a group, their centres PAIR_DISTANCE apart.

    Raises:
        ToolError: INVALID_ARGUMENT for unknown names or more objects than fit.
    """
    rng = np.random.default_rng(seed)
    catalogue = load_catalogue()
    for name in required:
        if name not in catalogue:
            raise _invalid(f'"{name}" is not in the catalogue, the nearest names are {nearest_names(name, catalogue)}.')
    low = max(7, len(required))
    count = n_objects if n_objects is not None else int(rng.integers(low, max(MAX_OBJECTS, low) + 1))
    if not max(1, len(required)) <= count <= MAX_OBJECTS:
        raise _invalid(f"A generated scene has from {max(1, len(required))} to {MAX_OBJECTS} objects, not {count}.")
    names = _choose_items(rng, required, forbidden, count)
    objects = _arrange(rng, names, arrangement_ok, pair)
    shade = np.asarray(_TABLE_RGB[rng.integers(len(_TABLE_RGB))]) + rng.uniform(-0.03, 0.03)
    return Scene(
        seed=seed,
        objects=objects,
        light_position_m=_triple(np.array([0.5, 0.0, 1.8]) + rng.uniform(-0.4, 0.4, 3)),
        camera_jitter_m=_triple(rng.uniform(-0.01, 0.01, 3)),
        camera_jitter_rad=_triple(rng.uniform(-1, 1, 3) * math.radians(1.0)),
        table_rgb=_triple(shade),
        name=f"scene {seed}",
    )


def _choose_items(
    rng: np.random.Generator,
    required: Sequence[str],
    forbidden: Callable[[CatalogueItem], bool] | Container[str],
    count: int,
) -> list[str]:
    catalogue = load_catalogue()
    allowed = [
        item
        for item in catalogue.values()
        if item.name not in required and not (forbidden(item) if callable(forbidden) else item.name in forbidden)
    ]
    names = list(required)
    has_container = any(catalogue[name].container for name in names)
    for index in rng.permutation(len(allowed)):
        item = allowed[index]
        if len(names) >= count:
            break
        if item.container and has_container:
            continue
        has_container |= item.container
        names.append(item.name)
        # Two alike, now and then, give relational sentences something to tell apart.
        if not item.container and len(names) < count and rng.random() < 0.08:
            names.append(item.name)
    if len(names) < count:
        raise _invalid(f"Only {len(names)} items are allowed in the scene, {count} were asked for.")
    return names


_RESTARTS = 400
_PROPOSALS = 60


def _arrange(
    rng: np.random.Generator,
    names: list[str],
    accept: Callable[[Sequence[PlacedObject]], bool] | None,
    pair: tuple[int, int] | None,
) -> tuple[PlacedObject, ...]:
    """Random poses that keep the promises: throw darts, start again when one object finds no room."""
    ids = object_ids(names)
    catalogue = load_catalogue()
    # Containers need the most room and a pair the most luck, so they choose first.
    order = sorted(range(len(names)), key=lambda k: (not catalogue[names[k]].container, k not in (pair or ())))
    for _ in range(_RESTARTS):
        table = _Table()
        for k in order:
            partner = pair[0] if pair and k == pair[1] else None
            if not table.add(rng, ids[k], catalogue[names[k]], None if partner is None else ids[partner]):
                break
        else:
            placed = {p.id: p for p in table.objects}
            objects = tuple(placed[object_id] for object_id in ids)
            if accept is None or accept(objects):
                return objects
    raise _invalid(f"No arrangement of {len(names)} objects was found that keeps the free space around each.")


class _Table:
    """Objects placed so far, and where the table is still free."""

    def __init__(self) -> None:
        self.objects: list[PlacedObject] = []
        self.grid = reachable_grid(0.02)
        self.fields: list[FloatArray] = []
        self.outlines: list[FloatArray] = []

    def add(self, rng: np.random.Generator, object_id: str, item: CatalogueItem, beside: str | None) -> bool:
        """Find a pose for one more object, if wanted beside another; False if none keeps every promise."""
        spots = rng.permutation(self.grid)[:_PROPOSALS] + rng.uniform(-0.01, 0.01, (_PROPOSALS, 2))
        if beside is not None:
            (anchor,) = (placed.position_m[:2] for placed in self.objects if placed.id == beside)
            angle = rng.uniform(-math.pi, math.pi, _PROPOSALS)
            distance = rng.uniform(*PAIR_DISTANCE, _PROPOSALS)
            spots = np.asarray(anchor) + distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        for spot in spots:
            if not workspace.within_reach(spot):
                continue
            yaw = float(rng.uniform(-math.pi, math.pi))
            placed = PlacedObject(object_id, item.name, (float(spot[0]), float(spot[1]), item.size_m[2] / 2), yaw)
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
        near = np.abs(offset).max(axis=1) < _radius(placed.item) + FREE_RADIUS + FREE_GAP[1] + 0.01
        field = np.full(len(self.grid), np.inf)
        field[near] = distances(self.grid[near], outline)
        return field

    def _fits(self, placed: PlacedObject, outline: FloatArray) -> bool:
        for other, other_outline in zip(self.objects, self.outlines, strict=True):
            reach = _radius(placed.item) + _radius(other.item) + MIN_GAP
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
            if placed.product.container:
                continue
            free = (blockers - near[k] == 0) & _in_window(fields[k])
            if not (_in_cones(grid - np.asarray(placed.position_m[:2])) & free).any(axis=1).all():
                return False
        return True


@cache
def _radius(item: str) -> float:
    return float(np.linalg.norm(_outline(item), axis=1).max())


def _hides(front: PlacedObject, rear: PlacedObject) -> bool:
    """True if a tall object stands close before a lower one on the camera's line of sight."""
    height = front.product.size_m[2]
    if height <= TALL or height <= rear.product.size_m[2]:
        return False
    to_camera = workspace.SCENE_CAMERA_POSITION[:2] - np.asarray(rear.position_m[:2])
    to_camera = to_camera / np.linalg.norm(to_camera)
    offset = np.asarray(front.position_m[:2]) - np.asarray(rear.position_m[:2])
    radii = _radius(front.item) + _radius(rear.item)
    ahead = float(offset @ to_camera)
    aside = abs(float(offset[0] * to_camera[1] - offset[1] * to_camera[0]))
    return 0 < ahead < radii + SHADOW and aside < 0.6 * radii


def object_ids(names: Sequence[str]) -> list[str]:
    """One id per name, e.g. "red_box_1": counted from 1 per name, in order."""
    seen: Counter[str] = Counter()
    ids = []
    for name in names:
        seen[name] += 1
        ids.append(f"{name.replace(' ', '_')}_{seen[name]}")
    return ids


def _triple(values: FloatArray) -> Vector3:
    x, y, z = (float(v) for v in values)
    return x, y, z


def _invalid(message: str, hint: str = "") -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENT, message, hint)


# ---- Files ----


class _LineLoader(yaml.SafeLoader):
    """Loads plain data only and keeps the line on which each mapping starts."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep=deep)
        mapping[_LINE] = node.start_mark.line + 1
        return mapping


_LINE = "__line__"
_SCENE_KEYS = ("objects", "seed", "name", "light", "table_rgb")
_OBJECT_KEYS = ("name", "position", "id", "yaw_deg")
_RESERVED_IDS = ("table", "floor", "gripper", "arm", "world")
_MAX_BYTES = 1_000_000


def load_scene(path: str | Path) -> Scene:
    """Read a scene from a YAML file.

    The file has `objects`: a list of mappings with `name` (of the catalogue), `position` ([x, y], standing on the
    table, or [x, y, z] of the centre, base frame [m]) and, if wanted, `yaw_deg` and `id`. Optional beside them:
    `seed`, `name`, `light` ([x, y, z] [m]) and `table_rgb` (three numbers 0..1).

    Raises:
        ToolError: INVALID_ARGUMENT with one sentence that names file, line and what is allowed.
    """
    path = Path(path)
    document = _read(path)
    where = f"{path.name}, line {document[_LINE]}"
    _check_keys(document, _SCENE_KEYS, where)
    rows = document.get("objects")
    if not isinstance(rows, list) or not rows:
        raise _invalid(f"{where}: objects must be a list with at least one object.")
    names = [_object_name(row, f"{path.name}, objects {k}", path.name) for k, row in enumerate(rows, start=1)]
    objects: list[PlacedObject] = []
    for row, default_id in zip(rows, object_ids(names), strict=True):
        place = f"{path.name}, line {row[_LINE]}"
        placed = _read_object(row, default_id, place)
        for other in objects:
            if other.id == placed.id:
                raise _invalid(f'{place}: the id "{placed.id}" is used twice, ids must be unique.')
            if _overlap(placed, other):
                raise _invalid(f"{place}: {placed.id} overlaps {other.id}, objects must not touch each other.")
        objects.append(placed)
    seed, name = document.get("seed", 0), document.get("name", path.stem)
    if type(seed) is not int or seed < 0:
        raise _invalid(f"{where}: seed must be a whole number from 0, not {seed!r}.")
    if not isinstance(name, str):
        raise _invalid(f"{where}: name must be text, not {name!r}.")
    return Scene(
        seed=seed,
        objects=tuple(objects),
        light_position_m=_triple(_numbers(document.get("light", [0.5, 0.0, 1.8]), "light", (3,), where)),
        camera_jitter_m=(0.0, 0.0, 0.0),
        camera_jitter_rad=(0.0, 0.0, 0.0),
        table_rgb=_triple(
            _numbers(document.get("table_rgb", list(_TABLE_RGB[0])), "table_rgb", (3,), where, span=(0.0, 1.0))
        ),
        name=name,
    )


def scene_document(scene: Scene) -> dict[str, Any]:
    """The scene as plain data for JSON. Two objects share a name only if they look the same."""
    return {"seed": scene.seed, "name": scene.name, "objects": [_object_document(placed) for placed in scene.objects]}


def _object_document(placed: PlacedObject) -> dict[str, Any]:
    item = placed.product
    return {
        "id": placed.id,
        "name": item.name,
        "kind": item.kind,
        "colour": item.colour,
        "synonyms": list(item.synonyms),
        "position_m": [round(v, 4) for v in placed.position_m],
        "size_m": list(item.size_m),
        "yaw_deg": round(math.degrees(placed.yaw), 2),
        "container": item.container,
        "mass_kg": item.mass_kg,
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise _invalid(f"{path.name} cannot be read ({reason}), give the path of a scene's YAML file.") from error
    if len(raw) > _MAX_BYTES:
        raise _invalid(f"{path.name} is too large, a scene file has at most {_MAX_BYTES} bytes.")
    try:
        # A loader for plain data only: no tag of the file can build anything else.
        document = yaml.load(raw.decode("utf-8"), Loader=_LineLoader)
    except UnicodeDecodeError as error:
        raise _invalid(f"{path.name} is not text, a scene file is YAML in UTF-8.") from error
    except RecursionError as error:
        raise _invalid(
            f"{path.name} is nested too deeply, a scene is a mapping with {_listed(_SCENE_KEYS)}."
        ) from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it holds characters that YAML does not allow"
        raise _invalid(f"{path.name}{line}: this is not valid YAML ({problem}).") from error
    except (ValueError, TypeError) as error:
        raise _invalid(f"{path.name} holds a value that YAML cannot read ({error}).") from error
    if not isinstance(document, dict):
        raise _invalid(f"{path.name}, line 1: a scene file must be a mapping with {_listed(_SCENE_KEYS)}.")
    return document


def _object_name(row: Any, where: str, file: str) -> str:
    if not isinstance(row, dict):
        raise _invalid(f"{where}: an object must be a mapping with {_listed(_OBJECT_KEYS)}, not {row!r}.")
    where = f"{file}, line {row[_LINE]}"
    _check_keys(row, _OBJECT_KEYS, where)
    name, catalogue = row.get("name"), load_catalogue()
    if not isinstance(name, str):
        raise _invalid(
            f"{where}: an object needs a name from the catalogue, such as {nearest_names('box', catalogue)}."
        )
    if name not in catalogue:
        near = nearest_names(name, catalogue)
        raise _invalid(f'{where}: "{name}" is not in the catalogue, the nearest names are {near}.')
    return name


def _read_object(row: dict[str, Any], default_id: str, where: str) -> PlacedObject:
    item = load_catalogue()[row["name"]]
    object_id = row.get("id", default_id)
    if not isinstance(object_id, str) or not object_id.replace("_", "a").isalnum() or object_id in _RESERVED_IDS:
        raise _invalid(
            f"{where}: id must be letters, digits and underscores and none of {_listed(_RESERVED_IDS)}, "
            f"not {object_id!r}."
        )
    if "position" not in row:
        raise _invalid(f"{where}: {object_id} needs a position, [x, y] or [x, y, z] in metres.")
    position = _numbers(row["position"], "position", (2, 3), where)
    (yaw_deg,) = _numbers([row.get("yaw_deg", 0.0)], "yaw_deg", (1,), where)
    half = item.size_m[2] / 2
    z = float(position[2]) if len(position) == 3 else workspace.TABLE_Z + half
    if not workspace.TABLE_Z + half - 1e-3 <= z <= workspace.TABLE_Z + 0.5:
        raise _invalid(f"{where}: the centre of {object_id} must be from {half:g} to 0.5 m above the table, not {z:g}.")
    placed = PlacedObject(object_id, item.name, (float(position[0]), float(position[1]), z), math.radians(yaw_deg))
    outline = footprint(placed)
    for axis, (low, high) in enumerate((workspace.TABLE_X, workspace.TABLE_Y)):
        if outline[:, axis].min() < low or outline[:, axis].max() > high:
            letter = "xy"[axis]
            raise _invalid(
                f"{where}: {object_id} is off the table, all of it must lie within {letter} = {low:g}..{high:g} m."
            )
    return placed


def _overlap(a: PlacedObject, b: PlacedObject) -> bool:
    apart = abs(a.position_m[2] - b.position_m[2]) >= (a.product.size_m[2] + b.product.size_m[2]) / 2 - 1e-3
    return not apart and gap(footprint(a), footprint(b)) <= 0 and not (_holds(a, b) or _holds(b, a))


def _holds(outer: PlacedObject, inner: PlacedObject) -> bool:
    """True if inner stands inside the container outer."""
    inside = cavity(outer.product)
    if inside is None:
        return False
    c, s = math.cos(outer.yaw), math.sin(outer.yaw)
    local = (footprint(inner) - np.asarray(outer.position_m[:2])) @ np.array([[c, -s], [s, c]])
    bottom = inner.position_m[2] - inner.product.size_m[2] / 2 - outer.position_m[2]
    return bottom >= inside.floor_z - 1e-3 and all(inside.contains(point) for point in local)


def _check_keys(mapping: dict[str, Any], allowed: Sequence[str], where: str) -> None:
    for key in mapping:
        if key != _LINE and key not in allowed:
            raise _invalid(f'{where}: "{key}" is not allowed here, the keys are {_listed(allowed)}.')


def _numbers(
    value: Any, field: str, lengths: tuple[int, ...], where: str, span: tuple[float, float] = (-1e3, 1e3)
) -> FloatArray:
    if isinstance(value, list) and len(value) in lengths:
        plain = all(isinstance(v, int | float) and not isinstance(v, bool) for v in value)
        if plain and all(span[0] <= v <= span[1] for v in value):
            return np.asarray(value, dtype=float)
    amount = " or ".join(str(n) for n in lengths)
    shown = value[0] if lengths == (1,) else value
    raise _invalid(
        f"{where}: {field} must be {amount} finite number{'s' if lengths != (1,) else ''} "
        f"from {span[0]:g} to {span[1]:g}, not {shown!r}."
    )


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"
