"""Table plane and the cloud above it: every later step reads heights over the table that was seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.perception.masks import Window, eroded, window_of
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_PRIOR_BAND_M = (0.04, 0.015, 0.006)
"""Half widths of the band about the current plane from which each refit takes its points [m]."""

_MIN_TABLE_POINTS = 50
"""With fewer points within the band the plane is not fitted again; a round figure."""
MAX_HEIGHT_M = 0.40
"""Points higher over the table than this belong to the robot or to nothing [m]."""

SOLID_M = 0.008
"""A point this far over the table is surely part of an object, whatever the sensor's noise [m]."""

_FIRM_M = 0.010
"""Neighbouring pixels of one surface are within this distance [m], times `Surface.coarse`: those of a face that is seen
at 75 degrees are 8 mm apart at the scene camera's distance."""
_FIRM_NEIGHBOURS = 4
"""So many of its eight neighbours does a pixel on the edge of a surface have on it [-]: at a straight edge five, at a
corner three. Of mixed edges between an object and what is behind it one pixel or two are in a row."""

_EDGE_M = 0.01
"""Width of the strip that is left out along the edges of the table [m]; a round figure."""
_BEYOND_M = 0.08
"""What stands at the table's inner end may reach this far towards the robot [m]."""


@dataclass(frozen=True)
class Surface:
    """A frame's cloud in the base frame, with heights measured from the table that the camera sees.

    Attributes:
        points: float32 (H, W, 3) x, y in the base frame and height over the table [m]; NaN where unknown.
        plane: (3,) a, b, c of the table's height a + b*x + c*y in the base frame.
        inside: bool (H, W), pixels whose point lies over the table and below `MAX_HEIGHT_M`.
        coarse: How many times as wide a pixel is as in the scene camera's 640x480, 1 in sharper images [-].
        rough: Standard deviation of the height of the bare table, which is noise of the depth [m].
    """

    points: NDArray[np.float32]
    plane: FloatArray
    inside: BoolArray
    coarse: float = 1.0
    rough: float = 0.0

    @property
    def height(self) -> NDArray[np.float32]:
        """(H, W) height over the table [m]."""
        return self.points[:, :, 2]

    @property
    def area(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Lower and upper corner (x, y) of what `inside` covers [m]."""
        (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
        return (x0 - _BEYOND_M, y0 + _EDGE_M), (x1 - _EDGE_M, y1 - _EDGE_M)

    def table_z(self, x: float, y: float) -> float:
        """Height of the table at (x, y) in the base frame [m]."""
        return float(self.plane @ (1.0, x, y))


def find_surface(frame: Frame) -> Surface:
    """The frame's cloud above the table plane, which is fitted near `workspace.TABLE_Z`.

    Raises:
        ToolError: NO_DEPTH when the frame has no valid depth at all.
    """
    height, width = frame.depth.shape
    if not np.isfinite(frame.depth).any():
        raise ToolError(ErrorCode.NO_DEPTH, "The picture has no valid depth.", "Check the depth camera.")
    planes = _cloud(frame)
    plane = _fit_plane(planes[:, ::4, ::4].reshape(3, -1).T)
    a, b, c = plane.astype(np.float32)
    planes[2] -= a + b * planes[0] + c * planes[1]
    inside = np.zeros((height, width), dtype=bool)
    coarse = max(1.0, workspace.SCENE_CAMERA_FOCAL_PX / float(frame.K[0, 0]))
    surface = Surface(np.moveaxis(planes, 0, 2), plane, inside, coarse, _roughness(planes[2, ::4, ::4]))
    (x0, y0), (x1, y1) = surface.area
    x, y, z = planes
    inside[:] = (x > x0) & (x < x1) & (y > y0) & (y < y1) & (z > -0.02) & (z < MAX_HEIGHT_M)
    return surface


def _roughness(heights: NDArray[np.float32]) -> float:
    """Standard deviation of the bare table among heights (h, w), from those below it: nothing stands there [m]."""
    below = heights[(heights < 0.0) & (heights > -_PRIOR_BAND_M[1])]
    return float(1.4826 * np.median(-below)) if len(below) >= _MIN_TABLE_POINTS else 0.0


def solid_pixels(surface: Surface, mask: BoolArray) -> BoolArray:
    """The pixels (H, W) of a mask that surely show its object: above the table, and not on the mask's outline.

    On the outline, and beyond it where a mask is a pixel too large, the depth may be that of the background.
    """
    solid = np.zeros_like(mask)
    if not mask.any():
        return solid
    window = window_of(mask)
    core = eroded(mask[window])
    kept = core if 2 * np.count_nonzero(core) > np.count_nonzero(mask) else mask[window]
    with np.errstate(invalid="ignore"):
        solid[window] = kept & surface.inside[window] & (surface.height[window] > SOLID_M)
    return solid


def firm_pixels(surface: Surface, window: Window, mask: BoolArray) -> BoolArray:
    """Pixels of a mask (h, w) in a window that lie on a surface with their neighbours; the mask where few do.

    At the edge of an object a sensor mixes its depth with that of what is behind: such points lie in the air.
    """
    padded = np.pad(mask, 1)
    width = padded.shape[1]
    at = np.flatnonzero(padded)
    number = np.full(padded.size, -1)
    number[at] = np.arange(len(at))
    points = surface.points[window][mask]
    count = np.zeros(len(at), dtype=np.intp)
    limit = (_FIRM_M * surface.coarse) ** 2
    # Each pair of neighbours once: what is near to one is near to the other.
    for step in (1, width - 1, width, width + 1):
        second = number[at + step]
        first = np.flatnonzero(second >= 0)
        second = second[first]
        away = points[first] - points[second]
        near = np.einsum("ij,ij->i", away, away) < limit
        count += np.bincount(first[near], minlength=len(at)) + np.bincount(second[near], minlength=len(at))
    firm = count >= _FIRM_NEIGHBOURS
    if 2 * np.count_nonzero(firm) < len(at):
        return mask
    kept = np.zeros_like(mask)
    kept[mask] = firm
    return kept


def _cloud(frame: Frame) -> NDArray[np.float32]:
    """The cloud in the base frame as three images (3, H, W) [m].

    A pixel's ray is a part that depends on its column plus a part that depends on its row.
    """
    height, width = frame.depth.shape
    R, origin, K = frame.T_base_camera[:3, :3], frame.T_base_camera[:3, 3], frame.K
    columns = np.outer(R[:, 0], (np.arange(width) - K[0, 2]) / K[0, 0]) + R[:, 2:]
    rows = np.outer(R[:, 1], (np.arange(height) - K[1, 2]) / K[1, 1])
    planes = np.empty((3, height, width), dtype=np.float32)
    for axis in range(3):
        np.add(rows[axis, :, None].astype(np.float32), columns[axis].astype(np.float32), out=planes[axis])
        planes[axis] *= frame.depth
        planes[axis] += np.float32(origin[axis])
    return planes


def _fit_plane(points: NDArray[np.float32]) -> FloatArray:
    """(3,) a, b, c of the table z = a + b*x + c*y through base points (N, 3); the prior where too few are near it."""
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    over = (points[:, 0] > x0) & (points[:, 0] < x1) & (points[:, 1] > y0) & (points[:, 1] < y1)
    points = points[over].astype(float)
    x, y, z = np.ascontiguousarray(points.T)
    plane = np.array([workspace.TABLE_Z, 0.0, 0.0])
    for band in _PRIOR_BAND_M:
        residual = z - (plane[0] + plane[1] * x + plane[2] * y)
        near = residual[np.abs(residual) < band]
        if len(near) < _MIN_TABLE_POINTS:
            break
        # Objects stand on the table, never below it: the most frequent height is the table's, not the mean.
        counts = np.bincount(((near + band) * (20 / band)).astype(int), minlength=40)
        peak = -band + (int(np.argmax(counts)) + 0.5) * band / 20
        level = np.abs(residual - peak) < band / 2
        plane = _least_squares(x[level], y[level], z[level])
    return plane


def _least_squares(x: FloatArray, y: FloatArray, z: FloatArray) -> FloatArray:
    """(3,) a, b, c of the plane z = a + b*x + c*y nearest to points, each (N,)."""
    middle = np.array([x.mean(), y.mean(), z.mean()])
    x, y, z = x - middle[0], y - middle[1], z - middle[2]
    # Sums, not dot products: those wake up the threads of BLAS, which costs more than it saves here.
    xx, xy, yy, xz, yz = (float(np.sum(product)) for product in (x * x, x * y, y * y, x * z, y * z))
    slopes = np.linalg.lstsq(np.array([[xx, xy], [xy, yy]]), np.array([xz, yz]), rcond=None)[0]
    return np.array([middle[2] - slopes @ middle[:2], *slopes])
