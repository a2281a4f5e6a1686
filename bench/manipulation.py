"""`toolhand bench manipulation`: the 20 sentences of SpaceTools' table 2, or things of any object set in clutter."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, cast

import numpy as np

from agent_node.console.options import (
    DEFAULT_BACKENDS,
    DEFAULT_ROBOT_OPTIONS,
    BackendOptions,
    ObjectSets,
    PolicySpec,
    ProtocolName,
    RobotOptions,
    Unprefixed,
    require_at_least,
)
from agent_node.console.terminal import AsJson, say
from agent_node.conversation_settings import TURN_BUDGET, ConversationSettings
from agent_node.policies.options import ModelSettings, PolicyOptions
from agent_node.policies.registry import make_policy, protocol_of, require_form
from agent_node.protocol import OWN, Protocol
from bench.shared_graph import SharedGraph
from bench.stats import format_report, machine, publish, rate_row, timing_row, with_unscored
from bench.timing import TimedPlanner, camera_rows
from sim.objects.chosen import choose_sets
from sim.ros.graph import Transport
from sim.scene.clutter import CLUTTER, Clutter, clutter_scene
from sim.station import Station, StationConfig
from sim.tasks.clutter import clutter_tasks
from sim.tasks.judge import JudgedStation
from sim.tasks.sentences import PAPER_SENTENCES
from sim.tasks.task import TASK_GOAL
from sim.tasks.tasks import CATEGORIES, GeneratedTask, paper_task
from tool_nodes import registry
from tool_nodes.results import ErrorCode, invalid
from tool_nodes.toolbox.toolbox import Tools
from training.env.difficulty import Difficulty
from training.env.episode import run_episode
from training.env.failures import FailingToolbox
from training.pool.parallel import run_jobs

_DEFAULT_MODEL = ModelSettings()
DriverName = Literal["ideal", "kortex"]
"""`sim.ros.driver.DRIVERS`, which imports what only a graph needs."""
LEAST_PIXELS = 300
"""Of what shows fewer pixels nothing is asked [px of 640x480]; a round figure, as of the grasp benchmark."""
FAST_SIZE = (320, 240)
"""(width, height) of the pictures of fast episodes, as in rollouts [px]."""


@dataclass(frozen=True)
class EpisodeOptions:
    """How every episode is run.

    Attributes:
        transport: "process" has the tools in this process, "ros" as nodes of a ROS 2 graph in lockstep, with a domain
            and a router of its own, that each episode finds as freshly started.
        driver: Manners of the arm's driver in that graph: "ideal", or "kortex", those of ros2_kortex.
        policy: Who decides; each episode has a new one, seeded by its scene.
        turns: Assistant turns of a command; a protocol with one call a turn needs more of them.
        difficulty: From 0 to 1: noise of the perception sim, calls that fail on purpose, things that slip; see
            training.env.difficulty. Only with the transport process.
        fast: Pictures of 320x240, and what rests is not computed, as in rollouts: half the processor time.
    """

    backends: Unprefixed[BackendOptions] = DEFAULT_BACKENDS
    robot: Unprefixed[RobotOptions] = DEFAULT_ROBOT_OPTIONS
    transport: Transport = "process"
    driver: DriverName = "ideal"
    policy: PolicySpec = "scripted"
    protocol: ProtocolName = OWN
    turns: int = TURN_BUDGET
    difficulty: float = 0.0
    fast: bool = False
    model: ModelSettings = _DEFAULT_MODEL

    @property
    def written(self) -> Protocol:
        """How the policy writes. Raises ToolError INVALID_ARGUMENT."""
        return protocol_of(self.policy, self.protocol)

    def check(self) -> None:
        """Raises ToolError INVALID_ARGUMENT for what cannot be run."""
        require_at_least(1, turns=self.turns)
        Difficulty(self.difficulty)
        if self.difficulty and self.transport != "process":
            raise invalid("Only the transport process has a difficulty.")
        if self.driver != "ideal" and self.transport != "ros":
            raise invalid(f"Only the transport ros has the driver {self.driver}.", "Give --transport ros.")
        _ = self.written
        require_form(self.policy)
        registry.require_installed("policy", self.policy)
        self.backends.require_known()
        self.robot.require_known()

    def document(self) -> dict[str, Any]:
        """The options as the report has them, of the model's those that are not the default."""
        model = {name: value for name, value in vars(self.model).items() if value != getattr(_DEFAULT_MODEL, name)}
        plain = ("transport", "driver", "policy", "difficulty", "fast")
        return {
            **self.backends.document(),
            "robot": self.robot.robot,
            "model": model,
            "protocol": self.written.name,
            **{name: getattr(self, name) for name in plain},
        }


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
        kind: Kind of clutter.
        seed: Seed of the scene, the sentences and the stations.
        objects: Object sets and folders, as they were typed.
    """

    kind: Clutter
    seed: int
    objects: str
    options: EpisodeOptions = _AS_DEFAULT


@dataclass(frozen=True)
class EpisodeRecord:
    """What one episode gave.

    Attributes:
        scored: False after an infrastructure error.
        success: The simulator's truth: picked, and placed if that was asked for.
        score: 0 or 1 for a pick, up to 2 for pick and place.
        reasons: Why it is not a success, in the simulator's words.
        plan_s: Wall time of every plan [s].
        turns: Assistant turns of the conversation.
    """

    sentence: int
    seed: int
    category: str
    text: str
    scored: bool = False
    success: bool = False
    score: int = 0
    false_success: bool = False
    denied: bool = False
    error_code: str | None = None
    answer: str = ""
    reasons: tuple[str, ...] = ()
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
    """Ids of the things of which the scene camera sees LEAST_PIXELS or more."""
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
    """The graph of this process."""
    return SharedGraph(driver)


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
    policy = make_policy(options.policy, protocol, tools.schemas(), settings)
    outcome = run_episode(station, policy, task, ConversationSettings(options.turns, protocol), toolbox=tools)
    episode, truth = outcome.episode, outcome.truth
    return EpisodeRecord(
        sentence=job.sentence,
        seed=job.seed,
        category=task.category,
        text=task.text,
        scored=outcome.scored,
        success=truth is not None and truth.success,
        score=truth.points if truth else 0,
        false_success=outcome.false_success,
        denied=outcome.denied,
        error_code=episode.error_code,
        answer=episode.answer,
        reasons=truth.reasons if truth else (),
        time_to_first_motion_s=outcome.time_to_first_motion_s,
        wall_s=episode.wall_s,
        sim_time_s=outcome.sim_time_s,
        plan_s=tuple(planning),
        turns=len(episode.turns),
    )


def crashed(job: EpisodeJob, why: str) -> EpisodeRecord:
    """The record of an episode that gave none: counted, never scored."""
    text = PAPER_SENTENCES[job.sentence]
    return EpisodeRecord(job.sentence, job.seed, "", text, error_code=ErrorCode.INTERNAL, answer=why)


def crashed_scene(job: ClutterJob, why: str) -> list[EpisodeRecord]:
    """The record of a scene that gave none: counted, never scored."""
    return [EpisodeRecord(0, job.seed, "", f"{job.kind} {job.seed}", error_code=ErrorCode.INTERNAL, answer=why)]


def _note(records: Sequence[EpisodeRecord]) -> str:
    return f"{sum(r.success for r in records)} of {len(records)} succeeded"


def _note_scenes(scenes: Sequence[Sequence[EpisodeRecord]]) -> str:
    return _note([record for records in scenes for record in records])


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
    rows.append(rate_row("false_success", sum(r.false_success for r in scored), len(scored)))
    rows.append(rate_row("done, said to have failed", sum(r.denied for r in scored), len(scored)))
    first = [r.time_to_first_motion_s for r in scored if r.time_to_first_motion_s is not None]
    rows.append(timing_row("time_to_first_motion", first))
    for name in CATEGORIES:
        walls = [r.wall_s for r in scored if r.category == name and r.wall_s is not None]
        rows.append(timing_row(f"episode_wall {name}", walls))
    rows.append(timing_row("planning", [s for r in scored for s in r.plan_s]))
    return rows


def bench_manipulation(
    options: Unprefixed[EpisodeOptions] = _AS_DEFAULT,
    scene: str = "",
    objects: ObjectSets = "",
    seeds: int = 3,
    first_seed: int = 0,
    jobs: int = 1,
    as_json: AsJson = False,
) -> int:
    """Run the paper's 20 sentences over random scenes and print success with 95 % intervals.

    With --scene or --objects things of any object set lie in clutter instead, and each scene is asked for one by its
    colour, for one by its side, and for one to be put beside another, as far as words single them out.

    Args:
        scene: Kind of clutter, such as packed or pile; packed where only --objects is given.
        objects: Object sets and folders; generated where only --scene is given.
        seeds: Scenes per sentence; of clutter, scenes.
        first_seed: Seed of the first scene.
        jobs: Processes. Timings are most meaningful with 1.
    """
    require_at_least(1, seeds=seeds, jobs=jobs)
    require_at_least(0, first_seed=first_seed)
    options.check()
    began = time.monotonic()
    chosen = range(first_seed, first_seed + seeds)
    clutter, objects = (scene or "packed", objects or "generated") if scene or objects else ("", "")
    if clutter:
        if clutter not in CLUTTER:
            raise invalid(f"--scene must be {' or '.join(CLUTTER)}, got {clutter[:60]!r}.")
        choose_sets(objects)
    what = f"{seeds} scenes {clutter} of {objects}" if clutter else f"{seeds * len(PAPER_SENTENCES)} episodes"
    say(
        f"{what}, seeds {chosen[0]}..{chosen[-1]}, perception {options.backends.perception}, transport "
        f"{options.transport}, policy {options.policy}, protocol {options.written.name}, robot {options.robot.robot}"
    )
    if clutter:
        scenes = [ClutterJob(cast(Clutter, clutter), seed, objects, options) for seed in chosen]
        records = [r for found in run_jobs(run_scene, scenes, jobs, crashed_scene, _note_scenes) for r in found]
    else:
        work = [EpisodeJob(sentence, seed, options) for seed in chosen for sentence in range(len(PAPER_SENTENCES))]
        records = run_jobs(run_one, work, jobs, crashed, _note)
    document = {
        "bench": "manipulation",
        **options.document(),
        "scene": clutter,
        "objects": objects,
        "judged_against": TASK_GOAL,
        "turns": _turns(records, options.turns),
        "machine": machine(),
        "seeds": list(chosen),
        "jobs": jobs,
        "rows": rows_of(records) + camera_rows(),
        "unscored": sum(not r.scored for r in records),
        "error_codes": dict(Counter(r.error_code for r in records if r.error_code)),
        "failures": [
            {
                "text": r.text,
                "seed": r.seed,
                "error_code": r.error_code,
                "false_success": r.false_success,
                "denied": r.denied,
                "answer": r.answer,
                "truth": list(r.reasons),
            }
            for r in records
            if not r.success or r.denied
        ],
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, lambda document: format_report(document, "error_codes", _failure_line), as_json)
    return 0


def _turns(records: Sequence[EpisodeRecord], budget: int) -> dict[str, float]:
    """What the episodes took of the turn budget."""
    taken = [record.turns for record in records if record.turns]
    return {"budget": budget} | ({"mean": round(sum(taken) / len(taken), 1), "most": max(taken)} if taken else {})


def _failure_line(failure: Mapping[str, Any]) -> str:
    why = failure["answer"] if failure["error_code"] else "; ".join(failure["truth"])
    return f"seed {failure['seed']:>3}  {failure['text']!r}: {failure['error_code'] or 'false success'}: {why}"
