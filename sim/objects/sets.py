"""Sets of objects that scenes can hold, by name: entry points of installed packages, this project's own and anybody's.

An entry of the group `toolhand.objects` is a mapping of names to `ObjectAsset`, `fruits = "my_fruits:OBJECTS"`; a scene
names an object of it as `fruits/mango`. A name without a set means a product of `sim/objects/products.yaml`. Folders of
meshes are sets too, see `sim/objects/folders.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.objects.folders import folder_sets, known_sets
from toolhand.sim.objects.products import PRODUCTS
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.catalogue import nearest_names
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid, unavailable

_SHOWN = 64
"""Characters of an unknown name that a message repeats."""


def find_asset(name: str) -> ObjectAsset:
    """The object of a name: "red box", or "fruits/mango" for the object "mango" of the set "fruits".

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown set or object, with the names that are nearest; UNAVAILABLE for a set
            that cannot be loaded or holds something else.
    """
    set_name, slash, within = name.partition("/")
    if not slash:
        return _object(PRODUCTS, "the catalogue", name)
    return _object(object_set(set_name), f'the set "{set_name}"', within)


def _object(objects: Mapping[str, ObjectAsset], where: str, key: str) -> ObjectAsset:
    try:
        item = objects[key]
    except KeyError:
        near = nearest_names(key[:_SHOWN], objects)
        raise invalid(f'"{key[:_SHOWN]}" is not in {where}, the nearest names are {near}.') from None
    if not isinstance(item, ObjectAsset):
        raise unavailable(f'"{key[:_SHOWN]}" of {where} must be an ObjectAsset, not a {type(item).__name__}.')
    return item


def object_set(name: str) -> Mapping[str, ObjectAsset]:
    """The set of a name: a folder's in use, or an installed package's. Raises ToolError as `find_asset`."""
    if ":" in name:
        raise invalid(f"The name of an object set has no colon, as {name[:_SHOWN]!r} does.")
    folder = folder_sets().get(name)
    if folder is not None:
        return folder
    return _installed(name)


@cache
def _installed(name: str) -> Mapping[str, ObjectAsset]:
    try:
        objects = registry.load("object set", name)
    except ToolError as error:
        if error.code is not ErrorCode.INVALID_ARGUMENT or name in registry.names("object set"):
            raise
        known = " or ".join(known_sets())
        raise invalid(
            f"There is no object set {name[:_SHOWN]!r}: it must be {known}.",
            "Folders of meshes are named with --objects.",
        ) from error
    if not isinstance(objects, Mapping):
        raise unavailable(f"The object set {name!r} must be a mapping of names to ObjectAsset.")
    return objects
