"""Free-space search: a point of the table, of a container's floor or of a top face to set something down on.

Directions are those of the image: left is the camera's left, in front is nearer the camera. Only what the camera
sees counts as free; an object up to 8 cm wide is to be set down centred on the point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import invert, project, transform
from toolhand.tool_nodes.language.places import BESIDE, FreeSpaceRequest, place_words
from toolhand.tool_nodes.perception.extents import rectangle
from toolhand.tool_nodes.perception.free_inside import check_spot, corners, inside, on_top
from toolhand.tool_nodes.perception.free_wishes import DIRECTIONS, NARROWEST_M, WAYS, Footprint, wish
from toolhand.tool_nodes.perception.surface import SOLID_M, Surface, find_surface, solid_pixels
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_CELL_M = 0.005
"""Side of a cell of the table's grid [m]; a round figure."""
_PIXEL_M = 0.002
"""Size of a pixel on the table [m]: 1.0 m / 660 px at the scene camera's target, rounded up."""
_RAISED_M = 0.0022
"""What lies this much over the table on average is not the table [m]."""

_SEEN_M = 0.012
"""The table is seen at least this far around the point [m]."""

_OWN_EDGE_PX = 3
"""Pixels around the mask of an object that may show it as well [px]."""
_BORDER_PX = 12
"""No place is nearer to the image's border [px]."""
_COMFORT_M = 0.10
"""More clearance than this is no better [m]."""
_ROOM, _ROOM_OF_EXACT = 0.8, 0.1
"""Weight of clearance beside the wish [-]; where one place and no other is asked for it decides between cells alone."""
_ALONE_M = 0.015
"""Least clearance of a spot that was said [m]: an object stands there or stood there, so that its own room is known to
be enough; half of the narrowest product."""

WIDEST_ANGLES = np.radians([30.0, 37.0, 41.0, 43.5])
"""Farthest off the exact direction [rad]; each only where there is no room within the one before."""

_WORDS = {"left_of": "left of", "right_of": "right of", "in_front_of": "in front of", "next_to": "next to"}
_HOW_MANY = {
    "in": (1, 1), "on": (1, 1), "between": (2, 2), "in_line": (2, 2), "anywhere": (0, 0), "at": (0, 0),
    "region": (0, 0), "moved": (0, 99),
}  # fmt: skip
"""Least and greatest number of objects that a place refers to; the other relations take 1 to 99."""
_WHOLE = ("in", "on", "at", "moved")
"""Relations of a place that has no other condition."""
_HEEDED = {
    "point": ("at",), "region": ("region", "in"), "extent": ("region",), "way": ("moved",),
    "distance_m": (*BESIDE, "moved"), "loosely": (*BESIDE, "moved"),
}  # fmt: skip
"""What more may be said of a place, and with which relations."""


@dataclass(frozen=True)
class _Table:
    """Every cell of the table as a candidate (nx, ny).

    Attributes:
        xy: (nx, ny, 2) cell centres in the base frame [m].
        open: The cell can be worked on, seen and pointed at.
        reachable: The cell is within the arm's reach.
        in_image: The cell is well inside the image.
        from_objects: Distance to the nearest object [m].
        from_unseen: Distance to the nearest cell that the camera does not see [m].
    """

    xy: FloatArray
    open: BoolArray
    reachable: BoolArray
    in_image: BoolArray
    from_objects: FloatArray
    from_unseen: FloatArray


def find_free_space(
    frame: Frame,
    request: FreeSpaceRequest,
    reference_masks: Sequence[Sequence[BoolArray]],
    clearance_m: float = 0.05,
    named: Sequence[tuple[str, BoolArray]] = (),
    item: BoolArray | None = None,
) -> tuple[float, float]:
    """The best place for a request.

    Args:
        frame: An image with depth.
        request: The place.
        reference_masks: For each of `all_references` the pixels (H, W) of every object that it means; several are one
            group.
        clearance_m: Free radius wanted around the point; down to 3 cm is taken where there is no more [m].
        named: Names and pixels of what is seen, so that an error can say what is in the way.
        item: Pixels (H, W) of what the request is for, while it stands on the table.

    Returns:
        Normalized image point (x, y); what the image shows there is the place, at the latest once `item` is gone.

    Raises:
        ToolError: PLACE_BLOCKED if there is no room, with the reason; OUT_OF_WORKSPACE if that is none of the objects
            but the end of reach or view; INVALID_ARGUMENT if the request contradicts itself or has the wrong number of
            references.
    """
    check_place(request, [len(group) for group in reference_masks])
    _check_masks(frame, request, reference_masks)
    masks = [mask for group in reference_masks[: len(request.references)] for mask in group]
    surface = find_surface(frame)
    if request.relation == "in":
        edge = None if item is None else corners(surface, item)
        return _pixel(frame, inside(surface, masks[0], request.references[0], request.region, frame, edge, item))
    if request.relation == "on":
        return _pixel(frame, on_top(surface, masks[0], request.references[0]))
    if request.point is not None:
        return _spot(frame, surface, request.point, named, item)
    groups = [
        [_footprint(surface, mask, phrase) for mask in group]
        for group, phrase in zip(reference_masks, request.all_references, strict=True)
    ]
    moved = None if item is None else _footprint(surface, item, request.object)
    table = _read_table(frame, surface, item)
    for widest in WIDEST_ANGLES:
        wanted = wish(request, table.xy, groups, moved, frame, widest)
        point = _choose(table, wanted, clearance_m, _ROOM_OF_EXACT if request.is_exact else _ROOM)
        if point is not None:
            return _pixel(frame, np.array([*point, surface.table_z(*point)]))
    others = [(name, mask) for name, mask in named if mask is not item]
    code, obstacles = _obstacles(request, surface, table, wanted, others)
    raise ToolError(
        code,
        f"There is no free table {_describe(request)}: {obstacles}.",
        "Ask for another side or move something out of the way.",
    )


def free_cells(frame: Frame, clearance_m: float) -> FloatArray:
    """Middles (N, 3) of the cells of the table around which there is room [m], base frame; for viewers.

    Args:
        frame: An image with depth.
        clearance_m: Free radius around each [m].

    Raises:
        ToolError: NO_DEPTH where no table is seen.
    """
    surface = find_surface(frame)
    table = _read_table(frame, surface)
    xy = table.xy[table.open & (table.from_objects >= clearance_m)]
    return np.column_stack([xy, surface.plane[0] + xy @ surface.plane[1:]])


def check_place(request: FreeSpaceRequest, counts: Sequence[int]) -> None:
    """Raises ToolError INVALID_ARGUMENT for a request that no place can be what it asks for.

    Args:
        request: The place.
        counts: For each of `all_references` the number of objects that it means.
    """
    if request.denied:
        raise invalid("A place that must not be goes into `also`, beside the one that is wanted.")
    left = list(counts)
    for part in (request, *request.also):
        _check_part(part, sum(left.pop(0) for _ in part.references))
        if request.also and part.relation in _WHOLE and not part.denied:
            raise invalid(f"A place {_called(part)} says all of where: it is no condition beside another one.")


def _check_part(request: FreeSpaceRequest, count: int) -> None:
    low, high = _HOW_MANY.get(request.relation, (1, 99))
    if request.relation not in (*DIRECTIONS, *_HOW_MANY, "next_to", "farthest_from"):
        raise invalid(f"'{request.relation}' is not a relation of a place.")
    if not low <= count <= high:
        wanted = {(0, 0): "no reference", (1, 1): "one reference", (2, 2): "two references"}
        raise invalid(
            f"A place {_called(request)} something takes {wanted.get((low, high), 'at least one reference')}, "
            f"got {count}."
        )
    for name, relations in _HEEDED.items():
        if getattr(request, name) not in ("", None, False) and request.relation not in relations:
            raise invalid(f"A place {_called(request)} takes no {name}; {', '.join(relations)} take one.")
    if request.relation == "at" and (request.point is None or request.denied):
        raise invalid("A place 'at' takes a point, and cannot be denied.")
    if request.relation == "moved" and not (
        request.distance_m and (request.way in WAYS or (request.way in ("towards", "away") and count))
    ):
        raise invalid("A place 'moved' takes a distance_m, and a way: a side, or towards or away from a reference.")


def _check_masks(frame: Frame, request: FreeSpaceRequest, groups: Sequence[Sequence[BoolArray]]) -> None:
    if any(mask.shape != frame.depth.shape for group in groups for mask in group):
        raise invalid(f"A mask must have the picture's shape {frame.depth.shape}.")
    left = list(groups)
    for part in (request, *request.also):
        masks = [mask for _ in part.references for mask in left.pop(0)]
        if part.relation in ("between", "in_line") and np.array_equal(masks[0], masks[1]):
            place = "line through" if part.relation == "in_line" else "room between"
            raise invalid(f"There is no {place} the {part.references[0]} and itself.")


def _called(request: FreeSpaceRequest) -> str:
    return f"'{request.relation.replace('_', ' ')}'"


def _footprint(surface: Surface, mask: BoolArray, phrase: str) -> Footprint:
    edge = corners(surface, mask)
    if len(edge) < 3:
        raise ToolError(
            ErrorCode.NO_DEPTH, f"There is no depth on the {phrase}, so its place is unknown.", "Look again."
        )
    centre, sides, _ = rectangle(edge)
    return Footprint(edge, centre, float(sides.mean()) / 2)


def _read_table(frame: Frame, surface: Surface, own: BoolArray | None = None) -> _Table:
    """The cells of the table; what the pixels `own` (H, W) show is in the way of nothing, and hides nothing."""
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    shape = round((x1 - x0) / _CELL_M), round((y1 - y0) / _CELL_M)
    xy, reachable = _grid(shape)
    x, y, z = (surface.points[:, :, axis][surface.inside] for axis in range(3))
    column, row = ((x - x0) / _CELL_M).astype(np.intp), ((y - y0) / _CELL_M).astype(np.intp)
    over = (x >= x0) & (column < shape[0]) & (row >= 0) & (row < shape[1])
    around = None if own is None else ndimage.binary_dilation(own, iterations=_OWN_EDGE_PX)
    if around is not None:
        z = np.where(around[surface.inside], np.float32(0.0), z)
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
    if around is not None:
        u, v = (np.clip(np.nan_to_num(uv[:, :, k]), 0, n - 1).astype(np.intp) for k, n in enumerate(frame.size))
        unseen &= ~around[v, u]
    with np.errstate(invalid="ignore"):
        in_image = np.all((uv > _BORDER_PX) & (uv < [width - 1 - _BORDER_PX, height - 1 - _BORDER_PX]), axis=2)
    from_unseen = _distance_from(unseen)
    return _Table(
        xy=xy,
        open=reachable & in_image & ~occupied & (from_unseen > _SEEN_M),
        reachable=reachable,
        in_image=in_image,
        from_objects=_distance_from(occupied),
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


def _choose(table: _Table, cost: FloatArray, clearance: float, weight: float) -> FloatArray | None:
    """The cell centre (2,) that is right, free and has the best mix of both; None if there is none.

    Args:
        table: Free cells of the table.
        cost: The wish (nx, ny).
        clearance: Free radius wanted [m].
        weight: Weight of a radius of 3 cm against 10 cm [-].

    Unseen cells count as objects, unless that leaves nothing: behind something tall the table starts late.
    """
    seen_and_free = np.minimum(table.from_objects, table.from_unseen)
    for least in np.unique([clearance, 0.9 * clearance, 0.8 * clearance, NARROWEST_M])[::-1]:
        for free in (seen_and_free, table.from_objects):
            allowed = table.open & np.isfinite(cost) & (free >= least)
            if allowed.any():
                room = (_COMFORT_M - np.minimum(seen_and_free, _COMFORT_M)) / (_COMFORT_M - NARROWEST_M)
                total = np.where(allowed, cost + weight * room, np.inf)
                return table.xy[np.unravel_index(int(np.argmin(total)), total.shape)]
    return None


def _distance_to(surface: Surface, mask: BoolArray, xy: tuple[float, float]) -> float:
    """Distance of a point of the table to the nearest that pixels (H, W) show of an object [m]."""
    points = surface.points[solid_pixels(surface, mask)][:, :2]
    return float(np.hypot(*(points - np.asarray(xy)).T).min()) if len(points) else np.inf


def _pixel(frame: Frame, point: FloatArray) -> tuple[float, float]:
    """The normalized image point (x, y) of a point (3,) in the base frame [m]."""
    uv = project(transform(invert(frame.T_base_camera), point[None]), frame.K)[0]
    width, height = frame.size
    u, v = np.clip(np.rint(uv), 0, (width - 1, height - 1))
    return (float(u) + 0.5) / width, (float(v) + 0.5) / height


def _spot(
    frame: Frame,
    surface: Surface,
    point: tuple[float, float],
    named: Sequence[tuple[str, BoolArray]],
    own: BoolArray | None,
) -> tuple[float, float]:
    """A normalized point that was said, if an object can stand on what the image shows there.

    What the pixels `own` (H, W) show is to go there: where it hides the spot now, that is one of the table.

    Raises:
        ToolError: PLACE_BLOCKED where it cannot, with what is there; OUT_OF_WORKSPACE beyond the arm's reach; NO_DEPTH.
    """
    u, v = (min(int(share * size), size - 1) for share, size in zip(point, frame.size, strict=True))
    named = [(name, mask) for name, mask in named if mask is not own]
    x, y, z = (float(value) for value in surface.points[v, u])
    if own is not None and ndimage.binary_dilation(own, iterations=_OWN_EDGE_PX)[v, u]:
        x, y, z = (float(value) for value in _table_point(frame, (u, v)))
    if not np.isfinite([x, y, z]).all():
        raise ToolError(ErrorCode.NO_DEPTH, f"There is no depth at ({point[0]:.3f}, {point[1]:.3f}).", "Look again.")
    if not workspace.within_reach((x, y)):
        raise ToolError(ErrorCode.OUT_OF_WORKSPACE, "That spot is beyond the arm's reach.")
    table = _read_table(frame, surface, own)
    i, j = ((np.array([x, y]) - table.xy[0, 0]) / _CELL_M).round().astype(int)
    if z > SOLID_M or any(mask[v, u] for _, mask in named):  # on top of an object, or on the floor of a container
        check_spot(surface, (u, v), named)
        return point
    if table.from_objects[i, j] < _ALONE_M:
        near = [f"the {name}" for name, mask in named if _distance_to(surface, mask, (x, y)) < 2 * _ALONE_M]
        there = " and ".join(near) or "something"
        raise ToolError(
            ErrorCode.PLACE_BLOCKED,
            f"That spot is not free: {there} {'are' if len(near) > 1 else 'is'} there.",
            "Move it out of the way, or name another place.",
        )
    return point


def _table_point(frame: Frame, pixel: tuple[int, int]) -> FloatArray:
    """The point (3,) of the bare table that a pixel (u, v) would show, base frame, z over the table [m]."""
    u, v = pixel
    ray = frame.T_base_camera[:3, :3] @ np.linalg.solve(frame.K, np.array([u, v, 1.0]))
    eye = frame.T_base_camera[:3, 3]
    on_table = eye + ray * ((workspace.TABLE_Z - eye[2]) / ray[2])
    return np.array([*on_table[:2], 0.0])


def _describe(request: FreeSpaceRequest) -> str:
    if not request.is_plain:
        return place_words(request)
    names = " and the ".join(request.references)
    if request.relation == "anywhere":
        return "within reach"
    if request.relation == "between":
        return f"between the {names}"
    return f"{_WORDS.get(request.relation, request.relation)} the {names} within 12 cm"


def _obstacles(
    request: FreeSpaceRequest,
    surface: Surface,
    table: _Table,
    wanted: FloatArray,
    named: Sequence[tuple[str, BoolArray]],
) -> tuple[ErrorCode, str]:
    """What keeps the wanted cells from being free: OUT_OF_WORKSPACE where no object has a part in it, and in words."""
    zone = np.isfinite(wanted)
    if not zone.any():
        if request.also:
            return ErrorCode.PLACE_BLOCKED, "no place is all of that"
        if request.relation == "between":
            return ErrorCode.PLACE_BLOCKED, "the things stand too close together"
        return ErrorCode.OUT_OF_WORKSPACE, "the limit of the arm's reach is in the way"
    reasons = []
    origin, cell = table.xy[0, 0], _CELL_M
    near = ndimage.binary_dilation(zone, iterations=round(NARROWEST_M / cell))
    for name, mask in named:
        points = surface.points[solid_pixels(surface, mask)][:, :2]
        index = np.rint((points - origin) / cell).astype(int)
        index = index[np.all((index >= 0) & (index < near.shape), axis=1)]
        if np.count_nonzero(near[index[:, 0], index[:, 1]]) > 10:
            reasons.append(f"the {name}")
    objects = len(reasons)
    share = 0.3 * np.count_nonzero(zone)
    if np.count_nonzero(zone & ~table.reachable) > share:
        reasons.append("the limit of the arm's reach")
    if np.count_nonzero(zone & ~table.in_image) > share:
        reasons.append("the edge of the picture")
    if np.count_nonzero(zone & (table.from_unseen == 0.0) & table.in_image) > share:
        reasons.append("space that the camera cannot see")
    if not reasons:
        return ErrorCode.PLACE_BLOCKED, "other things are in the way"
    code = ErrorCode.PLACE_BLOCKED if objects else ErrorCode.OUT_OF_WORKSPACE
    verb = "is" if len(reasons) == 1 else "are"
    listed = " and ".join([", ".join(reasons[:-1])] * (len(reasons) > 1) + reasons[-1:])
    return code, f"{listed} {verb} in the way"
