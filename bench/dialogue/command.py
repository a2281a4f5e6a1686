"""`toolhand bench dialogue`: sentences that people wrote, said in physics and judged by their meanings."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from toolhand.agent_node.runs.folder import write_json
from toolhand.bench.commands.dialogue import Options
from toolhand.bench.dialogue.conversation import UtteranceRecord, record_from
from toolhand.bench.dialogue.outcomes import OUTCOMES
from toolhand.bench.dialogue.over import OtherWay, compare, difference_line
from toolhand.bench.dialogue.said import said_file
from toolhand.bench.dialogue.saying_job import SaidJob, crashed_lines, said_jobs, say_lines
from toolhand.bench.frame import Benchmark, Document
from toolhand.bench.grasp.records import RunFolder, resumed
from toolhand.bench.stats import machine, rate_row, timing_row
from toolhand.tool_nodes.results import invalid
from toolhand.training.pool.parallel import run_jobs

_TALKS = 12
"""Talks that are said twice where no number is named: minutes."""
_WRONG = ("false success", "guessed at a tie", "wrong answer", "moved unasked")
"""Outcomes that claim what is not so, or move what nobody asked for: the exit status is 1."""


class DialogueBench(Benchmark[Options, SaidJob, UtteranceRecord]):
    """See `toolhand.bench.commands.dialogue`."""

    name = "dialogue"

    def __call__(self, options: Options) -> int:
        """See Benchmark; conversations that are said twice have a document of their own."""
        return OVER(options) if options.over else super().__call__(options)

    def title(self, options: Options) -> str:
        count = sum(len(job.lines) for job in _said(options))
        return f"{count} sentences written by hand, {options.said}, perception {options.backends.perception}"

    def jobs(self, options: Options) -> Sequence[SaidJob]:
        if options.out is not None:
            RunFolder(options.out).open(_settings(options))
        return _said(options)

    def measure(self, options: Options, jobs: Sequence[SaidJob]) -> list[UtteranceRecord]:
        """See Benchmark; what the folder of the run has is not done again."""
        folder = None if options.out is None else RunFolder(options.out)
        kept = resumed(
            {job.key: job for job in jobs},
            folder,
            lambda kept, key, job: kept.find_as(key, lambda documents: [record_from(each) for each in documents]),
            lambda missing: run_jobs(_Keeping(folder), missing, options.jobs, crashed_lines, _note),
        )
        return [record for records in kept for record in records]

    def document(self, options: Options, records: Sequence[UtteranceRecord]) -> dict[str, Any]:
        return {
            **_settings(options),
            "machine": machine(),
            "jobs": options.jobs,
            "rows": undo_rows(records) if options.undo else rows_of(records),
            "outcomes": dict(Counter(record.outcome for record in records)),
            "unscored": sum(record.outcome == "unscored" for record in records),
            "failures": [record.document() for record in records if record.outcome != "as meant"],
        }

    def keep(self, options: Options, document: Document, records: Sequence[UtteranceRecord]) -> None:
        if options.out is not None:
            utterances = [record.document() for record in records]
            write_json(options.out / "report.json", {**document, "utterances": utterances})

    def failure_line(self, failure: Mapping[str, Any]) -> str:
        why = f"{failure['error_code']} {failure['answer']}" if failure["error_code"] else "; ".join(failure["reasons"])
        return f"seed {failure['seed']}  {failure['outcome']} ({failure['kind']}): {failure['words']!r}: {why}"

    def status(self, document: Document) -> int:
        return int(any(document["outcomes"].get(outcome) for outcome in _WRONG))


class SaidTwice(Benchmark[Options, Options, dict[str, Any]]):
    """`toolhand bench dialogue --over`."""

    name = "dialogue"

    def title(self, options: Options) -> str:
        return f"{len(_talks(options))} talks, {options.said}, in process and over {options.over}"

    def measure(self, options: Options, jobs: Sequence[Options]) -> list[dict[str, Any]]:
        load = round(os.getloadavg()[0], 2)
        compared = compare(cast(OtherWay, options.over), _talks(options), options.backends)
        return [{"load_before": load, **compared}]

    def document(self, options: Options, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {
            "over": options.over,
            "source": f"said {said_file(options.said).stem}",
            **options.backends.document(),
            "machine": machine(),
            **records[0],
            "unscored": 0,
        }

    def failure_line(self, failure: Mapping[str, Any]) -> str:
        return difference_line(failure)

    def status(self, document: Document) -> int:
        return int(bool(document["failures"]))


BENCH, OVER = DialogueBench(), SaidTwice()


def _said(options: Options) -> list[SaidJob]:
    return said_jobs(options.said, options.backends, options.n, options.plan_reader, options.undo)


def _talks(options: Options) -> list[SaidJob]:
    """The first talks of the list. Raises ToolError INVALID_ARGUMENT where it has none."""
    talks = [job for job in said_jobs(options.said, options.backends) if job.lines[0].talks]
    if not talks:
        raise invalid(f"--over says talks, and {options.said!r} has none: voices, unheard or a file of your own may.")
    return talks[: options.n or _TALKS]


def _settings(options: Options) -> dict[str, Any]:
    source = f"said {said_file(options.said).stem}{', undone' if options.undo else ''}"
    return {"source": source, "reader": options.plan_reader, **options.backends.document()}


class _Keeping:
    """Does a job and keeps what came of it."""

    def __init__(self, folder: RunFolder | None) -> None:
        self._path = None if folder is None else folder.path

    def __call__(self, job: SaidJob) -> list[UtteranceRecord]:
        records = say_lines(job)
        if self._path is not None:
            RunFolder(self._path).keep_document(job.key, [record.document() for record in records])
        return records


def _note(done: Sequence[Sequence[UtteranceRecord]]) -> str:
    records = [record for records in done for record in records]
    wrong = sum(record.outcome in _WRONG for record in records)
    return f"{sum(r.outcome == 'as meant' for r in records)} of {len(records)} as meant, {wrong} wrong"


def rows_of(records: Sequence[UtteranceRecord]) -> list[dict[str, Any]]:
    """Rates of as meant by kind, of each outcome, of whole conversations, and times."""
    scored = [record for record in records if record.outcome != "unscored"]
    rows = [
        rate_row(kind, sum(r.outcome == "as meant" for r in chosen), len(chosen))
        for kind in dict.fromkeys(record.kind for record in scored)
        if (chosen := [r for r in scored if r.kind == kind])
    ]
    rows += _shares(scored, "utterances")
    if any(record.closed for record in scored):
        rows += _shares([record for record in scored if not record.closed], "to be done or answered")
    by_seed: dict[int, list[UtteranceRecord]] = {}
    for record in records:
        by_seed.setdefault(record.seed, []).append(record)
    whole = [all(record.outcome == "as meant" for record in each) for each in by_seed.values()]
    rows.append(rate_row("whole conversations as meant", sum(whole), len(whole)))
    moved = [record.first_motion_s for record in scored if record.first_motion_s is not None]
    rows.append(timing_row("until the first motion", moved))
    refused = [record.processor_s for record in scored if record.first_motion_s is None]
    rows.append(timing_row("processor, without a motion", refused))
    return rows


def _shares(records: Sequence[UtteranceRecord], of: str) -> list[dict[str, Any]]:
    rows = []
    for outcome in OUTCOMES:
        count = sum(record.outcome == outcome for record in records)
        if count or outcome in ("as meant", "refused misleadingly", *_WRONG):
            rows.append(rate_row(f"{of}: {outcome}", count, len(records)))
    return [*rows, rate_row(f"{of}: something moved unasked", sum(r.unasked for r in records), len(records))]


def undo_rows(records: Sequence[UtteranceRecord]) -> list[dict[str, Any]]:
    """Rates of deeds that were taken back within 1 cm, or of which the robot said why not, and how far off."""
    of = [record for record in records if record.kind == "undo"]
    back = sum(record.outcome == "as meant" for record in of)
    said = sum(record.outcome == "refused usefully" for record in of)
    rows = [
        rate_row("back within 1 cm", back, len(of)),
        rate_row("back, or said why not", back + said, len(of)),
        *_shares(of, "undo"),
    ]
    off = [record.off_mm for record in of if record.off_mm is not None]
    for percent in (50, 95, 100) if off else ():
        within = round(float(np.percentile(off, percent)), 1)
        rows.append(rate_row(f"off by at most {within} mm", sum(each <= within + 0.05 for each in off), len(off)))
    return rows
