"""Processes from scratch that work through jobs, each replaced where it hangs, dies or can no longer be trusted.

    with Workers(functools.partial(make_work, config), count=2, deadline_s=60.0, tries=3) as workers:
        for end in workers.run(jobs):
            print(end.job, end.result if end.problem is None else end.problem)

`make_work` runs once in each process and gives the function that does a job, so that what is dear to make is kept. A
process is ended by its own handle alone; all end with the block, and with this process, however that ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

Job = TypeVar("Job")
Result = TypeVar("Result")

START_S = 180.0
"""Longest time from the start of a process until it can work [s]: imports take two, on a machine with nothing else to
do."""

_STARTS = 3
"""Processes in a row that end before they can work after which no more are started [-]."""
_LOOKED_AHEAD = 256
"""Waiting jobs that are looked through for one that suits a process [-]."""
_POLL_S = 0.2
"""How often it is asked whether to stop [s]."""
_END_S = 2.0
"""How long a process may take to end when it is asked to [s]; then it is killed."""


class WorkerUnusable(Exception):
    """Raised by the work on a job: this process is to be replaced, and the job tried again.

    Args:
        error: Why, and what the job comes to when it was the last try.
    """

    def __init__(self, error: ToolError) -> None:
        super().__init__(error)
        self.error = error


@dataclass(frozen=True)
class JobEnd(Generic[Job, Result]):
    """What became of one job.

    Attributes:
        result: Result of the work; None where there is a problem.
        problem: Error that the work raised (INTERNAL where that was no ToolError), TIMEOUT after the deadline, INTERNAL
            where the process died; None where there is a result.
        again: Why each earlier try came to nothing.
    """

    job: Job
    result: Result | None
    problem: ToolError | None
    again: tuple[ToolError, ...] = ()


@dataclass
class _Ticket(Generic[Job]):
    job: Job
    again: list[ToolError] = field(default_factory=list)


@dataclass(eq=False)
class _Slot(Generic[Job]):
    """A process, what it does, and of which kind its last job was."""

    process: Any
    connection: Any
    since: float
    ready: bool = False
    ticket: _Ticket[Job] | None = None
    kind: Hashable = None


class Workers(Generic[Job, Result]):
    """A number of processes; used as a context manager.

    Args:
        make: Makes, in each process, the function that does a job; a function of a module, or a partial of one.
        count: Processes at once; they are started when there are jobs.
        deadline_s: Longest wall time of a job [s]; none where None.
        tries: How often a job may cost a process before it is given up.

    Raises:
        ToolError: INVALID_ARGUMENT for numbers that are not as above.
    """

    def __init__(
        self,
        make: Callable[[], Callable[[Job], Result]],
        count: int,
        deadline_s: float | None = None,
        tries: int = 2,
    ) -> None:
        for name, number in {"workers": count, "tries": tries}.items():
            if number < 1:
                raise invalid(f"{name} must be 1 or more, got {number}.")
        if deadline_s is not None and not deadline_s > 0.0:
            raise invalid(f"The deadline must be above 0 s, got {deadline_s}.")
        self.count = count
        self._make = make
        self._deadline_s = deadline_s
        self._tries = tries
        self._slots: list[_Slot[Job]] = []
        self._failed_starts = 0
        # Processes start from scratch: one that was forked would share the state of native libraries.
        self._context = multiprocessing.get_context("spawn")

    def __enter__(self) -> Workers[Job, Result]:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def run(
        self,
        jobs: Sequence[Job],
        stopped: Callable[[], bool] | None = None,
        kind: Callable[[Job], Hashable] = lambda job: None,
    ) -> Iterator[JobEnd[Job, Result]]:
        """Do the jobs; their ends as they come, in no order.

        Args:
            jobs: They and the results can be pickled.
            stopped: Polled meanwhile; True ends the iteration.
            kind: Kind of a job; jobs of one kind share something that a process makes once, so that one process does
                them as long as the others have something else to do.

        Raises:
            ToolError: What `make` raised; INTERNAL where processes die before they can work.
        """
        for slot in [slot for slot in self._slots if slot.ticket is not None]:  # of an iteration that was left early
            self._slots.remove(slot)
            self._end(slot, now=True)
        waiting = deque(_Ticket(job) for job in jobs)
        left = len(waiting)
        while left and not (stopped and stopped()):
            while len(self._slots) < min(self.count, left):
                self._slots.append(self._start())
            for slot in self._slots:
                if slot.ready and slot.ticket is None and waiting:
                    self._give(slot, self._next(slot, waiting, kind), kind)
            self._await(self._patience(_POLL_S if stopped else None))
            for slot in list(self._slots):
                ticket = slot.ticket
                if (ended := self._look_at(slot)) is None:
                    continue
                result, problem, lost = ended
                if ticket is None:
                    continue
                if lost and problem is not None and len(ticket.again) + 1 < self._tries:
                    ticket.again.append(problem)
                    waiting.appendleft(ticket)
                    continue
                left -= 1
                yield JobEnd(ticket.job, result, problem, tuple(ticket.again))

    def close(self) -> None:
        """End all processes, whatever they do."""
        for slot in self._slots:
            slot.connection.close()  # at which one that waits for a job ends by itself
            if slot.ticket is not None or not slot.ready:
                slot.process.terminate()
        for slot in self._slots:
            self._end(slot)
        self._slots.clear()

    def _start(self) -> _Slot[Job]:
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(variable, "1")  # which the new process inherits: threads only wait for each other
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(self._make, theirs), daemon=True)
        with _without_working_folder(), _without_interrupts():
            process.start()
        theirs.close()
        return _Slot(process, ours, time.monotonic())

    def _await(self, patience_s: float | None) -> None:
        """Until a process tells something or ends, or so long."""
        wait([handle for slot in self._slots for handle in (slot.connection, slot.process.sentinel)], patience_s)

    def _next(self, slot: _Slot[Job], waiting: deque[_Ticket[Job]], kind: Callable[[Job], Hashable]) -> _Ticket[Job]:
        """The ticket that a process takes: best one of its last kind, then one of a kind that no other process has."""
        others = {other.kind for other in self._slots if other is not slot and other.ticket is not None}
        near = [kind(waiting[k].job) for k in range(min(len(waiting), _LOOKED_AHEAD))]
        own = (k for k, found in enumerate(near) if found == slot.kind)
        free = (k for k, found in enumerate(near) if found not in others)
        chosen = next(own, next(free, 0))
        ticket = waiting[chosen]
        del waiting[chosen]
        return ticket

    def _give(self, slot: _Slot[Job], ticket: _Ticket[Job], kind: Callable[[Job], Hashable]) -> None:
        slot.ticket, slot.since, slot.kind = ticket, time.monotonic(), kind(ticket.job)
        with contextlib.suppress(OSError):  # it has died: seen when it is looked at
            slot.connection.send(ticket.job)

    def _patience(self, longest: float | None) -> float | None:
        """How long nothing may happen before somebody has to be looked at [s]; None for ever."""
        limits = [slot.since + limit for slot in self._slots if (limit := self._limit(slot)) is not None]
        left = [max(0.0, limit - time.monotonic()) for limit in limits]
        return min([*left, *([] if longest is None else [longest])], default=None)

    def _limit(self, slot: _Slot[Job]) -> float | None:
        if not slot.ready:
            return START_S
        return None if slot.ticket is None else self._deadline_s

    def _look_at(self, slot: _Slot[Job]) -> tuple[Result | None, ToolError | None, bool] | None:
        """What the job of a process came to: a result, a problem, and whether it has cost the process; None: nothing.

        Raises:
            ToolError: See `run`.
        """
        try:
            reply = slot.connection.recv() if slot.connection.poll() else None
        except (EOFError, OSError):
            reply = "died", None
        if reply is None and not slot.process.is_alive():
            reply = "died", None
        if reply is None:
            limit = self._limit(slot)
            if limit is None or time.monotonic() - slot.since < limit:
                return None
            reply = "hung", ToolError(ErrorCode.TIMEOUT, f"It did not end within {limit:g} s.")
        kind: str = reply[0]
        content: Any = reply[1]
        if kind == "ready":
            slot.ready, self._failed_starts = True, 0
            return None
        if kind in ("done", "failed"):
            slot.ticket = None
            return (content, None, False) if kind == "done" else (None, content, False)
        begun = slot.ready
        self._slots.remove(slot)
        self._end(slot, now=True)
        if kind == "died":
            content = ToolError(ErrorCode.INTERNAL, f"Its process died ({_ending(slot.process.exitcode)}).")
        if not begun:
            self._failed_starts += 1
            if kind == "unfit":
                raise content
            if self._failed_starts >= _STARTS:
                raise ToolError(ErrorCode.INTERNAL, f"No process can begin to work: {content}")
        return None, content, True

    @staticmethod
    def _end(slot: _Slot[Job], now: bool = False) -> None:
        if now:
            slot.process.join(0.1)  # it may have ended by itself, and its exit status is wanted
            slot.process.terminate()
        slot.process.join(_END_S)
        if slot.process.is_alive():
            slot.process.kill()
            slot.process.join()
        slot.connection.close()


def _ending(exitcode: int | None) -> str:
    if exitcode is None:
        return "its exit status is not known"
    if exitcode >= 0:
        return f"exit status {exitcode}"
    try:
        return f"signal {signal.Signals(-exitcode).name}"
    except ValueError:
        return f"signal {-exitcode}"


@contextlib.contextmanager
def _without_working_folder() -> Iterator[None]:
    """A process that is started within imports nothing from the working folder before it knows where to look.

    Others may write there, and multiprocessing begins with whatever it finds there by the name of its own modules.
    """
    before = os.environ.get("PYTHONSAFEPATH")
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        os.environ.pop("PYTHONSAFEPATH") if before is None else os.environ.update({"PYTHONSAFEPATH": before})


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """A process that is started within never gets Ctrl-C: a terminal sends it to all, and the first one decides."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # else the first process starts it, which lets SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(make: Callable[[], Callable[[Any], Any]], connection: Connection) -> None:
    """The life of a process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        work = make()
    except Exception as error:
        connection.send(("unfit", as_tool_error(error)))
        return
    connection.send(("ready", None))
    while True:
        try:
            job = connection.recv()
        except (EOFError, OSError):
            return
        reply = reply_of(work, job)
        try:
            connection.send(reply)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            connection.send(("failed", as_tool_error(error)))
        if reply[0] == "unusable":
            return


def reply_of(work: Callable[[Any], Any], job: Any) -> tuple[str, Any]:
    """A process's reply to a job: "done" and the result, or "failed" or "unusable" and the ToolError."""
    try:
        return "done", work(job)
    except WorkerUnusable as unusable:
        return "unusable", unusable.error
    except Exception as error:
        return "failed", as_tool_error(error)


def as_tool_error(error: Exception) -> ToolError:
    """An error as another process can get it; one that is not ours may not survive pickling."""
    if type(error) is ToolError:
        error.__cause__ = error.__context__ = None
        return error
    return ToolError(ErrorCode.INTERNAL, f"{type(error).__name__}: {error}")


def _end_with_parent() -> None:
    """A process that was killed cannot end those that it started."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
