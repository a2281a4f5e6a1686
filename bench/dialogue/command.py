"""`toolhand bench dialogue`: conversations in physics, judged after every utterance by the goal of their maker."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from agent_node.console.options import DEFAULT_BACKENDS, BackendOptions, Unprefixed, require_at_least
from agent_node.console.terminal import AsJson, say
from agent_node.runs.folder import write_json
from bench.dialogue.conversation import (
    ConversationJob,
    UtteranceRecord,
    crashed,
    hold_conversation,
    record_from,
)
from bench.dialogue.outcomes import OUTCOMES
from bench.dialogue.over import OtherWay, compare, difference_line
from bench.dialogue.said import said_file
from bench.dialogue.saying_job import SaidJob, crashed_lines, said_jobs, say_lines
from bench.dialogue.undoing import UndoJob, crashed_undo, undo_once
from bench.grasp.records import RunFolder, resumed
from bench.stats import format_report, machine, publish, rate_row, timing_row
from training.pool.parallel import run_jobs

_CONVERSATIONS = 40
"""Conversations where no number is named: of every second kind one, in minutes."""
_WRONG = ("false success", "guessed at a tie", "wrong answer", "moved unasked")
"""Outcomes that claim what is not so, or move what nobody asked for: the exit status is 1."""


def bench_dialogue(
    n: int | None = None,
    first_seed: int = 0,
    said: str = "",
    undo: int = 0,
    over: Literal["", "mcp", "ros"] = "",
    backends: Unprefixed[BackendOptions] = DEFAULT_BACKENDS,
    out: Path | None = None,
    jobs: int = 1,
    as_json: AsJson = False,
) -> int:
    """Hold conversations of 2 to 6 utterances in physics; each is judged by the goal that its maker means.

    The exit status is 1 where success was claimed of what is not so, something moved that nobody asked for, or with
    `--over` a conversation did not end the same.

    Args:
        n: Conversations, 40 where left out; with `--said` so many of the sentences, all where left out.
        first_seed: Seed of the first conversation, which decides its first kind too.
        said: Sentences that were written by hand instead, each said once: `tuned` was there while the reader was made,
            `unseen`, `fresh` and `independent` were measured before the kinds that failed were repaired; or a file of
            your own, as bench/dialogue/said.py says, that ends with .yaml.
        undo: Deeds instead that are taken back, of each kind in turn; measured is how far off the thing stands.
        over: Say each conversation twice instead, in process and over `mcp` or `ros`: what comes of it is the same.
        out: Folder for what came of each conversation; the same command goes on after a break.
        jobs: Processes.
    """
    require_at_least(1, jobs=jobs, **({} if n is None else {"n": n}))
    require_at_least(0, first_seed=first_seed, undo=undo)
    backends.require_known()
    began = time.monotonic()
    if over:
        return _compare(over, range(first_seed, first_seed + (n or _CONVERSATIONS)), backends, as_json)
    folder = None if out is None else RunFolder(out)
    settings = {
        "source": f"said {said_file(said).stem}" if said else "undo" if undo else "made",
        "first_seed": first_seed,
    }
    settings |= backends.document()
    if folder is not None:
        folder.open(settings)
    records = _records(_work(n, first_seed, said, undo, backends), jobs, folder)
    document = {
        "bench": "dialogue",
        **settings,
        "machine": machine(),
        "jobs": jobs,
        "rows": rows_of(records) if not undo else undo_rows(records),
        "outcomes": dict(Counter(record.outcome for record in records)),
        "unscored": sum(record.outcome == "unscored" for record in records),
        "failures": [record.document() for record in records if record.outcome != "as meant"],
        "wall_s": round(time.monotonic() - began, 1),
    }
    if folder is not None:
        write_json(folder.path / "report.json", {**document, "utterances": [record.document() for record in records]})
    publish(document, lambda document: format_report({**document, "errors": {}}, "errors", _failure_line), as_json)
    return 1 if any(record.outcome in _WRONG for record in records) else 0


def _compare(over: OtherWay, seeds: range, backends: BackendOptions, as_json: bool) -> int:
    """Say conversations twice; exit status 1 where one did not end the same."""
    began, load = time.monotonic(), os.getloadavg()[0]
    say(f"{len(seeds)} conversations, seeds {seeds[0]}..{seeds[-1]}, in process and over {over}")
    found = compare(over, seeds, backends)
    document = {
        "bench": "dialogue",
        "over": over,
        "first_seed": seeds[0],
        **backends.document(),
        "machine": machine(),
        "load_before": round(load, 2),
        **found,
        "unscored": 0,
        "wall_s": round(time.monotonic() - began, 1),
    }
    publish(document, lambda document: format_report({**document, "errors": {}}, "errors", difference_line), as_json)
    return int(bool(found["failures"]))


DialogueJob = ConversationJob | SaidJob | UndoJob


def _work(n: int | None, first_seed: int, said: str, undo: int, backends: BackendOptions) -> list[DialogueJob]:
    if said:
        groups = said_jobs(said, backends, n)
        count = sum(len(job.lines) for job in groups)
        say(f"{count} sentences written by hand, {said}, perception {backends.perception}")
        return [*groups]
    count = undo or n or _CONVERSATIONS
    what = "deeds to take back" if undo else "conversations"
    say(f"{count} {what}, seeds {first_seed}..{first_seed + count - 1}, perception {backends.perception}")
    seeds = range(first_seed, first_seed + count)
    return [UndoJob(seed, backends) if undo else ConversationJob(seed, backends) for seed in seeds]


def _records(work: Sequence[DialogueJob], jobs: int, folder: RunFolder | None) -> list[UtteranceRecord]:
    """The records of all jobs; those that the folder has are not done again."""
    kept = resumed(
        {job.key: job for job in work},
        folder,
        lambda kept, key, job: kept.find_as(key, lambda documents: [record_from(each) for each in documents]),
        lambda missing: run_jobs(_Keeping(folder), missing, jobs, _crashed, _note),
    )
    return [record for records in kept for record in records]


class _Keeping:
    """Does a job and keeps what came of it."""

    def __init__(self, folder: RunFolder | None) -> None:
        self._path = None if folder is None else folder.path

    def __call__(self, job: DialogueJob) -> list[UtteranceRecord]:
        records = _do(job)
        if self._path is not None:
            RunFolder(self._path).keep_document(job.key, [record.document() for record in records])
        return records


def _do(job: DialogueJob) -> list[UtteranceRecord]:
    if isinstance(job, SaidJob):
        return say_lines(job)
    return undo_once(job) if isinstance(job, UndoJob) else hold_conversation(job)


def _crashed(job: DialogueJob, why: str) -> list[UtteranceRecord]:
    if isinstance(job, SaidJob):
        return crashed_lines(job, why)
    return crashed_undo(job, why) if isinstance(job, UndoJob) else crashed(job, why)


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
    """Rates of deeds that were taken back within 1 cm, or of which the robot said why not, by kind and in all."""
    undone = [record for record in records if record.off_mm is not None or record.kind.startswith("undo")]
    rows = []
    kinds = [*dict.fromkeys(record.kind for record in undone)]
    for name in [*kinds, "all"]:
        of = [record for record in undone if name in (record.kind, "all")]
        back = sum(record.outcome == "as meant" for record in of)
        said = sum(record.outcome == "refused usefully" for record in of)
        rows.append(rate_row(f"{name}: back within 1 cm", back, len(of)))
        rows.append(rate_row(f"{name}: back, or said why not", back + said, len(of)))
    off = [record.off_mm for record in undone if record.off_mm is not None]
    rows += _shares(undone, "undo")
    for percent in (50, 95, 100) if off else ():
        within = round(float(np.percentile(off, percent)), 1)
        rows.append(rate_row(f"off by at most {within} mm", sum(each <= within + 0.05 for each in off), len(off)))
    return rows


def _failure_line(failure: Mapping[str, Any]) -> str:
    why = f"{failure['error_code']} {failure['answer']}" if failure["error_code"] else "; ".join(failure["reasons"])
    return f"seed {failure['seed']}  {failure['outcome']} ({failure['kind']}): {failure['words']!r}: {why}"
