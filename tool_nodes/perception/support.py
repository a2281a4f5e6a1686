"""Which objects of an image lie on which, by where their outlines meet: what has to be taken away to get at one.

Two outlines meet where pixels of both are next to each other and their points are close in space, too. The object that
is the higher one along such a line lies on the other, or leans on it: it falls or is lifted along where the other is
taken. An image does not show what carries what: that it is so is a probability, fitted to piles of known contacts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import cKDTree

from toolhand.tool_nodes.perception.extents import distance_to_outline, outline
from toolhand.tool_nodes.perception.masks import inner_point, window_of
from toolhand.tool_nodes.perception.surface import SOLID_M, Surface, find_surface
from toolhand.tool_nodes.types import BoolArray, Frame

_MEET_PX = 4.0
"""Pixels of two masks that are no farther apart are next to each other [px of 640x480]: masks end a pixel or two before
their objects do."""
_AVERAGED_PX = 5
"""Side of the patch of one object over which its points are averaged [px]: the edges of objects are the noisiest."""
_TOUCH_M = 0.02
"""Points of two objects are close where they are no farther apart [m]: half of the smallest object. At an edge that
hides what is behind it the surfaces that are seen are a few millimetres off the contact."""
_ABOVE_M = 0.003
"""One is the higher one by more than this [m]: the noise of the averaged depth."""
_PER_LENGTH, _PER_HEIGHT, _WITHOUT = 0.49, 36.0, -2.66
"""Log odds that one object lies on another: for the logarithm of the pixels along the line where it is the higher one,
for each metre that its middle height is above the other's, and without either [-, 1/m, -]. Fitted to 3,397 pairs of
segments of piles of ten, seeds 810000 to 810024, with the contacts of the physics as truth: left out a scene at a time,
the area under the curve is 0.81."""
_MOST_HEIGHT_M = 0.03
"""A greater difference of the middle heights says no more [m]."""
_FOOT_M = 0.012
"""What is seen to begin lower than this over the table stands on it, beside what it touches [m]: of the pairs above one
in ten of those that rest on each other is given up so, and neighbours that touch are told from stacks."""
_LIES, _SURELY_LIES = 0.4, 0.5
"""Probability from which on something lies on the object that is asked about, and on what lies on that [-]: there every
error would name objects farther and farther away."""
_FINGER_M = 0.025
"""What is nearer than this to an object, seen from above, leaves no room for a finger [m]: one is 14 mm thick in the
model of the 2F-85, and keeps 5 mm clear on either side."""
_STANDS_OUT_M = 0.015
"""What hems an object in is higher than this over the lowest that is seen of it [m]: below, fingertips pass over it."""
_LEAST_PX = 30
"""Fewer pixels with depth are no object [px]; a round figure."""


@dataclass(frozen=True)
class Lie:
    """How one object of an image lies among others.

    Attributes:
        above: Indices of what lies on it, or on something that does: the one first that can be taken away first,
            because nothing lies on it.
        beside: Indices of what leaves no room for a finger beside it, the nearest first; none of those above.
        seen: Share of it that is seen, in (0, 1], as far as its outline tells: what would make it convex, and where
            something nearer is seen, is hidden.
    """

    above: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()
    seen: float = 1.0

    @property
    def first(self) -> int | None:
        """Index of what is to be taken away first; None where nothing is in the way."""
        return next(iter((*self.above, *self.beside)), None)

    def facts(self, masks: Sequence[BoolArray]) -> dict[str, Any]:
        """The same as plain data, `above` and `beside` as normalized points [x, y] inside of their masks (H, W)."""

        def points(found: Sequence[int]) -> list[list[float]]:
            return [[round(value, 3) for value in inner_point(masks[k])] for k in found]

        return {"seen": round(self.seen, 3), "above": points(self.above), "beside": points(self.beside)}


def lie_of(frame: Frame, masks: Sequence[BoolArray], target: int) -> Lie:
    """How an object lies among the others of an image.

    Args:
        frame: The image, with depth.
        masks: bool (H, W), an object each. A pixel of several is the target's, or that of the first of them.
        target: Index of the object that is asked about.

    Raises:
        ToolError: NO_DEPTH where no depth is known.
    """
    surface = find_surface(frame)
    with np.errstate(invalid="ignore"):
        known = np.isfinite(surface.height)
    apart, taken = dict[int, BoolArray](), np.zeros(known.shape, bool)
    for index in (target, *(k for k in range(len(masks)) if k != target)):
        own = masks[index] & ~taken & known
        taken |= own
        if np.count_nonzero(own) >= _LEAST_PX / surface.coarse**2 or index == target:
            apart[index] = own
    if not apart[target].any():
        return Lie()
    over = _all_over(surface, apart, target)
    near = [k for k in _hemming(surface, apart, target) if k not in over]
    return Lie(tuple(over), tuple(near), _seen_share(frame, apart, target))


def _all_over(surface: Surface, masks: dict[int, BoolArray], target: int) -> list[int]:
    """Indices of what lies on the target, directly or not; what nothing lies on first, the highest of these first."""
    on: dict[int, list[int]] = {}
    open_ones = [target]
    while open_ones:
        index = open_ones.pop()
        least = _LIES if index == target else _SURELY_LIES
        others = [k for k in masks if k not in (index, target)]
        on[index] = [k for k in others if lies_on(surface, masks[k], masks[index]) >= least]
        open_ones += [k for k in on[index] if k not in on and k not in open_ones]
    top = {k: float(np.percentile(surface.height[masks[k]], 95)) for k in on}
    left, order = [k for k in on if k != target], list[int]()
    while left:
        # Noise may have two lie on each other: then the higher one goes first.
        free = [k for k in left if not any(above in left for above in on[k])] or left
        order.append(max(free, key=lambda k: top[k]))
        left.remove(order[-1])
    return order


def lies_on(surface: Surface, upper: BoolArray, lower: BoolArray) -> float:
    """Probability that one object lies on another.

    Args:
        surface: The image's cloud.
        upper: bool (H, W), the object that may lie on the other, with depth in every pixel.
        lower: The same of the other.
    """
    reach = max(_MEET_PX / surface.coarse, 1.0)
    window = window_of(lower, int(reach) + 1)
    below, above = lower[window], upper[window]
    if not above.any() or float(np.percentile(surface.height[upper], 3)) < _FOOT_M:
        return 0.0
    away, nearest = ndimage.distance_transform_edt(~below, return_indices=True)
    rows, columns = np.nonzero(above & (away <= reach))
    if not rows.size:
        return 0.0
    points = surface.points[window]
    low = _averaged(points, below)[tuple(axis[rows, columns] for axis in nearest)]
    high = _averaged(points, above)[rows, columns]
    close = np.linalg.norm(high - low, axis=1) < _TOUCH_M
    along = np.count_nonzero(close & ((high - low)[:, 2] > _ABOVE_M)) * surface.coarse**2
    if not along:
        return 0.0
    higher = float(np.median(surface.height[upper]) - np.median(surface.height[lower]))
    higher = float(np.clip(higher, -_MOST_HEIGHT_M, _MOST_HEIGHT_M))
    odds = _PER_LENGTH * np.log1p(along) + _PER_HEIGHT * higher + _WITHOUT
    return float(1.0 / (1.0 + np.exp(-odds)))


def _averaged(points: NDArray[np.float32], mask: BoolArray) -> NDArray[np.float32]:
    """Points (h, w, 3), each as the mean of those of a mask (h, w) about it [m]."""
    weight = ndimage.uniform_filter(mask.astype(np.float32), _AVERAGED_PX)
    total = ndimage.uniform_filter(np.where(mask[:, :, None], points, np.float32(0.0)), (_AVERAGED_PX, _AVERAGED_PX, 1))
    return np.asarray(total / np.maximum(weight, np.float32(1e-6))[:, :, None], np.float32)


def _hemming(surface: Surface, masks: dict[int, BoolArray], target: int) -> list[int]:
    """Indices of what stands so near to the target that no finger has room between, the nearest first."""
    own = surface.points[masks[target]]
    tree = cKDTree(own[:, :2])
    least = max(float(np.percentile(own[:, 2], 3)), 0.0) + _STANDS_OUT_M
    found: list[tuple[float, int]] = []
    for index, mask in masks.items():
        points = surface.points[mask]
        points = points[points[:, 2] > least]
        if index == target or not len(points):
            continue
        away = float(np.percentile(tree.query(points[:, :2], distance_upper_bound=1.0)[0], 2))
        if away < _FINGER_M:
            found.append((away, index))
    return [index for _, index in sorted(found)]


def _seen_share(frame: Frame, masks: dict[int, BoolArray], target: int) -> float:
    """Share of the target that is seen, see `Lie`."""
    own = masks[target]
    window = window_of(own)
    rows, columns = np.nonzero(own[window])
    corners = outline(np.column_stack([columns, rows]))
    if len(corners) < 3:
        return 1.0
    shape = own[window].shape
    grid = np.stack(np.meshgrid(np.arange(shape[1]), np.arange(shape[0])), axis=-1)
    inside = distance_to_outline(grid.astype(np.float32), corners) <= 0.0
    distance = float(np.median(frame.depth[own]))
    others = np.any([mask[window] for k, mask in masks.items() if k != target] or [np.zeros(shape, bool)], axis=0)
    with np.errstate(invalid="ignore"):
        hidden = inside & others & (frame.depth[window] < distance + SOLID_M)
    return float(rows.size / (rows.size + np.count_nonzero(hidden)))
