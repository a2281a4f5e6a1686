"""Rays cast into a MuJoCo model: which pixel of a pinhole sees which geom, and how far away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import mujoco
import numpy as np
from numpy.typing import NDArray

from toolhand.sim.camera.shading import FloatImage, linear_light
from toolhand.tool_nodes import geometry
from toolhand.tool_nodes.types import FloatArray

PixelIndex = NDArray[np.intp]

MAX_DEPTH = 4.0
"""Objects farther away than this have no depth [m]."""

OPAQUE: Final = 0
"""Group of the geoms that hide what is behind them, of `RayWorld.cast`."""
TRANSPARENT: Final = 1
"""Group of the geoms that one sees through."""

_HIDDEN = 5
"""Group of the geoms that no ray meets; MuJoCo has groups 0 to 5."""
_OVERLAP_M = 1e-3
"""How far a label may stand off the solid that bears it [m]; what is seen farther out counts for itself."""
_DEFAULT_RGBA = np.array([0.5, 0.5, 0.5, 1.0])
"""MuJoCo's colour of a geom that was given none."""
_WOOD = np.array([0.80, 0.71, 0.60])
"""Colour of a surface that was given none, sRGB in [0, 1]; chosen to look at."""


@dataclass(frozen=True)
class Hits:
    """What n rays met: geom (n,), depth (n,) [m], unit normal (n, 3) in the base frame."""

    geom: NDArray[np.int32]
    depth: FloatImage
    normal: FloatImage


class RayView:
    """A pinhole with one ray per pixel, scaled so that the ray's length factor is the depth."""

    def __init__(self, K: FloatArray, size: tuple[int, int]) -> None:
        self.K, self.size = K, size
        self._rays_camera = geometry.backproject(np.ones(size[::-1], dtype=np.float32), K)

    def place(self, T_base_camera: FloatArray) -> None:
        """Move to T_base_camera (4, 4)."""
        self.T_base_camera = T_base_camera
        self.origin = T_base_camera[:3, 3]
        self.rays = self._rays_camera @ T_base_camera[:3, :3].T.astype(np.float32)

    def points(self, pixels: PixelIndex | slice, depth: FloatImage) -> FloatImage:
        """Base coordinates (n, 3) of pixels (n,) at a depth (n,) [m]."""
        return self.origin.astype(np.float32) + self.rays[pixels] * depth[:, None]

    def project(self, points: FloatImage) -> tuple[FloatImage, FloatImage]:
        """Pixel coordinates (n, 2) [px] and depths (n,) [m] of points (n, 3) in the base frame."""
        local = geometry.transform(geometry.invert(self.T_base_camera), points)
        depth = np.maximum(local[:, 2], np.float32(1e-3))
        scale = np.array([self.K[0, 0], self.K[1, 1]], dtype=np.float32)
        pixels = local[:, :2] / depth[:, None] * scale + self.K[:2, 2].astype(np.float32)
        return np.asarray(pixels, dtype=np.float32), depth

    def pixels_of(self, corners: FloatArray) -> PixelIndex:
        """Indices of the pixels inside the rectangles that cover boxes with corners (G, 8, 3) in the base frame."""
        width, height = self.size
        mask = np.zeros((height, width), dtype=bool)
        local = (corners - self.origin) @ self.T_base_camera[:3, :3]
        near = local[:, :, 2].min(axis=1) < 0.01
        behind = local[:, :, 2].max(axis=1) < 0.01
        uv = local[:, :, :2] / np.maximum(local[:, :, 2:], 0.01) * [self.K[0, 0], self.K[1, 1]] + self.K[:2, 2]
        low = np.where(near[:, None], 0, np.floor(uv.min(axis=1)).clip(0, (width, height))).astype(int)
        high = np.where(near[:, None], (width, height), np.ceil(uv.max(axis=1)).clip(-1, (width, height)) + 1).astype(
            int
        )
        for (u0, v0), (u1, v1) in zip(low[~behind], high[~behind], strict=True):
            mask[v0:v1, u0:u1] = True
        return np.flatnonzero(mask)


class RayWorld:
    """A private copy of model and state, so that looking never disturbs the physics.

    Large flat objects of the world body (table, floor, walls) are intersected by `surface_hits`;
    everything else is found by MuJoCo's ray casting, which costs the same for any number of geoms.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model.__copy__()
        self.data = mujoco.MjData(self.model)
        rgba = model.geom_rgba.copy()
        painted = (model.geom_matid >= 0) & np.all(model.geom_rgba == _DEFAULT_RGBA, axis=1)
        rgba[painted] = model.mat_rgba[model.geom_matid[painted]]
        visible = (rgba[:, 3] > 0.0) & (model.geom_group < 3)
        flat = np.isin(model.geom_type, (int(mujoco.mjtGeom.mjGEOM_PLANE), int(mujoco.mjtGeom.mjGEOM_BOX)))
        surface = (model.geom_bodyid == 0) & flat & (rgba[:, 3] >= 0.99)
        plain = surface & np.all(rgba == _DEFAULT_RGBA, axis=1)
        rgba[plain, :3] = _WOOD

        self.surfaces = np.flatnonzero(surface & visible)
        self.geoms = {
            OPAQUE: np.flatnonzero(visible & ~surface & (rgba[:, 3] >= 0.99)),
            TRANSPARENT: np.flatnonzero(visible & ~surface & (rgba[:, 3] < 0.99)),
        }
        self.model.geom_group[:] = _HIDDEN
        for group, geoms in self.geoms.items():
            self.model.geom_group[geoms] = group
        self._widen_bodies(np.concatenate([*self.geoms.values()]))
        self.rgba = np.column_stack([linear_light(rgba[:, :3]), rgba[:, 3]]).astype(np.float32)

    def _widen_bodies(self, visible: NDArray[np.intp]) -> None:
        """Let the box by which MuJoCo passes over a body hold what is seen of it: it holds only what touches."""
        model = self.model
        for body in np.unique(model.geom_bodyid[visible]):
            root = int(model.body_bvhadr[body])
            if root < 0:
                continue
            geoms = visible[model.geom_bodyid[visible] == body]
            R, R_inertia = (np.zeros((len(geoms), 9)), np.zeros(9))
            for row, geom in zip(R, geoms, strict=True):
                mujoco.mju_quat2Mat(row, model.geom_quat[geom])
            mujoco.mju_quat2Mat(R_inertia, model.body_iquat[body])
            boxes = model.geom_aabb[geoms, None, :3] + model.geom_aabb[geoms, None, 3:] * _CORNERS
            corners = boxes @ R.reshape(-1, 3, 3).transpose(0, 2, 1) + model.geom_pos[geoms, None]
            corners = ((corners - model.body_ipos[body]) @ R_inertia.reshape(3, 3)).reshape(-1, 3)
            centre, half = model.bvh_aabb[root, :3], model.bvh_aabb[root, 3:]
            low, high = np.minimum(corners.min(axis=0), centre - half), np.maximum(corners.max(axis=0), centre + half)
            if (high - low > 2 * (half + _OVERLAP_M)).any():
                model.bvh_aabb[root] = np.concatenate([(low + high) / 2, (high - low) / 2])

    def refresh(self, source: mujoco.MjData) -> None:
        """Take over the positions of another state."""
        self.data.qpos[:] = source.qpos
        self.data.mocap_pos[:] = source.mocap_pos
        self.data.mocap_quat[:] = source.mocap_quat
        mujoco.mj_kinematics(self.model, self.data)

    def cast(self, view: RayView, group: int, farther_than: FloatImage | None = None) -> tuple[PixelIndex, Hits]:
        """The pixels (n,) of a view that see a geom of a group nearer than `farther_than` (H*W,), and what they see."""
        geoms = self.geoms[group]
        centre, half = self.model.geom_aabb[geoms, None, :3], self.model.geom_aabb[geoms, None, 3:]
        rotation = self.data.geom_xmat[geoms].reshape(-1, 3, 3)
        corners = (centre + half * _CORNERS) @ rotation.transpose(0, 2, 1) + self.data.geom_xpos[geoms, None]
        pixels = view.pixels_of(corners)

        n = len(pixels)
        geom, depth, normal = np.full(n, -1, dtype=np.int32), np.zeros(n), np.zeros(3 * n)
        if n > 0:
            rays = view.rays[pixels].astype(float).ravel()
            groups = (np.arange(6) == group).astype(np.uint8)
            mujoco.mj_multiRay(
                self.model, self.data, view.origin, rays, groups, True, -1, geom, depth, normal, n, MAX_DEPTH
            )
        seen = geom >= 0
        if farther_than is not None:
            seen &= depth < farther_than[pixels]
        hits = Hits(geom[seen], depth[seen].astype(np.float32), normal.reshape(-1, 3)[seen].astype(np.float32))
        return pixels[seen], hits

    def surface_geometry(self) -> tuple[NDArray[Any], ...]:
        """All that `surface_hits` and the surfaces' colours depend on beside the view."""
        model, data, geoms = self.model, self.data, self.surfaces
        placed = data.geom_xpos[geoms], data.geom_xmat[geoms]
        return geoms, *placed, model.geom_type[geoms], model.geom_size[geoms], self.rgba[geoms]

    def surface_hits(self, view: RayView) -> Hits:
        """The first table, floor or wall that each pixel sees; geom -1 and infinite depth where there is none."""
        n = len(view.rays)
        hits = Hits(np.full(n, -1, np.int32), np.full(n, np.inf, np.float32), np.zeros((n, 3), np.float32))
        for geom in self.surfaces:
            rotation = self.data.geom_xmat[geom].reshape(3, 3)
            origin = (view.origin - self.data.geom_xpos[geom]) @ rotation
            rays = view.rays @ rotation.astype(np.float32)
            size = self.model.geom_size[geom]
            if self.model.geom_type[geom] == int(mujoco.mjtGeom.mjGEOM_PLANE):
                depth, axis = _plane_depth(origin, rays, size), np.full(n, 2)
            else:
                depth, axis = _box_depth(origin, rays, size)
            nearer = np.flatnonzero(depth < hits.depth)
            side = -np.sign(rays[nearer, axis[nearer]])
            hits.depth[nearer], hits.geom[nearer] = depth[nearer], geom
            hits.normal[nearer] = rotation.T.astype(np.float32)[axis[nearer]] * side[:, None]
        return hits


_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def _plane_depth(origin: FloatArray, rays: FloatImage, size: FloatArray) -> FloatImage:
    """Ray factors (n,) to the plane z = 0 within +-size (0 = endless), seen from above; inf beside it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = np.where(rays[:, 2] < 0.0, -np.float32(origin[2]) / rays[:, 2], np.float32(np.inf))
        for axis in (0, 1):
            if size[axis] > 0.0:
                depth[np.abs(origin[axis] + depth * rays[:, axis]) > size[axis]] = np.inf
    depth[depth <= 0.0] = np.inf
    return depth


def _box_depth(origin: FloatArray, rays: FloatImage, half: FloatArray) -> tuple[FloatImage, NDArray[np.int64]]:
    """Ray factors (n,) to a box of half extents (3,) about the origin and the axis of the face; inf beside it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.float32(1.0) / rays
        middle = -origin.astype(np.float32) * inverse
        reach = half.astype(np.float32) * np.abs(inverse)
        enter, leave = middle - reach, middle + reach
    along = rays == 0.0
    if along.any():  # such a ray is between two faces from end to end, or never
        within = np.where(np.abs(origin) <= half, np.float32(np.inf), np.float32(-np.inf))
        enter, leave = np.where(along, -within, enter), np.where(along, within, leave)
    axis = np.argmax(enter, axis=1)
    first = np.maximum(np.maximum(enter[:, 0], enter[:, 1]), enter[:, 2])  # a third of the time of max(axis=1)
    last = np.minimum(np.minimum(leave[:, 0], leave[:, 1]), leave[:, 2])
    return np.where((first > 0.0) & (first <= last), first, np.float32(np.inf)), axis
