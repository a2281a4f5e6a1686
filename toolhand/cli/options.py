"""Scenes and stations as they are named on the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from toolhand.agent_node.console.options import DEFAULT_BACKENDS, BackendOptions, ObjectSets, Suite, Unprefixed
from toolhand.tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET, PortNames
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.robot_names import DEFAULT_ROBOT

if TYPE_CHECKING:
    from toolhand.sim.mock.station import MockStation
    from toolhand.sim.scene.scenes import Scene
    from toolhand.sim.station import Station
    from toolhand.tool_nodes.motion.guard import MotionGuard

SceneName = Annotated[
    str,
    tyro.conf.arg(
        metavar="SCENE",
        help="Which scene: a seed such as 3, which always gives the same scene; clutter, KIND:SEED[:SETS[:NUMBER]], "
        'such as pile:17 or packed:17:catalogue:8; the path of a YAML file; or "example".',
    ),
]
Seed = Annotated[int, tyro.conf.arg(help="Seeds perception noise, grasp sampling and planning; 0 or more.")]
PngFile = Annotated[Path | None, tyro.conf.arg(metavar="PNG", help="Write the picture to this PNG file.")]

ToolboxRole = Annotated[
    Literal["operator", "observer"],
    tyro.conf.arg(help='"operator" has all tools, "observer" none that moves the robot.'),
]


StationChoice = Annotated[
    Literal["sim", "mock"],
    tyro.conf.arg(help='"sim" is the simulated robot; "mock" shows recorded frames and moves nothing.'),
]


class DefaultText(str):
    """What an option has where nothing is typed; the same words typed are a plain str."""


class DefaultNumber(int):
    """As DefaultText."""


def typed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those options whose value was typed, of those that have such a default."""
    return {name: value for name, value in options.items() if not isinstance(value, DefaultText | DefaultNumber)}


def named_scene(name: str, objects: str = "") -> Scene:
    """The scene of a name, see `toolhand.sim.scene.files.named_scene`, whose objects may be of these sets.

    Args:
        name: Name of a scene as a user types it.
        objects: Object sets, see `toolhand.sim.objects.chosen.choose_sets`.

    Raises:
        ToolError: INVALID_ARGUMENT.
    """
    from toolhand.sim.objects.chosen import choose_sets
    from toolhand.sim.scene import files

    choose_sets(objects)
    return files.named_scene(name)


def named_station(
    scene: str,
    perception: str = DEFAULT_PRESET,
    seed: int = 0,
    renderer: str = "ray",
    suite: str = "spacetools",
    guard: MotionGuard | None = None,
    role: Literal["operator", "observer"] = "operator",
    ports: PortNames = AS_PRESET,
    robot: str = DEFAULT_ROBOT,
    objects: str = "",
) -> Station:
    """A simulated station as the command line describes it. Raises ToolError INVALID_ARGUMENT."""
    from toolhand.sim.station import Station, StationConfig
    from toolhand.tool_nodes.tools.suites import parse_suites

    config = StationConfig(
        perception=perception,
        ports=ports,
        seed=seed,
        renderer=renderer,
        suites=parse_suites(suite),
        role=role,
        robot=robot,
        objects=objects,
    )
    return Station(named_scene(scene, objects), config, guard=guard)


@dataclass(frozen=True)
class StationOptions:
    """A station that offers its tools: the simulated robot, or frames that were recorded.

    Attributes:
        data: Data set of the mock robot; the shipped one where it is left out.
        frame: Which frame of the data set.

    Raises:
        ToolError: INVALID_ARGUMENT for options of the other kind of station.
    """

    scene: SceneName = "example"
    backends: Unprefixed[BackendOptions] = DEFAULT_BACKENDS
    seed: Seed = 0
    suite: Suite = "spacetools"
    station: StationChoice = "sim"
    data: Path | None = None
    frame: int = 0
    objects: ObjectSets = ""

    def __post_init__(self) -> None:
        if self.station == "sim" and (self.data is not None or self.frame):
            raise invalid("--data and --frame belong to the mock robot.", "Give --station mock with them.")
        if self.station == "mock" and (self.scene != "example" or self.objects):
            raise invalid("The mock robot has no scenes and no objects.", "Give --frame and --data.")

    def make(
        self,
        role: Literal["operator", "observer"] = "operator",
        guard: MotionGuard | None = None,
        on_stage: Callable[[str], None] = lambda stage: None,
    ) -> Station | MockStation:
        """The station, made now.

        Args:
            role: Role whose tools it offers.
            guard: Guard of the simulated robot's motions; a new one where None.
            on_stage: Called with the stage of a motion.

        Raises:
            ToolError: INVALID_ARGUMENT for names that are none.
        """
        from toolhand.sim.mock.data import SHIPPED, read_dataset
        from toolhand.sim.mock.station import MockStation
        from toolhand.sim.station import Station, StationConfig
        from toolhand.tool_nodes.tools.suites import parse_suites

        config = StationConfig(
            **vars(self.backends),
            seed=self.seed,
            suites=parse_suites(self.suite),
            role=role,
            objects=self.objects,
        )
        if self.station == "mock":
            return MockStation(read_dataset(self.data or SHIPPED).frame(self.frame), config)
        return Station(named_scene(self.scene, self.objects), config, guard=guard, on_stage=on_stage)


DEFAULT_STATION = StationOptions()
WITH_ALL_TOOLS = StationOptions(suite="all")
