"""`toolhand bench serving`: the same calls in process, on actors and served in batches."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.agent_node.console.terminal import say
from toolhand.bench.commands.serving import ABOUT, ACTORS, BATCHES, IN_PROCESS, WAYS, Options
from toolhand.bench.frame import Benchmark, Document
from toolhand.bench.serving.load import PointingConversation, drive, watched
from toolhand.bench.serving.on_ray import count_puts
from toolhand.bench.serving.payloads import LOOKS, Payload, make_payload
from toolhand.bench.serving.tools import installed
from toolhand.bench.stats import machine
from toolhand.tool_nodes.serve import processes, service_file
from toolhand.tool_nodes.serve.calling import connect
from toolhand.tool_nodes.serve.cluster import ServiceSupervisor
from toolhand.tool_nodes.serve.config import ACTOR, SERVE, Local, ServeConfig, ServedEntry
from toolhand.tool_nodes.serve.requests import INLINE_BYTES
from toolhand.tool_nodes.serve.runner import make_backend

STORE_GB = 3.0
"""Shared memory for images [GB]: of 256 conversations with one of 1280x720 each, 1.7."""

TARGET_CALLERS = 64
"""Conversations at once for which most targets are set [-]."""


@dataclass
class Way:
    """One way to call one tool, while it is open.

    Attributes:
        conversation: Makes what a conversation calls with.
        others: Processes beside this one.
        copies: Copies of an image a call, once calls have been made.
    """

    conversation: Callable[[], PointingConversation]
    others: Callable[[], Sequence[int]] = lambda: ()
    copies: Callable[[int, int], float] = lambda calls, size: 0.0


@dataclass
class _Cluster:
    """What is served while the benchmark runs; `puts` tells how many images went into shared memory since."""

    service: service_file.ServiceNote
    puts: Callable[[], int]

    def processes(self) -> Sequence[int]:
        return processes.of_service(self.service)


class ServingBench(Benchmark[Options, Options, dict[str, Any]]):
    """See `toolhand.bench.commands.serving`; its one record has the rows and the load before and after."""

    name = "serving"

    def measure(self, options: Options, jobs: Sequence[Options]) -> list[dict[str, Any]]:
        before = os.getloadavg()[0]
        with _folder() as folder, installed(folder / "package"), ExitStack() as running:
            made = [make_payload(name) for name in options.payloads]
            cluster = None
            if any(way in (ACTORS, BATCHES) for way in options.ways):
                tools = sorted({payload.tool for payload in made})
                entries = served_entries(tools, options.batch, options.batch_wait_ms)
                cluster = running.enter_context(_served(entries))
            rows = _measure(made, options.ways, options.callers, options.seconds, cluster)
        return [{"load": [round(before, 1), round(os.getloadavg()[0], 1)], "rows": rows}]

    def document(self, options: Options, records: Sequence[dict[str, Any]]) -> dict[str, Any]:
        (found,) = records
        return {
            "machine": machine(),
            "load": found["load"],
            "payloads": {name: ABOUT[name] for name in options.payloads},
            "ways": {name: WAYS[name] for name in options.ways},
            "calls_a_picture": LOOKS,
            "seconds": options.seconds,
            "batch": options.batch,
            "batch_wait_ms": options.batch_wait_ms,
            "rows": found["rows"],
            "targets": targets(found["rows"]),
        }

    def lines(self, document: Document) -> str:
        return _report(document)


BENCH = ServingBench()


def _measure(
    payloads: Sequence[Payload], ways: Sequence[str], callers: Sequence[int], seconds: float, cluster: _Cluster | None
) -> list[dict[str, Any]]:
    rows = []
    for payload in payloads:
        image, _ = next(payload.calls(0))
        size = image.rgb.nbytes + (0 if image.frame is None else image.frame.depth.nbytes)
        for name in ways:
            with _WAYS[name](payload.tool, cluster) as way:
                for count in callers:
                    rows.append(_row(name, way, payload, size, count, seconds))
                    say("{payload}, {way}, {callers}: {calls_per_s} calls/s, p50 {p50_ms} ms".format(**rows[-1]))
    return rows


def _row(name: str, way: Way, payload: Payload, size: int, callers: int, seconds: float) -> dict[str, Any]:
    row: dict[str, Any] = {"payload": payload.name, "way": name, "callers": callers}
    with watched(way.others) as peak:
        load = drive(payload, way.conversation, callers, seconds)
    calls = len(load.seconds)
    p50, p95, p99 = (round(1e3 * float(value), 3) for value in np.percentile(load.seconds, (50, 95, 99)))
    return row | {
        "calls": calls,
        "calls_per_s": round(calls / load.wall_s, 1),
        "p50_ms": p50,
        "p95_ms": p95,
        "p99_ms": p99,
        "copies": round(way.copies(calls + callers, size), 2),
        "memory_mb": round(peak.bytes / 1e6),
        "errors": dict(load.errors),
    }


@contextmanager
def _in_process(tool: str, cluster: _Cluster | None) -> Iterator[Way]:
    yield Way(lambda: make_backend(ServedEntry(tool, "pointer", tool)).point)


@contextmanager
def _by_reference(tool: str, run: str, cluster: _Cluster | None) -> Iterator[Way]:
    assert cluster is not None
    connection, puts = connect(), cluster.puts

    def conversation() -> PointingConversation:
        return lambda image, text: connection.call(f"{tool}_{run}", image, text)

    def copies(calls: int, size: int) -> float:
        put = puts()
        return 1.0 if size < INLINE_BYTES else put / calls

    puts()
    yield Way(conversation, cluster.processes, copies)


_WAYS = {
    IN_PROCESS: _in_process,
    ACTORS: lambda tool, cluster: _by_reference(tool, ACTOR, cluster),
    BATCHES: lambda tool, cluster: _by_reference(tool, SERVE, cluster),
}


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder of this run, in which its own service is noted; Ray's sockets need a short path."""
    folder = Path(tempfile.mkdtemp(prefix="toolhand-", dir="/tmp"))
    before = os.environ.get(service_file.VARIABLE)
    os.environ[service_file.VARIABLE] = str(folder / "s")
    try:
        yield folder
    finally:
        os.environ.pop(service_file.VARIABLE) if before is None else os.environ.update({service_file.VARIABLE: before})
        shutil.rmtree(folder, ignore_errors=True)


def served_entries(tools: Sequence[str], batch: int, batch_wait_ms: float) -> dict[str, ServedEntry]:
    """Every tool as an actor and in batches, by name."""
    actors = [ServedEntry(f"{tool}_{ACTOR}", "pointer", tool, cpus=0.1) for tool in tools]
    batches = [
        ServedEntry(f"{tool}_{SERVE}", "pointer", tool, SERVE, batch=batch, batch_wait_ms=batch_wait_ms, cpus=0.1)
        for tool in tools
    ]
    return {entry.name: entry for entry in (*actors, *batches)}


@contextmanager
def _served(entries: Mapping[str, ServedEntry]) -> Iterator[_Cluster]:
    """The tools on a cluster of this run."""
    say(f"starting a cluster with {', '.join(entries)}")
    supervisor = ServiceSupervisor(ServeConfig(entries, Local(cpus=8.0, store_gb=STORE_GB)), say=say)
    try:
        supervisor.start()
        yield _Cluster(supervisor.service, count_puts())
    finally:
        supervisor.close()


def targets(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What was to be reached, and what was; only of what has been measured."""
    known = {(row["payload"], row["way"], row["callers"]): row for row in rows if row["calls"]}

    def rate(payload: str, way: str) -> float | None:
        row = known.get((payload, way, TARGET_CALLERS))
        return None if row is None else row["calls_per_s"]

    def more_ms(way: str) -> float | None:
        mine, theirs = known.get(("small", way, 1)), known.get(("small", IN_PROCESS, 1))
        return None if mine is None or theirs is None else round(mine["p50_ms"] - theirs["p50_ms"], 2)

    at = f"{TARGET_CALLERS} conversations"
    measured = [
        (f"small, {at}: calls/s, served in batches", rate("small", BATCHES), 400.0),
        (f"small, {at}: calls/s, an actor", rate("small", ACTORS), 400.0),
    ]
    found = [
        {"name": name, "value": value, "at_least": least, "met": value >= least}
        for name, value, least in measured
        if value is not None
    ]
    for way in (ACTORS, BATCHES):
        value = more_ms(way)
        if value is not None:
            name = f"small, one conversation: ms over in process, p50, {way}"
            found.append({"name": name, "value": value, "at_most": 3.0, "met": value <= 3.0})
    return found


def _report(document: Mapping[str, Any]) -> str:
    head = ("payload", "way", "at once", "calls/s", "p50 ms", "p95 ms", "p99 ms", "copies", "MB", "errors")
    lines = ["{:9}{:12}{:>8}{:>10}{:>10}{:>10}{:>10}{:>8}{:>7}  {}".format(*head)]
    for row in document["rows"]:
        cells = [row[key] for key in ("calls_per_s", "p50_ms", "p95_ms", "p99_ms", "copies", "memory_mb")]
        shown = ["-" if cell is None else f"{cell:.1f}" if cell >= 10 else f"{cell:.2g}" for cell in cells]
        shown[-1] = "-" if cells[-1] is None else str(cells[-1])
        errors = ", ".join(f"{code} {count}" for code, count in row["errors"].items())
        lines.append(
            "{:9}{:12}{:>8}{:>10}{:>10}{:>10}{:>10}{:>8}{:>7}  {}".format(
                row["payload"], row["way"], row["callers"], *shown, errors
            )
        )
    for target in document["targets"]:
        limit = f"at least {target['at_least']:g}" if "at_least" in target else f"at most {target['at_most']:g}"
        lines.append(f"{target['name']}: {target['value']:g} ({limit}: {'met' if target['met'] else 'missed'})")
    machine_line = ", ".join(str(value) for value in document["machine"].values())
    return "\n".join([*lines, f"{machine_line}; load {document['load']}; {document['wall_s']} s"])
