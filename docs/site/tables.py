"""Prints the rows of benchmarks as a Markdown table of docs/benchmarks.md, a column for each document.

toolhand bench manipulation --seeds 10 --perception sim --json > sim.json
toolhand bench manipulation --seeds 10 --perception pixels --json > pixels.json
python docs/site/tables.py sim.json pixels.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Document = Mapping[str, Any]


def cell(row: Mapping[str, Any] | None) -> str:
    """A rate in percent with its Wilson 95 % interval, or p50 / p95 / p99 [ms]; empty where nothing was measured."""
    if row is None or not row["n"]:
        return ""
    if "rate" in row:
        rate, low, high = (f"{100.0 * row[key]:.1f}" for key in ("rate", "low", "high"))
        return f"{rate} % ({row['success']}/{row['n']}; {low}..{high})"
    return " / ".join(f"{row[key]:.0f}" for key in ("p50_ms", "p95_ms", "p99_ms"))


def table(titles: Sequence[str], documents: Sequence[Document]) -> str:
    """The table of documents of one benchmark.

    Args:
        titles: heading of each column.
        documents: what `--json` printed, one for each column.
    """
    measured = [[row for row in document["rows"] if {"rate", "p50_ms"} & set(row)] for document in documents]
    columns = [{row["name"]: row for row in rows} for rows in measured]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [[name.replace("_", " "), *(cell(column.get(name)) for column in columns)] for name in names]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in ([["", *titles], ["---"] * (len(titles) + 1), *rows]))


if __name__ == "__main__":
    files = [Path(name) for name in sys.argv[1:]]
    print(table([f"`{file.stem}`" for file in files], [json.loads(file.read_text()) for file in files]), end="")
