"""Where a held thing is in the hand, from a picture of it: it is pushed when the jaws close, and slips a little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from tool_nodes.clouds.alignment import Alignment, aligned
from tool_nodes.geometry import backproject, invert, transform
from tool_nodes.types import FloatArray, Frame

REACH_M = 0.02
"""How far a thing may lie from where the hand should have taken it [m]: jaws of 85 mm push a thing by less than half of
the room that they leave it."""

LEAST_SHARE = 0.3
"""Less of the thing than this was seen again: then its pose is not known better [-]. Fingers hide a third of most
things, and a hand that turned shows another side."""


def moved_in_hand(
    thing: FloatArray,
    T_closed: FloatArray,
    T_now: FloatArray,
    frame: Frame,
    align: Callable[[Any, Any, float], Alignment] = aligned,
) -> FloatArray | None:
    """How a held thing lies other than it was seen before the jaws closed.

    Args:
        thing: (N, 3) points of it as they were seen, base frame [m].
        T_closed: (4, 4) pose of the robot's tip frame in the base frame when the jaws had closed.
        T_now: (4, 4) the same at the time of the picture.
        frame: Picture that shows it in the hand, with depth.
        align: The function that moves one cloud onto another.

    Returns:
        (4, 4) its motion in the tip frame: a point that should be at p is at T p. None where too little of it is seen.

    Raises:
        ToolError: See `align`.
    """
    expected = transform(T_now @ invert(T_closed), thing[np.isfinite(thing).all(axis=1)].astype(float))
    cloud = np.asarray(transform(frame.T_base_camera, backproject(frame.depth, frame.K)), float)
    cloud = cloud[np.isfinite(cloud).all(axis=1)]
    low, high = expected.min(axis=0) - REACH_M, expected.max(axis=0) + REACH_M
    cloud = cloud[((cloud >= low) & (cloud <= high)).all(axis=1)]
    if not len(cloud):
        return None
    near = cKDTree(expected).query(cloud, distance_upper_bound=REACH_M)[0]
    cloud = cloud[np.isfinite(near)]
    if len(cloud) < LEAST_SHARE * len(expected):
        return None
    found = align(expected, cloud, REACH_M)
    if found.share < LEAST_SHARE:
        return None
    return np.asarray(invert(T_now) @ found.T @ T_now)
