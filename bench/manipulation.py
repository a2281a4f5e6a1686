"""`toolhand bench manipulation`: the 20 sentences of SpaceTools' table 2, or objects of any object set in clutter."""

from __future__ import annotations

import atexit
import functools
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, cast

import numpy as np

from toolhand.agent_node.conversation_settings import ConversationSettings
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.registry import make_policy
from toolhand.bench.commands.manipulation import EpisodeOptions, Options
from toolhand.bench.frame import Benchmark
from toolhand.bench.judged import JudgedRecord, claims, judged, told_entries, told_line
from toolhand.bench.stats import machine, rate_row, timing_row, with_unscored
from toolhand.bench.timing import TimedPlanner, camera_rows
from toolhand.sim.objects.chosen import choose_sets
from toolhand.sim.ros.graph import SharedGraph
from toolhand.sim.scene.clutter import CLUTTER, Clutter, clutter_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.clutter import clutter_tasks
from toolhand.sim.tasks.judge import JudgedStation
from toolhand.sim.tasks.sentences import PAPER_SENTENCES
from toolhand.sim.tasks.task import TASK_GOAL
from toolhand.sim.tasks.tasks import CATEGORIES, GeneratedTask, paper_task
from toolhand.tool_nodes.results import ErrorCode, invalid
from toolhand.tool_nodes.toolbox.toolbox import Tools
from toolhand.training.env.difficulty import Difficulty
from toolhand.training.env.episode import run_episode
from toolhand.training.env.failures import FailingToolbox

LEAST_PIXELS = 300
"""Of what shows fewer pixels nothing is asked [px of 640x480]; a round figure, as of the grasp benchmark."""
FAST_SIZE = (320, 240)
"""(width, height) of the images of fast episodes, as in rollouts [px]."""


_AS_DEFAULT = EpisodeOptions()


@dataclass(frozen=True)
class EpisodeJob:
    """One episode: a sentence of the paper in the scene of a seed."""

    sentence: int
    seed: int
    options: EpisodeOptions = _AS_DEFAULT


@dataclass(frozen=True)
class ClutterJob:
    """What is asked in one scene of clutter, each in a station of its own.

    Attributes:
        seed: Seed of the scene, the sentences and the stations.
        objects: Object sets and folders, as they were typed.
    """

    kind: Clutter
    seed: int
    objects: str
    options: EpisodeOptions = _AS_DEFAULT


ManipulationJob = EpisodeJob | ClutterJob


@dataclass(frozen=True, kw_only=True)
class EpisodeRecord(JudgedRecord):
    """What one episode gave.

    Attributes:
        sentence: Number of the sentence in the list.
        score: 0 or 1 for a pick, up to 2 for pick and place.
        plan_s: Wall time of every plan [s].
        turns: Assistant turns of the conversation.
    """

    sentence: int
    score: int = 0
    time_to_first_motion_s: float | None = None
    wall_s: float | None = None
    sim_time_s: float | None = None
    plan_s: tuple[float, ...] = ()
    turns: int = 0


def run_one(job: EpisodeJob) -> EpisodeRecord:
    """Run and judge one episode in its own station."""
    return _run(job, paper_task(job.sentence, job.seed))


def run_scene(job: ClutterJob) -> list[EpisodeRecord]:
    """Run and judge what can be asked in one scene of clutter."""
    scene = clutter_scene(job.kind, job.seed, choose_sets(job.objects))
    tasks = clutter_tasks(scene, job.seed, well_visible(Station(scene, StationConfig(seed=job.seed))))
    return [_run(EpisodeJob(k, job.seed, job.options), task, job.objects) for k, task in enumerate(tasks)]


def well_visible(station: Station) -> set[str]:
    """Ids of the objects of which the scene camera sees LEAST_PIXELS or more."""
    ids = station.make_camera(station.scene_camera()).capture().ids
    assert ids is not None
    counts = np.bincount(ids[ids >= 0], minlength=len(station.scene.objects))
    return {placed.id for placed, count in zip(station.scene.objects, counts, strict=True) if count >= LEAST_PIXELS}


def _run(job: EpisodeJob, asked: GeneratedTask, objects: str = "") -> EpisodeRecord:
    options = job.options
    difficulty = Difficulty(options.difficulty)
    task = difficulty.task(asked, job.seed)
    config = StationConfig(**vars(options.backends), seed=job.seed, robot=options.robot.robot, objects=objects)
    if options.fast:
        config = replace(config, image_size=FAST_SIZE, sleep=True)
    if options.transport == "ros":
        with _graph(options.driver).station(task.scene, config) as remote:
            record = _record(job, task, remote, [])
            if not record.scored:
                _graph(options.driver).close()  # something in it failed: the next episode has another one
            return record
    planning: list[float] = []
    station = Station(
        task.scene, difficulty.config(config), wrap_planner=lambda planner: TimedPlanner(planner, planning)
    )
    failing = FailingToolbox(station.toolbox, difficulty.failures(), job.seed, job.sentence)
    return _record(job, task, station, planning, failing)


@functools.cache
def _graph(driver: str) -> SharedGraph:
    """The graph of this process, ended with it at the latest."""
    graph = SharedGraph(driver)
    atexit.register(graph.close)
    return graph


def _record(
    job: EpisodeJob,
    task: GeneratedTask,
    station: JudgedStation,
    planning: Sequence[float],
    toolbox: Tools | None = None,
) -> EpisodeRecord:
    options = job.options
    protocol, tools = options.written, toolbox or station.toolbox
    settings = PolicyOptions(**asdict(options.model), seed=job.seed, turns=options.turns)
    policy = make_policy(options.policy, protocol, tools.schemas(protocol.native), settings)
    outcome = run_episode(station, policy, task, ConversationSettings(options.turns, protocol), toolbox=tools)
    return EpisodeRecord(
        **judged(task, job.seed, outcome),
        sentence=job.sentence,
        score=outcome.truth.points if outcome.truth else 0,
        time_to_first_motion_s=outcome.time_to_first_motion_s,
        wall_s=outcome.episode.wall_s,
        sim_time_s=outcome.sim_time_s,
        plan_s=tuple(planning),
        turns=len(outcome.episode.turns),
    )


def rows_of(records: Sequence[EpisodeRecord]) -> list[dict[str, Any]]:
    """Rates per category, where tools and judge differ either way, and timings."""
    scored = [r for r in records if r.scored]
    rows = []
    for name in CATEGORIES:
        chosen = [r for r in scored if r.category == name]
        more = (
            {"points": sum(r.score for r in chosen), "max_points": 2 * len(chosen)} if name == "pick_and_place" else {}
        )
        rows.append(rate_row(name, sum(r.success for r in chosen), len(chosen), **more))
    every = rate_row("all", sum(r.success for r in scored), len(scored))
    rows += with_unscored(every, len(records) - len(scored))
    rows += claims(scored)
    first = [r.time_to_first_motion_s for r in scored if r.time_to_first_motion_s is not None]
    rows.append(timing_row("time_to_first_motion", first))
    for name in CATEGORIES:
        walls = [r.wall_s for r in scored if r.category == name and r.wall_s is not None]
        rows.append(timing_row(f"episode_wall {name}", walls))
    rows.append(timing_row("planning", [s for r in scored for s in r.plan_s]))
    return rows


class ManipulationBench(Benchmark[Options, ManipulationJob, EpisodeRecord]):
    """See `toolhand.bench.commands.manipulation`."""

    name = "manipulation"

    def title(self, options: Options) -> str:
        episode, seeds = options.options, _seeds(options)
        what = f"{options.seeds * len(PAPER_SENTENCES)} episodes"
        if clutter := _clutter(options):
            what = f"{options.seeds} scenes {clutter[0]} of {clutter[1]}"
        return (
            f"{what}, seeds {seeds[0]}..{seeds[-1]}, perception {episode.backends.perception}, "
            f"transport {episode.transport}, policy {episode.policy}, protocol {episode.written.name}, "
            f"robot {episode.robot.robot}"
        )

    def jobs(self, options: Options) -> Sequence[ManipulationJob]:
        if clutter := _clutter(options):
            kind, objects = clutter
            if kind not in CLUTTER:
                raise invalid(f"--scene must be {' or '.join(CLUTTER)}, got {kind[:60]!r}.")
            choose_sets(objects)
            return [ClutterJob(cast(Clutter, kind), seed, objects, options.options) for seed in _seeds(options)]
        sentences = range(len(PAPER_SENTENCES))
        return [EpisodeJob(k, seed, options.options) for seed in _seeds(options) for k in sentences]

    def run(self, job: ManipulationJob) -> Sequence[EpisodeRecord]:
        return [run_one(job)] if isinstance(job, EpisodeJob) else run_scene(job)

    def crashed(self, job: ManipulationJob, why: str) -> Sequence[EpisodeRecord]:
        sentence, text = 0, f"{getattr(job, 'kind', '')} {job.seed}"
        if isinstance(job, EpisodeJob):
            sentence, text = job.sentence, PAPER_SENTENCES[job.sentence]
        return [EpisodeRecord(sentence=sentence, seed=job.seed, text=text, error_code=ErrorCode.INTERNAL, answer=why)]

    def note(self, records: Sequence[EpisodeRecord]) -> str:
        return f"{sum(r.success for r in records)} of {len(records)} succeeded"

    def document(self, options: Options, records: Sequence[EpisodeRecord]) -> dict[str, Any]:
        scene, objects = _clutter(options) or ("", "")
        return {
            **options.options.document(),
            "scene": scene,
            "objects": objects,
            "judged_against": TASK_GOAL,
            "turns": _turns(records, options.options.turns),
            "machine": machine(),
            "seeds": list(_seeds(options)),
            "jobs": options.jobs,
            "rows": rows_of(records) + camera_rows(),
            **told_entries(records),
        }

    def failure_line(self, failure: Mapping[str, Any]) -> str:
        return told_line(failure)


BENCH = ManipulationBench()


def _seeds(options: Options) -> range:
    return range(options.first_seed, options.first_seed + options.seeds)


def _clutter(options: Options) -> tuple[str, str] | None:
    """Kind of clutter and object sets; None for the sentences of the paper."""
    asked = options.scene or options.objects
    return (options.scene or "packed", options.objects or "generated") if asked else None


def _turns(records: Sequence[EpisodeRecord], budget: int) -> dict[str, float]:
    """What the episodes took of the turn budget."""
    taken = [record.turns for record in records if record.turns]
    return {"budget": budget} | ({"mean": round(sum(taken) / len(taken), 1), "most": max(taken)} if taken else {})
