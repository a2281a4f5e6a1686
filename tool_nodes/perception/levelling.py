"""The table as it was measured: by how much an image's calibration lets it lie askew, and how noisy its depth is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import heights, transform_part
from toolhand.tool_nodes.types import BoolArray, FloatArray

_NEAR_M = 0.015
"""Points within this of the table's height may be the table [m]: hand-eye errors of 5 mm and 0.5 degrees, and noise."""
_MOST_M, _MOST_RAD = 0.012, 0.012
"""A table farther off or more askew than this is something else [m], [rad]: twice such an error."""
_LEAST_POINTS = 400
"""Fewer points are not enough for a plane [-]: ten independent windows of a matching camera, each 6 pixels wide."""
_TAKEN = 4000
"""Points that are taken of more [-]; they bound the time."""
_ROUNDS = 3
"""Fits, each without what the one before left over [-]."""


@dataclass(frozen=True)
class Levelled:
    """What the table says of an image.

    Attributes:
        T: (4, 4) correction that brings the measured table to its height; the identity where too little is seen of it.
        noise: Standard deviation of the table's points about their plane [m].
    """

    T: FloatArray
    noise: float


def levelled(
    points: NDArray[np.float32], mask: BoolArray, about: FloatArray, T_base: FloatArray | None = None
) -> Levelled:
    """Fits the table.

    Args:
        points: (N, 3) points in the base frame, or in another one [m].
        mask: (N,) True on what is no table.
        about: (2,) where the correction turns about, base frame [m].
        T_base: (4, 4) pose of the points' frame, where it is not the base frame.
    """
    T_base = np.eye(4) if T_base is None else T_base
    z = heights(T_base, points)
    rows = np.flatnonzero((np.abs(z - workspace.TABLE_Z) < _NEAR_M) & ~mask)
    if len(rows) < _LEAST_POINTS:
        return Levelled(np.eye(4), 0.0)
    table = transform_part(T_base, points[rows[:: max(len(rows) // _TAKEN, 1)]]).astype(float)
    terms = np.column_stack([table[:, :2] - about, np.ones(len(table))])
    height = table[:, 2] - workspace.TABLE_Z
    kept = np.ones(len(table), dtype=bool)
    plane, noise = np.zeros(3), 0.0
    for _ in range(_ROUNDS):
        some = terms[kept]
        plane = np.linalg.lstsq(some.T @ some, some.T @ height[kept], rcond=None)[0]
        off = height - terms @ plane
        noise = float(np.median(np.abs(off[kept]))) / 0.6745
        kept = np.abs(off - np.median(off[kept])) < max(2.5 * noise, 1e-4)
    if abs(plane[2]) > _MOST_M or float(np.hypot(*plane[:2])) > _MOST_RAD:
        return Levelled(np.eye(4), noise)
    normal = np.array([-plane[0], -plane[1], 1.0])
    normal /= np.linalg.norm(normal)
    # The least rotation that brings the normal upright; it is so small that its first order is exact to a micrometre.
    x, y, _ = normal
    R = np.array([[1.0 - x * x / 2.0, -x * y / 2.0, -x], [-x * y / 2.0, 1.0 - y * y / 2.0, -y], [x, y, normal[2]]])
    U, _, V = np.linalg.svd(R)
    T = np.eye(4)
    T[:3, :3] = U @ V
    centre = np.array([*about, workspace.TABLE_Z + plane[2]])
    T[:3, 3] = np.array([*about, workspace.TABLE_Z]) - T[:3, :3] @ centre
    return Levelled(T, noise)
