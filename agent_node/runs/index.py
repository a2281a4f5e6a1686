"""Which runs a folder holds and how they ended, whatever else lies in it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from toolhand.agent_node.runs.folder import RUN_NAME
from toolhand.agent_node.runs.mcap import RUN_FILE
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import read_file
from toolhand.tool_nodes.plain_json import PlainJsonError
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

RUNS = Path("runs")
"""Where runs are written and looked for by default, below the folder that a command is typed in."""
TRAININGS = RUNS / "train"
"""Where `toolhand train` writes and the console looks for trainings by default."""

RESULT_FILE = "result.json"
MAX_RESULT_BYTES = 2**20
"""A longer result.json is not read [bytes]."""

_AGO = re.compile(r"(\d{1,6})\s*([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class RunEntry:
    """One run folder. What its result.json does not say is None.

    Attributes:
        id: Name of the folder.
        began: ISO 8601 time in UTC, from the name, else from the result's file.
        success: Success as the tools reported it.
        error_code: The stage that failed.
        problem: Fault of the folder: an unfinished run, or a damaged result; None if there is none.
        recorded: A run.mcap is there.
        said: The operator's words, where the command that came of it is another sentence.
        command: Command line that carries the run out again, from the scene's beginning.
    """

    id: str
    path: str
    began: str
    task: str | None = None
    answer: str | None = None
    success: bool | None = None
    error_code: str | None = None
    turns: int | None = None
    tool_calls: int | None = None
    wall_s: float | None = None
    policy: str | None = None
    problem: str | None = None
    recorded: bool = False
    said: str | None = None
    command: str | None = None

    @property
    def words(self) -> str | None:
        """What the operator said."""
        return self.said or self.task

    def document(self) -> dict[str, Any]:
        """The entry as JSON has it."""
        return asdict(self)


@dataclass(frozen=True)
class RunFilter:
    """Which runs are wanted; all conditions must hold.

    Attributes:
        failed: Only those that did not succeed, unfinished and damaged ones included.
        code: Only those that ended with this error code.
        words: Only those whose sentence or answer holds every word, in any case.
        since: Only those that began at or after this time.
    """

    failed: bool = False
    code: ErrorCode | None = None
    words: Sequence[str] = ()
    since: datetime | None = None

    def wants(self, entry: RunEntry) -> bool:
        """True if the run is wanted."""
        said = f"{entry.said or ''} {entry.task or ''} {entry.answer or ''}".casefold()
        return (
            not (self.failed and entry.success)
            and (self.code is None or entry.error_code == self.code)
            and all(word.casefold() in said for word in self.words)
            and (self.since is None or datetime.fromisoformat(entry.began) >= self.since)
        )


def list_runs(root: Path, wanted: RunFilter | None = None) -> list[RunEntry]:
    """The runs in a folder, oldest first. Other files and folders in it are passed over.

    A run is a folder that has a result.json, or the name of a run.

    Raises:
        ToolError: INVALID_ARGUMENT where the folder cannot be read.
    """
    try:
        folders = [path for path in root.iterdir() if path.is_dir()]
    except OSError as error:
        raise invalid(f"Cannot list the runs in {root}: {error.strerror}.", "Name a folder of runs.") from error
    found = sorted(_entries(folders), key=in_order)
    return found if wanted is None else [entry for entry in found if wanted.wants(entry)]


def parse_since(text: str, now: datetime | None = None, local: bool = False) -> datetime:
    """A time in UTC of "2026-11-22", "2026-11-22T10:30" or of an age such as "90m", "12h", "3d", "1w".

    Dates without a zone are UTC, as the names of runs are, or where `local` says so this machine's own.

    Raises:
        ToolError: INVALID_ARGUMENT for any other text.
    """
    text = text.strip()
    try:
        if ago := _AGO.fullmatch(text):
            span = timedelta(**{_UNITS[ago.group(2)]: int(ago.group(1))})
            return (now or datetime.now(UTC)) - span
        at = datetime.fromisoformat(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None and not local else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise invalid(
            f"{text[:60]!r} is no time.",
            "Give a date such as 2026-11-22 or 2026-11-22T10:30 (UTC), or an age such as 90m, 12h or 3d.",
        ) from None


def read_result(path: Path) -> dict[str, Any]:
    """The JSON object of a result.json.

    Raises:
        ToolError: INVALID_ARGUMENT, with what is wrong with it.
    """
    try:
        document = plain_json.load(read_file(path, MAX_RESULT_BYTES, path.parent))
    except (FileNotFoundError, IsADirectoryError) as error:
        raise invalid(f"There is no {path}.") from error
    except OSError as error:
        raise invalid(f"Cannot read {path}: {error.strerror}.") from error
    except PlainJsonError as error:
        raise invalid(f"{path} is damaged: it is no JSON document.") from error
    if not isinstance(document, dict):
        raise invalid(f"{path} is damaged: it is no JSON object.")
    return document


def _entries(folders: list[Path]) -> Iterator[RunEntry]:
    for folder in folders:
        try:
            entry = read_entry(folder)
        except OSError:  # gone, or closed to us, in the meantime
            continue
        if entry is not None:
            yield entry


def read_entry(folder: Path) -> RunEntry | None:
    """The run of a folder; None where it has neither a result.json nor the name of a run. Raises OSError."""
    file = folder / RESULT_FILE
    named = RUN_NAME.fullmatch(folder.name)
    there = file.is_file()
    if not there and not named:
        return None
    began = _began(named, file if there else folder)
    recorded = (folder / RUN_FILE).is_file()
    if not there:
        return RunEntry(folder.name, str(folder), began, problem="it was not finished", recorded=recorded)
    try:
        result = read_result(file)
    except ToolError as error:
        return RunEntry(folder.name, str(folder), began, problem=error.message, recorded=recorded)
    if not isinstance(result.get("task"), str) or not isinstance(result.get("success"), bool):
        return (
            None
            if not named
            else RunEntry(
                folder.name, str(folder), began, problem="its result.json is not that of a run", recorded=recorded
            )
        )
    return RunEntry(
        id=folder.name,
        path=str(folder),
        began=began,
        task=result["task"],
        answer=_text(result.get("answer")),
        success=result["success"],
        error_code=_text(result.get("error_code")),
        turns=_count(result.get("turns")),
        tool_calls=_count(result.get("tool_calls")),
        wall_s=_seconds(result.get("wall_s")),
        policy=_text(result.get("policy")),
        recorded=recorded,
        said=_text(result.get("said")),
        command=_text(result.get("command")),
    )


def _began(named: re.Match[str] | None, path: Path) -> str:
    if named:
        try:
            return datetime.strptime(named.group(1), "%Y%m%d-%H%M%S").replace(tzinfo=UTC).isoformat()
        except ValueError:  # digits that are no date
            pass
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).replace(microsecond=0).isoformat()


def in_order(entry: RunEntry) -> tuple[str, int, str]:
    """Key that sorts runs from the oldest to the newest."""
    return entry.began, _counter(entry.id), entry.id


def _counter(name: str) -> int:
    return int(name.rpartition("-")[2]) if RUN_NAME.fullmatch(name) else 0


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _seconds(value: Any) -> float | None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if number and abs(value) < 1e12 and math.isfinite(value) else None
