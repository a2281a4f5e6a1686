"""What a lift took from the table, from the depth pictures before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tool_nodes import workspace
from tool_nodes.geometry import backproject, transform
from tool_nodes.types import BoolArray, FloatArray, Frame, GraspTarget

CHANGED_M = 0.006
"""A pixel shows something else when its depth differs by more [m]: several times the noise of the depth."""
_NOISE_SHARE = 0.25
"""The noise that is left may be this share of it [-]; noisier depth is averaged first."""
_MOST_AVERAGED_PX = 7
"""Side of the largest patch that is averaged [px]."""
_LEAST_SIDE_PX = 3
"""What has changed is so wide and high at the least [px]: edges flicker by less."""

ELEVATED_M = 0.008
"""Points higher than this above the table belong to a thing [m]."""
_HIGHEST_M = 0.35
"""Higher points belong to the robot or the room [m]."""
HAND_M = 0.25
"""What is nearer than this to the hand is the hand, or what it holds [m]; a round figure."""

GONE_SHARE = 0.5
"""A thing is gone when more of what was seen of it is [-]."""
_POINT_GONE_SHARE = 0.7
"""What was pointed at is gone when more of what is around the point is [-]. Of each of 62 that were lifted 0.8 was, of
one that was pushed by 18 mm 0.53."""
_PUSHED_SHARE = 0.4
"""What is gone beside the target was pushed where more than this is new elsewhere [-]: a part may be out of sight."""
_POINT_PX = 3
"""What lies so far around a point was pointed at [px]."""
_SAME_COLOUR = 30.0
"""Pixels whose colours are nearer than this may show the same thing [grey levels]; a round figure."""
_MOVED_SHARE = 0.4
"""What was pointed at was pushed, not lifted, where more of its colour than this is seen in a new place [-]. What comes
into view behind it in the same colour was up to 0.21 of it, things that were pushed from 0.65 on."""
_RIM_PX = 4
"""Pixels that the thing may reach beyond its outline."""
_ANOTHER_M2 = 2.5e-4
"""What is seen of another thing has at least this area [m^2]: of the smallest products' tops."""


@dataclass(frozen=True)
class Lift:
    """What two pictures say about a lift; points are normalized (x, y), from the top left.

    Attributes:
        lifted: bool (H, W), where the first picture shows what was lifted, and whatever was pushed meanwhile.
        stays: A point of the target where it still stands; None where the target is gone.
        beside: A point beside the target where something else has left the table; None where nothing has.
    """

    lifted: BoolArray
    stays: tuple[float, float] | None
    beside: tuple[float, float] | None


def what_was_lifted(before: Frame, after: Frame, target: GraspTarget, hand_base: FloatArray) -> Lift:
    """Compare the pictures from before and after a lift.

    A thing that was pushed is gone from where it stood and new elsewhere; what was lifted is new nowhere.

    Args:
        before: The picture that the mask of the target belongs to, with depth.
        after: One by the same camera, with the hand away from the table.
        target: The thing that was to be lifted.
        hand_base: (3,) where the hand is in the second picture, base frame [m].
    """
    nearer = _difference(before.depth, after.depth)
    cloud_before, cloud_after = (_cloud(frame) for frame in (before, after))
    gone = _opened(_on_table(cloud_before, hand_base) & (nearer < -CHANGED_M))
    new = _opened(_on_table(cloud_after, hand_base) & (nearer > CHANGED_M))
    seen = target.mask & _on_table(cloud_before, hand_base)
    other = _opened(_on_table(cloud_after, hand_base) & (np.abs(nearer) > CHANGED_M))
    area = (before.depth.astype(float) ** 2) / float(before.K[0, 0] * before.K[1, 1])
    outline = np.asarray(ndimage.binary_dilation(target.mask, iterations=_RIM_PX), bool)
    stays = _still_there(target, seen, gone) or _only_moved(target, seen, gone, other, before, after)
    beside = _gone_beside(outline, gone, new, area)
    return Lift(gone & outline if stays is None and beside is None else gone, stays, beside)


def _still_there(target: GraspTarget, seen: BoolArray, gone: BoolArray) -> tuple[float, float] | None:
    for point, at in zip(target.points, _pixels(target, seen.shape), strict=True):
        if not _mostly(gone[_window(at)], seen[_window(at)], _POINT_GONE_SHARE):
            return point
    if target.points or _mostly(gone, seen):
        return None
    return _middle(seen & ~gone)


def _only_moved(
    target: GraspTarget, seen: BoolArray, gone: BoolArray, other: BoolArray, before: Frame, after: Frame
) -> tuple[float, float] | None:
    """Where what was pointed at lies now, if it was pushed.

    More of its colour is seen then, where something else was before, than other things of that colour have left.
    """
    for at in _pixels(target, seen.shape):
        colour = np.median(before.rgb[_window(at)][seen[_window(at)]], axis=0) if seen[_window(at)].any() else None
        if colour is None or not seen[at]:
            continue
        alike, _ = ndimage.label(seen & _coloured(before, colour), structure=np.ones((3, 3)))
        own, now = alike == alike[at], other & _coloured(after, colour)
        left = gone & _coloured(before, colour) & ~own
        if alike[at] and int(now.sum()) - int(left.sum()) > _MOVED_SHARE * int(own.sum()):
            return _middle(now)
    return None


def _coloured(frame: Frame, colour: FloatArray) -> BoolArray:
    """Which pixels (H, W) have nearly a colour (3,)."""
    return np.asarray(((frame.rgb.astype(float) - colour) ** 2).sum(axis=2) < _SAME_COLOUR**2, bool)


def _pixels(target: GraspTarget, shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """(row, column) of what was pointed at."""
    height, width = shape
    return [(min(int(y * height), height - 1), min(int(x * width), width - 1)) for x, y in target.points]


def _window(at: tuple[int, int]) -> tuple[slice, slice]:
    row, column = at
    return (
        slice(max(row - _POINT_PX, 0), row + _POINT_PX + 1),
        slice(max(column - _POINT_PX, 0), column + _POINT_PX + 1),
    )


def _mostly(gone: BoolArray, seen: BoolArray, share: float = GONE_SHARE) -> bool:
    """True if more than a share of the pixels that showed the thing, all where none did, show it no longer."""
    shown = int(seen.sum())
    return not shown or int((gone & seen).sum()) > share * shown


def _gone_beside(outline: BoolArray, gone: BoolArray, new: BoolArray, area: FloatArray) -> tuple[float, float] | None:
    labels, count = ndimage.label(gone & ~outline, structure=np.ones((3, 3)))
    if not count:
        return None
    areas = ndimage.sum_labels(area, labels, range(1, count + 1))
    large = np.flatnonzero(areas > _ANOTHER_M2)
    left, come = float(areas[large].sum()), float(area[new].sum())
    if not large.size or left - come < _ANOTHER_M2 or come > _PUSHED_SHARE * left:
        return None
    return _middle(labels == 1 + int(np.argmax(areas)))


def _difference(before: NDArray[np.float32], after: NDArray[np.float32]) -> NDArray[np.float32]:
    """How much nearer (H, W) things are afterwards [m], 0 where not known; averaged as far as the noise demands."""
    nearer = np.nan_to_num(before - after, posinf=0.0, neginf=0.0)
    noise = 1.4826 * float(np.median(np.abs(nearer)))
    side = min(int(np.ceil(noise / (_NOISE_SHARE * CHANGED_M))), _MOST_AVERAGED_PX)
    return nearer if side <= 1 else np.asarray(ndimage.uniform_filter(nearer, size=side), np.float32)


def _cloud(frame: Frame) -> NDArray[np.float32]:
    """(H, W, 3) points in the base frame [m]."""
    return transform(frame.T_base_camera, backproject(frame.depth, frame.K)).reshape(*frame.depth.shape, 3)


def _on_table(cloud: NDArray[np.float32], hand: FloatArray) -> BoolArray:
    """Which points (H, W, 3) belong to things on the table."""
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    x, y, z = (cloud[..., axis] for axis in range(3))
    with np.errstate(invalid="ignore"):
        inside = (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)
        inside &= (z > workspace.TABLE_Z + ELEVATED_M) & (z < _HIGHEST_M)
        inside &= (x - hand[0]) ** 2 + (y - hand[1]) ** 2 + (z - hand[2]) ** 2 > HAND_M**2
    return np.asarray(inside, bool)


def _opened(mask: BoolArray) -> BoolArray:
    return np.asarray(ndimage.binary_opening(mask, np.ones((_LEAST_SIDE_PX, _LEAST_SIDE_PX), bool)))


def _middle(mask: BoolArray) -> tuple[float, float] | None:
    """Normalized point in the middle of the true pixels, which is one of them."""
    rows, columns = np.nonzero(mask)
    if not rows.size:
        return None
    at = int(np.argmin((rows - np.median(rows)) ** 2 + (columns - np.median(columns)) ** 2))
    height, width = mask.shape
    return float((columns[at] + 0.5) / width), float((rows[at] + 0.5) / height)
