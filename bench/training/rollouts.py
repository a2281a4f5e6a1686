"""`toolhand bench rollouts`: physical pick-and-place episodes per minute and core, beside a loop of `run_episode`."""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from agent_node.console.options import Perception, PictureSize, SensorName, require_at_least
from agent_node.console.terminal import AsJson, say
from agent_node.policies.scripted.policy import ScriptedPolicy
from bench.stats import format_rows, machine, publish, rate_row, with_unscored
from sim.station import Station, StationConfig
from sim.tasks.generation import TASKS_VERSION
from sim.tasks.tasks import random_task
from sim.world import check_timestep
from tool_nodes.port_names import DEFAULT_PRESET, DEFAULT_SENSOR, PortNames
from tool_nodes.results import ErrorCode, ToolError
from training.env.episode import run_episode
from training.pool.workers import Workers

PLAIN = "loop of run_episode"
"""A new station with the default configuration for each task."""

_RESAMPLES = 2000
"""Resamplings of the tasks behind an interval; a round figure."""

T = TypeVar("T")


@dataclass(frozen=True)
class RolloutJob:
    """One episode in a worker.

    Attributes:
        seed: Seed of the task and of the station.
        config: Configuration of the station; its seed is the job's.
        kept: The worker's station is reset; else there is a new one.
    """

    seed: int
    config: StationConfig
    kept: bool


@dataclass(frozen=True)
class MeasuredEpisode:
    """What one episode gave and took.

    Attributes:
        cpu_s: CPU time from the task to its score, the station's included [s].
        stages: CPU time by stage, in the same sum [s].
        calls: Tool calls.
        peak_mb: Most memory that the worker's process has had so far [MB].
    """

    seed: int
    cpu_s: float
    stages: Mapping[str, float]
    calls: int
    peak_mb: float
    scored: bool
    success: bool
    false_success: bool
    why: str


@dataclass
class StageClock:
    """CPU time by stage; a stage within another counts for itself alone."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    _open: list[str] = field(default_factory=list)
    _since: float = 0.0

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Within it, time counts for this stage."""
        self._book()
        self._open.append(name)
        try:
            yield
        finally:
            self._book()
            self._open.pop()

    def _book(self) -> None:
        now = time.process_time()
        if self._open:
            self.seconds[self._open[-1]] += now - self._since
        self._since = now

    def timed(self, name: str, function: Callable[..., T]) -> Callable[..., T]:
        """The function, whose time counts for a stage."""

        def run(*args: Any, **kwargs: Any) -> T:
            with self.stage(name):
                return function(*args, **kwargs)

        return run


_STAGES = {
    "physics": (("arm", "follow"), ("arm", "move_gripper")),
    "pictures": (("camera", "capture"), ("wrist_camera", "capture")),
    "perception": (
        ("ports.pointer", "point"),
        ("ports.detector", "detect"),
        ("ports.segmenter", "segment"),
        ("ports.depth", "estimate"),
    ),
    "grasps": (("ports.grasps", "generate"),),
    "planning": (("planner", "plan"), ("planner", "reachable")),
    "judging": (("world", "hold"), ("world", "snapshot")),
}
"""What of a station counts for which stage; the rest of an episode is "tools and agent"."""


@contextmanager
def _clocked(station: Station, clock: StageClock) -> Iterator[None]:
    """Within it, the parts of a station tell the clock when they work."""
    with ExitStack() as undo:
        for stage, parts in _STAGES.items():
            for path, method in parts:
                part: Any = station
                for name in path.split("."):
                    part = getattr(part, name)
                if method in vars(part):  # one backend behind two ports
                    continue
                setattr(part, method, clock.timed(stage, getattr(part, method)))
                undo.callback(delattr, part, method)
        yield


_kept: Station | None = None
"""The station of this worker."""


def run_one(job: RolloutJob) -> MeasuredEpisode:
    """Run and judge one episode in this process."""
    global _kept
    clock, policy = StageClock(), ScriptedPolicy()
    task = random_task(job.seed, "pick_and_place")
    began = time.process_time()
    with clock.stage("station"):
        if not job.kept:
            station = Station(task.scene, _config_of(job))
        elif _kept is None:
            station = _kept = Station(task.scene, _config_of(job))
        else:
            station = _kept
            station.reset(job.seed, task.scene)
    with clock.stage("tools and agent"), _clocked(station, clock):
        outcome = run_episode(station, policy, task)
    episode, truth = outcome.episode, outcome.truth
    return MeasuredEpisode(
        seed=job.seed,
        cpu_s=time.process_time() - began,
        stages=dict(clock.seconds),
        calls=episode.tool_calls,
        peak_mb=_peak_mb(),
        scored=outcome.scored,
        success=truth is not None and truth.success,
        false_success=outcome.false_success,
        why=""
        if truth is not None and truth.success
        else f"{episode.answer} {' '.join(truth.reasons if truth else ())}",
    )


def _config_of(job: RolloutJob) -> StationConfig:
    """The configuration with the job's seed."""
    return replace(job.config, seed=job.seed)


def _peak_mb() -> float:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


def _runner() -> Callable[[RolloutJob], MeasuredEpisode]:
    """What a process of its own is made for."""
    return run_one


def measured(worker: Workers[RolloutJob, MeasuredEpisode], job: RolloutJob) -> MeasuredEpisode:
    """What a process made of one episode.

    Raises:
        ToolError: What the episode raised; INTERNAL where the process died, twice.
    """
    (end,) = worker.run([job])
    if end.result is None:
        raise end.problem or ToolError(ErrorCode.INTERNAL, "An episode came to nothing.")
    return end.result


def _interval(statistic: Callable[[np.ndarray], np.ndarray], n: int) -> tuple[float, float]:
    """95 % interval of a statistic of chosen tasks (R, n) -> (R,), by resampling the tasks."""
    chosen = np.random.default_rng(0).integers(n, size=(_RESAMPLES, n))
    low, high = np.quantile(statistic(chosen), (0.025, 0.975))
    return float(low), float(high)


def speed_row(name: str, records: Sequence[MeasuredEpisode], workers: int, wall_s: float) -> dict[str, Any]:
    """Episodes per minute and core with interval, tool calls per second of CPU time, memory and shares of time."""
    cpu = np.array([record.cpu_s for record in records])
    low, high = _interval(lambda chosen: 60.0 / cpu[chosen].mean(axis=1), len(cpu))
    stages = {stage for record in records for stage in record.stages}
    shares = {stage: sum(record.stages.get(stage, 0.0) for record in records) / cpu.sum() for stage in stages}
    return {
        "name": name,
        "workers": workers,
        "episodes": len(records),
        "episodes_per_min_core": round(60.0 / cpu.mean(), 1),
        "per_min_core_low": round(low, 1),
        "per_min_core_high": round(high, 1),
        "episodes_per_min_wall": round(60.0 * len(records) / wall_s, 1),
        "tool_calls_per_s": round(sum(record.calls for record in records) / cpu.sum(), 2),
        "peak_mb": round(max(record.peak_mb for record in records)),
        "share": {stage: round(share, 3) for stage, share in sorted(shares.items(), key=lambda entry: -entry[1])},
    }


def paired_ratio(plain: Sequence[MeasuredEpisode], fast: Sequence[MeasuredEpisode]) -> dict[str, float]:
    """How many times as many episodes a core gives as in the plain loop, on the same tasks, with a 95 % interval."""
    a, b = (np.array([record.cpu_s for record in records]) for records in (plain, fast))
    low, high = _interval(lambda chosen: a[chosen].sum(axis=1) / b[chosen].sum(axis=1), len(a))
    return {"ratio": round(a.sum() / b.sum(), 2), "low": round(low, 2), "high": round(high, 2)}


def bench_rollouts(
    n: int = 12,
    first_seed: int = 0,
    size: PictureSize = (320, 240),
    timestep: float = 0.002,
    perception: Perception = DEFAULT_PRESET,
    sensor: SensorName = DEFAULT_SENSOR,
    as_json: AsJson = False,
) -> int:
    """Count physical pick-and-place episodes per minute and core, beside a plain loop of run_episode.

    The same tasks are done in turn by both, each in a process of its own. The scripted policy takes next to no time.
    Each process does one episode first that is not counted.

    Args:
        n: Tasks.
        first_seed: Seed of the first task.
        size: Width and height of the pictures; the plain loop has 640x480.
        timestep: Time step of the physics [s]: 0.001, 0.002 or 0.004; the plain loop has 0.002.
    """
    require_at_least(1, n=n)
    require_at_least(0, first_seed=first_seed)
    ports = PortNames(sensor=sensor)
    ports.require_known(perception)
    check_timestep(timestep)
    fast = StationConfig(perception, ports, image_size=size, timestep=timestep, sleep=True)
    seeds = range(first_seed, first_seed + n)
    name = f"rollouts {size[0]}x{size[1]}, {1000 * timestep:g} ms"
    say(f"{n} pick-and-place tasks, seeds {seeds[0]}..{seeds[-1]}, perception {perception}: {PLAIN}, {name}")
    began = time.monotonic()
    forms = {PLAIN: (StationConfig(perception, ports), False), name: (fast, True)}
    records: dict[str, list[MeasuredEpisode]] = {form: [] for form in forms}
    walls: dict[str, float] = dict.fromkeys(forms, 0.0)
    with ExitStack() as pools:
        alone = {form: pools.enter_context(Workers(_runner, count=1)) for form in forms}
        for seed in (first_seed + n, *seeds):
            for form, (config, kept) in forms.items():
                started = time.monotonic()
                record = measured(alone[form], RolloutJob(seed, config, kept))
                if seed in seeds:
                    walls[form] += time.monotonic() - started
                    records[form].append(record)
            done = len(records[PLAIN])
            if done and done % 10 == 0:
                say(f"{done} of {n} tasks, {time.monotonic() - began:.0f} s")
    speeds = [speed_row(form, records[form], 1, walls[form]) for form in forms]
    rates = [row for form in forms for row in _success_rows(form, records[form])]
    ratio = paired_ratio(records[PLAIN], records[name])
    document = {
        "bench": "rollouts",
        "tasks_version": TASKS_VERSION,
        "perception": perception,
        "sensor": sensor,
        "category": "pick_and_place",
        "machine": machine(),
        "load": round(os.getloadavg()[0], 1),
        "seeds": list(seeds),
        "n": n,
        "speeds": speeds,
        "times_as_fast": ratio,
        "rows": rates,
        "unscored": sum(not record.scored for form in records.values() for record in form),
        "failures": [
            {"form": form, "seed": record.seed, "false_success": record.false_success, "why": record.why}
            for form, done_by in records.items()
            for record in done_by
            if not record.success
        ],
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    return 0


def _success_rows(form: str, records: Sequence[MeasuredEpisode]) -> list[dict[str, Any]]:
    scored = [record for record in records if record.scored]
    row = rate_row(f"true success, {form}", sum(record.success for record in scored), len(scored))
    return with_unscored(row, len(records) - len(scored))


def _report(document: Mapping[str, Any]) -> str:
    lines = []
    for row in document["speeds"]:
        lines.append(
            f"{row['name']}: {row['episodes_per_min_core']} episodes/min/core "
            f"({row['per_min_core_low']} .. {row['per_min_core_high']}), {row['tool_calls_per_s']} tool calls/s, "
            f"{row['peak_mb']} MB"
        )
        lines.append("    " + ", ".join(f"{stage} {100 * share:.0f} %" for stage, share in row["share"].items()))
    ratio = document["times_as_fast"]
    lines.append(f"{ratio['ratio']} times as fast ({ratio['low']} .. {ratio['high']}), the same tasks in turn")
    lines.append(format_rows(document["rows"]))
    lines += [f"  {failure['form']}, seed {failure['seed']}: {failure['why']}" for failure in document["failures"]]
    described = ", ".join(str(value) for value in document["machine"].values())
    return "\n".join([*lines, f"{described}; load {document['load']}; {document['wall_s']} s"])
