"""Runs many independent jobs over processes, with a progress bar; results keep the order of the jobs."""

from __future__ import annotations

import functools
import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from toolhand.agent_node.console.terminal import say
from toolhand.training.pool.workers import Workers

Job = TypeVar("Job")
Result = TypeVar("Result")


class ProgressLine:
    """A progress bar on stderr: one line that changes at a terminal, else a line now and then.

    Args:
        total: Number of jobs.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._started = time.monotonic()
        self._live = sys.stderr.isatty()
        self._shown = False

    def show(self, done: int, note: str) -> None:
        """So much is done."""
        bar = self._bar(done, note)
        if self._live:
            print(f"\r{bar.ljust(100)}", end="", file=sys.stderr, flush=True)
            self._shown = True
        elif done % 20 == 0 or done == self._total:
            say(bar)

    def end(self) -> None:
        """Leave the line."""
        if self._shown:
            say("")

    def _bar(self, done: int, note: str) -> str:
        width = 30
        filled = width * done // max(self._total, 1)
        elapsed = time.monotonic() - self._started
        left = elapsed / done * (self._total - done) if done else 0.0
        return (
            f"[{'#' * filled}{'.' * (width - filled)}] {done}/{self._total}  {elapsed:.0f} s, {left:.0f} s left  {note}"
        )


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
        jobs: Jobs to do; they and the results can be pickled.
        processes: 1 works in this process.
        failed: (job, why) -> the result of a job that raised, or whose process died.
        note: Summarises the results so far, beside the progress bar on stderr.
    """
    line = ProgressLine(len(jobs))
    results: list[Result] = []
    outcomes = _in_processes(work, jobs, processes) if processes > 1 else (_attempt(work, job) for job in jobs)
    for job, (result, problem) in zip(jobs, outcomes, strict=True):
        results.append(failed(job, problem) if result is None else result)
        line.show(len(results), note(results))
    line.end()
    return results


def _attempt(work: Callable[[Job], Result], job: Job) -> tuple[Result | None, str]:
    """The result, or None and why: an exception itself may not survive the way to another process."""
    try:
        return work(job), ""
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"
    finally:
        # A station refers to itself in circles, and its 25 MB of MuJoCo's do not count for when these are looked for.
        gc.collect()


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
