"""Scenes in YAML, read with errors that name file and line, and scenes as documents."""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import yaml
from scipy.spatial.transform import Rotation

from sim.objects.mesh_items import MESH_NUMBERS, mesh_item, mesh_of_item
from sim.objects.reading.notes import AXES
from sim.objects.sets import find_asset
from sim.scene.clutter import CLUTTER, Clutter, clutter_scene
from sim.scene.generator import generate_scene
from sim.scene.overlaps import DEEPEST_M, overlaps
from sim.scene.scenes import (
    LONGEST_ID,
    TABLE_RGB,
    UPRIGHT,
    PlacedObject,
    Quaternion,
    Scene,
    Vector3,
    footprint,
    object_ids,
    triple,
)
from tool_nodes import workspace
from tool_nodes.files import read_file
from tool_nodes.motion.robot_model import ROBOTS, load_robot
from tool_nodes.plain_yaml import PlainYamlError, YamlLimits, load
from tool_nodes.results import ToolError, invalid
from tool_nodes.types import FloatArray

EXAMPLE_SCENE = Path(__file__).with_name("example_scene.yaml")
"""The scene of the README."""


_LINE = "__line__"
_SCENE_KEYS = ("objects", "seed", "name", "light", "table_rgb", "camera_offset", "camera_turn")
_MESH_KEYS = ("mesh", "up", *MESH_NUMBERS)
"""What says that a thing is made of a mesh file, and how."""
_OBJECT_KEYS = ("name", "position", "id", "yaw_deg", "yaw", "quat_wxyz", "rotvec_deg", "grip", "weight", *_MESH_KEYS)
_FACTORS = {"grip": (0.001, 10.0), "weight": (0.001, 100.0)}
"""Least and greatest factors of the friction and the mass of a kind [-]: the physics is sound between them."""
_SHORTEST = 1e-3
"""Shortest quaternion that still is a rotation [-]; a round figure, since any length but zero is one."""
_MESH_SPAN = (1e-6, 1e5)
"""Least and greatest value of what is said of a mesh [SI]: from a mesh in micrometres to more than any density."""
_RESERVED_IDS = ("table", "floor", "gripper", "arm", "world")
_TABLE_X = (0.10, workspace.TABLE_X[1])
"""Towards the robot the table goes on beyond the area that is worked on; large containers may reach there [m]."""

_MAX_OBJECTS = 100
"""Objects of a scene: more than find room on the table beside each other."""
_LIMITS = YamlLimits(size=100_000, depth=8, nodes=10_000)
"""Limits of a scene file. The simulator reads one that is sent to it while its physics wait."""
_MAX_NAME = 200
"""Longest name of a scene [characters]: a line or two of a report hold it."""
_LONGEST_PATH = 4096
"""Linux takes no longer one [bytes]."""
_MAX_SEED = 2**63 - 1
"""Greatest seed: that of a signed 64-bit integer, which every reader of JSON and ROS can hold."""


def load_scene(path: str | Path) -> Scene:
    """Read a scene from a YAML file.

    The file has `objects`: a list of mappings with `name` (of the catalogue, or `set/name`; or `mesh`, the path of a
    mesh from the scene's folder, with `scale`, `up`, `mass`, `density` and `friction`), `position` ([x, y],
    on the table, or [x, y, z] of the centre, base frame [m]) and, if wanted, `yaw_deg` (or `yaw` [rad]), how it lies
    before that turns it (`quat_wxyz`, or a rotation vector `rotvec_deg`), `id`, `grip` and `weight` (factors of the
    friction and the mass of its kind). Things may touch and lie on each other. Optional beside them: `seed`, `name`,
    `light` ([x, y, z] [m]), `table_rgb` (three numbers 0..1), and what displaces the scene camera: `camera_offset`
    ([x, y, z] [m]) and `camera_turn` (rotation vector [rad]).

    Raises:
        ToolError: INVALID_ARGUMENT with one sentence that names file, line and what is allowed.
    """
    path = Path(path)
    return _scene(_document(_read(path), path.name), path)


def parse_scene(text: str, name: str = "scene.yaml") -> Scene:
    """The scene that a YAML text describes; see `load_scene`. `name` stands for the file's name in errors."""
    return _scene(_document(text, name), Path(name))


def scene_yaml(scene: Scene) -> str:
    """A YAML text from which `parse_scene` makes an equal scene, to the last bit."""
    document = {
        "name": scene.name,
        "seed": scene.seed,
        "light": list(scene.light_position_m),
        "table_rgb": list(scene.table_rgb),
        "camera_offset": list(scene.camera_jitter_m),
        "camera_turn": list(scene.camera_jitter_rad),
        "objects": [
            (mesh_of_item(placed.item) or {"name": placed.item})
            | {"id": placed.id, "position": list(placed.position_m), "yaw": placed.yaw}
            | ({} if placed.tilt_wxyz == UPRIGHT else {"quat_wxyz": list(placed.tilt_wxyz)})
            | {key: value for key in _FACTORS if (value := getattr(placed, key)) != 1.0}
            for placed in scene.objects
        ],
    }
    return yaml.safe_dump(document, sort_keys=False, default_flow_style=None)


def named_scene(name: str) -> Scene:
    """The scene that a user names: a seed such as "3", clutter such as "pile:17", a YAML file's path, or "example".

    Clutter is KIND:SEED, KIND:SEED:SETS or KIND:SEED:SETS:NUMBER, e.g. "pile:17:generated+catalogue:12"; see
    `sim.scene.clutter.clutter_scene`.

    Raises:
        ToolError: INVALID_ARGUMENT with one sentence that says what is allowed.
    """
    if name == "example":
        return load_scene(EXAMPLE_SCENE)
    if re.fullmatch("-?[0-9]{1,19}", name):
        if int(name) < 0:
            raise invalid(f"A scene seed must be 0 or greater, got {name}.")
        return generate_scene(int(name))
    if len(name) > _LONGEST_PATH or not Path(name).is_file():
        if name.partition(":")[0] in CLUTTER:
            return _named_clutter(name)
        raise invalid(
            f"There is no scene {name[:200]!r}: give a seed such as 3, clutter such as pile:17, the path of a YAML "
            "file, or example."
        )
    return load_scene(name)


def _named_clutter(name: str) -> Scene:
    words = name.split(":")
    numbers = [word for k, word in enumerate(words) if k in (1, 3)]
    if not 2 <= len(words) <= 4 or not all(re.fullmatch("[0-9]{1,18}", word) for word in numbers):
        raise invalid(
            f"{name[:200]!r} is no scene of clutter: give KIND:SEED, KIND:SEED:SETS or KIND:SEED:SETS:NUMBER, such as "
            f"pile:17:generated+catalogue:10; the kinds are {_listed(CLUTTER)}."
        )
    sets = words[2].split("+") if len(words) > 2 else ["generated"]
    return clutter_scene(cast(Clutter, words[0]), int(words[1]), sets, int(words[3]) if len(words) == 4 else None)


def _scene(document: dict[str, Any], path: Path) -> Scene:
    where = f"{path.name}, line {document[_LINE]}"
    _check_keys(document, _SCENE_KEYS, where)
    rows = document.get("objects")
    if not isinstance(rows, list) or not rows:
        raise invalid(f"{where}: objects must be a list with at least one object.")
    if len(rows) > _MAX_OBJECTS:
        raise invalid(f"{where}: objects may list {_MAX_OBJECTS} objects, not {len(rows)}.")
    items = [_item(row, f"{path.name}, objects {k}", path) for k, row in enumerate(rows, start=1)]
    names = [find_asset(item).name if mesh_of_item(item) else item for item in items]
    objects: list[PlacedObject] = []
    places: list[str] = []
    for row, item, default_id in zip(rows, items, object_ids(names), strict=True):
        place = f"{path.name}, line {row[_LINE]}"
        placed = _read_object(row, item, default_id, place)
        for other in objects:
            if other.id == placed.id:
                raise invalid(f'{place}: the id "{placed.id}" is used twice, ids must be unique.')
        objects.append(placed)
        places.append(place)
    for (later, earlier), depth in sorted(overlaps(objects).items()):
        raise invalid(
            f"{places[later]}: {objects[later].id} overlaps {objects[earlier].id} by {1000 * depth:.0f} mm, things may "
            f"touch and lie on each other, but reach into each other by no more than {1000 * DEEPEST_M:g} mm."
        )
    seed, name = document.get("seed", 0), document.get("name", path.stem)
    if type(seed) is not int or not 0 <= seed <= _MAX_SEED:
        raise invalid(f"{where}: seed must be a whole number from 0 to 2^63 - 1, not {reprlib.repr(seed)}.")
    if not isinstance(name, str) or len(name) > _MAX_NAME:
        raise invalid(f"{where}: name must be text of at most {_MAX_NAME} characters, not {reprlib.repr(name)}.")
    return Scene(
        seed=seed,
        objects=tuple(objects),
        light_position_m=triple(_numbers(document.get("light", [0.5, 0.0, 1.8]), "light", (3,), where)),
        camera_jitter_m=_camera_jitter(document, "camera_offset", where),
        camera_jitter_rad=_camera_jitter(document, "camera_turn", where),
        table_rgb=triple(
            _numbers(document.get("table_rgb", list(TABLE_RGB[0])), "table_rgb", (3,), where, span=(0.0, 1.0))
        ),
        name=name,
    )


def scene_document(scene: Scene) -> dict[str, Any]:
    """The scene as plain data for JSON. Two objects share a name only if they look the same."""
    return {"seed": scene.seed, "name": scene.name, "objects": [_object_document(placed) for placed in scene.objects]}


def _object_document(placed: PlacedObject) -> dict[str, Any]:
    asset = placed.asset
    return {
        "id": placed.id,
        "name": placed.item,
        "kind": asset.kind,
        "colour": asset.colour,
        "synonyms": list(asset.synonyms),
        "position_m": [round(v, 4) for v in placed.position_m],
        "size_m": list(asset.size_m),
        "yaw_deg": round(math.degrees(placed.yaw), 2),
        "container": asset.container,
        "mass_kg": placed.weight * asset.mass_kg,
    } | ({} if placed.tilt_wxyz == UPRIGHT else {"quat_wxyz": [round(v, 6) for v in placed.quat_wxyz.tolist()]})


def valid_object_id(text: str) -> bool:
    """True if an object may have this id: letters, digits and underscores, no word with a meaning, no link's name."""
    plain = len(text) <= LONGEST_ID and text.replace("_", "a").isalnum()
    return plain and text not in _RESERVED_IDS and text not in _robot_links()


@cache
def _robot_links() -> frozenset[str]:
    return frozenset(link for name in ROBOTS for link in load_robot(name).link_names())


def _camera_jitter(document: dict[str, Any], key: str, where: str) -> Vector3:
    return triple(_numbers(document.get(key, [0.0, 0.0, 0.0]), key, (3,), where, span=(-0.5, 0.5)))


def _read(path: Path) -> bytes:
    try:
        return read_file(path, _LIMITS.size)
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise invalid(f"{path.name} cannot be read ({reason}), give the path of a scene's YAML file.") from error


def _document(raw: str | bytes, name: str) -> dict[str, Any]:
    try:
        document = load(raw, _LIMITS, line_key=_LINE)
    except PlainYamlError as error:
        line = "" if error.line is None else f", line {error.line}"
        raise invalid(f"{name}{line}: this is not valid YAML for a scene ({error.problem}).") from error
    if not isinstance(document, dict):
        raise invalid(f"{name}, line 1: a scene file must be a mapping with {_listed(_SCENE_KEYS)}.")
    return document


def _item(row: Any, where: str, path: Path) -> str:
    """The name of the thing of a row, as `PlacedObject.item` has it."""
    if not isinstance(row, dict):
        raise invalid(f"{where}: an object must be a mapping with {_listed(_OBJECT_KEYS)}, not {reprlib.repr(row)}.")
    where = f"{path.name}, line {row[_LINE]}"
    _check_keys(row, _OBJECT_KEYS, where)
    name = row.get("name")
    if said := [key for key in _MESH_KEYS if key in row]:
        if name is not None or not isinstance(row.get("mesh"), str):
            raise invalid(f"{where}: {said[0]} belongs to a thing that has mesh, the path of a file, and no name.")
        name = _mesh(row, where, path)
    if not isinstance(name, str):
        raise invalid(f'{where}: an object needs a name from the catalogue, such as "red box", or set/name.')
    try:
        find_asset(name)
    except ToolError as error:
        raise ToolError(error.code, f"{where}: {error.message}", error.hint) from error
    return name


def _mesh(row: dict[str, Any], where: str, path: Path) -> str:
    said: dict[str, Any] = {
        key: float(_numbers([row[key]], key, (1,), where, _MESH_SPAN)[0]) for key in MESH_NUMBERS if key in row
    }
    if "up" in row:
        said["up"] = row["up"]
        if row["up"] not in AXES:
            raise invalid(f"{where}: up must be one of {', '.join(AXES)}, not {reprlib.repr(row['up'])}.")
    try:
        return mesh_item(path.parent / row["mesh"][:_LONGEST_PATH], said)
    except ToolError as error:
        raise ToolError(error.code, f"{where}: {error.message}", error.hint) from error


def _read_object(row: dict[str, Any], item: str, default_id: str, where: str) -> PlacedObject:
    object_id = row.get("id", default_id)
    if not isinstance(object_id, str) or not valid_object_id(object_id):
        raise invalid(
            f"{where}: id must be at most {LONGEST_ID} letters, digits and underscores, no link of the robot and none "
            f"of {_listed(_RESERVED_IDS)}, not {reprlib.repr(object_id)}."
        )
    if "position" not in row:
        raise invalid(f"{where}: {object_id} needs a position, [x, y] or [x, y, z] in metres.")
    position = _numbers(row["position"], "position", (2, 3), where)
    if "yaw" in row and "yaw_deg" in row:
        raise invalid(f"{where}: {object_id} has yaw and yaw_deg, give one of them.")
    (yaw_deg,) = _numbers([row.get("yaw_deg", 0.0)], "yaw_deg", (1,), where)
    (yaw,) = _numbers([row.get("yaw", math.radians(yaw_deg))], "yaw", (1,), where)
    grip, weight = (float(_numbers([row.get(key, 1.0)], key, (1,), where, _FACTORS[key])[0]) for key in _FACTORS)
    x, y = float(position[0]), float(position[1])
    tilt = _tilt(row, where)
    placed = PlacedObject(object_id, item, (x, y, 0.0), float(yaw), grip, weight, tilt)
    half = -placed.heights[0]
    z = float(position[2]) if len(position) == 3 else workspace.TABLE_Z + half
    if not workspace.TABLE_Z + half - DEEPEST_M <= z <= workspace.TABLE_Z + 0.5:
        raise invalid(f"{where}: the centre of {object_id} must be from {half:g} to 0.5 m above the table, not {z:g}.")
    placed = replace(placed, position_m=(x, y, z))
    outline = footprint(placed)
    for axis, (low, high) in enumerate((_TABLE_X, workspace.TABLE_Y)):
        if outline[:, axis].min() < low or outline[:, axis].max() > high:
            letter = "xy"[axis]
            raise invalid(
                f"{where}: {object_id} is off the table, all of it must lie within {letter} = {low:g}..{high:g} m."
            )
    return placed


def _tilt(row: dict[str, Any], where: str) -> Quaternion:
    """How a thing lies: `quat_wxyz`, or the rotation vector `rotvec_deg`."""
    if "quat_wxyz" in row and "rotvec_deg" in row:
        raise invalid(f"{where}: quat_wxyz and rotvec_deg say the same, give one of them.")
    if "rotvec_deg" in row:
        turn = np.radians(_numbers(row["rotvec_deg"], "rotvec_deg", (3,), where))
        x, y, z, w = Rotation.from_rotvec(turn).as_quat().tolist()
        return w, x, y, z
    w, x, y, z = _numbers(row.get("quat_wxyz", list(UPRIGHT)), "quat_wxyz", (4,), where).tolist()
    if math.hypot(w, x, y, z) < _SHORTEST:
        raise invalid(f"{where}: quat_wxyz must be a rotation (w, x, y, z), not {[w, x, y, z]}.")
    return w, x, y, z


def _check_keys(mapping: dict[str, Any], allowed: Sequence[str], where: str) -> None:
    for key in mapping:
        if key != _LINE and key not in allowed:
            raise invalid(f'{where}: "{key[:LONGEST_ID]}" is not allowed here, the keys are {_listed(allowed)}.')


def _numbers(
    value: Any, field: str, lengths: tuple[int, ...], where: str, span: tuple[float, float] = (-1e3, 1e3)
) -> FloatArray:
    if isinstance(value, list) and len(value) in lengths:
        plain = all(isinstance(v, int | float) and not isinstance(v, bool) for v in value)
        if plain and all(span[0] <= v <= span[1] for v in value):
            return np.asarray(value, dtype=float)
    amount = " or ".join(str(n) for n in lengths)
    shown = value[0] if lengths == (1,) else value
    raise invalid(
        f"{where}: {field} must be {amount} finite number{'s' if lengths != (1,) else ''} "
        f"from {span[0]:g} to {span[1]:g}, not {reprlib.repr(shown)}."
    )


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"
