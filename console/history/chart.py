"""Curves as SVG, built as a tree so that every name in it is text; colours come from the page's own variables."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence

CurvePoints = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 720, 300
"""Size of a chart in its own units; a page scales it [px]."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 12, 30
"""Margins for the labels of the axes [px]."""
_TICKS = 5
"""Marks of an axis, about."""
STYLES = ("", "7 4", "2 4", "10 4 2 4", "1 6", "14 4")
"""Dashes of the curves: they differ without colour, too."""
COLOURS = 6
"""Number of colours, `--curve-1` and so on in history.css."""
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
    svg = ET.Element("svg", {"class": "chart", "viewBox": f"0 0 {WIDTH} {HEIGHT}", "role": "img"})
    ET.SubElement(svg, "title").text = _plain(title)
    if not shown:
        _text(svg, WIDTH / 2, HEIGHT / 2, "No values.", "middle")
        return ET.tostring(svg, encoding="unicode")
    xs = [x for _, _, points in shown for x, _ in points]
    ys = [y for _, _, points in shown for _, y in points]
    x_span, y_span = _span(min(xs), max(xs)), _span(min(ys), max(ys))

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - x_span[0]) / (x_span[1] - x_span[0])
        up = (y - y_span[0]) / (y_span[1] - y_span[0])
        return _LEFT + across * (WIDTH - _LEFT - _RIGHT), HEIGHT - _BOTTOM - up * (HEIGHT - _TOP - _BOTTOM)

    for tick in ticks(*y_span):
        _, y = place(x_span[0], tick)
        _line(svg, _LEFT, y, WIDTH - _RIGHT, y)
        _text(svg, _LEFT - 6, y + 4, f"{tick:.4g}", "end")
    for tick in ticks(*x_span):
        x, _ = place(tick, y_span[0])
        _text(svg, x, HEIGHT - _BOTTOM + 16, f"{tick:.6g}", "middle")
    _text(svg, WIDTH - _RIGHT, HEIGHT - 2, counter, "end")
    for index, name, points in shown:
        at = " ".join("{:.1f},{:.1f}".format(*place(x, y)) for x, y in points)
        style = f"stroke: var(--curve-{index % COLOURS + 1}); stroke-dasharray: {STYLES[index % len(STYLES)] or 'none'}"
        if len(points) == 1:
            x, y = place(*points[0])
            ET.SubElement(svg, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "3", "style": style})
        else:
            curve = ET.SubElement(svg, "polyline", {"points": at, "fill": "none", "stroke-width": "2", "style": style})
            ET.SubElement(curve, "title").text = _plain(name)
    return ET.tostring(svg, encoding="unicode")


def swatch(index: int) -> str:
    """The line of a curve as it stands in a legend, as an SVG element."""
    svg = ET.Element("svg", {"class": "swatch", "viewBox": "0 0 36 8", "aria-hidden": "true"})
    style = f"stroke: var(--curve-{index % COLOURS + 1}); stroke-dasharray: {STYLES[index % len(STYLES)] or 'none'}"
    ET.SubElement(svg, "line", {"x1": "0", "y1": "4", "x2": "36", "y2": "4", "stroke-width": "3", "style": style})
    return ET.tostring(svg, encoding="unicode")


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


def _line(svg: ET.Element, x1: float, y1: float, x2: float, y2: float) -> None:
    at = {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}
    ET.SubElement(svg, "line", {**at, "class": "chart-grid"})


def _text(svg: ET.Element, x: float, y: float, text: str, anchor: str) -> None:
    label = ET.SubElement(svg, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "text-anchor": anchor})
    label.text = _plain(text)


def _plain(text: str) -> str:
    """A label: of limited length, and without the characters that XML cannot hold."""
    return "".join(sign for sign in text[:_LONGEST_NAME] if sign.isprintable())
