"""A backend at work in a process of its own: batches, deadlines, and the end of a process that is not to be trusted.

Nothing here knows Ray: `toolhand.tool_nodes.serve.replicas` puts it on a cluster.
"""

from __future__ import annotations

import faulthandler
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolhand.tool_nodes import registry
from toolhand.tool_nodes.perception.prompts import BY_IMAGE
from toolhand.tool_nodes.port_names import PortNames
from toolhand.tool_nodes.results import Cause, ErrorCode, ToolError, kind_and_words, unavailable
from toolhand.tool_nodes.serve.config import ServedEntry
from toolhand.tool_nodes.serve.requests import PortRequest, references, unpack

GRACE_S = 0.5
"""A batch may take so much longer than the deadline before its process is ended [s]: longer than the scheduler of a
busy machine needs."""

REMEMBERED = 8
"""Newest batches whose times are known [-]: the fastest of them is what a batch needs at least."""

LAST_WORDS_S = 0.5
"""Time for the answers to leave a process that ends itself [s]; a round figure."""

Reply = Any
"""What the port's method gives, or the ToolError that it raises."""


def make_backend(entry: ServedEntry) -> Any:
    """What the entry names, without what only its callers know. Raises ToolError as `registry.make`."""
    setting = registry.Setting()
    made = [
        registry.make(entry.port, part, setting) for part in PortNames(**{entry.port: entry.backend}).parts(entry.port)
    ]
    return made[0] if len(made) == 1 else BY_IMAGE[entry.port](*made)


class Runner:
    """Gives requests to a backend, one batch at a time; used by one thread.

    Args:
        entry: Entry of the service that is served.
        backend: The backend behind it.
        fetch: The values behind references, as `ray.get` gives them.
        end: Ends this process at once.
    """

    def __init__(
        self,
        entry: ServedEntry,
        backend: Any,
        fetch: Callable[[list[Any]], list[Any]],
        end: Callable[[int], Any] = os._exit,
    ) -> None:
        self.entry = entry
        self._backend = backend
        self._fetch = fetch
        self._end = end
        self._took_s: deque[float] = deque(maxlen=REMEMBERED)
        self.ending: ToolError | None = None
        """Why this process takes no request any more."""
        _limit_memory(entry)

    def describe(self) -> Mapping[str, Any]:
        """What a client's port says of itself: `backend`, `takes` (of a segmenter), `reads_truth`."""
        return {
            "backend": getattr(self._backend, "backend", ""),
            "takes": getattr(self._backend, "takes", frozenset()),
            "reads_truth": bool(getattr(self._backend, "reads_truth", False)),
        }

    def work(self, requests: Sequence[PortRequest]) -> list[Reply]:
        """The answers, in order; the backend is given `batch` requests at once. Where these take longer than the
        entry's deadline, counted from their own beginning, the process ends: a computation cannot be interrupted, and
        the next requests would wait. What cannot be answered in time any more is not begun, so that nothing is done in
        vain however many wait.
        """
        batch = self.entry.batch
        return [reply for k in range(0, len(requests), batch) for reply in self._work_at_once(requests[k : k + batch])]

    def _work_at_once(self, requests: Sequence[PortRequest]) -> list[Reply]:
        if self.ending is not None:
            return [self._passed_on()] * len(requests)
        needed_s = min(*self._took_s, self.entry.deadline_s / 2.0) if self._took_s else 0.0  # who asks anew has more
        replies: list[Reply] = [_late(request, needed_s) for request in requests]
        waiting = [k for k, reply in enumerate(replies) if reply is None]
        if not waiting:
            return replies
        # It works where a computation holds the interpreter, and writes to the log where that was.
        faulthandler.dump_traceback_later(self.entry.deadline_s + GRACE_S, exit=True, file=2)
        begun = time.monotonic()
        try:
            answered = self._answer([requests[k] for k in waiting])
        finally:
            faulthandler.cancel_dump_traceback_later()
        self._took_s.append(time.monotonic() - begun)
        for k, reply in zip(waiting, answered, strict=True):
            replies[k] = reply
        return replies

    def _answer(self, requests: list[PortRequest]) -> list[Reply]:
        try:
            return self._ask(requests)
        except ToolError as error:
            return [error] * len(requests) if len(requests) == 1 else self._one_by_one(requests)
        except BaseException as error:  # argparse and hydra end the process where they should raise
            if _out_of_memory(error):
                return [self._give_up(error)] * len(requests)
            if len(requests) > 1:
                return self._one_by_one(requests)
            return [_broken(self.entry, error)]

    def _one_by_one(self, requests: list[PortRequest]) -> list[Reply]:
        """One request that cannot be answered is no reason for its neighbours to go without."""
        return [self.ending or self._answer([request])[0] for request in requests]

    def _passed_on(self) -> ToolError:
        """What comes after the end was decided is not answered here: the end itself is its callers' answer."""
        time.sleep(2 * LAST_WORDS_S)
        return unavailable(f"The {self.entry.port} {self.entry.name!r} is being replaced.", cause=Cause.DIED)

    def _ask(self, requests: list[PortRequest]) -> list[Reply]:
        wanted = references(requests)
        values = dict(zip(wanted, self._fetch(wanted), strict=True)) if wanted else {}
        writes = bool(getattr(self._backend, "writes", False))
        arguments = [unpack(request, values, writes) for request in requests]
        batch = getattr(self._backend, "batch", None)
        if batch is None:
            seeded = getattr(self._backend, "seeded", None)
            backends = [self._backend if seeded is None else seeded(request.seed) for request in requests]
            return [self._call(*each) for each in zip(backends, arguments, strict=True)]
        replies = list(batch(arguments))
        if len(replies) != len(requests):
            raise ValueError(f"{len(replies)} answers to {len(requests)} requests")
        return replies

    def _call(self, backend: Any, arguments: tuple[Any, ...]) -> Reply:
        try:
            return getattr(backend, self.entry.method)(*arguments)
        except ToolError as error:
            return error
        except BaseException as error:
            if _out_of_memory(error):
                raise
            return _broken(self.entry, error)

    def _give_up(self, error: BaseException) -> ToolError:
        """Memory that has run out once is in pieces: this process answers, and makes room for a new one."""
        self.ending = unavailable(
            f"The {self.entry.port} {self.entry.name!r} ran out of memory: {kind_and_words(error)}.",
            "Lower batch, or use a smaller picture.",
            cause=Cause.OUT_OF_MEMORY,
        )
        timer = threading.Timer(LAST_WORDS_S, self._end, [1])
        timer.daemon = True
        timer.start()
        return self.ending


def _late(request: PortRequest, needed_s: float) -> ToolError | None:
    left = request.until - time.time()
    if left <= 0.0:
        return unavailable("It was too late before it was begun.", cause=Cause.TIMEOUT)
    if left < needed_s:
        waited = f"{left:.1f} s were left, and it takes {needed_s:.1f} s"
        return unavailable(f"Too many wait: {waited}.", cause=Cause.FULL_QUEUE)
    return None


def _out_of_memory(error: BaseException) -> bool:
    # torch's is a RuntimeError of this name, and torch may not be there.
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


def _broken(entry: ServedEntry, error: BaseException) -> ToolError:
    return ToolError(ErrorCode.INTERNAL, f"The {entry.port} {entry.name!r} failed inside: {kind_and_words(error)}.")


def _limit_memory(entry: ServedEntry) -> None:
    """Without a GPU, whose drivers reserve addresses beyond any memory, the system refuses what is over the limit."""
    if not entry.memory_gb or entry.gpus:
        return
    import resource

    with open("/proc/self/status", encoding="ascii") as status:
        taken = next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
    most = taken + int(entry.memory_gb * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))
