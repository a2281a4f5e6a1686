"""Pools of graphs: a graph is used again after a sound episode, and ended after one that failed in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from toolhand.sim.ros import graph
from toolhand.sim.ros.graph import SharedGraph
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.pick import PickTask
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.env.backends import RosPool
from toolhand.training.env.environment import Environment

SCENE = load_scene(EXAMPLE_SCENE)
PICK = PickTask("pick up the far coconut water", SCENE, ("coconut_water_1",))


class Graphs:
    """Stands for graphs of ROS 2: what was started, what runs, and stations of this process over them."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.running: set[int] = set()
        self.links: list[tuple[int, int]] = []
        self.refuses = False

    @contextmanager
    def lockstep_graph(self, config: StationConfig, driver: str) -> Iterator[int]:
        self.started.append(driver)
        number = len(self.started)
        self.running.add(number)
        try:
            yield number
        finally:
            self.running.remove(number)

    @contextmanager
    def station_anew(self, graph: int, scene: Scene, config: StationConfig) -> Iterator[Station]:
        assert graph in self.running
        if self.refuses:
            raise ToolError(ErrorCode.UNAVAILABLE, "The node motion does not answer.")
        self.links.append((graph, config.seed))
        self.station = Station(scene, config)
        yield self.station


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> Graphs:
    graphs = Graphs()
    for name in ("lockstep_graph", "station_anew"):
        replacement: Callable[..., object] = getattr(graphs, name)
        monkeypatch.setattr(graph, name, replacement)
    return graphs


def test_a_graph_that_nothing_failed_in_is_used_again(graphs: Graphs) -> None:
    shared = SharedGraph("kortex")
    assert graphs.started == []
    for seed in (1, 2):
        with shared.station(SCENE, StationConfig(seed=seed)):
            pass
    error = ToolError(ErrorCode.UNAVAILABLE, "The node motion does not answer.")
    with pytest.raises(ToolError), shared.station(SCENE, StationConfig(seed=3)):
        raise error
    assert graphs.running == set()
    with shared.station(SCENE, StationConfig(seed=4)):
        pass
    assert graphs.links == [(1, 1), (1, 2), (1, 3), (2, 4)]
    assert graphs.started == ["kortex", "kortex"]
    shared.close()
    assert graphs.running == set()


def test_a_sound_graph_is_used_again_and_one_that_failed_is_ended(graphs: Graphs) -> None:
    environment = Environment(backend=RosPool(StationConfig()))
    assert not graphs.started, "none before it is needed"
    for seed in (1, 2):
        environment.open(PICK, seed).close()
    assert graphs.links == [(1, 1), (1, 2)]
    with environment.open(PICK, 3) as session:
        session.abort(ToolError(ErrorCode.UNAVAILABLE, "The model does not answer."))
    assert graphs.running == {1}, "which is no fault of the graph"
    with environment.open(PICK, 3) as session:
        graphs.station.world.data.qvel[3] = np.inf
        with pytest.raises(ToolError, match="physics"):
            session.score()
    assert graphs.running == set()
    environment.open(PICK, 4).close()
    assert graphs.links[-1] == (2, 4)
    environment.close()
    assert graphs.running == set()


def test_a_graph_that_does_not_begin_anew_is_ended(graphs: Graphs) -> None:
    environment = Environment(backend=RosPool(StationConfig()))
    graphs.refuses = True
    with pytest.raises(ToolError, match="The node motion does not answer"):
        environment.open(PICK)
    assert (graphs.started, graphs.running) == (["ideal"], set())
    graphs.refuses = False
    with environment.open(PICK):
        assert graphs.running == {2}


def test_as_many_graphs_as_were_allowed_run_at_once(graphs: Graphs) -> None:
    environment = Environment(backend=RosPool(StationConfig(), graphs=2))
    with environment.open(PICK), environment.open(PICK):
        assert graphs.running == {1, 2}
        with pytest.raises(ToolError, match="All 2 graphs are in use"):
            environment.open(PICK)
    environment.open(PICK).close()
    assert len(graphs.started) == 2
    environment.close()
    assert not graphs.running
