"""From texts with boxes to what a page means: reading order, formulas, tables."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from toolhand.tool_nodes.perception.text.rulings import Rulings
from toolhand.tool_nodes.types import TextSpan

LATEX = {
    "±": r"\pm", "·": r"\cdot", "×": r"\times", "÷": r"\div", "≤": r"\le", "≥": r"\ge", "≠": r"\ne", "≈": r"\approx",
    "∞": r"\infty", "∑": r"\sum", "∫": r"\int", "∂": r"\partial", "→": r"\to", "∈": r"\in", "−": "-",
    "°": r"^{\circ}", "%": r"\%", "#": r"\#", "&": r"\&", "$": r"\$",
    "α": r"\alpha", "β": r"\beta", "γ": r"\gamma", "δ": r"\delta", "ε": r"\epsilon", "θ": r"\theta", "λ": r"\lambda",
    "μ": r"\mu", "π": r"\pi", "ρ": r"\rho", "σ": r"\sigma", "τ": r"\tau", "φ": r"\phi", "ω": r"\omega", "Δ": r"\Delta",
    "Σ": r"\Sigma", "Ω": r"\Omega",
}  # fmt: skip
"""Signs that LaTeX writes in its own way."""
SCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼ⁿⁱ", ((c, 1) for c in "0123456789+-=ni"), strict=True)) | dict(
    zip("₀₁₂₃₄₅₆₇₈₉₊₋₌ₙᵢⱼₖₓₐₑₘ", ((c, -1) for c in "0123456789+-=nijkxaem"), strict=True)
)
"""Characters that are raised (1) or lowered (-1) others."""
_MATHEMATICAL = re.compile(rf"[=<>^≤≥≠≈√∑∫{''.join(SCRIPTS)}]|[\w)] ?[+±×÷] ?[\w(]")
"""A relation, a root, a raised sign; or a sum, which "(+237)" is not."""
_FUNCTIONS = frozenset({"sin", "cos", "tan", "log", "exp", "lim", "max", "min", "mod", "det", "sinh", "cosh", "tanh"})
"""Words of mathematics."""
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


def is_prose(text: str) -> bool:
    """True for words rather than a formula: two words of three letters, or one of four and no sign of mathematics."""
    words = [word for word in re.findall(r"[^\W\d_]{3,}", text) if word.lower() not in _FUNCTIONS]
    return len(words) >= 2 or (any(len(word) >= 4 for word in words) and not _MATHEMATICAL.search(text))


def looks_like_mathematics(text: str) -> bool:
    """True for a formula, as far as its signs show."""
    return bool(_MATHEMATICAL.search(text)) and not is_prose(text)


def with_scripts(characters: Sequence[tuple[str, int, bool]]) -> str:
    """Characters of a line as text, or as LaTeX where some are raised or lowered.

    Args:
        characters: (character, level, blank before it); level is 1 raised, 0 on the line, -1 lowered.
    """
    characters = [(*SCRIPTS[c], blank) if c in SCRIPTS else (c, level, blank) for c, level, blank in characters]
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
        text += _sign(character) if formula else character
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
    return [re.sub(" +", " ", " ".join(part.text for part in row)).strip() for row in _rows(parts)]


def _as_latex(span: TextSpan) -> TextSpan:
    return replace(span, text="".join(map(_sign, span.text)), kind="formula")


def _sign(character: str) -> str:
    latex = LATEX.get(character, character)
    return f"{latex} " if latex[-1].isalpha() and latex[0] == "\\" else latex


def not_latex(text: str) -> list[str]:
    """Characters of a formula that are no LaTeX, each once."""
    return [c for c in dict.fromkeys(text) if not c.isascii()]


def _over_bar(span: TextSpan, left: float, right: float) -> bool:
    width, slack = span.box[2] - span.box[0], 0.15 * (right - left) + 2.0
    return left - slack <= span.box[0] and span.box[2] <= right + slack and width >= 0.1 * (right - left)


def _near(distance: float, span: TextSpan) -> bool:
    height = span.box[3] - span.box[1]
    return -0.3 * height <= distance <= _BAR_NEAR * height


@dataclass(frozen=True)
class Table:
    """What a table says.

    Attributes:
        rows: The text of each cell; "" where it is empty, None where it is not and could not be read.
        outside: Texts that stand in no cell.
        is_ruled: True if ruled lines make the cells; else gaps between the texts do.
    """

    rows: list[list[str | None]]
    outside: list[str]
    is_ruled: bool

    @property
    def is_lines_only(self) -> bool:
        """True for texts below each other with neither ruled lines nor columns: a page rather than a table."""
        return not self.is_ruled and max(map(len, self.rows), default=0) == 1


TextBox = tuple[float, float, float, float]


def cells_of(rulings: Rulings) -> list[list[TextBox]]:
    """Boxes of the cells of a grid, row by row [px]; nothing where there is no grid."""
    columns, rows = rulings.columns, rulings.rows
    if len(columns) < 2 or len(rows) < 2:
        return []
    return [[(left, top, right, bottom) for left, right in pairwise(columns)] for top, bottom in pairwise(rows)]


def read_table(
    spans: Sequence[TextSpan], rulings: Rulings, has_ink: Callable[[TextBox], bool] = lambda _: False
) -> Table:
    """A table by its grid, or by gaps where it has none.

    Args:
        spans: Its texts; an empty one could not be read.
        rulings: Its lines.
        has_ink: Function that says whether something is printed in a cell where no text was found.
    """
    boxes = cells_of(rulings)
    starts = [] if boxes else _columns_by_gaps(spans)
    parts: dict[tuple[int, int], list[TextSpan]] = {}
    outside = []
    by_gaps = _rows(spans)
    for number, row_spans in enumerate(by_gaps):
        for span in row_spans:
            row, column = _cell(span, rulings) if boxes else (number, bisect_right(starts, span.box[0] + 1e-6) - 1)
            if boxes and not (0 <= row < len(boxes) and 0 <= column < len(boxes[0])):
                outside += [span.text] if span.text else []
            else:
                parts.setdefault((row, column), []).append(span)
    height, width = (len(boxes), len(boxes[0])) if boxes else (len(by_gaps), len(starts))
    rows = [
        [
            _said(parts[row, column])
            if (row, column) in parts
            else (None if boxes and has_ink(boxes[row][column]) else "")
            for column in range(width)
        ]
        for row in range(height)
    ]
    return Table(rows, outside, bool(boxes))


def _cell(span: TextSpan, rulings: Rulings) -> tuple[int, int]:
    """Row and column of the cell with a text's middle."""
    column = bisect_right(rulings.columns, (span.box[0] + span.box[2]) / 2.0) - 1
    return bisect_right(rulings.rows, (span.box[1] + span.box[3]) / 2.0) - 1, column


def _said(parts: Sequence[TextSpan]) -> str | None:
    """What is read of a cell; None where nothing is."""
    return " ".join(span.text for span in parts if span.text) or None


def crossing(spans: Sequence[TextSpan], rulings: Rulings) -> list[TextBox]:
    """Cells of a grid that share a text: what stands in neighbours was taken for one line."""
    shared: list[TextBox] = []
    for span in spans:
        left, top, right, bottom = span.box
        slack = 0.3 * (bottom - top)
        row = [
            box
            for box in (box for boxes in cells_of(rulings) for box in boxes)
            if box[1] <= (top + bottom) / 2.0 < box[3] and left + slack < box[2] and box[0] < right - slack
        ]
        shared += [box for box in row if len(row) > 1 and box not in shared]
    return shared


def _columns_by_gaps(spans: Sequence[TextSpan]) -> list[float]:
    """Left ends of columns: no text crosses the gap between two of them."""
    starts: list[float] = []
    end = float("-inf")
    for left, right in sorted((span.box[0], span.box[2]) for span in spans):
        if left > end:
            starts.append(left)
        end = max(end, right)
    return starts
