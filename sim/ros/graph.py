"""A graph of the simulated robot, started for a purpose and ended with it.

Nothing here imports rclpy, zenoh or the simulator before it is needed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from toolhand.tool_nodes.results import INFRASTRUCTURE_ERRORS, ToolError, invalid, unavailable
from toolhand.tool_nodes.ros.client import RUN_COMMAND, use_client

if TYPE_CHECKING:
    from rclpy_zenoh.launch import LaunchedGraph
    from toolhand.sim.ros.station import RosStation
    from toolhand.sim.scene.scenes import Scene
    from toolhand.sim.station import StationConfig

Transport = Literal["process", "ros"]
"""Where the tools' backends are: in this process, or in the nodes of a graph."""

READY_TIMEOUT_S = 180.0
"""Bounds the wait on an overloaded machine; on an idle one the graph takes about 6 s."""
READY_SERVICES = (
    RUN_COMMAND, "/execute_grasp/_action/send_goal", "/place/_action/send_goal",
    "/get_depth", "/detect_points", "/segment", "/estimate_depth", "/compute_grasp", "/compute_bounding_box",
    "/sim/get_truth", "/sim/mark", "/step_simulation", "/get_current_world", "/stop",
)  # fmt: skip
"""What an episode calls; the graph is ready once all of these are there."""

_LINES_ON_FAILURE = 20
"""Last lines of the graph's output that an error shows."""


@contextlib.contextmanager
def lockstep_graph(
    config: StationConfig, scene: Scene | None = None, lockstep: bool = True, driver: str = "ideal"
) -> Iterator[LaunchedGraph]:
    """A graph with the backends of a configuration until the block ends.

    Args:
        config: Perception and seed.
        scene: Scene on the table; the example where None.
        lockstep: False lets simulated time pass as the wall clock's.
        driver: Manners of the arm's driver, see `toolhand.sim.ros.driver`.

    Raises:
        ToolError: UNAVAILABLE where the graph does not start.
    """
    use_client()
    from toolhand.sim.scene.files import scene_yaml

    with tempfile.TemporaryDirectory() as folder:
        arguments = {
            "perception": config.perception,
            "seed": str(config.seed),
            "lockstep": str(lockstep).lower(),
            "runs_dir": folder,
            "robot": config.robot,
            "driver": driver,
            **config.ports.chosen,
        }
        if config.objects:
            from toolhand.sim.objects.chosen import absolute_sets

            arguments["objects"] = absolute_sets(config.objects)
        if scene is not None:
            file = Path(folder) / "scene.yaml"
            file.write_text(scene_yaml(scene), encoding="utf-8")
            arguments["scene"] = str(file)
        with started_graph(arguments) as graph:
            yield graph


@contextlib.contextmanager
def station_anew(graph: LaunchedGraph, scene: Scene, config: StationConfig) -> Iterator[RosStation]:
    """A station over a graph that runs, as freshly started with another scene and seed; ended with the block.

    A stop that is latched stays: only a person resets it.

    Args:
        graph: In lockstep, with the backends of the configuration.
        config: Configuration of the graph, with the new seed.

    Raises:
        ToolError: UNAVAILABLE or TIMEOUT where a node does not answer, INTERNAL where it refuses.
    """
    from toolhand.sim.ros.station import RosStation, begin_anew
    from toolhand.tool_nodes.ros.link import RosLink

    with RosLink(graph.environment) as link:
        begin_anew(link, scene, config.seed)
        yield RosStation(link, config)


class SharedGraph:
    """A graph in lockstep for many episodes, one after the other; it is started when it is needed.

    Args:
        driver: Manners of the arm's driver, see `toolhand.sim.ros.driver`.
    """

    def __init__(self, driver: str = "ideal") -> None:
        self._driver = driver
        self._running = contextlib.ExitStack()
        self._graph: LaunchedGraph | None = None

    @contextlib.contextmanager
    def station(self, scene: Scene, config: StationConfig) -> Iterator[RosStation]:
        """A station as of `station_anew`; after an exception in the block the next one has another graph.

        Args:
            config: Backends, which are the same each time, and the seed.

        Raises:
            ToolError: As `lockstep_graph` and `station_anew`.
        """
        if self._graph is None:
            self._graph = self._running.enter_context(lockstep_graph(config, driver=self._driver))
        try:
            with station_anew(self._graph, scene, config) as station:
                yield station
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """End it; the next station has another one."""
        self._graph = None
        self._running.close()


@contextlib.contextmanager
def started_graph(arguments: Mapping[str, str]) -> Iterator[LaunchedGraph]:
    """The simulated graph with a router of its own, ready, until the block ends.

    Args:
        arguments: Arguments of launch/sim.launch.yaml.

    Raises:
        ToolError: UNAVAILABLE where it does not start; what its nodes wrote last is shown. INVALID_ARGUMENT for a
            second pointer.
    """
    if arguments.get("second_pointer"):
        raise invalid("A graph of ROS 2 has one pointer behind all tools: leave out second_pointer.")
    if not use_client():
        raise unavailable(
            "Where ROS 2 is sourced no graph is started from here, and none is used.",
            "Start one with `ros2 launch toolhand_bringup sim.launch.yaml` and use it with --transport ros alone.",
        )
    from rclpy_zenoh.launch import LaunchError, launch
    from rclpy_zenoh.launch.packages import share_folder

    lines: deque[str] = deque(maxlen=_LINES_ON_FAILURE)
    try:
        file = share_folder("toolhand_bringup") / "launch" / "sim.launch.yaml"
        domain = 1 + os.getpid() % 200
        with launch(file, arguments, domain=domain, router_port=0, sink=lines.append) as graph:
            graph.wait_ready(READY_TIMEOUT_S, READY_SERVICES)
            try:
                yield graph
            except ToolError as error:
                if error.code in INFRASTRUCTURE_ERRORS:
                    print("\n".join(lines), file=sys.stderr)
                raise
    except LaunchError as error:
        print("\n".join(lines), file=sys.stderr)
        raise unavailable(str(error)) from error
