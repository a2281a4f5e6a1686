"""`toolhand objects`: what the objects of a folder of meshes are, before anything is done with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import tyro

from toolhand.agent_node.console.options import DEFAULT_ROBOT_OPTIONS, RobotOptions, Unprefixed
from toolhand.agent_node.console.terminal import AsJson, emit
from toolhand.tool_nodes.results import invalid

if TYPE_CHECKING:
    from toolhand.sim.objects.census import ObjectRow


def objects(
    folder: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="FOLDER")],
    robot: Unprefixed[RobotOptions] = DEFAULT_ROBOT_OPTIONS,
    as_json: AsJson = False,
) -> int:
    """Show the objects of a folder of meshes: size, unit, what fits the gripper, is a container, or is refused.

    Exit status 0 where at least one object can be used, else 2. What is no convex solid is taken apart once, which
    takes some seconds for each object; a run finds it done.

    Args:
        folder: The folder, as --objects takes it; several separated as in PATH.
    """
    from toolhand.sim.objects.census import counts_of, counts_said, object_row
    from toolhand.sim.objects.chosen import choose_sets
    from toolhand.sim.objects.folders import folder_sets
    from toolhand.tool_nodes.motion.robot_model import load_robot

    robot.require_known()
    jaws_m = load_robot(robot.robot).gripper.max_width
    names, folders = choose_sets(folder), folder_sets()
    if not names or any(name not in folders for name in names):
        raise invalid("Name a folder of meshes: what installed sets hold, toolhand doctor --objects NAME lists.")
    sets: list[dict[str, Any]] = []
    for name in names:
        if not as_json:
            print(f"{'object of ' + name:32}{'size [mm]':18}{'unit':24}{'gripper':10}{'container':11}file")
        rows = []
        for item in folders[name]:
            rows.append(object_row(folders[name], item, jaws_m))
            if not as_json:
                print(_line(rows[-1]), flush=True)  # the next may take a while
        counts = counts_of(rows)
        sets.append({"set": name, "content": folders[name].content_hash(), "counts": counts, "objects": rows})
        if not as_json:
            print(counts_said(counts, jaws_m))
    if as_json:
        emit({"gripper_mm": round(1e3 * jaws_m, 1), "sets": sets})
    return 0 if any(entry["counts"]["usable"] for entry in sets) else 2


def _line(row: ObjectRow) -> str:
    if "refused" in row:
        return f"{row['object']:32}refused: {row['refused']}"
    size = " x ".join(f"{side:.0f}" for side in row["size_mm"])
    fits = "fits" if row["fits"] else "too wide"
    lines = [
        f"{row['object']:32}{size:18}{row['unit']:24}{fits:10}{'yes' if row['container'] else '-':11}{row['file']}"
    ]
    return "\n".join([*lines, *(f"    {remark}" for remark in row["remarks"])])
