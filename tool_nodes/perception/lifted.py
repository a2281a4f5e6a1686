"""What a lift took from the table, from the depth pictures before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tool_nodes import workspace
from tool_nodes.geometry import backproject, transform
from tool_nodes.perception.one_thing import probably_one
from tool_nodes.perception.surface import find_surface
from tool_nodes.types import BoolArray, FloatArray, Frame, GraspTarget

CHANGED_M = 0.006
"""A pixel shows something else when its depth differs by more [m]: several times the noise of the depth."""
_LEAST_CHANGE_M = 0.003
"""Where there is less noise, a smaller difference counts [m]: down to half of the thickness of a ruler."""
_NOISE_SHARE = 0.25
"""The noise that is left may be this share of it [-]; noisier depth is averaged first."""
_MOST_AVERAGED_PX = 7
"""Side of the largest patch that is averaged [px]."""
_LEAST_SIDE_PX = 3
"""What has changed is so wide and high at the least [px]: edges flicker by less."""

_SURE_SIGMAS = 3.0
"""What is new, or gone beside the target, differs by more than so many standard deviations of the noise [-]: of all the
pixels of a picture, unlike of those of the target, some are beyond two."""
_HOLE_PX = 3.0
"""Holes of the depth are filled as far as this from what is known [px]: those of single pixels and of glossy spots."""
_LEAST_HIGH_M = 0.015
"""What has left the table uncovers something lower by more than this, or the table [m]: half of the smallest thing."""
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
_NEAREST_PX = (2 * _POINT_PX + 1) ** 2
"""Pixels nearest to a point that say whether the thing is still there [-]: as many as lie so far around it."""
_TELLING = 2.0
"""A surface tells whether it is still there where the table is farther behind it than so many times what counts as a
change [-]: the floor of a bowl is not, its rim is. Halfway between both readings then lies what counts as a change."""
_SAME_COLOUR = 30.0
"""Pixels whose colours are nearer than this may show the same thing [grey levels]; a round figure."""
_SAME_HUE = np.radians(10.0)
"""Angle between two colours of one surface that is lit from other sides [rad]: 8.5 degrees were seen."""
_LIT = 1.6
"""Ratio of the brightness of two colours of one surface that is lit from other sides [-]: 1.3 was seen."""
_MOVED_SHARE = 0.4
"""What was pointed at was pushed, not lifted, where more of its colour than this is seen in a new place [-]. What comes
into view behind it in the same colour was up to 0.21 of it, things that were pushed from 0.65 on."""
_LOST_SHARE = 0.5
"""What stood beside the target is still there where less than this of its colour has gone [-]; a round figure."""
_PART_PX = 20
"""Smaller parts than this are not looked at by themselves [px]: they are less than the least area of another thing."""
_RIM_PX = 4
"""Pixels that the thing may reach beyond its outline."""
_ANOTHER_M2 = 2.5e-4
"""What is seen of another thing has at least this area [m^2]: of the smallest products' tops."""
_FRINGE_PX = 5
"""What is narrower is the edge of a thing that stereo widens [px]: of 40 bowls and tubes it made up to 4 more than its
mask."""
_ONE_THING = 0.04
"""What vanished together is one thing from this probability on, by its relief and colours [-]: even odds where one
neighbour in 25 comes up with its target, as in 2 of 40 lifts from piles and packed things. Parts of one thing were
given 0.06 to 1, but for one of seven, and four neighbours of five 0.02 at the most."""


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
    depths = _filled(before.depth), _filled(after.depth)
    nearer, noise = _difference(*depths)
    surely = np.maximum(CHANGED_M, _SURE_SIGMAS * noise)
    changed = np.clip(_SURE_SIGMAS * noise, _LEAST_CHANGE_M, CHANGED_M)
    clouds = [_cloud(frame, depth) for frame, depth in zip((before, after), depths, strict=True)]
    plane = _table(before)
    heights = [cloud[..., 2] - (plane[0] + cloud[..., :2] @ plane[1:]) for cloud in clouds]
    stood, stands = (_on_table(*seen, hand_base) for seen in zip(clouds, heights, strict=True))
    # What has come to lie where the target was seen, of clearly another colour, says nothing about it.
    with np.errstate(invalid="ignore"):
        covered = (nearer > -changed) & _another_surface(before, after)
        eye = before.T_base_camera[:3, 3]
        above = float(eye[2] - (plane[0] + eye[:2] @ plane[1:]))
        behind = heights[0] * depths[0] / (above - heights[0])  # to the table, along the optical axis
        telling = behind > _TELLING * changed
    seen = target.mask & stood & telling & np.isfinite(nearer) & ~covered
    gone = _opened(stood & (nearer < -changed))
    new, other = _opened(stands & (nearer > surely)), _opened(stands & (np.abs(nearer) > surely))
    # What has rolled or been turned a little in its place is a little farther away, too: it has not left the table.
    with np.errstate(invalid="ignore"):
        high, now = heights
        fell = high - now > np.maximum(_LEAST_HIGH_M, surely)
        bare = (high > surely) & (now < ELEVATED_M + noise)
    left = _opened(stood & (nearer < -surely) & (fell | bare))
    area = np.nan_to_num(depths[0].astype(float)) ** 2 / float(before.K[0, 0] * before.K[1, 1])
    outline = np.asarray(ndimage.binary_dilation(target.mask, iterations=_RIM_PX), bool)
    stays = _still_there(target, seen, gone) or _only_moved(target, seen, gone, other, before, after)
    again, theirs = _seen_again(outline, left, stood, stands, before, after)
    beside = _gone_beside(before, target.mask, left & ~outline & ~again, new & ~theirs, area)
    return Lift(gone & outline if stays is None and beside is None else gone, stays, beside)


def _still_there(target: GraspTarget, seen: BoolArray, gone: BoolArray) -> tuple[float, float] | None:
    """Where the target still stands: by what of it is nearest to each point; without points by the whole of it."""
    rows, columns = np.nonzero(seen)
    if not rows.size:
        return None
    if not target.points:
        return None if _mostly(gone, seen) else _middle(seen & ~gone)
    for point, (row, column) in zip(target.points, _pixels(target, seen.shape), strict=True):
        nearest = np.argsort((rows - row) ** 2 + (columns - column) ** 2, kind="stable")[:_NEAREST_PX]
        if gone[rows[nearest], columns[nearest]].mean() <= _POINT_GONE_SHARE:
            return point
    return None


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


def _hued(frame: Frame, colour: FloatArray) -> BoolArray:
    """Which pixels (H, W) may show a surface of a colour (3,), however brightly it is lit there."""
    return _one_surface(frame.rgb.astype(np.float32), colour.astype(np.float32))


def _one_surface(first: NDArray[np.float32], second: NDArray[np.float32]) -> BoolArray:
    """Which colours (..., 3) and (..., 3) may be those of one surface, lit from other sides."""
    dark, light = (np.sqrt((colours**2).sum(axis=-1)) + 1.0 for colours in (first, second))
    ratio = np.maximum(dark, light) / np.minimum(dark, light)
    hue = (first * second).sum(axis=-1) > np.cos(_SAME_HUE) * (dark - 1.0) * (light - 1.0)
    return np.asarray(hue & (ratio < _LIT), bool)


def _another_surface(before: Frame, after: Frame) -> BoolArray:
    """Which pixels (H, W) surely show another surface in the second picture."""
    first, second = (frame.rgb.astype(np.float32) for frame in (before, after))
    far = ((first - second) ** 2).sum(axis=2) > (2.0 * _SAME_COLOUR) ** 2
    return far & ~_one_surface(first, second)


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


def _gone_beside(
    before: Frame, mask: BoolArray, gone: BoolArray, new: BoolArray, area: FloatArray
) -> tuple[float, float] | None:
    """Where another thing has left the table, and came to lie nowhere else."""
    core = _opened(gone, _FRINGE_PX)
    labels, count = ndimage.label(core, structure=np.ones((3, 3)))
    areas = ndimage.sum_labels(area, labels, range(1, count + 1))
    come = float(area[new].sum())
    large = [k for k in np.argsort(-np.asarray(areas), kind="stable") if areas[k] > _ANOTHER_M2]
    left = float(sum(areas[k] for k in large))
    if not large or left - come < _ANOTHER_M2 or come > _PUSHED_SHARE * left:
        return None
    for k in large:
        if probably_one(before, mask, labels == 1 + k) < _ONE_THING:
            return _middle(labels == 1 + k)
    return None


def _filled(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """Depth (H, W) [m] with holes of a few pixels filled by what is known nearest; the others stay NaN."""
    unknown = ~np.isfinite(depth)
    if not unknown.any() or unknown.all():
        return depth
    distance, (rows, columns) = ndimage.distance_transform_edt(unknown, return_indices=True)
    return np.where(distance <= _HOLE_PX, depth[rows, columns], np.float32(np.nan))


def _seen_again(
    outline: BoolArray, left: BoolArray, stood: BoolArray, stands: BoolArray, before: Frame, after: Frame
) -> tuple[BoolArray, BoolArray]:
    """Which pixels (H, W) of what has left its place beside the outline show a thing that lies there otherwise now.

    Of its colour as much is seen as before, or nearly so: it has toppled, rolled or turned.

    Returns:
        Those pixels, and those (H, W) of the second picture that may show such a thing.
    """
    again, theirs = np.zeros(left.shape, bool), np.zeros(left.shape, bool)
    labels, count = ndimage.label(left & ~outline, structure=np.ones((3, 3)))
    for label in range(1, count + 1):
        part = labels == label
        if int(part.sum()) < _PART_PX:
            continue
        colour = np.median(before.rgb[part], axis=0)
        alike = stood & ~outline & _hued(before, colour)
        own, _ = ndimage.label(alike, structure=np.ones((3, 3)))
        its = np.unique(own[part & alike])
        size = int(np.isin(own, its[its > 0]).sum())
        now = stands & _hued(after, colour)
        if int(alike.sum()) - int(now.sum()) < _LOST_SHARE * size:
            again |= part
            theirs |= now
    return again, theirs


def _difference(
    before: NDArray[np.float32], after: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How much nearer (H, W) things are afterwards [m], NaN where not known, and the noise (H, W) of that [m].

    The noise grows with the square of the distance, as that of stereo does. It is averaged as far as it demands.
    """
    nearer = before - after
    known = np.isfinite(nearer)
    if not known.any():
        return nearer, np.zeros_like(nearer)
    square = np.where(known, before, np.float32(np.nan)) ** 2

    def spread(values: NDArray[np.float32]) -> float:
        return 1.4826 * float(np.median(np.abs(values[known] / square[known])))

    typical = float(np.median(square[known]))
    side = min(int(np.ceil(spread(nearer) * typical / (_NOISE_SHARE * CHANGED_M))), _MOST_AVERAGED_PX)
    if side > 1:
        weight = ndimage.uniform_filter(known.astype(np.float32), size=side)
        total = ndimage.uniform_filter(np.where(known, nearer, np.float32(0.0)), size=side)
        nearer = np.where(known, total / np.maximum(weight, 1e-6), np.float32(np.nan)).astype(np.float32)
    return nearer, (spread(nearer) * np.nan_to_num(square)).astype(np.float32)


def _cloud(frame: Frame, depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """(H, W, 3) points in the base frame [m] at a depth (H, W) [m]."""
    return transform(frame.T_base_camera, backproject(depth, frame.K)).reshape(*depth.shape, 3)


def _table(frame: Frame) -> FloatArray:
    """(3,) a, b, c of the table's height a + b*x + c*y as the camera sees it, base frame [m]."""
    if not np.isfinite(frame.depth).any():
        return np.array([workspace.TABLE_Z, 0.0, 0.0])
    return find_surface(frame).plane


def _on_table(cloud: NDArray[np.float32], height: NDArray[np.float32], hand: FloatArray) -> BoolArray:
    """Which points (H, W, 3), at a height (H, W) over the table, belong to things on it."""
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    x, y, z = (cloud[..., axis] for axis in range(3))
    with np.errstate(invalid="ignore"):
        inside = (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)
        inside &= (height > ELEVATED_M) & (z < _HIGHEST_M)
        inside &= (x - hand[0]) ** 2 + (y - hand[1]) ** 2 + (z - hand[2]) ** 2 > HAND_M**2
    return np.asarray(inside, bool)


def _opened(mask: BoolArray, side: int = _LEAST_SIDE_PX) -> BoolArray:
    return np.asarray(ndimage.binary_opening(mask, np.ones((side, side), bool)))


def _middle(mask: BoolArray) -> tuple[float, float] | None:
    """Normalized point in the middle of the true pixels, which is one of them."""
    rows, columns = np.nonzero(mask)
    if not rows.size:
        return None
    at = int(np.argmin((rows - np.median(rows)) ** 2 + (columns - np.median(columns)) ** 2))
    height, width = mask.shape
    return float((columns[at] + 0.5) / width), float((rows[at] + 0.5) / height)
