"""`toolhand objects`: what the things of a folder of meshes are, before anything is done with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import tyro

from agent_node.console.options import DEFAULT_ROBOT_OPTIONS, RobotOptions, Unprefixed
from agent_node.console.terminal import AsJson, emit
from tool_nodes.results import ErrorCode, ToolError, invalid

if TYPE_CHECKING:
    from sim.objects.folders import FolderSet


def objects(
    folder: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")],
    robot: Unprefixed[RobotOptions] = DEFAULT_ROBOT_OPTIONS,
    as_json: AsJson = False,
) -> int:
    """Show the things of a folder of meshes: size, unit, what fits the gripper, is a container, or is refused.

    Exit status 0 where at least one thing can be used, else 2. What is no convex solid is taken apart once, which takes
    some seconds for each thing; a run finds it done.

    Args:
        folder: The folder, as --objects takes it; several separated as in PATH.
    """
    from sim.objects.chosen import choose_sets
    from sim.objects.folders import folder_sets
    from tool_nodes.motion.robot_model import load_robot

    robot.require_known()
    jaws_m = load_robot(robot.robot).gripper.max_width
    names, folders = choose_sets(folder), folder_sets()
    if not names or any(name not in folders for name in names):
        raise invalid("Name a folder of meshes: what installed sets hold, toolhand doctor --objects NAME lists.")
    sets = []
    for name in names:
        if not as_json:
            print(f"{'thing of ' + name:32}{'size [mm]':18}{'unit':24}{'gripper':10}{'container':11}file")
        things = [_row(folders[name], thing, jaws_m, quiet=as_json) for thing in folders[name]]
        sets.append({"set": name, "content": folders[name].content_hash(), "things": things, **_counts(things)})
        if not as_json:
            print(_summary(sets[-1], jaws_m))
    if as_json:
        emit({"gripper_mm": round(1e3 * jaws_m, 1), "sets": sets})
    return 0 if any(entry["usable"] for entry in sets) else 2


def _row(things: FolderSet, name: str, jaws_m: float, quiet: bool) -> dict[str, Any]:
    """What there is to say of a thing; printed at once, for the next may take a while."""
    row: dict[str, Any] = {"thing": name, "file": things.file(name)}
    try:
        read = things.read(name)
    except ToolError as error:
        if error.code is not ErrorCode.INVALID_ARGUMENT:
            raise
        row["refused"] = error.message
    else:
        asset = read.asset
        row |= {
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
    if not quiet:
        print(_line(row), flush=True)
    return row


def _line(row: dict[str, Any]) -> str:
    if "refused" in row:
        return f"{row['thing']:32}refused: {row['refused']}"
    size = " x ".join(f"{side:.0f}" for side in row["size_mm"])
    fits = "fits" if row["fits"] else "too wide"
    lines = [f"{row['thing']:32}{size:18}{row['unit']:24}{fits:10}{'yes' if row['container'] else '-':11}{row['file']}"]
    return "\n".join([*lines, *(f"    {remark}" for remark in row["remarks"])])


def _counts(things: list[dict[str, Any]]) -> dict[str, int]:
    usable = [row for row in things if "refused" not in row]
    return {
        "usable": len(usable),
        "refused": len(things) - len(usable),
        "fit": sum(row["fits"] for row in usable),
        "too_wide": sum(not row["fits"] for row in usable),
        "containers": sum(row["container"] for row in usable),
    }


def _summary(entry: dict[str, Any], jaws_m: float) -> str:
    return (
        f"{entry['usable']} of {len(entry['things'])} things can be used, {entry['refused']} refused. As they stand "
        f"{entry['fit']} fit the gripper ({1e3 * jaws_m:.0f} mm), {entry['too_wide']} too wide. Containers, which "
        f"scenes of clutter do not draw: {entry['containers']}."
    )
