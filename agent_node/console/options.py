"""Options that several commands share: each is described in one place, and names come from what is registered."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import tyro

from toolhand.agent_node.protocol import protocol_names
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET, PortNames
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.robot_names import DEFAULT_ROBOT

T = TypeVar("T")
Unprefixed = Annotated[T, tyro.conf.arg(name="")]
"""A group of options that are typed without the group's name: `--segmenter`, not `--ports.segmenter`."""


def listed(names: Mapping[str, str] | tuple[str, ...] | list[str]) -> str:
    """Names as help shows them, one of a mapping with its description: "sim (truth with noise), pixels"."""
    described = names if isinstance(names, Mapping) else dict.fromkeys(names, "")
    return ", ".join(f"{name} ({words})" if words else name for name, words in described.items())


def installed(port: str, known: Mapping[str, str]) -> str:
    """Every installed name of a port, those of this project with a description, as help shows them.

    Args:
        port: A key of `registry.GROUPS`.
        known: Typed form and description of each known name; a name that is missing here stands as it is.
    """
    offered = registry.names(port)
    return ", ".join(
        [known[name] for name in known if name in offered] + [name for name in offered if name not in known]
    )


_PRESETS = {
    "sim": "sim (simulator truth with noise)",
    "pixels": "pixels (colour and depth only)",
    "served": "served (what `toolhand serve` offers)",
}
_POLICIES = {
    "scripted": "scripted (rules without a model)",
    "openai": "openai:MODEL[@BASE_URL] (any OpenAI-compatible server)",
    "anthropic": "anthropic:MODEL[@BASE_URL]",
    "transformers": "transformers:FOLDER_OR_NAME",
    "replay": "replay:RUN_FOLDER",
    "smollm2": "smollm2 (a small language model)",
}
_SUITES = {
    "spacetools": "spacetools",
    "peria": "peria",
    "evic": "evic",
    "last": "last",
    "pointing": "pointing (SpaceTools' first pointing tool alone)",
}

Perception = Annotated[
    str,
    tyro.conf.arg(
        metavar="PRESET",
        help=f"What stands behind the perception ports: {installed('perception', _PRESETS)}; `toolhand doctor` lists "
        "the backends of each port.",
    ),
]
PlannerName = Annotated[str, tyro.conf.arg(metavar="PLANNER", help=f"What plans motions: {installed('planner', {})}.")]
SensorName = Annotated[
    str,
    tyro.conf.arg(
        metavar="SENSOR",
        help=f"What simulated cameras measure of the ideal picture: {installed('sensor', {})}.",
    ),
]
POLICY = tyro.conf.arg(metavar="POLICY", help=f"Who decides: {installed('policy', _POLICIES)}.")
PolicySpec = Annotated[str, POLICY]
PROTOCOL = tyro.conf.arg(
    metavar="PROTOCOL",
    help=f"How the policy writes: {listed(protocol_names())}; native is a server's own tool calls, own what the policy "
    "was taught: native of servers' models, compact of smollm2, spacetools of the others.",
)
ProtocolName = Annotated[str, PROTOCOL]
_WHOSE = f"Whose tools: {installed('tool suite', _SUITES)}, several with commas, or all of the papers'"
SUITE = tyro.conf.arg(metavar="SUITE", help=f"{_WHOSE}.")
Suite = Annotated[str, SUITE]
OwnSuite = Annotated[str, tyro.conf.arg(metavar="SUITE", help=f"{_WHOSE}; own are those of the policy's protocol.")]
RobotName = Annotated[
    str,
    tyro.conf.arg(metavar="ROBOT", help=f"Which robot: {installed('robot', {})}, or a folder with its robot.yaml."),
]
PackagePath = Annotated[
    str,
    tyro.conf.arg(
        metavar="DIR",
        help="Folders in which the package:// meshes of a robot's URDF are looked for, separated as in PATH; without "
        "them the ament index is asked.",
    ),
]
ObjectSets = Annotated[
    str,
    tyro.conf.arg(
        metavar="SETS",
        help="Object sets, separated as in PATH: folders of meshes or URDF files, and "
        f"{installed('object set', {})}. A scene file names a thing of one as SET/THING.",
    ),
]
Size = tuple[int, int]
"""(width, height) of an image [px]."""

SIDES_PX = (64, 4096)
"""Smallest and largest side of an image [px]: less shows nothing, more takes minutes to draw."""


def parse_size(text: str, sides_px: tuple[int, int] = SIDES_PX) -> Size:
    """A size such as "640x480".

    Args:
        text: Width and height, as they were typed.
        sides_px: Smallest and largest side that is allowed [px].

    Raises:
        ToolError: INVALID_ARGUMENT for another text, or a side out of bounds.
    """
    found = re.fullmatch(r"\s*([0-9]{1,5})x([0-9]{1,5})\s*", text)
    size = (int(found[1]), int(found[2])) if found else (0, 0)
    low, high = sides_px
    if not all(low <= side <= high for side in size):
        raise invalid(
            f"size must be WIDTHxHEIGHT with sides from {low} to {high} pixels, e.g. 640x480, got {text[:40]!r}."
        )
    return size


ImageSize = Annotated[
    Size,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="WIDTHxHEIGHT",
        instance_from_str=lambda words: parse_size(words[0]),
        is_instance=lambda value: isinstance(value, tuple),
        str_from_instance=lambda size: [f"{size[0]}x{size[1]}"],
    ),
    tyro.conf.arg(help="Width and height of the pictures [px]."),
]
PortOptions = Unprefixed[PortNames]
"""--pointer, --segmenter and so on: a backend for a single port."""


@dataclass(frozen=True)
class BackendOptions:
    """Backends of the ports: a preset, and others for single ports."""

    perception: Perception = DEFAULT_PRESET
    ports: PortOptions = AS_PRESET

    def require_known(self) -> None:
        """Raises ToolError INVALID_ARGUMENT for what names no preset or no backend; none is made."""
        self.ports.require_known(self.perception)

    def document(self) -> dict[str, Any]:
        """The preset, and the backend of every port, as a report has them."""
        return {"perception": self.perception, "ports": vars(self.ports.over(self.perception))}


DEFAULT_BACKENDS = BackendOptions()
COLOUR_AND_DEPTH = BackendOptions("pixels")
"""Backends that see what a real camera sees."""


@dataclass(frozen=True)
class RobotOptions:
    """The robot, and where the meshes of its URDF are."""

    robot: RobotName = DEFAULT_ROBOT
    package_path: PackagePath = ""

    def require_known(self) -> None:
        """Find the robot and its meshes. Raises ToolError INVALID_ARGUMENT where they are not there."""
        from toolhand.tool_nodes.motion.packages import use_packages
        from toolhand.tool_nodes.motion.robot_model import load_robot

        use_packages(self.package_path)
        load_robot(self.robot)


DEFAULT_ROBOT_OPTIONS = RobotOptions()


def require_at_least(least: int, **options: int) -> None:
    """Refuse a whole number of the command line that is too small.

    Args:
        least: Smallest value that is allowed.
        options: Values by the name of the option.

    Raises:
        ToolError: INVALID_ARGUMENT for the first that is smaller.
    """
    for name, value in options.items():
        if value < least:
            raise invalid(f"--{name.replace('_', '-')} must be {least} or more, got {value}.")
