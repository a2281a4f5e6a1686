"""Finds the things that stand on the table: one cluster of pixels per thing.

Pixels that stick out of the table are dropped onto a grid of the table top and grouped by their footprints, which
things 5 cm apart do not share although they overlap in the picture. A bin or bowl is a closed rim around a low floor;
what rises from that floor is grouped again, as clusters of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tool_nodes import workspace
from tool_nodes.perception.extents import Extents, area, measure, rectangle
from tool_nodes.perception.masks import Window, window_of
from tool_nodes.perception.surface import SOLID_M, Surface
from tool_nodes.types import BoolArray, FloatArray, Frame

_LOW_M = 0.003
"""Down to this height a pixel is taken as the foot of the thing above it."""

_MIN_PIXELS = 80
"""Fewer pixels than this at 640x480 are not a thing."""

_ROBOT_M = 0.33
"""Whatever reaches this high is the robot, not a thing on the table."""

_FRAGMENT_M2 = 0.0008
_FRAGMENT_GAP_M = 0.020
"""A part as small as this may be this far from the rest of its thing if the gap is out of sight."""

_CONTAINER_SIDES_M = (0.09, 0.30)
_WALL_M = 0.010
_FLOOR_M = 0.008
_TALLEST_M = 0.20
_RIM_CLEARANCE_M = 0.012
_EIGHT = np.ones((3, 3), dtype=bool)


@dataclass(frozen=True)
class Cluster:
    """One thing as geometry sees it.

    Attributes:
        mask: bool (H, W), its visible pixels.
        window: Rows and columns of the picture that hold the mask.
        extents: Box around it in the base frame, z measured from the table.
        support: Height over the table of what it stands on [m].
        rim: Height of the rim over the table if it is a hollow container, else None [m].
        within: Index of the container in which it stands, or None.
    """

    mask: BoolArray
    window: Window
    extents: Extents
    support: float = 0.0
    rim: float | None = None
    within: int | None = None

    @property
    def hollow(self) -> bool:
        """True if it is an open container."""
        return self.rim is not None


@dataclass(frozen=True)
class _Grid:
    """Cells of the table top, and the flat index of the cell under each pixel (H, W)."""

    cell: float
    shape: tuple[int, int]
    index: NDArray[np.intp]

    def counts(self, pixels: BoolArray) -> NDArray[np.intp]:
        """How many of the pixels fall into each cell (nx, ny)."""
        return np.bincount(self.index[pixels], minlength=self.shape[0] * self.shape[1]).reshape(self.shape)

    def under(self, cells: NDArray[np.generic], pixels: BoolArray) -> NDArray[np.generic]:
        """Values (n,) of a cell array (nx, ny) under n pixels."""
        return cells.ravel()[self.index[pixels]]


def find_clusters(frame: Frame, surface: Surface) -> list[Cluster]:
    """Every thing on the table, largest footprint first; contents follow their container."""
    grid = _grid(frame, surface)
    high = surface.inside & (surface.height > SOLID_M)
    smallest = max(20, round(_MIN_PIXELS * (frame.K[0, 0] / workspace.SCENE_CAMERA_FOCAL_PX) ** 2))
    tall_px = round(_TALLEST_M * frame.K[0, 0] / float(np.nanmedian(frame.depth[::16, ::16])))
    picture = _Picture(surface, grid, frame.T_base_camera[:3, 3], smallest, tall_px)

    cells = _group(grid, high, surface)
    labels = np.zeros(high.shape, dtype=np.int32)
    labels[high] = grid.under(cells, high)
    _grow_to_the_foot(labels, cells, grid, surface)

    sizes = np.bincount(labels.ravel(), minlength=int(cells.max()) + 1)
    windows = ndimage.find_objects(labels)
    spans = [np.prod([side.stop - side.start for side in box]) if box else 0 for box in ndimage.find_objects(cells)]
    found: list[Cluster] = []
    contents = np.zeros(high.shape, dtype=bool)
    # What stands in a container comes after it, as part of it.
    for label in np.argsort(-np.array(spans, dtype=int), kind="stable") + 1:
        if sizes[label] < smallest:
            continue
        rows, columns = windows[label - 1]
        window = (rows, columns)
        mask = labels[window] == label
        inside = 2 * np.count_nonzero(mask & contents[window]) > np.count_nonzero(mask)
        if inside or surface.height[window][mask].max() > _ROBOT_M:
            continue
        things = _things(picture, mask, window, len(found))
        if things and things[0].extents.centre[0] > workspace.TABLE_X[0]:
            found += things
            for thing in things[1:]:
                contents |= thing.mask
    return found


def _grid(frame: Frame, surface: Surface) -> _Grid:
    pitch = float(np.nanmedian(frame.depth[::16, ::16])) / float(frame.K[0, 0])
    cell = float(np.clip(2.5 * pitch, 0.004, 0.010))
    (x0, y0), (x1, y1) = surface.area
    shape = int((x1 - x0) / cell) + 1, int((y1 - y0) / cell) + 1
    with np.errstate(invalid="ignore"):
        column = np.where(surface.inside, (surface.points[:, :, 0] - x0) / cell, 0).astype(np.intp)
        row = np.where(surface.inside, (surface.points[:, :, 1] - y0) / cell, 0).astype(np.intp)
    return _Grid(cell, shape, np.clip(column, 0, shape[0] - 1) * shape[1] + np.clip(row, 0, shape[1] - 1))


def _group(grid: _Grid, pixels: BoolArray, surface: Surface) -> NDArray[np.int32]:
    """Labels (nx, ny) of the cells under pixels: 1, 2, ... per connected footprint, 0 where there is nothing."""
    occupied = grid.counts(pixels) >= 2
    joined = ndimage.binary_closing(np.pad(occupied, 1), _EIGHT)[1:-1, 1:-1] | occupied
    cells, n = ndimage.label(joined, _EIGHT)
    seen = grid.counts(surface.inside & ~pixels) > 0
    return _join_fragments(cells.astype(np.int32), n, seen, grid.cell)


def _join_fragments(cells: NDArray[np.int32], n: int, seen: BoolArray, cell: float) -> NDArray[np.int32]:
    """Joins a small part to the nearest larger one if nothing of the table is seen in the gap between them."""
    sizes = np.bincount(cells.ravel(), minlength=n + 1)
    small = [k for k in range(1, n + 1) if sizes[k] * cell**2 < _FRAGMENT_M2]
    for label in small:
        part = cells == label
        reach = ndimage.binary_dilation(part, _EIGHT, iterations=round(_FRAGMENT_GAP_M / cell), mask=part | ~seen)
        touched = np.unique(cells[reach])
        neighbours = [int(k) for k in touched if k not in (0, label) and sizes[k] > sizes[label]]
        if neighbours:
            cells[part] = max(neighbours, key=lambda k: int(sizes[k]))
    return cells


def _grow_to_the_foot(labels: NDArray[np.int32], cells: NDArray[np.int32], grid: _Grid, surface: Surface) -> None:
    """Gives the low pixels beside a footprint to it."""
    near = ndimage.grey_dilation(cells, footprint=_EIGHT)
    with np.errstate(invalid="ignore"):
        low = surface.inside & (surface.height > _LOW_M) & (surface.height <= SOLID_M)
    labels[low] = grid.under(near, low)


@dataclass(frozen=True)
class _Picture:
    """What every step reads: the cloud, its grid, where the camera is, and scales of this picture.

    Attributes:
        smallest: Fewest pixels of a thing.
        tall_px: How far the tallest thing in a container may rise over it in the picture [px].
    """

    surface: Surface
    grid: _Grid
    eye: FloatArray
    smallest: int
    tall_px: int


def _things(picture: _Picture, mask: BoolArray, window: Window, number: int) -> list[Cluster]:
    """The thing of one footprint, whose mask lies in a window; if it is a container, also what stands in it.

    `number` is the index that the thing gets.
    """
    points = picture.surface.points[window]
    extents = measure(points[mask], 0.0, picture.eye)
    if len(extents.outline) < 3:
        return []
    full = np.zeros(picture.surface.inside.shape, dtype=bool)
    shell = _find_shell(points, mask & picture.surface.inside[window], extents.outline)
    if shell is None:
        full[window] = ndimage.binary_fill_holes(mask)
        return [Cluster(full, window, extents)]
    full[window] = mask
    return _opened(picture, full, extents.outline, shell, number)


def _opened(picture: _Picture, mask: BoolArray, corners: FloatArray, shell: _Shell, number: int) -> list[Cluster]:
    """A container with footprint `corners` (K, 2), then its contents."""
    window = window_of(mask, margin=picture.tall_px)
    surface, own = picture.surface, mask[window]
    points, inside = surface.points[window], surface.inside[window]
    depth = _depth_inside(corners, points)
    above = points[:, :, 2] > shell.rim + _RIM_CLEARANCE_M
    # Through clear walls the table beside the floor is seen; noise is averaged to tell the two apart.
    lifted = ndimage.uniform_filter(np.nan_to_num(points[:, :, 2]), 3) > 0.002
    risen = (depth > _WALL_M) & (points[:, :, 2] > shell.floor + _WALL_M)
    content = inside & (depth > -_LOW_M) & (above | risen)
    body = inside & (((depth > -_LOW_M) & lifted) | own) & ~content
    walls = body & own & (points[:, :, 2] <= shell.rim + _LOW_M)

    inner = np.zeros_like(mask)
    inner[window] = ndimage.binary_opening(content)
    cells = _group(picture.grid, inner, surface)
    labels = np.zeros(mask.shape, dtype=np.int32)
    labels[inner] = picture.grid.under(cells, inner)
    contents: list[Cluster] = []
    for label in range(1, int(cells.max()) + 1):
        part = labels == label
        if np.count_nonzero(part) >= picture.smallest:
            extents = measure(surface.points[part], shell.floor, picture.eye)
            contents.append(Cluster(part, window_of(part), extents, shell.floor, within=number))
            content &= ~part[window]
    full = np.zeros_like(mask)
    full[window] = body | content
    container = Cluster(full, window_of(full), measure(points[walls], 0.0, picture.eye), rim=shell.rim)
    return [container, *contents]


@dataclass(frozen=True)
class _Shell:
    """rim, floor: heights over the table [m]."""

    rim: float
    floor: float


def _find_shell(points: NDArray[np.float32], mask: BoolArray, corners: FloatArray) -> _Shell | None:
    """Rim and floor if the pixels of a footprint (H, W) are those of an open container, else None."""
    centre, sides, _ = rectangle(corners)
    low, high = _CONTAINER_SIDES_M
    if not (low < sides[1] and sides[0] < high and area(corners) > 0.7 * sides[0] * sides[1]):
        return None
    depth = _depth_inside(corners, points)
    z = points[:, :, 2]
    border = mask & (depth < _WALL_M) & (z > 0.02)
    interior = (depth > 2 * _WALL_M) & (z > -SOLID_M)
    if np.count_nonzero(border) < 50 or np.count_nonzero(interior) < 50:
        return None
    # The top of a rim is level and fills one height; walls spread over all heights.
    counts, edges = np.histogram(z[border], bins=np.arange(0.02, 0.40, 0.004))
    rim = float(edges[int(np.argmax(counts))]) + 0.002
    floor = float(np.quantile(z[interior], 0.05))
    if rim - floor < 0.02:
        return None
    top = points[border & (np.abs(z - rim) < 0.006)][:, :2] - centre
    bearings = np.unique(np.floor(np.arctan2(top[:, 1], top[:, 0]) / (np.pi / 18)))
    # Where its contents hide the floor, the floor is still close to the table.
    return _Shell(rim, min(floor, _FLOOR_M)) if len(bearings) >= 20 else None


def _depth_inside(corners: FloatArray, points: NDArray[np.float32]) -> NDArray[np.float32]:
    """How far points (H, W, 3) lie inside a convex footprint (K, 2), negative outside (H, W) [m]."""
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1, keepdims=True)
    offsets = np.einsum("ij,ij->i", normals, corners)
    depth = np.full(points.shape[:2], np.inf, dtype=np.float32)
    for normal, offset in zip(normals.astype(np.float32), offsets, strict=True):
        depth = np.minimum(depth, points[:, :, 0] * normal[0] + points[:, :, 1] * normal[1] - np.float32(offset))
    return np.where(np.isfinite(depth), depth, -np.float32(np.inf))
