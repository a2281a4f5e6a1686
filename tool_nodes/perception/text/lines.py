"""Where lines of text could be: strokes that differ from their surroundings, joined into rows of similar height."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from tool_nodes.perception.text.atlas import resized
from tool_nodes.types import BoolArray, FloatArray

WINDOW_PX = 31
"""Side of the neighbourhood that ink is compared with; text higher than this is found in a reduced picture."""
MIN_DEVIATION = 9.0
"""Standard deviation of a neighbourhood with text in it, of 255 grey levels: less contrast is not seen."""
INK_AT = 0.45
"""Ink differs from its neighbourhood's mean by this many standard deviations."""
HEIGHTS_PX = (4, 34)
"""Lowest and highest letter that is looked for [px]; chosen by hand."""
MAX_COMPONENTS, MAX_LINES = 2500, 60
"""Bounds per picture and polarity, so that a picture of gravel takes no longer than a page of text."""
TALLEST = 2.6
"""A line is at most this many letter heights high, from the highest ascender to the lowest descender."""
STRIP_BODY_PX = 28.0
"""Height of most letters of a strip [px]."""
GAP = 1.7
"""Letters of a line are at most this many letter heights apart; that is less than the gap between columns."""


TextBox = tuple[float, float, float, float]
"""Left, top, right, bottom [px]."""


@dataclass(frozen=True)
class Strip:
    """One line cut out of a picture.

    Attributes:
        ink: (h, w) coverage in [0, 1]; most letters are `STRIP_BODY_PX` high.
        left, top: Where the strip's corner is in the picture [px].
        scale: Strip pixels per picture pixel.
    """

    ink: NDArray[np.float32]
    left: float
    top: float
    scale: float


def find_strips(rgb: NDArray[np.float32], least_px: int, is_worth: Callable[[TextBox], bool]) -> Iterator[Strip]:
    """Possible lines of a picture, in all colours, with letters from least_px to about `WINDOW_PX` high.

    Args:
        rgb: (H, W, 3), 0 to 255.
        least_px: Lines whose letters are lower are left out [px].
        is_worth: False for a place that needs no look; asked before each line.
    """
    grey = rgb @ np.array([0.299, 0.587, 0.114], np.float32)
    mean, spread = _local(grey)
    for ink, boxes in _rows_of(grey, mean, spread, spread > MIN_DEVIATION, least_px, is_worth):
        yield _cut(rgb, ink, boxes)
    for channel in (rgb[..., 0] - rgb[..., 1], rgb[..., 2] - grey):
        # Colour alone separates text from its ground only where the grey levels are nearly the same.
        if float(np.ptp(channel)) < 4.0 * MIN_DEVIATION:
            continue
        mean, colourful = _local(channel)
        lively = (colourful > 2.0 * MIN_DEVIATION) & (colourful > spread)
        for ink, boxes in _rows_of(channel, mean, colourful, lively, least_px, is_worth):
            yield _cut(rgb, ink, boxes)


def _rows_of(
    channel: NDArray[np.float32],
    mean: NDArray[np.float32],
    spread: NDArray[np.float32],
    lively: BoolArray,
    least_px: int,
    is_worth: Callable[[TextBox], bool],
) -> Iterator[tuple[BoolArray, NDArray[np.intp]]]:
    """Ink (H, W), darker and lighter than its surroundings, and the boxes (N, 4) of each row of letters in it."""
    if not lively.any():
        return
    step = INK_AT * spread
    for ink in ((channel < mean - step) & lively, (channel > mean + step) & lively):
        labels, _ = ndimage.label(ink, structure=np.ones((3, 3)))
        boxes = _component_boxes(labels)
        for members in _rows(boxes, least_px):
            row = boxes[members]
            left, top = row[:, :2].min(axis=0)
            right, bottom = row[:, 2:].max(axis=0)
            if is_worth((left, top, right, bottom)):
                yield ink, row


def _local(channel: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    mean = ndimage.uniform_filter(channel, WINDOW_PX, mode="nearest")
    square = ndimage.uniform_filter(channel * channel, WINDOW_PX, mode="nearest")
    return mean, np.sqrt(np.maximum(square - mean * mean, 0.0))


def _component_boxes(labels: NDArray[np.integer]) -> NDArray[np.intp]:
    """(N, 4) left, top, right, bottom of the components that could be letters."""
    found = ndimage.find_objects(labels)
    boxes = np.array([(s[1].start, s[0].start, s[1].stop, s[0].stop) for s in found], np.intp).reshape(-1, 4)
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    low, high = HEIGHTS_PX
    boxes = boxes[(height >= low) & (height <= high) & (width <= 25 * height)]
    if len(boxes) > MAX_COMPONENTS:
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        boxes = boxes[np.sort(np.argsort(-areas, kind="stable")[:MAX_COMPONENTS])]
    return boxes


def _rows(boxes: NDArray[np.intp], least_px: int) -> list[NDArray[np.intp]]:
    """Indices of the components of each possible line, the longest lines first."""
    if not len(boxes):
        return []
    boxes_by_left = np.argsort(boxes[:, 0], kind="stable")
    left, top, right, bottom = boxes[boxes_by_left].T
    height = bottom - top
    # Only what starts soon after a component's end can be its neighbour.
    ends = np.searchsorted(left, right + GAP * HEIGHTS_PX[1], side="right")
    counts = ends - np.arange(len(left)) - 1
    i = np.repeat(np.arange(len(left)), counts)
    j = np.arange(len(i)) - np.repeat(np.cumsum(counts) - counts, counts) + i + 1
    taller, lower = np.maximum(height[i], height[j]), np.minimum(height[i], height[j])
    overlap = np.minimum(bottom[i], bottom[j]) - np.maximum(top[i], top[j])
    near = (overlap >= 0.5 * lower) & (taller <= 2.2 * lower) & (left[j] - right[i] <= GAP * taller)
    links = coo_matrix((near[near], (i[near], j[near])), shape=(len(left), len(left)))
    _, row = connected_components(links, directed=False)
    order = np.argsort(row, kind="stable")
    rows = np.split(order, np.flatnonzero(np.diff(row[order])) + 1)
    rows = [members for members in rows if _is_line(top[members], bottom[members], least_px)]
    rows.sort(key=lambda members: -int((right - left)[members].sum()))
    return [boxes_by_left[members] for members in rows[:MAX_LINES]]


def _is_line(top: NDArray[np.intp], bottom: NDArray[np.intp], least_px: int) -> bool:
    """True if the letters are high enough and stand on one level."""
    body = _body(bottom - top)
    return body >= least_px and bool(bottom.max() - top.min() <= TALLEST * body)


def _body(heights: NDArray[np.intp]) -> float:
    """Height of most letters: of capitals if there are enough of them [px]."""
    return float(np.sort(heights)[round(0.7 * (len(heights) - 1))])


def _cut(rgb: NDArray[np.float32], ink: BoolArray, boxes: NDArray[np.intp]) -> Strip:
    """The line of some components, with room for accents, descenders and punctuation, its colours made coverage."""
    body = _body(boxes[:, 3] - boxes[:, 1])
    beside, above = round(1.5 * body) + 1, round(0.5 * body) + 1
    left, top = max(boxes[:, 0].min() - beside, 0), max(boxes[:, 1].min() - above, 0)
    right, bottom = boxes[:, 2].max() + beside, boxes[:, 3].max() + above
    window = np.s_[top:bottom, left:right]
    inked = np.zeros_like(ink[window])
    for x0, y0, x1, y1 in boxes - (left, top, left, top):
        inked[y0:y1, x0:x1] = ink[top + y0 : top + y1, left + x0 : left + x1]
    coverage = _coverage(rgb[window], inked, ink[window])
    scale = STRIP_BODY_PX / body
    return Strip(resized(coverage, scale), float(left), float(top), scale)


def _coverage(colours: NDArray[np.float32], inked: BoolArray, all_ink: BoolArray) -> NDArray[np.float32]:
    """How much of each pixel is ink, in [0, 1], from its place between the ground's colour and the ink's."""
    height, width = inked.shape
    y, x = np.mgrid[-1 : 1 : height * 1j, -1 : 1 : width * 1j]
    terms = np.stack([np.ones_like(x), x, y], axis=-1).reshape(-1, 3)
    ground = ~ndimage.binary_dilation(all_ink, iterations=2).ravel()
    if np.count_nonzero(ground) < 12:
        ground = ~all_ink.ravel()
    flat = colours.reshape(-1, 3)
    difference = flat - _plane(terms, flat, ground)
    where = inked.ravel()
    direction = difference[where].mean(axis=0)
    length = float(np.linalg.norm(direction))
    if length < 1.0:
        return np.zeros((height, width), np.float32)
    along = difference @ (direction / length)
    full = float(np.quantile(along[where], 0.8))
    return np.clip(along / max(full, 1.0), 0.0, 1.0).astype(np.float32).reshape(height, width)


def _plane(terms: FloatArray, colours: NDArray[np.float32], where: BoolArray) -> NDArray[np.float32]:
    """Colours of the ground, which may change evenly over the strip; what lies off the plane is left out once."""
    if np.count_nonzero(where) < 12:
        return np.broadcast_to(np.median(colours, axis=0), colours.shape)
    chosen = np.flatnonzero(where)[:: max(1, np.count_nonzero(where) // 1000)]
    middle = np.median(colours[chosen], axis=0)
    off = np.abs(colours[chosen] - middle).max(axis=1)
    chosen = chosen[off <= 3.0 * np.median(off) + 6.0]
    fitted, *_ = np.linalg.lstsq(terms[chosen], colours[chosen], rcond=None)
    return np.asarray(terms @ fitted, np.float32)
