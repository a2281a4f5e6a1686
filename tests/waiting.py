"""Waiting for what comes about in other threads and processes, within a bound against hanging."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LONGEST_S = 60.0
"""A bound on an overloaded machine, not a promise [s]."""


def until(true: Callable[[], Any], longest_s: float = LONGEST_S) -> Any:
    """Wait for a condition, and return what it gives."""
    end = time.monotonic() + longest_s
    while not (found := true()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
    return found


def alive(process: int) -> bool:
    """Whether a process exists and does not only wait to be reaped by somebody else.

    Its first thread may be over while another still holds its sockets: then it lives.
    """
    try:
        if Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z":
            return True
        return len(list(Path(f"/proc/{process}/task").iterdir())) > 1
    except OSError:
        return False
