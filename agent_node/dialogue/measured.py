"""Boxes about objects, read from the words of the box tool: sizes and distances along the table."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import numpy as np

from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import look_at
from toolhand.tool_nodes.types import FloatArray

_EXTENT = re.compile(r"Extent: \[([-\d., e]+)\]")
_CORNERS = re.compile(r"Corners 3D: (\[\[.*?\]\])")


@dataclass(frozen=True)
class SeenBox:
    """A box about an object that stands on something.

    Attributes:
        extent: (3,) longer side, shorter side, height [m].
        corners: (8, 3) in the camera frame [m], the bottom four first.
    """

    extent: FloatArray
    corners: FloatArray

    @property
    def told(self) -> str:
        """ "about 17 cm high, 11 cm long and 5 cm wide"."""
        long, wide, high = (f"{100 * side:.0f} cm" for side in self.extent)
        return f"about {high} high, {long} long and {wide} wide"

    @property
    def base(self) -> FloatArray:
        """(4, 3) corners of the bottom, one after the other around it, camera frame [m]."""
        return self.corners[:4]

    @property
    def _up(self) -> FloatArray:
        up: FloatArray = self.corners[4:].mean(axis=0) - self.base.mean(axis=0)
        return up / np.linalg.norm(up)

    @property
    def on_table(self) -> FloatArray:
        """(2,) where its middle is on the table, to the right and towards the camera [m], see `sides.table_points`.

        The camera is taken to stand as the workspace says.
        """
        T = look_at(workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET)
        middle = T[:3, :3] @ self.corners.mean(axis=0) + workspace.SCENE_CAMERA_POSITION
        towards = (workspace.SCENE_CAMERA_POSITION - workspace.SCENE_CAMERA_TARGET)[:2]
        return np.array([middle @ T[:3, 0], middle[:2] @ towards / np.linalg.norm(towards)])

    @property
    def from_camera_m(self) -> float:
        """How far its middle is from the camera, along the table [m]."""
        return self._level(self.base.mean(axis=0))

    def distance_m(self, other: SeenBox) -> float:
        """From middle to middle, along the table [m]."""
        return self._level(other.base.mean(axis=0) - self.base.mean(axis=0))

    def room_m(self, other: SeenBox) -> float:
        """Least distance between the outlines of two bases, along the table [m]; 0 where they meet."""
        first, second = (self._flat(box.base) for box in (self, other))
        axes = np.vstack([_normals(first), _normals(second)])
        spans = [(corners @ axes.T) for corners in (first, second)]
        gaps = np.maximum(spans[1].min(axis=0) - spans[0].max(axis=0), spans[0].min(axis=0) - spans[1].max(axis=0))
        if gaps.max() <= 0.0:
            return 0.0
        return min(_to_outline(first, second), _to_outline(second, first))

    def _level(self, v: FloatArray) -> float:
        return float(np.linalg.norm(v - (v @ self._up) * self._up))

    def _flat(self, points: FloatArray) -> FloatArray:
        """Points (N, 3) along this box's own bottom, (N, 2) [m]."""
        first = self.base[1] - self.base[0]
        first = first / np.linalg.norm(first)
        return np.asarray(points @ np.stack([first, np.cross(self._up, first)]).T)


def read_box(text: str) -> SeenBox | None:
    """The box of an answer of bounding_box.compute_bbox; None where it gives none."""
    extent, corners = _EXTENT.search(text), _CORNERS.search(text)
    if extent is None or corners is None:
        return None
    sides, points = (np.asarray(json.loads(each), float) for each in (f"[{extent[1]}]", corners[1]))
    return SeenBox(sides, points) if sides.shape == (3,) and points.shape == (8, 3) else None


def _normals(corners: FloatArray) -> FloatArray:
    edges = np.roll(corners, -1, axis=0) - corners
    edges = edges / np.maximum(np.linalg.norm(edges, axis=1, keepdims=True), 1e-9)
    return np.stack([edges[:, 1], -edges[:, 0]], axis=1)


def _to_outline(points: FloatArray, corners: FloatArray) -> float:
    """Least distance of points (N, 2) to the edges of a polygon (K, 2) [m]."""
    start, along = corners, np.roll(corners, -1, axis=0) - corners
    t = ((points[:, None] - start) * along).sum(axis=2) / np.maximum((along**2).sum(axis=1), 1e-12)
    nearest = start + np.clip(t, 0.0, 1.0)[..., None] * along
    return float(np.linalg.norm(points[:, None] - nearest, axis=2).min())
