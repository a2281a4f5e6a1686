"""Height of what stands on the table, cell by cell, from one depth image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from toolhand.tool_nodes import geometry, workspace
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

MIN_HEIGHT = 0.008
"""Lower objects count as the table [m]."""

MAX_HEIGHT = 0.35
"""Higher points belong to the robot or the room [m]."""

LEAST_POINTS = 5
"""Points above the table in a cell of 5 mm and the eight about it from which something stands there [-]. An image of
640x480 shows such a square of the table by some 90; noise of 3 mm raises 1 of 260 of them as high."""

_FLYING_M = 0.008
"""Neighbouring pixels on one surface differ in depth by less than this [m]: 75 degrees aslant at 2 mm a pixel, while
what flies between two surfaces lies anywhere between them."""
_FLYING_NEIGHBOURS = 3
"""A pixel with fewer such neighbours of its eight is on no surface [-]: a line of one pixel has two."""


@dataclass(frozen=True)
class HeightMap:
    """Height of what stands on the table, seen from above.

    Attributes:
        x0: Lower edge of the first cell along x in the base frame [m].
        y0: Lower edge of the first cell along y [m].
        cell: Edge of a cell [m].
        heights: (nx, ny) height above the table [m]; 0 = free table, NaN = unseen.
    """

    x0: float
    y0: float
    cell: float
    heights: FloatArray

    @property
    def shape(self) -> tuple[int, int]:
        """(nx, ny)."""
        return self.heights.shape[0], self.heights.shape[1]

    def part(self, cells: tuple[slice, ...]) -> HeightMap:
        """The map of a rectangle of its cells."""
        rows, columns = cells
        return HeightMap(
            self.x0 + rows.start * self.cell, self.y0 + columns.start * self.cell, self.cell, self.heights[cells]
        )

    def centres(self) -> tuple[FloatArray, FloatArray]:
        """x (nx,) and y (ny,) of the cell centres in the base frame [m]."""
        nx, ny = self.heights.shape
        xs = self.x0 + (np.arange(nx, dtype=float) + 0.5) * self.cell
        return xs, self.y0 + (np.arange(ny, dtype=float) + 0.5) * self.cell

    def cells(self, xy: ArrayLike) -> NDArray[np.intp]:
        """Indices (..., 2) of the cells that points (..., 2) of the base frame [m] lie in, or would beyond the map."""
        return np.floor((np.asarray(xy, float) - (self.x0, self.y0)) / self.cell).astype(np.intp)

    def support_height(self, xy: ArrayLike, radius: float) -> float:
        """Greatest seen height [m] within radius [m] of a point (2,); NaN if nothing was seen there."""
        x, y = np.asarray(xy, dtype=float)[:2]
        xs, ys = self.centres()
        # Half a cell more, so that even a tiny radius meets the cell that holds the point.
        near = np.hypot(xs[:, None] - x, ys[None, :] - y) <= max(radius, 0.75 * self.cell)
        heights = self.heights[near]
        seen = heights[~np.isnan(heights)]
        return float(seen.max()) if len(seen) else float("nan")


def height_map(frame: Frame) -> HeightMap:
    """The height map of the table area (`workspace.TABLE_X`, `TABLE_Y`). Raises ToolError NO_DEPTH without depth."""
    return SeenTable(frame).heights()


class SeenTable:
    """The points of one image over the table area and the cells that they fall into, for any number of height maps.

    Args:
        frame: An image with depth.
        cell: Edge of a cell [m].
        table_z: Height of the table top in the base frame [m].
        cloud: (H*W, 3) the points of the image in the base frame [m], where they are known already.
        lowest: Height above which points are no table [m].

    Raises:
        ToolError: NO_DEPTH for an image without depth.
    """

    def __init__(
        self,
        frame: Frame,
        cell: float = 0.01,
        table_z: float = workspace.TABLE_Z,
        cloud: NDArray[np.float32] | None = None,
        lowest: float = MIN_HEIGHT,
    ) -> None:
        if np.isnan(frame.depth).all():
            raise ToolError(ErrorCode.NO_DEPTH, "The picture has no depth, so nothing is known about the table.")
        self.frame, self.cell, self.table_z = frame, cell, table_z
        (self.x0, x1), (self.y0, y1) = workspace.TABLE_X, workspace.TABLE_Y
        self.shape = round((x1 - self.x0) / cell), round((y1 - self.y0) / cell)
        if cloud is None:
            cloud = geometry.transform(frame.T_base_camera, geometry.backproject(frame.depth, frame.K))
        x, y, z = np.ascontiguousarray(cloud.T)
        z -= np.float32(table_z)
        with np.errstate(invalid="ignore"):
            inside = (x >= self.x0) & (x < x1) & (y >= self.y0) & (y < y1) & (z > -lowest) & (z < MAX_HEIGHT)
        self._pixels = np.flatnonzero(inside)
        column = np.minimum(((x[self._pixels] - self.x0) / cell).astype(np.int32), self.shape[0] - 1)
        row = np.minimum(((y[self._pixels] - self.y0) / cell).astype(np.int32), self.shape[1] - 1)
        self._index = column * self.shape[1] + row
        z = z[self._pixels]
        self._high = np.flatnonzero(z > lowest)
        self._z = z[self._high]
        self._on_surface = on_surface(frame.depth, self._pixels[self._high])

    def below(self, tops: FloatArray) -> BoolArray:
        """Which pixels (H, W) show what rises above the table, but not to a height of its cell's own (nx, ny) [m]."""
        found = np.zeros(self.frame.depth.shape, bool)
        found.reshape(-1)[self._pixels[self._high]] = self._z < tops.ravel()[self._index[self._high]]
        return found

    def heights(self, ignore: BoolArray | None = None, least: int = 1) -> HeightMap:
        """The height map.

        Args:
            ignore: bool (H, W), pixels to leave out.
            least: Points that rise above the table in a cell and those around it for the cell to count as occupied
                [-]; those of fewer are an edge that flickers or a point between two surfaces, and count as table.

        Raises:
            ToolError: INVALID_ARGUMENT for a mask of another shape.
        """
        index, high, z, keep = self._index, self._index[self._high], self._z, None
        if ignore is not None:
            if ignore.shape != self.frame.depth.shape:
                raise invalid(
                    f"The mask to ignore must have the picture's shape {self.frame.depth.shape}, but it has "
                    f"{ignore.shape}."
                )
            keep = ~ignore.ravel()[self._pixels]
            index, high, z = index[keep], high[keep[self._high]], z[keep[self._high]]
        heights = np.full(self.shape[0] * self.shape[1], np.nan, dtype=np.float32)
        heights[index] = 0.0
        if least > 1:
            solid = self._on_surface if keep is None else self._on_surface[keep[self._high]]
            high, z = high[solid], z[solid]
            many = among_many(high, self.shape, least)
            high, z = high[many], z[many]
        np.maximum.at(heights, high, z)
        return HeightMap(self.x0, self.y0, self.cell, heights.astype(float).reshape(self.shape))


class SeenTwice(SeenTable):
    """The table as two cameras see it: what the first one does not see, the second one may; else the higher counts.

    Args:
        first: Table as the first camera sees it.
        second: Table as the second camera sees it, in the same cells.
        ignore: bool (H, W), pixels of the second image to leave out of every height map.
    """

    def __init__(self, first: SeenTable, second: SeenTable, ignore: BoolArray | None = None) -> None:
        vars(self).update(vars(first))
        self._first, self._second, self._ignored = first, second, ignore

    def heights(self, ignore: BoolArray | None = None, least: int = 1) -> HeightMap:
        """See `SeenTable.heights`; the pixels to leave out are the first image's."""
        first, second = self._first.heights(ignore, least), self._second.heights(self._ignored, least)
        return replace(first, heights=np.fmax(first.heights, second.heights))


def among_many(cells: NDArray[np.integer[Any]], shape: tuple[int, int], least: int) -> BoolArray:
    """Which points (N,), as flat indices of their cells, are among `least` or more in the cell and the eight about it.

    Args:
        cells: (N,) index of each point's cell.
        shape: (nx, ny) cells of the grid.
        least: Points that are no speck of noise [-].
    """
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    around = ndimage.convolve(counts, np.ones((3, 3), dtype=counts.dtype), mode="constant")
    return np.asarray(around.ravel()[cells] >= least)


def on_surface(depth: NDArray[np.float32], pixels: NDArray[np.integer[Any]]) -> BoolArray:
    """Which pixels (N,) of a depth image (H, W) [m], as flat indices, show a surface, and do not fly between two."""
    height, width = depth.shape
    padded = np.full((height + 2, width + 2), np.nan, np.float32)
    padded[1:-1, 1:-1] = depth
    flat, at = padded.ravel(), pixels + 2 * (pixels // width) + width + 3
    own, alike = flat[at], np.zeros(len(at), np.uint8)
    with np.errstate(invalid="ignore"):
        for row in (-1, 0, 1):
            for step in (row * (width + 2) + column for column in (-1, 0, 1) if row or column):
                alike += np.abs(flat[at + step] - own) < np.float32(_FLYING_M)
    return alike >= _FLYING_NEIGHBOURS
