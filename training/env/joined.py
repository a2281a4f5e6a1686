"""Episodes in a graph that somebody else has started, with a simulator that is not Toolhand's."""

from __future__ import annotations

import tempfile
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from toolhand.sim.simulators import SIMULATORS, SimulatorName
from toolhand.sim.station import StationConfig
from toolhand.sim.tasks.judge import Judge
from toolhand.sim.tasks.task import Task
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.ros.client import use_client
from toolhand.training.env.backends import StationLease, StationPool

AVAILABILITY_S = 10.0
"""How long to wait for another node [s], as launch/params/isaac.yaml has it."""
RESPONSE_S = 60.0
"""How long a service may take, and the clock may stand still [s]; likewise: a scene is loaded meanwhile."""


def require_spawning(simulator: SimulatorName) -> None:
    """Refuse a simulator that cannot be given the objects of a task. Raises ToolError INVALID_ARGUMENT."""
    if not SIMULATORS[simulator].entities:
        able = ", ".join(name for name, names in SIMULATORS.items() if names.entities)
        raise invalid(
            f"Things of tasks are spawned from USD, which {simulator} does not take: the simulator must be {able}."
        )


class JoinedPool(StationPool):
    """The graph that runs on this ROS domain, with one episode at a time; its clock passes by itself.

    Each episode resets the simulator, spawns the objects of its task and is judged by the poses of entities.

    Args:
        config: Backends and seed of the tools; the graph has them already.

    Raises:
        ToolError: INVALID_ARGUMENT for a simulator that objects cannot be spawned in.
    """

    def __init__(self, config: StationConfig, simulator: SimulatorName) -> None:
        require_spawning(simulator)
        self._config, self._simulator = config, SIMULATORS[simulator]
        self._free = threading.Lock()

    def take(self, task: Task, seed: int) -> StationLease:
        """See StationPool."""
        config = replace(self._config, seed=seed)
        if not self._free.acquire(blocking=False):
            raise invalid("The graph is in use: close the session before the next.")
        held = ExitStack()
        held.callback(self._free.release)
        try:
            use_client()
            from toolhand.sim.ros.anew import SceneSpawner
            from toolhand.sim.ros.entity_world import EntityWorld, HeardTopics
            from toolhand.sim.ros.station import RosStation
            from toolhand.tool_nodes.ros.calling import Deadlines
            from toolhand.tool_nodes.ros.link import RosLink

            robot = load_robot(config.robot)
            folder = held.enter_context(tempfile.TemporaryDirectory(prefix="toolhand_usd_"))
            link = held.enter_context(RosLink({}, Deadlines(AVAILABILITY_S, RESPONSE_S)))
            topics = HeardTopics(link.node, robot)
            SceneSpawner(link, topics, self._simulator, robot, Path(folder)).begin(task.scene, seed)
            world = EntityWorld(link, topics, self._simulator, task.scene, robot)
            held.callback(world.close)
            world.follow()
            station = RosStation(link, config, world)
            return StationLease(station.toolbox, Judge(station), lambda healthy: held.close())
        except BaseException:
            held.close()
            raise
