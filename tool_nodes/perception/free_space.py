"""Free-space search: a point of the table, of a container's floor or of a top face to set something down on.

Directions are those of the picture: left is the camera's left, in front is nearer the camera. Only what the camera
sees counts as free; a thing up to 8 cm wide is to be set down centred on the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import cKDTree

from tool_nodes import workspace
from tool_nodes.geometry import invert, project, transform
from tool_nodes.language.referring import FreeSpaceRequest
from tool_nodes.perception.extents import distance_to_outline, outline, rectangle
from tool_nodes.perception.masks import window_of
from tool_nodes.perception.surface import SOLID_M, Surface, find_surface, firm_pixels, solid_pixels
from tool_nodes.results import ErrorCode, ToolError, invalid
from tool_nodes.types import BoolArray, FloatArray, Frame

_CELL_M = 0.005
"""Side of a cell of the table's grid [m]; a round figure."""
_PIXEL_M = 0.002
"""Size of a pixel on the table [m]: 1.0 m / 660 px at the scene camera's target, rounded up."""
_RAISED_M = 0.0022
"""What lies this much over the table on average is not the table [m]."""

_SEEN_M = 0.012
"""The table is seen at least this far around the point [m]."""

_BORDER_PX = 12
"""No place is nearer to the picture's border [px]."""
_NARROWEST_M = 0.03
"""Least clearance that is tried when there is not as much as asked for [m]."""

_COMFORT_M = 0.10
"""More clearance than this is no better [m]."""

_BESIDE_M = (0.060, 0.095, 0.145)
"""Least, best and greatest distance of the point from the edge of what it is beside [m]: fingers fit in between,
and the edge gap stays within 12 cm for things at least 5 cm wide."""

_GOOD_ANGLE = np.radians(22.0)
"""Up to here off the exact direction, the direction is beyond doubt [rad]."""

_WIDEST_ANGLES = np.radians([30.0, 37.0, 41.0, 43.5])
"""Farthest off the exact direction [rad]; each only where there is no room within the one before."""

_DOUBT_M = 0.016
"""Seeing and placing are not exact enough closer than this to the bounds of a direction, 45 degrees either side [m]."""

_BETWEEN_SHARE = (0.2, 0.8)
"""A place between two things lies within these shares of the way from one to the other [-]; a round figure."""
_BETWEEN_ASIDE_M = 0.10
"""Largest distance of such a place from the line between the two [m]; a round figure."""
_MIDDLE = np.array([0.47, 0.0])
"""The place that is best where any will do, (x, y) in the base frame [m]: well within reach."""
_DIRECTIONS = {
    "left_of": (-1.0, 0.0),
    "right_of": (1.0, 0.0),
    "in_front_of": (0.0, -1.0),
    "behind": (0.0, 1.0),
}
"""Directions on the table as the camera sees them: (to the right, away from the camera)."""
_WORDS = {"left_of": "left of", "right_of": "right of", "in_front_of": "in front of", "next_to": "next to"}
_HOW_MANY = {"in": (1, 1), "on": (1, 1), "between": (2, 2), "anywhere": (0, 0)}
"""Least and greatest number of things that a place refers to; the other relations take 1 to 99."""


@dataclass(frozen=True)
class _Footprint:
    """A reference seen from above: convex outline (K, 2), its middle (2,), both in the base frame [m]."""

    outline: FloatArray
    centre: FloatArray


@dataclass(frozen=True)
class _Table:
    """Every cell of the table as a candidate (nx, ny).

    Attributes:
        xy: (nx, ny, 2) cell centres in the base frame [m].
        open: The cell can be worked on, seen and pointed at.
        reachable: The cell is within the arm's reach.
        in_picture: The cell is well inside the picture.
        from_things: Distance to the nearest thing [m].
        from_unseen: Distance to the nearest cell that the camera does not see [m].
    """

    xy: FloatArray
    open: BoolArray
    reachable: BoolArray
    in_picture: BoolArray
    from_things: FloatArray
    from_unseen: FloatArray


def find_free_space(
    frame: Frame,
    request: FreeSpaceRequest,
    reference_masks: Sequence[Sequence[BoolArray]],
    clearance_m: float = 0.05,
    named: Sequence[tuple[str, BoolArray]] = (),
) -> tuple[float, float]:
    """The best place for a request.

    Args:
        frame: A picture with depth.
        request: The relation and its reference phrases.
        reference_masks: For each phrase the pixels (H, W) of every object that it means; several are one group.
        clearance_m: Free radius wanted around the point; down to 3 cm is taken where there is no more [m].
        named: Names and pixels of what is seen, so that an error can say what is in the way.

    Returns:
        Normalized image point (x, y); what the picture shows there is the place.

    Raises:
        ToolError: PLACE_BLOCKED if there is no room, with the reason; OUT_OF_WORKSPACE if that is none of the things
            but the end of reach or view; INVALID_ARGUMENT if the request contradicts itself or has the wrong number of
            references.
    """
    masks = [mask for group in reference_masks for mask in group]
    _check(frame, request, masks)
    surface = find_surface(frame)
    if request.relation == "in":
        return _pixel(frame, _inside(surface, masks[0], request.references))
    if request.relation == "on":
        return _pixel(frame, _on_top(surface, masks[0], request.references))

    things = [_footprint(surface, mask, phrase) for mask, phrase in zip(masks, _phrases(request, masks), strict=True)]
    table = _read_table(frame, surface)
    for widest in _WIDEST_ANGLES:
        wanted = _wish(request.relation, table, things, frame, widest)
        point = _choose(table, wanted, clearance_m)
        if point is not None:
            return _pixel(frame, np.array([*point, surface.table_z(*point)]))
    code, obstacles = _obstacles(request.relation, surface, table, wanted, named)
    raise ToolError(
        code,
        f"There is no free table {_describe(request)}: {obstacles}.",
        "Ask for another side or move something out of the way.",
    )


def _check(frame: Frame, request: FreeSpaceRequest, masks: Sequence[BoolArray]) -> None:
    low, high = _HOW_MANY.get(request.relation, (1, 99))
    if request.relation not in (*_DIRECTIONS, *_HOW_MANY, "next_to"):
        raise invalid(f"'{request.relation}' is not a relation of a place.")
    if not low <= len(masks) <= high:
        wanted = {(0, 0): "no reference", (1, 1): "one reference", (2, 2): "two references"}
        raise invalid(
            f"A place '{request.relation.replace('_', ' ')}' something takes "
            f"{wanted.get((low, high), 'at least one reference')}, got {len(masks)}."
        )
    if any(mask.shape != frame.depth.shape for mask in masks):
        raise invalid(f"A mask must have the picture's shape {frame.depth.shape}.")
    if request.relation == "between" and np.array_equal(masks[0], masks[1]):
        raise invalid(f"There is no room between the {request.references[0]} and itself.")


def _phrases(request: FreeSpaceRequest, masks: Sequence[BoolArray]) -> list[str]:
    """One phrase for each mask."""
    if len(request.references) == len(masks):
        return list(request.references)
    return [" and ".join(request.references)] * len(masks)


def _footprint(surface: Surface, mask: BoolArray, phrase: str) -> _Footprint:
    corners = _corners(surface, mask)
    if len(corners) < 3:
        raise ToolError(
            ErrorCode.NO_DEPTH, f"There is no depth on the {phrase}, so its place is unknown.", "Look again."
        )
    return _Footprint(corners, rectangle(corners)[0])


def _corners(surface: Surface, mask: BoolArray) -> FloatArray:
    """Convex outline (K, 2) of what pixels (H, W) show, from above [m]; fewer than three corners if nothing."""
    solid = solid_pixels(surface, mask)
    if np.count_nonzero(solid) < 3:
        return np.empty((0, 2))
    window = window_of(solid)
    # A point in the air behind a thing would take the place that is beside it along.
    return outline(surface.points[window][firm_pixels(surface, window, solid[window])][:, :2])


def _read_table(frame: Frame, surface: Surface) -> _Table:
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    shape = round((x1 - x0) / _CELL_M), round((y1 - y0) / _CELL_M)
    xy, reachable = _grid(shape)
    x, y, z = (surface.points[:, :, axis][surface.inside] for axis in range(3))
    column, row = ((x - x0) / _CELL_M).astype(np.intp), ((y - y0) / _CELL_M).astype(np.intp)
    over = (x >= x0) & (column < shape[0]) & (row >= 0) & (row < shape[1])
    index, high = (column * shape[1] + row)[over], z[over] > SOLID_M
    size = shape[0] * shape[1]
    unseen = ndimage.binary_opening(
        (np.bincount(index, minlength=size) == 0).reshape(shape), np.ones((2, 2), dtype=bool)
    )
    occupied = (np.bincount(index[high], minlength=size) > 0).reshape(shape)
    # A lone high cell is noise of the sensor; the floor of a bin is not the table.
    occupied &= ndimage.uniform_filter(occupied.astype(np.float32), 3) > 0.25
    occupied |= _raised(z[over], index, shape)
    occupied = ndimage.binary_fill_holes(ndimage.binary_closing(occupied, np.ones((3, 3), dtype=bool)) | occupied)

    base = np.column_stack([xy.reshape(-1, 2), surface.plane[0] + xy.reshape(-1, 2) @ surface.plane[1:]])
    uv = project(transform(invert(frame.T_base_camera), base), frame.K).reshape(*occupied.shape, 2)
    width, height = frame.size
    with np.errstate(invalid="ignore"):
        in_picture = np.all((uv > _BORDER_PX) & (uv < [width - 1 - _BORDER_PX, height - 1 - _BORDER_PX]), axis=2)
    from_unseen = _distance_from(unseen)
    return _Table(
        xy=xy,
        open=reachable & in_picture & ~occupied & (from_unseen > _SEEN_M),
        reachable=reachable,
        in_picture=in_picture,
        from_things=_distance_from(occupied),
        from_unseen=from_unseen,
    )


def _raised(z: NDArray[np.float32], index: NDArray[np.intp], shape: tuple[int, int]) -> BoolArray:
    """Cells (nx, ny) a little higher than the table, such as the floor of a bin, from heights z (n,) in cells (n,)."""
    size = shape[0] * shape[1]
    total = np.bincount(index, weights=np.clip(z, -_RAISED_M, 4 * _RAISED_M), minlength=size).reshape(shape)
    count = np.bincount(index, minlength=size).reshape(shape).astype(float)
    mean = ndimage.uniform_filter(total, 5) / np.maximum(ndimage.uniform_filter(count, 5), 1e-6)
    return ndimage.binary_opening((mean > _RAISED_M) & (count > 0), np.ones((3, 3), dtype=bool))


@cache
def _grid(shape: tuple[int, int]) -> tuple[FloatArray, BoolArray]:
    """Centres (nx, ny, 2) of the table's cells in the base frame [m], and which are safely within the arm's reach."""
    x0, y0 = workspace.TABLE_X[0], workspace.TABLE_Y[0]
    xs, ys = (start + (np.arange(n) + 0.5) * _CELL_M for start, n in zip((x0, y0), shape, strict=True))
    xy = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=2)
    # Rounding to a pixel must not carry a point over the limit.
    slack = _PIXEL_M * np.array([(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
    return xy, np.all(workspace.reachable(xy[:, :, None] + slack), axis=2)


def _distance_from(cells: BoolArray) -> FloatArray:
    """Distance (nx, ny) to the edge of the nearest true cell [m]."""
    if not cells.any():
        return np.full(cells.shape, np.inf)
    return np.maximum(ndimage.distance_transform_edt(~cells) - 0.5, 0.0) * _CELL_M


def _wish(relation: str, table: _Table, things: Sequence[_Footprint], frame: Frame, widest_angle: float) -> FloatArray:
    """How far each cell (nx, ny) is from what was asked for: 0 is ideal, 1 still right, inf wrong."""
    if relation == "anywhere":
        return 2.0 * np.linalg.norm(table.xy - _MIDDLE, axis=2)
    gaps = np.stack([distance_to_outline(table.xy, thing.outline) for thing in things])
    if relation == "between":
        return _between(table.xy, things, gaps)
    nearest = np.min(gaps, axis=0)
    low, best, high = _BESIDE_M
    cost = ((nearest - best) / np.where(nearest < best, best - low, high - best)) ** 2
    cost[(nearest < low) | (nearest > high)] = np.inf
    if relation == "next_to":
        return 0.3 * cost
    # Of a group the whole is judged, and the place lies beyond each of its members.
    direction = _on_table(frame, _DIRECTIONS[relation])
    centre = np.mean([thing.centre for thing in things], axis=0)
    angle = _angle(table.xy - centre, direction)
    cost += (angle / _GOOD_ANGLE) ** 2
    cost[angle > widest_angle] = np.inf
    along = (table.xy - centre) @ direction
    across = np.abs((table.xy - centre) @ np.array([-direction[1], direction[0]]))
    cost[along - across < _DOUBT_M] = np.inf
    for thing in things:
        cost[(table.xy - thing.centre) @ direction < 0.03] = np.inf
    return cost


def _between(xy: FloatArray, things: Sequence[_Footprint], gaps: FloatArray) -> FloatArray:
    start, end = things[0].centre, things[1].centre
    length = float(np.linalg.norm(end - start))
    along = (end - start) / max(length, 1e-9)
    share = (xy - start) @ along / max(length, 1e-9)
    aside = np.abs((xy - start) @ np.array([-along[1], along[0]]))
    limit = min(_BETWEEN_ASIDE_M, 0.45 * length)
    cost = ((share - 0.5) / 0.3) ** 2 + (aside / limit) ** 2
    cost[(share < _BETWEEN_SHARE[0]) | (share > _BETWEEN_SHARE[1]) | (aside > limit)] = np.inf
    cost[np.min(gaps, axis=0) < _NARROWEST_M] = np.inf
    return cost


def _on_table(frame: Frame, direction: tuple[float, float]) -> FloatArray:
    """Unit vector (2,) on the table of (right, away from the camera) in the picture."""
    right, forward = frame.T_base_camera[:2, 0], frame.T_base_camera[:2, 2]
    if np.linalg.norm(forward) < 1e-6:
        # Seen straight from above, further away is up in the picture.
        forward = -frame.T_base_camera[:2, 1]
    axis = direction[0] * right / np.linalg.norm(right) + direction[1] * forward / np.linalg.norm(forward)
    return axis / np.linalg.norm(axis)


def _angle(offsets: FloatArray, direction: FloatArray) -> FloatArray:
    """Angles (nx, ny) [rad] between offsets (nx, ny, 2) and a direction (2,)."""
    lengths = np.maximum(np.linalg.norm(offsets, axis=2), 1e-9)
    return np.arccos(np.clip(offsets @ direction / lengths, -1.0, 1.0))


def _choose(table: _Table, cost: FloatArray, clearance: float) -> FloatArray | None:
    """The cell centre (2,) that is right, free and has the best mix of both; None if there is none.

    Unseen cells count as things, unless that leaves nothing: behind something tall the table starts late.
    """
    seen_and_free = np.minimum(table.from_things, table.from_unseen)
    for least in np.unique([clearance, 0.9 * clearance, 0.8 * clearance, _NARROWEST_M])[::-1]:
        for free in (seen_and_free, table.from_things):
            allowed = table.open & np.isfinite(cost) & (free >= least)
            if allowed.any():
                room = (_COMFORT_M - np.minimum(seen_and_free, _COMFORT_M)) / (_COMFORT_M - _NARROWEST_M)
                total = np.where(allowed, cost + 0.8 * room, np.inf)
                return table.xy[np.unravel_index(int(np.argmin(total)), total.shape)]
    return None


def _inside(surface: Surface, mask: BoolArray, phrases: Sequence[str]) -> FloatArray:
    """The point (3,) of a container's seen floor that is farthest from its walls and from what stands in it."""
    name = phrases[0] if phrases else "container"
    corners = _corners(surface, mask)
    if len(corners) < 3:
        raise ToolError(
            ErrorCode.NO_DEPTH, f"There is no depth on the {name}, so its inside is unknown.", "Look again."
        )
    window = window_of(mask)
    points, own = surface.points[window], solid_pixels(surface, mask)[window]
    depth = -distance_to_outline(points[:, :, :2], corners)
    interior = (depth > 0.015) & np.isfinite(points[:, :, 2])
    heights = points[:, :, 2]
    floor = float(np.quantile(heights[interior], 0.1)) if interior.any() else np.inf
    rim = float(np.quantile(heights[own], 0.9))
    if not rim - floor > 0.02:
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The {name} is not open at the top, so nothing fits in it.")
    bare = interior & mask[window] & (heights < floor + 0.012)
    blocked = (depth > 0.015) & (heights > floor + 0.012) & (heights > -1.0)
    taken = points[blocked][:, :2]
    if not bare.any():
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The floor of the {name} cannot be seen, it is full or hidden.")
    candidates = points[bare][::3]
    room = -distance_to_outline(candidates[None, :, :2], corners)[0] - 0.005
    centre = rectangle(corners)[0]
    crowd = cKDTree(taken).query(candidates[:, :2])[0] if len(taken) else np.full(len(candidates), np.inf)
    if room.max() < 0.03:
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The {name} is too narrow for the gripper to put something in.")
    offset = np.linalg.norm(candidates[:, :2] - centre, axis=1)
    score = np.minimum(room, 0.06) + np.minimum(crowd, 0.05) - 0.5 * offset
    best = candidates[int(np.argmax(score))].astype(float)
    best[2] += surface.table_z(best[0], best[1])
    return best


def _on_top(surface: Surface, mask: BoolArray, phrases: Sequence[str]) -> FloatArray:
    """The centre (3,) of a thing's top face."""
    points = surface.points[solid_pixels(surface, mask)]
    name = phrases[0] if phrases else "object"
    if len(points) < 10:
        raise ToolError(ErrorCode.NO_DEPTH, f"There is no depth on the {name}, so its top is unknown.", "Look again.")
    top = float(np.quantile(points[:, 2], 0.985))
    face, cap = points[points[:, 2] > top - 0.004], points[points[:, 2] > top - 0.012]
    centre, sides, _ = rectangle(outline(face[:, :2])) if len(face) >= 3 else (None, np.zeros(2), 0.0)
    if len(face) < 0.5 * len(cap):
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The top of the {name} is not level, so nothing stays on it.")
    if centre is None or sides[1] < 0.035:
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The top of the {name} is too small to carry anything.")
    if np.min(np.hypot(*(face[:, :2] - centre).T)) > 0.01:
        raise ToolError(ErrorCode.PLACE_BLOCKED, f"The {name} is open at the top, so nothing stands on it.")
    return np.array([*centre, top + surface.table_z(*centre)])


def _pixel(frame: Frame, point: FloatArray) -> tuple[float, float]:
    """The normalized image point (x, y) of a point (3,) in the base frame [m]."""
    uv = project(transform(invert(frame.T_base_camera), point[None]), frame.K)[0]
    width, height = frame.size
    u, v = np.clip(np.rint(uv), 0, (width - 1, height - 1))
    return (float(u) + 0.5) / width, (float(v) + 0.5) / height


def _describe(request: FreeSpaceRequest) -> str:
    names = " and the ".join(request.references)
    if request.relation == "anywhere":
        return "within reach"
    if request.relation == "between":
        return f"between the {names}"
    return f"{_WORDS.get(request.relation, request.relation)} the {names} within 12 cm"


def _obstacles(
    relation: str, surface: Surface, table: _Table, wanted: FloatArray, named: Sequence[tuple[str, BoolArray]]
) -> tuple[ErrorCode, str]:
    """What keeps the wanted cells from being free: OUT_OF_WORKSPACE where no thing has a part in it, and in words."""
    zone = np.isfinite(wanted)
    if not zone.any():
        if relation == "between":
            return ErrorCode.PLACE_BLOCKED, "the things stand too close together"
        return ErrorCode.OUT_OF_WORKSPACE, "the limit of the arm's reach is in the way"
    reasons = []
    origin, cell = table.xy[0, 0], _CELL_M
    near = ndimage.binary_dilation(zone, iterations=round(_NARROWEST_M / cell))
    for name, mask in named:
        points = surface.points[solid_pixels(surface, mask)][:, :2]
        index = np.rint((points - origin) / cell).astype(int)
        index = index[np.all((index >= 0) & (index < near.shape), axis=1)]
        if np.count_nonzero(near[index[:, 0], index[:, 1]]) > 10:
            reasons.append(f"the {name}")
    things = len(reasons)
    share = 0.3 * np.count_nonzero(zone)
    if np.count_nonzero(zone & ~table.reachable) > share:
        reasons.append("the limit of the arm's reach")
    if np.count_nonzero(zone & ~table.in_picture) > share:
        reasons.append("the edge of the picture")
    if np.count_nonzero(zone & (table.from_unseen == 0.0) & table.in_picture) > share:
        reasons.append("space that the camera cannot see")
    if not reasons:
        return ErrorCode.PLACE_BLOCKED, "other things are in the way"
    code = ErrorCode.PLACE_BLOCKED if things else ErrorCode.OUT_OF_WORKSPACE
    verb = "is" if len(reasons) == 1 else "are"
    listed = " and ".join([", ".join(reasons[:-1])] * (len(reasons) > 1) + reasons[-1:])
    return code, f"{listed} {verb} in the way"
