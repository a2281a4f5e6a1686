"""Gripper clearance: the gripper's volume against a height map of everything but the object."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.motion.gripper import GripperModel
from toolhand.tool_nodes.perception.heights import LEAST_POINTS, among_many
from toolhand.tool_nodes.types import BoolArray, FloatArray

APPROACH = 0.08
"""Length of the straight approach that is checked [m]."""

ROOM = 0.5
"""Higher points belong to the robot or the room [m]."""

LEAST_HEIGHT = 0.006
"""Lower points are the table, where its noise is not known [m]; a round figure."""

_CELL = 0.005
"""Side of a cell of the height grid [m]; a round figure."""
MOST_INTO = 0.08
"""Share of the gripper's volume from which on it does not go beside what stands there [-]: half of one finger. What is
less is pushed aside, or was noise."""

_SLACK = 0.003
"""Points of the gripper this far below what was seen are not within it yet [m]: a stereo camera's noise at 0.9 m."""
_MARGIN = 0.005
"""The gripper's points stay this far above what stands beside the object [m]; a round figure."""
_ABOVE_TABLE = 0.0005
"""The gripper's points stay this far above the table [m]: less than the gap that fingertips keep from it."""
_HIGHER = 0.005
"""What is this much higher than the object's nearest part lies on it or hems it in [m]: one cell."""
_RING = 4
"""Cells about the object's footprint in which that is looked for [-]: 2 cm, which a finger needs beside it."""
_RANGE = 0.32
"""The grid reaches this far from the object's middle along x and y [m]: enough for gripper and wrist."""


@dataclass(frozen=True)
class HandRoom:
    """What is about the open gripper at some poses, each a share (N,) of its volume [-].

    Attributes:
        into: Within what was seen.
        touching: Within it or closer to it than a margin.
        crowded: Closer to it than a finger is thick.
    """

    into: FloatArray
    touching: FloatArray
    crowded: FloatArray

    @property
    def tightness(self) -> FloatArray:
        """(N,) What compares two poses."""
        return self.into + 0.1 * self.touching + 0.01 * self.crowded

    def of(self, chosen: BoolArray) -> HandRoom:
        """Some of them."""
        return HandRoom(self.into[chosen], self.touching[chosen], self.crowded[chosen])


class SceneHeights:
    """Height of everything but the object, on a grid about it; unseen sides reach down to the table.

    Specks of noise are left out by the same rule as obstacles of the planner (`heights.among_many`).

    Args:
        points: (N, 3) all that was seen, base frame [m].
        left_out: (N,) True on the object, and on what shows no surface.
        shape: (P, 3) points of the object [m]; what lies within a cell of them is its rim, which the mask missed.
        gripper: The gripper.
        least: Height above which points are no table [m].
    """

    def __init__(
        self,
        points: NDArray[np.float32],
        left_out: BoolArray,
        shape: NDArray[np.float32],
        gripper: GripperModel,
        least: float = LEAST_HEIGHT,
    ) -> None:
        self._model, self._gripper = gripper, _gripper_points(gripper)
        self._origin = shape[:, :2].mean(axis=0) - _RANGE
        self._cells = round(2.0 * _RANGE / _CELL)
        height = np.ascontiguousarray(points[:, 2])
        with np.errstate(invalid="ignore"):
            raised = (height > workspace.TABLE_Z + least) & (height < workspace.TABLE_Z + ROOM)
        points = points[np.flatnonzero(raised & ~left_out)]
        points = points[(np.abs(points[:, :2] - (self._origin + _RANGE)) < _RANGE).all(axis=1)]
        points = points[~_beside(points, shape)]
        heights = np.full((self._cells, self._cells), workspace.TABLE_Z - _MARGIN + _ABOVE_TABLE, dtype=np.float32)
        cells = self._lookup(points)
        many = among_many(cells, heights.shape, LEAST_POINTS)
        np.maximum.at(heights.reshape(-1), cells[many], points[many, 2])
        self._here = heights.ravel()
        self._near = ndimage.maximum_filter(heights, 3).ravel()
        self._far = ndimage.maximum_filter(heights, 7).ravel()

    def gripper_points(self, T_base_gripper: FloatArray, every: int = 1) -> NDArray[np.float32]:
        """Points (N, G, 3) of the open gripper and the wrist at poses (N, 4, 4), base frame [m]; every n-th one."""
        T = T_base_gripper.astype(np.float32)
        return self._gripper[::every] @ T[:, :3, :3].transpose(0, 2, 1) + T[:, None, :3, 3]

    def room(self, T_base_gripper: FloatArray, tilted: BoolArray) -> HandRoom:
        """How much room the open gripper has at poses, and on the way there.

        Args:
            T_base_gripper: (N, 4, 4) poses.
            tilted: (N,) poses that do not point straight down, whose approach is looked at too.
        """
        points = self.gripper_points(T_base_gripper)
        cells = self._lookup(points)
        low = points[:, :, 2] - np.float32(_MARGIN)
        into = np.mean(points[:, :, 2] < self._here[cells] - np.float32(_SLACK), axis=1)
        touching = np.mean(low < self._near[cells], axis=1)
        crowded = np.mean(low < self._far[cells], axis=1)
        # Straight down, the way in is free wherever its end is; tilted, the hand also moves sideways.
        slanted = np.flatnonzero(tilted & (into < MOST_INTO))
        for back in (APPROACH / 3.0, 2.0 * APPROACH / 3.0, APPROACH):
            moved = points[slanted] - np.float32(back) * T_base_gripper[slanted, None, :3, 2].astype(np.float32)
            cells = self._lookup(moved)
            within = np.mean(moved[:, :, 2] < self._here[cells] - np.float32(_SLACK), axis=1)
            beside = np.mean(moved[:, :, 2] - np.float32(_MARGIN) < self._near[cells], axis=1)
            into[slanted] = np.maximum(into[slanted], within)
            touching[slanted] = np.maximum(touching[slanted], beside)
        return HandRoom(into.astype(float), touching.astype(float), crowded.astype(float))

    def between(self, T_base_gripper: FloatArray) -> FloatArray:
        """Share (N,) of the space between the open fingers at poses (N, 4, 4) that is within what was seen [-]."""
        T = T_base_gripper.astype(np.float32)
        points = _between_points(self._model) @ T[:, :3, :3].transpose(0, 2, 1) + T[:, None, :3, 3]
        return np.mean(points[:, :, 2] < self._here[self._lookup(points)] - np.float32(_SLACK), axis=1).astype(float)

    def beneath(self, shape: NDArray[np.float32]) -> float:
        """Share of the strip about an object (P, 3) in which something is higher than the object beside it [-]."""
        own = np.full((self._cells, self._cells), -np.inf, np.float32)
        np.maximum.at(own.reshape(-1), self._lookup(shape), shape[:, 2])
        strip = ndimage.binary_dilation(own > -np.inf, iterations=_RING)
        beside = ndimage.maximum_filter(own, 2 * _RING + 1)
        return float(np.mean(self._here.reshape(own.shape)[strip] > beside[strip] + np.float32(_HIGHER)))

    def clear(self, T_base_gripper: FloatArray, tilted: BoolArray) -> tuple[BoolArray, FloatArray]:
        """Which poses the open gripper can take, and come to, without touching anything; arguments as of `room`.

        Returns:
            (clear (N,) bool, share (N,) of the gripper that also has ample room, in [0, 1]).
        """
        room = self.room(T_base_gripper, tilted)
        return room.touching == 0.0, 1.0 - room.crowded

    def _lookup(self, points: NDArray[np.float32]) -> NDArray[np.int32]:
        """Flat cell index (...) of points (..., 3); points off the grid get its edge."""
        index = np.zeros(points.shape[:-1], np.int32)
        for axis in (0, 1):
            cell = points[..., axis] - self._origin[axis]
            cell /= _CELL
            index *= np.int32(self._cells)
            index += np.clip(cell.astype(np.int32), 0, self._cells - 1)
        return index


def _beside(points: NDArray[np.float32], shape: NDArray[np.float32]) -> BoolArray:
    """True (N,) for points within about one cell of the object: its own rim, which the mask missed."""
    low = shape.min(axis=0) - 3.0 * _CELL
    size = np.ceil((shape.max(axis=0) - low) / _CELL).astype(int) + 3
    solid = np.zeros(size, dtype=bool)
    solid[tuple(((shape - low) / _CELL).astype(int).T)] = True
    solid = ndimage.binary_dilation(solid, structure=np.ones((3, 3, 3), dtype=bool))
    index = np.floor((points - low) / _CELL).astype(int)
    inside = ((index >= 0) & (index < size)).all(axis=1)
    beside = np.zeros(len(points), dtype=bool)
    beside[inside] = solid[tuple(index[inside].T)]
    return beside


def _grid(x: tuple[float, float], y: tuple[float, float], z: tuple[float, float], step: float) -> FloatArray:
    """Points (N, 3) that fill a box no more than a step apart."""
    axes = [np.linspace(low, high, int(np.ceil((high - low) / step)) + 1) for low, high in (x, y, z)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)


@cache
def _between_points(gripper: GripperModel) -> NDArray[np.float32]:
    """Points (N, 3) between the open fingers, from the upper edge of the pads to the tips, in the gripper frame."""
    half_open, across = gripper.max_opening / 2.0, gripper.finger_half_width
    top = gripper.pad_depth(gripper.max_opening) - gripper.pad_half_size[1]
    tip = gripper.fingertip_depth(gripper.max_opening)
    return _grid((-half_open, half_open), (-across, across), (top, tip), 2.0 * _CELL).astype(np.float32)


@cache
def _gripper_points(gripper: GripperModel) -> NDArray[np.float32]:
    """Points (N, 3) of the open gripper and the wrist in the gripper frame."""
    parts = []
    for box in gripper.volume.boxes:
        grid = _grid(box.x, box.y, box.z, box.step)
        parts += [grid, grid * np.array([-1.0, 1.0, 1.0])] if box.mirrored else [grid]
    angle = np.arange(12) * np.pi / 6.0
    circle = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(12)])
    parts += [circle * ring.radius + [0.0, 0.0, ring.z] for ring in gripper.volume.rings]
    points: NDArray[np.float32] = np.vstack(parts).astype(np.float32)
    points.setflags(write=False)
    return points
