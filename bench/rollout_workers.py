"""How many rollouts several processes collect beside one: the same rollouts, in turn, in one run."""

from __future__ import annotations

import functools
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.stats import rate_row
from sim.station import StationConfig
from training.pool.workers import JobEnd, Workers
from training.rollouts.plan import RolloutPlan, tasks_of
from training.rollouts.replies import Halt, RolloutOrder, RolloutReply
from training.rollouts.work import make_work

_GROUP = 2
"""Rollouts of each task [-]: the fewest that a group has."""

_Pool = Workers[RolloutOrder, RolloutReply | Halt]


@dataclass
class _Side:
    """What so many processes have done."""

    pool: _Pool
    ends: list[JobEnd[RolloutOrder, RolloutReply | Halt]] = field(default_factory=list)
    wall_s: float = 0.0

    def do(self, orders: Sequence[RolloutOrder], counted: bool = True) -> None:
        started = time.monotonic()
        ends = list(self.pool.run(orders, kind=lambda order: order.group))
        if counted:
            self.wall_s += time.monotonic() - started
            self.ends += ends

    @property
    def replies(self) -> list[RolloutReply]:
        """Of rollouts that have a score."""
        return [end.result for end in self.ends if isinstance(end.result, RolloutReply)]


def compare_workers(seeds: Sequence[int], config: StationConfig, workers: int) -> dict[str, Any]:
    """Collect pick-and-place rollouts with one process and with several, in the order one, several, several, one.

    Wall times count, from when every process has done a rollout that does not; the several wait for the last of
    theirs at the end of each half, which short runs feel.

    Args:
        seeds: Of the tasks, in pairs of rollouts.
        config: Of the stations.
        workers: How many the several are.

    Returns:
        `rows` for one and for several, `times` as many rollouts a minute, `cpu_times` as much CPU time a rollout, and
        `success`, a row of rates; `unscored` rollouts of both.
    """
    plan = RolloutPlan(
        tasks_of(["pick_and_place"], max(1, len(seeds) // _GROUP), seeds[0]),
        group=_GROUP,
        perception=config.perception,
        image_size=config.image_size,
        timestep=config.timestep or RolloutPlan.timestep,
    )
    orders = [RolloutOrder(group, rollout) for group in range(len(plan.tasks)) for rollout in range(_GROUP)]
    half = len(orders) // 2
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        make = functools.partial(make_work, plan, folder)
        one, several = (_Side(stack.enter_context(Workers(make, count))) for count in (1, workers))
        one.do(orders[:1], counted=False)
        several.do(orders[:1] * 2 * workers, counted=False)
        for side, part in (
            (one, orders[:half]),
            (several, orders[:half]),
            (several, orders[half:]),
            (one, orders[half:]),
        ):
            side.do(part)
    rows = [_row(side, count) for side, count in ((one, 1), (several, workers))]
    done = several.replies
    return {
        "rows": rows,
        "times": round(rows[1]["per_min_wall"] / rows[0]["per_min_wall"], 2) if rows[0]["per_min_wall"] else None,
        "cpu_times": round(rows[1]["cpu_s"] / rows[0]["cpu_s"], 2) if rows[0]["cpu_s"] else None,
        "success": rate_row(
            f"true success, {workers} workers", sum(reply.brief.true_success for reply in done), len(done)
        ),
        "unscored": sum(not isinstance(end.result, RolloutReply) for end in (*one.ends, *several.ends)),
    }


def _row(side: _Side, workers: int) -> dict[str, Any]:
    """Rollouts a minute by the clock, CPU time of one [s], calls a second by the clock, memory, shares of wall time.

    `busy` is the share of the clock's time that the workers were at rollouts: what is missing they waited.
    """
    replies, times = side.replies, Counter[str]()
    for reply in replies:
        times.update(reply.brief.times)
    return {
        "workers": workers,
        "rollouts": len(replies),
        "per_min_wall": round(60.0 * len(replies) / side.wall_s, 1) if side.wall_s else 0.0,
        "cpu_s": round(sum(reply.cpu_s for reply in replies) / len(replies), 2) if replies else 0.0,
        "tool_calls_per_s": round(sum(reply.brief.calls for reply in replies) / side.wall_s, 2) if side.wall_s else 0.0,
        "busy": round(times.total() / (workers * side.wall_s), 3) if side.wall_s else 0.0,
        "peak_mb": round(max((reply.peak_mb for reply in replies), default=0.0)),
        "share": {stage: round(spent / times.total(), 3) for stage, spent in times.most_common()},
    }


def report_lines(compared: dict[str, Any]) -> list[str]:
    """The comparison as text for people."""
    lines = [
        f"{row['workers']} of the engine's workers: {row['per_min_wall']} rollouts/min, {row['cpu_s']} s CPU each, "
        f"{row['tool_calls_per_s']} tool calls/s, {row['peak_mb']} MB a worker, busy {100 * row['busy']:.0f} %\n    "
        + ", ".join(f"{stage} {100 * share:.0f} %" for stage, share in row["share"].items())
        for row in compared["rows"]
    ]
    return [*lines, f"together {compared['times']} times the rollouts of one by the clock, at {compared['cpu_times']} "
                    "times the CPU time of each"]  # fmt: skip
