"""What runs in a graph that was started before, and whether it is what was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from simulation_interfaces.srv import GetCurrentWorld

from toolhand.sim.objects.chosen import sets_known_by
from toolhand.sim.scene.files import named_scene, scene_yaml
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.port_names import OF_THE_ROBOT, PortNames
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.ros.link import RosLink

_PARAMETERS = {
    "pointing": ("perception", "pointer", "detector", "seed"),
    "segmentation": ("segmenter",),
    "depth": ("depth",),
    "grasping": ("grasps",),
    "bounding_box": ("boxes",),
    "text_reading": ("reader",),
    "motion": ("robot", "robot_known_by", "approval", "planner"),
    "sim": ("sensor", "objects", "objects_known_by"),
    "agent": ("policy", "protocol_written", "suites_offered", "role", "turns", "runs_dir"),
}
"""Node to its parameters that say what a command meets there."""

_NAMED = {"suite": "suites_offered", "protocol": "protocol_written"}
"""Options of `toolhand run` whose parameter has another name."""

_SHOWN = ("scene", "robot", "perception", "seed", "policy", "approval")
"""Facts that an operator is shown of a graph that is used unchanged."""

_OWN = ("reader", "second_pointer", "boxes", *OF_THE_ROBOT)
"""Ports that a graph has by its own launch file where none is named, whatever the preset; it asks one pointer
everything."""

_WORLD = "/get_current_world"


class RunningGraph:
    """What the nodes of a graph say of themselves, read once.

    Args:
        link: Takes part in the graph.
        simulated: The graph has a simulator.

    Attributes:
        facts: Option of `toolhand run` to the value that the graph has; what no node says is absent. A graph without
            a simulator has no `scene`.
    """

    def __init__(self, link: RosLink, simulated: bool) -> None:
        self._scene_yaml = ""
        self.facts: dict[str, Any] = {}
        if simulated:
            world = link.call(GetCurrentWorld, _WORLD, GetCurrentWorld.Request()).world
            self._scene_yaml = world.world_resource.resource_string
            self.facts["scene"] = world.world_resource.uri or world.name
        services = {f"/{node}/get_parameters": names for node, names in _PARAMETERS.items()}
        for service in link.served(GetParameters, services):
            names = services[service]
            values = link.call(GetParameters, service, GetParameters.Request(names=list(names))).values
            found = zip(names, map(parameter_value_to_python, values), strict=False)
            self.facts |= {name: value for name, value in found if value is not None}

    def __str__(self) -> str:
        """What it has, for a sentence: "scene 3, robot gen3, ..."."""
        return ", ".join(f"{name} {self.facts[name]}" for name in _SHOWN if name in self.facts)

    def require(self, asked: Mapping[str, Any]) -> None:
        """Refuse what was asked for and is not what runs.

        Args:
            asked: Options of `toolhand run` that were given, by name; `ports` are those of `PortNames.chosen`.

        Raises:
            ToolError: INVALID_ARGUMENT, with what runs; also for a scene that is none.
        """
        differing = list(self._differing(asked))
        if differing:
            wanted = " and ".join(f"{name} {value}" for name, value, _ in differing)
            there = " and ".join(has for *_, has in differing)
            raise invalid(
                f"You asked for {wanted}, but the graph that runs on ROS domain {domain()} has {there}.",
                "Leave these options out to use it as it is, or give --own-graph for a graph of your own.",
            )

    def _differing(self, asked: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
        """(option, what was asked, what there is)."""
        for name, value in asked.items():
            if name == "ports":
                yield from self._other_backends(value, str(asked.get("perception", "")))
                continue
            has = self.facts.get(_NAMED.get(name, name))
            if has is None:
                yield name, value, f"no simulated {name}" if name == "scene" else f"no node that tells its {name}"
            elif not self._same(name, value, has):
                yield name, value, f"{name} {has}" if has != "" else f"no {name}"

    def _same(self, name: str, asked: Any, has: Any) -> bool:
        match name:
            case "scene":
                return scene_yaml(named_scene(asked)) == self._scene_yaml
            case "robot":
                return load_robot(asked).known_by() == self.facts.get("robot_known_by")
            case "objects":
                return sets_known_by(asked) == self.facts.get("objects_known_by")
            case "suite":
                return _words(asked) == _words(str(has))
            case "runs_dir":
                return bool(os.path.isabs(has)) and Path(asked).resolve() == Path(has).resolve()
            case _:
                return bool(asked == has)

    def _other_backends(self, chosen: Mapping[str, str], asked_preset: str) -> Iterator[tuple[str, str, str]]:
        """The ports that have another backend than asked for: by its own name, or by the name of the preset."""
        preset = str(self.facts.get("perception", ""))
        named = PortNames(**{port: str(self.facts.get(port, "")) for port in vars(PortNames())})
        try:
            there = named.over(preset)
        except ToolError:  # a preset that only the other installation has
            there = named
        wanted = PortNames(**chosen)
        if asked_preset and asked_preset == preset:
            wanted = wanted.over(preset)
        for port, name in vars(wanted).items():
            if name and (port in chosen or port not in _OWN) and name != getattr(there, port):
                yield port, name, f"{port} {getattr(there, port) or 'unknown'}"


def domain() -> str:
    """The ROS domain of this process."""
    return os.environ.get("ROS_DOMAIN_ID") or "0"


def _words(suites: str) -> set[str]:
    from toolhand.tool_nodes.tools.suites import parse_suites

    return set(parse_suites(suites))
