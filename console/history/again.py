"""A run once more, in a simulator of its own: `toolhand run` as a process, with the recorded options and nothing else.

The record may have come from anywhere, so that it decides neither which server is asked nor which folders or weights
are used. A graph that runs is never touched: the process has its tools in itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolhand.tool_nodes.port_names import PORTS
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

MOST_LINES = 1000
"""Newest lines of the output that are kept: a run has some fifty."""
_LONGEST_LINE = 2000
"""Longest part of a line that is kept [characters]."""
_LONGEST_TASK = 2000
"""Longest sentence, as the scripted policy takes it [characters]."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,60}")
"""A backend, policy, robot or scene of this project by its name: no path, no address."""
_NAMED = {"scene": "--scene", "perception": "--perception", "policy": "--policy", "protocol": "--protocol"}
_NAMED |= {"suite": "--suite", "role": "--role", "robot": "--robot"}
_NUMBERS = {"seed": "--seed", "turn_budget": "--turns"}
_LEADS_ELSEWHERE = ("objects", "package_path")
"""Recorded options that name folders."""


def command_again(result: Mapping[str, Any], runs_dir: Path, keep_runs: int = 0) -> list[str]:
    """The command line that carries out a run once more.

    Args:
        result: Its result.json.
        runs_dir: Where the new run is made.
        keep_runs: How many of the newest runs stay there; 0 keeps all.

    Raises:
        ToolError: INVALID_ARGUMENT for a record without a sentence, and for one that names what may lead anywhere.
    """
    task = result.get("task")
    if (
        not isinstance(task, str)
        or not task.strip()
        or task.startswith("-")
        or len(task) > _LONGEST_TASK
        or "\0" in task
    ):
        raise invalid("The run has no sentence that can be said again.")
    words = [sys.executable, "-m", "toolhand", "run", task]
    for name, option in _NAMED.items():
        if (value := result.get(name)) not in (None, ""):
            words += [option, _named(name, value)]
    for name, option in _NUMBERS.items():
        value = result.get(name)
        if value is not None:
            if type(value) is not int or not 0 <= value < 2**31:
                raise invalid(f"The record's {name} is no whole number of 0 or more.")
            words += [option, str(value)]
    ports = result.get("ports", {})
    if not isinstance(ports, Mapping) or not set(ports) <= set(PORTS):
        raise invalid("The record's ports are none of this version.")
    for name in PORTS:
        if ports.get(name):
            words += [f"--{name.replace('_', '-')}", _named(name, ports[name])]
    if elsewhere := [name for name in _LEADS_ELSEWHERE if result.get(name)]:
        raise _anywhere(elsewhere[0], result[elsewhere[0]])
    words += ["--keep-runs", str(keep_runs)] if keep_runs else []
    return [*words, "--transport", "process", "--runs-dir", str(runs_dir)]


def _named(name: str, value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value) or "served" in value:
        raise _anywhere(name, value)
    return value


def _anywhere(name: str, value: Any) -> ToolError:
    return invalid(
        f"The record names the {name.replace('_', ' ')} {str(value)[:60]!r}, which may lead anywhere.",
        "If the run is your own: toolhand replay RUN --again --trusted",
    )


class Rerun:
    """The one run that a console carries out again; another one begins when it has ended. For several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._lines: deque[tuple[int, str]] = deque(maxlen=MOST_LINES)
        self._count = 0
        self.of = ""

    @property
    def running(self) -> bool:
        """Whether it goes on."""
        return self._process is not None and self._process.poll() is None

    def start(self, run: str, command: Sequence[str]) -> None:
        """Begin a run.

        Args:
            run: Name of the run that is carried out again.
            command: Command line of `command_again`.

        Raises:
            ToolError: UNAVAILABLE while another one goes on, and where the process cannot be started.
        """
        with self._lock:
            if self.running:
                raise ToolError(
                    ErrorCode.UNAVAILABLE, f"The run {self.of} is being carried out again: wait for its end."
                )
            self.of = run
            self._lines.clear()
            self._add(f"$ {shlex.join(['toolhand', *command[3:]])}")
            # Nothing of the graph that runs: neither its domain and router nor the operator's token.
            environment = {key: value for key, value in os.environ.items() if not key.startswith(_OF_THE_GRAPH)}
            try:
                self._process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    env=environment,
                    start_new_session=True,
                )
            except OSError as error:
                raise ToolError(ErrorCode.UNAVAILABLE, f"The run cannot be started: {error.strerror}.") from error
            threading.Thread(target=self._read, args=(self._process,), daemon=True).start()

    def lines(self, after: int = 0) -> list[tuple[int, str]]:
        """(number, line) of the output with greater numbers."""
        with self._lock:
            return [line for line in self._lines if line[0] > after]

    def cancel(self) -> None:
        """End it, as Ctrl-C does: the simulated arm stops, and what came of it is written."""
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGINT)

    def close(self) -> None:
        """End it at once."""
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        while line := process.stdout.readline(_LONGEST_LINE):
            with self._lock:
                self._add(line.rstrip("\n"))
        status = process.wait()
        with self._lock:
            self._add(f"It ended with exit status {status}.")

    def _add(self, line: str) -> None:
        self._count += 1
        self._lines.append((self._count, "".join(sign if sign.isprintable() else " " for sign in line)))


_OF_THE_GRAPH = ("TOOLHAND_", "ROS_", "ZENOH_", "RMW_")
"""Beginnings of variables that say which graph is meant, and with which token."""
