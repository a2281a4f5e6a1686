"""Scenes: what stands on the table and where, generated from a seed or read from YAML."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast

import mujoco
import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.objects.primitives import UPRIGHT
from toolhand.sim.objects.sets import find_asset
from toolhand.tool_nodes import workspace
from toolhand.tool_nodes.geometry import matrix_from_quat_wxyz, pose, rotation_z
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

Side = Literal["left", "right", "front", "behind"]

SIDES: dict[Side, tuple[float, float]] = {
    "left": (0.0, -1.0),
    "right": (0.0, 1.0),
    "front": (1.0, 0.0),
    "behind": (-1.0, 0.0),
}
"""Directions (x, y) in the base frame as the scene camera, opposite the robot, sees them."""

FREE_RADIUS = 0.045
"""Radius of the disc of free table promised on each side of an object [m]."""

FREE_GAP = (0.015, 0.09)
"""Gap from the object's edge to that disc's edge [m]."""

FREE_CLEARANCE = 0.01
"""Least gap from that disc to everything else [m]."""

MIN_GAP = 0.05
"""Least edge-to-edge gap between generated objects, so that fingers fit [m]."""

TALL = 0.12
"""Objects above this height hide what is behind them from the scene camera [m]: it looks down, over lower ones."""
SHADOW = 0.12
"""Nothing taller than TALL stands within this on the camera's side of something lower, its shadow [m]."""

PAIR_DISTANCE = (0.10, 0.145)
"""Distance between the centres of two objects that stand as a group [m]."""

MAX_OBJECTS = 9
"""Objects of a generated scene: more seldom find room on the table with the promised gaps."""
_CONE = math.radians(44.0)
"""Half angle of the cone that is one side of an object [rad]: of the 45 degrees that keep four sides apart, less
one."""
TABLE_RGB = ((0.62, 0.58, 0.53), (0.50, 0.52, 0.55), (0.42, 0.40, 0.39))
"""Colours of table tops, sRGB in [0, 1]; chosen to look at."""

Vector3 = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
"""(w, x, y, z), of any length but zero."""


@dataclass(frozen=True)
class PlacedObject:
    """One object of a scene.

    Attributes:
        id: Unique in the scene, e.g. "coconut_water_1".
        item: Name that `find_asset` knows, e.g. "coconut water" or "fruits/mango".
        position_m: Body origin (centre of the bounding box) in the base frame [m].
        yaw: Rotation about the vertical, after `tilt_wxyz` [rad].
        tilt_wxyz: How it lies, before `yaw` turns it; it stands as its asset does where left out.
        grip: Factor of the friction of its kind, above 0. Where it is not 1, this friction holds against all that
            touches the object, the gripper's pads too, which else have their own.
        weight: Factor of the mass of its kind, above 0.
    """

    id: str
    item: str
    position_m: Vector3
    yaw: float
    grip: float = 1.0
    weight: float = 1.0
    tilt_wxyz: Quaternion = UPRIGHT

    @property
    def asset(self) -> ObjectAsset:
        """Its body and its words. Raises ToolError as `find_asset`."""
        return find_asset(self.item)

    @property
    def quat_wxyz(self) -> FloatArray:
        """(4,) whole rotation, base frame; as long as `tilt_wxyz`."""
        c, s = np.cos(self.yaw / 2), np.sin(self.yaw / 2)
        w, x, y, z = self.tilt_wxyz
        return np.array([c * w - s * z, c * x - s * y, c * y + s * x, c * z + s * w])

    @property
    def rotation(self) -> FloatArray:
        """(3, 3) whole rotation, base frame."""
        return rotation_z(self.yaw) if self.tilt_wxyz == UPRIGHT else matrix_from_quat_wxyz(self.quat_wxyz)

    @property
    def points(self) -> FloatArray:
        """(K, 3) points whose convex hull is that of the object, base frame [m]."""
        return self.asset.hull_points @ self.rotation.T + np.asarray(self.position_m)

    @property
    def heights(self) -> tuple[float, float]:
        """Heights of its lowest and of its highest point, base frame [m]."""
        z, half = self.position_m[2], self.asset.size_m[2] / 2
        if self.tilt_wxyz == UPRIGHT:
            return z - half, z + half
        heights = self.points[:, 2]
        return float(heights.min()), float(heights.max())

    def add_to(self, spec: mujoco.MjSpec, index: int) -> None:
        """Add a free body named by its id to a MuJoCo specification.

        Args:
            spec: The model under construction.
            index: Its number in the scene; its geoms are called `object{index}_{k}`.
        """
        body = spec.worldbody.add_body(
            name=self.id,
            pos=np.asarray(self.position_m, dtype=float),
            quat=self.quat_wxyz,
        )
        body.add_freejoint()
        self.asset.add_geoms(spec, body, f"object{index}", self.grip, self.weight)


@dataclass(frozen=True)
class Scene:
    """What stands on the table, and what varies around it.

    Attributes:
        objects: In the order of their index.
        light_position_m: Position of the lamp, base frame [m].
        camera_jitter_m: Added to the scene camera's nominal position [m].
        camera_jitter_rad: Small rotation vector of the scene camera [rad].
        table_rgb: 0..1.
    """

    seed: int
    objects: tuple[PlacedObject, ...]
    light_position_m: Vector3
    camera_jitter_m: Vector3
    camera_jitter_rad: Vector3
    table_rgb: Vector3
    name: str

    def displaced(self, T_base_camera: FloatArray) -> FloatArray:
        """A camera's nominal pose (4, 4) with the scene's displacement of it."""
        turn = Rotation.from_rotvec(self.camera_jitter_rad).as_matrix()
        return pose(T_base_camera[:3, :3] @ turn, T_base_camera[:3, 3] + self.camera_jitter_m)

    def find(self, object_id: str) -> PlacedObject:
        """The object with an id. Raises ToolError INVALID_ARGUMENT if there is none."""
        for placed in self.objects:
            if placed.id == object_id:
                return placed
        known = ", ".join(placed.id for placed in self.objects)
        raise invalid(f'There is no object "{object_id}" in the scene, there are {known}.')


# ---- Footprints: convex polygons (K, 2), counter-clockwise, in the base frame [m] ----


def footprint(placed: PlacedObject) -> FloatArray:
    """The object's outline seen from above, (K, 2) counter-clockwise [m]."""
    if placed.tilt_wxyz != UPRIGHT:
        return convex_outline(placed.points[:, :2])
    c, s = math.cos(placed.yaw), math.sin(placed.yaw)
    return placed.asset.outline @ np.array([[c, s], [-s, c]]) + np.asarray(placed.position_m[:2])


def convex_outline(points: FloatArray) -> FloatArray:
    """Convex hull of points (N, 2), counter-clockwise."""
    return points[ConvexHull(points).vertices]


def distances(points: FloatArray, polygon: FloatArray) -> FloatArray:
    """Distance (N,) from points (N, 2) to a convex polygon (K, 2), 0 inside it [m]."""
    edge = _edges(polygon)
    offset = points[:, None] - polygon
    along = np.einsum("nkd,kd->nk", offset, edge) / np.einsum("kd,kd->k", edge, edge)
    nearest = offset - np.clip(along, 0, 1)[..., None] * edge
    distance = np.sqrt(np.einsum("nkd,nkd->nk", nearest, nearest).min(axis=1))
    inside = (edge[:, 0] * offset[..., 1] - edge[:, 1] * offset[..., 0] >= 0).all(axis=1)
    return np.where(inside, 0.0, distance)


def gap(a: FloatArray, b: FloatArray) -> float:
    """Edge-to-edge gap between two convex polygons; 0 or less if they overlap [m]."""
    apart = max(separation(a, b), separation(b, a))
    if apart <= 0:
        return apart
    return float(min(distances(a, b).min(), distances(b, a).min()))


def separation(a: FloatArray, b: FloatArray) -> float:
    """The widest gap along an outward edge normal of a; overlapping polygons have none above 0."""
    edge = _edges(a)
    normal = np.stack([edge[:, 1], -edge[:, 0]], axis=1) / np.linalg.norm(edge, axis=1, keepdims=True)
    return float(((b @ normal.T).min(axis=0) - np.einsum("kd,kd->k", a, normal)).max())


def _edges(polygon: FloatArray) -> FloatArray:
    """Vectors (K, 2) from each corner of a polygon to the next; `np.roll` takes several times as long."""
    return np.concatenate((polygon[1:], polygon[:1])) - polygon


# ---- Free table beside an object ----


@cache
def reachable_grid(step: float) -> FloatArray:
    """Points (G, 2) of the table within reach."""
    x, y = (np.arange(low, high, step) for low, high in (workspace.TABLE_X, workspace.TABLE_Y))
    points = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    return points[workspace.reachable(points)]


def in_window(own: FloatArray) -> FloatArray:
    """Where a disc at these distances from an object's edge keeps the promised gap."""
    return cast(FloatArray, (own >= FREE_RADIUS + FREE_GAP[0]) & (own <= FREE_RADIUS + FREE_GAP[1]))


def in_cones(offset: FloatArray) -> FloatArray:
    """bool (4, N): which offsets (N, 2) lie within the cone of each side."""
    along = np.asarray(list(SIDES.values())) @ offset.T
    return cast(FloatArray, along >= math.cos(_CONE) * np.linalg.norm(offset, axis=1))


LONGEST_ID = 64
"""Longest id of an object [characters]: a line of a report holds it."""
_NUMBER = 5
"""Characters that the number at the end of an id may take, with its underscore [-]."""


def object_ids(items: Sequence[str]) -> list[str]:
    """One id per item, e.g. "red_box_1": counted from 1 per name, in order; of "fruits/mango" the name is "mango"."""
    seen: Counter[str] = Counter()
    ids = []
    for item in items:
        name = re.sub(r"\W", "_", item.partition("/")[2] or item)[: LONGEST_ID - _NUMBER]
        seen[name] += 1
        ids.append(f"{name}_{seen[name]}")
    return ids


def triple(values: FloatArray) -> Vector3:
    """A plain tuple of three numbers."""
    x, y, z = (float(v) for v in values)
    return x, y, z
