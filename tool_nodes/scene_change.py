"""Whether two images of one camera show the same scene, within the accuracy of the depth sensor.

Measured in simulation, noise of 0.5 mm at 1 m, 640x480 and 320x240: a block, a box or a ball that was shifted by 3 mm
is noticed whatever the direction, and no noise alone is (45 pairs of images). Objects lower than `FINE_DEPTH`, objects
that turn in place, and colours are not noticed, nor what is hidden by the robot in one of the images. An image that
has no depth is compared by its colours instead.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

CHANGED_DEPTH = 0.015
"""Difference in depth of a block that has changed [m]; a round figure."""
CHANGED_BLOCKS = 2
"""Most blocks that differ in a scene that counts as unchanged [blocks]."""
BLOCK_PX = 8
"""Side of a block of pixels whose median depth is compared, so that no noise is left; unknown depth counts as 0
[px]."""

FINE_DEPTH = 0.006
"""It also changed when a patch of the workspace, known in both images, lies this much further or nearer [m] ..."""

FINE_PATCH_M = 0.0035
"""... that is so wide and high [m], but at least two pixels: an edge of an object that was shifted sideways leaves one.
Noise of the sensor and edges that flicker by a pixel leave none."""

AROUND_M = 0.08
"""What stands so far around a point may be what is meant by it [m]: an object that the jaws take, which open to 0.085
m, ends within this of a point on it."""

CHANGED_COLOUR = 24.0
"""Difference of a block's mean colour, in one of its channels, from which it looks otherwise [grey levels]: noise of a
sensor and JPEG change the mean of 64 pixels by less than 4."""

_EDGE_M = 0.01
"""What an object shows so far inside of its outline tells whether it has moved [m]: what lies in a container, and was
taken out of it or put into it, lies farther inside."""
_STILL_SEEN = 0.1
"""Share of that strip of an object that is seen as it was, for it to be known to stand there [-]; a round figure."""

_BELOW_M, _ABOVE_M = 0.02, 1.0
"""The workspace reaches so far below and above the table [m]."""


def changed(before: Frame, after: Frame) -> bool:
    """True if two images of one camera show different scenes."""
    if not same_view(before, after):
        return True
    difference = np.abs(np.subtract(*(_medians(depth) for depth in _beside_robot(before, after))))
    return int((difference > CHANGED_DEPTH).sum()) > CHANGED_BLOCKS or bool(_patches(before, after).any())


def changed_around(before: Frame, after: Frame, point: tuple[float, float]) -> bool:
    """True if two images of one camera show different scenes around a point.

    Args:
        before: The earlier image.
        after: The later one.
        point: Normalized (x, y) of both images.
    """
    if not same_view(before, after):
        return True
    near = _around(before, point)
    difference = np.abs(np.subtract(*(_medians(depth[near]) for depth in _beside_robot(before, after))))
    return int((difference > CHANGED_DEPTH).sum()) > CHANGED_BLOCKS or bool(_patches(before, after)[near].any())


def what_became_of(mask: BoolArray, before: Frame, after: Frame) -> Literal["", "has moved", "is hidden"]:
    """Whether what a mask (H, W) of an image outlines has moved in a later one of the same camera.

    What has moved lays open what is behind a side of its outline. What is nearer to the camera than it hides it, such
    as an object that was put on it, into it or before it; the robot hides nothing.
    """
    if not same_view(before, after):
        return "has moved"
    distance = max(float(np.nanmedian(before.depth[mask])), 0.1) if np.isfinite(before.depth[mask]).any() else 1.0
    strip = max(_patch_px(before) + 1, round(_EDGE_M * float(before.K[0, 0]) / distance))
    edge = mask & ~ndimage.binary_erosion(mask, iterations=strip, border_value=1)
    old, new = _beside_robot(before, after)
    with np.errstate(invalid="ignore"):
        sank, rose = new > old + FINE_DEPTH, new < old - FINE_DEPTH
    if _opened(sank & edge, _patch_px(before)).any():
        return "has moved"
    return "is hidden" if edge.any() and np.mean(rose[edge]) > 1.0 - _STILL_SEEN else ""


def same_view(before: Frame, after: Frame) -> bool:
    """True for two images by one camera, which has not moved."""
    return before.depth.shape == after.depth.shape and np.allclose(before.T_base_camera, after.T_base_camera, atol=1e-3)


def looks_otherwise_around(before: NDArray[np.uint8], after: Frame, point: tuple[float, float]) -> bool:
    """True if an image shows other colours around a point than a later frame of the same camera does.

    Light that changes everything around the point alike is no change.

    Args:
        before: The earlier image (H, W, 3), of any size.
        after: The later frame.
        point: Normalized (x, y) of both.
    """
    near = _around(after, point)
    shown = np.asarray(Image.fromarray(before).resize(after.size)) if before.shape != after.rgb.shape else before
    difference = _means(after.rgb[near]) - _means(shown[near])
    difference -= np.median(difference, axis=(0, 1))
    return int((np.abs(difference).max(axis=-1) > CHANGED_COLOUR).sum()) > CHANGED_BLOCKS


def _beside_robot(before: Frame, after: Frame) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Depth (H, W) of both images, unknown in both where either shows the robot: what it hides has not changed."""
    robot = before.robot | after.robot
    if not robot.any():
        return before.depth, after.depth
    unknown = np.float32(np.nan)
    return np.where(robot, unknown, before.depth), np.where(robot, unknown, after.depth)


def _around(frame: Frame, point: tuple[float, float]) -> tuple[slice, slice]:
    """Rows and columns of what stands within `AROUND_M` of a point, at the median distance of what is seen."""
    height, width = frame.depth.shape
    known = frame.depth[np.isfinite(frame.depth)]
    distance = max(float(np.median(known)) if known.size else 1.0, 0.1)
    reach = max(2 * BLOCK_PX, round(AROUND_M * float(frame.K[0, 0]) / distance))
    column, row = min(int(point[0] * width), width - 1), min(int(point[1] * height), height - 1)
    top, left = max(row - reach, 0), max(column - reach, 0)
    return slice(top, row + reach + 1), slice(left, column + reach + 1)


def _means(rgb: NDArray[np.uint8]) -> FloatArray:
    """Mean colour (h, w, 3) of squares of pixels of an image (H, W, 3)."""
    h, w = (size - size % BLOCK_PX for size in rgb.shape[:2])
    blocks = rgb[:h, :w].astype(float).reshape(h // BLOCK_PX, BLOCK_PX, w // BLOCK_PX, BLOCK_PX, 3)
    means: FloatArray = blocks.mean(axis=(1, 3))
    return means


def _medians(seen: NDArray[np.floating]) -> FloatArray:
    """Median depth of squares of pixels of depth (H, W) [m]; unknown depth counts as 0."""
    h, w = (size - size % BLOCK_PX for size in seen.shape)
    depth = np.nan_to_num(seen[:h, :w]).reshape(h // BLOCK_PX, BLOCK_PX, w // BLOCK_PX, BLOCK_PX)
    blocks: FloatArray = np.median(depth.transpose(0, 2, 1, 3).reshape(h // BLOCK_PX, w // BLOCK_PX, -1), axis=-1)
    return blocks


def _patches(before: Frame, after: Frame) -> BoolArray:
    """Where (H, W) square patches of pixels have changed, in the workspace."""
    with np.errstate(invalid="ignore"):
        rose, sank = after.depth < before.depth - FINE_DEPTH, after.depth > before.depth + FINE_DEPTH
    moved = np.zeros_like(rose)
    for mask in (rose, sank):
        moved |= _opened(mask & (_inside(before, mask) | _inside(after, mask)), _patch_px(before))
    return moved


def _patch_px(frame: Frame) -> int:
    known = frame.depth[np.isfinite(frame.depth)]
    distance = float(np.median(known)) if known.size else 1.0
    return max(2, int(FINE_PATCH_M * float(frame.K[0, 0]) / max(distance, 0.1)))


def _opened(mask: BoolArray, side: int) -> BoolArray:
    return np.asarray(ndimage.binary_opening(mask, np.ones((side, side), bool)))


def _inside(frame: Frame, mask: BoolArray) -> BoolArray:
    """Which pixels of a mask (H, W) show something in the workspace."""
    inside = np.zeros_like(mask)
    v, u = np.nonzero(mask)
    z = frame.depth[v, u].astype(float)
    rays: NDArray[np.float64] = np.column_stack(
        [(u - frame.K[0, 2]) / frame.K[0, 0] * z, (v - frame.K[1, 2]) / frame.K[1, 1] * z, z]
    )
    points = rays @ frame.T_base_camera[:3, :3].T + frame.T_base_camera[:3, 3]
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    low = np.array([x0, y0, workspace.TABLE_Z - _BELOW_M])
    high = np.array([x1, y1, workspace.TABLE_Z + _ABOVE_M])
    inside[v, u] = ((points >= low) & (points <= high)).all(axis=1)
    return inside
