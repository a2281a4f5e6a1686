"""The relief of one cluster: smoothed depth, points, normals and colour, on a grid of about the scene camera's pixels.

Depth is smoothed along surfaces, not over jumps: what flows between two pixels falls with their difference, as in
P. Perona and J. Malik, "Scale-Space and Edge Detection Using Anisotropic Diffusion", PAMI 12(7), 1990. The difference
that counts as a jump grows with the noise that the bare table shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.perception.masks import Window, filled, grown
from toolhand.tool_nodes.perception.surface import Surface
from toolhand.tool_nodes.types import BoolArray, Frame

Image32 = NDArray[np.float32]

MARGIN_PX = 12
"""Pixels around a cluster that are looked at too: as far as features reach [px]."""

_TABLE_PX = 6
"""Width of the band about a cluster in which its outline is looked for [px]: as far as stereo widens what is near."""
_CLOSED_PX = 8
"""Gaps in a cluster up to twice as wide may be the floor of a hollow object [px]; a round figure."""
_ROUNDS = 4
"""Steps of smoothing: noise is averaged over about 3 px [-]."""
_ROUGH_M, _MORE_ROUNDS = 0.0005, 6
"""One more step for each of the first that the table is rough by [m], and at most so many more [-]; round figures."""
_STEP_M = 0.004
"""Depth between neighbouring pixels that counts as a jump without noise [m]: a face that is seen at 70 degrees has as
much at 1 m."""
_NOISE_STEPS = 3.0
"""Standard deviations of the noise that are added to it [-]: the usual bound."""
_NORMAL_PX = 2
"""Reach of the differences that normals are made of [px]: half of what the smoothing averages over."""
_FLAT_M = 0.006
"""Within this height the table is bare, for the noise to be measured there [m]; as the last band of `surface.py`."""
_LEAST_TABLE = 100
"""Pixels of bare table below which the noise is not known, and taken as none [-]; a round figure."""
_DARK = 8.0
"""Added to each colour, so that noise does not decide the hue of what is black [grey levels]; a round figure."""


@dataclass(frozen=True)
class Relief:
    """One cluster's window, every `every`-th pixel of it.

    Attributes:
        depth: (h, w) smoothed depth [m].
        points: (h, w, 3) in the base frame, z over the table [m].
        normals: (h, w, 3) unit normals towards the camera, base frame.
        colour: (h, w, 3) logarithm of the brightness, and two chromaticities [-].
        mask: bool (h, w), pixels of the cluster and of the table close to it.
        own: bool (h, w), those of them that are the cluster's.
        table: bool (h, w), those of them that are surely table.
        every: Step of the grid [px].
        focal: Focal length on the grid [px].
        noise: Standard deviation of a pixel's depth against its neighbours' [m].
        rough: Standard deviation of the height of the bare table [m].
    """

    depth: Image32
    points: Image32
    normals: Image32
    colour: Image32
    mask: BoolArray
    own: BoolArray
    table: BoolArray
    every: int
    focal: float
    noise: float
    rough: float

    def full(self, mask: BoolArray, shape: tuple[int, ...]) -> BoolArray:
        """A mask (h, w) of the grid as one of the window's own pixels, of `shape`."""
        fine = np.repeat(np.repeat(mask, self.every, axis=0), self.every, axis=1)
        return fine[: shape[0], : shape[1]]


def find_relief(
    frame: Frame, surface: Surface, mask: BoolArray, window: Window, noise: float, taken: BoolArray
) -> Relief:
    """The relief within a window.

    Args:
        frame: The image.
        surface: Its cloud and table.
        mask: bool (H, W), the cluster.
        window: Rows and columns to look at.
        noise: See `depth_noise` [m].
        taken: bool (H, W), pixels of all clusters.
    """
    seen = frame.depth[window][mask[window]]
    known = seen[np.isfinite(seen)]
    middle = float(np.median(known)) if len(known) else 1.0
    every = max(int(workspace_pitch() * float(frame.K[0, 0]) / middle), 1)
    rows, columns = window
    grid = np.s_[rows.start : rows.stop : every, columns.start : columns.stop : every]
    depth = _filled(frame.depth[grid])
    step = np.float32(_STEP_M + _NOISE_STEPS * noise)
    for _ in range(_ROUNDS + min(round(surface.rough / _ROUGH_M), _MORE_ROUNDS)):
        depth = _smoothed(depth, step)
    points = _rays(frame, grid) * depth[..., None] + frame.T_base_camera[:3, 3].astype(np.float32)
    a, b, c = surface.plane.astype(np.float32)
    points[..., 2] -= a + b * points[..., 0] + c * points[..., 1]
    around, table = _around(mask[grid], points[..., 2], surface.rough)
    around &= mask[grid] | ~taken[grid]
    return Relief(
        depth=depth,
        points=points,
        normals=_normals(points, depth, step),
        colour=_colour(frame.rgb[grid]),
        mask=around,
        own=mask[grid] & around,
        table=table & around & ~mask[grid],
        every=every,
        focal=float(frame.K[0, 0]) / every,
        noise=noise,
        rough=surface.rough,
    )


def _around(mask: BoolArray, height: Image32, rough: float) -> tuple[BoolArray, BoolArray]:
    """A cluster (h, w) with the table close to it, and what of that is surely table: the outermost low pixels.

    What a cluster encloses, or nearly so, may be the low floor of an object, and is not sure.
    """
    closed = filled(~grown(~grown(mask, _CLOSED_PX), _CLOSED_PX) | mask)
    around = grown(closed, _TABLE_PX)
    return around, around & ~grown(closed, _TABLE_PX - 2) & (height < _FLAT_M + 2.0 * rough)


def workspace_pitch() -> float:
    """Width of a pixel of the scene camera where it looks at the table [m]."""
    distance = np.linalg.norm(workspace.SCENE_CAMERA_POSITION - workspace.SCENE_CAMERA_TARGET)
    return float(distance / workspace.SCENE_CAMERA_FOCAL_PX)


def depth_noise(frame: Frame, surface: Surface) -> float:
    """Standard deviation of a pixel's depth against its neighbours, where the table is bare [m]."""
    depth = frame.depth
    middle = np.s_[1:-1:3, 1:-1:3]
    rows, columns = depth[middle].shape
    around = [depth[1 + v :: 3, 1 + u :: 3][:rows, :columns] for v, u in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    with np.errstate(invalid="ignore"):
        bare = surface.inside[middle] & (np.abs(surface.height[middle]) < _FLAT_M)
        away = np.abs(depth[middle] - sum(around) / np.float32(4.0))[bare]
    away = away[np.isfinite(away)]
    # Of independent noise, a pixel minus the mean of four has 5/4 of the variance.
    return 0.0 if len(away) < _LEAST_TABLE else float(1.4826 * np.median(away) / np.sqrt(1.25))


def _filled(depth: Image32) -> Image32:
    """Depth (h, w) with each unknown pixel as its nearest known one."""
    unknown = ~np.isfinite(depth)
    if not unknown.any():
        return depth
    if unknown.all():
        return np.ones_like(depth)
    nearest = ndimage.distance_transform_edt(unknown, return_distances=False, return_indices=True)
    filled: Image32 = depth[tuple(nearest)]
    return filled


def _rays(frame: Frame, grid: Window) -> Image32:
    """(h, w, 3) directions of pixels in the base frame, of depth 1."""
    height, width = frame.depth.shape
    rows, columns = np.arange(height)[grid[0]], np.arange(width)[grid[1]]
    R, K = frame.T_base_camera[:3, :3], frame.K
    across = np.outer((columns - K[0, 2]) / K[0, 0], R[:, 0]) + R[:, 2]
    down = np.outer((rows - K[1, 2]) / K[1, 1], R[:, 1])
    return (across[None] + down[:, None]).astype(np.float32)


def _flow(depth: Image32, step: np.float32, axis: int) -> Image32:
    """How much of a difference between neighbours along an axis is evened out."""
    ratio = np.diff(depth, axis=axis) / step
    return np.asarray(np.float32(0.25) / np.square(np.float32(1.0) + ratio * ratio), np.float32)


def _evened(image: Image32, flows: tuple[Image32, Image32]) -> Image32:
    """An image (h, w) after one step of diffusion."""
    out = image.copy()
    for axis, flow in enumerate(flows):
        moved = np.diff(image, axis=axis) * flow
        before, after = (np.s_[:-1], np.s_[1:]) if axis == 0 else (np.s_[:, :-1], np.s_[:, 1:])
        out[before] += moved
        out[after] -= moved
    return out


def _smoothed(depth: Image32, step: np.float32) -> Image32:
    return _evened(depth, (_flow(depth, step, 0), _flow(depth, step, 1)))


def shifted(image: Image32, by: int, axis: int) -> Image32:
    """An image (h, w, ...) whose pixel k is that at k + by; beyond the edge its last one."""
    n = image.shape[axis]
    moved: Image32 = np.take(image, np.clip(np.arange(n) + by, 0, n - 1), axis=axis)
    return moved


def _tangent(points: Image32, depth: Image32, step: np.float32, axis: int) -> Image32:
    """(3, h, w) direction of the surface along an axis, from the side that has no jump."""
    ahead = shifted(points, _NORMAL_PX, axis + 1) - points
    behind = points - shifted(points, -_NORMAL_PX, axis + 1)
    weights = []
    for by in (_NORMAL_PX, -_NORMAL_PX):
        ratio = (shifted(depth, by, axis) - depth) / (step * _NORMAL_PX)
        weights.append(np.float32(1.0) / np.square(np.float32(1.0) + ratio * ratio) + np.float32(1e-6))
    return np.asarray(behind + weights[0] / (weights[0] + weights[1]) * (ahead - behind), np.float32)


def _normals(points: Image32, depth: Image32, step: np.float32) -> Image32:
    """(h, w, 3) of points (h, w, 3)."""
    planes = np.ascontiguousarray(np.moveaxis(points, 2, 0))  # images of one number each: many times faster
    u, v = _tangent(planes, depth, step, 1), _tangent(planes, depth, step, 0)
    normals = _unit([v[j] * u[k] - v[k] * u[j] for j, k in ((1, 2), (2, 0), (0, 1))])
    flows = (_flow(depth, step, 0), _flow(depth, step, 1))
    for _ in range(2):
        normals = [_evened(part, flows) for part in normals]
    return np.stack(_unit(normals), axis=2)


def _unit(vectors: Sequence[Image32]) -> list[Image32]:
    """Vectors of length 1, as the images (h, w) of their three numbers."""
    x, y, z = vectors
    length = np.maximum(np.sqrt(x * x + y * y + z * z), np.float32(1e-12))
    return [part / length for part in vectors]


def _colour(rgb: NDArray[np.uint8]) -> Image32:
    """(h, w, 3): logarithm of the brightness, red against green, blue against both."""
    channels = rgb.astype(np.float32) + np.float32(_DARK)
    total = channels.sum(axis=2)
    colour = np.empty(rgb.shape, np.float32)
    colour[..., 0] = np.log(total)
    colour[..., 1] = (channels[..., 0] - channels[..., 1]) / total
    colour[..., 2] = (channels[..., 2] - np.float32(0.5) * (channels[..., 0] + channels[..., 1])) / total
    return colour
