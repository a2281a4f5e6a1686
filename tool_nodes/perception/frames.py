"""Helpers about whole frames that every backend uses."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import MethodType
from typing import Generic, TypeVar
from weakref import WeakMethod

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes.types import Frame

_CACHED_FRAMES = 4
"""Frames whose results are kept."""
_HOLE_PX = 40
"""Holes in the depth up to this large are filled [px]; a round figure."""
_HOLE_SPREAD_M = 0.02
"""Only if the depths around them differ by less than this [m]; a round figure."""

T = TypeVar("T")


class FrameCache(Generic[T]):
    """Remembers what was computed from the last few frames, also of a frame's copy from another process.

    Args:
        compute: Makes the value of a frame. A method is held weakly: its object owns the cache, and would otherwise,
            with the frames of some MB each, be kept by it until the garbage collector comes.
    """

    def __init__(self, compute: Callable[[Frame], T]) -> None:
        self._compute = WeakMethod(compute) if isinstance(compute, MethodType) else lambda: compute
        self._known: deque[tuple[Frame, T]] = deque(maxlen=_CACHED_FRAMES)

    def __call__(self, frame: Frame) -> T:
        """The value of a frame, computed once."""
        known = tuple(self._known)  # another thread may add one: a call that ran out of time
        for seen, value in known:
            if seen is frame:
                return value
        for seen, value in known:
            if seen.stamp == frame.stamp and seen.key == frame.key:  # hashed only where it may be the same
                return value
        compute = self._compute()
        assert compute is not None, "the object of the method is gone"
        value = compute(frame)
        self._known.append((frame, value))
        return value


def fill_holes(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """Depth (H, W) [m] with holes of up to 40 pixels filled from their border, where that is smooth within 2 cm."""
    missing = ~np.isfinite(depth)
    filled = np.where(missing, np.float32(np.nan), depth)
    if not missing.any() or missing.all():
        return filled
    labels, n = ndimage.label(missing)
    sizes = np.bincount(labels.ravel())
    windows = ndimage.find_objects(labels)
    for label in range(1, n + 1):
        if sizes[label] > _HOLE_PX:
            continue
        rows, columns = windows[label - 1]
        area = slice(max(rows.start - 1, 0), rows.stop + 1), slice(max(columns.start - 1, 0), columns.stop + 1)
        hole = labels[area] == label
        border = depth[area][ndimage.binary_dilation(hole) & ~missing[area]]
        if len(border) and np.ptp(border) < _HOLE_SPREAD_M:
            filled[area][hole] = np.median(border)
    return filled
