"""Where and how a held object can be set down: candidate hand poses over a point, most literal first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import pose, rotation_z
from toolhand.tool_nodes.motion.robot_model import Reach
from toolhand.tool_nodes.motion.targets import HeldObject, ray_to_base, shown_at
from toolhand.tool_nodes.perception.containers import clearance, is_cavity, seen_inside
from toolhand.tool_nodes.perception.heights import HeightMap, height_map
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

NEAREST_M = 0.15
"""A place that is offered for one that is taken lies no farther from it [m]; a round figure."""
_INSIDE_M = 0.08
"""So far around a point a container is searched for room [m]: half of the largest one; a round figure."""
_TURNS_INSIDE = np.deg2rad(10.0 * np.arange(36))
"""Turns of the hand that are looked at in a container [rad]: what just fits along its diagonal fits in 10 degrees."""
_CLEAR_M = 0.005
"""An object that is so far from the walls of a container falls into it [m]: more is no better."""
_FINE_M = 0.002
"""Ways to let go of an object in a container that are so much clearer of its walls are better [m]: half a cell."""
_NOT_IN = (1000, 0)
"""An object that reaches beyond what is seen around a container."""
_SHARE = 0.1
"""Shares of an object's base over other objects in a container are alike up to this [-]; a round figure."""
_SPARE_M = 0.005
"""Room that a place which is offered has beside the object [m]: a point of the image is rounded to 1 mm."""
_TURNS = 8
"""Turns of the hand that are looked at over such a place [-]; a round figure."""
_MOST_REACHED = 8
"""Free places to which the arm need not get before none is offered [-]; each takes some 20 ms."""
_APART_M = 0.03
"""Where the arm does not get to one of them, the next one lies so far from it at the least [m]; a round figure."""

_SEEN_M = 0.008
"""What was set down rises above its support by more than this [m]."""
_NEAR_M = 0.03
"""What was set down is looked for so far around the place at the least [m]; a round figure."""

_DROPS = ((0.004, 0.015), (0.03,))
"""Heights of release [m]; every shift is tried with the first group before any with the next. A round figure."""
_DROPS_INTO = (0.004, 0.015, 0.03, 0.05, 0.075, 0.10, 0.13)
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
    seen = _seen_under(heights, centre, R, half)
    return float(seen.max()) if len(seen) else float("nan")


def _seen_under(heights: HeightMap, centre: FloatArray, R: FloatArray, half: FloatArray) -> FloatArray:
    """Heights (N,) of the cells under a box's base that the camera saw [m]; none where most were not seen."""
    _, found, _ = _cells_under(heights, centre, R, half)
    seen = found[~np.isnan(found)]
    return seen if len(seen) > len(found) / 2 else seen[:0]


def is_steady(heights: HeightMap, centre: FloatArray, R: FloatArray, half: FloatArray, support: float) -> bool:
    """True if a top face at height `support` [m] carries enough of the middle of a box's base."""
    _, found, inside = _cells_under(heights, centre, R, np.minimum(half, _STEADY_M))
    carried = found[inside] > support - STEP_TOLERANCE
    return bool(len(carried)) and float(np.mean(carried)) >= _STEADY_SHARE


def _cells_under(
    heights: HeightMap, centre: FloatArray, R: FloatArray, half: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Points (N, 2) of a box's base and heights (N,) of the cells under them [m], NaN where unseen, and which lie in
    the ellipse that fits the base.

    No cells where the base reaches beyond the map.
    """
    u, v = R[:2, 0] * half[0], R[:2, 1] * half[1]
    steps = [np.linspace(-1, 1, max(3, int(np.ceil(2 * np.linalg.norm(w) / heights.cell)) + 1)) for w in (u, v)]
    a, b = (grid.ravel() for grid in np.meshgrid(*steps, indexing="ij"))
    xy = centre[:2] + a[:, None] * u + b[:, None] * v
    cells = heights.cells(xy)
    if (cells < 0).any() or (cells >= heights.heights.shape).any():
        return np.empty((0, 2)), np.empty(0), np.empty(0, bool)
    return xy, heights.heights[cells[:, 0], cells[:, 1]], a**2 + b**2 <= 1.0


def place_candidates(point: FloatArray, held: HeldObject, heights: HeightMap, reach: Reach) -> Iterator[PlaceCandidate]:
    """Hand poses that set the held object down on a point (3,) of the base frame, most literal first.

    It must rest on one surface, and may come to rest 1 cm beside the point if the point itself has too little room.
    """
    shifts = [np.zeros(2), *(_NUDGE * np.array([np.cos(a), np.sin(a)]) for a in np.arange(8) * np.pi / 4)]
    turns = [rotation_z(yaw) @ held.R_base_gripper for yaw in _YAWS]
    for drops, shift in product(_DROPS, shifts):
        target = point + np.array([*shift, 0.0])
        if not reach.contains(target[:2]):
            continue
        for drop, R in product(drops, turns):
            support = _support(heights, target, R, held)
            if support is not None:
                yield _released(np.array([*target[:2], support]), drop, R, held)


def inside_candidates(
    point: FloatArray, held: HeldObject, heights: HeightMap, reach: Reach
) -> Iterator[PlaceCandidate]:
    """Hand poses that let the held object go in a cavity, over a point (3,) of the base frame.

    It is lowered as far as the hand, the walls and what lies there allow, so that poses rise up to above the rim; the
    turns by which it is clear of the walls, and then of other objects, come first.
    """
    if not reach.contains(point[:2]):
        return
    clear = clearance(heights, point)
    turns = [rotation_z(yaw) @ held.R_base_gripper for yaw in _TURNS_INSIDE]
    for R in sorted(turns, key=lambda R: _lies_badly(heights, clear, point, R, held)):
        for drop in _DROPS_INTO:
            yield _released(point, drop, R, held)


def _released(point: FloatArray, drop: float, R: FloatArray, held: HeldObject) -> PlaceCandidate:
    """Letting go of a held object so far [m] over a point (3,), with the hand's orientation R (3, 3)."""
    return PlaceCandidate(pose(R, point + np.array([0.0, 0.0, drop]) - R @ held.middle), point)


def _lies_badly(
    heights: HeightMap, clear: FloatArray, target: FloatArray, R: FloatArray, held: HeldObject
) -> tuple[int, int]:
    """How far the base of a held object at a point (3,) in a container is from being clear of its walls, and how much
    of it is over other objects: more is worse; what lies on others falls in with them.

    Args:
        heights: Heights of all that stands on the table.
        clear: Distances (nx, ny) of its cells from the walls, see `clearance`.
        target, R, held: See `_base_at`.
    """
    xy, found, _ = _cells_under(heights, *_base_at(target, R, held))
    if not len(xy):
        return _NOT_IN
    i, j = heights.cells(xy).T
    high = np.nan_to_num(found) > target[2] + STEP_TOLERANCE
    within = min(float(clear[i, j].min()), _CLEAR_M)
    return round((_CLEAR_M - within) / _FINE_M), round(float(np.mean(high)) / _SHARE)


def _support(heights: HeightMap, target: FloatArray, R: FloatArray, held: HeldObject) -> float | None:
    """Height [m] of the one surface that a held object would rest on at a point (3,); None if there is none.

    R (3, 3) is the orientation of the hand.
    """
    base = _base_at(target, R, held)
    height = footprint_support(heights, *base)
    if not abs(height - target[2]) <= STEP_TOLERANCE:
        return None
    if height <= workspace.TABLE_Z + STEP_TOLERANCE:
        return workspace.TABLE_Z
    return height if is_steady(heights, *base, height) else None


def _base_at(target: FloatArray, R: FloatArray, held: HeldObject) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Centre (2,), orientation (3, 3) and half extents (3,) of a held object's box over a point, with the hand's R."""
    box = held.box
    centre = target[:2] + (R @ (box.T_parent_box[:3, 3] - held.middle))[:2]
    return centre, R @ box.T_parent_box[:3, :3], box.half_extents


def settled_inside(point: FloatArray, held: HeldObject, heights: HeightMap) -> FloatArray:
    """The place (3,) in a container that is nearest to a point in it (3,), and has room for the held object [m].

    Where nothing in it has, the place where it is best clear of the walls, and then of other objects.
    """
    turned = [rotation_z(yaw) @ held.R_base_gripper for yaw in _TURNS_INSIDE[: len(_TURNS_INSIDE) // 2]]
    clear, narrow = clearance(heights, point), float(held.box.half_extents[:2].min())
    best, least = point, _NOT_IN
    for place in (point, *(np.array([*xy, point[2]]) for xy in _around(point, _INSIDE_M))):
        i, j = heights.cells(place[:2])
        within = 0 <= i < heights.shape[0] and 0 <= j < heights.shape[1]
        if place is not point and not (within and clear[i, j] >= narrow - _NUDGE):
            continue
        badly = min(_lies_badly(heights, clear, place, R, held) for R in turned)
        if badly < least:
            best, least = place, badly
            if badly == (0, 0):
                break
    return best


def free_near(
    point: FloatArray,
    held: HeldObject,
    frame: Frame,
    reach: Reach,
    reachable: Callable[[FloatArray], bool],
) -> FloatArray | None:
    """The place (3,) on the free table nearest to a point (3,) that takes the held object as it is held [m].

    Args:
        point: Where it was to go, base frame.
        held: The object.
        frame: Image of the table, which shows the place.
        reach: Where the arm works.
        reachable: Whether the arm gets to a pose (4, 4) of the hand.

    Returns:
        None where none is within `NEAREST_M`, or the arm gets to none of the first ones.
    """
    inflated = replace(held, box=replace(held.box, half_extents=held.box.half_extents + _SPARE_M))
    heights, in_vain = height_map(frame), list[FloatArray]()
    for xy in _around(point, NEAREST_M):
        place = np.array([*xy, workspace.TABLE_Z])
        if any(np.hypot(*(xy - other)) < _APART_M for other in in_vain):
            continue
        if not all(reach.contains(xy + side * _SPARE_M * np.sign(xy)) for side in (-1.0, 1.0)):
            continue
        turned = [
            R
            for R in (rotation_z(yaw) @ held.R_base_gripper for yaw in _YAWS[:_TURNS])
            if _support(heights, place, R, inflated) is not None
        ]
        if not turned or not _is_shown(frame, place) or is_cavity(heights, place):
            continue
        for R in turned:
            if reachable(pose(R, np.array([*xy, workspace.TABLE_Z + _DROPS[0][0]]) - R @ held.middle)):
                return place
        in_vain.append(xy)
        if len(in_vain) == _MOST_REACHED:
            break
    return None


def _is_shown(frame: Frame, place: FloatArray) -> bool:
    """Whether a point of the image means a place (3,), and not what stands before it."""
    spot = np.array(shown_at(frame, place))
    try:
        return (
            bool(((spot > 0.0) & (spot < 1.0)).all())
            and float(np.linalg.norm(ray_to_base(frame, spot) - place)) <= _NUDGE
        )
    except ToolError:  # no depth is measured there
        return False


def _around(point: FloatArray, radius: float) -> FloatArray:
    """Points (N, 2) of the table around one (3,), the nearest first [m]."""
    steps = np.arange(-radius, radius + _NUDGE / 2, _NUDGE)
    offsets = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    away = np.hypot(*offsets.T)
    nearest = np.argsort(away, kind="stable")
    return np.asarray(point[:2] + offsets[nearest[(away[nearest] > 0.0) & (away[nearest] <= radius)]])


def out_of_reach(xy: FloatArray, reach: Reach) -> ToolError:
    """OUT_OF_WORKSPACE of a point (2,) of the base frame [m], with the limit that it is beyond."""
    (x, y), distance, (least, greatest) = xy, float(np.hypot(*xy)), reach.radius
    limits = (
        (
            distance > greatest,
            f"it is {distance:.3f} m from the robot's base, and the arm places up to {greatest:.2f} m",
        ),
        (distance < least, f"it is {distance:.3f} m from the robot's base, and the arm places from {least:.2f} m on"),
        (x < reach.x_min, f"the arm places from x={reach.x_min:.2f} m on"),
        (abs(y) > reach.y_max, f"it is {abs(y):.3f} m to the side, and the arm places up to {reach.y_max:.2f} m"),
    )
    why = next(words for beyond, words in limits if beyond)
    return ToolError(
        ErrorCode.OUT_OF_WORKSPACE, f"The place at x={x:.2f} m, y={y:.2f} m is out of the arm's reach: {why}."
    )


def no_way(point: FloatArray, failure: ToolError | None) -> ToolError:
    """PLACE_BLOCKED of a point (3,) of the base frame that has room, and why the last way to it failed."""
    detail = f" ({failure.message.rstrip('.')})" if failure else ""
    return ToolError(
        ErrorCode.PLACE_BLOCKED,
        f"The place at x={point[0]:.2f} m, y={point[1]:.2f} m has room, but no collision-free way for the arm to set "
        f"the object down there{detail}.",
        failure.hint if failure and failure.code is ErrorCode.PLAN_FAILED else "",
    )


def no_room(point: FloatArray, held: HeldObject, heights: HeightMap, frame: Frame) -> ToolError:
    """PLACE_BLOCKED of a point (3,) of the base frame, with what is in the way of the held object there.

    Args:
        point: The place.
        held: The object.
        heights: Heights of all that stands on the table.
        frame: The image of it.
    """
    xy, under, _ = _cells_under(heights, *_base_at(point, held.R_base_gripper, held))
    high = np.flatnonzero(np.nan_to_num(under) > point[2] + STEP_TOLERANCE)
    length, width = (100 * side for side in sorted(2 * held.box.half_extents[:2], reverse=True))
    size = f"the held object ({length:.0f} x {width:.0f} cm)"
    if len(high):
        away = np.hypot(*(xy[high] - point[:2]).T)
        nearest = high[int(np.argmin(away))]
        u, v = shown_at(frame, np.array([*xy[nearest], under[nearest]]))
        why = (
            f"is occupied: what is seen at ({u:.3f}, {v:.3f}), {100 * away.min():.0f} cm away, is in the way of {size}"
        )
    elif not np.mean(np.isnan(under)) <= 0.5:
        why = f"is at the edge of the table, or hidden from the camera, for {size}"
    else:
        why = f"is not level for {size}"
    return ToolError(ErrorCode.PLACE_BLOCKED, f"The place at x={point[0]:.2f} m, y={point[1]:.2f} m {why}.")


def with_nearest(error: ToolError, point: FloatArray, nearest: FloatArray | None, frame: Frame) -> ToolError:
    """An error of a place (3,) with the nearest one that would do (3,), in the image; None where there is none."""
    if nearest is None:
        hint = f"No free place within reach was found up to {100 * NEAREST_M:.0f} cm around it: choose another one."
    else:
        (x, y), away = shown_at(frame, nearest), 100 * float(np.hypot(*(nearest - point)[:2]))
        hint = f"The nearest place found free and within reach is at ({x:.3f}, {y:.3f}), {away:.0f} cm away."
    return error.reworded(hint=hint)


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
