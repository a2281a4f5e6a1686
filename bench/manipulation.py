"""`toolhand bench manipulation`: the 20 sentences of SpaceTools' table 2 in randomised clutter."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro

from agent_node.scripted import ScriptedPolicy
from bench.episode import Goal, run_episode, scorable
from bench.parallel import run_jobs
from bench.stats import format_rows, machine, rate_row, timing_row
from bench.timing import TimedPlanner, camera_rows
from sim.station import Station, StationConfig
from sim.tasks import PAPER_SENTENCES, paper_task
from tool_nodes.results import ErrorCode, ToolError

CATEGORIES = ("pick", "relational_pick", "pick_and_place")
Perception = Literal["sim", "pixels"]


@dataclass(frozen=True)
class Job:
    """One episode: which sentence, which scene, which perception."""

    sentence: int
    seed: int
    perception: Perception


@dataclass(frozen=True)
class Record:
    """What one episode gave; `success` is the simulator's truth (2 of 2 for pick and place)."""

    sentence: int
    seed: int
    category: str
    text: str
    scored: bool
    success: bool
    score: int
    false_success: bool
    error_code: str | None
    answer: str
    reasons: tuple[str, ...]
    time_to_first_motion_s: float | None
    wall_s: float
    sim_time_s: float
    plan_s: tuple[float, ...]


def run_one(job: Job) -> Record:
    """Run and judge one episode in its own station."""
    task = paper_task(job.sentence, job.seed)
    station = Station(task.scene, StationConfig(perception=job.perception, seed=job.seed), wrap_planner=TimedPlanner)
    goal = Goal(tuple(task.target_ids), task.relation, tuple(task.reference_ids))
    outcome = run_episode(station, ScriptedPolicy(), task.text, goal)
    episode, truth = outcome.episode, outcome.truth
    planner = station.planner
    return Record(
        sentence=job.sentence,
        seed=job.seed,
        category=task.category,
        text=task.text,
        scored=scorable(outcome),
        success=truth is not None and truth.success,
        score=truth.score if truth else 0,
        false_success=outcome.false_success,
        error_code=episode.error_code,
        answer=episode.answer,
        reasons=truth.reasons if truth else (),
        time_to_first_motion_s=outcome.time_to_first_motion_s,
        wall_s=episode.wall_s,
        sim_time_s=outcome.sim_time_s,
        plan_s=tuple(planner.seconds) if isinstance(planner, TimedPlanner) else (),
    )


def _note(records: Sequence[Record]) -> str:
    return f"{sum(r.success for r in records)} of {len(records)} succeeded"


def rows_of(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Rates per category, false successes, and timings."""
    scored = [r for r in records if r.scored]
    rows = []
    for name in CATEGORIES:
        chosen = [r for r in scored if r.category == name]
        more = {"points": sum(r.score for r in chosen), "max_points": 2 * len(chosen)} if name == CATEGORIES[2] else {}
        rows.append(rate_row(name, sum(r.success for r in chosen), len(chosen), **more))
    rows.append(rate_row("all", sum(r.success for r in scored), len(scored)))
    rows.append(rate_row("false_success", sum(r.false_success for r in scored), len(scored)))
    first = [r.time_to_first_motion_s for r in records if r.time_to_first_motion_s is not None]
    rows.append(timing_row("time_to_first_motion", first))
    for name in CATEGORIES:
        rows.append(timing_row(f"episode_wall {name}", [r.wall_s for r in records if r.category == name]))
    rows.append(timing_row("planning", [s for r in records for s in r.plan_s]))
    return rows


def bench_manipulation(
    seeds: int = 3,
    first_seed: int = 0,
    perception: Perception = "sim",
    jobs: int = 1,
    as_json: Annotated[bool, tyro.conf.arg(name="json", help="Print exactly one JSON document on stdout.")] = False,
) -> int:
    """Run the paper's 20 sentences over random scenes and print success with 95 % intervals.

    Args:
        seeds: Scenes per sentence.
        first_seed: Seed of the first scene.
        perception: "sim" sees with simulator truth and noise, "pixels" with colour and depth only.
        jobs: Processes. Timings are most meaningful with 1.
    """
    if seeds < 1 or jobs < 1 or first_seed < 0:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, "seeds and jobs must be 1 or more and first-seed 0 or more.")
    began = time.monotonic()
    work = [Job(sentence, first_seed + k, perception) for k in range(seeds) for sentence in range(len(PAPER_SENTENCES))]
    print(
        f"{len(work)} episodes, seeds {first_seed}..{first_seed + seeds - 1}, perception {perception}", file=sys.stderr
    )
    records = run_jobs(run_one, work, jobs, _note)
    rows = rows_of(records) + camera_rows()
    failures = [
        {
            "text": r.text, "seed": r.seed, "error_code": r.error_code, "false_success": r.false_success,
            "answer": r.answer, "truth": list(r.reasons),
        }
        for r in records if not r.success
    ]  # fmt: skip
    document = {
        "bench": "manipulation",
        "perception": perception,
        "machine": machine(),
        "seeds": list(range(first_seed, first_seed + seeds)),
        "jobs": jobs,
        "rows": rows,
        "error_codes": dict(Counter(r.error_code for r in records if r.error_code)),
        "failures": failures,
        "wall_s": round(time.monotonic() - began, 1),
    }
    if as_json:
        print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False))
    else:
        print(format_rows(rows))
        print(f"error codes: {document['error_codes'] or 'none'}")
        for failure in failures:
            print(f"  seed {failure['seed']:>3}  {failure['text']!r}: {failure['error_code']}")
            print(f"            {failure['answer']!s:.150} {failure['truth']}")
        print(f"{document['machine']}  {document['wall_s']} s")
    return 0
