"""Collects the rollouts of a plan with several processes, into a folder that a second call goes on with.

    report = collect(RolloutPlan(tasks_of(["pick_and_place"], 8), group_size=4, difficulty=0.5), Path("rollouts"))

| what happens | what becomes of it |
|---|---|
| a process hangs past the deadline, dies, or a tool of it ran out of time | replaced; the rollout is drawn again |
| that so often as `tries` says; an infrastructure error | the rollout is dropped, and counted by its code |
| no tool is called any more, rewards of groups are all equal, all is dropped | a stop in one sentence, see StopRules |
| a full disk, a wrong plan | a stop in one sentence |
| Ctrl-C | what is whole is written; `cancelled` in the report |
| this process is killed | its workers end with it; whole groups are there |

In each case a second call draws what is missing. The records are the same as without the break, whatever the number of
workers and the order in which they end, apart from times.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolhand.sim.objects.chosen import choose_sets
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.tools.suites import require_installed
from toolhand.training.pool.workers import JobEnd, Workers
from toolhand.training.rollouts.collection import read_shard, shard_path, write_shard
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.options import ONE_PROCESS, PROCESSES, RAY, STOPS, StopRules, WorkerOptions
from toolhand.training.rollouts.plan import RolloutPlan, claimed
from toolhand.training.rollouts.record import RolloutRecord
from toolhand.training.rollouts.replies import Halt, RolloutBrief, RolloutOrder, RolloutReply
from toolhand.training.rollouts.work import brief_of, make_work


@dataclass
class CollectReport:
    """What has been collected so far.

    Attributes:
        planned: Rollouts of the plan.
        found: Number of those that the folder had already.
        done: Rollouts that this call has added.
        dropped: Rollouts without a record, {code: how many}.
        again: Tries that cost a process, {code: how many}.
        true_success: Rollouts, found or done, in which the simulator found everything that was asked for.
        calls, turns, times, cpu_s, peak_mb: Figures of `done`: calls that were run, assistant turns, wall time by stage
            of all processes together [s], CPU time [s], and most memory of a process [MB].
        wall_s: Time since the beginning [s].
        groups: Groups that have all their rollouts.
        zero_variance: Groups, of two rollouts or more, whose rewards are all equal.
        bad_rows: A sentence for each row of the folder that was no record; drawn again.
        cancelled: Ctrl-C or `stopped` ended it.
    """

    planned: int
    found: int = 0
    done: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    again: Counter[str] = field(default_factory=Counter)
    true_success: int = 0
    calls: int = 0
    turns: int = 0
    times: Counter[str] = field(default_factory=Counter)
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    wall_s: float = 0.0
    groups: int = 0
    zero_variance: int = 0
    bad_rows: tuple[str, ...] = ()
    cancelled: bool = False

    @property
    def whole(self) -> int:
        """Rollouts that the folder has."""
        return self.found + self.done

    @property
    def shares(self) -> Mapping[str, float]:
        """Share of wall time by stage, largest first; of all processes together."""
        total = sum(self.times.values())
        return {stage: spent / total for stage, spent in self.times.most_common()} if total else {}


def collect(
    plan: RolloutPlan,
    folder: Path,
    pool: WorkerOptions = ONE_PROCESS,
    *,
    stops: StopRules = STOPS,
    stopped: Callable[[], bool] | None = None,
    progress: Callable[[CollectReport], None] = lambda report: None,
) -> CollectReport:
    """Collect what a folder lacks of a plan's rollouts.

    Args:
        folder: Where the rollouts go: a new or empty folder, or one that this plan was collected in before.
        stopped: Polled; True ends it as Ctrl-C does.
        progress: Called with the report as rollouts end.

    Raises:
        ToolError: INVALID_ARGUMENT for a folder of another plan, numbers that make no sense, and a plan that cannot be
            carried out; UNAVAILABLE where something cannot be written, and before the first rollout where tools need an
            extra that is not installed; EXECUTION_FAILED for a stop by StopRules. What is whole is kept, and said.
    """
    config = plan.config
    choose_sets(plan.objects)
    require_installed(config.suites, config.perception, config.ports)
    workers = _workers(pool.on)(_maker(plan, folder), pool.workers, pool.deadline_s, pool.tries)
    with workers, claimed(folder, plan):
        collecting = _Collecting(plan, folder, stops)
        try:
            try:
                collecting.begin()
                for end in workers.run(collecting.missing, stopped, lambda order: order.group):
                    collecting.take(end)
                    progress(collecting.report)
                collecting.report.cancelled = bool(stopped and stopped())
            except KeyboardInterrupt:
                collecting.report.cancelled = True
            finally:
                workers.close()
                _sweep(folder)
            collecting.write_partly()
        except ToolError as error:
            with contextlib.suppress(ToolError):
                collecting.write_partly()
            raise ToolError(error.code, error.message, f"{error.hint} {collecting.kept}".strip()) from error
        return collecting.report


def _maker(plan: RolloutPlan, folder: Path) -> Callable[[], Callable[[RolloutOrder], RolloutReply | Halt]]:
    """What makes the work of a process, in that process."""
    return functools.partial(make_work, plan, folder)


def _workers(on: str) -> type[Workers[RolloutOrder, RolloutReply | Halt]]:
    if on == PROCESSES:
        return Workers
    if on == RAY:
        from toolhand.training.pool.ray_workers import RayWorkers

        return RayWorkers
    raise invalid(f"Workers are {PROCESSES} or actors on {RAY}, got {str(on)[:60]!r}.")


@dataclass
class _Group:
    """What is there of a group: lines of its rollouts that no shard has as yet, and briefs of all."""

    ordered: int
    lines: dict[int, str] = field(default_factory=dict)
    briefs: dict[int, RolloutBrief] = field(default_factory=dict)
    ended: int = 0
    unwritten: bool = False

    @property
    def over(self) -> bool:
        """All that was ordered has ended."""
        return self.ended == self.ordered

    @property
    def zero_variance(self) -> bool:
        """Two rewards or more, all equal."""
        return len(self.briefs) > 1 and len({brief.total for brief in self.briefs.values()}) == 1

    @property
    def no_tool_calls(self) -> bool:
        """One rollout or more, none with a tool call."""
        return bool(self.briefs) and not any(brief.calls for brief in self.briefs.values())


class _Collecting:
    """The state of a collection under way."""

    def __init__(self, plan: RolloutPlan, folder: Path, stops: StopRules) -> None:
        self._plan, self._folder, self._stops = plan, folder, stops
        self._began = time.monotonic()
        self.report = CollectReport(plan.rollouts)
        self.missing: list[RolloutOrder] = []
        self._groups: list[_Group] = []
        self._watched = 0
        self._in_a_row: Counter[str] = Counter()

    @property
    def kept(self) -> str:
        """What the folder has."""
        return f"{self.report.whole} of {self.report.planned} rollouts are kept in {self._folder}."

    def begin(self) -> None:
        """See what the folder has, and what is missing."""
        _sweep(self._folder)
        bad_rows: list[str] = []
        store = ImageStore(self._folder)
        for number in range(len(self._plan.tasks)):
            there = self._there(number, store, bad_rows)
            missing = [RolloutOrder(number, k) for k in range(self._plan.group_size) if k not in there]
            group = _Group(len(missing))
            for k, record in there.items():
                group.briefs[k] = brief_of(record)
                if missing:
                    group.lines[k] = record.to_json(store)
                self.report.found += 1
                self.report.true_success += record.true_success
            self._groups.append(group)
            self.missing += missing
        self.report.bad_rows = tuple(bad_rows)
        self._watch()

    def _there(self, number: int, store: ImageStore, bad_rows: list[str]) -> dict[int, RolloutRecord]:
        path = shard_path(self._folder, number)
        if not path.exists():
            return {}
        found = {}
        for record in read_shard(path, store, lambda error: bad_rows.append(str(error))):
            ours = record.group == number and 0 <= record.rollout < self._plan.group_size
            lacking = [m.image for m in record.messages if m.image and not store.path(m.image).is_file()]
            if not ours or lacking:
                why = f"its picture {lacking[0][:12]} is gone" if lacking else "it is not of this group"
                bad_rows.append(f"{path}, {record.id}: {why}.")
            else:
                found[record.rollout] = record
        return found

    def take(self, end: JobEnd[RolloutOrder, RolloutReply | Halt]) -> None:
        """One rollout has ended. Raises ToolError where all has to."""
        order, reply, report = end.job, end.result, self.report
        if isinstance(reply, Halt):
            raise reply.error
        group = self._groups[order.group]
        report.again.update(str(error.code) for error in end.again)
        group.ended += 1
        if reply is None:
            assert end.problem is not None
            report.dropped[str(end.problem.code)] += 1
            self._in_a_row["dropped"] += 1
        else:
            self._in_a_row["dropped"] = 0
            group.lines[order.rollout], group.briefs[order.rollout] = reply.line, reply.brief
            group.unwritten = True
            report.done += 1
            report.true_success += reply.brief.true_success
            report.calls += reply.brief.calls
            report.turns += reply.brief.turns
            report.times.update(reply.brief.times)
            report.cpu_s += reply.cpu_s
            report.peak_mb = max(report.peak_mb, reply.peak_mb)
        if group.over:
            self._write(order.group)
        report.wall_s = time.monotonic() - self._began
        self._watch()
        if 0 < self._stops.dropped <= self._in_a_row["dropped"]:
            raise _stop(f"{self._stops.dropped} rollouts in a row were dropped, the last one because: {end.problem}")

    def _write(self, number: int) -> None:
        group = self._groups[number]
        if group.unwritten:
            write_shard(self._folder, number, [group.lines[k] for k in sorted(group.lines)])
            group.unwritten = False
        if group.over:
            group.lines.clear()

    def write_partly(self) -> None:
        """Write what there is of groups that have not all their rollouts. Raises ToolError UNAVAILABLE."""
        for number in range(len(self._groups)):
            self._write(number)
        self.report.wall_s = time.monotonic() - self._began

    def _watch(self) -> None:
        """Look at the groups that are over, in their order, so that a stop depends on nothing else."""
        report, row = self.report, self._in_a_row
        while self._watched < len(self._groups) and self._groups[self._watched].over:
            group = self._groups[self._watched]
            self._watched += 1
            report.groups += len(group.briefs) == self._plan.group_size
            report.zero_variance += group.zero_variance
            if len(group.briefs) > 1:
                row["zero_variance"] = row["zero_variance"] + 1 if group.zero_variance else 0
            if group.briefs:
                row["no_tool_calls"] = row["no_tool_calls"] + 1 if group.no_tool_calls else 0
            if 0 < self._stops.no_tool_calls <= row["no_tool_calls"]:
                raise _stop(f"No rollout of the last {self._stops.no_tool_calls} groups has called a tool.")
            if 0 < self._stops.zero_variance <= row["zero_variance"]:
                raise _stop(f"The rewards of each of the last {self._stops.zero_variance} groups are all equal.")


def _sweep(folder: Path) -> None:
    """Take away what processes that were ended had only half written. Nothing else writes here."""
    for path in folder.rglob(".*.part"):
        path.unlink(missing_ok=True)


def _stop(message: str) -> ToolError:
    return ToolError(ErrorCode.EXECUTION_FAILED, message)


def document_of_report(report: CollectReport) -> dict[str, Any]:
    """The report as JSON has it."""
    found = {
        name: dict(value) if isinstance(value, Counter) else list(value) if isinstance(value, tuple) else value
        for name, value in vars(report).items()
    }
    return found | {"whole": report.whole, "shares": dict(report.shares)}
