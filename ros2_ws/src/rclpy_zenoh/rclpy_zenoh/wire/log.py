"""Logging that a flood of bad packets cannot flood."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

logger = logging.getLogger("rclpy_zenoh.wire")


class DropLog:
    """Reports what one endpoint dropped: the first time at once, then at most once a second with a count.

    Args:
        where: Subject of the reports, such as "Topic /chatter".
        clock: Seconds that only grow.
    """

    INTERVAL_S = 1.0

    def __init__(self, where: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._where, self._clock = where, clock
        self._lock = threading.Lock()
        self._next_report = float("-inf")
        self._silent = 0

    def report(self, what: str) -> None:
        """Say what was dropped and why; never raises."""
        with self._lock:
            now = self._clock()
            if now < self._next_report:
                self._silent += 1
                return
            self._next_report = now + self.INTERVAL_S
            silent, self._silent = self._silent, 0
        more = f" ({silent} more were not reported)" if silent else ""
        logger.warning("%s: dropped %s%s.", self._where, what, more)


_AGAIN_S = 0.001
_CALLBACK = "_zenoh_callback"


def shielded(drops: DropLog, callback: Callable[..., None]) -> Callable[..., None]:
    """A callback for zenoh's threads from which no exception comes; it is reported instead.

    zenoh runs some callbacks in the thread that declares something. A Ctrl-C that hits the main thread there would be
    printed and lost, so it is given once more when the callback has returned; see also `in_callback`.
    """

    def _zenoh_callback(*args: Any) -> None:
        try:
            callback(*args)
        except Exception as error:
            drops.report(f"an event ({type(error).__name__}: {str(error)[:200]})")
        except KeyboardInterrupt:
            interrupt_later(signal.SIGINT)

    return _zenoh_callback


def in_callback(frame: FrameType | None) -> bool:
    """True if a signal has come in the middle of a callback of zenoh's; nothing may be raised there."""
    while frame is not None:
        if frame.f_code.co_name == _CALLBACK:
            return True
        frame = frame.f_back
    return False


def interrupt_later(number: int) -> None:
    """Send the main thread a signal once more, a moment later."""
    again = threading.Timer(_AGAIN_S, signal.pthread_kill, (threading.main_thread().ident, number))
    again.daemon = True
    again.start()
