"""What a mask of one camera's image outlines, in the image of another camera."""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import backproject, invert, project, transform
from toolhand.tool_nodes.perception.heights import MIN_HEIGHT
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame, GraspTarget

_DEPTH_M = 0.012
"""Points that differ by no more along a camera's axis are the same [m]: two hand-eye calibrations of 2 mm and 0.25
degrees each differ by 8 mm at 1 m."""
_BESIDE_M = 0.012
"""How far beside what one camera saw of an object the other may see it [m]: the sides that only the other one sees are
below the rim that both see; as `_DEPTH_M`."""
_RIM_PX = 4
"""A mask may end so many pixels before its object [px]; as `_DEPTH_M` at 1 m with a focal length of 660 px."""
_FEW = 60
"""Fewer pixels than this are no view of an object [px]; a round figure, some 9 by 9 mm at 1 m."""
_GONE_SHARE = 0.3
"""An object has moved when so much of what would be seen of it is not there [-]; a round figure, edges are less."""
_STEPS = 10
"""Steps in which two views of an object are brought together [-]; a round figure, the last ones move by less than 0.1
mm."""
_SAMPLE = 4000
"""Points of an object that are compared [-]: 1 mm apart on 6 by 6 cm."""


def carried_target(frame: Frame, target: GraspTarget, other: Frame) -> GraspTarget | None:
    """An object that one camera's image outlines, as another image shows it.

    Args:
        frame: The image of the mask, with depth.
        target: The object in it.
        other: The other image, with depth, of the same scene.

    Returns:
        The object in the other image, with the sides of it that only this one shows; None where it does not show the
        object, or shows that it is not there any more.
    """
    item = _points(frame)[target.mask.reshape(-1)].astype(float)
    item = item[np.isfinite(item[:, 2])]
    if len(item) < _FEW:
        return None
    item = item[:: max(1, len(item) // _SAMPLE)]
    if _is_gone(item, other):
        return None
    mask = _carried(frame, target.mask, item, other)
    if np.count_nonzero(mask) < _FEW:
        return None
    points = [at for point in target.points if (at := _carried_point(frame, point, mask, other)) is not None]
    return GraspTarget(mask, tuple(points), target.called)


def _points(frame: Frame) -> FloatArray:
    """Points (H*W, 3) of an image, base frame [m]."""
    return np.asarray(transform(frame.T_base_camera, backproject(frame.depth, frame.K)))


def _in_view(points: FloatArray, frame: Frame) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Pixels (N, 2), rounded, and distances along the axis (N,) [m] of points (N, 3), and which the image has."""
    local = transform(invert(frame.T_base_camera), points)
    ahead = local[:, 2] > 0.01
    pixels = np.zeros((len(points), 2), int)
    pixels[ahead] = np.rint(project(local[ahead], frame.K)).astype(int)
    width, height = frame.size
    inside = ahead & (pixels >= 0).all(axis=1) & (pixels[:, 0] < width) & (pixels[:, 1] < height)
    pixels[~inside] = 0
    return pixels, local[:, 2], inside


def _is_gone(item: FloatArray, other: Frame) -> bool:
    pixels, z, inside = _in_view(item, other)
    seen = other.depth[pixels[:, 1], pixels[:, 0]]
    known = inside & np.isfinite(seen)
    return bool(known.any()) and float((seen[known] > z[known] + _DEPTH_M).mean()) > _GONE_SHARE


def _carried(frame: Frame, mask: BoolArray, item: FloatArray, other: Frame) -> BoolArray:
    """Which pixels (H, W) of the other image show the object: where it is seen, and what it hides of itself."""
    cloud = _points(other).astype(float)
    low, high = item.min(axis=0) - _BESIDE_M, item.max(axis=0) + _BESIDE_M
    # Lower points are the table's, unless the object is not twice as high.
    low[2] = workspace.TABLE_Z + min(MIN_HEIGHT, (float(item[:, 2].max()) - workspace.TABLE_Z) / 2.0)
    with np.errstate(invalid="ignore"):
        near = np.flatnonzero(((cloud >= low) & (cloud <= high)).all(axis=1))
    if not near.size:
        return np.zeros(other.depth.shape, bool)
    points = cloud[near] - _shift(item, cloud[near])
    beside, _ = cKDTree(item[:, :2]).query(points[:, :2], distance_upper_bound=_BESIDE_M)
    near, points = near[np.isfinite(beside)], points[np.isfinite(beside)]
    pixels, z, inside = _in_view(points, frame)
    u, v = pixels.T
    own = ndimage.binary_dilation(mask, iterations=_RIM_PX)[v, u]
    with np.errstate(invalid="ignore"):
        hidden = ~(z < frame.depth[v, u] - _DEPTH_M)
    carried = np.zeros(other.depth.size, bool)
    carried[near[inside & own & hidden]] = True
    return carried.reshape(other.depth.shape)


def _shift(item: FloatArray, points: FloatArray) -> FloatArray:
    """By how much (3,) one camera sees an object (N, 3) beside where the other does, among points (M, 3) [m].

    Two calibrations differ; the points that are nearest to each other, moved together step by step, say by how much.
    """
    tree, shift = cKDTree(points), np.zeros(3)
    for _ in range(_STEPS):
        beside, index = tree.query(item + shift, distance_upper_bound=_BESIDE_M)
        met = np.isfinite(beside)
        if np.count_nonzero(met) < _FEW:
            return np.zeros(3)
        shift += np.median(points[np.asarray(index)[met]] - (item[met] + shift), axis=0)
    return shift if np.linalg.norm(shift) < _BESIDE_M else np.zeros(3)


def _carried_point(
    frame: Frame, point: tuple[float, float], mask: BoolArray, other: Frame
) -> tuple[float, float] | None:
    """The normalized point of the other image, on the mask (H, W), nearest to one of the first; None far from it."""
    width, height = frame.size
    index = min(int(point[1] * height), height - 1) * width + min(int(point[0] * width), width - 1)
    at = _points(frame)[index][None].astype(float)
    if not np.isfinite(at).all():
        return None
    pixels, _, inside = _in_view(at, other)
    if not inside[0]:
        return None
    rows, columns = np.nonzero(mask)
    nearest = int(np.argmin((columns - pixels[0, 0]) ** 2 + (rows - pixels[0, 1]) ** 2))
    return (float(columns[nearest]) + 0.5) / other.size[0], (float(rows[nearest]) + 0.5) / other.size[1]
