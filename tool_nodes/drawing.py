"""Overlays on images, in the style of the SpaceTools appendix B.5. All functions return new arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image, ImageDraw, ImageFont

from toolhand.tool_nodes.perception.masks import dilated, window_of
from toolhand.tool_nodes.types import BoolArray

RGB = NDArray[np.uint8]
RED, GREEN, BLUE, WHITE = (230, 30, 30), (30, 200, 60), (40, 90, 240), (255, 255, 255)


def draw_points(rgb: RGB, points: Sequence[tuple[float, float]]) -> RGB:
    """Red circles with white outlines at normalized (x, y) points."""
    image = Image.fromarray(rgb)
    draw = ImageDraw.Draw(image)
    for x, y in points:
        u, v = x * rgb.shape[1], y * rgb.shape[0]
        draw.circle((u, v), 6, fill=RED, outline=WHITE, width=2)
    return np.asarray(image)


def draw_numbers(rgb: RGB, points: Sequence[tuple[float, float]]) -> RGB:
    """The numbers 1, 2, ... beside normalized (x, y) points, white on dark, inside the image."""
    image = Image.fromarray(rgb)
    draw = ImageDraw.Draw(image)
    height, width = rgb.shape[:2]
    font = ImageFont.load_default(max(10, min(height, width) // 18))
    for number, (x, y) in enumerate(points, 1):
        left, top, right, bottom = draw.textbbox((0, 0), str(number), font=font)
        wide, high = right - left + 6, bottom - top + 6
        u = min(max(x * width + 8, 0), max(width - wide, 0))
        v = min(max(y * height - 8 - high, 0), max(height - high, 0))
        draw.rectangle((u, v, u + wide, v + high), fill=(20, 20, 20))
        draw.text((u + 3 - left, v + 3 - top), str(number), fill=WHITE, font=font)
    return np.asarray(image)


def draw_boxes(rgb: RGB, boxes: Sequence[tuple[int, int, int, int]]) -> RGB:
    """Red frames around (left, top, right, bottom) [px], right and bottom exclusive."""
    image = Image.fromarray(rgb)
    draw = ImageDraw.Draw(image)
    for left, top, right, bottom in boxes:
        draw.rectangle((left, top, right - 1, bottom - 1), outline=RED, width=3)
    return np.asarray(image)


def draw_mask(rgb: RGB, mask: BoolArray) -> RGB:
    """Semi-transparent green mask (H, W) with a white outline."""
    out = rgb.copy()
    if mask.any():
        window = window_of(mask, margin=2)
        shown, inside = out[window], mask[window]
        shown[inside] = (0.55 * shown[inside] + 0.45 * np.array(GREEN)).astype(np.uint8)
        shown[dilated(dilated(inside)) & ~inside] = WHITE
    return out


def draw_axes(rgb: RGB, origin: ArrayLike, ends: ArrayLike, gripper: ArrayLike) -> RGB:
    """Axes X (red), Y (green), Z (blue) from origin (2,) to ends (3, 2), and a five-point gripper (5, 2), in px."""
    image = Image.fromarray(rgb)
    draw = ImageDraw.Draw(image)
    centre, left_base, right_base, left_tip, right_tip = (tuple(map(float, p)) for p in np.asarray(gripper))
    for a, b in ((centre, left_base), (centre, right_base), (left_base, left_tip), (right_base, right_tip)):
        draw.line((a, b), fill=(255, 200, 0), width=3)
    start = tuple(map(float, np.asarray(origin)))
    for end, colour in zip(np.asarray(ends), (RED, GREEN, BLUE), strict=True):
        draw.line((start, tuple(map(float, end))), fill=colour, width=3)
    return np.asarray(image)


_STOPS = np.array([[68, 30, 140], [60, 90, 200], [40, 170, 150], [180, 210, 60], [250, 190, 40], [220, 50, 30]], float)


def colourize_depth(depth: NDArray[np.float32], bar: bool = True) -> RGB:
    """Depth (H, W) [m] as colours: near is cool (blue, purple), far is warm (yellow, red), unknown is black.

    With `bar`, a labelled scale "Depth (m)" is added on the right: the result is wider than the input.
    """
    known = np.isfinite(depth)
    if not known.any():
        return np.zeros((*depth.shape, 3), np.uint8)
    low, high = (float(v) for v in np.percentile(depth[known], (1, 99)))
    high = max(high, low + 1e-3)

    def paint(values: NDArray[np.floating]) -> RGB:
        scaled = np.clip((values - low) / (high - low), 0, 1) * (len(_STOPS) - 1)
        index = np.minimum(scaled.astype(np.intp), len(_STOPS) - 2)
        part = (scaled - index)[..., None]
        return (_STOPS[index] * (1 - part) + _STOPS[index + 1] * part).astype(np.uint8)

    shown = paint(np.where(known, depth, low))
    shown[~known] = 0
    if not bar:
        return shown
    height = depth.shape[0]
    panel = np.full((height, 90, 3), 255, np.uint8)
    top, bottom = height // 8, height - height // 8
    panel[top:bottom, 12:32] = paint(np.linspace(low, high, bottom - top))[:, None]
    image = Image.fromarray(panel)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default()
    draw.text((8, max(top - 20, 0)), "Depth (m)", fill=(0, 0, 0), font=font)
    for k in range(5):
        draw.text(
            (38, top + (bottom - top) * k // 4 - 5), f"{low + (high - low) * k / 4:.2f}", fill=(0, 0, 0), font=font
        )
    return np.concatenate([shown, np.asarray(image)], axis=1)


_DARK = (20, 20, 20)
"""Beside every bright line, so that it is seen on anything."""
_MARK_COLOURS = ((255, 220, 0), (0, 230, 255), (255, 90, 220), (120, 255, 60), (255, 140, 0), (190, 150, 255))
"""Of outlines beside each other: bright, for they lie on a table of any colour within a dark line."""


def draw_outline(rgb: RGB, mask: BoolArray, colour: tuple[int, int, int] = (255, 220, 0)) -> RGB:
    """A bright line around a mask (H, W), with a dark one around it; nothing of the object is painted over."""
    out = rgb.copy()
    if mask.any():
        window = window_of(mask, margin=3)
        inside, shown = mask[window], out[window]
        near = dilated(inside)
        shown[dilated(dilated(near)) & ~near] = _DARK
        shown[near & ~inside] = colour
    return out


def draw_fingers(rgb: RGB, gripper: ArrayLike, behind: ArrayLike) -> RGB:
    """The two fingers of a gripper (5, 2) as bars, and a line that comes to it from a point `behind` (2,), in px."""
    image = Image.fromarray(rgb)
    draw = ImageDraw.Draw(image)
    centre, left_base, right_base, left_tip, right_tip = (tuple(map(float, p)) for p in np.asarray(gripper))
    came_from = tuple(map(float, np.asarray(behind)))
    for colour, wider in ((_DARK, 2), (WHITE, 0)):
        draw.line((came_from, centre), fill=colour, width=1 + wider)
        for ends in ((left_base, left_tip), (right_base, right_tip)):
            draw.line(ends, fill=colour, width=4 + wider)
    return np.asarray(image)


def draw_line(rgb: RGB, points: ArrayLike) -> RGB:
    """A thin light line through points (N, 2), in px."""
    image = Image.fromarray(rgb)
    ImageDraw.Draw(image).line([tuple(map(float, p)) for p in np.asarray(points)], fill=(235, 235, 235), width=1)
    return np.asarray(image)


def draw_marks(rgb: RGB, masks: Sequence[BoolArray], points: Sequence[tuple[float, float]]) -> RGB:
    """Outlines of masks (H, W), each with its number, 1 first, on a dark plate at its normalized (x, y) point.

    A plate stands over an object that is too small to be seen under it.
    """
    out = rgb
    for number, mask in enumerate(masks):
        out = draw_outline(out, mask, _MARK_COLOURS[number % len(_MARK_COLOURS)])
    image = Image.fromarray(out)
    draw = ImageDraw.Draw(image)
    height, width = rgb.shape[:2]
    font = ImageFont.load_default(max(11, height // 26))
    plates: list[tuple[float, float, float, float]] = []
    for number, (mask, (x, y)) in enumerate(zip(masks, points, strict=True)):
        text = str(number + 1)
        left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
        wide, high = right - left + 7, bottom - top + 7
        rows, columns = window_of(mask)
        u, v = x * width - wide / 2, y * height - high / 2
        beside = [(u, rows.start - high - 2), (u, rows.stop + 2), (columns.start - wide - 2, v), (columns.stop + 2, v)]
        hides = columns.stop - columns.start < 2 * wide or rows.stop - rows.start < 1.5 * high
        places = [(min(max(a, 0), width - wide), min(max(b, 0), height - high)) for a, b in [*beside, (u, v)]]
        places = places if hides else [places[-1], *places[:-1]]
        u, v = next((p for p in places if not any(_meet((*p, p[0] + wide, p[1] + high), q) for q in plates)), places[0])
        plates.append((u, v, u + wide, v + high))
        draw.rectangle(plates[-1], fill=(20, 20, 20), outline=_MARK_COLOURS[number % len(_MARK_COLOURS)])
        draw.text((u + 4 - left, v + 4 - top), text, fill=WHITE, font=font)
    return np.asarray(image)


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    """Whether two boxes (left, top, right, bottom) overlap."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def side_by_side(panels: Sequence[RGB], height: int) -> RGB:
    """Images in one row of a height [px], with a white line between two."""
    scaled = [
        np.asarray(Image.fromarray(p).resize((max(round(p.shape[1] * height / p.shape[0]), 1), height))) for p in panels
    ]
    line = np.full((height, 4, 3), 255, np.uint8)
    return np.concatenate([part for panel in scaled for part in (line, panel)][1:], axis=1)
