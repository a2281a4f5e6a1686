"""`toolhand bench planning`: paths among boxes, from a table to narrow slots; beside OMPL where it is installed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from agent_node.console.options import DEFAULT_ROBOT_OPTIONS, RobotOptions, Unprefixed, require_at_least
from agent_node.console.terminal import AsJson, say
from bench.ompl_planner import installed, ompl_path
from bench.planning_worlds import WORLDS, Problem, draw_problem
from bench.stats import format_report, machine, publish, rate_row, timing_row
from tool_nodes.motion.collision import Checker
from tool_nodes.motion.planner import EmbeddedPlanner
from tool_nodes.motion.robot_model import load_robot
from tool_nodes.motion.scene_model import SceneModel
from tool_nodes.results import ErrorCode, ToolError, invalid
from tool_nodes.types import FloatArray, JointGoal
from training.pool.parallel import run_jobs

RECHECK = 0.005
"""Spacing of the configurations at which a path that was found is checked again [rad of the joint that moves most]."""

PEER = "ompl"
"""Prefix of the rows of the other planner."""


@dataclass(frozen=True)
class PlanningJob:
    """One problem, and whether and how long OMPL is asked too."""

    world: str
    seed: int
    robot: str
    ompl_s: float | None


@dataclass(frozen=True)
class Planned:
    """What one planner made of one problem.

    Attributes:
        cpu_s: Processor time [s].
        length: Length of the path, the sum of its Euclidean distances in joint space [rad]; None where there is none.
        safe: Every configuration of the recheck was free.
        error: Why there is no path; empty where there is one.
    """

    cpu_s: float
    length: float | None = None
    safe: bool = False
    error: str = ""


@dataclass(frozen=True)
class PlanningRecord:
    """One problem and what came of it; `ompl` is None where it was not asked."""

    job: PlanningJob
    ours: Planned
    ompl: Planned | None = None
    scored: bool = True


def run_one(job: PlanningJob) -> PlanningRecord:
    """Draw a problem and plan it: by the embedded planner, and by OMPL where asked."""
    robot = load_robot(job.robot)
    problem = draw_problem(job.world, job.seed, robot)
    model = SceneModel(problem.scene, robot)
    planner = EmbeddedPlanner(job.seed, robot)
    planner.reachable(np.eye(4), problem.scene)  # compiles the scene, which OMPL is given as well
    ours = _timed(lambda: planner.plan(problem.start, JointGoal(problem.goal), problem.scene).q, problem, model)
    return PlanningRecord(job, ours, None if job.ompl_s is None else _beside(problem, model, job.ompl_s))


def _beside(problem: Problem, model: SceneModel, limit_s: float) -> Planned:
    """OMPL on the same problem, with the same clearance while it searches."""
    checker = Checker(model, problem.start)

    def path() -> FloatArray:
        with checker.clearance(problem.goal[None]):
            found = ompl_path(problem.start, problem.goal, checker, limit_s)
        if found is None:
            raise ToolError(ErrorCode.PLAN_FAILED, f"OMPL found no path within {limit_s:g} s.")
        return found

    return _timed(path, problem, model)


def _timed(plan: Callable[[], FloatArray], problem: Problem, model: SceneModel) -> Planned:
    began = time.process_time()
    try:
        path = plan()
    except ToolError as error:
        return Planned(time.process_time() - began, error=f"{error.code}: {error.message}")
    spent = time.process_time() - began
    checker = Checker(model, problem.start)
    length = float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())
    return Planned(spent, length, checker.free(path[0]) and all(map(partial(_free, checker), path[:-1], path[1:])))


def _free(checker: Checker, a: FloatArray, b: FloatArray) -> bool:
    return checker.segment_free(a, b, RECHECK)


def crashed(job: PlanningJob, why: str) -> PlanningRecord:
    """The record of a job that gave none: counted, never scored."""
    return PlanningRecord(job, Planned(0.0, error=f"{ErrorCode.INTERNAL}: {why}"), scored=False)


def rows_of(records: Sequence[PlanningRecord]) -> list[dict[str, Any]]:
    """Per world, and of each planner: rates of a path found and of a path that passed the recheck, times, lengths.

    Times are of all problems, those without a path included; lengths are medians over the problems that both solved.
    """
    rows: list[dict[str, Any]] = []
    for world in [name for name in WORLDS if any(r.job.world == name for r in records)]:
        chosen = [r for r in records if r.scored and r.job.world == world]
        both = [r for r in chosen if r.ours.length is not None and (r.ompl is None or r.ompl.length is not None)]
        peers = [(r, r.ompl) for r in chosen if r.ompl is not None]
        rows += _rows(world, [r.ours for r in chosen], [r.ours for r in both])
        if peers:
            rows += _rows(f"{world}, {PEER}", [p for _, p in peers], [r.ompl for r in both if r.ompl is not None])
    return rows


def _rows(name: str, all_of: Sequence[Planned], compared: Sequence[Planned]) -> list[dict[str, Any]]:
    found = [p for p in all_of if p.length is not None]
    lengths = [p.length for p in compared if p.length is not None]
    median = round(float(np.median(lengths)), 3) if lengths else None
    return [
        rate_row(name, len(found), len(all_of)),
        rate_row(f"{name}: safe", sum(p.safe for p in found), len(all_of)),
        timing_row(name, [p.cpu_s for p in all_of], length_rad=median, compared=len(lengths)),
    ]


def bench_planning(
    n: int = 100,
    worlds: tuple[str, ...] = tuple(WORLDS),
    first_seed: int = 0,
    robot: Unprefixed[RobotOptions] = DEFAULT_ROBOT_OPTIONS,
    ompl_s: float = 10.0,
    jobs: int = 1,
    as_json: AsJson = False,
) -> int:
    """Plan paths among boxes: table, clutter, shelf, bins, narrow slots; beside OMPL where it is installed.

    Args:
        n: Problems of each world.
        worlds: Which kinds of boxes.
        first_seed: Seed of the first problem of each world.
        ompl_s: Wall time that OMPL's search may take, and once more its simplification [s]; 0 leaves it out.
        jobs: Processes.
    """
    require_at_least(1, n=n, jobs=jobs)
    require_at_least(0, first_seed=first_seed)
    if not 0.0 <= ompl_s < float("inf"):
        raise invalid(f"--ompl-s must be finite and 0 or more, got {ompl_s}.")
    if unknown := [world for world in worlds if world not in WORLDS]:
        raise invalid(f"Unknown world {unknown[0]!r}. Known: {', '.join(WORLDS)}.")
    robot.require_known()
    peer = ompl_s > 0.0 and installed()
    if ompl_s > 0.0 and not peer:
        say("OMPL is not installed, so there are no rows of it; `pip install ompl` brings it.")
    began = time.monotonic()
    work = [
        PlanningJob(world, seed, robot.robot, ompl_s if peer else None)
        for world in dict.fromkeys(worlds)
        for seed in range(first_seed, first_seed + n)
    ]
    records = run_jobs(run_one, work, jobs, crashed, _note)
    failed = [r for r in records if r.ours.error]
    document = {
        "bench": "planning",
        "machine": machine(),
        "robot": robot.robot,
        "worlds": list(dict.fromkeys(worlds)),
        "seeds": [first_seed, first_seed + n - 1],
        "jobs": jobs,
        "ompl_s": ompl_s if peer else None,
        "rows": rows_of(records),
        "unscored": sum(not r.scored for r in records),
        "causes": dict(Counter(r.ours.error.partition(":")[0] for r in failed)),
        "failures": [{"world": r.job.world, "seed": r.job.seed, "cause": r.ours.error} for r in failed],
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, _report, as_json)
    return 0


def _note(records: Sequence[PlanningRecord]) -> str:
    return f"{sum(r.ours.length is not None for r in records)} of {len(records)} found"


def _report(document: Mapping[str, Any]) -> str:
    """The document as text: with the lengths of the paths, which other benchmarks have none of."""
    lines = [format_report(document, "causes", _failure_line), "median length of the paths, where both found one:"]
    for row in document["rows"]:
        if row.get("length_rad") is not None:
            lines.append(f"{row['name']:28}{row['compared']:>6}{row['length_rad']:>7.2f} rad")
    return "\n".join(lines)


def _failure_line(failure: Mapping[str, Any]) -> str:
    return f"{failure['world']}, seed {failure['seed']}: {failure['cause']}"
