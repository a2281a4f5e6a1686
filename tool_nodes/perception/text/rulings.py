"""Straight strokes: the grid of a table, the bars of fractions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes.types import BoolArray

MIN_CONTRAST = 25.0
"""Strokes differ at least this much from what is beside them, of 255 grey levels."""
THICKEST_PX, SHORTEST_PX = 5, 12
"""Thickest and shortest stroke of a ruling [px]."""
_SPECK_PX = 3
"""Noise is averaged over this side, so that it is not taken for print [px]."""
GRID_SHARE = 0.5
"""A line of a grid is at least this part of the longest one in its direction."""


@dataclass(frozen=True)
class Rulings:
    """Straight strokes of an image [px].

    Attributes:
        bars: Level strokes as (left, right, y), from top to bottom.
        columns: x of the upright lines of a grid.
        rows: y of the level lines of a grid.
    """

    bars: tuple[tuple[int, int, float], ...] = ()
    columns: tuple[float, ...] = ()
    rows: tuple[float, ...] = ()


def find_rulings(rgb: NDArray[np.uint8]) -> Rulings:
    """Straight level and upright strokes of an image (H, W, 3)."""
    grey = rgb.astype(np.float32).mean(axis=2)
    level = _strokes(grey)
    upright = _strokes(np.ascontiguousarray(grey.T))
    return Rulings(
        bars=tuple((left, right, y) for left, right, y in level),
        columns=_grid(upright, grey.shape[0]),
        rows=_grid(level, grey.shape[1]),
    )


def has_ink(rgb: NDArray[np.uint8], box: tuple[float, float, float, float]) -> bool:
    """True if something is printed within a box (left, top, right, bottom) [px], its borders left out."""
    left, top, right, bottom = (round(side) for side in box)
    inside = rgb[top + THICKEST_PX : bottom - THICKEST_PX, left + THICKEST_PX : right - THICKEST_PX]
    if not inside.size:
        return False
    grey = ndimage.uniform_filter(inside.astype(np.float32).mean(axis=2), _SPECK_PX)
    return bool(np.abs(grey - np.median(grey)).max() > MIN_CONTRAST)


def _strokes(grey: NDArray[np.float32]) -> list[tuple[int, int, float]]:
    """Level strokes (left, right, y), from top to bottom."""
    reach = THICKEST_PX + 1
    padded = np.pad(grey, ((reach, reach), (0, 0)), mode="edge")
    above, below = padded[: -2 * reach], padded[2 * reach :]
    dark = np.minimum(above, below) - grey > MIN_CONTRAST
    light = grey - np.maximum(above, below) > MIN_CONTRAST
    strokes = []
    for ink in (dark, light):
        labels, _ = ndimage.label(_long_runs(ink), structure=np.ones((3, 3)))
        for rows, columns in ndimage.find_objects(labels):
            if rows.stop - rows.start <= THICKEST_PX:
                strokes.append((int(columns.start), int(columns.stop), (rows.start + rows.stop - 1) / 2.0))
    return sorted(strokes, key=lambda stroke: (stroke[2], stroke[0]))


def _long_runs(ink: BoolArray) -> BoolArray:
    """Parts of rows that are ink without a break for `SHORTEST_PX` at least."""
    if ink.shape[1] < SHORTEST_PX:
        return np.zeros_like(ink)
    padded = np.pad(ink, ((0, 0), (SHORTEST_PX, SHORTEST_PX)))
    whole = ndimage.minimum_filter1d(padded.astype(np.uint8), SHORTEST_PX, axis=1)
    opened = ndimage.maximum_filter1d(whole, SHORTEST_PX, axis=1, origin=-1 if SHORTEST_PX % 2 == 0 else 0)
    return np.asarray(opened[:, SHORTEST_PX:-SHORTEST_PX] > 0)


def _grid(strokes: list[tuple[int, int, float]], side: int) -> tuple[float, ...]:
    """Places of the long strokes, those of one line joined."""
    lengths: dict[int, int] = {}
    for start, end, place in strokes:
        near = next((key for key in lengths if abs(key - place) <= THICKEST_PX), round(place))
        lengths[near] = lengths.get(near, 0) + end - start
    longest = max(lengths.values(), default=0)
    if longest < 0.2 * side:
        return ()
    return tuple(float(place) for place, length in sorted(lengths.items()) if length >= GRID_SHARE * longest)
