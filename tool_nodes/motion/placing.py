"""Where and how a held object can be set down: candidate hand poses over a point, most literal first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import pose, rotation_z
from toolhand.tool_nodes.motion.robot_model import Reach
from toolhand.tool_nodes.motion.targets import HeldObject
from toolhand.tool_nodes.perception.containers import is_cavity, seen_inside
from toolhand.tool_nodes.perception.heights import HeightMap
from toolhand.tool_nodes.perception.placed import rise, seen_heights
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

STEP_TOLERANCE = 0.015
"""Height differences under the object that still count as one surface [m]."""

_STEADY_M = 0.03
"""Radius about its centre within which the base of what is put on something must be carried [m]; a round figure."""
_STEADY_SHARE = 0.9
"""Share of that middle of the base that must be carried [-]; a round figure."""

_YAWS = np.deg2rad([0, 180, 30, -30, 60, -60, 90, -90, 120, -120, 150, -150])
"""Turns of the held object against how it was grasped, in the order in which they are tried [rad]."""
_NUDGE = 0.01
"""Small enough that a place that was chosen with a margin is still in the same relation to its neighbours [m]."""

_SEEN_M = 0.008
"""What was set down rises above its support by more than this [m]."""
_NEAR_M = 0.03
"""What was set down is looked for so far around the place at the least [m]; a round figure."""

_DROPS = ((0.004, 0.015), (0.03,))
"""Heights of release [m]; every shift is tried with the first group before any with the next. A round figure."""
_DROPS_INTO = ((0.004, 0.015, 0.03, 0.05, 0.075, 0.10, 0.13),)
"""The same for what is dropped into a container, over whose rim the fingers may have to stay."""

MOST_IN_VAIN = 12
"""Poses of the hand over a place to which the planner may find no way before the place counts as blocked [-]: as many
as there are turns of the hand, and each such search uses up its whole budget. Of 97 placements of the erring world none
had one before the pose that it took."""


@dataclass(frozen=True)
class PlaceCandidate:
    """One way to set the object down.

    Attributes:
        T_base_gripper: (4, 4) pose of the hand at release.
        point: (3,) where the middle of the object's bottom comes to rest, base frame [m].
    """

    T_base_gripper: FloatArray
    point: FloatArray


def footprint_support(heights: HeightMap, centre: FloatArray, R: FloatArray, half: FloatArray) -> float:
    """Greatest height [m] under a box with half extents (3,) and orientation R (3, 3) centred over (2,).

    Cells that the camera did not see count as free only where seen cells surround the box; NaN if most are unseen.
    """
    found, _ = _heights_under(heights, centre, R, half)
    seen = found[~np.isnan(found)]
    return float(seen.max()) if len(seen) > len(found) / 2 else float("nan")


def is_steady(heights: HeightMap, centre: FloatArray, R: FloatArray, half: FloatArray, support: float) -> bool:
    """True if a top face at height `support` [m] carries enough of the middle of a box's base."""
    found, inside = _heights_under(heights, centre, R, np.minimum(half, _STEADY_M))
    carried = found[inside] > support - STEP_TOLERANCE
    return bool(len(carried)) and float(np.mean(carried)) >= _STEADY_SHARE


def _heights_under(
    heights: HeightMap, centre: FloatArray, R: FloatArray, half: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Heights (N,) of the cells under a box's base [m], NaN where unseen, and which lie in the ellipse that fits it.

    No cells where the base reaches beyond the map.
    """
    u, v = R[:2, 0] * half[0], R[:2, 1] * half[1]
    steps = [np.linspace(-1, 1, max(3, int(np.ceil(2 * np.linalg.norm(w) / heights.cell)) + 1)) for w in (u, v)]
    a, b = (grid.ravel() for grid in np.meshgrid(*steps, indexing="ij"))
    xy = centre[:2] + a[:, None] * u + b[:, None] * v
    cells = np.floor((xy - (heights.x0, heights.y0)) / heights.cell).astype(int)
    if (cells < 0).any() or (cells >= heights.heights.shape).any():
        return np.empty(0), np.empty(0, bool)
    return heights.heights[cells[:, 0], cells[:, 1]], a**2 + b**2 <= 1.0


def place_candidates(point: FloatArray, held: HeldObject, heights: HeightMap, reach: Reach) -> Iterator[PlaceCandidate]:
    """Hand poses that set the held object down on a point (3,) of the base frame.

    Into a cavity the object is lowered as far as hand and walls allow, so candidates rise up to above the rim. On
    open ground it must rest on one surface, and may come to rest 1 cm beside the point if the point itself has too
    little room.
    """
    into = is_cavity(heights, point)
    shifts = [np.zeros(2)]
    if not into:
        shifts += [_NUDGE * np.array([np.cos(a), np.sin(a)]) for a in np.arange(8) * np.pi / 4]
    for drops, shift in product(_DROPS_INTO if into else _DROPS, shifts):
        target = point + np.array([*shift, 0.0])
        if not reach.contains(target[:2]):
            continue
        for drop, yaw in product(drops, _YAWS):
            R = rotation_z(yaw) @ held.R_base_gripper
            support = float(point[2]) if into else _support(heights, target, R, held)
            if support is None:
                continue
            position = np.array([*target[:2], support + drop]) - R @ held.middle
            yield PlaceCandidate(pose(R, position), np.array([*target[:2], support]))


def _support(heights: HeightMap, target: FloatArray, R: FloatArray, held: HeldObject) -> float | None:
    """Height [m] of the one surface that a held object would rest on at a point (3,); None if there is none.

    R (3, 3) is the orientation of the hand.
    """
    box = held.box
    R_base_box = R @ box.T_parent_box[:3, :3]
    centre = target[:2] + (R @ (box.T_parent_box[:3, 3] - held.middle))[:2]
    height = footprint_support(heights, centre, R_base_box, box.half_extents)
    if not abs(height - target[2]) <= STEP_TOLERANCE:
        return None
    if height <= workspace.TABLE_Z + STEP_TOLERANCE:
        return workspace.TABLE_Z
    return height if is_steady(heights, centre, R_base_box, box.half_extents, height) else None


def blocked(point: FloatArray, tried: int, failure: ToolError | None) -> ToolError:
    """PLACE_BLOCKED of a point (3,) of the base frame: the number of candidates, and why the last one failed."""
    where = f"x={point[0]:.2f} m, y={point[1]:.2f} m"
    if not tried:
        return ToolError(
            ErrorCode.PLACE_BLOCKED,
            f"The place at {where} is occupied or has no level surface as large as the held object.",
            "Choose a free place.",
        )
    detail = f" ({failure.message.rstrip('.')})" if failure else ""
    return ToolError(
        ErrorCode.PLACE_BLOCKED,
        f"No collision-free way to set the object down at {where}{detail}.",
        (failure and failure.hint) or "Choose a place with more room around it.",
    )


def verify_placed(point: FloatArray, into: bool, before: Frame, after: Frame, around: float) -> None:
    """See that something new stands on the support where it was set down, or is new in a container.

    Args:
        point: (3,) where the middle of its bottom should rest, base frame [m].
        into: It was let go inside of a container.
        before, after: Images without it and with it.
        around: How far its base reaches from that middle [m].

    Raises:
        ToolError: OBJECT_DROPPED; see `seen_inside` for containers.
    """
    if into:
        seen_inside(before, after, point)
        return
    old, new = (seen_heights(frame, float(point[2]), _SEEN_M) for frame in (before, after))
    if not replace(new, heights=rise(old, new)).support_height(point[:2], max(around, _NEAR_M)) > _SEEN_M:
        raise ToolError(
            ErrorCode.OBJECT_DROPPED,
            "The object was released, but the new picture does not show it at the place.",
            "Look again.",
        )
