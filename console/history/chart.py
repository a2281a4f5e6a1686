"""Curves as SVG by a template that escapes every name in it; colours come from the page's own variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from toolhand.agent_node.runs.pages import macro

CurvePoints = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 720, 300
"""Size of a chart in its own units; a page scales it [px]."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 12, 30
"""Margins for the labels of the axes [px]."""
_TICKS = 5
"""Marks of an axis, about."""
STYLES = ("none", "7 4", "2 4", "10 4 2 4", "1 6", "14 4")
"""Dashes of the curves: they differ without colour, too."""
COLOURS = 6
"""Number of colours, `--curve-1` and so on in history.css."""
_TEMPLATE = Path(__file__).with_name("chart.svg")
_LONGEST_NAME = 60
"""Longest name that a label has [characters]."""


def chart(title: str, curves: Sequence[tuple[str, CurvePoints]], counter: str) -> str:
    """Some curves over one counter.

    Args:
        title: Name of the drawing, for readers of the screen.
        curves: (name, finite points) each; those without points are left out.
        counter: Name of the x axis.

    Returns:
        An SVG element; the text "No values." where there is nothing to draw.
    """
    shown = [(index, name, points) for index, (name, points) in enumerate(curves) if points]
    if not shown:
        return str(macro(_TEMPLATE, "chart", _plain(title), WIDTH, HEIGHT, _RIGHT, (), (), (), ""))
    xs = [x for _, _, points in shown for x, _ in points]
    ys = [y for _, _, points in shown for _, y in points]
    x_span, y_span = _span(min(xs), max(xs)), _span(min(ys), max(ys))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - x_span[0]) / (x_span[1] - x_span[0])
        up = (y - y_span[0]) / (y_span[1] - y_span[0])
        return _LEFT + across * (WIDTH - _LEFT - _RIGHT), HEIGHT - _BOTTOM - up * (HEIGHT - _TOP - _BOTTOM)

    rows = [(f"{tick:.4g}", *place(x_span[0], tick)) for tick in ticks(*y_span)]
    columns = [(f"{tick:.6g}", *place(tick, y_span[0])) for tick in ticks(*x_span)]
    drawn = [(_plain(name), [place(x, y) for x, y in points], *_style(index)) for index, name, points in shown]
    return str(macro(_TEMPLATE, "chart", _plain(title), WIDTH, HEIGHT, _RIGHT, rows, columns, drawn, _plain(counter)))


def swatch(index: int) -> str:
    """The line of a curve as it stands in a legend, as an SVG element."""
    return str(macro(_TEMPLATE, "swatch", *_style(index)))


def _style(index: int) -> tuple[int, str]:
    """Number of the colour and dashes of a curve."""
    return index % COLOURS + 1, STYLES[index % len(STYLES)]


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high`, about five."""
    rough = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [(first + k) * step for k in range(2 * _TICKS) if (first + k) * step <= high + step * 1e-9]


def _span(low: float, high: float) -> tuple[float, float]:
    """An interval that is not empty, also of one value, and of values so large that their difference vanishes."""
    margin = max((high - low) * 0.02, abs(high) * 1e-9, abs(low) * 1e-9, 1e-12)
    return low - margin, high + margin


def _plain(text: str) -> str:
    """A label: of limited length, and without the characters that XML cannot hold."""
    return "".join(sign for sign in text[:_LONGEST_NAME] if sign.isprintable())
