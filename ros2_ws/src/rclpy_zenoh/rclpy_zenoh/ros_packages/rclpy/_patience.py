"""Waiting so that a signal is noticed, whenever it comes.

A signal that comes after the interpreter's last look for one and before a wait begins wakes nothing: its handler runs
only once that wait is over. So no wait is long.
"""

from __future__ import annotations

from threading import Event
from time import monotonic

LONGEST_WAIT_S = 0.5
"""Longest that a thread waits without a look around [s]: short for a person who presses Ctrl-C."""


def wait_for(event: Event, timeout_sec: float | None) -> bool:
    """Whether an event was set in time; for ever if None."""
    end = None if timeout_sec is None else monotonic() + timeout_sec
    while True:
        left = LONGEST_WAIT_S if end is None else min(LONGEST_WAIT_S, max(0.0, end - monotonic()))
        if event.wait(left):
            return True
        if end is not None and monotonic() >= end:
            return False
