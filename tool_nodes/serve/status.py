"""How a service does: rows for the terminal, and the text that Prometheus reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from toolhand.tool_nodes.serve.calling import connect


def rows() -> list[dict[str, Any]]:
    """Those of `MetricsActor.rows`, with `replicas` by state, e.g. {"RUNNING": 2}. Raises ToolError UNAVAILABLE."""
    connection = connect()
    from toolhand.tool_nodes.serve.replicas import states

    return [row | {"replicas": states(connection.entries[row["name"]])} for row in connection.rows()]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each entry."""
    lines = [
        f"{'name':14}{'backend':24}{'run':7}{'replicas':16}{'waiting':>8}{'calls':>9}{'p50':>9}{'p95':>9}{'p99':>9}"
    ]
    for row in rows:
        replicas = ", ".join(f"{count} {state.lower()}" for state, count in row["replicas"].items()) or "none"
        times = "".join(f"{'-' if row[key] is None else f'{row[key]:.1f} ms':>9}" for key in _LEVELS.values())
        lines.append(
            f"{row['name'][:13]:14}{row['backend'][:23]:24}{row['run']:7}{replicas[:15]:16}{row['waiting']:>8}"
            f"{row['calls']:>9}{times}"
        )
        if row["errors"]:
            lines.append("              errors: " + ", ".join(f"{end} {count}" for end, count in row["errors"].items()))
    return "\n".join(lines)


_LEVELS = {"0.5": "p50_ms", "0.95": "p95_ms", "0.99": "p99_ms"}


def prometheus(rows: Sequence[dict[str, Any]]) -> str:
    """The rows in the text format of Prometheus, version 0.0.4."""
    return "\n".join([*_prometheus(rows), ""])


def _prometheus(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield from ("# HELP toolhand_serve_calls_total Calls that have ended.", "# TYPE toolhand_serve_calls_total counter")
    for row in rows:
        ends = {"ok": row["calls"] - sum(row["errors"].values()), **row["errors"]}
        for end, count in ends.items():
            yield f"toolhand_serve_calls_total{{{_labels(row, end=end)}}} {count}"
    yield from ("# HELP toolhand_serve_waiting Calls without an answer yet.", "# TYPE toolhand_serve_waiting gauge")
    for row in rows:
        yield f"toolhand_serve_waiting{{{_labels(row)}}} {row['waiting']}"
    yield from ("# HELP toolhand_serve_replicas Processes by state.", "# TYPE toolhand_serve_replicas gauge")
    for row in rows:
        for state, count in row["replicas"].items():
            yield f"toolhand_serve_replicas{{{_labels(row, state=state.lower())}}} {count}"
    name = "toolhand_serve_call_seconds"
    yield from (f"# HELP {name} Time of a call; quantiles of the latest ones.", f"# TYPE {name} summary")
    for row in rows:
        for level, key in _LEVELS.items():
            if row[key] is not None:
                yield f"{name}{{{_labels(row, quantile=level)}}} {row[key] / 1e3:.6f}"
        yield f"{name}_sum{{{_labels(row)}}} {row['seconds']:.6f}"
        yield f"{name}_count{{{_labels(row)}}} {row['calls']}"


def _labels(row: dict[str, Any], **more: str) -> str:
    labels = {"name": row["name"], "port": row["port"], "backend": row["backend"]} | more
    return ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
