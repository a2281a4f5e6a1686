"""What the papers' tables say of tasks that are the same as some of ours, and in which way they are not the same.

Figures are as printed. A figure stands here only where what counts as success is the same as in our kind of task.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PaperRow:
    """One row of a table.

    Attributes:
        kind: Our kind of task.
        percent: Success [%].
        n: Tries, or None where the table does not say.
    """

    kind: str
    paper: str
    table: str
    row: str
    percent: float
    n: int | None = None


def _of(kind: str, row: str, right: int, n: int) -> PaperRow:
    table = "supplement, table 2"
    return PaperRow(kind, "SpaceTools", table, row, round(100 * right / n, 1), n)


def _map(row: str, percent: float) -> PaperRow:
    return PaperRow("map_route", "PERIA", "table 9, MapTrace Thr. 0.3", row, percent)


def _depth(row: str, percent: float) -> PaperRow:
    return PaperRow("depth", "LAST", "table 1, CVbench 3D-Depth", row, percent)


PAPER_ROWS: tuple[PaperRow, ...] = (
    _of("pick", "Ours (SpaceTools)", 6, 7),
    _of("pick", "Claude Sonnet 4.5", 6, 7),
    _of("pick", "GPT-5", 5, 7),
    _of("relational_pick", "Ours (SpaceTools)", 5, 6),
    _of("relational_pick", "Claude Sonnet 4.5", 3, 6),
    _of("relational_pick", "GPT-5", 2, 6),
    _of("pick_and_place", "Ours (SpaceTools)", 6, 7),
    _of("pick_and_place", "Claude Sonnet 4.5", 4, 7),
    _of("pick_and_place", "GPT-5", 4, 7),
    _map("PERIA-8B", 44.1),
    _map("PERIA-4B", 40.7),
    _map("PERIA-2B", 38.4),
    _map("GPT-5", 41.8),
    _map("Qwen3-8B", 38.4),
    _depth("LAST-7B", 89.54),
    _depth("Qwen2.5-VL-7B (Backbone)", 80.00),
    _depth("GPT-5.1", 82.93),
)
"""Rows of the papers' tables that stand beside ours, percentages as they are printed."""

NOT_THE_SAME: dict[str, str] = {
    "SpaceTools": (
        "20 sentences once each, on a real arm with real perception; ours are in simulation, with other sentences. Of "
        "pick and place a sentence counts here where both of its points were given."
    ),
    "PERIA": "Maps of MapTrace, ours are drawn metro maps; the way is right up to the same distance, NDTW 0.3.",
    "LAST": "Photographs of CV-Bench, ours are simulated tables; which of two objects is nearer is asked in both.",
}
"""Paper -> in which way its tasks differ from ours."""
