"""The stop as all parts that move the arm or decide about it share it: latched until a reset, and counted.

A reset allows new motions. It brings nothing back: whatever was going on when a stop came has noted the number of stops
at its beginning and never goes on once there are more, however soon the reset was.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator

from toolhand.tool_nodes.results import ErrorCode, ToolError

HOW_TO_RESET = "Type `toolhand stop --reset`, or call /reset_stop."
"""What a graph says of a stop that is latched; a page that has a button for it names the button instead."""


class StopWatch:
    """Whether what began when this was made may still move the arm; may be asked in any thread.

    Args:
        latch: Latch of the arm.

    Attributes:
        stops: Number of the last stop when it was made.
    """

    def __init__(self, latch: StopLatch) -> None:
        self._latch = latch
        self.stops = noted = latch.stops  # before the look at the level: a stop in between is seen by one of the two
        self._noted = None if latch.is_set else noted

    @property
    def halted(self) -> bool:
        """True from the first stop on, for ever; also where a stop was latched from the beginning."""
        return self._latch.is_set or self._latch.stops != self._noted

    def resumed(self) -> contextlib.AbstractContextManager[StopWatch]:
        """Within it, this thread goes on with the job that this watch was made for, which may have begun in another."""
        return self._latch.job(self)

    @property
    def error(self) -> ToolError:
        """STOPPED: why nothing goes on, and what to do."""
        if self._noted is None:
            return ToolError(
                ErrorCode.STOPPED, "A stop is latched; nothing moves until it is reset.", self._latch.how_to_reset
            )
        return ToolError(ErrorCode.STOPPED, "Stopped by the operator; the arm holds its position.")


class StopLatch:
    """Whether motion is allowed, and whether there is any. Shared by those who move and those who stop them.

    No lock is taken for a stop, which may come from a signal handler in the middle of anything; a stop that meets a
    reset wins.

    Args:
        how_to_reset: One sentence for callers that meet a latched stop.

    Attributes:
        stops: Number of the last stop, 0 before the first.
    """

    def __init__(self, how_to_reset: str = "Call reset_stop() first.") -> None:
        self.how_to_reset = how_to_reset
        self.stops = 0
        self._released = 0
        self._numbers = itertools.count(1)
        self._jobs = threading.local()
        self._lock = threading.Lock()
        self._moving = 0

    @property
    def is_set(self) -> bool:
        """True from a stop to its reset."""
        return self.stops != self._released

    def set(self) -> None:
        """Forbid motion, and end every job that there is."""
        self.stops = next(self._numbers)

    def clear(self) -> None:
        """Allow new motions."""
        self._released = self.stops

    def watch(self) -> StopWatch:
        """Notes the stops so far."""
        return StopWatch(self)

    @contextlib.contextmanager
    def job(self, watch: StopWatch | None = None) -> Iterator[StopWatch]:
        """Within it, what this thread does belongs together: one stop ends all of it. A job in a job is part of it.

        Args:
            watch: Made when the job was asked for; now where None.
        """
        outer: StopWatch | None = getattr(self._jobs, "watch", None)
        self._jobs.watch = outer or watch or self.watch()
        try:
            yield self._jobs.watch
        finally:
            self._jobs.watch = outer

    @property
    def halted(self) -> bool:
        """True while the job of this thread may not move: a stop is latched, or came since the job began."""
        watch: StopWatch | None = getattr(self._jobs, "watch", None)
        return self.is_set if watch is None else watch.halted

    @property
    def quiet(self) -> bool:
        """True if no goal is on its way."""
        with self._lock:
            return self._moving == 0

    @contextlib.contextmanager
    def goal_on_its_way(self) -> Iterator[None]:
        """Surrounds a goal, from before it is sent until it has ended. Look at `halted` inside, not before."""
        with self._lock:
            self._moving += 1
        try:
            yield
        finally:
            with self._lock:
                self._moving -= 1
