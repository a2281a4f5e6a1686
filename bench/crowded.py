"""`toolhand bench crowded`: objects that stand closer together than perception or fingers can easily separate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolhand.agent_node.console.options import BackendOptions
from toolhand.agent_node.policies.scripted.policy import ScriptedPolicy
from toolhand.bench.commands.crowded import Options
from toolhand.bench.frame import Benchmark
from toolhand.bench.judged import JudgedRecord, claims, judged, told_entries, told_line
from toolhand.bench.stats import machine, rate_row, with_unscored
from toolhand.sim.station import Station, StationConfig
from toolhand.sim.tasks.crowds import GAPS_M, crowd_gap, crowd_pairing, crowded_tasks
from toolhand.sim.tasks.judge import Judge
from toolhand.tool_nodes.results import ErrorCode
from toolhand.training.env.episode import run_episode


@dataclass(frozen=True)
class CrowdJob:
    """Everything that is asked in one crowded scene, each in a station of its own."""

    seed: int
    backends: BackendOptions


@dataclass(frozen=True, kw_only=True)
class CrowdRecord(JudgedRecord):
    """What one sentence gave.

    Attributes:
        gap_mm: Edge to edge between the neighbours [mm].
        pairing: Relation of the two objects, see `toolhand.sim.tasks.crowds.PAIRINGS`.
        lifted: Ids of what was off the table for the hold time.
        wrong: Something that was not asked for was lifted.
    """

    gap_mm: float
    pairing: str
    wrong: bool = False
    lifted: tuple[str, ...] = ()


def run_one(job: CrowdJob) -> list[CrowdRecord]:
    """Run and judge every sentence of a scene."""
    records = []
    for task in crowded_tasks(job.seed):
        station = Station(task.scene, StationConfig(**vars(job.backends), seed=job.seed))
        judge = Judge(station)
        outcome = run_episode(station, ScriptedPolicy(), task)
        lifted = judge.history(()).lifted
        records.append(
            CrowdRecord(
                **judged(task, job.seed, outcome),
                gap_mm=1000 * crowd_gap(job.seed),
                pairing=crowd_pairing(job.seed),
                wrong=bool(lifted - set(task.target_ids)),
                lifted=tuple(sorted(lifted)),
            )
        )
    return records


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
    rows.append(rate_row("wrong object lifted, said so", sum(r.wrong for r in honest), len(scored)))
    return rows + claims(scored)


class CrowdedBench(Benchmark[Options, CrowdJob, CrowdRecord]):
    """See `toolhand.bench.commands.crowded`."""

    name = "crowded"

    def title(self, options: Options) -> str:
        last = options.first_seed + options.n - 1
        return (
            f"{options.n} crowded scenes, seeds {options.first_seed}..{last}, perception {options.backends.perception}"
        )

    def jobs(self, options: Options) -> Sequence[CrowdJob]:
        return [CrowdJob(options.first_seed + k, options.backends) for k in range(options.n)]

    def run(self, job: CrowdJob) -> Sequence[CrowdRecord]:
        return run_one(job)

    def crashed(self, job: CrowdJob, why: str) -> Sequence[CrowdRecord]:
        gap, pairing = 1000 * crowd_gap(job.seed), crowd_pairing(job.seed)
        return [CrowdRecord(seed=job.seed, gap_mm=gap, pairing=pairing, error_code=ErrorCode.INTERNAL, answer=why)]

    def document(self, options: Options, records: Sequence[CrowdRecord]) -> dict[str, Any]:
        told = told_entries(records, ("gap_mm", "pairing"), ("lifted",))
        return {
            **options.backends.document(),
            "machine": machine(),
            "seeds": [job.seed for job in self.jobs(options)],
            "jobs": options.jobs,
            "rows": rows_of(records),
            **told,
        }

    def failure_line(self, failure: Mapping[str, Any]) -> str:
        return told_line(failure, f"{failure['gap_mm']:.0f} mm  ")


BENCH = CrowdedBench()
