"""Which arrays are clouds of points."""

from __future__ import annotations

from typing import Any

import numpy as np

from toolhand.tool_nodes.geometry import is_rigid
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

MOST_POINTS = 4_000_000
"""Most points of a cloud [points]: two images of a 4K camera."""


def finite_points(cloud: Any, least: int = 1) -> FloatArray:
    """The points (N, 3) of a cloud that are finite, as float64.

    Args:
        cloud: Anything that should be an array (M, 3) of numbers.
        least: Fewest finite points that will do.

    Raises:
        ToolError: INVALID_ARGUMENT; one sentence that says what is allowed.
    """
    try:
        points = np.asarray(cloud)
    except ValueError:  # rows of several lengths
        points = np.empty(0, object)
    if points.dtype.kind not in "fiu" or points.ndim != 2 or points.shape[1] != 3:
        raise invalid(f"The cloud must be an array (N, 3) of numbers, not {points.dtype} {points.shape}.")
    if len(points) > MOST_POINTS:
        raise invalid(f"The cloud may have at most {MOST_POINTS} points, not {len(points)}.")
    finite: FloatArray = points[np.isfinite(points).all(axis=1)].astype(float)
    if len(finite) < least:
        raise invalid(f"The cloud must have at least {least} finite points, not {len(finite)} of {len(points)}.")
    return finite


def rigid_transform(T: Any, what: str = "The transform") -> FloatArray:
    """A rigid transform (4, 4). Raises ToolError INVALID_ARGUMENT where it is none."""
    if not is_rigid(T) or np.ndim(T) != 2:
        raise invalid(f"{what} must be rigid, a finite matrix (4, 4): a rotation, a translation, and 0, 0, 0, 1 below.")
    return np.asarray(T, float)
