"""Rates with Wilson intervals, percentiles, and the machine they were measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from toolhand.agent_node.console.terminal import emit
from toolhand.bench.results import note
from toolhand.training.intervals import wilson

SHOWN_FAILURES = 12
"""A report for people names this many failures; the JSON document has all of them."""
_NAME = 28
"""Least width of the column of names [characters]."""
LINE_WIDTH = 140
"""Longest line that it shows of each [characters]."""


def rate_row(name: str, success: int, n: int, **more: Any) -> dict[str, Any]:
    """A row with success, rate and Wilson interval; these three are None where nothing was tried."""
    known = (round(value, 4) for value in (success / n, *wilson(success, n))) if n else (None, None, None)
    return {"name": name, "n": n, "success": success, **dict(zip(("rate", "low", "high"), known, strict=True)), **more}


def with_unscored(row: dict[str, Any], unscored: int) -> list[dict[str, Any]]:
    """A row of what could be scored, and beside it one that counts the others as wrong, where there are some."""
    if not unscored:
        return [row]
    return [row, rate_row(f"{row['name']}, unscored as wrong", row["success"], row["n"] + unscored)]


def timing_row(name: str, seconds: Sequence[float], **more: Any) -> dict[str, Any]:
    """A row with percentiles in milliseconds; None where nothing was measured."""
    row: dict[str, Any] = {"name": name, "n": len(seconds)}
    for percent in (50, 95, 99):
        row[f"p{percent}_ms"] = round(1000 * float(np.percentile(seconds, percent)), 1) if len(seconds) else None
    return row | more


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
            model = next((line.split(":", 1)[1].strip() for line in cpuinfo if line.startswith("model name")), model)
    except OSError:
        pass
    return {"cpu": model, "cores": os.cpu_count(), "system": platform.system(), "python": platform.python_version()}


def format_rows(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as an aligned text table: rates first, then timings."""
    lines = []
    rates = [row for row in rows if "rate" in row]
    timings = [row for row in rows if "p50_ms" in row]
    wide = max([_NAME, *(len(str(row["name"])) + 1 for row in (*rates, *timings))])
    if rates:
        lines.append(f"{'':{wide}}{'n':>6}{'success':>9}{'rate':>9}   95 % interval")
        for row in rates:
            extra = "".join(f"   {k} {v}" for k, v in row.items() if k in ("points", "max_points"))
            rate, interval = "-", "-"
            if row["n"]:
                rate, interval = f"{100 * row['rate']:.1f}%", f"{100 * row['low']:.1f} .. {100 * row['high']:.1f} %"
            lines.append(f"{row['name']:{wide}}{row['n']:>6}{row['success']:>9}{rate:>9}   {interval}{extra}")
    if timings:
        lines.append(f"{'':{wide}}{'n':>6}{'p50':>11}{'p95':>11}{'p99':>11}")
        for row in timings:
            cells = [f"{row[k]:.0f} ms" if row[k] is not None else "-" for k in ("p50_ms", "p95_ms", "p99_ms")]
            lines.append(f"{row['name']:{wide}}{row['n']:>6}" + "".join(f"{cell:>11}" for cell in cells))
    return "\n".join(lines)


def publish(document: Mapping[str, Any], report: Callable[[Mapping[str, Any]], str], as_json: bool) -> None:
    """Print a benchmark's document on stdout: as one JSON document, or as text that `report` makes of it.

    The file of its result has it, too; see `toolhand.bench.results`.
    """
    note(document)
    if as_json:
        emit(document)
    else:
        print(report(document))


def format_report(document: Mapping[str, Any], failure_line: Callable[[Mapping[str, Any]], str]) -> str:
    """A benchmark's document as text: rows, a line per cause, the first failures, and the machine.

    Args:
        document: With `rows`, `failures`, `unscored`, `machine`, `wall_s`, and the count of each cause in `error_codes`
            or `crashes`, where there are some.
    """
    lines = [format_rows(document["rows"])]
    causes = document.get("error_codes") or document.get("crashes") or {}
    for cause, count in sorted(causes.items(), key=lambda entry: -entry[1]):
        lines.append(f"error {cause:22}{count:>6}")
    if document["unscored"]:
        lines.append(f"unscored, because of infrastructure errors: {document['unscored']}")
    lines += failure_lines(document["failures"], failure_line)
    return "\n".join([*lines, machine_line(document)])


def failure_lines(
    failures: Sequence[Mapping[str, Any]],
    failure_line: Callable[[Mapping[str, Any]], str],
    others: str = "--json names all of them",
) -> list[str]:
    """The first failures in a line each, cut to LINE_WIDTH, and how many there are besides."""
    lines = []
    for failure in failures[:SHOWN_FAILURES]:
        line = failure_line(failure)
        lines.append(f"  {line if len(line) <= LINE_WIDTH else line[: LINE_WIDTH - 3] + '...'}")
    if len(failures) > SHOWN_FAILURES:
        lines.append(f"  and {len(failures) - SHOWN_FAILURES} more; {others}")
    return lines


def machine_line(document: Mapping[str, Any]) -> str:
    """What a document was measured on, and how long that took."""
    parts = (f"{v}" if k in ("cpu", "system") else f"{k} {v}" for k, v in document["machine"].items())
    return f"{', '.join(parts)}; {document['wall_s']} s"
