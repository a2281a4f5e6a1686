"""Where a place that was asked for by words lies in an image: outlines for reports and viewers, no part of a decision.

The objects that a place refers to are known by a point each here: what stands there is what is connected to it over the
table, so that objects that touch in the image count as one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import invert, project, transform
from toolhand.tool_nodes.language.places import FreeSpaceRequest
from toolhand.tool_nodes.perception.extents import outline, rectangle
from toolhand.tool_nodes.perception.free_inside import corners
from toolhand.tool_nodes.perception.free_space import WIDEST_ANGLES
from toolhand.tool_nodes.perception.free_wishes import Footprint, wish
from toolhand.tool_nodes.perception.surface import SOLID_M, Surface, find_surface
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame, ImagePoint

Outline = tuple[ImagePoint, ...]
"""Corners of a closed line, normalized image points; of several lines what an odd number of them surrounds is meant."""

_CELL_M = 0.01
"""Side of a cell [m]: outlines are drawn for people."""
_SPOT_M = 0.03
"""Radius that a single spot is drawn with [m]: half of a narrow object."""
_CORNERS = 24
"""Corners of a spot's outline [-]; a round figure."""
_BESIDE_PX = 12
"""An object is at a point of the image up to this far [px]; pointing is uncertain by as much."""
_SMALLEST = 4
"""Parts of fewer cells are left out [-]."""


def place_area(
    frame: Frame, request: FreeSpaceRequest, references: Sequence[Sequence[ImagePoint]], item: ImagePoint | None = None
) -> tuple[Outline, ...]:
    """Outlines of what a request means, whatever stands there; none where it lies outside of reach and view.

    Args:
        frame: An image with depth.
        request: The place.
        references: For each of `all_references` normalized points of the objects that it means.
        item: Where the object that is to go there stands; None where that is not known.

    Raises:
        ToolError: NO_DEPTH without depth, OBJECT_NOT_FOUND where nothing stands at a point, INVALID_ARGUMENT for a
            request without the objects that it needs.
    """
    surface = find_surface(frame)
    if request.relation == "at":
        return (_spot(frame, surface, request.point or (0.5, 0.5)),)
    groups = [[_object_at(surface, point) for point in points] for points in references]
    if request.relation in ("in", "on"):
        return (_of_object(groups[0][0], request.region),)
    (x0, x1), (y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
    xs, ys = (np.arange(low, high, _CELL_M) + _CELL_M / 2 for low, high in ((x0, x1), (y0, y1)))
    xy = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=2)
    moved = None if item is None else _footprint(surface, _object_at(surface, item))
    seen = [[_footprint(surface, mask) for mask in group] for group in groups]
    cost = wish(request, xy, seen, moved, frame, WIDEST_ANGLES[-1])
    cells = np.isfinite(cost) & workspace.reachable(xy)
    lines = []
    for line in _boundaries(cells):
        at = np.array([x0, y0]) + _CELL_M * line
        uv = _in_image(frame, np.column_stack([at, surface.plane[0] + at @ surface.plane[1:]]))
        lines.append(_as_outline(uv))
    return tuple(lines)


def _spot(frame: Frame, surface: Surface, point: ImagePoint) -> Outline:
    width, height = frame.size
    u, v = min(int(point[0] * width), width - 1), min(int(point[1] * height), height - 1)
    x, y, above = surface.points[v, u]
    if not np.isfinite([x, y, above]).all():
        raise ToolError(ErrorCode.NO_DEPTH, f"There is no depth at ({point[0]:.3f}, {point[1]:.3f}).")
    angles = np.linspace(0.0, 2 * np.pi, _CORNERS, endpoint=False)
    around = np.array([x, y]) + _SPOT_M * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    z = np.full(_CORNERS, surface.table_z(float(x), float(y)) + float(above))
    return _as_outline(_in_image(frame, np.column_stack([around, z])))


def _of_object(mask: BoolArray, region: str) -> Outline:
    """The outline of an object in the image, or of the part of it on some sides: left, right, front, back, middle."""
    v, u = np.nonzero(mask)
    pixels = np.column_stack([u, v]).astype(float)
    middle, size = (pixels.min(axis=0) + pixels.max(axis=0)) / 2, np.ptp(pixels, axis=0)
    for side in region.split():
        axis, sign = {"left": (0, -1), "right": (0, 1), "front": (1, 1), "back": (1, -1)}.get(side, (0, 0))
        kept = sign * (pixels[:, axis] - middle[axis]) >= 0
        if side == "middle":
            kept = (np.abs(pixels - middle) <= size / 4).all(axis=1)
        pixels = pixels[kept]
    return _as_outline(outline(pixels) / np.array([mask.shape[1], mask.shape[0]]))


def _object_at(surface: Surface, point: ImagePoint) -> BoolArray:
    """Pixels (H, W) of what stands at a point. Raises ToolError OBJECT_NOT_FOUND."""
    with np.errstate(invalid="ignore"):
        solid = ndimage.binary_fill_holes(surface.inside & (surface.height > SOLID_M))  # the floor of a bowl is its own
    parts, _ = ndimage.label(solid)
    height, width = solid.shape
    u, v = point[0] * width, point[1] * height
    rows, columns = np.nonzero(solid)
    away = np.hypot(columns - u, rows - v)
    if not len(away) or away.min() > _BESIDE_PX:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"Nothing stands at ({point[0]:.3f}, {point[1]:.3f}).")
    nearest = int(np.argmin(away))
    return np.asarray(parts == parts[rows[nearest], columns[nearest]], bool)


def _footprint(surface: Surface, mask: BoolArray) -> Footprint:
    edge = corners(surface, mask)
    if len(edge) < 3:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, "Too little is seen of a thing that the place refers to.")
    centre, sides, _ = rectangle(edge)
    return Footprint(edge, centre, float(sides.mean()) / 2)


def _boundaries(cells: BoolArray) -> list[FloatArray]:
    """Closed lines (K, 2) around the true cells of an array (nx, ny), in cells; a hole has a line of its own."""
    parts, count = ndimage.label(cells)
    small = [part for part in range(1, count + 1) if np.count_nonzero(parts == part) < _SMALLEST]
    cells = np.pad(cells & ~np.isin(parts, small), 1)
    following: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for i, j in np.argwhere(cells).tolist():
        for (di, dj), (begin, end) in _SIDES.items():
            if not cells[i + di, j + dj]:
                corner = (i - 1 + begin[0], j - 1 + begin[1])
                following.setdefault(corner, []).append((i - 1 + end[0], j - 1 + end[1]))
    lines = []
    while following:
        line = [next(iter(following))]
        while line[-1] in following:
            ends = following[line[-1]]
            end = ends.pop()
            if not ends:
                del following[line[-1]]
            line.append(end)
        lines.append(_simplified(np.array(line[:-1], float)))
    return lines


_SIDES = {
    (0, -1): ((0, 0), (1, 0)),
    (1, 0): ((1, 0), (1, 1)),
    (0, 1): ((1, 1), (0, 1)),
    (-1, 0): ((0, 1), (0, 0)),
}
"""Step to each neighbour of a cell, and the corners from which and to which the side between them goes."""


def _simplified(line: FloatArray) -> FloatArray:
    """A closed line (K, 2) with as few corners as leave it within a cell of where it was."""
    far = int(np.argmax(np.linalg.norm(line - line[0], axis=1)))
    halves = [_thinned(line[: far + 1]), _thinned(np.vstack([line[far:], line[:1]]))]
    return np.vstack([half[:-1] for half in halves])


def _thinned(line: FloatArray) -> FloatArray:
    """An open line (K, 2) between its ends, after Douglas and Peucker."""
    if len(line) < 3:
        return line
    along = line[-1] - line[0]
    aside = np.abs((line - line[0]) @ np.array([-along[1], along[0]])) / max(float(np.linalg.norm(along)), 1e-9)
    worst = int(np.argmax(aside))
    if aside[worst] <= 1.0:
        return line[[0, -1]]
    return np.vstack([_thinned(line[: worst + 1])[:-1], _thinned(line[worst:])])


def _in_image(frame: Frame, points: FloatArray) -> FloatArray:
    """Normalized image points (K, 2) of points (K, 3), base frame [m]."""
    uv: FloatArray = project(transform(invert(frame.T_base_camera), points), frame.K) / np.array(frame.size)
    return uv


def _as_outline(uv: NDArray[np.floating]) -> Outline:
    return tuple((round(float(x), 4), round(float(y), 4)) for x, y in np.clip(uv, 0.0, 1.0))
