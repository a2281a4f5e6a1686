"""The table and its cameras: one place for the numbers that perception, planning and scenes share.

What depends on the arm is in its robot.yaml.

Base frame: origin at the arm's base on the table, x away from the robot, y to its left, z up.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from toolhand.tool_nodes.types import BoolArray, FloatArray

TABLE_Z = 0.0
"""Height of the table top in the base frame [m]."""

TABLE_X = (0.16, 0.86)
"""Extent along x of the table area that cameras and scenes use [m]."""
TABLE_Y = (-0.60, 0.60)
"""Its extent along y [m]."""

REACH_RADIUS = (0.27, 0.69)
"""Distance from the base axis within which scenes put objects and free places are found [m]."""

REACH_X_MIN = 0.20
"""Nothing is picked or placed nearer to the robot than this x [m]; a round figure."""
REACH_Y_MAX = 0.44
"""Largest |y| at which something is picked or placed [m]."""

SCENE_CAMERA_POSITION = np.array([0.98, 0.0, 0.88])
"""Where the scene camera stands: opposite the robot, looking down at the table, base frame [m]."""
SCENE_CAMERA_TARGET = np.array([0.50, 0.0, 0.0])
"""What it looks at, base frame [m]."""
SCENE_CAMERA_FOCAL_PX = 660.0
"""Its focal length at 640x480 [px]; like a ZED's."""

IMAGE_SIZE = (640, 480)
"""(width, height) of the images that tools see [px]."""


def within_reach(xy: ArrayLike) -> bool:
    """True if scenes and perception use a point (x, y) of the table [m]; an arm's own reach is `Reach.contains`."""
    return bool(reachable(np.asarray(xy, dtype=float)[:2]))


def reachable(xy: FloatArray) -> BoolArray:
    """`within_reach` of many points (..., 2) [m] at once, bool (...)."""
    return in_sector(xy, REACH_RADIUS, REACH_X_MIN, REACH_Y_MAX)


def in_sector(xy: FloatArray, radius: tuple[float, float], x_min: float, y_max: float) -> BoolArray:
    """Which points (..., 2) are in the part of the table that an arm works on, bool (...); bounds included.

    Args:
        xy: Points of the table in the base frame [m].
        radius: (least, greatest) distance from the base's axis [m].
        x_min: Least x [m].
        y_max: Greatest |y| [m].
    """
    x, y = xy[..., 0], xy[..., 1]
    distance = np.hypot(x, y)
    found: BoolArray = (radius[0] <= distance) & (distance <= radius[1]) & (x >= x_min) & (np.abs(y) <= y_max)
    return found
