"""From texts with boxes to what a page means: reading order, formulas, tables."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from tool_nodes.perception.text.rulings import Rulings
from tool_nodes.types import TextSpan

LATEX = {"±": r"\pm", "·": r"\cdot", "°": r"^{\circ}", "%": r"\%", "#": r"\#", "&": r"\&", "$": r"\$"}
"""Signs that LaTeX writes in its own way."""
_BAR_NEAR = 1.2
"""The numerator and the denominator are at most this many of their own heights from the bar."""


def reading_order(spans: Iterable[TextSpan]) -> list[TextSpan]:
    """Rows from top to bottom, each from left to right; texts of a row overlap in height by half at least."""
    return [span for row in _rows(spans) for span in row]


def _rows(spans: Iterable[TextSpan]) -> list[list[TextSpan]]:
    rows: list[list[TextSpan]] = []
    for span in sorted(spans, key=lambda s: (s.box[1] + s.box[3], s.box[0])):
        row = next((row for row in rows if _beside(row[0], span)), None)
        if row is None:
            rows.append([span])
        else:
            row.append(span)
    rows.sort(key=lambda row: min(span.box[1] for span in row))
    return [sorted(row, key=lambda s: s.box[0]) for row in rows]


def _beside(a: TextSpan, b: TextSpan) -> bool:
    shared = min(a.box[3], b.box[3]) - max(a.box[1], b.box[1])
    return shared >= 0.5 * min(a.box[3] - a.box[1], b.box[3] - b.box[1])


def with_scripts(characters: Sequence[tuple[str, int, bool]]) -> str:
    """Characters of a line as text, or as LaTeX where some are raised or lowered.

    Args:
        characters: (character, level, blank before it); level is 1 raised, 0 on the line, -1 lowered.
    """
    text, open_level = "", 0
    formula = any(level for _, level, _ in characters)
    for index, (character, level, blank) in enumerate(characters):
        if level != open_level and open_level:
            text += "}"
        if blank and index:
            text += " "
        if level != open_level and level:
            text += "^{" if level > 0 else "_{"
        open_level = level
        text += LATEX.get(character, character) if formula else character
    return text + ("}" if open_level else "")


def formulas(spans: Sequence[TextSpan], bars: Sequence[tuple[int, int, float]]) -> list[str]:
    """LaTeX of each row of a page of mathematics, from top to bottom.

    Args:
        spans: Its texts; those of kind "formula" are LaTeX already.
        bars: Level strokes (left, right, y) [px]: one with text close above and below it is a fraction's.
    """
    parts = [span if span.kind == "formula" else _as_latex(span) for span in spans]
    for left, right, y in bars:
        above = [part for part in parts if _over_bar(part, left, right) and _near(y - part.box[3], part)]
        below = [part for part in parts if _over_bar(part, left, right) and _near(part.box[1] - y, part)]
        if above and below:
            parts = [part for part in parts if part not in above and part not in below]
            over, under = (" ".join(part.text for part in reading_order(side)) for side in (above, below))
            boxes = [part.box for part in (*above, *below)]
            box = (
                min(b[0] for b in boxes),
                min(b[1] for b in boxes),
                max(b[2] for b in boxes),
                max(b[3] for b in boxes),
            )
            parts.append(
                TextSpan(f"\\frac{{{over}}}{{{under}}}", box, min(p.score for p in (*above, *below)), "formula")
            )
    return [" ".join(part.text for part in row) for row in _rows(parts)]


def _as_latex(span: TextSpan) -> TextSpan:
    text = "".join(LATEX.get(character, character) for character in span.text)
    return TextSpan(text, span.box, span.score, "formula")


def _over_bar(span: TextSpan, left: float, right: float) -> bool:
    width, slack = span.box[2] - span.box[0], 0.15 * (right - left) + 2.0
    return left - slack <= span.box[0] and span.box[2] <= right + slack and width >= 0.1 * (right - left)


def _near(distance: float, span: TextSpan) -> bool:
    height = span.box[3] - span.box[1]
    return -0.3 * height <= distance <= _BAR_NEAR * height


def table_rows(spans: Sequence[TextSpan], rulings: Rulings) -> list[list[str]]:
    """Rows of a table with the text of each cell, "" where it is empty; by its grid, or by gaps where it has none."""
    if not spans:
        return []
    columns, rows = rulings.columns, rulings.rows
    if len(columns) >= 2 and len(rows) >= 2:
        cells = [[""] * (len(columns) - 1) for _ in range(len(rows) - 1)]
        for span in reading_order(spans):
            column = bisect_right(columns, (span.box[0] + span.box[2]) / 2.0) - 1
            row = bisect_right(rows, (span.box[1] + span.box[3]) / 2.0) - 1
            if 0 <= column < len(columns) - 1 and 0 <= row < len(rows) - 1:
                cells[row][column] = f"{cells[row][column]} {span.text}".strip()
        return cells
    starts = _columns_by_gaps(spans)
    table = []
    for row_spans in _rows(spans):
        texts = [""] * len(starts)
        for span in row_spans:
            column = bisect_right(starts, span.box[0] + 1e-6) - 1
            texts[column] = f"{texts[column]} {span.text}".strip()
        table.append(texts)
    return table


def _columns_by_gaps(spans: Sequence[TextSpan]) -> list[float]:
    """Left ends of columns: no text crosses the gap between two of them."""
    starts: list[float] = []
    end = float("-inf")
    for left, right in sorted((span.box[0], span.box[2]) for span in spans):
        if left > end:
            starts.append(left)
        end = max(end, right)
    return starts
