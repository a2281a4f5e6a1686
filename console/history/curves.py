"""Trainings of a folder: the numbers of their logs as curves, thinned to what a screen shows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from toolhand.console.history.folders import is_inside
from toolhand.tool_nodes.files import read_lines
from toolhand.tool_nodes.results import invalid

LOG, SHARDS = "log.jsonl", "shards"
"""Log of a training; folder of the records in a collection of rollouts."""
COUNTERS = ("iteration", "epoch", "step")
"""Names of the number that a log counts by."""
MOST_POINTS = 600
"""Points of a curve: as many as there are pixels across a panel."""
MOST_ROWS = 200_000
"""Lines of a log that are read."""
MOST_CURVES = 100
"""Numbers of a log that are offered: ours has twenty."""
_GREATEST = 1e300
"""Greatest number that is drawn, of either sign: the difference of two is finite."""
_LINE_BYTES = 2**16
"""Longest line of a log [bytes]: ours has a thousand."""
_DEEPEST, _MOST_FOLDERS = 6, 5000
"""Folders inside each other, and all together, that are looked through."""


@dataclass(frozen=True)
class TrainingFolder:
    """A folder of a training or of rollouts.

    Attributes:
        name: Its path inside the folder of trainings.
        kind: "training" has a log, "rollouts" has shards.
        path: The folder.
    """

    name: str
    kind: Literal["training", "rollouts"]
    path: Path


@dataclass(frozen=True)
class MetricCurve:
    """One number of a log.

    Attributes:
        name: Its name.
        points: (counter, value), in the order of the log; at most MOST_POINTS.
    """

    name: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class TrainingLog:
    """The log of a training.

    Attributes:
        counter: Name of the number that curves are drawn over.
        curves: By name.
        rows: Number of lines that were read.
        problem: Fault of the log, one sentence; empty where nothing is.
    """

    counter: str
    curves: Mapping[str, MetricCurve]
    rows: int
    problem: str


def find_trainings(root: Path) -> list[TrainingFolder]:
    """Folders of trainings and rollouts, in the order of their names; links are not followed."""
    found: list[TrainingFolder] = []
    for looked, (path, folders, files) in enumerate(os.walk(root), 1):
        name = os.path.relpath(path, root)
        if LOG in files:
            found.append(TrainingFolder(name, "training", Path(path)))
        if SHARDS in folders:
            found.append(TrainingFolder(name, "rollouts", Path(path)))
            folders.clear()  # thousands of images
        if looked >= _MOST_FOLDERS or name.count(os.sep) >= _DEEPEST:
            folders.clear()
        folders.sort()
    return sorted(found, key=lambda folder: (folder.name, folder.kind))


def training_folder(root: Path, name: str, kind: Literal["training", "rollouts"]) -> TrainingFolder:
    """The folder of a name that a page asks for.

    Raises:
        ToolError: INVALID_ARGUMENT for a name that leads out of `root`, and where there is no such folder.
    """
    parts = name.split("/")
    fits = len(name) < 1000 and "\0" not in name and not name.startswith("/") and ".." not in parts
    path = root / name
    if not fits or not is_inside(path, root):
        raise invalid(f"The training {name[:60]!r} is no name of a folder inside {root.name}.")
    there = (path / LOG).is_file() if kind == "training" else (path / SHARDS).is_dir()
    if not there:
        raise invalid(f"There is no {kind} {name[:60]!r} in {root.name} any more, or there never was.")
    return TrainingFolder(name, kind, path)


def read_log(folder: Path) -> TrainingLog:
    """The curves of a training's log, which may be written meanwhile or have come from anywhere.

    Raises:
        ToolError: INVALID_ARGUMENT where it cannot be read at all.
    """
    rows: list[dict[str, float]] = []
    bad, first_bad, cut = 0, 0, False
    try:
        for number, line in enumerate(read_lines(folder / LOG, _LINE_BYTES, folder), 1):
            if number > MOST_ROWS:
                cut = True
                break
            row = _row(line)
            if row is None:
                bad, first_bad = bad + 1, first_bad or number
            else:
                rows.append(row)
    except OSError as error:
        if not rows:
            raise invalid(f"Cannot read {LOG} of {folder.name}: {error.strerror}.") from error
        bad, first_bad = bad + 1, first_bad or len(rows) + 1
    problem = f"{bad} of the lines of {LOG} cannot be read, the first is line {first_bad}." if bad else ""
    if cut:
        problem = f"{LOG} has more than {MOST_ROWS:,} lines: the later ones are not shown."
    counter = next((name for name in COUNTERS if rows and all(name in row for row in rows)), "line")
    names = dict.fromkeys(name for row in rows for name in row if name != counter)
    curves = {}
    for name in list(names)[:MOST_CURVES]:
        points = [(row.get(counter, float(k)), row[name]) for k, row in enumerate(rows, 1) if name in row]
        curves[name] = MetricCurve(name, thinned(points))
    return TrainingLog(counter, curves, len(rows), problem)


def thinned(points: Sequence[tuple[float, float]], most: int = MOST_POINTS) -> list[tuple[float, float]]:
    """At most so many points that look the same: of each stretch its least and its greatest, and both ends."""
    if len(points) <= most:
        return list(points)
    stretches = max(1, (most - 2) // 2)
    kept = [points[0]]
    inner = range(1, len(points) - 1)
    for k in range(stretches):
        part = points[1 + len(inner) * k // stretches : 1 + len(inner) * (k + 1) // stretches]
        if part:
            kept += sorted({min(part, key=_height), max(part, key=_height)})
    return [*kept, points[-1]]


def smoothed(points: Sequence[tuple[float, float]], weight: float) -> list[tuple[float, float]]:
    """An exponential moving average, without the bias of its begin.

    Args:
        points: (counter, value).
        weight: Weight of what was before, in [0, 1); 0 leaves all as it is.
    """
    found, mean, share = [], 0.0, 0.0
    for x, y in points:
        mean, share = weight * mean + (1.0 - weight) * y, weight * share + (1.0 - weight)
        found.append((x, mean / share))
    return found


def _height(point: tuple[float, float]) -> float:
    return point[1]


def _row(line: bytes) -> dict[str, float] | None:
    """The numbers of a line that can be drawn; None where it is no object."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return dict(_numbers(document)) if isinstance(document, dict) else None


def _numbers(document: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in document.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                continue
            if abs(number) <= _GREATEST:
                yield name[:80], number
