"""Objects that a judge is shown where a test puts them, without physics."""

from dataclasses import replace

import numpy as np

from toolhand.sim.scene.scenes import PlacedObject, Scene
from toolhand.sim.snapshot import ObjectState, Snapshot
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.geometry import look_at

T_BASE_CAMERA = look_at(workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET)
ZERO = (0.0, 0.0, 0.0)


def item_of(name: str) -> str:
    """The catalogue's name of "red_box_1"."""
    return name.rsplit("_", 1)[0].replace("_", " ")


def scene_of(*names: str) -> Scene:
    return Scene(0, tuple(PlacedObject(name, item_of(name), ZERO, 0.0) for name in names), ZERO, ZERO, ZERO, ZERO, "")


def state(name: str, *at: float, touching: str = "table") -> ObjectState:
    """At rest at (x, y), standing on the table, or at (x, y, z) [m]."""
    half = load_catalogue()[item_of(name)].size_m[2] / 2
    position = np.array(at if len(at) == 3 else [*at, workspace.TABLE_Z + half])
    return ObjectState(name, position, np.array([1.0, 0.0, 0.0, 0.0]), np.zeros(6), frozenset(touching.split()))


def tilted(old: ObjectState, degrees: float, axis: int = 0) -> ObjectState:
    """Turned about an axis of the base frame: 0 is x."""
    half = np.radians(degrees) / 2
    quat = np.array([np.cos(half), 0.0, 0.0, 0.0])
    quat[1 + axis] = np.sin(half)
    return replace(old, quat_wxyz=quat)


def snapshot(*states: ObjectState, time: float = 0.0) -> Snapshot:
    return Snapshot(time, {each.id: each for each in states})
