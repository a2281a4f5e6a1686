"""How well each cell of the table is the place that was asked for, whatever stands there.

A wish is an array over the cells: 0 is ideal, 1 still right, more is worse, inf is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.language.places import FreeSpaceRequest
from toolhand.tool_nodes.perception.extents import distance_to_outline
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

NARROWEST_M = 0.03
"""Least clearance that is tried when there is not as much as asked for [m]."""
_BESIDE_M = (0.060, 0.095, 0.145)
"""Least, best and greatest distance of the point from the edge of what it is beside [m]: fingers fit in between,
and the edge gap stays within 12 cm for objects at least 5 cm wide."""

_GOOD_ANGLE = np.radians(22.0)
"""Up to here off the exact direction, the direction is beyond doubt [rad]."""

_DOUBT_M = 0.016
"""Seeing and placing are not exact enough closer than this to the bounds of a direction, 45 degrees either side [m]."""

_QUARTER = np.radians(45.0)
"""Half of the quarter that a direction by itself means [rad]."""
_SIDE_BEGINS_M = 0.02
"""A side of an object that is one of several conditions begins so far from the line through its middle [m]: placing is
uncertain by 8 mm, and people call nothing less a side."""
_LOOSELY_M = 0.32
"""Farthest from the edge of each object where a place has several conditions [m]: a quarter of the table's width."""

_BETWEEN_SHARE = (0.2, 0.8)
"""A place between two objects lies within these shares of the way from one to the other [-]; a round figure."""
_BETWEEN_ASIDE_M = 0.10
"""Largest distance of such a place from the line between the two [m]; a round figure."""
_MIDDLE = np.array([0.47, 0.0])
"""The place that is best where any will do, (x, y) in the base frame [m]: well within reach."""
_CENTRE = np.array(workspace.SCENE_CAMERA_TARGET[:2])
"""Middle of the table that the camera shows, from which its sides are, (x, y) in the base frame [m]."""
_SIDE_M = {"left": (0.15, 0.28), "right": (0.15, 0.28), "front": (0.10, 0.15), "back": (0.10, 0.17)}
"""Where a side of the table begins and where it is beyond doubt, from the middle [m]: thirds of the 0.9 m that the
camera shows across, and of the 0.42 m that the arm reaches in depth, less a quarter of an object's width."""
_EDGE_M = {"left": (0.34, 0.42), "right": (0.34, 0.42), "front": (0.14, 0.18), "back": (0.17, 0.21)}
"""The same of the edges: the last 0.1 m across and 0.05 m in depth that the arm reaches."""
_CORNER_M = {"left": (0.22, 0.36), "right": (0.22, 0.36), "front": (0.07, 0.10), "back": (0.10, 0.20)}
"""The same of the corners: the reach is a circle, and ends at 0.57 m in front where it comes 0.36 m to the side."""
_ELSEWHERE_M = 0.15
"""What is to be out of the way goes at least so far from where it stands [m]: about twice its width."""
_AROUND_MIDDLE_M = 0.10
"""The middle of the table reaches so far from its centre [m]: a third of what the camera shows is 0.3 m wide."""
_EXACT_M = (0.008, 0.012)
"""A place at a length that is said is this good and at most this far off [m]: placing is uncertain by 8 mm."""
_LOOSE_WAY = (0.5, 1.6)
"""Shares of a way whose length was not said that will do [-]: half of "a bit" is still seen."""
_LOOSE_ANGLE = np.radians(25.0)
"""Farthest off the direction of such a way [rad]: beyond, it goes as much to another side as people say it."""
_HALF_WIDTH_M = 0.035
"""Half the width of an object that is not seen [m]: the middle one of the catalogue's products is 7 cm wide."""
_AWAY_M = 0.15
"""Far from an object begins where next to it ends [m]."""
_DENIED_M = 0.20
"""Distance from the edge of an object up to which a place is next to it where it must not be [m]: the gap of objects
beside each other, 0.15 m, and the half of a wide object."""
_DENIED_ANGLE = np.radians(50.0)
"""Angle from a direction up to which a place lies that way where it must not [rad]: 45 degrees and the uncertain."""
DIRECTIONS = {
    "left_of": (-1.0, 0.0),
    "right_of": (1.0, 0.0),
    "in_front_of": (0.0, -1.0),
    "behind": (0.0, 1.0),
}
"""Directions on the table as the camera sees them: (to the right, away from the camera)."""
WAYS = {"left": "left_of", "right": "right_of", "front": "in_front_of", "back": "behind"}
"""The direction of each side and way."""


@dataclass(frozen=True)
class Footprint:
    """An object seen from above, in the base frame [m]: convex outline (K, 2), middle (2,), half of its mean width."""

    outline: FloatArray
    centre: FloatArray
    half_width: float


def wish(
    request: FreeSpaceRequest,
    xy: FloatArray,
    groups: Sequence[Sequence[Footprint]],
    moved: Footprint | None,
    frame: Frame,
    widest: float,
) -> FloatArray:
    """The wish (nx, ny) of a request with all of its conditions.

    Args:
        request: On the table.
        xy: (nx, ny, 2) cells in the base frame [m].
        groups: The objects that each reference means, in the order of `all_references`.
        moved: Pixels of the object that is to go there, where it is seen.
        frame: Says how the camera stands.
        widest: Farthest off an exact direction [rad].

    Raises:
        ToolError: INVALID_ARGUMENT for a way from where an object stands that is not seen, or a denial of everything.
    """

    def objects(begin: int, count: int) -> list[Footprint]:
        return [item for group in groups[begin : begin + count] for item in group]

    several = any(not part.denied for part in request.also)
    own, total = 0, np.zeros(xy.shape[:2])
    parts = (replace(request, also=()), *request.also)
    if any(part.relation == "region" and part.region != "middle" and not part.denied for part in parts):
        parts = tuple(part for part in parts if part.region != "middle" or part.denied)  # of a side its middle is best
    for part in parts:
        meant, own = objects(own, len(part.references)), own + len(part.references)
        if part.denied:
            total[_holds(part, xy, meant, moved, frame)] = np.inf
        elif several and part.relation in DIRECTIONS and part.distance_m is None:
            total = total + _on_side(part, xy, meant, frame)
        else:
            total = total + _wish(part, xy, meant, moved, frame, widest)
    return total


def _on_side(request: FreeSpaceRequest, xy: FloatArray, objects: Sequence[Footprint], frame: Frame) -> FloatArray:
    """The wish of one of several conditions: anywhere on a side of each object and not far from it."""
    direction = on_table(frame, DIRECTIONS[request.relation])
    cost = np.zeros(xy.shape[:2])
    for item in objects:
        gap = distance_to_outline(xy, item.outline)
        angle = _angle(xy - item.centre, direction)
        cost += (angle / _QUARTER) ** 2 + np.maximum(gap - _BESIDE_M[1], 0.0) / _BESIDE_M[1]
        cost[((xy - item.centre) @ direction < _SIDE_BEGINS_M) | (gap < _BESIDE_M[0]) | (gap > _LOOSELY_M)] = np.inf
    return cost


def _wish(
    request: FreeSpaceRequest,
    xy: FloatArray,
    objects: Sequence[Footprint],
    moved: Footprint | None,
    frame: Frame,
    widest: float,
) -> FloatArray:
    if request.relation == "anywhere":
        return np.asarray(2.0 * np.linalg.norm(xy - _MIDDLE, axis=2))
    if request.relation == "region":
        return _in_region(request, xy, frame, moved)
    if request.relation == "moved":
        return _moved(request, xy, objects, moved, frame)
    gaps = np.stack([distance_to_outline(xy, item.outline) for item in objects])
    if request.relation == "farthest_from":
        nearest = np.min(gaps, axis=0)
        return np.where(nearest >= _AWAY_M, (nearest.max() - nearest) / 0.02, np.inf)
    if request.relation == "in_line":
        return _in_line(xy, objects, gaps)
    if request.relation == "between":
        return _between(xy, objects, gaps)
    cost = _beside(request, np.min(gaps, axis=0), moved)
    if request.relation == "next_to":
        return 0.3 * cost
    # Of a group the whole is judged, and the place lies beyond each of its members.
    direction = on_table(frame, DIRECTIONS[request.relation])
    centre = np.mean([item.centre for item in objects], axis=0)
    angle = _angle(xy - centre, direction)
    cost += (angle / _GOOD_ANGLE) ** 2
    cost[angle > widest] = np.inf
    along = (xy - centre) @ direction
    across = np.abs((xy - centre) @ np.array([-direction[1], direction[0]]))
    cost[along - across < _DOUBT_M] = np.inf
    for item in objects:
        cost[(xy - item.centre) @ direction < 0.03] = np.inf
    return cost


def _beside(request: FreeSpaceRequest, nearest: FloatArray, moved: Footprint | None) -> FloatArray:
    """Of cells at distances (nx, ny) from the edge of the nearest reference [m], the gap that is wanted."""
    low, best, high = _BESIDE_M
    if request.distance_m is not None:
        best = request.distance_m + (_HALF_WIDTH_M if moved is None else moved.half_width)
        low, high = best - _EXACT_M[1], best + _EXACT_M[1]
        return np.where(np.abs(nearest - best) <= _EXACT_M[1], ((nearest - best) / _EXACT_M[0]) ** 2, np.inf)
    cost: FloatArray = ((nearest - best) / np.where(nearest < best, best - low, high - best)) ** 2
    cost[(nearest < low) | (nearest > high)] = np.inf
    return cost


def _in_region(request: FreeSpaceRequest, xy: FloatArray, frame: Frame, moved: Footprint | None) -> FloatArray:
    sides = request.region.split()
    if request.extent == "aside":
        cost = np.min([_towards_sides([side], _EDGE_M, xy, frame) for side in _EDGE_M], axis=0)
        return (
            cost if moved is None else np.where(np.linalg.norm(xy - moved.centre, axis=2) < _ELSEWHERE_M, np.inf, cost)
        )
    if sides == ["middle"]:
        away = np.linalg.norm(xy - _CENTRE, axis=2)
        return np.where(away <= _AROUND_MIDDLE_M, (away / 0.05) ** 2, np.inf)
    if request.extent == "corner":
        depths = [side for side in sides if side in ("front", "back")] or ["front", "back"]
        widths = [side for side in sides if side in ("left", "right")] or ["left", "right"]
        corners = [(depth, width) for depth in depths for width in widths]
        return np.min([_towards_sides(corner, _CORNER_M, xy, frame) for corner in corners], axis=0)
    if request.extent == "edge":
        return np.min([_towards_sides([side], _EDGE_M, xy, frame) for side in sides or _EDGE_M], axis=0)
    return _towards_sides(sides, _SIDE_M, xy, frame)


def _towards_sides(
    sides: Sequence[str], bounds: dict[str, tuple[float, float]], xy: FloatArray, frame: Frame
) -> FloatArray:
    """The wish of a part of the table that is on each of some sides; of one side alone its middle is best."""
    cost = np.zeros(xy.shape[:2])
    for side in sides:
        least, good = bounds[side]
        direction = on_table(frame, DIRECTIONS[WAYS[side]])
        along = (xy - _CENTRE) @ direction
        cost += np.where(along < good, ((good - along) / (good - least)) ** 2, 0.3 * (along - good) / (good - least))
        cost[along < least] = np.inf
        if len(sides) == 1:
            cost += (((xy - _CENTRE) @ np.array([-direction[1], direction[0]])) / 0.3) ** 2
    return cost


def _moved(
    request: FreeSpaceRequest, xy: FloatArray, objects: Sequence[Footprint], moved: Footprint | None, frame: Frame
) -> FloatArray:
    if moved is None:
        raise invalid(
            f"Where the {request.object or 'obj'} stands is not seen, so nothing can be said of a way from there."
        )
    if request.way in WAYS:
        direction = on_table(frame, DIRECTIONS[WAYS[request.way]])
    else:
        offset = np.mean([item.centre for item in objects], axis=0) - moved.centre
        direction = offset / max(float(np.linalg.norm(offset)), 1e-9) * (1.0 if request.way == "towards" else -1.0)
    length = request.distance_m or 0.0
    offset = xy - moved.centre
    if not request.loosely:
        off = np.linalg.norm(offset - length * direction, axis=2)
        return np.where(off <= _EXACT_M[1], (off / _EXACT_M[0]) ** 2, np.inf)
    way, angle = np.linalg.norm(offset, axis=2) / length, _angle(offset, direction)
    low, high = _LOOSE_WAY
    cost = ((way - 1.0) / 0.5) ** 2 + (angle / _GOOD_ANGLE) ** 2
    return np.where((way >= low) & (way <= high) & (angle <= _LOOSE_ANGLE), cost, np.inf)


def _in_line(xy: FloatArray, objects: Sequence[Footprint], gaps: FloatArray) -> FloatArray:
    start, end = objects[0].centre, objects[1].centre
    along = (end - start) / max(float(np.linalg.norm(end - start)), 1e-9)
    aside = np.abs((xy - start) @ np.array([-along[1], along[0]]))
    nearest = np.min(gaps, axis=0)
    cost = (aside / _EXACT_M[0]) ** 2 + ((nearest - _BESIDE_M[1]) / 0.1) ** 2
    cost[(aside > _EXACT_M[1]) | (nearest < _BESIDE_M[0])] = np.inf
    return cost


def _holds(
    request: FreeSpaceRequest, xy: FloatArray, objects: Sequence[Footprint], moved: Footprint | None, frame: Frame
) -> BoolArray:
    """The cells (nx, ny) for which a place has to be taken to hold, as far as it may be judged."""
    if request.relation in ("in", "on"):
        return np.zeros(xy.shape[:2], dtype=bool)
    if request.relation == "anywhere":
        raise invalid("A place on the table cannot be one that is not on the table.")
    if request.relation in ("region", "between", "in_line", "farthest_from", "moved"):
        return np.isfinite(_wish(request, xy, objects, moved, frame, _DENIED_ANGLE))
    near = np.min([distance_to_outline(xy, item.outline) for item in objects], axis=0) < _DENIED_M
    if request.relation == "next_to":
        return np.asarray(near, bool)
    centre = np.mean([item.centre for item in objects], axis=0)
    return np.asarray(near & (_angle(xy - centre, on_table(frame, DIRECTIONS[request.relation])) < _DENIED_ANGLE), bool)


def _between(xy: FloatArray, objects: Sequence[Footprint], gaps: FloatArray) -> FloatArray:
    start, end = objects[0].centre, objects[1].centre
    length = float(np.linalg.norm(end - start))
    along = (end - start) / max(length, 1e-9)
    share = (xy - start) @ along / max(length, 1e-9)
    aside = np.abs((xy - start) @ np.array([-along[1], along[0]]))
    limit = min(_BETWEEN_ASIDE_M, 0.45 * length)
    cost = ((share - 0.5) / 0.3) ** 2 + (aside / limit) ** 2
    cost[(share < _BETWEEN_SHARE[0]) | (share > _BETWEEN_SHARE[1]) | (aside > limit)] = np.inf
    cost[np.min(gaps, axis=0) < NARROWEST_M] = np.inf
    return cost


def on_table(frame: Frame, direction: tuple[float, float]) -> FloatArray:
    """Unit vector (2,) on the table of (right, away from the camera) in the image."""
    right, forward = frame.T_base_camera[:2, 0], frame.T_base_camera[:2, 2]
    if np.linalg.norm(forward) < 1e-6:
        # Seen straight from above, further away is up in the image.
        forward = -frame.T_base_camera[:2, 1]
    axis = direction[0] * right / np.linalg.norm(right) + direction[1] * forward / np.linalg.norm(forward)
    return axis / np.linalg.norm(axis)


def _angle(offsets: FloatArray, direction: FloatArray) -> FloatArray:
    """Angles (nx, ny) [rad] between offsets (nx, ny, 2) and a direction (2,)."""
    lengths = np.maximum(np.linalg.norm(offsets, axis=2), 1e-9)
    return np.arccos(np.clip(offsets @ direction / lengths, -1.0, 1.0))
