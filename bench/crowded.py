"""`toolhand bench crowded`: things that stand closer together than perception or fingers can easily separate."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_node.console.options import COLOUR_AND_DEPTH, BackendOptions, Unprefixed, require_at_least
from agent_node.console.terminal import AsJson, say
from agent_node.policies.scripted.policy import ScriptedPolicy
from bench.stats import format_report, machine, publish, rate_row, with_unscored
from sim.station import Station, StationConfig
from sim.tasks.crowds import GAPS_M, crowd_gap, crowd_pairing, crowded_tasks
from sim.tasks.judge import Judge
from tool_nodes.results import ErrorCode
from training.env.episode import run_episode
from training.pool.parallel import run_jobs


@dataclass(frozen=True)
class CrowdJob:
    """Everything that is asked in one crowded scene, each in a station of its own."""

    seed: int
    backends: BackendOptions


@dataclass(frozen=True)
class CrowdRecord:
    """What one sentence gave.

    Attributes:
        gap_mm: Edge to edge between the neighbours [mm].
        pairing: Relation of the two things, see `sim.tasks.crowds.PAIRINGS`.
        scored: False after an infrastructure error.
        success: The simulator's truth.
        false_success: Success was claimed and the simulator disagrees.
        denied: It was done, and the tools said that it failed.
        lifted: Ids of what was off the table for the hold time.
        wrong: Something that was not asked for was lifted.
    """

    seed: int
    gap_mm: float
    pairing: str
    category: str
    text: str
    scored: bool = False
    success: bool = False
    false_success: bool = False
    denied: bool = False
    wrong: bool = False
    lifted: tuple[str, ...] = ()
    error_code: str | None = None
    answer: str = ""
    reasons: tuple[str, ...] = ()


def run_one(job: CrowdJob) -> list[CrowdRecord]:
    """Run and judge every sentence of a scene."""
    records = []
    for task in crowded_tasks(job.seed):
        station = Station(task.scene, StationConfig(**vars(job.backends), seed=job.seed))
        judge = Judge(station)
        outcome = run_episode(station, ScriptedPolicy(), task)
        lifted = judge.history(()).lifted
        truth = outcome.truth
        records.append(
            CrowdRecord(
                job.seed,
                1000 * crowd_gap(job.seed),
                crowd_pairing(job.seed),
                task.category,
                task.text,
                scored=outcome.scored,
                success=truth is not None and truth.success,
                false_success=outcome.false_success,
                denied=outcome.denied,
                wrong=bool(lifted - set(task.target_ids)),
                lifted=tuple(sorted(lifted)),
                error_code=outcome.episode.error_code,
                answer=outcome.episode.answer,
                reasons=truth.reasons if truth else (),
            )
        )
    return records


def crashed(job: CrowdJob, why: str) -> list[CrowdRecord]:
    """The record of a scene that gave none: counted, never scored."""
    pairing = crowd_pairing(job.seed)
    return [
        CrowdRecord(job.seed, 1000 * crowd_gap(job.seed), pairing, "", "", error_code=ErrorCode.INTERNAL, answer=why)
    ]


def rows_of(records: Sequence[CrowdRecord]) -> list[dict[str, Any]]:
    """Done as asked by gap and by what the neighbours have in common, and how the others ended."""
    scored = [r for r in records if r.scored]
    rows = []
    for name, chosen in [
        *((f"gap {1000 * gap:.0f} mm", [r for r in scored if r.gap_mm == 1000 * gap]) for gap in GAPS_M),
        *((name, [r for r in scored if r.pairing == name]) for name in dict.fromkeys(r.pairing for r in scored)),
        *((name, [r for r in scored if r.category == name]) for name in ("pick", "pick_and_place")),
    ]:
        rows.append(rate_row(name, sum(r.success for r in chosen), len(chosen)))
    rows += with_unscored(rate_row("all", sum(r.success for r in scored), len(scored)), len(records) - len(scored))
    honest = [r for r in scored if not (r.success or r.false_success)]
    rows.append(rate_row("refused or asked", sum(not r.wrong for r in honest), len(scored)))
    rows.append(rate_row("wrong thing lifted, said so", sum(r.wrong for r in honest), len(scored)))
    rows.append(rate_row("false_success", sum(r.false_success for r in scored), len(scored)))
    rows.append(rate_row("done, said to have failed", sum(r.denied for r in scored), len(scored)))
    return rows


def bench_crowded(
    n: int = 60,
    first_seed: int = 0,
    backends: Unprefixed[BackendOptions] = COLOUR_AND_DEPTH,
    jobs: int = 1,
    as_json: AsJson = False,
) -> int:
    """Ask for things that stand 0 to 20 mm from others and print what came of it with 95 % intervals.

    Args:
        n: Scenes; each is asked for up to five things.
        first_seed: Seed of the first scene.
        jobs: Processes.
    """
    require_at_least(1, n=n, jobs=jobs)
    require_at_least(0, first_seed=first_seed)
    backends.require_known()
    began = time.monotonic()
    say(f"{n} crowded scenes, seeds {first_seed}..{first_seed + n - 1}, perception {backends.perception}")
    work = [CrowdJob(seed, backends) for seed in range(first_seed, first_seed + n)]
    records = [record for scene in run_jobs(run_one, work, jobs, crashed) for record in scene]
    document = {
        "bench": "crowded",
        **backends.document(),
        "machine": machine(),
        "seeds": [job.seed for job in work],
        "jobs": jobs,
        "rows": rows_of(records),
        "unscored": sum(not r.scored for r in records),
        "error_codes": dict(Counter(r.error_code for r in records if r.error_code)),
        "failures": [
            {
                "text": r.text,
                "seed": r.seed,
                "gap_mm": r.gap_mm,
                "pairing": r.pairing,
                "error_code": r.error_code,
                "false_success": r.false_success,
                "denied": r.denied,
                "lifted": list(r.lifted),
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


def _failure_line(failure: Mapping[str, Any]) -> str:
    why = failure["answer"] if failure["error_code"] else "; ".join(failure["truth"])
    code = failure["error_code"] or "false success"
    return f"seed {failure['seed']:>3}  {failure['gap_mm']:.0f} mm  {failure['text']!r}: {code}: {why}"
