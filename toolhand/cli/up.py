"""`toolhand up`: the launcher of rclpy_zenoh, with Toolhand's keys and what can be typed next."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from rclpy_zenoh.launch import LaunchedGraph
from rclpy_zenoh.launch.cli import Launcher
from rclpy_zenoh.launch.cli import main as launch_command
from rclpy_zenoh.launch.keys import ServiceKeys
from rclpy_zenoh.launch.packages import share_folder

DEFAULT_SCENE = "example"
"""Of launch/sim.launch.yaml."""

SUFFIX = ".launch.yaml"

STOP_KEYS = ServiceKeys(
    {" ": "/stop", "s": "/stop", "S": "/stop", "r": "/reset_stop", "R": "/reset_stop"},
    "Space or s stops the arm (/stop), r allows motions again (/reset_stop).",
)


def main(argv: list[str]) -> int:
    """Start the nodes of a launch file, until Ctrl-C.

    Returns the exit status, see `rclpy_zenoh.launch.cli.main`.
    """
    launcher = Launcher("toolhand up", f"my{SUFFIX}", named_files(), STOP_KEYS, next_steps)
    return launch_command(argv, launcher)


def named_files() -> dict[str, Path]:
    """The launch files that come along, by the name that is typed: isaac, kinova, sim, tools."""
    folder = share_folder("toolhand_bringup") / "launch"
    return {file.name.removesuffix(SUFFIX): file for file in sorted(folder.glob(f"*{SUFFIX}"))}


def next_steps(graph: LaunchedGraph, settings: str, arguments: Mapping[str, str]) -> list[str]:
    """Command lines, for another shell, that do something with a graph that is ready.

    Args:
        graph: Where it has an agent, a sentence can be given to it.
        settings: Beginning of a line that is for this graph.
        arguments: Arguments of the launch file; `scene` is read.
    """
    steps = [f"{settings}toolhand ros node list"]
    if "agent" in graph.labels:
        scene = arguments.get("scene", DEFAULT_SCENE)
        item = "red box" if scene == DEFAULT_SCENE else "..."
        steps.insert(0, f"toolhand scene {shlex.quote(scene)}    # what stands on the table")
        steps.insert(1, f'{settings}toolhand run "pick up the {item}" --transport ros')
    return steps
