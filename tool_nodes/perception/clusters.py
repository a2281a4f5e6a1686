"""Object segmentation by geometry: one cluster of pixels for each object on the table.

Pixels that stick out of the table are dropped onto a grid of the table top and grouped by their footprints, which
objects 5 cm apart do not share although they overlap in the image. A bin or bowl is a closed rim around a low floor;
what rises from that floor is grouped again, as clusters of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.perception.extents import Extents, area, measure, rectangle
from toolhand.tool_nodes.perception.flat import flat_pixels
from toolhand.tool_nodes.perception.masks import Window, dilated, eroded, filled, widened, window_of
from toolhand.tool_nodes.perception.surface import SOLID_M, Surface, firm_pixels
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

_LOW_M = 0.003
"""Down to this height a pixel is taken as the foot of the object above it."""

_ROUGH, _SURELY = 1.0, 3.5
"""Heights over which a pixel may be, and surely is, part of an object [standard deviations of the bare table]: of what
is bare 0.02 % are over the second."""

_SPECK, _CLEARLY = 4, 6.0
"""What has no more than so many times the pixels of the least object [-] and does not reach this height [standard
deviations of the bare table] is a bump of the noise, unless colour finds it too: an image has three bumps that are
over `_SURELY`."""

ROUGH_TABLE_M = 0.0012
"""Where the table is rougher than this, the feet of objects drown in the noise [m], and colour finds them."""

_MIN_PIXELS = 80
"""Fewer pixels than this at 640x480 are not an object."""

_ROBOT_M = 0.33
"""Whatever reaches this high is the robot, not an object on the table."""

_FRAGMENT_M2 = 0.0008
"""A smaller footprint may be a fragment of its neighbour [m^2]; a round figure."""
_FRAGMENT_GAP_M = 0.020
"""A part as small as this may be this far from the rest of its object if the gap is out of sight."""

CONTAINER_SIDES_M = (0.09, 0.30)
"""The shorter side of an open container is above the first, its longer side below the second [m]; a round figure."""
_WALL_M = 0.010
"""Width of the band along the outline that belongs to the walls, and height of the layer over the floor [m]."""
_SHELL_PIXELS = 50
"""Least pixels that walls and floor of a container show at 640x480, each; a round figure."""
_FLOOR_M = 0.008
"""A container's floor is at most this high over the table [m]; a round figure."""
_TALLEST_M = 0.20
"""What stands in a container rises at most this high over it, for the size of the window to look in [m]."""
_RIM_CLEARANCE_M = 0.012
"""Whatever is this far above the rim is content and not the rim itself [m]."""
_INNER_M, _OUTER_M = 0.020, 0.015
"""What is so far inside of the rim's outline, or so far outside of it, is no wall [m]: a wall is some 3 mm thick, and
stereo widens it by as much again on either side."""
_STRAIGHT = 0.9
"""Least share of its rectangle that the outline of a container with straight sides fills [-]; a round one has 0.79."""
_MIDDLE_SHARE = 0.7
"""Share of a side, about its middle, that shows no other wall [-]; a round figure."""
_WALL_PIXELS = 8
"""Least pixels that say where a wall is; a round figure."""
_THIN_M = 0.003
"""Thickness of the walls of bins [m]; a round figure."""
_OWN_SHARE = 0.25
"""Share of a part that stands free of a container's walls and floor, from which on it is an object of its own [-]; a
round figure, as most of what is seen of such an object does."""
_EIGHT = np.ones((3, 3), dtype=bool)
"""A pixel and its eight neighbours."""


@dataclass(frozen=True)
class Cluster:
    """One object as geometry sees it.

    Attributes:
        mask: bool (H, W), its visible pixels.
        window: Rows and columns of the image that hold the mask.
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
    """Cells of the table top, (nx, ny) of them, and where the points of a frame lie in it.

    Attributes:
        cell: Side of a cell [m].
        shape: (nx, ny).
        surface: The frame's cloud.
        solid: bool (H, W), pixels that are surely part of an object.
        flat: bool (H, W), those of them that are found by colour and mean height.
    """

    cell: float
    shape: tuple[int, int]
    surface: Surface
    solid: BoolArray
    flat: BoolArray

    def under(self, pixels: NDArray[np.intp]) -> NDArray[np.intp]:
        """Flat index (n,) of the cell under each of the pixels, which are flat indices (n,) too."""
        (x0, y0), _ = self.surface.area
        column = ((self.surface.points[:, :, 0].ravel()[pixels] - x0) / self.cell).astype(np.intp)
        row = ((self.surface.points[:, :, 1].ravel()[pixels] - y0) / self.cell).astype(np.intp)
        return np.clip(column, 0, self.shape[0] - 1) * self.shape[1] + np.clip(row, 0, self.shape[1] - 1)

    def counts(self, cells: NDArray[np.intp]) -> NDArray[np.intp]:
        """How often each cell is named (nx, ny)."""
        return np.bincount(cells, minlength=self.shape[0] * self.shape[1]).reshape(self.shape)


def find_clusters(frame: Frame, surface: Surface) -> list[Cluster]:
    """Every object on the table, largest footprint first; contents follow their container."""
    grid = _grid(frame, surface)
    smallest = least_pixels(frame)
    tall_px = round(_TALLEST_M * frame.K[0, 0] / float(np.nanmedian(frame.depth[::16, ::16])))
    image = _Image(surface, grid, frame.T_base_camera[:3, 3], smallest, tall_px)

    labels, sizes, cells = _footprints(grid)
    windows = ndimage.find_objects(labels)
    spans = [np.prod([side.stop - side.start for side in box]) if box else 0 for box in ndimage.find_objects(cells)]
    found: list[Cluster] = []
    contents = np.zeros(labels.shape, dtype=bool)
    # What stands in a container comes after it, as part of it.
    for label in np.argsort(-np.array(spans, dtype=int), kind="stable") + 1:
        if sizes[label] < smallest:
            continue
        rows, columns = windows[label - 1]
        window = (rows, columns)
        mask = labels[window] == label
        inside = 2 * np.count_nonzero(mask & contents[window]) > np.count_nonzero(mask)
        top = float(surface.height[window][mask].max())
        speck = sizes[label] <= _SPECK * smallest and top < _CLEARLY * surface.rough
        if inside or top > _ROBOT_M or (speck and not grid.flat[window][mask].any()):
            continue
        objects = _objects(image, mask, window, len(found))
        if objects and objects[0].extents.centre[0] > workspace.TABLE_X[0]:
            found += objects
            for item in objects[1:]:
                contents[item.window] |= item.mask[item.window]
    return found


def _between_walls(points: NDArray[np.floating], extents: Extents) -> Extents:
    """The box of a container with its sides in the middle of what noise makes of its walls (N, 3), not on its outside.

    A round one keeps its box.
    """
    if extents.fill < _STRAIGHT:
        return extents
    along = np.array([np.cos(extents.yaw), np.sin(extents.yaw)])
    local = (points[:, :2] - extents.centre[:2]) @ np.column_stack([along, [-along[1], along[0]]])
    half = extents.size[:2] / 2.0
    sides = np.stack([-half, half])
    for axis in (0, 1):
        beside_corners = np.abs(local[:, 1 - axis]) < _MIDDLE_SHARE * half[1 - axis]
        for side, sign in enumerate((-1.0, 1.0)):
            away = sign * local[beside_corners, axis]
            wall = away[away > half[axis] - _INNER_M]
            if len(wall) >= _WALL_PIXELS:
                sides[side, axis] = sign * (float(np.median(wall)) + _THIN_M / 2.0)
    middle = sides.mean(axis=0)
    centre = extents.centre.copy()
    centre[:2] += middle[0] * along + middle[1] * np.array([-along[1], along[0]])
    return replace(extents, centre=centre, size=np.array([*(sides[1] - sides[0]), extents.size[2]]))


def shell_and_others(surface: Surface, container: Cluster, masks: Sequence[BoolArray]) -> tuple[list[int], list[int]]:
    """By their numbers the parts of a container's pixels that are its walls and floor, and those that are other
    objects.

    What is in neither list is the table, which is seen beside it or through its walls.

    Args:
        surface: The frame's cloud.
        container: A hollow cluster.
        masks: bool (H, W) of each part.
    """
    assert container.rim is not None
    over = max(_WALL_M, _SURELY * surface.rough)
    shell, others = [], []
    for number, mask in enumerate(masks):
        points = surface.points[mask][None]
        depth, z = _depth_inside(container.extents.outline, points, _OUTER_M)[0], points[0, :, 2]
        known = np.isfinite(z)
        beside = known & (depth < -_OUTER_M)
        free = ((depth > _INNER_M) & (z > _FLOOR_M + over)) | (beside & (z > over))
        free |= z > container.rim + _RIM_CLEARANCE_M + over
        if np.count_nonzero(free) >= _OWN_SHARE * np.count_nonzero(known):
            others.append(number)
        elif 2 * np.count_nonzero(beside) < np.count_nonzero(known):
            shell.append(number)
    return shell, others


def least_pixels(frame: Frame) -> int:
    """Fewest pixels of an object in an image."""
    return max(20, round(_MIN_PIXELS * (frame.K[0, 0] / workspace.SCENE_CAMERA_FOCAL_PX) ** 2))


def _grid(frame: Frame, surface: Surface) -> _Grid:
    pitch = float(np.nanmedian(frame.depth[::16, ::16])) / float(frame.K[0, 0])
    cell = float(np.clip(2.5 * pitch, 0.004, 0.010))
    (x0, y0), (x1, y1) = surface.area
    shape = int((x1 - x0) / cell) + 1, int((y1 - y0) / cell) + 1
    solid = surface.inside & (surface.height > max(SOLID_M, _SURELY * surface.rough))
    flat = flat_pixels(frame, surface, solid, least_pixels(frame), surface.rough > ROUGH_TABLE_M)
    return _Grid(cell, shape, surface, solid | flat, flat)


def _footprints(grid: _Grid) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.int32]]:
    """Labels of the pixels (H, W) of objects, how many have each label, and labels of the cells (nx, ny).

    Low pixels beside a footprint belong to it.
    """
    surface = grid.surface
    high = surface.height > max(_LOW_M, _ROUGH * surface.rough)
    raised = np.flatnonzero(surface.inside & (high | grid.flat))
    solid = grid.solid.ravel()[raised]
    under = grid.under(raised)
    cells = _group(grid, raised[solid], under[solid])
    near = ndimage.grey_dilation(cells, footprint=_EIGHT)
    labels = np.zeros(surface.inside.shape, dtype=np.int32)
    chosen = np.where(solid, cells.ravel()[under], near.ravel()[under])
    labels.ravel()[raised] = chosen
    return labels, np.bincount(chosen, minlength=int(cells.max()) + 1), cells


def _closed(cells: BoolArray) -> BoolArray:
    """Cells (nx, ny) with gaps of one or two cells closed."""
    return eroded(dilated(np.pad(cells, 1), diagonally=True), diagonally=True)[1:-1, 1:-1]


def _group(grid: _Grid, pixels: NDArray[np.intp], under: NDArray[np.intp]) -> NDArray[np.int32]:
    """Labels (nx, ny) of the cells `under` pixels: 1, 2, ... per connected footprint, 0 where there is nothing."""
    counts = grid.counts(under)
    occupied = counts >= 2
    if grid.surface.coarse > 1.0:
        # A rim is thinner than a pixel there, and falls apart where a cell holds one point of it.
        occupied |= (counts == 1) & dilated(occupied, diagonally=True)
    joined = _closed(occupied) | occupied
    labels, n = ndimage.label(joined, _EIGHT)
    cells = labels.astype(np.int32)
    sizes = np.bincount(cells.ravel(), minlength=n + 1)
    small = [k for k in range(1, n + 1) if sizes[k] * grid.cell**2 < _FRAGMENT_M2]
    if small and n > 1:
        others = grid.surface.inside.copy()
        others.ravel()[pixels] = False
        _join_fragments(cells, small, sizes, grid.counts(grid.under(np.flatnonzero(others))) > 0, grid.cell)
    return cells


def _join_fragments(
    cells: NDArray[np.int32], small: list[int], sizes: NDArray[np.intp], seen: BoolArray, cell: float
) -> None:
    """Joins a small part to the nearest larger one if nothing of the table is seen in the gap between them."""
    steps = round(_FRAGMENT_GAP_M / cell)
    for label in small:
        near = window_of(cells == label, steps)
        part = cells[near] == label
        reach = ndimage.binary_dilation(part, _EIGHT, iterations=steps, mask=part | ~seen[near])
        touched = np.unique(cells[near][reach])
        neighbours = [int(k) for k in touched if k not in (0, label) and sizes[k] > sizes[label]]
        if neighbours:
            cells[near][part] = max(neighbours, key=lambda k: int(sizes[k]))


@dataclass(frozen=True)
class _Image:
    """What every step reads: the cloud, its grid, where the camera is, and scales of this image.

    Attributes:
        smallest: Fewest pixels of an object.
        tall_px: How far the tallest object in a container may rise over it in the image [px].
    """

    surface: Surface
    grid: _Grid
    eye: FloatArray
    smallest: int
    tall_px: int


def _objects(image: _Image, mask: BoolArray, window: Window, number: int) -> list[Cluster]:
    """The object of one footprint, whose mask lies in a window; if it is a container, also what stands in it.

    `number` is the index that the object gets.
    """
    points = image.surface.points[window]
    coarse = image.surface.coarse
    extents = measure(points[firm_pixels(image.surface, window, mask)], 0.0, image.eye, coarse, image.surface.rough)
    if len(extents.outline) < 3:
        return []
    shell = _find_shell(points, mask & image.surface.inside[window], extents.outline, coarse)
    if shell is None:
        return [Cluster(_placed(filled(mask), window, image.surface), window, extents)]
    return _opened(image, _placed(mask, window, image.surface), window, extents.outline, shell, number)


def _placed(mask: BoolArray, window: Window, surface: Surface) -> BoolArray:
    """A mask of the whole image (H, W) from that of a window."""
    full = np.zeros(surface.inside.shape, dtype=bool)
    full[window] = mask
    return full


def _opened(
    image: _Image, mask: BoolArray, own_window: Window, corners: FloatArray, shell: _Shell, number: int
) -> list[Cluster]:
    """A container with mask (H, W) and footprint `corners` (K, 2), then its contents."""
    window = widened(own_window, image.tall_px)
    surface, own = image.surface, mask[window]
    points, inside = surface.points[window], surface.inside[window]
    depth = _depth_inside(corners, points)
    above = points[:, :, 2] > shell.rim + _RIM_CLEARANCE_M
    # Through clear walls the table beside the floor is seen; noise is averaged to separate the two.
    lifted = ndimage.uniform_filter(np.nan_to_num(points[:, :, 2]), 3) > 0.002
    risen = (depth > _WALL_M) & (points[:, :, 2] > shell.floor + max(_WALL_M, _SURELY * surface.rough))
    content = inside & (depth > -_LOW_M) & (above | risen)
    body = inside & (((depth > -_LOW_M) & lifted) | own) & ~content
    walls = body & own & (points[:, :, 2] <= shell.rim + _LOW_M)

    contents: list[Cluster] = []
    for part in _parts_of(image, dilated(eroded(content)), window):
        full = _placed(part, window, surface)
        firm = firm_pixels(surface, window, part)
        extents = measure(points[firm], shell.floor, image.eye, surface.coarse, surface.rough)
        contents.append(Cluster(full, window_of(full), extents, shell.floor, within=number))
        content &= ~part
    full = _placed(body | content, window, surface)
    walls = firm_pixels(surface, window, walls)
    top = walls & (points[:, :, 2] > shell.rim - _WALL_M)
    if surface.rough > ROUGH_TABLE_M and np.count_nonzero(top) >= _SHELL_PIXELS / surface.coarse**2:
        # Where depth is noisy, walls are smeared on either side of them; the rim is level and seen best.
        walls = top
    extents = measure(points[walls], 0.0, image.eye, surface.coarse, surface.rough)
    if surface.rough > ROUGH_TABLE_M:
        extents = _between_walls(points[walls], extents)
    container = Cluster(full, window_of(full), extents, rim=shell.rim)
    return [container, *contents]


def _parts_of(image: _Image, mask: BoolArray, window: Window) -> list[BoolArray]:
    """The masks of the separate objects, within a window as `mask` is."""
    rows, columns = np.nonzero(mask)
    pixels = (rows + window[0].start) * image.surface.inside.shape[1] + columns + window[1].start
    under = image.grid.under(pixels)
    cells = _group(image.grid, pixels, under)
    labels = np.zeros(mask.shape, dtype=np.int32)
    labels[rows, columns] = cells.ravel()[under]
    parts = [labels == label for label in range(1, int(cells.max()) + 1)]
    return [part for part in parts if np.count_nonzero(part) >= image.smallest]


@dataclass(frozen=True)
class _Shell:
    """rim, floor: heights over the table [m]."""

    rim: float
    floor: float


def _find_shell(points: NDArray[np.float32], mask: BoolArray, corners: FloatArray, coarse: float) -> _Shell | None:
    """Rim and floor if the pixels of a footprint (H, W) are those of an open container, else None."""
    centre, sides, _ = rectangle(corners)
    low, high = CONTAINER_SIDES_M
    if not (low < sides[1] and sides[0] < high and area(corners) > 0.7 * sides[0] * sides[1]):
        return None
    depth = _depth_inside(corners, points)
    z = points[:, :, 2]
    border = mask & (depth < _WALL_M) & (z > 0.02)
    interior = (depth > 2 * _WALL_M) & (z > -SOLID_M)
    if min(np.count_nonzero(border), np.count_nonzero(interior)) < _SHELL_PIXELS / coarse**2:
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


def _depth_inside(corners: FloatArray, points: NDArray[np.float32], beyond: float = _WALL_M) -> NDArray[np.float32]:
    """How far points (H, W, 3) lie inside a convex footprint (K, 2) [m]: negative outside, -inf far `beyond` it."""
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.stack([-edges[:, 1], edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1, keepdims=True)
    offsets = np.einsum("ij,ij->i", normals, corners).astype(np.float32)
    (x0, y0), (x1, y1) = corners.min(axis=0) - beyond, corners.max(axis=0) + beyond
    x, y = points[:, :, 0], points[:, :, 1]
    near = (x > x0) & (x < x1) & (y > y0) & (y < y1)
    x, y = x[near], y[near]
    least = np.full(len(x), np.inf, dtype=np.float32)
    for (nx, ny), offset in zip(normals.astype(np.float32), offsets, strict=True):
        np.minimum(least, x * nx + y * ny - offset, out=least)
    depth = np.full(near.shape, -np.inf, dtype=np.float32)
    depth[near] = least
    return depth
