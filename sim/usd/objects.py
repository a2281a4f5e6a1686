"""What a file of one object says that it is; nothing else of the file is read, and nothing that it refers to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from toolhand.sim.usd.library import openusd
from toolhand.tool_nodes.files import MIB, read_file
from toolhand.tool_nodes.results import invalid

MAX_BYTES = 64 * MIB
"""Longest file that is read [bytes]: an object of a folder has at most some megabytes of triangles."""


@dataclass(frozen=True)
class ExportedObject:
    """An object that `toolhand.sim.usd.stage.object_text` wrote; the fields are those of PlacedObject."""

    item: str
    grip: float
    weight: float


def read_object(path: Path) -> ExportedObject:
    """The object that a .usda file holds.

    Raises:
        ToolError: INVALID_ARGUMENT for another file, one that is too long, or one that OpenUSD cannot read;
            UNAVAILABLE without the extra `usd`.
    """
    if path.suffix != ".usda":
        raise invalid(f"An object is spawned from a .usda file, not from {str(path)[:200]!r}.")
    try:
        text = read_file(path, MAX_BYTES).decode()
    except (OSError, ValueError) as error:
        raise invalid(f"{str(path)[:200]!r} cannot be read: {error}.") from error
    # A layer alone: what it refers to is never opened.
    layer = openusd().Sdf.Layer.CreateAnonymous(".usda")
    try:
        layer.ImportFromString(text)
    except Exception as error:  # OpenUSD's errors have no common class of their own
        raise invalid(f"{str(path)[:200]!r} is no USD file that OpenUSD can read.") from error
    spec = layer.GetPrimAtPath(f"/{layer.defaultPrim}") if layer.defaultPrim else None
    data = dict(spec.customData) if spec else {}
    item, grip, weight = (data.get(name) for name in ("item", "grip", "weight"))
    numbers = [value for value in (grip, weight) if isinstance(value, float) and math.isfinite(value) and value > 0]
    if not isinstance(item, str) or len(numbers) != 2:
        raise invalid(f"{str(path)[:200]!r} holds no object that this project exported.")
    return ExportedObject(item, *numbers)
