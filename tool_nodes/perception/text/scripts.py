"""Raised and lowered characters of a line: x₂ and x2 are read alike, but they do not stand alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

_TALL = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789bdfhklt")
_LOW = frozenset("acemnorsuvwxz")
_HANGING = frozenset("gpqy")
"""Letters by where their ink begins and ends: up to capitals' height, half as high, and below the line too."""
_INK = 0.4
"""Ink differs from the ground by this part of the greatest difference in the line [-]; a round figure."""
_RAISED, _HANGING_RAISED = 0.25, 0.1
"""A raised letter ends this far above the line, in heights of its capitals; usual is half of it. A round figure."""
_LOWERED = {True: 0.75, False: 0.45}
"""A lowered letter, tall or not, begins less than this far above the line, in heights of its capitals; usual are 1.0
and 0.75 on the line, 0.45 and 0.3 below it."""
_ENOUGH = 2
"""Letters of known shape that are needed to find the line."""


def levels(cut: NDArray[np.uint8], characters: Sequence[str], places: Sequence[float]) -> list[int]:
    """Which characters of a line are raised (1) or lowered (-1); 0 for all others, and where it is unclear.

    Args:
        cut: The line alone, level, (h, w, 3).
        characters: Characters of the line, without blanks.
        places: Where about the middle of each is, from the left [px].
    """
    boxes = _boxes(cut, places)
    solid = [k for k, c in enumerate(characters) if c in _TALL and k in boxes]
    standing = [k for k, c in enumerate(characters) if c in _TALL | _LOW and k in boxes]
    if not solid or len(standing) < _ENOUGH:
        return [0] * len(characters)
    line = float(np.median([boxes[k][1] for k in standing]))
    capital = float(np.max([boxes[k][1] - boxes[k][0] for k in solid]))
    found = []
    for k, character in enumerate(characters):
        if k not in boxes or character not in _TALL | _LOW | _HANGING:
            found.append(0)
            continue
        top, bottom = ((line - edge) / capital for edge in boxes[k])
        raised = bottom > (_HANGING_RAISED if character in _HANGING else _RAISED)
        found.append(1 if raised else -1 if top < _LOWERED[character in _TALL] else 0)
    return found


def _boxes(cut: NDArray[np.uint8], places: Sequence[float]) -> dict[int, tuple[int, int]]:
    """Top and bottom of the ink of each character [px]; every blob of ink belongs to the nearest one."""
    grey = cut.astype(np.float32).mean(axis=2)
    difference = np.abs(grey - np.median(grey))
    labels, _ = ndimage.label(difference > _INK * difference.max(), np.ones((3, 3)))
    found: dict[int, tuple[int, int]] = {}
    for rows, columns in ndimage.find_objects(labels):
        if rows.stop - rows.start <= 1:  # a speck
            continue
        nearest = int(np.argmin(np.abs(np.asarray(places) - (columns.start + columns.stop) / 2.0)))
        top, bottom = found.get(nearest, (rows.start, rows.stop))
        found[nearest] = min(top, rows.start), max(bottom, rows.stop)
    return found
