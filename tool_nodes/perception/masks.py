"""Object masks: bounding boxes, points to point at, and the mask that a point means."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import ndimage

from toolhand.tool_nodes.geometry import pixel
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame, Segmentation

_NEAR_MISS_PX = 8.0
"""A point this near to a mask still means it [px]; a round figure."""

Window = tuple[slice, slice]


def window_of(mask: BoolArray, margin: int = 0) -> Window:
    """Rows and columns that hold the true pixels of a mask (H, W) that is not empty, and a margin around them [px]."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return (
        slice(max(int(rows[0]) - margin, 0), int(rows[-1]) + 1 + margin),
        slice(max(int(columns[0]) - margin, 0), int(columns[-1]) + 1 + margin),
    )


def widened(window: Window, margin: int) -> Window:
    """A window with a margin around it, cut off at the upper and left edge of the image [px]."""
    rows, columns = window
    return (
        slice(max(rows.start - margin, 0), rows.stop + margin),
        slice(max(columns.start - margin, 0), columns.stop + margin),
    )


def dilated(mask: BoolArray, diagonally: bool = False) -> BoolArray:
    """The mask (H, W) and its neighbours on four sides, or on eight: `ndimage.binary_dilation`, many times faster."""
    grown = mask.copy()
    grown[1:] |= mask[:-1]
    grown[:-1] |= mask[1:]
    rows = grown.copy() if diagonally else mask
    grown[:, 1:] |= rows[:, :-1]
    grown[:, :-1] |= rows[:, 1:]
    return grown


def grown(mask: BoolArray, by: int) -> BoolArray:
    """The mask (H, W) and all that is no farther from it than so many pixels."""
    height, width = mask.shape
    # A disc is a stack of bars: how many pixels of the mask lie under a bar is a difference of sums along the row.
    sums = np.cumsum(np.pad(mask, ((by, by), (by + 1, by))), axis=1, dtype=np.int32)
    found = np.zeros(mask.shape, dtype=bool)
    for row in range(2 * by + 1):
        half = math.isqrt(by**2 - (row - by) ** 2)
        under = sums[row : row + height]
        found |= under[:, by + half + 1 :][:, :width] != under[:, by - half :][:, :width]
    return found


def eroded(mask: BoolArray, diagonally: bool = False) -> BoolArray:
    """The mask (H, W) without its pixels at an edge, its own or the image's: as `ndimage.binary_erosion`."""
    outside = np.pad(~mask, 1, constant_values=True)
    return ~dilated(outside, diagonally)[1:-1, 1:-1]


def filled(mask: BoolArray) -> BoolArray:
    """The mask (H, W) with its holes: `ndimage.binary_fill_holes`, several times faster."""
    outside, _ = ndimage.label(np.pad(~mask, 1, constant_values=True))
    return outside[1:-1, 1:-1] != outside[0, 0]


def inner_point(mask: BoolArray) -> tuple[float, float]:
    """The normalized point (x, y) of a mask (H, W) that is farthest from its outline."""
    rows, columns = window_of(mask)
    depth = ndimage.distance_transform_edt(np.pad(mask[rows, columns], 1))[1:-1, 1:-1]
    v, u = divmod(int(np.argmax(depth)), depth.shape[1])
    height, width = mask.shape
    return (u + columns.start + 0.5) / width, (v + rows.start + 0.5) / height


def masks_at(
    frame: Frame,
    points: Sequence[tuple[float, float]],
    masks: Sequence[BoolArray],
    ious: Sequence[float],
) -> list[Segmentation]:
    """The masks under normalized points, the one under most of them first; a near miss counts for the nearest mask.

    Args:
        frame: The image.
        points: At least one (x, y) in [0, 1].
        masks: bool (H, W), one per object.
        ious: Predicted IoU of each mask.

    Raises:
        ToolError: EMPTY_MASK where there is no object, INVALID_ARGUMENT for no or bad points.
    """
    votes = votes_at(frame, points, masks)
    found = [int(k) for k in np.argsort(-votes, kind="stable") if votes[k] > 0]
    return [Segmentation(masks[k], ious[k] * float(votes[k]) / len(points)) for k in found]


def votes_at(frame: Frame, points: Sequence[tuple[float, float]], masks: Sequence[BoolArray]) -> FloatArray:
    """(len(masks),) how many of the points each mask is under; a near miss counts for the nearest mask.

    Raises:
        ToolError: As `masks_at`.
    """
    if not points:
        raise invalid("Segmentation needs at least one image point (x, y).")
    votes = np.zeros(len(masks))
    for point in points:
        u, v = pixel(point, frame.size)
        hits = np.array([mask[v, u] for mask in masks], dtype=bool)
        if not hits.any():
            distances = np.array([miss_px(mask, u, v) for mask in masks])
            hits = distances <= min(_NEAR_MISS_PX, distances.min(initial=np.inf))
        votes += hits
    if not votes.any():
        where = ", ".join(f"({x:.3f}, {y:.3f})" for x, y in points)
        raise ToolError(ErrorCode.EMPTY_MASK, f"There is no object at {where}.", "Point at an object first.")
    return votes


def miss_px(mask: BoolArray, u: int, v: int) -> float:
    """Distance [px] from a pixel to the nearest pixel of a mask, if that is within the near-miss radius; else inf."""
    reach = int(_NEAR_MISS_PX)
    near = mask[max(v - reach, 0) : v + reach + 1, max(u - reach, 0) : u + reach + 1]
    rows, columns = np.nonzero(near)
    if not len(rows):
        return float("inf")
    return float(np.hypot(rows + max(v - reach, 0) - v, columns + max(u - reach, 0) - u).min())


def expected_iou(mask: BoolArray, error_px: float = 0.5) -> float:
    """IoU to expect of a mask (H, W) of one object, whose outline is wrong by `error_px` on average [px]."""
    area = mask[window_of(mask)] if mask.any() else mask
    outline = int(np.count_nonzero(area & ~eroded(area)))
    return max(1.0 - error_px * outline / max(int(np.count_nonzero(mask)), 1), 0.0)
