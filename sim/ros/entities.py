"""The objects on the table as entities of `simulation_interfaces`: spawn, delete, look, move."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import numpy as np
from geometry_msgs.msg import Pose, Twist, Vector3
from simulation_interfaces.msg import Bounds, EntityCategory, EntityFilters, EntityInfo, EntityState, Result, Spawnable
from simulation_interfaces.srv import (
    DeleteEntity,
    GetEntities,
    GetEntitiesStates,
    GetEntityInfo,
    GetEntityState,
    GetSpawnables,
    SetEntityState,
    SpawnEntity,
)

from toolhand.sim.objects.folders import folder_sets
from toolhand.sim.objects.products import PRODUCTS
from toolhand.sim.objects.sets import find_asset
from toolhand.sim.ros.services import RefusedError, Services, put_uri, resource_of
from toolhand.sim.ros.state import stamp_ns
from toolhand.sim.scene.files import valid_object_id
from toolhand.sim.scene.scenes import PlacedObject, object_ids, triple
from toolhand.sim.snapshot import ObjectState
from toolhand.sim.usd.objects import ExportedObject, read_object
from toolhand.sim.world import World
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.ros.messages import time_message
from toolhand.tool_nodes.types import FloatArray

FRAMES = ("", "world", "base_link")
"""Frames in which poses may be given; they are the same place."""

URI_PREFIX = "catalogue:"
"""An object is spawned by this and its name, blanks as underscores or percent-encoded: catalogue:coconut_water,
catalogue:fruits/green_mango."""

FAR = 5.0
"""No entity is put further away than this [m]."""

MAX_ENTITIES = 40
"""Entities of the world; bounds the time of a step."""
MAX_SPAWNABLES = 200
"""Objects of folders that are listed as spawnable [-]: their meshes are read for that, some milliseconds each."""
_MAX_FILTER = 200
"""Longest regular expression of a filter [characters]; a round figure."""
_MAX_REPEATS = 3
"""Repetitions in a filter: each multiplies the time that a regular expression may take."""
_REPEATED_GROUP = re.compile(r"\)[*+?{]|\\[1-9]|\(\?")
"""What a filter may not have: with it, one pattern keeps the simulator busy for hours over a single name."""


class Entities:
    """Serves the entity services."""

    def __init__(self, services: Services) -> None:
        self._physics = services.physics
        self._prefix, self._stamped = services.simulator.entities, services.simulator.stamped
        services.add(SpawnEntity, "spawn_entity", self._spawn)
        services.add(DeleteEntity, "delete_entity", self._delete)
        services.add(GetEntities, "get_entities", self._list)
        services.add(GetEntitiesStates, "get_entities_states", self._states)
        services.add(GetEntityState, "get_entity_state", self._state)
        services.add(SetEntityState, "set_entity_state", self._set_state)
        services.add(GetEntityInfo, "get_entity_info", self._info)
        services.add(GetSpawnables, "get_spawnables", self._spawnables)

    def _spawn(self, world: World, request: Any, response: Any) -> None:
        uri, text = resource_of(request, "entity_resource")
        codes = SpawnEntity.Response
        if text:
            raise RefusedError(codes.UNSUPPORTED_FORMAT, f"Only what a scene can hold is spawned: {URI_PREFIX}<name>.")
        item = _exported(uri) if uri.endswith(".usda") else ExportedObject(_item(uri), 1.0, 1.0)
        position, quat = _pose(request.initial_pose.pose, request.initial_pose.header.frame_id, codes.INVALID_POSE)
        taken = [placed.id for placed in world.scene.objects]
        if len(taken) >= MAX_ENTITIES:
            raise RefusedError(Result.RESULT_OPERATION_FAILED, f"There are {MAX_ENTITIES} entities, which is the most.")
        name = request.name.removeprefix(self._prefix) or object_ids([item.item])[0]
        if not valid_object_id(name):
            raise RefusedError(codes.NAME_INVALID, "A name has letters, digits and underscores, and is not reserved.")
        if name in taken:
            if not request.allow_renaming and request.name:
                raise RefusedError(codes.NAME_NOT_UNIQUE, f'There is an entity "{name}" already.')
            name = _free_name(name, taken)
        placed = PlacedObject(name, item.item, triple(position), 0.0, item.grip, item.weight)
        world.change_objects(replace(world.scene, objects=(*world.scene.objects, placed)))
        world.place_object(name, position, quat)
        self._physics.show()
        response.entity_name = self._prefix + name

    def _delete(self, world: World, request: Any, response: Any) -> None:
        deleted = self._known(world, request.entity)
        left = tuple(placed for placed in world.scene.objects if placed.id != deleted)
        world.change_objects(replace(world.scene, objects=left))
        self._physics.show()

    def _list(self, world: World, request: Any, response: Any) -> None:
        response.entities = [name for name, _ in self._matching(world, request.filters)]

    def _states(self, world: World, request: Any, response: Any) -> None:
        objects, matching = world.snapshot().objects, self._matching(world, request.filters)
        response.entities = [name for name, _ in matching]
        response.states = [self._message(world, objects[object_id]) for _, object_id in matching]

    def _state(self, world: World, request: Any, response: Any) -> None:
        asked = self._known(world, request.entity)
        response.state = self._message(world, world.snapshot().objects[asked])

    def _message(self, world: World, state: ObjectState) -> EntityState:
        message = EntityState(pose=Pose(), twist=Twist())
        message.header.frame_id = "world" if self._stamped else state.id
        if self._stamped:
            message.header.stamp = time_message(stamp_ns(world, self._physics.time_offset))
        p, q = message.pose.position, message.pose.orientation
        p.x, p.y, p.z = state.position_m.tolist()
        q.w, q.x, q.y, q.z = state.quat_wxyz.tolist()
        v, w = message.twist.linear, message.twist.angular
        v.x, v.y, v.z, w.x, w.y, w.z = state.velocity.tolist()
        return message

    def _set_state(self, world: World, request: Any, response: Any) -> None:
        moved = self._known(world, request.entity)
        state = request.state
        now = world.snapshot().objects[moved]
        position, quat, velocity = now.position_m, now.quat_wxyz, now.velocity
        # Which of them to set can be said only after Kilted; before, all of them are set.
        if getattr(request, "set_pose", True):
            position, quat = _pose(state.pose, state.header.frame_id, SetEntityState.Response.INVALID_POSE)
        if getattr(request, "set_twist", True):
            v, w = state.twist.linear, state.twist.angular
            velocity = np.array([v.x, v.y, v.z, w.x, w.y, w.z])
            if not (np.abs(velocity) < 100.0).all():
                raise RefusedError(Result.RESULT_OPERATION_FAILED, "A twist must be finite and below 100.")
        world.place_object(moved, position, quat, velocity)
        self._physics.show()

    def _info(self, world: World, request: Any, response: Any) -> None:
        asked = self._known(world, request.entity)
        category = EntityCategory(category=EntityCategory.CATEGORY_OBJECT)
        response.info = EntityInfo(category=category, description=world.scene.find(asked).item)

    def _known(self, world: World, name: str) -> str:
        """The id of the object that an entity is. Raises RefusedError."""
        for placed in world.scene.objects:
            if name == self._prefix + placed.id:
                return placed.id
        known = ", ".join(self._prefix + placed.id for placed in world.scene.objects) or "none"
        raise RefusedError(Result.RESULT_NOT_FOUND, f"There is no entity {name[:80]!r}, there are {known}.")

    def _matching(self, world: World, filters: EntityFilters) -> list[tuple[str, str]]:
        """(name of the entity, id) of each object that a filter leaves."""
        pattern = _pattern(filters)
        named = ((self._prefix + placed.id, placed.id) for placed in world.scene.objects)
        return [(name, object_id) for name, object_id in named if pattern.search(name)]

    def _spawnables(self, world: World, request: Any, response: Any) -> None:
        response.spawnables = [_spawnable(name) for name in spawnable_names()]


def _exported(uri: str) -> ExportedObject:
    """The object of a file that this project exported, if its set is known here. Raises RefusedError."""
    try:
        item = read_object(Path(uri.removeprefix("file://")))
        find_asset(item.item)
    except ToolError as error:
        raise RefusedError(SpawnEntity.Response.RESOURCE_PARSE_ERROR, str(error)) from error
    return item


def _item(uri: str) -> str:
    """The name of an object in a URI, as a scene has it: as it is written, or with its underscores as blanks."""
    written = unquote(uri.removeprefix(URI_PREFIX))
    set_name, slash, within = written.rpartition("/")
    spaced = set_name + slash + within.replace("_", " ")
    refused: ToolError | None = None
    for name in (written, spaced):
        try:
            find_asset(name)
            return name
        except ToolError as error:
            refused = error
    codes, message = SpawnEntity.Response, refused.message if refused else ""
    raise RefusedError(codes.NO_RESOURCE, f"Give {URI_PREFIX}<name> of the catalogue, or <set>/<name>: {message}")


def uri_of(name: str) -> str:
    """The URI by which an object is spawned; `_item` makes its name of it again."""
    if name in PRODUCTS and "_" not in name:
        return URI_PREFIX + name.replace(" ", "_")
    return URI_PREFIX + quote(name)


def spawnable_names() -> list[str]:
    """What is listed as spawnable: the products, and the objects of folders in use; of other sets any is spawned
    too."""
    of_folders = (f"{name}/{item}" for name, objects in folder_sets().items() for item in objects)
    return [*sorted(PRODUCTS), *itertools.islice(of_folders, MAX_SPAWNABLES)]


def _spawnable(name: str) -> Spawnable:
    size = find_asset(name).size_m
    message = Spawnable(description=name, spawn_bounds=Bounds(type=Bounds.TYPE_BOX))
    message.spawn_bounds.points = [_vector(size, 0.5), _vector(size, -0.5)]
    put_uri(message, uri_of(name))
    return message


def _vector(size: tuple[float, float, float], scale: float) -> Vector3:
    return Vector3(**{axis: float(scale * side) for axis, side in zip("xyz", size, strict=True)})


def _free_name(name: str, taken: list[str]) -> str:
    stem = re.sub("_[0-9]+$", "", name)
    return next(free for number in range(1, len(taken) + 2) if (free := f"{stem}_{number}") not in taken)


def _pattern(filters: EntityFilters) -> re.Pattern[str]:
    """The regular expression of a filter, which must be one that takes no time. Raises RefusedError."""
    if filters.categories or filters.tags.tags or filters.bounds.type != Bounds.TYPE_EMPTY:
        raise RefusedError(Result.RESULT_FEATURE_UNSUPPORTED, "Entities can be filtered by their names only.")
    if len(filters.filter) > _MAX_FILTER:
        raise RefusedError(Result.RESULT_OPERATION_FAILED, f"A filter has at most {_MAX_FILTER} characters.")
    if _REPEATED_GROUP.search(filters.filter) or sum(sign in "*+?{" for sign in filters.filter) > _MAX_REPEATS:
        sentence = f"A filter repeats no group, refers to none, and has at most {_MAX_REPEATS} of the signs * + ? {{."
        raise RefusedError(Result.RESULT_OPERATION_FAILED, sentence)
    try:
        return re.compile(filters.filter)
    except (re.error, OverflowError, RecursionError) as error:
        raise RefusedError(Result.RESULT_OPERATION_FAILED, f"The filter is no regular expression: {error}.") from error


def _pose(pose: Pose, frame: str, invalid: int) -> tuple[FloatArray, FloatArray]:
    """(position (3,) [m], quat_wxyz (4,)) of a pose."""
    if frame not in FRAMES:
        raise RefusedError(invalid, f"A pose must be in frame world or base_link, not {frame[:80]!r}.")
    p, q = pose.position, pose.orientation
    position, quat = np.array([p.x, p.y, p.z]), np.array([q.w, q.x, q.y, q.z])
    if not ((np.abs(position) < FAR).all() and 1e-3 < np.linalg.norm(quat) < 1e3):
        raise RefusedError(invalid, f"A pose needs coordinates below {FAR:g} m and a quaternion that is not zero.")
    return position, quat
