"""Where objects are on an exported USD stage; simulators name entities by these paths."""

from __future__ import annotations

import re
from collections.abc import Iterable

WORLD = "/World"
"""Default prim of the stage."""
ROBOT = f"{WORLD}/Robot"
"""Root of the robot's articulation; its links stand side by side below it."""
JOINTS = f"{ROBOT}/Joints"
"""Scope of the robot's joints."""
OBJECTS = f"{WORLD}/Objects"
"""Scope of the objects of a scene: entities of Isaac Sim have the paths below it."""
OBJECT = "/Object"
"""Default prim of a file with one object."""
MATERIALS = f"{WORLD}/PhysicsMaterials"
"""Scope of the friction of colliders."""

_OUTSIDE = re.compile(r"[^A-Za-z0-9_]")


def prim_name(text: str) -> str:
    """A name as a prim may have it: ASCII letters, digits and underscores, no digit first."""
    name = _OUTSIDE.sub("_", text) or "_"
    return f"_{name}" if name[0].isdigit() else name


def prim_names(texts: Iterable[str]) -> dict[str, str]:
    """A prim name for each of some names, in their order; those that would be the same have a number behind them."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for text in texts:
        stem = name = prim_name(text)
        number = 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name)
        names[text] = name
    return names


def object_paths(ids: Iterable[str]) -> dict[str, str]:
    """Prim path of each object of a scene, by its id."""
    return {object_id: f"{OBJECTS}/{name}" for object_id, name in prim_names(ids).items()}
