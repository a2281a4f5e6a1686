"""Runs many independent jobs over processes, with a progress bar; results keep the order of the jobs."""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from agent_node.console.terminal import say
from training.workers import Workers

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
    """Outcomes in order; a job whose process died is tried once more."""
    done: dict[int, tuple[Result | None, str]] = {}
    following = 0
    with Workers(functools.partial(_numbered, work), min(processes, max(len(jobs), 1))) as workers:
        for end in workers.run(list(enumerate(jobs))):
            done[end.job[0]] = end.result or (None, str(end.problem))
            while following in done:
                yield done.pop(following)
                following += 1


def _numbered(work: Callable[[Job], Result]) -> Callable[[tuple[int, Job]], tuple[Result | None, str]]:
    """The work on a job with its number."""
    return lambda numbered: _attempt(work, numbered[1])
