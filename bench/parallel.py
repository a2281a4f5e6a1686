"""Runs many independent jobs over processes, with a progress bar; results keep the order of the jobs."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


def _bar(done: int, total: int, started: float, note: str) -> str:
    width = 30
    filled = width * done // max(total, 1)
    elapsed = time.monotonic() - started
    left = elapsed / done * (total - done) if done else 0.0
    return f"\r[{'#' * filled}{'.' * (width - filled)}] {done}/{total}  {elapsed:.0f} s, {left:.0f} s left  {note}"


def run_jobs(
    work: Callable[[Job], Result],
    jobs: Sequence[Job],
    processes: int,
    note: Callable[[Sequence[Result]], str] = lambda results: "",
) -> list[Result]:
    """work(job) for every job; `note` summarises the results so far beside the bar (on stderr)."""
    started = time.monotonic()
    live = sys.stderr.isatty()
    results: list[Result] = []

    def report() -> None:
        if live:
            print(_bar(len(results), len(jobs), started, note(results)).ljust(100), end="", file=sys.stderr, flush=True)
        elif len(results) % 20 == 0 or len(results) == len(jobs):
            print(_bar(len(results), len(jobs), started, note(results))[1:], file=sys.stderr, flush=True)

    if processes <= 1:
        for job in jobs:
            results.append(work(job))
            report()
    else:
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(variable, "1")
        with multiprocessing.get_context("spawn").Pool(processes) as pool:
            for result in pool.imap(work, jobs):
                results.append(result)
                report()
    if live:
        print(file=sys.stderr)
    return results
