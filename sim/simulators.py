"""Simulators that speak `simulation_interfaces`, and the names that each gives its services and entities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from toolhand.sim.usd.prims import OBJECTS

SimulatorName = Literal["toolhand", "isaac", "gazebo"]
"""Which simulator a graph has."""
TruthSource = Literal["simulator", "entities"]
"""Where a judge's facts come from: Toolhand's own simulator, or the poses of any simulator's entities."""


@dataclass(frozen=True)
class Simulator:
    """How a simulator is spoken to.

    Attributes:
        services: Namespace of its services, with no slash at the end.
        entities: Prefix of the name of an object's entity, before the object's id.
        filter: Regular expression of `EntityFilters` that leaves the objects of a scene and little else.
        takes_scenes: True where it loads the YAML of a scene; objects are spawned one by one elsewhere.
        answers_early: Services that it answers before it has done what they ask for.
        stamped: True where the states of entities say when they were measured.
    """

    services: str
    entities: str
    filter: str
    takes_scenes: bool = False
    answers_early: tuple[str, ...] = ()
    stamped: bool = True

    def service(self, name: str) -> str:
        """Full name of a service of `simulation_interfaces`, e.g. "/gzserver/get_entities_states"."""
        return f"{self.services}/{name}"


SIMULATORS: Mapping[SimulatorName, Simulator] = {
    "toolhand": Simulator("", "", "", takes_scenes=True),
    # Entities are prims; the filter says the same whether it is searched for or has to match the whole name.
    "isaac": Simulator("", f"{OBJECTS}/", f"^{OBJECTS}/.*", answers_early=("reset_simulation",), stamped=False),
    "gazebo": Simulator("/gzserver", "", "", answers_early=("step_simulation",)),
}
"""Isaac Sim has its services at the root and names entities by USD paths; Gazebo has them under /gzserver."""
