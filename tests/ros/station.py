"""A station over a graph of its own."""

import contextlib
from collections.abc import Iterator

from toolhand.sim.ros.graph import lockstep_graph
from toolhand.sim.ros.station import RosStation
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes.ros.link import RosLink


@contextlib.contextmanager
def ros_station(scene: Scene, config: StationConfig, lockstep: bool = True) -> Iterator[RosStation]:
    """The graph ends with the block; without lockstep simulated time passes as the wall clock's."""
    with lockstep_graph(config, scene, lockstep) as graph, RosLink(graph.environment) as link:
        yield RosStation(link, config)
