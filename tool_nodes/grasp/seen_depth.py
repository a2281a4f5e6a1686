"""What one camera saw about the object to be grasped: its depth as an image, from a cloud without rows and columns.

A cloud keeps the directions of its pixels, so the image can be put together again. It says what is known to be free:
whatever lies in front of what was measured in its direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import geometry, workspace
from toolhand.tool_nodes.grasp.seen import known_points
from toolhand.tool_nodes.perception.heights import on_surface
from toolhand.tool_nodes.types import BoolArray, FloatArray

JUMP = 0.012
"""Neighbouring pixels whose depths differ by more than this belong to different surfaces [m]: four times the noise of a
stereo camera at 0.9 m, and a slope of 82 degrees between pixels of 1.6 mm."""

_MARGIN = 0.34
"""What is kept about the masked points, across the view [m]: the gripper, its wrist and the approach."""
_FREE = 0.010
"""A point that lies further than this in front of what was measured in its direction is seen to be free [m]: three
times the noise of a stereo camera at 0.9 m."""
_DEFAULT_PITCH = 1.0 / 600.0
"""Angle between pixels where a mask has no two neighbours that show it [rad]."""
_RING_PX = 4
"""Pixels about the mask that show what it stands on: beyond the two or three over which edges fly."""
_LEAST_CONTACT_PX = 12
"""Fewer pixels that touch the outline say nothing of a support [-]; a round figure."""
_ON_TABLE = 0.012
"""A support that is no higher than this is the table [m]: the noise of a stereo camera at 0.9 m, and a pixel's rim."""
_MAX_SIDE = 2048
"""Pixels of a side of the image; more would be a cloud whose neighbours are no neighbours [-]."""
_LEAST_PART = 0.15
"""Share of the largest part above which another one stays in the mask [-]; a round figure."""
_EDGE_PX = 2
"""A part that no more than this erodes away is an edge [px]: masks leak, and depth flies, over two or three pixels."""


@dataclass(frozen=True)
class SeenDepth:
    """A window of the camera's image about the masked points.

    Attributes:
        T_base_camera: (4, 4) pose of the camera.
        start: (2,) tangents of the direction of the first pixel, right and down.
        pitch: Tangent between pixels.
        depth: (h, w) depth along the optical axis [m]; NaN where unknown.
        mask: (h, w) True on the object, its leaked edges trimmed.
        rows: (K,) rows of the cloud that lie in the window.
        pixels: (K,) flat index of the pixel of each of them.
    """

    T_base_camera: FloatArray
    start: FloatArray
    pitch: float
    depth: NDArray[np.float32]
    mask: BoolArray
    rows: NDArray[np.intp]
    pixels: NDArray[np.int32]

    @classmethod
    def of(cls, cloud: NDArray[np.float32], mask: BoolArray, T_base_camera: FloatArray) -> tuple[SeenDepth, BoolArray]:
        """The view, and which rows (N,) of the cloud the trimmed mask keeps.

        Args:
            cloud: (N, 3) points in the camera's frame [m]; what is not finite is unknown.
            mask: (N,) True on the object.
            T_base_camera: (4, 4) pose of the camera.

        Raises:
            ToolError: NO_DEPTH where no point of the object is known.
        """
        z = np.ascontiguousarray(cloud[:, 2])
        with np.errstate(invalid="ignore", divide="ignore"):
            right, down = cloud[:, 0] / z, cloud[:, 1] / z
            known = (z > 0.0) & np.isfinite(z) & np.isfinite(right) & np.isfinite(down)
        on = np.flatnonzero(mask & known)
        known_points(cloud[on])
        pitch = _pitch(right, on)
        margin = _MARGIN / float(np.percentile(z[on], 5.0))
        low = np.array([right[on].min(), down[on].min()]) - margin
        high = np.array([right[on].max(), down[on].max()]) + margin
        rows = np.flatnonzero(known & (right >= low[0]) & (right <= high[0]) & (down >= low[1]) & (down <= high[1]))
        right, down, z = right[rows], down[rows], z[rows]
        start = np.array([right.min(), down.min()], dtype=float)
        u, v = (
            np.minimum(np.rint((at - np.float32(first)) / np.float32(pitch)).astype(np.int32), _MAX_SIDE - 1)
            for at, first in zip((right, down), start, strict=True)
        )
        depth = np.full((int(v.max()) + 1, int(u.max()) + 1), np.nan, dtype=np.float32)
        place = v * np.int32(depth.shape[1]) + u
        depth.reshape(-1)[place] = z
        inside = np.zeros(depth.shape, dtype=bool)
        masked = np.flatnonzero(mask[rows])
        inside.reshape(-1)[place[masked]] = True
        inside = trimmed(inside, depth)
        kept = np.zeros(len(cloud), dtype=bool)
        kept[rows[masked]] = inside.ravel()[place[masked]]
        return cls(np.asarray(T_base_camera, float), start, pitch, depth, inside, rows, place), kept

    def _measured(self, points: FloatArray, depth: NDArray[np.float32]) -> tuple[FloatArray, FloatArray]:
        """Depth (K,) of points (K, 3) of the base frame, and what an image (h, w) has there, NaN outside of it [m]."""
        x, y, z = geometry.transform(geometry.invert(self.T_base_camera), np.asarray(points, float)).T
        with np.errstate(invalid="ignore", divide="ignore"):
            u = np.rint((x / z - self.start[0]) / self.pitch).astype(int)
            v = np.rint((y / z - self.start[1]) / self.pitch).astype(int)
        inside = (u >= 0) & (u < depth.shape[1]) & (v >= 0) & (v < depth.shape[0]) & (z > 0.0)
        return z, np.where(inside, depth[np.where(inside, v, 0), np.where(inside, u, 0)], np.nan)

    def seen_free(self, points: FloatArray) -> BoolArray:
        """True (K,) for points of the base frame that the camera looked through to something farther away.

        Args:
            points: (K, 3) [m].
        """
        z, measured = self._measured(points, self._nearest)
        with np.errstate(invalid="ignore"):
            return np.asarray(measured - z > _FREE)

    def flying(self, rows: NDArray[np.intp]) -> BoolArray:
        """Which of some rows (M,) of the window show no surface, but a point between two of them."""
        return ~on_surface(self.depth, self.pixels[rows])

    @cached_property
    def _nearest(self) -> NDArray[np.float32]:
        """Depth (h, w), each pixel's the least of it and its neighbours: outlines are true to a pixel."""
        unknown = np.isnan(self.depth)
        least = self.depth.copy()
        for axis in (0, 1):  # `fmin` takes no notice of what is unknown
            along, before = np.moveaxis(least, axis, 0), np.moveaxis(least.copy(), axis, 0)
            np.fmin(along[1:], before[:-1], out=along[1:])
            np.fmin(along[:-1], before[1:], out=along[:-1])
        least[unknown] = np.nan
        return least

    def support_height(self) -> float:
        """Height of what the object stands or lies on [m]: of what is seen to touch its outline from below.

        Pixels about the mask count whose depth goes on from it; what is nearer to the camera hides the object's foot,
        and what is farther away lies behind it. The lower quarter of their heights decides, since neighbours touch its
        sides too.
        """
        window = _window(self.mask, _RING_PX + 1)
        mask, depth = self.mask[window], self.depth[window]
        ring = ndimage.binary_dilation(mask, iterations=_RING_PX) & ~ndimage.binary_dilation(mask)
        ring &= ~np.isnan(depth)
        nearest = ndimage.distance_transform_edt(~mask, return_distances=False, return_indices=True)
        rows, columns = np.nonzero(ring)
        beside = depth[nearest[0][rows, columns], nearest[1][rows, columns]]
        with np.errstate(invalid="ignore"):
            goes_on = np.abs(beside - depth[rows, columns]) < JUMP
        if goes_on.sum() < _LEAST_CONTACT_PX:
            return workspace.TABLE_Z
        rows, columns = rows[goes_on] + window[0].start, columns[goes_on] + window[1].start
        z = self.depth[rows, columns].astype(float)
        seen = np.column_stack([(self.start[0] + columns * self.pitch) * z, (self.start[1] + rows * self.pitch) * z, z])
        height = float(np.percentile(geometry.transform(self.T_base_camera, seen)[:, 2], 25.0))
        return height if height > workspace.TABLE_Z + _ON_TABLE else workspace.TABLE_Z

    def hidden(self, points: FloatArray) -> BoolArray:
        """True (K,) for points of the base frame behind what the camera saw in their direction; see `seen_free`."""
        z, measured = self._measured(points, self.depth)
        with np.errstate(invalid="ignore"):
            return np.asarray(z - measured > _FREE)


def _pitch(right: NDArray[np.float32], on: NDArray[np.intp]) -> float:
    """Tangent between neighbouring pixels, from rows (K,) that follow each other."""
    steps = np.abs(np.diff(right[on])[np.diff(on) == 1])
    steps = steps[steps > 1e-6]
    return float(np.median(steps)) if len(steps) else _DEFAULT_PITCH


def _window(mask: BoolArray, margin: int = 0) -> tuple[slice, slice]:
    """Rows and columns of an image (h, w) in which a mask lies, and a margin [px]."""
    first, last = [], []
    for axis in (1, 0):
        hit = np.flatnonzero(mask.any(axis=axis))
        first.append(max(int(hit[0]) - margin, 0) if len(hit) else 0)
        last.append(int(hit[-1]) + margin + 1 if len(hit) else 0)
    return slice(first[0], last[0]), slice(first[1], last[1])


def trimmed(mask: BoolArray, depth: NDArray[np.float32]) -> BoolArray:
    """A mask (h, w) without what hangs over its edges: surfaces that a depth jump parts from most of it.

    What is at least `_LEAST_PART` of the largest part and thicker than an edge stays: an object behind another is often
    seen in two.
    """
    window = _window(mask)
    inside, z = mask[window] & ~np.isnan(depth[window]), depth[window]
    # Each pixel is one node of a grid twice as fine; the nodes between two pixels say whether they hang together.
    nodes = np.zeros((2 * inside.shape[0] - 1, 2 * inside.shape[1] - 1), dtype=bool)
    nodes[::2, ::2] = inside
    with np.errstate(invalid="ignore"):
        nodes[1::2, ::2] = np.abs(np.diff(z, axis=0)) < JUMP
        nodes[::2, 1::2] = np.abs(np.diff(z, axis=1)) < JUMP
    nodes[1::2, ::2] &= inside[1:] & inside[:-1]
    nodes[::2, 1::2] &= inside[:, 1:] & inside[:, :-1]
    labels, count = ndimage.label(nodes)
    if not count:
        return mask
    part = labels[::2, ::2]
    sizes = np.bincount(part[inside], minlength=count + 1)
    keep = sizes >= _LEAST_PART * sizes.max()
    for k in np.flatnonzero(keep):
        thick = k == int(sizes.argmax()) or ndimage.binary_erosion(part == k, iterations=_EDGE_PX).any()
        keep[k] = thick and k > 0
    result = np.zeros_like(mask)
    result[window] = keep[part] & inside
    return result
