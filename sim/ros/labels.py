"""What the simulator tells of the objects in its images (topic sim/labels): their words, in the order of the ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from toolhand.sim.objects.sets import find_asset
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.tool_nodes.catalogue import Description


def label(placed: PlacedObject) -> dict[str, Any]:
    """What a label tells of an object: its id, its name in scenes, and the words for it.

    Nodes of perception need no more, so they read no meshes and know no object sets.
    """
    asset = placed.asset
    words = {entry.name: getattr(asset, entry.name) for entry in fields(Description)}
    return {"id": placed.id, "item": placed.item, "words": words}


def described(entry: Mapping[str, Any]) -> Description:
    """The words of a label. Raises ToolError INVALID_ARGUMENT for one without words whose name no set here knows."""
    if "words" not in entry:
        return find_asset(entry["item"])
    words: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in entry["words"].items()
    }
    return Description(**words)
