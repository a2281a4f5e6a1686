"""The images of LAST's skills. All functions take and give uint8 RGB (H, W, 3) and return new arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from toolhand.tool_nodes.drawing import RGB, WHITE
from toolhand.tool_nodes.perception.masks import dilated, window_of
from toolhand.tool_nodes.toolbox.images import resized
from toolhand.tool_nodes.types import BoolArray

COLOURS = (
    (230, 30, 30),
    (40, 90, 240),
    (30, 200, 60),
    (250, 190, 40),
    (170, 60, 220),
    (20, 190, 210),
    (240, 120, 30),
    (240, 80, 170),
)
"""One for each object, cyclic."""

_STEPS_M = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Widths of the grid's cells to choose from [m]."""
_SEEN_POINTS = 40_000
"""Points that a view from above is drawn with at most [-]: more of them hide each other."""


def labelled_boxes(rgb: RGB, boxes: Sequence[tuple[tuple[int, int, int, int], str]]) -> RGB:
    """Frames around (left, top, right, bottom) [px] with their titles, a colour for each."""
    image = Image.fromarray(rgb)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default()
    for number, ((left, top, right, bottom), title) in enumerate(boxes):
        colour = COLOURS[number % len(COLOURS)]
        draw.rectangle((left, top, right - 1, bottom - 1), outline=colour, width=3)
        _, _, width, height = draw.textbbox((0, 0), title, font=font)
        corner = max(left, 0), max(top - height - 4, 0)
        draw.rectangle((*corner, corner[0] + width + 5, corner[1] + height + 3), fill=colour)
        draw.text((corner[0] + 3, corner[1] + 1), title, fill=WHITE, font=font)
    return np.asarray(image)


def coloured_masks(rgb: RGB, masks: Sequence[BoolArray]) -> RGB:
    """Translucent masks (H, W) with white outlines, a colour for each."""
    out = rgb.copy()
    for number, mask in enumerate(masks):
        window = window_of(mask, margin=2)
        inside, part = mask[window], out[window]
        part[inside] = (0.55 * part[inside] + 0.45 * np.array(COLOURS[number % len(COLOURS)])).astype(np.uint8)
        part[dilated(inside) & ~inside] = WHITE
    return out


def montage(rgb: RGB, patches: Sequence[RGB]) -> RGB:
    """The image and, on its right, the patches in columns of a quarter of its width; none is enlarged."""
    height, width = rgb.shape[:2]
    side = max(width // 4, 1)
    rows = max(height // side, 1)
    columns = -(-len(patches) // rows)
    canvas = Image.new("RGB", (width + columns * side, height), WHITE)
    canvas.paste(Image.fromarray(rgb), (0, 0))
    for number, patch in enumerate(patches):
        scale = min((side - 4) / max(patch.shape[:2]), height / patch.shape[0], 1.0)
        size = tuple(max(round(length * scale), 1) for length in (patch.shape[1], patch.shape[0]))
        column, row = divmod(number, rows)
        canvas.paste(Image.fromarray(resized(patch, size)), (width + column * side + 2, row * side + 2))
    return np.asarray(canvas)


def seen_from_above(
    points: NDArray[np.float32], colours: RGB, marks: Sequence[tuple[tuple[float, float], str]], side: int
) -> RGB:
    """A square image of a scene from above, the camera at its lower edge, with a metric grid.

    Args:
        points: (H, W, 3) in the camera frame [m], NaN where unknown.
        colours: Colour of each point.
        marks: ((x, z) [m], title) to mark.
        side: Side of the square [px].
    """
    known = np.isfinite(points[..., 2])
    step = max(int(np.sqrt(np.count_nonzero(known) / _SEEN_POINTS)), 1)
    cloud, paint = points[::step, ::step][known[::step, ::step]], colours[::step, ::step][known[::step, ::step]]
    order = np.argsort(-cloud[:, 1])  # what is higher (y points down) hides what is lower
    flat, paint = cloud[order][:, [0, 2]].astype(float), paint[order]
    places = np.array([place for place, _ in marks], float).reshape(-1, 2)
    low = np.percentile(flat, 1, axis=0).clip(max=places.min(axis=0, initial=np.inf))
    high = np.percentile(flat, 99, axis=0).clip(min=places.max(axis=0, initial=-np.inf))
    span = max(float((high - low).max()), 0.05) * 1.1
    middle = (low + high) / 2

    def to_pixels(at: NDArray[np.float64]) -> NDArray[np.float64]:
        unit = (at - middle) / span + 0.5
        return np.column_stack([unit[:, 0], 1.0 - unit[:, 1]]) * (side - 1)

    canvas = np.full((side, side, 3), 255, np.uint8)
    pixels = np.round(to_pixels(flat)).astype(int)
    for u, v in ((0, 0), (1, 0), (0, 1), (1, 1)):
        columns, rows = pixels[:, 0] + u, pixels[:, 1] + v
        inside = (columns >= 0) & (columns < side) & (rows >= 0) & (rows < side)
        canvas[rows[inside], columns[inside]] = paint[inside]
    image = Image.fromarray(canvas)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default()
    grid = next((size for size in _STEPS_M if span / size <= 8), _STEPS_M[-1])
    for axis in (0, 1):
        first = np.ceil((middle[axis] - span / 2) / grid) * grid
        for value in np.arange(first, middle[axis] + span / 2, grid):
            at = float(to_pixels(np.where(np.arange(2) == axis, value, middle)[None])[0, axis])
            draw.line((at, 0, at, side) if axis == 0 else (0, at, side, at), fill=(190, 190, 190), width=1)
            corner = (at + 2, side - 12) if axis == 0 else (2, at + 1)
            draw.text(corner, f"{value:.2g}", fill=(60, 60, 60), font=font)
    draw.text((side - 90, side - 26), "X (m) to the right", fill=(0, 0, 0), font=font)
    draw.text((40, 2), "Z (m) upwards, seen from above", fill=(0, 0, 0), font=font)
    for number, ((u, v), (_, title)) in enumerate(zip(to_pixels(places), marks, strict=True)):
        draw.ellipse((u - 5, v - 5, u + 5, v + 5), fill=COLOURS[number % len(COLOURS)], outline=WHITE, width=1)
        left, top, right, bottom = draw.textbbox((u + 8, v - 6), title, font=font)
        draw.rectangle((left - 1, top - 1, right + 1, bottom + 1), fill=WHITE)
        draw.text((u + 8, v - 6), title, fill=(0, 0, 0), font=font)
    return np.asarray(image)
