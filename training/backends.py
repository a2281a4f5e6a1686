"""Where episodes happen: stations that are lent to one episode each, and found as new by the next.

| name | what the tools reach | judged by |
|---|---|---|
| `physics` | a simulated robot in this process | `sim.tasks.judge.Judge`: what the simulator knows |
| `mock` | a recorded frame; motions move nothing | `sim.mock.judge.PointJudge`: the points that were named |
| `ros` | the nodes of ROS 2 graphs in lockstep, one episode at a time each | as `physics` |
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from sim.station import Station, StationConfig, StationState
from sim.tasks.judge import Judge, JudgedStation
from sim.tasks.predicates import Snapshot
from sim.tasks.task import Score, Task, Transcript
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.toolbox.toolbox import Toolbox
from training.episode import require_scene


class EpisodeJudge(Protocol):
    """Scores one episode; made before it begins."""

    @property
    def before(self) -> Snapshot:
        """The things at the beginning."""

    def score(self, task: Task, transcript: Transcript) -> Score:
        """What came of it. Raises ToolError INTERNAL where it cannot be known: such an episode has no score."""


def _cannot_save() -> StationState:
    raise ToolError(ErrorCode.INVALID_ARGUMENT, "Only an episode on a sound station of its own can be saved.")


@dataclass(frozen=True)
class StationLease:
    """A station for one episode.

    Attributes:
        toolbox: Its tools.
        judge: Watches the episode.
        release: Ends the lease; False where the station is not to be trusted any more, and nobody gets it again.
        save: The station's moment. Raises ToolError INVALID_ARGUMENT where it is not a physics station of the pool.
    """

    toolbox: Toolbox
    judge: EpisodeJudge
    release: Callable[[bool], None]
    save: Callable[[], StationState] = _cannot_save


class StationPool(ABC):
    """Lends stations of one configuration, from any thread."""

    @abstractmethod
    def take(self, task: Task, seed: int) -> StationLease:
        """A station as new, with a task's things on its table.

        Raises:
            ToolError: INVALID_ARGUMENT for a bad seed, and for a task that cannot be done or judged there;
                UNAVAILABLE where there is no station to be had.
        """

    def go_on(self, task: Task, state: StationState, before: Snapshot) -> StationLease:
        """A station at a saved moment; `before` as of Judge.

        Raises:
            ToolError: INVALID_ARGUMENT for a moment of another configuration, or where stations are not the pool's own.
        """
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "Only an environment with stations of its own restores.")

    def close(self) -> None:  # noqa: B027 - most pools have started nothing
        """End what the pool has started; a session that is still open finds its tools gone."""


class PhysicsPool(StationPool):
    """Simulated stations of this process. It keeps as many as were ever in use at once.

    Args:
        config: Of the stations; the seed is each episode's.
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

    def go_on(self, task: Task, state: StationState, before: Snapshot) -> StationLease:
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
        """A free station, if there is one; best one that has the task's things already."""
        with self._lock:
            if not self._free:
                return None
            same = [k for k, station in enumerate(self._free) if station.scene == task.scene]
            return self._free.pop(same[-1] if same else -1)

    def _lend(self, station: Station, judge: Judge) -> StationLease:
        return StationLease(station.toolbox, judge, lambda sound: self._keep(station, sound), station.save)

    def _keep(self, station: Station, sound: bool) -> None:
        if sound:
            with self._lock:
                self._free.append(station)


class CallbackPool(StationPool):
    """Stations that somebody else makes, one for each episode.

    Args:
        make_station: Makes a station that shows the task's scene, of a configuration with the episode's seed.
        config: Handed to it.
    """

    def __init__(self, make_station: Callable[[Task, StationConfig], JudgedStation], config: StationConfig) -> None:
        self._make_station = make_station
        self._config = config

    def take(self, task: Task, seed: int) -> StationLease:
        """See StationPool."""
        station = self._make_station(task, replace(self._config, seed=seed))
        require_scene(station, task)
        return StationLease(station.toolbox, Judge(station), lambda sound: None)


BACKENDS: Mapping[str, Callable[[StationConfig], StationPool]] = {"physics": PhysicsPool}
"""What makes the stations of an environment, by name."""


def make_pool(name: str, config: StationConfig) -> StationPool:
    """The stations of a backend. Raises ToolError INVALID_ARGUMENT for another name than those of BACKENDS."""
    if name not in BACKENDS:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"There is no backend {name[:60]!r}: it must be one of {', '.join(BACKENDS)}."
        )
    return BACKENDS[name](config)
