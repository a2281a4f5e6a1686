"""What is written of a training: a log of JSON lines, events for TensorBoard, curves, a report, and the weights.

FOLDER/log.jsonl              a line an epoch or iteration; a run that goes on after a kill has each once
FOLDER/events/                for TensorBoard, where tensorboardX is installed
FOLDER/checkpoint.pt          what a killed run goes on from
FOLDER/policy.safetensors     the weights, for `--policy tiny:FILE`
FOLDER/curves.png, report.md  for people
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tool_nodes.files import write_whole
from tool_nodes.results import invalid
from training.trainer.plots import Series, as_png, plotted
from training.trainer.tensorboard import Events

LOG, EVENTS, CHECKPOINT, POLICY = "log.jsonl", "events", "checkpoint.pt", "policy.safetensors"
CURVES, REPORT = "curves.png", "report.md"

LogRow = Mapping[str, Any]
"""A line of the log: plain numbers and text by name."""


@contextlib.contextmanager
def written_to(folder: Path) -> Iterator[None]:
    """What cannot be written, e.g. on a full disk, is one sentence. Raises ToolError INVALID_ARGUMENT."""
    try:
        yield
    except OSError as error:
        raise invalid(
            f"The training cannot be written to {folder}: {error.strerror or error}.",
            "The checkpoint before is whole: the same command goes on from it.",
        ) from error


class RunLog:
    """The log of one training.

    Args:
        folder: Folder of the training.
        rows: Rows that an earlier run wrote up to its checkpoint.

    Raises:
        ToolError: INVALID_ARGUMENT where the folder cannot be written.
    """

    def __init__(self, folder: Path, rows: Sequence[LogRow] = ()) -> None:
        self.folder = folder
        self.rows: list[LogRow] = list(rows)
        with written_to(folder):
            folder.mkdir(parents=True, exist_ok=True)
            self._events = Events(folder / EVENTS, len(self.rows))

    def add(self, row: LogRow) -> None:
        """One more row. Raises ToolError INVALID_ARGUMENT where it cannot be written."""
        self.rows.append(row)
        with written_to(self.folder):
            self.write()
            self._events.add(len(self.rows), row)

    def write(self) -> None:
        """Write the log anew. Raises OSError."""
        lines = [json.dumps(row, allow_nan=False) + "\n" for row in self.rows]
        write_whole(self.folder / LOG, "".join(lines).encode())

    def close(self) -> None:
        """Let the files go."""
        self._events.close()

    def series(self, x: str, names: Sequence[str]) -> Series:
        """Points of some of the numbers over another one; rows without the number are left out."""
        return {name: [(row[x], row[name]) for row in self.rows if row.get(name) is not None] for name in names}


@dataclass(frozen=True)
class RunReport:
    """What a report tells.

    Attributes:
        title: Its headline.
        about: Facts by name, in order: seed, rows, parameters, machine.
        settings: Fields of the settings.
        x: Name of the log's counter, e.g. "epoch".
        panels: Title -> names of numbers, each a panel of the curves.
        notes: Sentences: what was left out, what stopped it.
    """

    title: str
    about: Mapping[str, Any]
    settings: Mapping[str, Any]
    x: str
    panels: Mapping[str, Sequence[str]]
    notes: Sequence[str] = ()


def write_report(log: RunLog, report: RunReport) -> None:
    """Write curves and report of a training. Raises ToolError INVALID_ARGUMENT where that fails."""
    panels = {title: log.series(report.x, names) for title, names in report.panels.items()}
    with written_to(log.folder):
        write_whole(log.folder / CURVES, as_png(plotted(panels, report.x)))
        write_whole(log.folder / REPORT, _text(log, report).encode())


def _text(log: RunLog, report: RunReport) -> str:
    columns = [report.x, *(name for names in report.panels.values() for name in names)]
    lines = [f"# {report.title}", ""]
    lines += [f"- {name}: {value}" for name, value in report.about.items()]
    lines += [f"- {note}" for note in report.notes]
    lines += ["", f"![curves]({CURVES})", "", f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    lines += [f"| {' | '.join(_shown(row.get(name)) for name in columns)} |" for row in _some(log.rows)]
    lines += ["", "## Settings", "", "| name | value |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in report.settings.items()]
    return "\n".join(lines) + "\n"


def _some(rows: Sequence[LogRow]) -> list[LogRow]:
    """All rows of a short log; of a long one evenly spread ones, the last included."""
    step = -(-len(rows) // _ROWS_SHOWN) or 1
    return [*rows[:-1:step], *rows[-1:]]


_ROWS_SHOWN = 30
"""Rows of a report's table [-]; a round figure."""


def _shown(value: Any) -> str:
    return "-" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
