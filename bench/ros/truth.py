"""`toolhand bench truth`: whether poses of entities lead a judge to the verdict of the simulator's own truth."""

from __future__ import annotations

import bisect
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco

from agent_node.agent import Agent
from agent_node.console.options import DEFAULT_ROBOT_OPTIONS, RobotOptions, Unprefixed, require_at_least
from agent_node.console.terminal import AsJson, say
from agent_node.policies.scripted.policy import ScriptedPolicy
from bench.stats import machine, publish, rate_row
from sim.simulators import SIMULATORS, SimulatorName
from sim.snapshot import Snapshot
from sim.station import Station, StationConfig
from sim.tasks.judge import Judge
from sim.tasks.task import Score
from sim.tasks.tasks import GeneratedTask, random_task
from sim.world import World
from tool_nodes.ros.client import use_client
from training.env.difficulty import Difficulty
from training.env.failures import FailingToolbox
from training.pool.parallel import run_jobs

OTHERS: tuple[SimulatorName, ...] = ("isaac", "gazebo")
"""Simulators whose names the entities have."""
_EVERY_S = 0.1
"""Time between two snapshots while nothing is done any more [s], as sim.world.World.hold has it."""
_SAME_S = 1e-6
"""Times that differ by less are the same [s]: stamps have whole nanoseconds."""
_PICTURE = (320, 240)
"""Size of the pictures [px]: the smallest that tasks are done with, and the cheapest."""


@dataclass(frozen=True)
class TruthJob:
    """One episode that is judged in both ways.

    Attributes:
        seed: Seed of the task.
        robot: Which robot.
        difficulty: How hard it is, so that episodes end in all kinds of ways.
    """

    seed: int
    robot: str
    difficulty: float


@dataclass(frozen=True)
class TruthRecord:
    """Verdicts of one episode.

    Attributes:
        text: Sentence of the task.
        truth: Verdict by the simulator's own truth, see `verdict_of`.
        others: Verdict by the entities of each simulator.
        error: Why there is none; then the rest is empty.
    """

    job: TruthJob
    text: str = ""
    truth: dict[str, Any] = field(default_factory=dict)
    others: Mapping[SimulatorName, dict[str, Any]] = field(default_factory=dict)
    error: str = ""


def verdict_of(score: Score) -> dict[str, Any]:
    """What of a score counts as the verdict: success, terms, reasons, and what was picked up."""
    return {
        "success": score.success,
        "terms": dict(score.terms),
        "reasons": list(score.reasons),
        "picked_up": sorted(score.picked_up),
        "stages": {name: bool(stage) for name, stage in score.stages.items()},
    }


class _LoggedJoints:
    """Joints of a world of this process, as its driver would publish them; a sim.ros.entity_world.RobotTopics."""

    def __init__(self, world: World) -> None:
        self._world = world

    @property
    def time(self) -> float:
        return self._world.time

    def joints_at(self, time: float) -> dict[str, float]:
        world = self._world
        later = bisect.bisect_left(world.log, time - _SAME_S, key=lambda logged: logged[0])
        qpos = world.log[later][1] if later < len(world.log) else world.data.qpos
        return {name: float(qpos[world.model.joint(name).qposadr[0]]) for name in world.robot.joints}


class _SeenWorld:
    """A world that has been held already, so that every judge sees the same moments."""

    def __init__(self, world: Any, holds: Sequence[Sequence[Snapshot]]) -> None:
        self._world, self._holds = world, list(holds)

    def hold(self, seconds: float, every: float = 0.1) -> Sequence[Snapshot]:
        return self._holds.pop(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world, name)


class _SeenStation:
    """A station whose judge sees another world."""

    def __init__(self, station: Station, world: Any) -> None:
        self._station, self.world = station, world

    def __getattr__(self, name: str) -> Any:
        return getattr(self._station, name)


def judge_twice(job: TruthJob) -> TruthRecord:
    """Run an episode in this process, and let it be judged by its own truth and by the poses of entities."""
    use_client()
    from bench.ros.local_services import LocalServices
    from sim.ros.entity_world import EntityWorld

    level = Difficulty(job.difficulty)
    task = random_task(job.seed)
    config = level.config(StationConfig(seed=job.seed, robot=job.robot, image_size=_PICTURE, sleep=True))
    station = Station(task.scene, config)
    world, joints = station.world, _LoggedJoints(station.world)
    links = {name: LocalServices(world, SIMULATORS[name]) for name in OTHERS}
    seen = {name: EntityWorld(link, joints, SIMULATORS[name], task.scene, world.robot) for name, link in links.items()}
    before = {name: entities.snapshot() for name, entities in seen.items()}
    own = Judge(station)
    tools = FailingToolbox(station.toolbox, level.failures(), job.seed)
    episode = Agent(ScriptedPolicy(), tools).run(task.text)
    _look_back(world, task, links, seen)
    holds: dict[str, list[list[Snapshot]]] = {name: [] for name in ("", *OTHERS)}
    for seconds in task.holds_s:
        moments = _held(world, seconds, {"": world, **{str(name): entities for name, entities in seen.items()}})
        for name, found in moments.items():
            holds[name].append(found)
    truth = Judge(_SeenStation(station, _SeenWorld(world, holds[""])), own.before).score(task, episode)
    others: dict[SimulatorName, dict[str, Any]] = {}
    for name, entities in seen.items():
        judge = Judge(_SeenStation(station, _SeenWorld(entities, holds[name])), before[name])
        others[name] = verdict_of(judge.score(task, episode))
    return TruthRecord(job, task.text, verdict_of(truth), others)


def _held(world: World, seconds: float, seen: Mapping[str, Any]) -> dict[str, list[Snapshot]]:
    """Snapshots of each of some views of a world while it is held, see sim.world.World.hold."""
    found = {name: [view.snapshot()] for name, view in seen.items()}
    for _ in range(round(seconds / _EVERY_S)):
        world.step(round(_EVERY_S / world.timestep))
        for name, view in seen.items():
            found[name].append(view.snapshot())
    return found


def _look_back(world: World, task: GeneratedTask, links: Mapping[Any, Any], seen: Mapping[Any, Any]) -> None:
    """Let the entities be looked at in every logged state, as they were when the arm moved."""
    shown = World(task.scene, world.robot)
    for link in links.values():
        link.world = shown
    for at, qpos in tuple(world.log):
        shown.data.qpos[:], shown.data.qvel[:], shown.data.time = qpos, 0.0, at
        mujoco.mj_forward(shown.model, shown.data)
        for entities in seen.values():
            entities.record()
    for link in links.values():
        link.world = world


def bench_truth(
    n: int = 200,
    first_seed: int = 0,
    difficulty: float = 0.5,
    robot: Unprefixed[RobotOptions] = DEFAULT_ROBOT_OPTIONS,
    jobs: int = 1,
    as_json: AsJson = False,
) -> int:
    """Judge episodes by the simulator's own truth and by poses of entities; exit status 1 where a verdict differs.

    Args:
        n: Episodes, each of another random task.
        first_seed: Seed of the first task.
        difficulty: From 0 to 1; above 0 many episodes fail, each in its own way.
        jobs: Processes.
    """
    robot.require_known()
    require_at_least(1, n=n, jobs=jobs)
    require_at_least(0, first_seed=first_seed)
    Difficulty(difficulty)
    began = time.monotonic()
    say(f"{n} episodes at difficulty {difficulty:g} by {robot.robot}, entities named as in {' and '.join(OTHERS)}")
    work = [TruthJob(first_seed + k, robot.robot, difficulty) for k in range(n)]
    records = run_jobs(judge_twice, work, jobs, lambda job, why: TruthRecord(job, error=why))
    judged = [record for record in records if not record.error]
    document = {
        "bench": "truth",
        "machine": machine(),
        "robot": robot.robot,
        "n": n,
        "difficulty": difficulty,
        "rows": [
            rate_row(f"verdict of the truth, {name}", sum(r.others[name] == r.truth for r in judged), len(judged))
            for name in OTHERS
        ],
        "succeeded": sum(bool(record.truth["success"]) for record in judged),
        "unscored": [{"seed": record.job.seed, "error": record.error} for record in records if record.error],
        "differing": [
            {"seed": r.job.seed, "text": r.text, "truth": r.truth, "others": r.others}
            for r in judged
            if any(verdict != r.truth for verdict in r.others.values())
        ],
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    return int(bool(document["differing"]) or len(judged) != n)


def _report(document: Mapping[str, Any]) -> str:
    from bench.stats import format_rows

    lines = [format_rows(document["rows"]), f"{document['succeeded']} of {document['n']} episodes succeeded"]
    for differing in document["differing"]:
        lines.append(f"  seed {differing['seed']}: {differing['text']}")
        lines.append(f"    truth: {differing['truth']}")
        lines += [f"    {name}: {verdict}" for name, verdict in differing["others"].items()]
    lines += [f"  seed {unscored['seed']}: {unscored['error']}" for unscored in document["unscored"]]
    return "\n".join([*lines, f"{document['wall_s']} s"])
