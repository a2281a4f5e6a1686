"""Where episodes happen: stations that are lent to one episode each, and found as new by the next.

| name | what the tools reach | judged by |
|---|---|---|
| `physics` | a simulated robot in this process | `toolhand.sim.tasks.judge.Judge`: what the simulator knows |
| `mock` | a recorded frame; motions move nothing | `toolhand.sim.mock.judge.PointJudge`: the points that were named |
| `ros` | the nodes of ROS 2 graphs in lockstep, one episode at a time each | as `physics` |
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Protocol

from toolhand.sim.mock.data import MockDataset, MockFrame, read_dataset
from toolhand.sim.mock.judge import PointJudge, require_judgeable
from toolhand.sim.mock.recording import record_scene
from toolhand.sim.mock.station import MockStation
from toolhand.sim.mock.tasks import recorded_scene
from toolhand.sim.ros.graph import SharedGraph
from toolhand.sim.scene.scenes import Scene
from toolhand.sim.snapshot import Snapshot
from toolhand.sim.station import Station, StationConfig, StationState
from toolhand.sim.tasks.judge import Judge, JudgedStation
from toolhand.sim.tasks.task import Score, Task, Transcript
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.toolbox.toolbox import Toolbox
from toolhand.tool_nodes.types import Frame
from toolhand.training.env.episode import require_scene

FRAMES_KEPT = 64
"""Frames that a mock backend keeps: at 320x240 about 1 MB each."""


class EpisodeJudge(Protocol):
    """Scores one episode; made before it begins."""

    @property
    def before(self) -> Snapshot:
        """The objects at the beginning."""

    @property
    def sim_time_s(self) -> float:
        """Simulated time since the beginning [s]; 0 where no time passes."""

    def score(self, task: Task, transcript: Transcript) -> Score:
        """What came of it. Raises ToolError INTERNAL where it cannot be known: such an episode has no score."""


ObjectIdsAt = Callable[[Frame, Sequence[tuple[float, float]]], "tuple[str, ...] | None"]
"""(frame, normalized points) -> for each the id of the object there, or ""."""


def _nobody_knows(frame: Frame, points: Sequence[tuple[float, float]]) -> None:
    return None


def _cannot_save() -> StationState:
    raise invalid("Only an episode on physics in this process can be saved.")


@dataclass(frozen=True)
class StationLease:
    """A station for one episode.

    Attributes:
        release: Ends the lease; False where the station is not to be trusted any more, and is not leased again.
        camera: The scene camera; None where only the tools reach one.
        object_ids_at: Function that tells what points of an image truly lie on, see `toolhand.sim.station.Station`;
            None where it is not known.
        save: The station's snapshot. Raises ToolError INVALID_ARGUMENT where it is not a physics station of the pool.
    """

    toolbox: Toolbox
    judge: EpisodeJudge
    release: Callable[[bool], None]
    camera: Camera | None = None
    save: Callable[[], StationState] = _cannot_save
    object_ids_at: ObjectIdsAt = _nobody_knows


class StationPool(ABC):
    """Lends stations of one configuration, from any thread."""

    @abstractmethod
    def take(self, task: Task, seed: int) -> StationLease:
        """A station as new, with a task's objects on its table.

        Raises:
            ToolError: INVALID_ARGUMENT for a bad seed, and for a task that cannot be done or judged there;
                UNAVAILABLE where there is no station to be had.
        """

    def resume(self, task: Task, state: StationState, before: Snapshot) -> StationLease:
        """A station at a saved snapshot; `before` as of Judge.

        Raises:
            ToolError: INVALID_ARGUMENT for a snapshot of another configuration, or where stations are not the pool's
                own.
        """
        raise invalid("Only an environment with stations of its own restores.")

    def close(self) -> None:  # noqa: B027 - most pools have started nothing
        """End what the pool has started; a session that is still open finds its tools gone."""


class PhysicsPool(StationPool):
    """Simulated stations of this process. It keeps as many as were ever in use at once.

    Args:
        config: Configuration of the stations; the seed is each episode's.
    """

    def __init__(self, config: StationConfig) -> None:
        self._config = config
        self._free: list[Station] = []
        self._lock = threading.Lock()

    def take(self, task: Task, seed: int) -> StationLease:
        """See StationPool."""
        station = self._pick(task)
        if station is None:
            station = Station(task.scene, replace(self._config, seed=seed))
        else:
            station.reset(seed, task.scene)
        return self._lend(station, Judge(station))

    def resume(self, task: Task, state: StationState, before: Snapshot) -> StationLease:
        """See StationPool."""
        station = self._pick(task)
        if station is None:
            station = Station(task.scene, replace(self._config, seed=state.config.seed))
        elif station.scene != task.scene:
            station.reset(state.config.seed, task.scene)
        try:
            station.restore(state)
        except ToolError:
            self._keep(station, True)
            raise
        return self._lend(station, Judge(station, before))

    def _pick(self, task: Task) -> Station | None:
        """A free station, if there is one; best one that has the task's objects already."""
        with self._lock:
            if not self._free:
                return None
            same = [k for k, station in enumerate(self._free) if station.scene == task.scene]
            return self._free.pop(same[-1] if same else -1)

    def _lend(self, station: Station, judge: Judge) -> StationLease:
        return StationLease(
            station.toolbox,
            judge,
            lambda healthy: self._keep(station, healthy),
            station.camera,
            station.save,
            station.object_ids_at,
        )

    def _keep(self, station: Station, healthy: bool) -> None:
        if healthy:
            with self._lock:
                self._free.append(station)


class CallbackPool(StationPool):
    """Stations that somebody else makes, one for each episode.

    Args:
        make_station: Makes a station that shows the task's scene, of a configuration with the episode's seed.
    """

    def __init__(self, make_station: Callable[[Task, StationConfig], JudgedStation], config: StationConfig) -> None:
        self._make_station = make_station
        self._config = config

    def take(self, task: Task, seed: int) -> StationLease:
        """See StationPool."""
        station = self._make_station(task, replace(self._config, seed=seed))
        require_scene(station, task)
        return StationLease(station.toolbox, Judge(station), lambda healthy: None, getattr(station, "camera", None))


class MockPool(StationPool):
    """Recorded frames instead of a robot: a look is the frame, and motions succeed without moving anything.

    A task's frame is that of the data set where it has one of the task's scene; else one is recorded and kept.

    Args:
        config: Configuration of the stations; frames of the data set are thinned to its `image_size`.
        dataset: Data set made by `toolhand mock record`; the shipped one where None.

    Raises:
        ToolError: INVALID_ARGUMENT for an `image_size` that the data set's frames cannot be thinned to.
    """

    def __init__(self, config: StationConfig, dataset: MockDataset | None = None) -> None:
        self._config = config
        self._dataset = dataset or read_dataset()
        self._dataset.frame(0).scaled(config.image_size)
        self._frames: OrderedDict[Scene, MockFrame] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, task: Task, seed: int) -> StationLease:
        """See StationPool."""
        require_judgeable(task)
        config = replace(self._config, seed=seed)
        with self._lock:
            recorded = self._frame(task.scene)
        station = MockStation(recorded, config)
        return StationLease(station.toolbox, PointJudge(station, task.scene), lambda healthy: None, station.camera)

    def _frame(self, scene: Scene) -> MockFrame:
        """What the camera sees of a scene."""
        if scene not in self._frames:
            self._frames[scene] = self._recorded(scene)
        self._frames.move_to_end(scene)
        while len(self._frames) > FRAMES_KEPT:
            self._frames.popitem(last=False)
        return self._frames[scene]

    def _recorded(self, scene: Scene) -> MockFrame:
        index = scene.seed - self._dataset.seed
        if 0 <= index < self._dataset.n and recorded_scene(self._dataset, index).objects == scene.objects:
            frame = self._dataset.frame(index)
            if frame.scene_seed == scene.seed:
                return frame.scaled(self._config.image_size)
        return record_scene(scene, scene.seed, self._config.image_size)


class RosPool(StationPool):
    """Stations over graphs of ROS 2 in lockstep, each with one episode at a time; a graph is started when it is needed.

    A graph that something failed in is ended, and another one started for the next episode.

    Args:
        config: Configuration of the stations; a graph has the images, time step, renderer and arm of its own
            parameter file, and perception without noise.
        graphs: Most graphs at once, 1 or more.

    Raises:
        ToolError: INVALID_ARGUMENT for a configuration that a graph does not have.
    """

    def __init__(self, config: StationConfig, graphs: int = 1) -> None:
        for name in ("renderer", "arm", "noise", "image_size", "timestep", "sleep"):
            if getattr(config, name) != getattr(StationConfig(), name):
                raise invalid(f"A graph of ROS 2 has its own {name}: leave it as it is by default.")
        if graphs < 1:
            raise invalid(f"There must be 1 graph or more, got {graphs}.")
        self._config = config
        self._graphs = tuple(SharedGraph() for _ in range(graphs))
        self._free = list(self._graphs)
        self._lock = threading.Lock()  # also of the environment variables, which lead a new node to its graph

    def take(self, task: Task, seed: int) -> StationLease:
        """See StationPool."""
        with self._lock, ExitStack() as begun:
            if not self._free:
                raise invalid(f"All {len(self._graphs)} graphs are in use: close a session before the next.")
            station = begun.enter_context(self._free[-1].station(task.scene, replace(self._config, seed=seed)))
            toolbox, judge = station.toolbox, Judge(station)
            graph, link = self._free.pop(), begun.pop_all()

        def release(healthy: bool) -> None:
            link.close()
            with self._lock:
                if not healthy:
                    graph.close()
                self._free.append(graph)

        return StationLease(toolbox, judge, release)

    def close(self) -> None:
        """See StationPool."""
        with self._lock:
            for graph in self._graphs:
                graph.close()


BACKENDS: Mapping[str, Callable[[StationConfig], StationPool]] = {
    "physics": PhysicsPool,
    "mock": MockPool,
    "ros": RosPool,
}
"""What makes the stations of an environment, by name."""


def make_pool(name: str, config: StationConfig) -> StationPool:
    """The stations of a backend. Raises ToolError INVALID_ARGUMENT for another name than those of BACKENDS."""
    if name not in BACKENDS:
        raise invalid(f"There is no backend {name[:60]!r}: it must be one of {', '.join(BACKENDS)}.")
    return BACKENDS[name](config)
