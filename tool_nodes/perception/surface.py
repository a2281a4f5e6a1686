"""The cloud of a frame above the table: every later step reads heights over the table that was seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tool_nodes import workspace
from tool_nodes.geometry import backproject, transform
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import BoolArray, FloatArray, Frame

_PRIOR_BAND_M = (0.04, 0.015, 0.006)
"""Half widths of the band about the current plane from which each refit takes its points [m]."""

_MIN_TABLE_POINTS = 50
MAX_HEIGHT_M = 0.40
"""Points higher over the table than this belong to the robot or to nothing [m]."""

_EDGE_M = 0.01


@dataclass(frozen=True)
class Surface:
    """A frame's cloud in the base frame, with heights measured from the table that the camera sees.

    Attributes:
        points: float32 (H, W, 3) x, y in the base frame and height over the table [m]; NaN where unknown.
        plane: (3,) a, b, c of the table's height a + b*x + c*y in the base frame.
        inside: bool (H, W), pixels whose point lies over the table and below `MAX_HEIGHT_M`.
    """

    points: NDArray[np.float32]
    plane: FloatArray
    inside: BoolArray

    @property
    def height(self) -> NDArray[np.float32]:
        """(H, W) height over the table [m]."""
        return self.points[:, :, 2]

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
    cloud = transform(frame.T_base_camera, backproject(frame.depth, frame.K))
    plane = _fit_plane(cloud.reshape(height, width, 3)[::4, ::4].reshape(-1, 3))
    a, b, c = plane.astype(np.float32)
    cloud[:, 2] -= a + b * cloud[:, 0] + c * cloud[:, 1]
    x, y, z = cloud.T
    inside = (x > workspace.TABLE_X[0]) & (x < workspace.TABLE_X[1] - _EDGE_M)
    inside &= (np.abs(y) < workspace.TABLE_Y[1] - _EDGE_M) & (z > -0.02) & (z < MAX_HEIGHT_M)
    return Surface(cloud.reshape(height, width, 3), plane, inside.reshape(height, width))


def _fit_plane(points: NDArray[np.float32]) -> FloatArray:
    """(3,) a, b, c of the table z = a + b*x + c*y through base points (N, 3); the prior where too few are near it."""
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    over = (points[:, 0] > x0) & (points[:, 0] < x1) & (points[:, 1] > y0) & (points[:, 1] < y1)
    points = points[over].astype(float)
    plane = np.array([workspace.TABLE_Z, 0.0, 0.0])
    design = np.column_stack([np.ones(len(points)), points[:, :2]])
    for band in _PRIOR_BAND_M:
        residual = points[:, 2] - design @ plane
        near = np.abs(residual) < band
        if np.count_nonzero(near) < _MIN_TABLE_POINTS:
            break
        # Things stand on the table, never below it: the most frequent height is the table's, not the mean.
        counts, edges = np.histogram(residual[near], bins=40, range=(-band, band))
        peak = edges[int(np.argmax(counts))] + band / 40
        near = np.abs(residual - peak) < band / 2
        plane = np.linalg.lstsq(design[near], points[near, 2], rcond=None)[0]
    return plane
