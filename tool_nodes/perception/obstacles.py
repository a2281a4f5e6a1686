"""Collision obstacles from one depth image: a height map, and boxes for the planner.

Only the camera's cloud is used. What the camera cannot see because something stands in front of it
is taken as occupied close behind that object.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import geometry, workspace
from toolhand.tool_nodes.perception.columns import around, column_boxes, rim, within_hand, without_own
from toolhand.tool_nodes.perception.heights import LEAST_POINTS, MAX_HEIGHT, MIN_HEIGHT, HeightMap, SeenTable
from toolhand.tool_nodes.types import BoolArray, Box, FloatArray, Frame

_Labels = NDArray[np.signedinteger[Any]]

MAX_BOXES = 60
"""Boxes of a scene; bounds the planner's time."""
PADDING_DEPTH = 0.01
"""How far behind a seen object hidden space counts as occupied [m]."""

INFLATION = 0.003
"""A box is this much larger than what was seen: on each side, and at its top [m]; a round figure."""
OBSTACLE_CELL_M = 0.005
"""Edge of the cells that boxes are fitted to [m]; a round figure."""
_HIDDEN_MARGIN = 0.01
"""A point is hidden when it lies this far behind what the camera saw in its direction [m]; a round figure."""
_SPLIT_WASTE_M3 = 100e-6
"""A box with less empty space than this is not split [m^3]; a round figure."""
_SPLIT_SHARE = 0.2
"""Share of empty space below which a box is not split either [-]; a round figure."""


def fit_obstacles(
    frame: Frame,
    ignore: BoolArray | None = None,
    seen: SeenTable | None = None,
    about: NDArray[np.floating] | None = None,
) -> tuple[Box, ...]:
    """Boxes in the base frame that cover everything the camera saw on the table.

    A compact object becomes one upright oriented box that stands on the table; a hollow or angular
    one becomes several, so that the inside of a bin stays free.

    Args:
        frame: An image with depth, taken with the arm out of view.
        ignore: bool (H, W), pixels to leave out, such as those of the object to be grasped.
        seen: The table of the same frame by cells of `OBSTACLE_CELL_M`, where it is known already.
        about: (N, 3) points of the object to be grasped, base frame [m]. What the hand may meet there is given cell by
            cell and without inflation, so that the gaps beside the object stay open.

    Returns:
        At most `MAX_BOXES` boxes, each inflated by `INFLATION`, and those of the cells about the object.

    Raises:
        ToolError: INVALID_ARGUMENT for a mask of another shape, NO_DEPTH for an image without depth.
    """
    seen = seen or SeenTable(frame, OBSTACLE_CELL_M)
    if about is not None and len(about):
        # Nor does the rim hide anything: the object itself is not there any more.
        ignore = rim(seen, about) if ignore is None else ignore | rim(seen, about)
    fine = seen.heights(ignore, LEAST_POINTS)
    occupied = np.nan_to_num(fine.heights) > 0.0
    labels, count = ndimage.label(_blocks_any(occupied), structure=np.ones((3, 3)))
    labels = np.repeat(np.repeat(labels, 2, axis=0), 2, axis=1)[: occupied.shape[0], : occupied.shape[1]]
    labels = np.where(occupied, labels, 0)
    hidden = _hidden_heights(fine, labels, frame, ignore)
    hidden_labels = _nearest_label(labels, hidden > 0.0)

    joined = np.where(occupied, labels, hidden_labels)
    tops = np.concatenate([[0.0], ndimage.maximum(fine.heights, labels, np.arange(1, count + 1))])
    heights = np.where(occupied, fine.heights, np.minimum(hidden, tops[joined]))

    near = np.zeros(occupied.shape, bool) if about is None or not len(about) else within_hand(fine, about)
    columns = np.where(near, heights, 0.0)
    beside = around(near) if columns.any() else ()
    reaching = set(joined[columns > 0.0].tolist())
    parts = []
    for label, part in enumerate(ndimage.find_objects(joined), start=1):
        own = np.where(joined[part] == label, heights[part], 0.0)
        map_of = fine.part(part)
        if label in reaching:
            # Cut along the edges of what is near: no box of the rest reaches over it.
            rest = [np.where(side[part], own, 0.0) for side in beside]
            parts += [_turned_part(map_of, each, 0.0) for each in rest if each.any()]
            continue
        cells, (xs, ys) = np.nonzero(labels[part] == label), map_of.centres()
        yaw = _tightest_yaw(np.column_stack([xs[cells[0]], ys[cells[1]]]))
        parts.append(_turned_part(map_of, own, yaw))
    boxes = tuple(part.box() for part in _split(parts))
    if not columns.any():
        return boxes
    assert about is not None
    return boxes + column_boxes(without_own(fine, columns, about), fine)


def _blocks_any(cells: BoolArray) -> BoolArray:
    """True for each 2x2 block that holds a true cell."""
    nx, ny = cells.shape
    padded = np.pad(cells, ((0, nx % 2), (0, ny % 2)))
    return padded[0::2, 0::2] | padded[1::2, 0::2] | padded[0::2, 1::2] | padded[1::2, 1::2]


def _hidden_heights(fine: HeightMap, labels: _Labels, frame: Frame, ignore: BoolArray | None) -> FloatArray:
    """Height (nx, ny) up to which unseen cells near seen objects are hidden from the camera; 0 elsewhere."""
    hidden = np.zeros(fine.heights.shape)
    occupied = labels > 0
    if not occupied.any():
        return hidden
    distance = ndimage.distance_transform_edt(~occupied) * fine.cell
    # The inside of a bowl or a bin is left free, because objects are put there.
    inside = ndimage.binary_fill_holes(occupied)
    cells = np.nonzero(np.isnan(fine.heights) & (distance <= PADDING_DEPTH) & ~inside)
    xs, ys = fine.centres()
    levels = np.arange(MIN_HEIGHT, MAX_HEIGHT, 0.01)
    columns = np.column_stack([xs[cells[0]], ys[cells[1]], np.full(len(cells[0]), workspace.TABLE_Z)])
    points = np.repeat(columns[:, None, :], len(levels), axis=1)
    points[:, :, 2] += levels
    local = geometry.transform(geometry.invert(frame.T_base_camera), points.reshape(-1, 3))
    uv = geometry.project(local, frame.K)
    width, height = frame.size
    in_view = (uv >= 0.0).all(axis=1) & (uv[:, 0] <= width - 1) & (uv[:, 1] <= height - 1)
    u, v = np.rint(uv[in_view]).astype(int).T
    seen_depth = np.nan_to_num(frame.depth[v, u], nan=np.inf)
    if ignore is not None:
        seen_depth = np.where(ignore[v, u], np.inf, seen_depth)
    behind = np.zeros(len(local), dtype=bool)
    behind[in_view] = local[in_view, 2] > seen_depth + _HIDDEN_MARGIN
    hidden[cells] = np.max(behind.reshape(-1, len(levels)) * levels, axis=1, initial=0.0)
    return np.where(hidden >= 2.0 * MIN_HEIGHT, hidden, 0.0)


def _nearest_label(labels: _Labels, where: BoolArray) -> _Labels:
    """Label (nx, ny) of the nearest labelled cell where asked, 0 elsewhere."""
    if not where.any():
        return np.zeros_like(labels)
    nearest = ndimage.distance_transform_edt(labels == 0, return_distances=False, return_indices=True)
    return np.where(where, labels[tuple(nearest)], 0)


def _tightest_yaw(xy: FloatArray) -> float:
    """Yaw [rad] in [0, pi/2) of the smallest of 45 rectangles about points (n, 2)."""
    yaws = np.radians(np.arange(0.0, 90.0, 2.0))
    along = xy @ np.array([np.cos(yaws), np.sin(yaws)])
    across = xy @ np.array([-np.sin(yaws), np.cos(yaws)])
    return float(yaws[int(np.argmin(np.ptp(along, axis=0) * np.ptp(across, axis=0)))])


def _turned_part(fine: HeightMap, heights: FloatArray, yaw: float) -> _Part:
    """One object's heights (nx, ny), 0 elsewhere, sampled again along the axes of its own yaw."""
    xs, ys = fine.centres()
    cells = np.nonzero(heights)
    c, s = np.cos(yaw), np.sin(yaw)
    to_base = np.array([[c, -s], [s, c]])
    own = np.column_stack([xs[cells[0]], ys[cells[1]]]) @ to_base
    low = own.min(axis=0) - fine.cell
    u, v = (np.arange(low[axis], own[:, axis].max() + fine.cell, fine.cell) for axis in (0, 1))
    if yaw:
        base = np.stack(np.meshgrid(u, v, indexing="ij"), axis=-1) @ to_base.T
        x, y = base[..., 0], base[..., 1]
    else:
        x, y = u[:, None], v[None]
    row = np.floor((x - fine.x0) / fine.cell).astype(int)
    column = np.floor((y - fine.y0) / fine.cell).astype(int)
    inside = (row >= 0) & (row < len(xs)) & (column >= 0) & (column < len(ys))
    sampled = np.where(inside, heights[row.clip(0, len(xs) - 1), column.clip(0, len(ys) - 1)], 0.0)
    return _Part(sampled, low, yaw, fine.cell)


class _Part:
    """Heights (n, m) of columns [m] that one box will cover, on a grid turned by yaw [rad].

    `low` (2,) is the position of the first column in the turned axes [m].
    """

    def __init__(self, heights: FloatArray, low: FloatArray, yaw: float, cell: float) -> None:
        rows, columns = np.flatnonzero(heights.any(axis=1)), np.flatnonzero(heights.any(axis=0))
        self._heights = heights[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        self._low = low + np.array([rows[0], columns[0]]) * cell
        self._yaw, self._cell = yaw, cell
        shape = np.array(self._heights.shape)
        # The outermost cells are half covered on average; the inflation makes up for the rest.
        self._size = (shape - 0.5) * cell
        self._height = float(self._heights.max())
        self.volume = float(self._size.prod()) * self._height
        self.waste = max(self.volume - float(self._heights.sum()) * cell**2, 0.0)
        small = self.waste < _SPLIT_WASTE_M3 or shape.max() < 2
        self.compact = bool(small or self.waste < _SPLIT_SHARE * self.volume)

    def halves(self) -> tuple[_Part, _Part]:
        """The two parts on either side of the sharpest change, such as the inner face of a wall."""
        cuts = [
            (*_sharpest_change(self._heights.sum(axis=1 - axis) / self._heights.shape[1 - axis]), axis)
            for axis in (0, 1)
        ]
        _, at, axis = max(cuts)
        first, second = np.split(self._heights, [at], axis=axis)
        shift = np.zeros(2)
        shift[axis] = at * self._cell
        return (
            _Part(first, self._low, self._yaw, self._cell),
            _Part(second, self._low + shift, self._yaw, self._cell),
        )

    def box(self) -> Box:
        """The inflated box from the table to the top of the highest column."""
        half_height = (self._height + INFLATION) / 2.0
        middle = self._low + (np.array(self._heights.shape) - 1) * self._cell / 2.0
        rotation = geometry.rotation_z(self._yaw)
        centre = rotation @ np.array([*middle, workspace.TABLE_Z + half_height])
        return Box(geometry.pose(rotation, centre), np.array([*(self._size / 2.0 + INFLATION), half_height]))


def _sharpest_change(profile: FloatArray) -> tuple[float, int]:
    """(size, index of the first entry after it) of the greatest change along a profile of mean heights (n,) [m]."""
    if len(profile) < 2:
        return -1.0, 0
    at = np.arange(1, len(profile))
    total = np.concatenate([[0.0], np.cumsum(profile)])
    before = (total[at] - total[np.maximum(at - 2, 0)]) / np.minimum(at, 2)
    after = (total[np.minimum(at + 2, len(profile))] - total[at]) / np.minimum(len(profile) - at, 2)
    change = np.abs(after - before)
    best = int(np.argmax(change))
    return float(change[best]), int(at[best])


def _split(parts: list[_Part]) -> list[_Part]:
    """Splits the most wasteful parts until all are compact or the budget of boxes is spent."""
    done = sorted(parts, key=lambda part: -part.volume)[:MAX_BOXES]
    queue = [(-part.waste, number, part) for number, part in enumerate(done) if not part.compact]
    done = [part for part in done if part.compact]
    heapq.heapify(queue)
    number = MAX_BOXES
    while queue and len(done) + len(queue) < MAX_BOXES:
        _, _, part = heapq.heappop(queue)
        for half in part.halves():
            number += 1
            if half.compact:
                done.append(half)
            else:
                heapq.heappush(queue, (-half.waste, number, half))
    return done + [part for _, _, part in queue]
