"""`toolhand open`: the report of a run in the browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import tyro

from toolhand.agent_node.console.terminal import say, tell
from toolhand.agent_node.runs.index import list_runs
from toolhand.tool_nodes.results import invalid

REPORT_FILE = "report.html"
LAST = "last"


def open_run(
    run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")] = LAST,
    runs_dir: Path = Path("runs"),
    browser: bool = True,
) -> int:
    """Open the report of a run in the browser, and print where it is.

    Args:
        run: Name of the run as `toolhand runs` lists it, its folder or its report; `last` is the newest with a report.
        runs_dir: Folder of runs.
        browser: Open it; else only its place is printed, as where there is no browser.
    """
    report = report_of(run, runs_dir)
    tell(str(report))
    if browser and not _opened(report):
        say("There is no browser here: open that file in one.")
    return 0


def report_of(run: str, runs_dir: Path) -> Path:
    """The report of a run.

    Args:
        run, runs_dir: Run and folder of runs, see `open_run`.

    Raises:
        ToolError: INVALID_ARGUMENT where there is no such run, or it has no report.
    """
    if run == LAST:
        newest = next((e for e in reversed(list_runs(runs_dir)) if (Path(e.path) / REPORT_FILE).is_file()), None)
        if newest is None:
            raise invalid(f"No run in {runs_dir} has a report.", "`toolhand run` leaves one.")
        return Path(newest.path) / REPORT_FILE
    named = Path(run)
    for path in (named, runs_dir / named):
        if path.is_file() and path.name == REPORT_FILE:
            return path
        if path.is_dir():
            if not (path / REPORT_FILE).is_file():
                raise invalid(f"The run {path} has no {REPORT_FILE}.", "An interrupted run may have none.")
            return path / REPORT_FILE
    raise invalid(f"There is no run {run[:100]!r} in {runs_dir}.", "`toolhand runs` lists the runs.")


def _opened(report: Path) -> bool:
    try:
        return webbrowser.open(report.resolve().as_uri())
    except (webbrowser.Error, OSError):
        return False
