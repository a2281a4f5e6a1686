"""Conversations that call at once, each waiting for its answer, and what that takes."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolhand.bench.serving.payloads import Payload, PointCall
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.toolbox.images import SessionImage

_SAMPLE_S = 0.25
"""How often the memory of the processes is read [s]."""

PointingConversation = Callable[[SessionImage, str], Any]


@dataclass(frozen=True)
class Load:
    """What the calls of simultaneous conversations got.

    Attributes:
        seconds: Duration of each call [s].
        wall_s: From the first call to the last answer.
        errors: Calls that came to an error of the tool or of the way to it, by code.
    """

    seconds: Sequence[float]
    wall_s: float
    errors: Counter[str]


def drive(payload: Payload, conversation: Callable[[], PointingConversation], callers: int, seconds: float) -> Load:
    """Let conversations call one after the other until the time is over; each calls once before that does not count.

    Args:
        conversation: Makes what a conversation calls with.
        callers: Conversations, a thread each.
        seconds: How long calls are begun; those that wait are waited for [s].
    """
    ready = threading.Barrier(callers + 1)
    over = threading.Event()

    def converse(number: int) -> list[tuple[float, float, str]]:
        calls, ask, spent = payload.calls(number), conversation(), []

        def one(call: PointCall) -> None:
            began, wrong = time.perf_counter(), ""
            try:
                ask(*call)
            except ToolError as error:
                wrong = (error.cause or error.code).lower()
            spent.append((began, time.perf_counter(), wrong))

        one(next(calls))
        spent.clear()
        ready.wait()
        while not (over.is_set() and spent):
            one(next(calls))
        return spent

    with ThreadPoolExecutor(callers) as threads:
        running = [threads.submit(_guarded, ready, converse, number) for number in range(callers)]
        try:
            with contextlib.suppress(threading.BrokenBarrierError):
                ready.wait()
            over.wait(seconds)
        finally:  # also at Ctrl-C: the threads are waited for
            over.set()
            if sys.exc_info()[0] is not None:
                ready.abort()
        spent = [call for worker in running for call in worker.result()]
    wall = max(end for _, end, _ in spent) - min(begin for begin, _, _ in spent)
    return Load([end - begin for begin, end, _ in spent], wall, Counter(wrong for _, _, wrong in spent if wrong))


def _guarded(ready: threading.Barrier, work: Callable[[int], Any], number: int) -> Any:
    """A conversation that cannot begin lets the others go."""
    try:
        return work(number)
    except BaseException:
        ready.abort()
        raise


@dataclass
class Peak:
    """Most memory that was seen [bytes]."""

    bytes: int = 0


@contextlib.contextmanager
def watched(processes: Callable[[], Sequence[int]]) -> Iterator[Peak]:
    """Within it, the memory of this process and of others is read: what each has for itself, and what they share."""
    peak, over = Peak(), threading.Event()
    others = processes()

    def watch() -> None:
        while True:
            peak.bytes = max(peak.bytes, _memory([os.getpid(), *others]))
            if over.wait(_SAMPLE_S):
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()


def _memory(processes: Sequence[int]) -> int:
    """Private memory of all together, and shared memory once: all map the same store [bytes]."""
    private = shared = 0
    for process in processes:
        with contextlib.suppress(OSError):  # it has ended
            lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
            found = {
                key: int(value.split()[0]) * 1024
                for key, _, value in (line.partition(":") for line in lines)
                if key in ("RssAnon", "RssShmem")
            }
            private += found.get("RssAnon", 0)
            shared = max(shared, found.get("RssShmem", 0))
    return private + shared
