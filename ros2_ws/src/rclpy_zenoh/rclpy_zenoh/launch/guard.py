"""Ends what a launcher started once the launcher is gone, however it went: `python guard.py LAUNCH_ID`.

It needs only the standard library, so that it is small and quick. Processes of a launch are known by an environment
variable, which their own children inherit, whatever process group or session these are in. It waits at its standard
input, whose other end only the launcher holds: the end of the input without a farewell means that the launcher died.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time

VARIABLE = "RCLPY_ZENOH_LAUNCH_ID"
FAREWELL = b"q"
PATIENCE_S = 3.0
_POLL_S = 0.05


def members(launch_id: str) -> list[int]:
    """Processes of a launch that are alive; none where a system does not show them in /proc.

    A process that has ended has no environment any more.
    """
    mark = f"{VARIABLE}={launch_id}".encode()
    found: list[int] = []
    try:
        entries = os.listdir("/proc")
    except FileNotFoundError:
        return found
    for entry in entries:
        if entry.isdigit() and int(entry) != os.getpid():
            with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    found.append(int(entry))
    return found


def sweep(launch_id: str, patience_s: float) -> None:
    """End all processes of a launch: SIGINT, then SIGKILL to those that are still there after the patience."""
    deadline = time.monotonic() + patience_s
    asked: set[int] = set()
    while left := members(launch_id):
        late = time.monotonic() >= deadline
        for pid in left:
            if late or pid not in asked:
                asked.add(pid)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL if late else signal.SIGINT)
        time.sleep(_POLL_S)


def main() -> None:
    """Wait for the end of standard input."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read() != FAREWELL:
        sweep(sys.argv[1], PATIENCE_S)


if __name__ == "__main__":
    main()
