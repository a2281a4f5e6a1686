"""A depth camera that needs no graphics library: rays cast into the physics model, shaded with numpy.

The simulator's world frame is the base frame. Everything here is deterministic: the same state and
the same seed give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from tool_nodes import geometry, workspace
from tool_nodes.results import ErrorCode, ToolError
from tool_nodes.types import FloatArray, Frame

_Image = NDArray[np.float32]
_Index = NDArray[np.intp]

MAX_DEPTH = 4.0
"""Things farther away than this have no depth [m]."""

_OPAQUE, _TRANSPARENT, _HIDDEN = 0, 1, 5
_DEFAULT_RGBA = np.array([0.5, 0.5, 0.5, 1.0])
_WOOD = np.array([0.80, 0.71, 0.60])
_SKY = np.array([[0.80, 0.83, 0.87], [0.55, 0.59, 0.65]])

_LIGHT = np.array([0.80, -0.75, 1.90])
_LIGHT_SIZE = (360, 360)
_LIGHT_FOCAL_PX = 450.0
_LIGHT_REACH = 2.05
_AMBIENT, _SKYLIGHT, _DIRECT, _GLOSS = 0.30, 0.15, 0.58, 0.10


@dataclass(frozen=True)
class CameraModel:
    """A pinhole camera and where it stands.

    Attributes:
        K: (3, 3) intrinsics [px].
        size: (width, height) [px].
        T_base_camera: (4, 4) pose, OpenCV axes; in the frame of `body` where one is named.
        name: "scene" or "wrist".
        body: Name of the body that carries the camera; None stands still in the base frame.
    """

    K: FloatArray
    size: tuple[int, int]
    T_base_camera: FloatArray
    name: str = "scene"
    body: str | None = None


def scene_camera(size: tuple[int, int] = workspace.IMAGE_SIZE) -> CameraModel:
    """The fixed camera opposite the robot; a smaller size (width, height) keeps the field of view."""
    focal = workspace.SCENE_CAMERA_FOCAL_PX * size[0] / workspace.IMAGE_SIZE[0]
    T_base_camera = geometry.look_at(workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET)
    return CameraModel(geometry.intrinsics(focal, *size), size, T_base_camera)


def camera_pose(model: mujoco.MjModel, data: mujoco.MjData, camera: CameraModel) -> FloatArray:
    """T_base_camera (4, 4) now, with the body poses that `data` holds.

    Raises:
        ToolError: INVALID_ARGUMENT when the model lacks the body that carries the camera.
    """
    if camera.body is None:
        return camera.T_base_camera
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, camera.body)
    if body < 0:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"The {camera.name} camera sits on body '{camera.body}', which the model lacks."
        )
    return geometry.pose(data.xmat[body].reshape(3, 3), data.xpos[body]) @ camera.T_base_camera


def object_of_geom(model: mujoco.MjModel, body_index: Mapping[int, int]) -> NDArray[np.int32]:
    """Object index of every geom (ngeom + 1,): that of its root body, else -1; the last entry is "no geom"."""
    objects = np.full(model.ngeom + 1, -1, dtype=np.int32)
    for geom in range(model.ngeom):
        objects[geom] = body_index.get(int(model.body_rootid[model.geom_bodyid[geom]]), -1)
    return objects


class RayCamera:
    """Pictures of a MuJoCo model with depth, object ids, soft shadows and sensor noise.

    Opaque geoms (alpha >= 0.99) give colour, depth and ids; fainter ones only tint the colour, as
    clear plastic does to a stereo camera. Geoms of group 3 and up are not seen.

    Args:
        model: The physics model; appearance is read once, here.
        data: Its state, read at every capture and never written.
        camera: Calibration and pose.
        body_index: Object index of each object's root body id.
        depth_noise: k of the depth noise, sigma = k * z^2 [1/m].
        rgb_noise: Standard deviation of the colour noise [grey levels].
        seed: Seed of the noise; every capture draws from (seed, number of the capture).
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        camera: CameraModel,
        body_index: Mapping[int, int],
        *,
        depth_noise: float = 0.0005,
        rgb_noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        self._source = data
        self._camera = camera
        self._world = _World(model)
        self._objects = object_of_geom(model, body_index)
        self._view = _View(camera.K, camera.size)
        self._sun = _View(geometry.intrinsics(_LIGHT_FOCAL_PX, *_LIGHT_SIZE), _LIGHT_SIZE)
        self._sun.place(geometry.look_at(_LIGHT, workspace.SCENE_CAMERA_TARGET))
        self._noise = (depth_noise, rgb_noise)
        self._background: _Background | None = None
        self.reset(seed)
        camera_pose(model, data, camera)

    def reset(self, seed: int) -> None:
        """Forget the last picture and start the noise again from a seed."""
        self._seed = seed
        self._captures = 0
        self._last: tuple[bytes, Frame] | None = None

    def capture(self) -> Frame:
        """One picture; an unchanged state at the same time gives the same (read-only) frame."""
        source = self._source
        state = np.concatenate(
            [[source.time], source.qpos, source.mocap_pos.ravel(), source.mocap_quat.ravel()]
        ).tobytes()
        if self._last is None or self._last[0] != state:
            self._world.refresh(source)
            self._last = state, self._render()
            self._captures += 1
        return self._last[1]

    def _render(self) -> Frame:
        T_base_camera = camera_pose(self._world.model, self._world.data, self._camera)
        if self._background is None or not np.array_equal(self._background.T_base_camera, T_base_camera):
            self._view.place(T_base_camera)
            self._background = _Background(self._world, self._view, self._sun)
        shadows = _ShadowMap(self._world, self._sun)
        depth, geom, rgb = self._background.with_shadows(shadows)

        pixels, hits = self._world.cast(self._view, _OPAQUE, depth)
        depth[pixels], geom[pixels] = hits.depth, hits.geom
        rgb[pixels] = _encode(self._shade(pixels, hits, shadows))

        pixels, hits = self._world.cast(self._view, _TRANSPARENT, depth)
        alpha = self._world.rgba[hits.geom, 3:]
        rgb[pixels] = _encode(alpha * self._shade(pixels, hits, shadows) + (1.0 - alpha) * _decode(rgb[pixels]))

        width, height = self._camera.size
        picture = _smooth_edges(rgb.reshape(height, width, 3), geom.reshape(height, width))
        frame = Frame(
            *self._add_noise(picture, depth.reshape(height, width)),
            K=self._camera.K,
            T_base_camera=T_base_camera,
            stamp=float(self._source.time),
            camera=self._camera.name,
            ids=self._objects[geom].reshape(height, width),
        )
        for array in (frame.rgb, frame.depth, frame.ids):
            if array is not None:
                array.setflags(write=False)
        return frame

    def _shade(self, pixels: _Index, hits: _Hits, shadows: _ShadowMap) -> _Image:
        points = self._view.points(pixels, hits.depth)
        eye = _unit((self._view.origin - points).astype(np.float32))
        lit, diffuse, gloss = _light(points, hits.normal, eye)
        visible = shadows.visibility(*self._sun.project(points + 0.003 * hits.normal))[:, None]
        return self._world.rgba[hits.geom, :3] * (lit + diffuse * visible) + gloss * visible

    def _add_noise(self, rgb: NDArray[np.uint8], depth: _Image) -> tuple[NDArray[np.uint8], _Image]:
        rng = np.random.default_rng((self._seed, self._captures))
        sigma_depth, sigma_rgb = self._noise
        depth = np.where(depth < MAX_DEPTH, depth, np.float32(np.nan))
        if sigma_depth > 0.0:
            depth += np.float32(sigma_depth) * depth**2 * rng.standard_normal(depth.shape, dtype=np.float32)
        if sigma_rgb > 0.0:
            noisy = rgb + np.float32(sigma_rgb) * rng.standard_normal(rgb.shape, dtype=np.float32)
            rgb = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
        return rgb, depth


@dataclass(frozen=True)
class _Hits:
    """What n rays met: geom (n,), depth (n,) [m], unit normal (n, 3) in the base frame."""

    geom: NDArray[np.int32]
    depth: _Image
    normal: _Image


class _View:
    """A pinhole with one ray per pixel, scaled so that the ray's length factor is the depth."""

    def __init__(self, K: FloatArray, size: tuple[int, int]) -> None:
        self.K, self.size = K, size
        self._rays_camera = geometry.backproject(np.ones(size[::-1], dtype=np.float32), K)

    def place(self, T_base_camera: FloatArray) -> None:
        """Move to T_base_camera (4, 4)."""
        self.T_base_camera = T_base_camera
        self.origin = T_base_camera[:3, 3]
        self.rays = self._rays_camera @ T_base_camera[:3, :3].T.astype(np.float32)

    def points(self, pixels: _Index | slice, depth: _Image) -> _Image:
        """Base coordinates (n, 3) of pixels (n,) at a depth (n,) [m]."""
        return self.origin.astype(np.float32) + self.rays[pixels] * depth[:, None]

    def project(self, points: _Image) -> tuple[_Image, _Image]:
        """Pixel coordinates (n, 2) [px] and depths (n,) [m] of points (n, 3) in the base frame."""
        local = geometry.transform(geometry.invert(self.T_base_camera), points)
        depth = np.maximum(local[:, 2], np.float32(1e-3))
        scale = np.array([self.K[0, 0], self.K[1, 1]], dtype=np.float32)
        return local[:, :2] / depth[:, None] * scale + self.K[:2, 2].astype(np.float32), depth

    def pixels_of(self, corners: FloatArray) -> _Index:
        """Indices of the pixels inside the rectangles that cover boxes with corners (G, 8, 3) in the base frame."""
        width, height = self.size
        mask = np.zeros((height, width), dtype=bool)
        local = (corners - self.origin) @ self.T_base_camera[:3, :3]
        near = local[:, :, 2].min(axis=1) < 0.01
        behind = local[:, :, 2].max(axis=1) < 0.01
        uv = local[:, :, :2] / np.maximum(local[:, :, 2:], 0.01) * [self.K[0, 0], self.K[1, 1]] + self.K[:2, 2]
        low = np.where(near[:, None], 0, np.floor(uv.min(axis=1)).clip(0, (width, height))).astype(int)
        high = np.where(near[:, None], (width, height), np.ceil(uv.max(axis=1)).clip(-1, (width, height)) + 1).astype(int)
        for (u0, v0), (u1, v1) in zip(low[~behind], high[~behind], strict=True):
            mask[v0:v1, u0:u1] = True
        return np.flatnonzero(mask)


class _World:
    """A private copy of model and state, so that looking never disturbs the physics.

    Large flat things of the world body (table, floor, walls) are intersected by `surface_hits`;
    everything else is found by MuJoCo's ray casting, which costs the same for any number of geoms.
    """

    def __init__(self, model: mujoco.MjModel) -> None:
        self.model = model.__copy__()
        self.data = mujoco.MjData(self.model)
        rgba = model.geom_rgba.copy()
        painted = (model.geom_matid >= 0) & np.all(model.geom_rgba == _DEFAULT_RGBA, axis=1)
        rgba[painted] = model.mat_rgba[model.geom_matid[painted]]
        visible = (rgba[:, 3] > 0.0) & (model.geom_group < 3)
        flat = np.isin(model.geom_type, (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_BOX))
        surface = (model.geom_bodyid == 0) & flat & (rgba[:, 3] >= 0.99)
        plain = surface & np.all(rgba == _DEFAULT_RGBA, axis=1)
        rgba[plain, :3] = _WOOD

        self.surfaces = np.flatnonzero(surface & visible)
        self.geoms = {
            _OPAQUE: np.flatnonzero(visible & ~surface & (rgba[:, 3] >= 0.99)),
            _TRANSPARENT: np.flatnonzero(visible & ~surface & (rgba[:, 3] < 0.99)),
        }
        self.model.geom_group[:] = _HIDDEN
        for group, geoms in self.geoms.items():
            self.model.geom_group[geoms] = group
        self.rgba = np.column_stack([_linear(rgba[:, :3]), rgba[:, 3]]).astype(np.float32)

    def refresh(self, source: mujoco.MjData) -> None:
        """Take over the positions of another state."""
        self.data.qpos[:] = source.qpos
        self.data.mocap_pos[:] = source.mocap_pos
        self.data.mocap_quat[:] = source.mocap_quat
        mujoco.mj_kinematics(self.model, self.data)

    def cast(self, view: _View, group: int, farther_than: _Image | None = None) -> tuple[_Index, _Hits]:
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
        hits = _Hits(geom[seen], depth[seen].astype(np.float32), normal.reshape(-1, 3)[seen].astype(np.float32))
        return pixels[seen], hits

    def surface_hits(self, view: _View) -> _Hits:
        """The first table, floor or wall that each pixel sees; geom -1 and infinite depth where there is none."""
        n = len(view.rays)
        hits = _Hits(np.full(n, -1, np.int32), np.full(n, np.inf, np.float32), np.zeros((n, 3), np.float32))
        for geom in self.surfaces:
            rotation = self.data.geom_xmat[geom].reshape(3, 3)
            origin = (view.origin - self.data.geom_xpos[geom]) @ rotation
            rays = view.rays @ rotation.astype(np.float32)
            size = self.model.geom_size[geom]
            if self.model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
                depth, axis = _plane_depth(origin, rays, size), np.full(n, 2)
            else:
                depth, axis = _box_depth(origin, rays, size)
            nearer = np.flatnonzero(depth < hits.depth)
            side = -np.sign(rays[nearer, axis[nearer]])
            hits.depth[nearer], hits.geom[nearer] = depth[nearer], geom
            hits.normal[nearer] = rotation.T.astype(np.float32)[axis[nearer]] * side[:, None]
        return hits


_CORNERS = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def _plane_depth(origin: FloatArray, rays: _Image, size: FloatArray) -> _Image:
    """Ray factors (n,) to the plane z = 0 within +-size (0 = endless), seen from above; inf beside it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = np.where(rays[:, 2] < 0.0, -np.float32(origin[2]) / rays[:, 2], np.float32(np.inf))
        for axis in (0, 1):
            if size[axis] > 0.0:
                depth[np.abs(origin[axis] + depth * rays[:, axis]) > size[axis]] = np.inf
    depth[depth <= 0.0] = np.inf
    return depth


def _box_depth(origin: FloatArray, rays: _Image, half: FloatArray) -> tuple[_Image, NDArray[np.int64]]:
    """Ray factors (n,) to a box of half extents (3,) about the origin and the axis of the face; inf beside it."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.float32(1.0) / rays
        middle = -origin.astype(np.float32) * inverse
        reach = half.astype(np.float32) * np.abs(inverse)
    enter = middle - reach
    axis = np.argmax(enter, axis=1)
    first, last = enter.max(axis=1), (middle + reach).min(axis=1)
    return np.where((first > 0.0) & (first <= last), first, np.float32(np.inf)), axis


class _Background:
    """The part of a picture that never moves: sky, floor and table, shaded with and without the light."""

    def __init__(self, world: _World, view: _View, sun: _View) -> None:
        self.T_base_camera = view.T_base_camera.copy()
        hits = world.surface_hits(view)
        self._depth, self._geom = hits.depth, hits.geom
        self._seen = np.flatnonzero(hits.geom >= 0)
        points = view.points(self._seen, hits.depth[self._seen])
        normal = hits.normal[self._seen]
        albedo = world.rgba[hits.geom[self._seen], :3] * _grain(points)[:, None]
        lit, diffuse, _ = _light(points, normal, np.zeros_like(points))
        self._dark, self._direct = albedo * lit, albedo * diffuse
        self._light_px, self._light_depth = sun.project(points)

        width, height = view.size
        sky = np.linspace(_linear(_SKY[0]), _linear(_SKY[1]), height, dtype=np.float32)
        self._rgb = _encode(np.repeat(sky, width, axis=0))
        self._rgb[self._seen] = _encode(self._dark + self._direct)

    def with_shadows(self, shadows: _ShadowMap) -> tuple[_Image, NDArray[np.int32], NDArray[np.uint8]]:
        """Fresh (depth (n,), geom (n,), rgb (n, 3)), darkened where something stands in the light."""
        rgb = self._rgb.copy()
        visible = shadows.visibility(self._light_px, self._light_depth)
        shaded = np.flatnonzero(visible < 1.0)
        rgb[self._seen[shaded]] = _encode(self._dark[shaded] + visible[shaded, None] * self._direct[shaded])
        return self._depth.copy(), self._geom.copy(), rgb


class _ShadowMap:
    """What the light sees: depth (h, w) [m] of the first opaque geom, infinite where light falls through."""

    def __init__(self, world: _World, sun: _View) -> None:
        width, height = sun.size
        depth = np.full(width * height, np.inf, dtype=np.float32)
        pixels, hits = world.cast(sun, _OPAQUE)
        depth[pixels] = hits.depth
        self._depth = depth
        self._near_occluder = ndimage.maximum_filter(np.isfinite(depth).reshape(height, width), 3).ravel()
        self._size = sun.size

    def visibility(self, light_px: _Image, light_depth: _Image) -> _Image:
        """Share (n,) of the light that reaches points at pixels (n, 2) and depths (n,) of the light's view.

        The edge of a shadow is smoothed over three pixels of the light's view.
        """
        width, height = self._size
        nearest = np.rint(light_px).astype(np.int32)
        inside = (nearest[:, 0] > 0) & (nearest[:, 0] < width - 1) & (nearest[:, 1] > 0) & (nearest[:, 1] < height - 1)
        flat = np.where(inside, nearest[:, 1] * width + nearest[:, 0], 0)
        chosen = np.flatnonzero(self._near_occluder[flat] & inside)
        flat, limit = flat[chosen], light_depth[chosen] - np.float32(0.003)
        offset = light_px[chosen] - nearest[chosen]
        weights = 0.5 * (0.5 - offset) ** 2, 0.75 - offset**2, 0.5 * (0.5 + offset) ** 2
        share = np.zeros(len(chosen), dtype=np.float32)
        for dv, row in enumerate(weights):
            for du, column in enumerate(weights):
                lit = self._depth[flat + (dv - 1) * width + du - 1] > limit
                share += row[:, 1] * column[:, 0] * lit
        visible = np.ones(len(light_px), dtype=np.float32)
        visible[chosen] = share
        return visible


def _light(points: _Image, normal: _Image, eye: _Image) -> tuple[_Image, _Image, _Image]:
    """(ambient, diffuse, gloss) factors (n, 1) for points, normals and directions to the eye (n, 3)."""
    to_light = _LIGHT.astype(np.float32) - points
    distance_sq = np.einsum("ij,ij->i", to_light, to_light)
    to_light /= np.sqrt(distance_sq)[:, None]
    falloff = np.float32(_LIGHT_REACH**2) / distance_sq
    cosine = np.maximum(np.einsum("ij,ij->i", normal, to_light), 0.0)
    halfway = np.maximum(np.einsum("ij,ij->i", normal, _unit(to_light + eye)), 0.0)
    ambient = _AMBIENT + _SKYLIGHT * (0.5 + 0.5 * normal[:, 2])
    gloss = np.float32(_GLOSS) * (cosine > 0.0) * halfway**32
    return ambient[:, None], (_DIRECT * cosine * falloff)[:, None], gloss[:, None]


def _unit(vectors: _Image) -> _Image:
    return vectors / np.maximum(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), np.float32(1e-9))[:, None]


def _linear(srgb: FloatArray) -> FloatArray:
    return srgb**2.2


_DECODE = _linear(np.arange(256) / 255.0).astype(np.float32)
_ENCODE = np.rint(255.0 * (np.arange(4096) / 4095.0) ** (1.0 / 2.2)).astype(np.uint8)


def _decode(rgb: NDArray[np.uint8]) -> _Image:
    return _DECODE[rgb]


def _encode(linear: _Image) -> NDArray[np.uint8]:
    """Linear light (n, 3) to sRGB-like uint8 (n, 3)."""
    return _ENCODE[(np.clip(linear, 0.0, 1.0) * np.float32(4095.0) + np.float32(0.5)).astype(np.int16)]


@lru_cache(maxsize=1)
def _wood() -> _Image:
    """Faint wood grain (512, 512) about 1; it repeats every 512 cells without a seam."""
    rng = np.random.default_rng(7)
    coarse = ndimage.gaussian_filter(rng.standard_normal((512, 512)), (60.0, 6.0), mode="wrap")
    fine = ndimage.gaussian_filter(rng.standard_normal((512, 512)), (25.0, 0.8), mode="wrap")
    grain = 0.6 * coarse / coarse.std() + 0.4 * fine / fine.std()
    return (1.0 + 0.045 * np.clip(grain, -2.5, 2.5)).astype(np.float32)


def _grain(points: _Image) -> _Image:
    """Brightness (n,) of the grain at points (n, 3), 2 mm per cell."""
    cell = (points[:, :2] * np.float32(500.0)).astype(np.int32) % 512
    return _wood()[cell[:, 1], cell[:, 0]]


def _smooth_edges(rgb: NDArray[np.uint8], geom: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Blends each pixel on the outline of a geom with its neighbours, which hides the stairs."""
    height, width = geom.shape
    outline = np.zeros((height, width), dtype=bool)
    outline[:, :-1] = geom[:, :-1] != geom[:, 1:]
    outline[:, 1:] |= outline[:, :-1]
    rows = geom[:-1] != geom[1:]
    outline[:-1] |= rows
    outline[1:] |= rows
    outline[[0, -1]] = outline[:, [0, -1]] = False
    pixels = np.flatnonzero(outline)
    flat = rgb.reshape(-1, 3)
    blend = np.zeros((len(pixels), 3), dtype=np.uint16)
    for dv, dv_weight in ((-width, 1), (0, 2), (width, 1)):
        for du, du_weight in ((-1, 1), (0, 2), (1, 1)):
            blend += np.uint16(dv_weight * du_weight) * flat[pixels + dv + du]
    smooth = flat.copy()
    smooth[pixels] = (blend + 8) // 16
    return smooth.reshape(height, width, 3)
