"""What the objects of a folder are: sizes, units, what fits a gripper, what is a container, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolhand.sim.objects.folders import FolderSet
from toolhand.tool_nodes.results import ErrorCode, ToolError

ObjectRow = Mapping[str, Any]


def object_row(objects: FolderSet, name: str, jaws_m: float) -> ObjectRow:
    """What there is to say of an object, which is read for it.

    Args:
        jaws_m: Widest object that the gripper closes on [m].

    Raises:
        ToolError: UNAVAILABLE without the extra `objects`; what is wrong with the object stands in the row.
    """
    row: dict[str, Any] = {"object": name, "file": objects.file(name)}
    try:
        read = objects.read(name)
    except ToolError as error:
        if error.code is not ErrorCode.INVALID_ARGUMENT:
            raise
        return row | {"refused": error.message}
    asset = read.asset
    return row | {
        "name": asset.name,
        "size_mm": [round(1e3 * side, 1) for side in asset.size_m],
        "narrowest_mm": round(1e3 * asset.narrowest_m, 1),
        "mass_kg": round(asset.mass_kg, 4),
        "unit": read.unit,
        "solids": len(asset.parts),
        "fits": asset.narrowest_m <= jaws_m,
        "container": asset.container,
        "remarks": list(read.remarks),
    }


def counts_of(rows: Sequence[ObjectRow]) -> dict[str, int]:
    """How many objects of a set can be used, fit, are too wide, are containers, or are refused."""
    usable = [row for row in rows if "refused" not in row]
    return {
        "objects": len(rows),
        "usable": len(usable),
        "refused": len(rows) - len(usable),
        "fit": sum(row["fits"] for row in usable),
        "too_wide": sum(not row["fits"] for row in usable),
        "containers": sum(row["container"] for row in usable),
    }


def counts_said(counts: Mapping[str, int], jaws_m: float) -> str:
    """The counts as a sentence."""
    return (
        f"{counts['usable']} of {counts['objects']} objects can be used, {counts['refused']} refused. As they stand "
        f"{counts['fit']} fit the gripper ({1e3 * jaws_m:.0f} mm), {counts['too_wide']} are too wide. Scenes of "
        f"clutter draw no containers: {counts['containers']}."
    )
