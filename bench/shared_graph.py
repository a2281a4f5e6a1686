"""One graph for many episodes, one after the other: each finds it as freshly started."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from toolhand.sim.ros.graph import lockstep_graph, station_anew

if TYPE_CHECKING:
    from rclpy_zenoh.launch import LaunchedGraph
    from toolhand.sim.ros.station import RosStation
    from toolhand.sim.scene.scenes import Scene
    from toolhand.sim.station import StationConfig


class SharedGraph:
    """A graph in lockstep that is started when it is needed, and ended with the process at the latest.

    Args:
        driver: Manners of the arm's driver, see `toolhand.sim.ros.driver`.
    """

    def __init__(self, driver: str) -> None:
        self._driver = driver
        self._running = ExitStack()
        self._graph: LaunchedGraph | None = None
        atexit.register(self.close)

    @contextmanager
    def station(self, scene: Scene, config: StationConfig) -> Iterator[RosStation]:
        """A station with another scene and seed; after an exception in the block the next one has another graph.

        Args:
            scene: Scene on the table.
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
