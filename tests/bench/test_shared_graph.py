"""One graph serves many episodes, until something in it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_args

import pytest

from toolhand.bench import shared_graph
from toolhand.bench.commands.manipulation import DriverName
from toolhand.bench.manipulation import EpisodeOptions
from toolhand.bench.shared_graph import SharedGraph
from toolhand.sim.ros.driver import DRIVERS
from toolhand.sim.scene.files import named_scene
from toolhand.sim.station import StationConfig
from toolhand.tool_nodes.results import ErrorCode, ToolError


class Graphs:
    """Stand for those that are started."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.running: set[int] = set()
        self.used: list[tuple[int, int]] = []

    @contextmanager
    def lockstep_graph(self, config: StationConfig, driver: str) -> Iterator[int]:
        self.started.append(driver)
        number = len(self.started)
        self.running.add(number)
        yield number
        self.running.remove(number)

    @contextmanager
    def station_anew(self, graph: int, scene: Any, config: StationConfig) -> Iterator[str]:
        assert graph in self.running
        self.used.append((graph, config.seed))
        yield "station"


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Graphs:
    graphs = Graphs()
    for name in ("lockstep_graph", "station_anew"):
        monkeypatch.setattr(shared_graph, name, getattr(graphs, name))
    return graphs


def test_a_graph_that_nothing_failed_in_is_used_again(graphs: Graphs) -> None:
    scene, graph = named_scene("example"), SharedGraph("kortex")
    assert graphs.started == []
    for seed in (1, 2):
        with graph.station(scene, StationConfig(seed=seed)):
            pass
    error = ToolError(ErrorCode.UNAVAILABLE, "The node motion does not answer.")
    with pytest.raises(ToolError), graph.station(scene, StationConfig(seed=3)):
        raise error
    assert graphs.running == set()
    with graph.station(scene, StationConfig(seed=4)):
        pass
    assert graphs.used == [(1, 1), (1, 2), (1, 3), (2, 4)]
    assert graphs.started == ["kortex", "kortex"]
    graph.close()
    assert graphs.running == set()


def test_the_drivers_that_can_be_typed_are_those_of_the_simulator_and_need_a_graph() -> None:
    assert get_args(DriverName) == DRIVERS
    EpisodeOptions(transport="ros", driver="kortex").check()
    with pytest.raises(ToolError, match="Only the transport ros has the driver kortex") as error:
        EpisodeOptions(driver="kortex").check()
    assert error.value.code is ErrorCode.INVALID_ARGUMENT
