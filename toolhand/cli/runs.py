"""`toolhand runs`: what has been run, and how it ended."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from toolhand.agent_node.console.terminal import AsJson, emit
from toolhand.agent_node.runs.again import FROM_THE_BEGINNING
from toolhand.agent_node.runs.index import RunEntry, RunFilter, list_runs, parse_since
from toolhand.tool_nodes.results import ErrorCode, invalid

_TASK_CHARACTERS = 60
_COMMAND_CHARACTERS = 8000
"""Longest command line that is shown [characters]."""


def runs(
    folder: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")] = Path("runs"),
    failed: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    code: str | None = None,
    text: str | None = None,
    since: str | None = None,
    as_json: AsJson = False,
) -> int:
    """List the runs of a folder, oldest first; every option narrows the list.

    Of a single one it says how to repeat it.

    Args:
        folder: Where `toolhand run` and the agent's node write their runs.
        failed: Only runs that did not succeed, unfinished ones included.
        code: Only runs that ended with this error code, e.g. NO_GRASP.
        text: Only runs whose sentence or answer holds all of these words.
        since: Only runs from this time on: 2026-11-22, 2026-11-22T10:30 (UTC), or an age such as 90m, 12h, 3d.
    """
    wanted = RunFilter(failed, _code(code), (text or "").split(), None if since is None else parse_since(since))
    found = list_runs(folder, wanted)
    if as_json:
        emit({"runs": [entry.document() for entry in found], "count": len(found)})
        return 0
    print(f"{'run':20}{'began (UTC)':18}{'result':20}{'turns':>6}{'wall':>9}  task")
    for entry in found:
        print(_line(entry))
    if len(found) == 1 and found[0].command:
        print(f"\nTo run it again, {FROM_THE_BEGINNING}:\n{_shown(found[0].command, _COMMAND_CHARACTERS)}")
    return 0


def _code(name: str | None) -> ErrorCode | None:
    if name is None:
        return None
    known = {str(code): code for code in ErrorCode}
    if name.upper() not in known:
        raise invalid(f"There is no error code {name[:40]!r}.", f"{', '.join(known)}.")
    return known[name.upper()]


def _line(entry: RunEntry) -> str:
    result = "done" if entry.success else entry.error_code or "not done"
    if entry.success is None:
        result = "?"
    wall = "" if entry.wall_s is None else f"{entry.wall_s:.1f} s"
    described = entry.problem if entry.words is None else entry.words
    turns = "" if entry.turns is None else entry.turns
    began = entry.began[:16].replace("T", " ")
    task = _shown(described or "", _TASK_CHARACTERS)
    return f"{_shown(entry.id, 60):20}{began:18}{_shown(result, 18):20}{turns:>6}{wall:>9}  {task}"


def _shown(text: str, length: int) -> str:
    """One line of limited length without control characters of a terminal."""
    line = "".join(c if c.isprintable() else " " for c in text[: length + 1])
    return line if len(line) <= length else f"{line[: length - 1]}…"
