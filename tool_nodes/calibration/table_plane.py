"""The table top as a camera measures it, wherever it is: what a pose in the base frame is checked against."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import backproject, transform
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray, Frame

_REACH_M = (0.1, 1.0)
"""Horizontal distance from the base within which the table is looked for [m]."""
_NEAR_M = 0.012
"""Points within this of a plane are of it [m]: three times the noise of stereo depth at 1 m, and waves of a desk."""
_TRIES = 200
"""Planes through three points that are tried [-]: where the table is a quarter of the image, three."""
_TAKEN = 4000
"""Points of an image that are looked at [-]; they bound the time."""
_STEEPEST = np.cos(np.radians(25.0))
"""Steeper planes are walls and boards [-], the cosine of 25 degrees: no calibration is off by that much unnoticed."""
_LEAST_SHARE = 0.15
"""Share of the points that the table must have [-]; less may be the lid of a box."""
_ROUNDS = 3
"""Fits, each without what the one before left over [-]."""


@dataclass(frozen=True)
class TablePlane:
    """A table top in the base frame.

    Attributes:
        height_m: Height in the middle of what is seen of it [m].
        tilt_rad: Angle between it and the horizontal [rad].
    """

    height_m: float
    tilt_rad: float


def table_plane(frame: Frame) -> TablePlane:
    """The largest nearly level plane of an image, by its own pose.

    Raises:
        ToolError: NO_DEPTH where the image has too little depth; IMAGE_UNUSABLE where it shows no table.
    """
    points = _points(frame)
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(points), (_TRIES, 3))
    a, b, c = (points[picks[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1)
    level = np.abs(normals[:, 2]) > _STEEPEST * np.maximum(lengths, 1e-12)
    normals, origins = normals[level] / lengths[level, None], a[level]
    counts = [int((np.abs((points - origin) @ n) < _NEAR_M).sum()) for n, origin in zip(normals, origins, strict=True)]
    if not counts or max(counts) < _LEAST_SHARE * len(points):
        raise ToolError(
            ErrorCode.IMAGE_UNUSABLE,
            f"No table is to be seen by the {frame.camera} camera: nothing level fills a part of its picture.",
            "Clear the table, and check that the camera looks at it.",
        )
    best = int(np.argmax(counts))
    near = points[np.abs((points - origins[best]) @ normals[best]) < _NEAR_M]
    for _ in range(_ROUNDS):
        middle = near.mean(axis=0)
        normal = np.linalg.svd(near - middle, full_matrices=False)[2][2]
        off = np.abs((points - middle) @ normal)
        near = points[off < min(_NEAR_M, 3.0 * float(np.sqrt(np.mean(off[off < _NEAR_M] ** 2))) + 1e-4)]
    tilt = float(np.arccos(min(abs(float(normal[2])), 1.0)))
    return TablePlane(float(middle[2]), tilt)


def _points(frame: Frame) -> FloatArray:
    cloud: NDArray[np.float32] = backproject(frame.depth, frame.K)
    cloud = cloud[np.isfinite(cloud[:, 2]) & (cloud[:, 2] > 0.0)]
    if len(cloud) < 1000:
        raise ToolError(
            ErrorCode.NO_DEPTH, f"The picture of the {frame.camera} camera has no depth.", "Check the depth camera."
        )
    points = transform(frame.T_base_camera, cloud[:: max(len(cloud) // (2 * _TAKEN), 1)].astype(float))
    distance = np.hypot(points[:, 0], points[:, 1])
    points = points[(distance > _REACH_M[0]) & (distance < _REACH_M[1])]
    if len(points) < 300:
        raise ToolError(
            ErrorCode.IMAGE_UNUSABLE,
            f"The {frame.camera} camera sees nothing within {_REACH_M[1]:g} m of the arm's base.",
            "Is its pose right, and does it look at the table?",
        )
    return points


HEIGHT_M, TILT_RAD = 0.010, np.radians(1.5)
"""By how much a table may be off its height [m] and askew [rad] before nothing may move: what perception levels by
itself (`toolhand.tool_nodes.perception.levelling`) is less, and fingers touch the table below that height."""


def require_table(height_m: float, tilt_rad: float, what: str) -> None:
    """Raises ToolError UNAVAILABLE unless what was measured of the table agrees with where it is said to be.

    Args:
        height_m: Measured height in the base frame [m].
        tilt_rad: Measured tilt [rad].
        what: Name of the source of the measurement in a sentence: "the scene camera".
    """
    off = height_m - workspace.TABLE_Z
    if abs(off) > HEIGHT_M:
        side, why = ("above", "the table is higher") if off > 0 else ("below", "the robot stands on a pedestal")
        raise ToolError(
            ErrorCode.UNAVAILABLE,
            f"By {what} the table is {1000 * abs(off):.0f} mm {side} the height that motions are planned with.",
            f"Perhaps {why}, or the camera has been moved; set the base frame at the height of the table, or "
            "calibrate anew.",
        )
    if tilt_rad > TILT_RAD:
        raise ToolError(
            ErrorCode.UNAVAILABLE,
            f"By {what} the table is {np.degrees(tilt_rad):.1f} degrees askew.",
            "The camera or the robot's base has been moved: calibrate anew.",
        )
