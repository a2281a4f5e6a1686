"""A process of the graph: started, listened to, started again where that is wanted, and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rclpy_zenoh.launch.forking import UNKNOWN_STATUS, ForkedProcess
from rclpy_zenoh.launch.plan import ProcessPlan

Spawn = Callable[[ProcessPlan, Mapping[str, str]], ForkedProcess | None]
"""Starts a process in another way than as a program of its own, with this environment; None where it cannot."""

_TAIL_LINES = 20
_LONGEST_LINE = 1 << 16
_DRAIN_S = 1.0


@dataclass(frozen=True)
class Usage:
    """What a running process takes.

    Attributes:
        rss_bytes: Memory it has in RAM.
        pss_bytes: The same, with pages that several processes share divided among them.
        cpu_s: Processor time since its start [s].
    """

    label: str
    pid: int
    rss_bytes: int
    pss_bytes: int
    cpu_s: float


class Supervised:
    """Keeps one process running, in a thread of its own.

    Args:
        plan: Command, arguments and environment; a replacement takes effect at the next start.
        extra: Environment variables beside those of the plan.
        on_line: Hears (label, line) for every line that the process writes.
        on_end: Hears (this, status) of every end, from the supervising thread.
        spawn: Asked first for each start.

    Attributes:
        starts: Number of starts so far [-].
        last_line: The line before its last end; empty before its first end, and where it wrote nothing.
    """

    def __init__(
        self,
        plan: ProcessPlan,
        extra: Mapping[str, str],
        on_line: Callable[[str, str], None],
        on_end: Callable[[Supervised, int], None],
        spawn: Spawn = lambda plan, environment: None,
    ) -> None:
        self.plan = plan
        self.starts = 0
        self.last_line = ""
        self._environment = environment_of(plan, extra)
        self._on_line, self._on_end, self._spawn = on_line, on_end, spawn
        self._tail: deque[str] = deque(maxlen=_TAIL_LINES)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._process: subprocess.Popen[bytes] | ForkedProcess | None = None
        self._thread = threading.Thread(target=self._supervise, name=f"supervise {plan.label}", daemon=True)

    def start(self) -> None:
        """Begin; only once."""
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """Its process now, None while there is none."""
        process = self._process
        return process.pid if process is not None and process.returncode is None else None

    @property
    def finished(self) -> bool:
        """True once it has ended for good."""
        return not self._thread.is_alive()

    @property
    def tail(self) -> list[str]:
        """Its last lines."""
        return list(self._tail)

    def send(self, number: int) -> None:
        """Send a signal to the process and its children; nothing happens where it has ended."""
        with self._lock, contextlib.suppress(ProcessLookupError):
            if self._process is not None and self._process.poll() is None:
                os.killpg(self._process.pid, number)

    def leave(self) -> None:
        """Do not start it again."""
        self._closing.set()

    def stop(self, number: int = signal.SIGINT) -> None:
        """Ask it to end by a signal, and do not start it again."""
        self.leave()
        self.send(number)

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join()

    def usage(self) -> Usage | None:
        """What it takes now; None where it has ended."""
        pid = self.pid
        return None if pid is None else usage_of(self.plan.label, pid)

    def _supervise(self) -> None:
        while True:
            with self._lock:
                if self._closing.is_set():
                    return
                status = self._start()
            if status is None:
                status = self._listen()
            self.last_line = self._tail[-1] if self._tail else ""
            self._on_end(self, status)
            delay = self.plan.respawn_delay_s
            if self._closing.is_set() or delay is None or self._closing.wait(delay):
                return

    def _start(self) -> int | None:
        """The status of a process that could not be started, as a shell gives it; None where it runs."""
        self.starts += 1
        plan = self.plan
        try:
            self._process = self._spawn(plan, self._environment)
            if self._process is None and self._closing.is_set():
                return 0
            if self._process is None:
                self._process = subprocess.Popen(
                    plan.command,
                    env=self._environment,
                    cwd=plan.cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    process_group=0,  # a Ctrl-C at the terminal reaches only the launcher, which ends all in order
                )
        except OSError as error:
            self._heard(f"{plan.command[0]} cannot be started: {error.strerror}.")
            return 127
        return None

    def _listen(self) -> int:
        process = self._process
        assert process is not None
        reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        reader.start()
        status = process.wait()
        reader.join(_DRAIN_S)  # a child of it that lives on may hold the other end of the pipe
        return status

    def _read(self, process: subprocess.Popen[bytes] | ForkedProcess) -> None:
        assert process.stdout is not None
        with process.stdout as stream:
            while line := stream.readline(_LONGEST_LINE):
                self._heard(line.decode(errors="replace").rstrip("\r\n"))

    def _heard(self, line: str) -> None:
        self._tail.append(line)
        self._on_line(self.plan.label, line)


def environment_of(plan: ProcessPlan, extra: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a process: of its plan, and what the launcher adds."""
    environment = {**plan.environment, **extra, "PYTHONUNBUFFERED": "1"}
    path = [*plan.python_path, *environment.get("PYTHONPATH", "").split(os.pathsep)]
    environment["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(filter(None, path)))
    return environment


def usage_of(label: str, pid: int) -> Usage | None:
    """What a process takes, read from /proc; None where it has ended."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            sizes = {line.split(":")[0]: int(line.split()[1]) for line in file.readlines()[1:]}
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except (OSError, IndexError, ValueError):
        return None
    ticks = int(fields[11]) + int(fields[12])
    return Usage(label, pid, 1024 * sizes["Rss"], 1024 * sizes["Pss"], ticks / os.sysconf("SC_CLK_TCK"))


def ended_how(status: int) -> str:
    """A status of `subprocess` in words."""
    if status == UNKNOWN_STATUS:
        return "ended, nobody can tell how"
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
