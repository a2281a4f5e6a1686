"""`toolhand bench startup`: how long commands and the graph take until they do something."""

from __future__ import annotations

import functools
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_node.console.terminal import AsJson, say
from bench.stats import machine, publish
from rclpy_zenoh.launch.process import usage_of
from tool_nodes.results import invalid, unavailable

SENTENCE = "pick up the red box"
FIRST_MOTION = "robot.execute_grasp"
"""The call that moves the arm first, as `toolhand run` prints it."""

GRAPH = "graph, until it is ready"
AWAY = Path(sys.prefix)
"""Where commands run: in a checkout Python would import from there, whatever installation the command is of, and in a
folder that other users write into, what they have put there."""
READY_WITHIN_S = 120.0
"""A graph that is not ready by then has failed [s]; an idle machine takes 3."""
HELP = (("--help",), ("run", "--help"), ("stop", "--help"), ("up", "--help"), ("runs", "--help"))
_TABLE_ROW = re.compile(r"^\S.*?\s+\d+\s+[\d.]+\s+[\d.]+\s+(?P<cpu_s>[\d.]+)$")
"""A process in the table of `toolhand up --usage`."""


def bench_startup(n: int = 5, graph: bool = True, as_json: AsJson = False) -> int:
    """Measure the processor time of help, of a sentence until the arm moves, and of the graph until it is ready.

    Processor time, user and system together, is less disturbed by other work on the machine than the wall clock.

    Args:
        n: Runs of each.
        graph: Start the simulated graph, too.
    """
    if n < 1:
        raise invalid(f"n must be 1 or more, got {n}.")
    command = [sys.executable, "-m", "toolhand"]
    rows = []
    for name, measure in _measurements(graph).items():
        say(f"  {name}")
        rows.append({"what": name, "cpu_s": round(statistics.median(measure(command) for _ in range(n)), 3)})
    publish({"n": n, "machine": machine(), "rows": rows}, _report, as_json)
    return 0


def _report(document: Mapping[str, Any]) -> str:
    rows = (f"{row['what']:56}{row['cpu_s']:9.3f}" for row in document["rows"])
    return "\n".join(["processor time, median [s]", *rows])


def _measurements(graph: bool) -> dict[str, Callable[[Sequence[str]], float]]:
    """Name to what measures it: given the command `toolhand`, the processor time [s]."""
    found: dict[str, Callable[[Sequence[str]], float]] = {
        " ".join(("toolhand", *arguments)): functools.partial(_to_the_end, arguments=arguments) for arguments in HELP
    }
    found[f'toolhand run "{SENTENCE}", until the arm moves'] = _to_first_motion
    return found | ({GRAPH: _graph} if graph else {})


def _to_the_end(command: Sequence[str], arguments: Sequence[str]) -> float:
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, cwd=AWAY)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _to_first_motion(command: Sequence[str]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        arguments = [*command, "run", SENTENCE, "--no-animation", "--runs-dir", folder]
        with subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if FIRST_MOTION in line:
                    usage = usage_of("run", process.pid)
                    process.kill()
                    if usage is not None:
                        return usage.cpu_s
    raise unavailable(f"{command[0]} run ended before it moved the arm.")


def _graph(command: Sequence[str]) -> float:
    """Of all processes of the graph, without that of the launcher."""
    with tempfile.TemporaryDirectory() as folder:
        options = ["--router-port", "0", "--usage", "--domain", str(1 + os.getpid() % 200)]
        arguments = [*command, "up", "sim", "lockstep:=true", f"runs_dir:={folder}", *options]
        with subprocess.Popen(
            arguments, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, cwd=folder
        ) as process:
            assert process.stderr is not None
            deadline = threading.Timer(READY_WITHIN_S, process.send_signal, (signal.SIGINT,))
            deadline.start()
            seconds, ready = 0.0, False
            for line in process.stderr:
                row: Any = _TABLE_ROW.match(line.rstrip())
                if row:
                    seconds += float(row["cpu_s"])
                if row and line.startswith("agent "):  # the last of the launch file
                    ready = True
                    process.send_signal(signal.SIGINT)
            deadline.cancel()
    if not ready:
        raise unavailable(f"{command[0]} up ended before the graph was ready.")
    return seconds
