"""`toolhand bench foreign`: things that no catalogue knows, in clutter, each grasped once by the tools alone."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from agent_node.console.options import COLOUR_AND_DEPTH, BackendOptions, Unprefixed, require_at_least
from agent_node.console.terminal import AsJson, say
from bench.grasping import grasp_calls, middle_of
from bench.stats import format_report, machine, publish, rate_row, timing_row
from sim.objects.foreign import LAYOUTS, ForeignLayout
from sim.scene.foreign import foreign_scene, settle
from sim.snapshot import Snapshot
from sim.station import Station, StationConfig
from sim.tasks.predicates import THRESHOLDS, judge_pick, lifted_ids
from tool_nodes.results import INFRASTRUCTURE_ERRORS, ErrorCode, ToolError
from training.pool.parallel import run_jobs

LEAST_PIXELS = 300
"""Fewer visible pixels of a thing are not asked for [px]; a round figure."""


@dataclass(frozen=True)
class ForeignJob:
    """One grasp in one scene."""

    seed: int
    layout: ForeignLayout
    backends: BackendOptions


@dataclass(frozen=True)
class ForeignRecord:
    """What one first attempt gave.

    Attributes:
        family: Family of the thing that was pointed at.
        code: Error code at the end, empty for a success.
        text: Text of the tools at the end.
        reported: The tools said success.
        success: The simulator says success.
        up: Things that were up after the hold: nothing, the target, another, the target and another.
        check_s: Time of the robot that the look at what was lifted took [s]; None where it did not get there.
    """

    job: ForeignJob
    family: str
    code: str
    text: str = ""
    reported: bool = False
    success: bool = False
    up: str = ""
    check_s: float | None = None

    @property
    def scored(self) -> bool:
        """False after an infrastructure error."""
        return self.code not in INFRASTRUCTURE_ERRORS


def run_one(job: ForeignJob) -> ForeignRecord:
    """Grasp one thing by the tools alone: a true pixel of it, segment_from_point, compute_grasp, execute_grasp."""
    station = Station(
        foreign_scene(job.seed, job.layout),
        StationConfig(**vars(job.backends), seed=job.seed),
    )
    settle(station.world)
    target, point = pointed_at(station, job.seed)
    family = station.scene.objects[target].asset.kind
    before = station.world.snapshot()
    try:
        *_, record = grasp_calls(station, lambda: point)
    except ToolError as error:
        if error.code in INFRASTRUCTURE_ERRORS:
            return ForeignRecord(job, family, error.code, error.message)
        after = station.world.hold(THRESHOLDS.hold_s)
        return ForeignRecord(job, family, error.code, error.message, up=_up(before, after[-1], f"thing_{target}"))
    after = station.world.hold(THRESHOLDS.hold_s)
    return ForeignRecord(
        job,
        family,
        "",
        record.result.text,
        reported=True,
        success=judge_pick(before, after, (f"thing_{target}",)),
        up=_up(before, after[-1], f"thing_{target}"),
        check_s=record.result.facts.get("grasped", {}).get("check_s"),
    )


def _up(before: Snapshot, after: Snapshot, target: str) -> str:
    lifted = lifted_ids(before, after, THRESHOLDS)
    names = ["the target"] * (target in lifted) + ["another"] * bool(lifted - {target})
    return " and ".join(names) or "nothing"


def pointed_at(station: Station, seed: int) -> tuple[int, tuple[float, float]]:
    """A thing that is well visible, drawn from the seed: its index, and a normalized point in its middle.

    Raises:
        ToolError: OBJECT_NOT_FOUND where none is.
    """
    ids = station.make_camera(station.scene_camera()).capture().ids
    assert ids is not None
    visible = [k for k in range(len(station.scene.objects)) if int((ids == k).sum()) >= LEAST_PIXELS]
    if not visible:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "Nothing of the scene is well visible.")
    target = int(np.random.default_rng([seed, 0xF2]).choice(visible))
    point = middle_of(ids, target)
    assert point is not None
    return target, point


def crashed(job: ForeignJob, why: str) -> ForeignRecord:
    """The record of a job that gave none: counted, never scored."""
    return ForeignRecord(job, "", ErrorCode.INTERNAL, why)


def _note(records: Sequence[ForeignRecord]) -> str:
    false = sum(r.reported and not r.success for r in records)
    return f"{sum(r.success for r in records)} of {len(records)} succeeded, {false} falsely said so"


def bench_foreign(
    n: int = 240,
    first_seed: int = 0,
    backends: Unprefixed[BackendOptions] = COLOUR_AND_DEPTH,
    jobs: int = 1,
    as_json: AsJson = False,
) -> int:
    """Grasp things that no catalogue knows, packed and on heaps in turn; first attempts by the tools alone.

    Args:
        n: Grasps, each in a scene of its own.
        first_seed: Seed of the first scene.
        jobs: Processes.
    """
    require_at_least(1, n=n, jobs=jobs)
    require_at_least(0, first_seed=first_seed)
    backends.require_known()
    began = time.monotonic()
    say(f"{n} grasps of things that no catalogue knows, seeds {first_seed}..{first_seed + n - 1}")
    seeds = range(first_seed, first_seed + n)
    work = [ForeignJob(seed, LAYOUTS[seed % len(LAYOUTS)], backends) for seed in seeds]
    records = run_jobs(run_one, work, jobs, crashed, _note)
    document = {
        "bench": "foreign",
        **backends.document(),
        "machine": machine(),
        "seeds": list(seeds),
        "jobs": jobs,
        "rows": rows_of(records),
        "unscored": sum(not r.scored for r in records),
        "causes": dict(Counter(r.code or f"false success, {r.up} up" for r in records if not r.success)),
        "failures": [
            {"seed": r.job.seed, "layout": r.job.layout, "family": r.family, "code": r.code, "up": r.up, "text": r.text}
            for r in records
            if not r.success
        ],
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, lambda document: format_report(document, "causes", _failure_line), as_json)
    return 0


def rows_of(records: Sequence[ForeignRecord]) -> list[dict[str, Any]]:
    """Rates of success by layout and family, false successes, things held rightly that were given up, and the time."""
    scored = [r for r in records if r.scored]

    def rate(name: str, chosen: Sequence[ForeignRecord]) -> dict[str, Any]:
        return rate_row(name, sum(r.success for r in chosen), len(chosen))

    false = {layout: [r for r in scored if r.job.layout == layout] for layout in LAYOUTS} | {"": scored}
    return [
        rate("all", scored),
        *(rate(layout, [r for r in scored if r.job.layout == layout]) for layout in LAYOUTS),
        *(rate(family, [r for r in scored if r.family == family]) for family in sorted({r.family for r in scored})),
        *(
            rate_row(f"false success {layout}".rstrip(), sum(r.reported and not r.success for r in chosen), len(chosen))
            for layout, chosen in false.items()
        ),
        rate_row(
            "held, but reported otherwise", sum(not r.reported and r.up == "the target" for r in scored), len(scored)
        ),
        timing_row("check, time of the robot", [r.check_s for r in scored if r.check_s is not None]),
    ]


def _failure_line(failure: Mapping[str, Any]) -> str:
    what = failure["code"] or f"false success, {failure['up']} up"
    return f"seed {failure['seed']:>3}  {failure['layout']} {failure['family']}: {what}: {failure['text']}"
