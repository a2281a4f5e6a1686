"""`toolhand robot`: a robot for other planners."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from toolhand.agent_node.console.terminal import AsJson, emit
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.robot_names import DEFAULT_ROBOT


def robot_export(
    out: Annotated[Path, tyro.conf.arg(metavar="DIR", help="Where it goes: not there yet, or empty.")],
    robot: Annotated[str, tyro.conf.Positional] = DEFAULT_ROBOT,
    seed: int = 0,
    as_json: AsJson = False,
) -> int:
    """Write what other planners need of a robot: collision spheres for cuRobo and cuMotion, and a MoveIt package.

    The folder appears whole or not at all, and never replaces anything.

    Args:
        robot: Which robot: gen3, jaco2_j2s7s300, or a folder with its robot.yaml.
        seed: Seed of the configurations in which it is tried which links can touch, 0 or more.
    """
    from toolhand.tool_nodes.motion.robot_model import load_robot
    from toolhand.tool_nodes.robot_export.folder import export_robot

    if seed < 0:
        raise invalid(f"The seed must be 0 or more, got {seed}.")
    exported = export_robot(load_robot(robot), out, seed)
    if as_json:
        emit({**vars(exported), "folder": str(exported.folder), "seed": seed})
        return 0
    print(f"{exported.folder}: {len(exported.files)} files, {exported.spheres} collision spheres")
    print(f"{exported.checked} pairs of links are checked against each other, {exported.pairs} are not (seed {seed})")
    return 0
