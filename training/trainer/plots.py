"""Curves as a picture: a few series over the same axis, with their last values."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from PIL import Image, ImageDraw, ImageFont

Series = Mapping[str, Sequence[tuple[float, float]]]
"""Points (x, y) of each curve by name."""

PANEL_PX = (640, 260)
"""(width, height) of a panel [px]."""
_MARGIN_PX = (64, 44, 20, 34)
"""Left, top, right and bottom of the curves in their panel [px]."""
_COLOURS = ("#2f5f9e", "#c08a2e", "#3d8b57", "#8a4f9e", "#b04a4a", "#707070")


def plotted(panels: Mapping[str, Series], x_name: str) -> Image.Image:
    """Panels below each other, each with a title, its own range of y, and the curves' names with their last values."""
    width, height = PANEL_PX
    picture = Image.new("RGB", (width, height * max(len(panels), 1)), "white")
    for number, (title, series) in enumerate(panels.items()):
        panel = Image.new("RGB", PANEL_PX, "white")
        _draw(ImageDraw.Draw(panel), title, series, x_name)
        picture.paste(panel, (0, number * height))
    return picture


def as_png(picture: Image.Image) -> bytes:
    """A picture as the bytes of a PNG file."""
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def _draw(draw: ImageDraw.ImageDraw, title: str, series: Series, x_name: str) -> None:
    font = ImageFont.load_default(size=12)
    left, top = _MARGIN_PX[:2]
    right, bottom = PANEL_PX[0] - _MARGIN_PX[2], PANEL_PX[1] - _MARGIN_PX[3]
    points = [point for curve in series.values() for point in curve]
    low_x, high_x = _range([x for x, _ in points])
    low_y, high_y = _range([0.0, *(y for _, y in points)])

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = (x - low_x) / (high_x - low_x), (y - low_y) / (high_y - low_y)
        return left + (right - left) * across, bottom - (bottom - top) * up

    draw.text((left, 6), title, "black", font)
    for k in range(5):
        y = low_y + (high_y - low_y) * k / 4
        draw.line([at(low_x, y), at(high_x, y)], fill="#e4e4e4")
        draw.text((left - 6, at(low_x, y)[1]), f"{y:.3g}", "black", font, anchor="rm")
    for k, (name, curve) in enumerate(series.items()):
        colour = _COLOURS[k % len(_COLOURS)]
        places = [at(x, y) for x, y in curve]
        if len(places) > 1:
            draw.line(places, fill=colour, width=2)
        for x, y in places:
            draw.ellipse([x - 2, y - 2, x + 2, y + 2], fill=colour)
        last = f" {curve[-1][1]:.3g}" if curve else ""
        draw.text((left + 190 * k, 24), f"{name}{last}", colour, font)
    draw.text((right, bottom + 8), f"{x_name} {high_x:.3g}", "black", font, anchor="ra")


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, low + 0.5)
