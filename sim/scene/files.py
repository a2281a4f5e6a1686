"""Scenes in YAML, read with errors that name file and line, and scenes as documents."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import yaml
from annotated_types import Interval, Len
from scipy.spatial.transform import Rotation

from toolhand.sim.objects.mesh_items import MESH_NUMBERS, mesh_item, mesh_of_item
from toolhand.sim.objects.reading.notes import UpAxis
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.clutter import CLUTTER, Clutter, clutter_scene
from toolhand.sim.scene.generator import generate_scene
from toolhand.sim.scene.overlaps import DEEPEST_M, overlaps
from toolhand.sim.scene.scenes import (
    LONGEST_ID,
    TABLE_RGB,
    UPRIGHT,
    PlacedObject,
    Quaternion,
    Scene,
    footprint,
    object_ids,
)
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.files import read_file, why
from toolhand.tool_nodes.motion.robot_model import ROBOTS, load_robot
from toolhand.tool_nodes.plain_yaml import YamlLimits
from toolhand.tool_nodes.records import LINE, Rule, placed_record, yaml_document
from toolhand.tool_nodes.results import ToolError, invalid

EXAMPLE_SCENE = Path(__file__).with_name("example_scene.yaml")
"""The scene of the README."""


_MESH_KEYS = ("mesh", "up", *MESH_NUMBERS)
"""What says that an object is made of a mesh file, and how."""
_FACTORS = {"grip": (0.001, 10.0), "weight": (0.001, 100.0)}
"""Least and greatest factors of the friction and the mass of a kind [-]: the physics is sound between them."""
_SHORTEST = 1e-3
"""Shortest quaternion that still is a rotation [-]; a round figure, since any length but zero is one."""
_RESERVED_IDS = ("table", "floor", "gripper", "arm", "world")
_TABLE_X = (0.10, workspace.TABLE_X[1])
"""Towards the robot the table goes on beyond the area that is worked on; large containers may reach there [m]."""

_MAX_OBJECTS = 100
"""Objects of a scene: more than find room on the table beside each other."""
_LIMITS = YamlLimits(size=100_000, depth=8, nodes=10_000)
"""YamlLimits of a scene file. The simulator reads one that is sent to it while its physics wait."""
_MAX_NAME = 200
"""Longest name of a scene [characters]: a line or two of a report hold it."""
_LONGEST_PATH = 4096
"""Linux takes no longer one [bytes]."""


def load_scene(path: str | Path) -> Scene:
    """Read a scene from a YAML file.

    The file has `objects`: a list of mappings with `name` (of the catalogue, or `set/name`; or `mesh`, the path of a
    mesh from the scene's folder, with `scale`, `up`, `mass`, `density` and `friction`), `position` ([x, y],
    on the table, or [x, y, z] of the centre, base frame [m]) and, if wanted, `yaw_deg` (or `yaw` [rad]), how it lies
    before that turns it (`quat_wxyz`, or a rotation vector `rotvec_deg`), `id`, `grip` and `weight` (factors of the
    friction and the mass of its kind). Objects may touch and lie on each other. Optional beside them: `seed`, `name`,
    `light` ([x, y, z] [m]), `table_rgb` (three numbers 0..1), and what displaces the scene camera: `camera_offset`
    ([x, y, z] [m]) and `camera_turn` (rotation vector [rad]).

    Raises:
        ToolError: INVALID_ARGUMENT with one sentence that names file, line and what is allowed.
    """
    path = Path(path)
    try:
        text = read_file(path, _LIMITS.size)
    except OSError as error:
        raise invalid(f"{path.name} cannot be read ({why(error)}), give the path of a scene's YAML file.") from error
    return _scene(text, path)


def parse_scene(text: str, name: str = "scene.yaml") -> Scene:
    """The scene that a YAML text describes; see `load_scene`. `name` stands for the file's name in errors."""
    return _scene(text, Path(name))


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
    `toolhand.sim.scene.clutter.clutter_scene`.

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


_Number = Annotated[float, Interval(ge=-1e3, le=1e3)]
_MeshNumber = Annotated[float, Interval(ge=1e-6, le=1e5)]
"""What is said of a mesh [SI]: from a mesh in micrometres to more than any density."""
_Triple = tuple[_Number, _Number, _Number]
_Half = Annotated[float, Interval(ge=-0.5, le=0.5)]
_Offset = tuple[_Half, _Half, _Half]
_Name = Annotated[str, Rule(f"text of at most {_MAX_NAME} characters", lambda text: len(text) <= _MAX_NAME)]
_Share = Annotated[float, Interval(ge=0.0, le=1.0)]


def valid_object_id(text: str) -> bool:
    """True if an object may have this id: letters, digits and underscores, no word with a meaning, no link's name."""
    return (
        re.fullmatch(rf"\w{{1,{LONGEST_ID}}}", text) is not None
        and text not in _RESERVED_IDS
        and text not in _robot_links()
    )


_ID_RULE = f"at most {LONGEST_ID} letters, digits and underscores, no link of the robot and none of"
_Id = Annotated[str, Rule(f"{_ID_RULE} {', '.join(_RESERVED_IDS)}", valid_object_id)]
_Quaternion = Annotated[
    tuple[_Number, _Number, _Number, _Number],
    Rule("a rotation (w, x, y, z)", lambda quat: math.hypot(*quat) >= _SHORTEST),
]


@dataclass(frozen=True, kw_only=True)
class _Object:
    """An object of the file, see `load_scene`. What is None is not said."""

    name: str | None = None
    position: Annotated[tuple[_Number, ...], Len(2, 3)]
    id: _Id | None = None
    yaw_deg: _Number | None = None
    yaw: _Number | None = None
    quat_wxyz: _Quaternion | None = None
    rotvec_deg: _Triple | None = None
    grip: Annotated[float, Interval(ge=_FACTORS["grip"][0], le=_FACTORS["grip"][1])] = 1.0
    weight: Annotated[float, Interval(ge=_FACTORS["weight"][0], le=_FACTORS["weight"][1])] = 1.0
    mesh: str | None = None
    up: UpAxis | None = None
    scale: _MeshNumber | None = None
    mass: _MeshNumber | None = None
    density: _MeshNumber | None = None
    friction: _MeshNumber | None = None

    def item(self, folder: Path) -> str:
        """The name of the object, as `PlacedObject.item` has it. Raises ToolError."""
        said = [key for key in _MESH_KEYS if getattr(self, key) is not None]
        if said and (self.mesh is None or self.name is not None):
            raise invalid(f"{said[0]} belongs to an object that has mesh, the path of a file, and no name.")
        if self.mesh is None and self.name is None:
            raise invalid('an object needs a name from the catalogue, such as "red box", or set/name.')
        if self.yaw is not None and self.yaw_deg is not None:
            raise invalid("an object has yaw or yaw_deg, give one of them.")
        if self.quat_wxyz is not None and self.rotvec_deg is not None:
            raise invalid("quat_wxyz and rotvec_deg say the same, give one of them.")
        if self.mesh is None:
            name = str(self.name)
        else:
            given = {key: value for key in _MESH_KEYS[1:] if (value := getattr(self, key)) is not None}
            name = mesh_item(folder / self.mesh[:_LONGEST_PATH], given)
        find_asset(name)
        return name

    @property
    def turned(self) -> float:
        """Yaw [rad]."""
        return math.radians(self.yaw_deg or 0.0) if self.yaw is None else self.yaw

    @property
    def tilt(self) -> Quaternion:
        """How an object lies."""
        if self.rotvec_deg is not None:
            x, y, z, w = Rotation.from_rotvec(np.radians(self.rotvec_deg)).as_quat().tolist()
            return w, x, y, z
        return self.quat_wxyz or UPRIGHT


@dataclass(frozen=True, kw_only=True)
class _File:
    """A scene's file, see `load_scene`."""

    objects: Annotated[tuple[_Object, ...], Len(1, _MAX_OBJECTS)]
    seed: Annotated[int, Interval(ge=0)] = 0
    name: _Name | None = None
    light: _Triple = (0.5, 0.0, 1.8)
    table_rgb: tuple[_Share, _Share, _Share] = TABLE_RGB[0]
    camera_offset: _Offset = (0.0, 0.0, 0.0)
    camera_turn: _Offset = (0.0, 0.0, 0.0)


def _scene(text: str | bytes, path: Path) -> Scene:
    document = yaml_document(text, path.name, _LIMITS)
    file = placed_record(_File, document, path.name)
    places = [f"{path.name}, line {row[LINE]}" for row in document["objects"]]
    items = []
    for row, place in zip(file.objects, places, strict=True):
        with _at(place):
            items.append(row.item(path.parent))
    names = [find_asset(item).name if mesh_of_item(item) else item for item in items]
    objects: list[PlacedObject] = []
    for row, item, default_id, place in zip(file.objects, items, object_ids(names), places, strict=True):
        with _at(place):
            placed = _placed(row, item, row.id or default_id)
            if any(other.id == placed.id for other in objects):
                raise invalid(f'the id "{placed.id}" is used twice, ids must be unique.')
        objects.append(placed)
    for (later, earlier), depth in sorted(overlaps(objects).items()):
        raise invalid(
            f"{places[later]}: {objects[later].id} overlaps {objects[earlier].id} by {1000 * depth:.0f} mm, objects "
            f"may touch and lie on each other, but reach into each other by no more than {1000 * DEEPEST_M:g} mm."
        )
    return Scene(
        seed=file.seed,
        objects=tuple(objects),
        light_position_m=file.light,
        camera_jitter_m=file.camera_offset,
        camera_jitter_rad=file.camera_turn,
        table_rgb=file.table_rgb,
        name=path.stem if file.name is None else file.name,
    )


@contextlib.contextmanager
def _at(place: str) -> Iterator[None]:
    """What is raised in it says where in the file."""
    try:
        yield
    except ToolError as error:
        raise ToolError(error.code, f"{place}: {error.message}", error.hint) from error


def _placed(row: _Object, item: str, object_id: str) -> PlacedObject:
    x, y = row.position[:2]
    placed = PlacedObject(object_id, item, (x, y, 0.0), row.turned, row.grip, row.weight, row.tilt)
    half = -placed.heights[0]
    z = row.position[2] if len(row.position) == 3 else workspace.TABLE_Z + half
    if not workspace.TABLE_Z + half - DEEPEST_M <= z <= workspace.TABLE_Z + 0.5:
        raise invalid(f"the centre of {object_id} must be from {half:g} to 0.5 m above the table, not {z:g}.")
    placed = replace(placed, position_m=(x, y, z))
    outline = footprint(placed)
    for axis, (low, high) in enumerate((_TABLE_X, workspace.TABLE_Y)):
        if outline[:, axis].min() < low or outline[:, axis].max() > high:
            raise invalid(
                f"{object_id} is off the table, all of it must lie within {'xy'[axis]} = {low:g}..{high:g} m."
            )
    return placed


@cache
def _robot_links() -> frozenset[str]:
    return frozenset(link for name in ROBOTS for link in load_robot(name).link_names())


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


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"
