"""The page of two runs side by side, with their first difference in one sentence."""

from __future__ import annotations

from nicegui import ui

from toolhand.console.history.compare import AlignedTurns, Comparison, RunTurn, compare
from toolhand.console.history.replay import as_json
from toolhand.console.history.shared import history_of
from toolhand.console.pages import parts
from toolhand.console.pages.frame import PageContext
from toolhand.console.pages.routes import address

MOST_SHOWN = 100
"""Turns that are drawn: four times a usual budget."""


def compare_page(page: PageContext) -> None:
    """Fill the page."""
    parts.with_style()
    history = history_of(page.settings)
    chosen = [name.strip() for name in parts.asked_all("run") if name.strip()]
    parts.words("Two runs", classes="title", tag="h2")
    with parts.form("/compare", "compare-form"):
        for label, name in zip(("A", "B"), (*chosen, "", "")[:2], strict=True):
            parts.field(f"Run {label}", "run", name, testid=f"run-{label.lower()}")
        parts.submit("Compare", "compare")
    if len(chosen) != 2:
        parts.say(f"Choose two runs on the page of runs; {len(chosen)} are chosen.", testid="problem")
        return
    one, other = chosen

    def read() -> Comparison:
        return compare(history.replay(one), history.replay(other))

    parts.filled(read, lambda found: _draw(found, one, other))


def _draw(found: Comparison, one: str, other: str) -> None:
    parts.say(found.first_difference, "good" if found.same else "warn", "first-difference")
    for problem in found.problems:
        parts.say(problem, "warn", "damaged")
    with ui.element("ol").classes("turns").props('data-testid="turns"'):
        with ui.element("li").classes("turn-pair heads"):
            for label, name in (("A", one), ("B", other)):
                parts.link(f"{label}: {name}", address("/runs", name))
        for row in found.rows[:MOST_SHOWN]:
            _pair(row)
    if len(found.rows) > MOST_SHOWN:
        parts.say(f"The first {MOST_SHOWN} turns are shown.")


def _pair(row: AlignedTurns) -> None:
    with ui.element("li").classes(f"turn-pair{' differs' if row.difference else ''}").props('data-testid="turn"'):
        for turn in (row.left, row.right):
            _turn(turn)
        if row.difference:
            parts.words(row.difference, "difference", "p")


def _turn(turn: RunTurn | None) -> None:
    with ui.element("div").classes("turn"):
        if turn is None:
            parts.words("no such turn", "muted")
            return
        parts.words(f"Turn {turn.number}", "muted", "p")
        if turn.thought:
            parts.words(turn.thought[:600], "thought", "p")
        for call in turn.calls:
            parts.words(f"{call.name} {as_json(call.arguments)}"[:600], "mono", "p")
            parts.words(f"{call.code} {call.result}".strip()[:600], f"result{' bad' if call.code else ''}", "p")
        for said in turn.said:
            parts.words(said[:600], tag="p")
