"""What a lift took from the table, from the depth images before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import backproject, transform
from toolhand.tool_nodes.perception.neighbours import Neighbour, neighbours
from toolhand.tool_nodes.perception.surface import find_surface
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame, GraspTarget

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
pixels of an image, unlike of those of the target, some are beyond two."""
_HOLE_PX = 3.0
"""Holes of the depth are filled as far as this from what is known [px]: those of single pixels and of glossy spots."""
_LEAST_HIGH_M = 0.015
"""What has left the table uncovers something lower by more than this, or the table [m]: half of the smallest object."""
ELEVATED_M = 0.008
"""Points higher than this above the table belong to an object [m]."""
_HIGHEST_M = 0.35
"""Higher points belong to the robot or the room [m]."""
HAND_M = 0.25
"""What is nearer than this to the hand is the hand, or what it holds [m]; a round figure."""

GONE_SHARE = 0.5
"""An object is gone when more of what was seen of it is [-]."""
_POINT_GONE_SHARE = 0.7
"""What was pointed at is gone when more of what is around the point is [-]. Of each of 62 that were lifted 0.8 was, of
one that was pushed by 18 mm 0.53."""
_PUSHED_SHARE = 0.4
"""What is gone beside the target was pushed where more than this is new elsewhere [-]: a part may be out of sight."""
_POINT_PX = 3
"""What lies so far around a point was pointed at [px]."""
_NEAREST_PX = (2 * _POINT_PX + 1) ** 2
"""Pixels nearest to a point that say whether the object is still there [-]: as many as lie so far around it."""
_TELLING = 2.0
"""A surface tells whether it is still there where the table is farther behind it than so many times what counts as a
change [-]: the floor of a bowl is not, its rim is. Halfway between both readings then lies what counts as a change."""
_SAME_COLOUR = 30.0
"""Pixels whose colours are nearer than this may show the same object [grey levels]; a round figure."""
_SAME_HUE = np.radians(10.0)
"""Angle between two colours of one surface that is lit from other sides [rad]: 8.5 degrees were seen."""
_LIT = 1.6
"""Ratio of the brightness of two colours of one surface that is lit from other sides [-]: 1.3 was seen."""
_SEEN_SHARE = 0.3
"""What is as near as before is what was pointed at where more of it may be of one surface [-]: objects of another
colour that have fallen there were up to 0.1, what still stood above 0.8."""
_PUSHED_SEEN_SHARE = 0.6
"""The same where it is farther away by less than _PUSHED_M, and something is new beside it [-]: what comes into view
where an object was lifted was up to 0.45, what was pushed a little mostly above 0.8."""
_PUSHED_M = 0.03
"""How far an object is pushed before it counts as another one in its place [m]; a round figure."""
_PUSHED_PX = 20
"""The same in the image [px], 3 cm at the scene camera's distance."""
_MOVED_SHARE = 0.4
"""What was pointed at was pushed, not lifted, where more of its colour than this is seen in a new place [-]. What comes
into view behind it in the same colour was up to 0.21 of it, objects that were pushed from 0.65 on."""
_LOST_SHARE = 0.5
"""What stood beside the target is still there where less than this of its colour has gone [-]; a round figure."""
_OF_TABLE = 0.02
"""A colour that more than this share of the table has says nothing about what has come to lie there [-]; a round
figure."""
_CELL_GREY = 32
"""Side of the cells in which colours are counted [grey levels]; a round figure."""
_RIM_PX = 4
"""Pixels that the object may reach beyond its outline."""
_ANOTHER_M2 = 2.5e-4
"""What is seen of another object has at least this area [m^2]: of the smallest products' tops."""
_ONE_OBJECT = 0.04
"""What vanished together is one object from this probability on, by its relief and colours [-]: even odds where one
neighbour in 25 comes up with its target, as in 2 of 40 lifts from piles and packed objects. Parts of one object were
given 0.06 to 1, but for one of seven, and four neighbours of five 0.02 at the most."""


@dataclass(frozen=True)
class Lift:
    """What two images say about a lift; points are normalized (x, y), from the top left.

    Attributes:
        lifted: bool (H, W), where the first image shows what was lifted, and whatever was pushed meanwhile.
        stays: A point of the target where it still stands; None where the target is gone.
        beside: A point beside the target where something else has left the table; None where nothing has.
    """

    lifted: BoolArray
    stays: tuple[float, float] | None
    beside: tuple[float, float] | None

    @property
    def alone(self) -> bool:
        """Whether the target, and nothing else, has left the table."""
        return self.stays is None and self.beside is None


def what_was_lifted(before: Frame, after: Frame, target: GraspTarget, hand_base: FloatArray) -> Lift:
    """Compare the images from before and after a lift.

    An object that was pushed is gone from where it stood and new elsewhere; what was lifted is new nowhere.

    Args:
        before: The image that the mask of the target belongs to, with depth.
        after: One by the same camera, with the hand away from the table.
        target: The object that was to be lifted.
        hand_base: (3,) where the hand is in the second image, base frame [m].
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
    seen = target.mask & telling & np.isfinite(nearer) & ~covered
    gone = _opened(nearer < -changed)
    new, other = _opened(stands & (nearer > surely)), _opened(stands & (np.abs(nearer) > surely))
    # What has rolled or been turned a little in its place is a little farther away, too: it has not left the table.
    with np.errstate(invalid="ignore"):
        high, now = heights
        fell = high - now > np.maximum(_LEAST_HIGH_M, surely)
        bare = (high > surely) & (now < ELEVATED_M + noise)
    left = _opened(stood & (nearer < -surely) & (fell | bare))
    area = np.nan_to_num(depths[0].astype(float)) ** 2 / float(before.K[0, 0] * before.K[1, 1])
    outline = np.asarray(ndimage.binary_dilation(target.mask, iterations=_RIM_PX), bool)
    near = np.asarray(ndimage.binary_dilation(outline, iterations=_PUSHED_PX), bool)
    came = float(area[new & near].sum()) > _ANOTHER_M2
    with np.errstate(invalid="ignore"):
        about = stands & (nearer > -_PUSHED_M) if came else np.zeros_like(stands)
    stays = _still_there(target, seen, gone, about, before, after)
    stays = stays or _only_moved(target, seen, gone, other, before, after)
    away = left & ~outline
    others = neighbours(before, target.mask, away) if away.any() else []
    with np.errstate(invalid="ignore"):
        low = np.asarray(np.abs(heights[1]) <= ELEVATED_M, bool)
    whole = stood & telling & ~outline
    moved = [other for other in others if not _mostly(away, other.mask & whole)]
    others = [other for other in others if other.one < _ONE_OBJECT and _mostly(away, other.mask & whole)]
    missing, theirs = _seen_again(others, away, stood & ~outline, stands, low, before, after)
    theirs |= _reaching(new, moved)
    beside = _gone_beside([away & other.mask for other in missing], new & ~theirs, area)
    return Lift(gone & outline if stays is None and beside is None else gone, stays, beside)


def _still_there(
    target: GraspTarget, seen: BoolArray, gone: BoolArray, about: BoolArray, before: Frame, after: Frame
) -> tuple[float, float] | None:
    """Where the target still stands: by what of it is nearest to each point; without points by the whole of it.

    Args:
        target: The object.
        seen: bool (H, W), pixels that tell whether it is there.
        gone: bool (H, W), what has gone.
        about: bool (H, W), what stands nearly as near as before where something was pushed, and may be pushed itself.
        before: The first image.
        after: The second one.
    """
    rows, columns = np.nonzero(seen)
    if not rows.size:
        return None
    if not target.points:
        return None if _mostly(gone, seen) else _middle(seen & ~gone)
    for point, (row, column) in zip(target.points, _pixels(target, seen.shape), strict=True):
        nearest = np.argsort((rows - row) ** 2 + (columns - column) ** 2, kind="stable")[:_NEAREST_PX]
        at = rows[nearest], columns[nearest]
        first, second = (frame.rgb[at].astype(np.float32) for frame in (before, after))
        hued = one_surface(second, _main_colour(before.rgb[at]).astype(np.float32))
        if gone[at].mean() <= _POINT_GONE_SHARE:
            # What has fallen to where it stood is as near, and looks different.
            if (hued | one_surface(first, second)).mean() > _SEEN_SHARE:
                return point
        elif (about[at] & hued).mean() > _PUSHED_SEEN_SHARE:
            return point
    return None


def _only_moved(
    target: GraspTarget, seen: BoolArray, gone: BoolArray, other: BoolArray, before: Frame, after: Frame
) -> tuple[float, float] | None:
    """Where what was pointed at lies now, if it was pushed.

    More of its colour is seen then, where something else was before, than other objects of that colour have left.
    """
    for at in _pixels(target, seen.shape):
        colour = np.median(before.rgb[_window(at)][seen[_window(at)]], axis=0) if seen[_window(at)].any() else None
        if colour is None or not seen[at]:
            continue
        alike, _ = ndimage.label(seen & _coloured(before, colour), structure=np.ones((3, 3)))
        own = alike == alike[at]
        now = other & _coloured(after, colour) & ~own  # what it has lain upon may be of its colour
        left = gone & _coloured(before, colour) & ~own
        if alike[at] and int(now.sum()) - int(left.sum()) > _MOVED_SHARE * int(own.sum()):
            return _middle(now)
    return None


def _coloured(frame: Frame, colour: FloatArray) -> BoolArray:
    """Which pixels (H, W) have nearly a colour (3,)."""
    return np.asarray(((frame.rgb.astype(float) - colour) ** 2).sum(axis=2) < _SAME_COLOUR**2, bool)


def _hued(frame: Frame, colour: FloatArray) -> BoolArray:
    """Which pixels (H, W) may show a surface of a colour (3,), however brightly it is lit there."""
    return one_surface(frame.rgb.astype(np.float32), colour.astype(np.float32))


def one_surface(first: NDArray[np.float32], second: NDArray[np.float32]) -> BoolArray:
    """Which colours (..., 3) and (..., 3) may be those of one surface, lit from other sides."""
    dark, light = (np.sqrt((colours**2).sum(axis=-1)) + 1.0 for colours in (first, second))
    ratio = np.maximum(dark, light) / np.minimum(dark, light)
    hue = (first * second).sum(axis=-1) > np.cos(_SAME_HUE) * (dark - 1.0) * (light - 1.0)
    return np.asarray(hue & (ratio < _LIT), bool)


def _another_surface(before: Frame, after: Frame) -> BoolArray:
    """Which pixels (H, W) surely show another surface in the second image."""
    first, second = (frame.rgb.astype(np.float32) for frame in (before, after))
    far = ((first - second) ** 2).sum(axis=2) > (2.0 * _SAME_COLOUR) ** 2
    return far & ~one_surface(first, second)


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


def _mostly(gone: BoolArray, seen: BoolArray) -> bool:
    """True if more than `GONE_SHARE` of the pixels that showed the object, all where none did, show it no longer."""
    shown = int(seen.sum())
    return not shown or int((gone & seen).sum()) > GONE_SHARE * shown


def _gone_beside(parts: Sequence[BoolArray], new: BoolArray, area: FloatArray) -> tuple[float, float] | None:
    """Where another object has left the table, and came to lie nowhere else: parts (H, W) of such, what is new
    there."""
    sizes = [float(area[part].sum()) for part in parts]
    left = sum(size for size in sizes if size > _ANOTHER_M2)
    come = float(area[new].sum())
    if left - come < _ANOTHER_M2 or come > _PUSHED_SHARE * left:
        return None
    return _middle(parts[int(np.argmax(sizes))])


def _filled(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """Depth (H, W) [m] with holes of a few pixels filled by what is known nearest; the others stay NaN."""
    unknown = ~np.isfinite(depth)
    if not unknown.any() or unknown.all():
        return depth
    distance, (rows, columns) = ndimage.distance_transform_edt(unknown, return_indices=True)
    return np.where(distance <= _HOLE_PX, depth[rows, columns], np.float32(np.nan))


def _seen_again(
    others: Sequence[Neighbour],
    away: BoolArray,
    stood: BoolArray,
    stands: BoolArray,
    low: BoolArray,
    before: Frame,
    after: Frame,
) -> tuple[list[Neighbour], BoolArray]:
    """Which objects that have left their place do not lie there otherwise now: have not toppled, rolled or turned.

    Of the colour of one that has as much is seen as before, or nearly so; or what lies too low to stand out of the
    table, as a card that has fallen flat, has come to be of its colour, which is not the table's.

    Returns:
        Those that are seen no more, and bool (H, W), pixels of the second image that may show one of the others.
    """
    missing, theirs = [], np.zeros(away.shape, bool)
    for other in others:
        part = other.mask & away
        colour = _main_colour(before.rgb[part])
        old, seen = _hued(before, colour), _hued(after, colour)
        alike, now = stood & old, stands & seen
        own = int((alike & part).sum())
        flat = low & seen & ~old if np.mean(old[low]) < _OF_TABLE else np.zeros_like(low)
        if int(alike.sum()) - int(now.sum()) < _LOST_SHARE * own or int(flat.sum()) > _MOVED_SHARE * own:
            theirs |= now
        else:
            missing.append(other)
    return missing, theirs


def _reaching(new: BoolArray, others: Sequence[Neighbour]) -> BoolArray:
    """What is new (H, W) next to the place of objects that have moved a little: they are new there."""
    if not others:
        return np.zeros(new.shape, bool)
    place = ndimage.binary_dilation(np.any([other.mask for other in others], axis=0), iterations=_POINT_PX)
    labels, _ = ndimage.label(new, structure=np.ones((3, 3)))
    return np.isin(labels, np.unique(labels[place & new])) & new


def _main_colour(colours: NDArray[np.uint8]) -> FloatArray:
    """The most frequent of colours (N, 3), N > 0: the mean of those in one cell of a coarse grid."""
    cells = (colours // _CELL_GREY).astype(int) @ (1, 256, 65536)
    names, counts = np.unique(cells, return_counts=True)
    return np.asarray(colours[cells == names[np.argmax(counts)]].mean(axis=0))


def _difference(
    before: NDArray[np.float32], after: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """How much nearer (H, W) objects are afterwards [m], NaN where not known, and the noise (H, W) of that [m].

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
    """Which points (H, W, 3), at a height (H, W) over the table, belong to objects on it."""
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    x, y, z = (cloud[..., axis] for axis in range(3))
    with np.errstate(invalid="ignore"):
        inside = (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)
        inside &= (height > ELEVATED_M) & (z < _HIGHEST_M)
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
