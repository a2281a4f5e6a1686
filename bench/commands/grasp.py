"""Options of `toolhand bench grasp`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from toolhand.agent_node.console.options import (
    DEFAULT_ROBOT_OPTIONS,
    BackendOptions,
    RobotOptions,
    Unprefixed,
)
from toolhand.agent_node.console.terminal import AsJson
from toolhand.bench.options import BenchOptions
from toolhand.tool_nodes.port_names import PortNames

GraspProtocol = Literal["attempt", "any", "clear"]
"""One object of a scene once, whatever is seen best, or that until the scene is empty."""
SENSOR = "realsense_d435"
"""Sensor of the benchmark where none is named."""
AS_MEASURED = BackendOptions("pixels", PortNames(sensor=SENSOR))
"""Backends that see what a real camera sees, with its noise."""


@dataclass(frozen=True)
class Options(BenchOptions):
    """Grasp objects of any set in any clutter, beside a naive control; success, masks, times and causes of failure.

    Attributes:
        objects: Object sets and folders of meshes, several with +.
        scene: Kinds of scenes, several with commas; all that suit the sets where it is left out.
        objects_per_scene: Objects in each scene of clutter; as many as its kind has where it is 0.
        n: Scenes of each kind; with the catalogue's own kinds, 58 grasp each product alone and in clutter.
        first_seed: Seed of the first scene of each kind.
        protocol: `attempt` asks for one object of each scene once, `any` for whatever the tools see best, `clear` for
            that until the scene is empty or two attempts running fail.
        vs: Another backend to compare with on the same scenes: the name of a generator or segmenter, or PORT:NAME.
        control: Compare with a naive grasp from straight above on the same masks.
        ideal: Compare with a sensor without noise and true masks.
        second_view: Compare with the same attempts, of which one that fails with an empty hand is made once more from a
            second view by the camera at the wrist.
        clearing: Compare with the same object got at in up to six grasps, those of what is in its way with them.
        said: Compare with the same object picked up by the embedded policy, told in a sentence by name and point.
        out: Folder for records, tables, plots and a page of every failure; the same command goes on after a break.
        jobs: Processes.
    """

    WORK = "toolhand.bench.grasp.comparison:BENCH"

    objects: str = "generated"
    scene: str = ""
    objects_per_scene: int = 0
    n: int = 20
    first_seed: int = 0
    backends: Unprefixed[BackendOptions] = AS_MEASURED
    robot: Unprefixed[RobotOptions] = DEFAULT_ROBOT_OPTIONS
    protocol: GraspProtocol = "attempt"
    vs: str = ""
    control: bool = True
    ideal: bool = False
    second_view: bool = False
    clearing: bool = False
    said: bool = False
    out: Path | None = None
    jobs: int = 1
    as_json: AsJson = False
