"""Results of benchmarks: their tables of rates and times, compared over versions, and images of what failed.

A file is read once; of its document only the tables are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolhand.agent_node.runs.bench_results import BenchResult, read_bench_result
from toolhand.console.history.folders import file_in, is_inside
from toolhand.console.history.replay import as_json
from toolhand.tool_nodes.results import ToolError, invalid
from toolhand.tool_nodes.toolbox.image_files import ImageFileError, opened

MOST_ROWS = 500
"""Rows of a result's tables that are kept: the largest of our own has some two hundred."""
MOST_IMAGES = 600
"""Images of a gallery: two hundred failures with three each."""
MOST_FAILURES = 200
"""Failures of a result that are listed."""
GALLERY = "failures"
"""Folder of images in the folder of a benchmark's records."""
_FORMATS = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp"}
_SUFFIXES = (".jpg", ".png", ".webp")
_VALUED = ("--jobs", "--out")
"""Options with a value that change nothing about what is measured."""


@dataclass(frozen=True)
class BenchRate:
    """One row of a table: a rate with its interval, or times.

    Attributes:
        table: Name of the table in the document, such as "rows" or "by_object".
        name: Name of the row: an object, a stage, a kind of scene.
        n: Number of trials.
        success: Number of successes; None in a row of times.
        rate, low, high: Rate and its 95 % interval in [0, 1]; None where unknown.
        times_ms: Percentiles 50, 95 and 99 [ms]; empty in a row of rates.
    """

    table: str
    name: str
    n: int
    success: int | None = None
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    times_ms: tuple[float | None, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """The same row in another result."""
        return self.table, self.name

    @property
    def said(self) -> str:
        """The row in words, e.g. "90.0 % (18 of 20; 69.9..97.2)"."""
        if self.times_ms:
            shown = " / ".join("-" if value is None else f"{value:.3g}" for value in self.times_ms)
            return f"{shown} ms (n {self.n})"
        if self.rate is None:
            return f"- (0 of {self.n})"
        interval = "" if self.low is None or self.high is None else f"; {100 * self.low:.1f}..{100 * self.high:.1f}"
        return f"{100 * self.rate:.1f} % ({self.success} of {self.n}{interval})"


@dataclass(frozen=True)
class BenchSummary:
    """What is kept of a result's file.

    Attributes:
        file: Its name.
        problem: Fault of the file, one sentence; all else is empty then.
        bench, arguments, began, version, wall_s, exit_status, machine, out: Fields of `BenchResult`.
        rates: Rows of all tables.
        failures: Number of failures that the document names.
    """

    file: str
    problem: str = ""
    bench: str = ""
    arguments: tuple[str, ...] = ()
    began: str = ""
    version: str = ""
    wall_s: float = 0.0
    exit_status: int = 0
    machine: str = ""
    out: str = ""
    rates: tuple[BenchRate, ...] = ()
    failures: int = 0

    @property
    def command(self) -> str:
        """What was measured: the command line without options that change nothing about it."""
        return " ".join(("toolhand bench", self.bench, *_measuring(self.arguments)))


@dataclass(frozen=True)
class ComparedRow:
    """A row of several results.

    Attributes:
        table, name: Those of the row.
        cells: The row of each result; None where it has none.
        changed: The intervals of the last two results that have it do not overlap.
    """

    table: str
    name: str
    cells: tuple[BenchRate | None, ...]
    changed: bool


@dataclass
class BenchIndex:
    """The results in a folder.

    Attributes:
        root: The folder, which may not be there yet.
    """

    root: Path
    _known: dict[str, tuple[tuple[int, int], BenchSummary]] = field(default_factory=dict, repr=False)

    def results(self) -> list[BenchSummary]:
        """All results, the newest first; files that are none of them come last, each with its problem.

        Raises:
            ToolError: INVALID_ARGUMENT where the folder is there and cannot be read.
        """
        try:
            files = [path for path in self.root.iterdir() if path.suffix == ".json" and path.is_file()]
        except FileNotFoundError:
            files = []
        except OSError as error:
            raise invalid(f"Cannot list the results in {self.root}: {error.strerror}.") from error
        known, self._known = self._known, {}
        for path in files:
            try:
                there = path.stat()
            except OSError:  # gone in the meantime
                continue
            stamp = there.st_mtime_ns, there.st_size
            if path.name in known and known[path.name][0] == stamp:
                self._known[path.name] = known[path.name]
            else:
                self._known[path.name] = stamp, _summary(path)
        found = [summary for _, summary in self._known.values()]
        return sorted(found, key=lambda summary: (not summary.problem, summary.began, summary.file), reverse=True)

    def groups(self) -> dict[str, list[BenchSummary]]:
        """Results by what was measured, the newest first."""
        found: dict[str, list[BenchSummary]] = {}
        for summary in self.results():
            if not summary.problem:
                found.setdefault(summary.command, []).append(summary)
        return found

    def failures(self, file: str) -> list[Mapping[str, str]]:
        """The failures of a result, each as text by name; the first MOST_FAILURES.

        Raises:
            ToolError: INVALID_ARGUMENT where the file is gone or damaged.
        """
        listed = read_bench_result(file_in(self.root, file, "result")).document.get("failures")
        rows = [row for row in listed if isinstance(row, Mapping)] if isinstance(listed, list) else []
        return [{str(key)[:60]: _text(value) for key, value in row.items()} for row in rows[:MOST_FAILURES]]


def compared(results: Sequence[BenchSummary]) -> list[ComparedRow]:
    """Rows of several results of one command, in the order of the first that has them.

    Args:
        results: From the oldest to the newest.
    """
    tables = [{rate.key: rate for rate in result.rates} for result in results]
    keys = dict.fromkeys(key for table in reversed(tables) for key in table)
    rows = []
    for key in keys:
        cells = tuple(table.get(key) for table in tables)
        rows.append(ComparedRow(*key, cells, _changed([cell for cell in cells if cell is not None])))
    return rows


def gallery(out: str, roots: Sequence[Path]) -> list[Path]:
    """Images of failures in the folder of a benchmark's records.

    Args:
        out: Folder that the result names; it may have come from anywhere.
        roots: Folders that the console shows; others are not looked into.

    Raises:
        ToolError: INVALID_ARGUMENT for a folder outside of them, or one that cannot be read.
    """
    folder = Path(out) / GALLERY
    if not any(is_inside(folder, root) for root in roots):
        raise invalid(f"The folder {out[:80]!r} lies outside of what the console shows: its pictures are not shown.")
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix in _SUFFIXES and is_inside(path, folder))
    except OSError as error:
        raise invalid(f"The folder {out[:80]!r} has no pictures of failures: {error.strerror}.") from error
    return found[:MOST_IMAGES]


def gallery_image(out: str, name: str, roots: Sequence[Path]) -> tuple[str, bytes]:
    """(media type, file) of an image of a gallery.

    Raises:
        ToolError: INVALID_ARGUMENT where there is none, or it is no image of a bounded size.
    """
    path = next((path for path in gallery(out, roots) if path.name == name), None)
    if path is None:
        raise invalid(f"There is no picture {name[:80]!r}.")
    try:
        with opened(path, tuple(_FORMATS)) as image:
            kind = _FORMATS[image.format or ""]
        return kind, path.read_bytes()
    except (ImageFileError, OSError) as error:
        raise invalid(f"The picture {name[:80]!r} cannot be shown: {error}.") from error


def _summary(path: Path) -> BenchSummary:
    try:
        result = read_bench_result(path)
    except ToolError as error:
        return BenchSummary(path.name, error.message)
    failures = result.document.get("failures")
    machine = ", ".join(f"{_text(value)}" for value in result.machine.values())
    return BenchSummary(
        file=path.name,
        bench=result.bench,
        arguments=tuple(result.arguments),
        began=result.began,
        version=result.version,
        wall_s=result.wall_s,
        exit_status=result.exit_status,
        machine=machine[:200],
        out=result.out,
        rates=tuple(_rates(result)),
        failures=len(failures) if isinstance(failures, list) else 0,
    )


def _rates(result: BenchResult) -> Iterator[BenchRate]:
    count = 0
    for table, rows in result.document.items():
        for row in rows if isinstance(rows, list) else ():
            rate = _rate(str(table)[:60], row) if isinstance(row, Mapping) else None
            if rate is not None and count < MOST_ROWS:
                count += 1
                yield rate


def _rate(table: str, row: Mapping[str, Any]) -> BenchRate | None:
    n, names = row.get("n"), [row.get(key) for key in ("side", "part", "name", "what")]
    name = ": ".join(part for part in names if isinstance(part, str) and part)[:160]
    if not isinstance(n, int) or isinstance(n, bool) or not name:
        return None
    success, rate, low, high = (_number(row.get(key)) for key in ("success", "rate", "low", "high"))
    if "rate" in row and success is not None:
        return BenchRate(table, name, n, int(success), rate, low, high)
    if "p50_ms" in row:
        return BenchRate(table, name, n, times_ms=tuple(_number(row.get(f"p{k}_ms")) for k in (50, 95, 99)))
    return None


def _number(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15
    return float(value) if number and math.isfinite(value) else None


def _changed(cells: Sequence[BenchRate]) -> bool:
    if len(cells) < 2:
        return False
    (_, a_low, a_high), (_, b_low, b_high) = ((cell.rate, cell.low, cell.high) for cell in cells[-2:])
    if a_low is None or a_high is None or b_low is None or b_high is None:
        return False
    return a_high < b_low or b_high < a_low


def _measuring(arguments: Sequence[str]) -> Iterator[str]:
    words = iter(arguments)
    for word in words:
        if word in _VALUED:
            next(words, None)
        elif word != "--json" and not word.startswith(tuple(f"{option}=" for option in _VALUED)):
            yield word


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else as_json(value))[:500]
