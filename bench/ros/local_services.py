"""The simulator's services of entities over a world of this process: the same answers with no graph."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from simulation_interfaces.msg import Result, SimulationState
from simulation_interfaces.srv import GetEntitiesStates

from sim.ros.entities import Entities
from sim.ros.services import RefusedError, Services, ServiceWork
from sim.simulators import Simulator
from sim.world import World
from tool_nodes.ros.calling import Deadlines


class LocalServices:
    """Calls the simulator's own service functions; a sim.ros.entity_world.Caller.

    Args:
        world: World that they look at and step; may be changed.
        simulator: Simulator whose names they have, and whose digits: Isaac Sim has poses in single precision.
    """

    def __init__(self, world: World, simulator: Simulator) -> None:
        self.world = world
        self.deadlines = Deadlines()
        self._simulator = simulator
        self._works: dict[str, ServiceWork] = {}
        desk = SimpleNamespace(physics=SimpleNamespace(time_offset=0.0), simulator=simulator, add=self._add)
        Entities(cast(Services, desk))
        self._add(None, "get_simulation_state", self._state)
        self._add(None, "step_simulation", self._step)

    def _add(self, kind: Any, name: str, work: ServiceWork) -> None:
        self._works[self._simulator.service(name)] = work

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """The response of a service; KeyError where there is none of that name."""
        response = kind.Response()
        try:
            self._works[name](self.world, request, response)
        except RefusedError as error:
            response.result = Result(result=error.code, error_message=str(error))
        else:
            response.result = Result(result=Result.RESULT_OK)
        if kind is GetEntitiesStates and self._simulator.entities:
            _to_single_precision(response)
        return response

    def _state(self, world: World, request: Any, response: Any) -> None:
        response.state.state = SimulationState.STATE_PAUSED

    def _step(self, world: World, request: Any, response: Any) -> None:
        world.step(int(request.steps))


def _to_single_precision(response: Any) -> None:
    for state in response.states:
        for part in (state.pose.position, state.pose.orientation, state.twist.linear, state.twist.angular):
            for axis in ("x", "y", "z", "w"):
                if hasattr(part, axis):
                    setattr(part, axis, float(np.float32(getattr(part, axis))))
