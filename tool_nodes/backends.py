"""What stands behind the ports, made from the names that were chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.perception.prompts import BY_IMAGE, WordsToBoxes
from toolhand.tool_nodes.port_names import PERCEPTION_PORTS, PortNames
from toolhand.tool_nodes.ports import (
    BoxFitter,
    DepthEstimator,
    Detector,
    GraspGenerator,
    Perceiving,
    Pointer,
    Segmenter,
    TextReader,
)
from toolhand.tool_nodes.registry import Setting
from toolhand.tool_nodes.types import TextPrompt


@dataclass(frozen=True)
class Ports:
    """What stands behind each port that is chosen by name."""

    pointer: Pointer
    detector: Detector
    segmenter: Segmenter
    depth: DepthEstimator
    reader: TextReader
    grasps: GraspGenerator
    second_pointer: Pointer
    boxes: BoxFitter

    @property
    def over_truth(self) -> Iterator[Perceiving]:
        """The backends that need what only the simulator stores with an image."""
        return (backend for backend in vars(self).values() if getattr(backend, "reads_truth", False))


def make_ports(preset: str, chosen: PortNames | None = None, setting: Setting | None = None) -> Ports:
    """What a preset, and names that are chosen beside it, put behind the ports.

    Args:
        preset: A name of the group `toolhand.perception`.
        chosen: Names beside it. "NAME+OTHER" has images that show no camera frame with depth looked at by the other.
        setting: Seeds, robot and shared objects that backends may ask for.

    Raises:
        ToolError: INVALID_ARGUMENT for a name that is none; UNAVAILABLE where a backend cannot be loaded.
    """
    setting = setting or Setting()
    named = (chosen or PortNames()).over(preset)
    made = {port: make_port(port, named, setting) for port in PERCEPTION_PORTS if port != "second_pointer"}
    alike = named.second_pointer == named.pointer
    made["second_pointer"] = made["pointer"] if alike else make_port("second_pointer", named, setting)
    return Ports(**made)


def make_port(port: str, named: PortNames, setting: Setting) -> Any:
    """What stands behind one port. A segmenter that takes no words gets those of the detector.

    Args:
        port: One of `PERCEPTION_PORTS`.
        named: A name for each port, see `PortNames.over`.
        setting: Seeds, robot and shared objects that the backend may ask for.

    Raises:
        ToolError: See `make_ports`.
    """
    made = [registry.make(port, part, setting) for part in named.parts(port)]
    backend = made[0]
    if len(made) > 1:
        backend = BY_IMAGE[port](*made)
    if port == "segmenter" and TextPrompt not in backend.takes:
        backend = WordsToBoxes(backend, make_port("detector", named, setting))
    return backend
