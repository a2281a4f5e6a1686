"""Processes of a service on this machine: found wherever they are, and all ended with it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from toolhand.tool_nodes.serve.service_file import MARK, ServiceNote, keeper_file, ray_folder

SWEEP_S = 10.0
"""How long killed processes may take to be gone [s]; a round figure."""


def began(process: int) -> int | None:
    """When a process began, in ticks since the machine was started; None where there is none. With its number it is
    one process, though numbers are used again.
    """
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def of_service(service: ServiceNote) -> list[int]:
    """Every process of this user that belongs to a cluster that was started for a service, but not this one.

    They have the service's mark in their environment. Those that write a title over it, which begins with "ray::", are
    known by their logs.
    """
    mark, logs = f"{MARK}={service.id}".encode(), f"{ray_folder(service)}/"
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                if not _is_mine(entry):  # as root one can read everybody's
                    continue
                marked = mark in (entry / "environ").read_bytes().split(b"\0")
                titled = (entry / "cmdline").read_bytes().startswith(b"ray::")
                if (marked or (titled and _has_open(entry, logs))) and began(int(entry.name)) is not None:
                    found.append(int(entry.name))
    return found


def keeps(service: ServiceNote) -> bool:
    """Whether the process that a note names is the keeper of the service, and not another one of its number.

    It is this user's, began when the keeper did, and has the file open that only the keeper of this service has.
    """
    entry = Path(f"/proc/{service.keeper}")
    try:
        same = service.began is not None and began(service.keeper) == service.began
        return same and _is_mine(entry) and _has_open(entry, str(keeper_file(service)))
    except OSError:
        return False


def _is_mine(process: Path) -> bool:
    """Whether a process runs as this user in every respect; whose its entry is in /proc says less."""
    lines = (process / "status").read_text(encoding="utf-8", errors="replace").splitlines()
    users = next((line.split()[1:] for line in lines if line.startswith("Uid:")), [])
    return set(users) == {str(os.geteuid())}


def _has_open(process: Path, start: str) -> bool:
    """Whether a process has a file open whose path begins like this."""
    return any(os.readlink(link).startswith(start) for link in (process / "fd").iterdir())


def end_all(service: ServiceNote) -> int:
    """Kill what is left of a service; how many processes are still there after `SWEEP_S`, 0 if all went well."""
    end = time.monotonic() + SWEEP_S
    while (left := of_service(service)) and time.monotonic() < end:
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.1)
    return len(left)


def end(process: int, since: int | None, patience_s: float) -> None:
    """Ask a process to end, and kill it where it does not.

    Args:
        process: Its number.
        since: When it began, see `began`; another process of that number is left alone.
        patience_s: How long it may take [s].
    """
    for asked, patience in ((signal.SIGTERM, patience_s), (signal.SIGKILL, 5.0)):
        until = time.monotonic() + patience
        if since is None or began(process) != since:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, asked)
        while began(process) == since and time.monotonic() < until:
            time.sleep(0.05)
