"""Whether what hangs in the hand is the target, and it alone: seen while it still hangs over the place that it stood
at.

Its image is moved back by as much as the hand has moved: so it stands where it stood, on a bare table, and relief and
colour take it apart as they do any cluster, without all that lay around it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes.geometry import backproject, invert, project, transform
from toolhand.tool_nodes.perception.clusters import find_clusters
from toolhand.tool_nodes.perception.lifted import one_surface
from toolhand.tool_nodes.perception.neighbours import neighbours, surely_one
from toolhand.tool_nodes.perception.relief import depth_noise
from toolhand.tool_nodes.perception.surface import Surface, find_surface
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame, GraspTarget

_HANGS_M = 0.03
"""What is nearer to the camera than before by more than this, and no robot, hangs in the hand [m]: it was lifted by up
to five times as much, and what was pushed meanwhile comes nearer by less."""
_REACH_M = 0.35
"""What hangs in the hand is no farther from it [m]: a round figure, the longest object that is lifted reaches 0.3 m."""
_SAME_M, _SAME_PX = 0.02, 2
"""A point is seen again where it went with the hand, if the depth there is so near to its own [m], in one of the pixels
about it [px]: an object turns a little between the jaws."""
_NEAREST_PX = 49
"""Pixels nearest to what was pointed at, and not hidden now, that say whether it hangs there [-]; a round figure."""
_UP_SHARE = 0.5
"""It does where more of them are seen again [-]: of 43 lifts from piles the objects that had come up showed 0.5 to 1 of
what was not hidden, all but three, and the others up to 0.43."""
_TWO = 0.007
"""Parts are two objects where the odds that they are one, by what is seen in the hand times by what was seen before,
are less than this [-]. Of 102 lifts from piles 9 of 14 that had brought up several objects were told so, with up to
0.006, and none of 88 others, with 0.008 or more."""
_SUREST = 1.0 - 1e-6
"""No joint is surer than this [-]: so far the odds of the network that judges them say something."""
_OBJECT_M2 = 2.5e-4
"""What is seen of another object has at least this area [m^2]: of the smallest products' tops."""
_IN_REACH_M, _RIM_PX = 0.06, 6
"""What stands farther away cannot come up with the target [m]: the jaws and a finger; nearer is its rim [px]."""
_LEAST_SIDE_PX = 3
"""What hangs in the hand is so wide and high at the least [px]: edges flicker by less."""


@dataclass(frozen=True)
class Hanging:
    """What an image says of what hangs in the hand.

    Attributes:
        alone: The target hangs there, and nothing else is seen there.
        beside: A point of the image before the lift, normalized (x, y), near another object that hangs there with the
            target; None where none is seen.
    """

    alone: bool = False
    beside: tuple[float, float] | None = None


def what_hangs(before: Frame, lifted: Frame, T_moved: FloatArray, hand: FloatArray, target: GraspTarget) -> Hanging:
    """Look at what hangs in the hand.

    Args:
        before: The image that the mask of the target belongs to, with depth.
        lifted: One by the same camera, once the hand has risen, without depth where it shows the robot.
        T_moved: (4, 4) how the hand has moved, base frame: a point p of what it holds is at T_moved p.
        hand: (3,) where it is in the second image, base frame [m].
        target: The object that was to be lifted.
    """
    up, alike, known, at = _seen_again(before, lifted, T_moved, hand)
    nearest = _nearest(up & target.mask, target)
    if not nearest[0].size:
        return Hanging()
    surface = find_surface(before)
    if _stood_alone(before, surface, target.mask):
        return Hanging(alone=True)  # the jaws hold something, and there was nothing else
    height, width = up.shape
    own = np.zeros_like(up)
    own[tuple(at[nearest].T)] = True
    alone, air = _moved_back(before, surface, lifted, T_moved, hand)
    if not (air & own).any():
        return Hanging()
    area = np.nan_to_num(alone.depth.astype(float)) ** 2 / float(alone.K[0, 0] * alone.K[1, 1])
    found = neighbours(alone, own, air)
    found = [other for other in found if other.one < 1.0 and float(area[other.mask & air].sum()) > _OBJECT_M2]
    if not found:
        return Hanging(alone=float(alike[_nearest(known & target.mask, target)].mean()) > _UP_SHARE)
    others = [other for other in found if other.meets and other.one < _TWO]
    if not others:
        return Hanging()
    other = min(others, key=lambda other: other.one)
    rows, columns = np.nonzero(up & other.mask[at[..., 0], at[..., 1]])
    if not rows.size:
        return Hanging()
    middle = int(np.argmin((rows - np.median(rows)) ** 2 + (columns - np.median(columns)) ** 2))
    sure = min(surely_one(before, target.mask), _SUREST) if target.mask[rows[middle], columns[middle]] else 0.5
    if other.one * sure / (1.0 - sure) > _TWO:
        return Hanging()
    return Hanging(beside=(float((columns[middle] + 0.5) / width), float((rows[middle] + 0.5) / height)))


def _nearest(pixels: BoolArray, target: GraspTarget) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of those pixels (H, W) that are nearest to what was pointed at, or to their middle."""
    rows, columns = np.nonzero(pixels)
    if not rows.size:
        return rows, columns
    column, row = np.array(target.points[0]) * pixels.shape[::-1] if target.points else (columns.mean(), rows.mean())
    order = np.argsort((rows - row) ** 2 + (columns - column) ** 2, kind="stable")[:_NEAREST_PX]
    return rows[order], columns[order]


def _seen_again(
    before: Frame, lifted: Frame, T_moved: FloatArray, hand: FloatArray
) -> tuple[BoolArray, BoolArray, BoolArray, NDArray[np.intp]]:
    """What an image shows of objects that have come up with the hand since.

    Returns:
        bool (H, W) three times, which pixels of the first image show something that is seen again where it went with
        the hand, which of these in their own colour, and which are not hidden there; and (H, W, 2), row and column of
        that place in the second.
    """
    T_camera_base = invert(lifted.T_base_camera)
    moved = transform(T_camera_base @ T_moved @ before.T_base_camera, _points(before))
    with np.errstate(invalid="ignore"):
        near = ((moved - transform(T_camera_base, hand[None])) ** 2).sum(axis=1) < _REACH_M**2
    near = np.flatnonzero(near & (moved[:, 2] > _HANGS_M))
    place = np.rint(project(moved[near], lifted.K)[:, ::-1]).astype(np.intp)
    size = np.array(before.depth.shape)
    inside = ((place >= 0) & (place < size)).all(axis=1)
    near, place = near[inside], place[inside]
    depth, colours = moved[near, 2], before.rgb.reshape(-1, 3)[near].astype(np.float32)
    up, alike = np.zeros((2, len(near)), bool)
    with np.errstate(invalid="ignore"):
        known = lifted.depth[tuple(place.T)] > depth - _SAME_M
        for step in np.ndindex(2 * _SAME_PX + 1, 2 * _SAME_PX + 1):
            row, column = np.clip(place + np.array(step) - _SAME_PX, 0, size - 1).T
            close = np.abs(lifted.depth[row, column] - depth) < _SAME_M
            up |= close
            alike[close] |= one_surface(colours[close], lifted.rgb[row[close], column[close]].astype(np.float32))
    shown = np.zeros((3, *before.depth.shape), bool)
    shown.reshape(3, -1)[:, near] = up, alike, known | up
    at = np.zeros((before.depth.size, 2), np.intp)
    at[near] = place
    return shown[0], shown[1], shown[2], at.reshape(*before.depth.shape, 2)


def _stood_alone(before: Frame, surface: Surface, mask: BoolArray) -> bool:
    """True if nothing but the object of a mask (H, W) was seen to stand where the jaws could reach."""
    pixel_m = np.nan_to_num(before.depth) / float(before.K[0, 0])
    away_px = ndimage.distance_transform_edt(~mask)
    standing = np.any([cluster.mask for cluster in find_clusters(before, surface)] or [mask], axis=0)
    other = standing & (away_px > _RIM_PX) & (away_px * pixel_m < _IN_REACH_M)
    return float((pixel_m[other] ** 2).sum()) < _OBJECT_M2


def _moved_back(
    before: Frame, surface: Surface, lifted: Frame, T_moved: FloatArray, hand: FloatArray
) -> tuple[Frame, BoolArray]:
    """The image of what hangs in the hand as if it stood where it stood, on a bare table; and where (H, W) it is."""
    points = transform(lifted.T_base_camera, _points(lifted)).reshape(*lifted.depth.shape, 3)
    with np.errstate(invalid="ignore"):
        air = lifted.depth < before.depth - _HANGS_M
        air &= ((points - hand) ** 2).sum(axis=2) < _REACH_M**2
        bare = before.rgb[np.abs(surface.height) < surface.rough]
    air = ndimage.binary_opening(air, np.ones((_LEAST_SIDE_PX, _LEAST_SIDE_PX), bool))
    T = invert(T_moved) @ lifted.T_base_camera
    rays = _points(replace(lifted, depth=np.ones_like(lifted.depth))) @ T[:3, :3].T
    a, b, c = surface.plane
    table = (a + b * T[0, 3] + c * T[1, 3] - T[2, 3]) / (rays[:, 2] - b * rays[:, 0] - c * rays[:, 1])
    table += np.random.default_rng(0).normal(0.0, depth_noise(before, surface), table.shape)  # it has the camera's, too
    colour = np.median(bare, axis=0) if len(bare) else np.zeros(3)
    return (
        replace(
            lifted,
            rgb=np.where(air[..., None], lifted.rgb, colour).astype(np.uint8),
            depth=np.where(air, lifted.depth, table.reshape(air.shape)).astype(np.float32),
            T_base_camera=T,
            ids=None,
            labels=None,
            texts=None,
        ),
        air,
    )


def _points(frame: Frame) -> NDArray[np.float32]:
    """(H*W, 3) points in the camera's frame [m]."""
    return backproject(frame.depth, frame.K)
