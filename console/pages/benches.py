"""The pages of benchmarks: what was measured, compared over versions, and one result with its failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nicegui import ui

from toolhand.console.history.benches import MOST_FAILURES, BenchSummary, compared, gallery
from toolhand.console.history.shared import SharedHistory, history_of
from toolhand.console.pages import parts
from toolhand.console.pages.frame import PageContext
from toolhand.console.pages.routes import address
from toolhand.tool_nodes.results import ToolError

COLUMNS = 4
"""Results of a measurement that are compared: as many as fit beside each other."""
_MOST_ROWS = 200
"""Rows of a comparison that are drawn."""
_MOST_IMAGES = 60
"""Images of a gallery that a page shows at once."""


def benches_page(page: PageContext) -> None:
    """Fill the page."""
    parts.with_style()
    history = history_of(page.settings)
    word = parts.asked("text")
    with parts.form("/benchmarks", "search"):
        parts.field("Command holds", "text", word, "search")
        parts.submit("Search")
    parts.filled(lambda: (history.benches.groups(), history.benches.results()), lambda found: _draw(*found, word))


def _draw(groups: Mapping[str, Sequence[BenchSummary]], results: Sequence[BenchSummary], word: str) -> None:
    for result in results:
        if result.problem:
            parts.say(result.problem, "warn", "problem")
    chosen = {command: found for command, found in groups.items() if word.casefold() in command.casefold()}
    if not chosen:
        parts.say("There are no results. Each `toolhand bench` leaves one.", testid="no-results")
    for command, found in list(chosen.items())[:50]:
        newest = found[0]
        with ui.element("details").classes("panel").props('data-testid="bench"') as panel:
            panel.props["open"] = len(chosen) == 1
            with ui.element("summary").classes("panel-title"):
                parts.words(command, "mono")
                day = parts.local_time(newest.began)[:10]
                parts.words(f"{parts.counted(len(found), 'result')}, newest {day}, version {newest.version}", "muted")
            with ui.element("div").classes("panel-body"):
                _compare(found[:COLUMNS][::-1])


def _compare(results: Sequence[BenchSummary]) -> None:
    """A table of some results, from the oldest to the newest."""
    with ui.element("nav").classes("chips"):
        for result in results:
            parts.link(f"{result.version}, {parts.local_time(result.began)}", _of(result), testid="bench-link")
    rows = compared(results)
    head = ["", *(f"{result.version} ({parts.local_time(result.began)[:10]})" for result in results), ""]
    cells = (
        [
            row.name if row.table == "rows" else f"{row.table}: {row.name}",
            *(cell.said if cell else "" for cell in row.cells),
            "differs: the intervals do not overlap" if row.changed else "",
        ]
        for row in rows[:_MOST_ROWS]
    )
    parts.table("Results beside each other", head, cells, "compared")
    if len(rows) > _MOST_ROWS:
        parts.say(f"The first {_MOST_ROWS} of {len(rows)} rows are shown.")


def _of(result: BenchSummary) -> str:
    return address("/benchmarks", result.file)


def bench_page(page: PageContext) -> None:
    """Fill the page of one result."""
    parts.with_style()
    file, history = parts.asked("file"), history_of(page.settings)
    first = parts.number(parts.asked("first"))

    def read() -> tuple[BenchSummary, Sequence[Mapping[str, str]]]:
        failures = history.benches.failures(file)
        return next(result for result in history.benches.results() if result.file == file), failures

    parts.filled(read, lambda found: _draw_result(history, *found, first))


def _draw_result(
    history: SharedHistory, result: BenchSummary, failures: Sequence[Mapping[str, str]], first: int
) -> None:
    parts.words(result.command, "mono title", "h2", "command")
    parts.facts(
        [
            ("arguments", " ".join(result.arguments)),
            ("began", parts.local_time(result.began)),
            ("version", result.version),
            ("took", f"{result.wall_s:,.1f} s"),
            ("machine", result.machine),
            ("exit status", str(result.exit_status)),
        ]
    )
    tables: dict[tuple[str, str], list[Sequence[str]]] = {}
    for rate in result.rates:
        told = "p50 / p95 / p99 (n)" if rate.times_ms else "success (of n; 95 % interval)"
        tables.setdefault((rate.table, told), []).append([rate.name, rate.said])
    for (name, told), rows in tables.items():
        parts.words(name, tag="h2")
        parts.table(f"{name}: {told}", ["", told], rows, f"table-{len(name)}")
    if result.out:
        _draw_gallery(history, result, first)
    if failures:
        parts.words(parts.counted(result.failures, "failure"), tag="h2")
        names = list(dict.fromkeys(name for failure in failures for name in failure))[:12]
        parts.table("Failures", names, ([failure.get(name, "") for name in names] for failure in failures), "failures")
        if result.failures > MOST_FAILURES:
            parts.say(f"The first {MOST_FAILURES} are shown.")


def _draw_gallery(history: SharedHistory, result: BenchSummary, first: int) -> None:
    parts.words("Pictures of failures", tag="h2")
    try:
        found = gallery(result.out, history.roots)
    except ToolError as error:
        parts.say(error.message, "warn", "no-gallery")
        return
    if not found:
        parts.say("Nothing has failed, or no picture of it was kept.", testid="no-gallery")
        return
    with ui.element("div").classes("gallery").props('data-testid="gallery"'):
        for path in found[first : first + _MOST_IMAGES]:
            with ui.element("figure"):
                image = ui.element("img")
                source = address("/history/benches", result.file, "pictures", path.name)
                image.props.update({"src": source, "alt": path.name[:100], "loading": "lazy"})
                parts.words(path.stem[:100], "muted", "figcaption")
    parts.pages(_of(result), first, _MOST_IMAGES, len(found))
