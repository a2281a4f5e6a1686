"""`toolhand bench tasks`: the scripted teacher on every kind of task, beside a policy that neither looks nor calls."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any

import numpy as np
import tyro

from agent_node.console.options import Perception, SensorName, installed, require_at_least
from agent_node.console.terminal import AsJson
from agent_node.console.terminal import say as tell
from agent_node.policy import Policy
from bench.stats import SHOWN_FAILURES, machine, publish
from sim.station import StationConfig
from sim.tasks.generation import TASKS_VERSION
from sim.tasks.task import Score, Task
from tool_nodes import registry
from tool_nodes.names import stream_of
from tool_nodes.port_names import AS_PRESET, DEFAULT_PRESET, DEFAULT_SENSOR, PortNames, require_sensor
from tool_nodes.results import ToolError
from tool_nodes.tools.suites import require_installed
from training.env.difficulty import Difficulty
from training.env.environment import Environment
from training.env.failures import ran_out_of_time
from training.intervals import wilson
from training.pool.parallel import run_jobs
from training.rewards.stages import stage_reward
from training.tasks.kinds import QUESTIONS, TASK_KINDS, make_task
from training.tasks.manipulation import ManipulationTask
from training.tasks.question import QuestionTask
from training.tasks.splits import split_named
from training.teacher.blind import BlindPolicy, guess
from training.teacher.policy import TeacherPolicy
from training.teacher.reading import read_question

SUITES = ("spacetools", "peria")
"""The tools that the teacher is offered: with them it can answer every kind."""
PICTURE = (320, 240)
"""(width, height) of the camera's pictures, as in rollouts [px]."""

TaskList = Annotated[
    str,
    tyro.conf.arg(
        help=f'"all" of this project, its "questions", or kinds separated by commas: {installed("task", {})}.'
    ),
]


@dataclass(frozen=True)
class TaskJob:
    """One task for both policies; the rest is as of `bench_tasks`."""

    kind: str
    seed: int
    split: str
    perception: str
    difficulty: float
    sensor: str = DEFAULT_SENSOR


@dataclass(frozen=True)
class TaskRecord:
    """What came of it.

    Attributes:
        score, success: Reward of the kind for the teacher, and whether it counts as right; None where an infrastructure
            error, or a tool that really ran out of time, left the episode without a score.
        blind_score, blind_success: The same for the policy that does not look.
        why: Fault of the teacher's answer.
        calls: Tools that the teacher called.
        made_s: Processor time of making the task [s].
    """

    kind: str
    seed: int
    score: float | None = None
    success: bool | None = None
    blind_score: float = 0.0
    blind_success: bool = False
    why: str = ""
    calls: int = 0
    made_s: float = 0.0


def run_task(job: TaskJob) -> TaskRecord:
    """Both policies on one task, on a station that finds it as new."""
    began = time.process_time()
    made = make_task(job.kind, job.seed, job.split)
    made_s = time.process_time() - began
    difficulty = Difficulty(job.difficulty)
    task = harder(made, difficulty)
    environment = _environment(job.perception, job.sensor, difficulty)
    blind = _unseen(environment, task, job)
    record = TaskRecord(
        job.kind, job.seed, blind_score=own_reward(blind), blind_success=blind.success, made_s=round(made_s, 6)
    )
    try:
        score = _played(environment, TeacherPolicy(suites=SUITES), task, job)
    except ToolError as error:
        return replace(record, why=f"{error.code}: {error}")
    late = [record.name for record in environment.episode.records if ran_out_of_time(record)]
    if late:
        return replace(record, why=f"{late[0]} ran out of wall time: this machine is too busy to tell")
    why = "" if score.success else f"{'; '.join(score.reasons)} (it said {environment.episode.answer[:80]!r})"
    calls = environment.episode.tool_calls
    return replace(record, score=own_reward(score), success=score.success, why=why, calls=calls)


def harder(task: Task, difficulty: Difficulty) -> Task:
    """The task with things that slip and weigh more, where an arm is to lift them."""
    if not isinstance(task, ManipulationTask):
        return task
    return task.with_scene(difficulty.scene(task.scene, task.seed))


def own_reward(score: Score) -> float:
    """The reward of the task's kind, 0..1: the first term of a question, the stages of what the arm carries out."""
    return stage_reward(score.stages) if score.stages else float(next(iter(score.terms.values())))


@cache
def _environment(perception: str, sensor: str, difficulty: Difficulty) -> Environment:
    config = StationConfig(perception, PortNames(sensor=sensor), suites=SUITES, image_size=PICTURE, sleep=True)
    return Environment(difficulty.config(config), failures=difficulty.failures())


def _played(environment: Environment, policy: Policy, task: Task, job: TaskJob) -> Score:
    # Another rollout for each kind: tasks of one seed do not fail on purpose together.
    observation, done = environment.reset(task, seed=job.seed, rollout=stream_of(job.kind)), False
    while not done:
        observation, _, done = environment.step(policy.respond(observation))
    assert environment.score is not None  # a step that is the last scores or raises
    return environment.score


def _unseen(environment: Environment, task: Task, job: TaskJob) -> Score:
    """What the blind policy gets; a question needs no station for that."""
    if not isinstance(task, QuestionTask):
        return _played(environment, BlindPolicy(), task, job)
    question = read_question(task.text)
    assert question is not None  # each kind has its guess: a test asks all
    return task.graded(guess(question))


def rows_of_kinds(records: Sequence[TaskRecord]) -> list[dict[str, Any]]:
    """For each kind n, mean score and success rate with interval, of both policies."""
    rows = []
    for kind in dict.fromkeys(record.kind for record in records):
        scored = [record for record in records if record.kind == kind and record.score is not None]
        row: dict[str, Any] = {"kind": kind, "n": len(scored)}
        for policy, scores, right in (
            ("teacher", [r.score or 0.0 for r in scored], sum(bool(r.success) for r in scored)),
            ("blind", [r.blind_score for r in scored], sum(r.blind_success for r in scored)),
        ):
            low, high = wilson(right, len(scored))
            row[policy] = {
                "score": round(float(np.mean(scores)), 4) if scored else None,
                "success": right,
                "rate": round(right / len(scored), 4) if scored else None,
                "low": round(low, 4),
                "high": round(high, 4),
            }
        row["made_s"] = round(float(np.mean([r.made_s for r in records if r.kind == kind])), 5)
        row["calls"] = round(float(np.mean([r.calls for r in scored])), 1) if scored else None
        rows.append(row)
    return rows


def bench_tasks(
    kinds: TaskList = "all",
    n: int = 30,
    first_seed: int = 0,
    split: str = "train",
    perception: Perception = DEFAULT_PRESET,
    sensor: SensorName = DEFAULT_SENSOR,
    difficulty: float = 0.0,
    jobs: int = 1,
    as_json: AsJson = False,
) -> int:
    """Give every kind of task to the scripted teacher, and beside it to a policy that neither looks nor calls.

    Args:
        n: Tasks of each kind.
        first_seed: Seed of the first one.
        split: Split with the products, layouts and wordings.
        difficulty: From 0 to 1: noise of the perception sim, calls that fail on purpose, things that slip; see
            training.env.difficulty.
        jobs: Processes.
    """
    chosen = _chosen(kinds)
    split_named(split)
    Difficulty(difficulty)
    require_at_least(1, n=n, jobs=jobs)
    require_at_least(0, first_seed=first_seed)
    require_installed(SUITES, perception, AS_PRESET)
    require_sensor(sensor)
    began = time.monotonic()
    seeds = range(first_seed, first_seed + n)
    work = [TaskJob(kind, seed, split, perception, difficulty, sensor) for kind in chosen for seed in seeds]
    tell(f"{len(work)} tasks of {len(chosen)} kinds, perception {perception}, difficulty {difficulty:g}")
    records = run_jobs(run_task, work, jobs, lambda job, why: TaskRecord(job.kind, job.seed, why=why))
    document = {
        "bench": "tasks",
        "tasks_version": TASKS_VERSION,
        "split": split,
        "perception": perception,
        "sensor": sensor,
        "difficulty": difficulty,
        "suites": list(SUITES),
        "seeds": [seeds[0], seeds[-1]],
        "machine": machine(),
        "rows": rows_of_kinds(records),
        "made_s": round(float(np.mean([record.made_s for record in records])), 5),
        "unscored": sum(record.score is None for record in records),
        "failures": [{"kind": r.kind, "seed": r.seed, "why": r.why} for r in records if not r.success],
        "unscored_why": dict(Counter(record.why for record in records if record.score is None)),
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    return 0


def _chosen(kinds: str) -> tuple[str, ...]:
    own = {"all": TASK_KINDS, "questions": QUESTIONS}
    if kinds in own:
        return own[kinds]
    names = tuple(name.strip() for name in kinds.split(","))
    for name in names:
        registry.find("task", name)
    return names


def _report(document: Mapping[str, Any]) -> str:
    lines = [f"{'':18}{'n':>5}{'score':>8}{'success':>9}  95 % interval    {'blind score':>12}{'success':>9}"]
    for row in document["rows"]:
        teacher, blind = row["teacher"], row["blind"]
        if not row["n"]:
            lines.append(f"{row['kind']:18}{0:>5}")
            continue
        interval = f"{100 * teacher['low']:.1f} .. {100 * teacher['high']:.1f} %"
        lines.append(
            f"{row['kind']:18}{row['n']:>5}{teacher['score']:>8.2f}{100 * teacher['rate']:>8.1f}%  {interval:16}"
            f"{blind['score']:>12.2f}{100 * blind['rate']:>8.1f}%"
        )
    lines += [f"  {f['kind']} {f['seed']}: {f['why']}"[:140] for f in document["failures"][:SHOWN_FAILURES]]
    if document["unscored"]:
        lines.append(f"unscored, because of infrastructure errors: {document['unscored']}")
    lines.append(
        f"a task is made in {document['made_s']} s (CPU); {document['machine']['cpu']}; {document['wall_s']} s"
    )
    return "\n".join(lines)
