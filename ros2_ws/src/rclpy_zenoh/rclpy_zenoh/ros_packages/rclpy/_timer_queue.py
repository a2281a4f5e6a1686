"""When the timers of an executor are due."""

from __future__ import annotations

import heapq
import weakref
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rclpy.timer import Timer


class TimerQueue:
    """Timers by the time they are due; not safe for several threads.

    A timer that was put off stays in the queue at its old time, is found not to be ready then, and is scheduled anew.
    So the queue does not grow when a watchdog is reset again and again.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, weakref.ReferenceType[Timer]]] = []
        self._scheduled: weakref.WeakKeyDictionary[Timer, float] = weakref.WeakKeyDictionary()
        self._count = count()

    def schedule(self, timer: Timer) -> bool:
        """Note when a timer is due next; True if it is the first one now."""
        delay = timer._wall_delay()
        if delay is None:
            return False
        due = monotonic() + delay
        known = self._scheduled.get(timer)
        if known is not None and known <= due:
            return False
        self._scheduled[timer] = due
        heapq.heappush(self._heap, (due, next(self._count), weakref.ref(timer)))
        return self._heap[0][0] == due

    def next_due(self) -> float | None:
        """When the first timer is due, on `time.monotonic`; None if there is none."""
        return self._heap[0][0] if self._heap else None

    def pop_due(self) -> list[Timer]:
        """Take out the timers that are due now."""
        due: list[Timer] = []
        if not self._heap:
            return due
        now = monotonic()
        while self._heap and self._heap[0][0] <= now:
            at, _, reference = heapq.heappop(self._heap)
            timer = reference()
            if timer is not None and self._scheduled.get(timer) == at:
                del self._scheduled[timer]
                due.append(timer)
        return due

    def discard(self, timer: Timer) -> None:
        """Forget a timer."""
        self._scheduled.pop(timer, None)
