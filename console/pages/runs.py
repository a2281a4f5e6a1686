"""The page of all runs: searched, filtered, and two of them chosen to be compared."""

from __future__ import annotations

from nicegui import ui

from toolhand.agent_node.runs.index import RunEntry
from toolhand.console.history.runs import PAGE_RUNS, RunPage, RunSearch, end_of
from toolhand.console.history.shared import history_of
from toolhand.console.pages import parts
from toolhand.console.pages.frame import PageContext
from toolhand.console.pages.routes import address

_CHIPS = {"done": "chip good", "failed": "chip bad", "unfinished": "chip warn"}
_FIELDS = ("text", "end", "code", "policy", "since", "until")
_MOST_NAMES = 60
"""Error codes and policies that a choice offers."""


def runs_page(page: PageContext) -> None:
    """Fill the page."""
    parts.with_style()
    history = history_of(page.settings)
    asked = {name: parts.asked(name).strip() for name in _FIELDS}
    first = parts.number(parts.asked("first"))
    with ui.element("nav").classes("chips").props('aria-label="Quick filters"'):
        for end, text in (("", "All"), ("failed", "Failed"), ("done", "Done"), ("unfinished", "Unfinished")):
            chosen = " chosen" if end == asked["end"] else ""
            parts.link(text, address("/runs", end=end), f"button small{chosen}", f"only-{end or 'all'}")

    def read() -> RunPage:
        search = RunSearch.of_texts(**asked)
        return history.runs.page(search, first)

    parts.filled(read, lambda found: _draw(found, asked, first))


def _draw(found: RunPage, asked: dict[str, str], first: int) -> None:
    with parts.form("/runs", "search"):
        parts.field("Words", "text", asked["text"], "search")
        ends = {"": "any end", "done": "done", "failed": "failed", "unfinished": "unfinished"}
        parts.choice("End", "end", ends, asked["end"])
        for label, name, known in (("Code", "code", found.codes), ("Policy", "policy", found.policies)):
            names = sorted(known, key=lambda each: (-known[each], each))[:_MOST_NAMES]
            kept = [asked[name]] if asked[name] and asked[name] not in names else []
            shown = {each: f"{each[:60]} ({known.get(each, 0):,})" for each in [*kept, *names]}
            parts.choice(label, name, {"": f"any {label.lower()}", **shown}, asked[name])
        parts.field("From (2026-11-22, or 3d)", "since", asked["since"])
        parts.field("Until", "until", asked["until"])
        parts.submit("Search", "search-button")
    if found.unread:
        parts.say(f"{found.unread:,} older runs are still to be read: load this page again.", "warn", "unread")
    if not found.entries:
        none = "No run fits." if found.total else "There are no runs yet. Each command leaves one."
        parts.say(none, testid="no-runs")
        return
    with parts.form("/compare", "compare-form"):
        with ui.element("ol").classes("run-list").props('data-testid="runs"'):
            for entry in found.entries:
                _row(entry)
        parts.submit("Compare the two that are ticked", "compare")
    parts.pages("/runs", first, PAGE_RUNS, found.found, **asked)


def _row(entry: RunEntry) -> None:
    end = end_of(entry)
    with ui.element("li").classes("run").props('data-testid="run"'):
        tick = ui.element("input").classes("tick")
        tick.props.update({"type": "checkbox", "name": "run", "value": entry.id, "aria-label": f"Compare {entry.id}"})
        parts.words(entry.error_code[:40] if end == "failed" and entry.error_code else end, _CHIPS[end])
        said = entry.words if entry.words is not None else (entry.problem or "")
        parts.link(said[:300] or entry.id, address("/runs", entry.id), "run-task", "run-link")
        parts.words(parts.local_time(entry.began), "muted mono")
        about = [parts.counted(entry.turns, "turn") if entry.turns is not None else "", entry.policy or ""]
        about.append("" if entry.wall_s is None else f"{entry.wall_s:.1f} s")
        parts.words(" · ".join(part[:60] for part in about if part), "muted")
        if entry.answer and end != "done":
            parts.words(entry.answer[:300], "muted run-answer")
