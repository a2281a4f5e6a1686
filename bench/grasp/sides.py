"""The sides of a comparison: what is measured, the naive control, what it is compared with, and perfect perception."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from toolhand.agent_node.console.options import BackendOptions
from toolhand.sim.perception import PerceptionNoise
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.port_names import PORTS
from toolhand.tool_nodes.results import invalid

GraspWay = Literal["second_view", "clearing", "said"]
"""An attempt that fails with an empty hand is made once more, from a second view by the camera at the wrist; objects in
the way are taken aside first, see `toolhand.bench.grasp.clearing`; the embedded policy is told in a sentence to pick
the object up, by its name and where it is seen."""

CONTROL = "top_down"
"""The naive generator: straight down over the middle of the mask, without a look at what stands around."""
_BY_ITSELF = ("grasps", "segmenter")
"""Ports in which --vs looks for a name that says no port."""
_EXACT = PerceptionNoise(point_jitter_px=0.0, mask_noise_px=0.0, depth_noise=0.0)


@dataclass(frozen=True)
class GraspSide:
    """One way to grasp; every side is given the same scenes, and the same object in each.

    Attributes:
        role: Part that it has in the comparison, in names of files: "main", "vs", "control", "ideal", a GraspWay, or
            what another benchmark tells it by.
        label: Name in tables.
        robot: Name or folder of the robot.
        exact: Masks are the simulator's truth to the pixel, where the segmenter is `sim`.
    """

    role: str
    label: str
    backends: BackendOptions
    robot: str
    exact: bool = False

    def config(self, seed: int) -> StationConfig:
        """The station that a scene of this seed is worked at."""
        noise = _EXACT if self.exact else PerceptionNoise()
        suites = ("spacetools", "wrist") if self.role == "second_view" else ("spacetools",)
        return StationConfig(**vars(self.backends), seed=seed, robot=self.robot, noise=noise, suites=suites)

    def document(self) -> dict[str, Any]:
        """What it is, as a report has it."""
        return {"role": self.role, "label": self.label, "robot": self.robot, **self.backends.document()}


def sides_of(
    backends: BackendOptions,
    robot: str,
    vs: str,
    control: bool,
    ideal: bool,
    ways: Sequence[GraspWay] = (),
) -> list[GraspSide]:
    """The sides that are asked for, what is measured first.

    Args:
        robot: Name or folder of the robot.
        vs: "PORT:NAME", or the name of a generator or segmenter; empty for no comparison.
        ideal: With a sensor without noise and true masks.
        ways: Other ways to go about it.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown name.
    """
    backends.require_known()
    named = backends.ports.over(backends.perception)

    def side(role: str, label: str, exact: bool = False, **ports: str) -> GraspSide:
        changed = replace(backends, ports=replace(backends.ports, **ports))
        changed.require_known()
        return GraspSide(role, label, changed, robot, exact)

    sides = [side("main", named.grasps)]
    if vs:
        port, name = port_of(vs)
        mine = getattr(named, port)
        if name == mine:
            raise invalid(f"--vs must name another {port} than the one that is measured, {mine!r}.")
        sides = [side("main", mine), side("vs", name, exact=False, **{port: name})]
    if control and named.grasps != CONTROL:
        sides.append(side("control", CONTROL, grasps=CONTROL))
    if ideal:
        sides.append(side("ideal", f"{named.grasps}, ideal", exact=True, sensor="clean", segmenter="sim"))
    sides += [replace(sides[0], role=way, label=f"{sides[0].label}, {way.replace('_', ' ')}") for way in ways]
    return sides


def port_of(vs: str) -> tuple[str, str]:
    """Port and name of what --vs says, "segmenter:sam2:large" or a name that only one of the ports knows.

    Raises:
        ToolError: INVALID_ARGUMENT for a name that neither a generator nor a segmenter has, or both.
    """
    port, _, name = vs.partition(":")
    if port in PORTS and name:
        return port, name
    found = [port for port in _BY_ITSELF if vs.partition(":")[0] in registry.names(port)]
    if len(found) == 1:
        return found[0], vs
    which = "is both" if found else "is none"
    raise invalid(
        f"--vs must name a generator of grasps or a segmenter, and {vs[:60]!r} {which}: "
        "say grasps:NAME or segmenter:NAME; toolhand doctor lists the names."
    )
