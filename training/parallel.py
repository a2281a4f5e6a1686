"""Runs many independent jobs over processes, with a progress bar; results keep the order of the jobs."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from agent_node.console.terminal import say

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
    failed: Callable[[Job, str], Result],
    note: Callable[[Sequence[Result]], str] = lambda results: "",
) -> list[Result]:
    """work(job) for every job.

    Args:
        work: A function of a module, so that other processes can import it.
        jobs: What to do; they and the results can be pickled.
        processes: 1 works in this process.
        failed: (job, why) -> the result of a job that raised, or whose process died.
        note: Summarises the results so far, beside the progress bar on stderr.
    """
    started = time.monotonic()
    live = sys.stderr.isatty()
    results: list[Result] = []
    outcomes = _in_processes(work, jobs, processes) if processes > 1 else (_attempt(work, job) for job in jobs)
    for job, (result, problem) in zip(jobs, outcomes, strict=True):
        results.append(failed(job, problem) if result is None else result)
        if live:
            bar = _bar(len(results), len(jobs), started, note(results)).ljust(100)
            print(bar, end="", file=sys.stderr, flush=True)
        elif len(results) % 20 == 0 or len(results) == len(jobs):
            say(_bar(len(results), len(jobs), started, note(results))[1:])
    if live:
        say("")
    return results


def _attempt(work: Callable[[Job], Result], job: Job) -> tuple[Result | None, str]:
    """The result, or None and why: an exception itself may not survive the way to another process."""
    try:
        return work(job), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def _in_processes(
    work: Callable[[Job], Result], jobs: Sequence[Job], processes: int
) -> Iterator[tuple[Result | None, str]]:
    """Outcomes in order. A process that dies breaks its pool; the job that was waited for is then tried alone."""
    done = 0
    while done < len(jobs):
        for outcome in _until_broken(work, jobs[done:], processes):
            done += 1
            yield outcome
        if done < len(jobs):
            yield next(_until_broken(work, jobs[done : done + 1], 1), (None, "its process died"))
            done += 1


def _until_broken(
    work: Callable[[Job], Result], jobs: Sequence[Job], processes: int
) -> Iterator[tuple[Result | None, str]]:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")  # which the new processes inherit
    # Processes start from scratch: one that was forked would share the state of native libraries.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(processes, len(jobs)), context, _die_silently)
    try:
        for future in [pool.submit(_attempt, work, job) for job in jobs]:
            yield future.result()
    except BrokenProcessPool:
        return
    finally:
        pool.shutdown(cancel_futures=True)


def _die_silently() -> None:
    """In a new process: Ctrl-C ends it without a word, the parent reports."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
