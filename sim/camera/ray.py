"""Cameras of the simulated world, and the one that needs no graphics library.

The simulator's world frame is the base frame. Everything here is deterministic: the same state and
the same seed give the same bytes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import ndimage

from toolhand.sim.camera.ray_casting import OPAQUE, TRANSPARENT, Hits, PixelIndex, RayView, RayWorld
from toolhand.sim.camera.sensor import STEREO, SensorModel, View, calibrated, measured, unit_of
from toolhand.sim.camera.shading import (
    FloatImage,
    Lamp,
    decode_rgb,
    encode_rgb,
    linear_light,
    smooth_edges,
    unit,
    wood_grain,
)
from toolhand.sim.scene.scenes import Scene
from toolhand.tool_nodes import geometry, registry, workspace
from toolhand.tool_nodes.motion.robot_model import RobotModel
from toolhand.tool_nodes.ports import Camera
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid
from toolhand.tool_nodes.types import BoolArray, FloatArray, Frame

LAMP_POSITION = np.array([0.80, -0.75, 1.90])
"""Where the light comes from unless a scene says otherwise, in the base frame [m]."""

_SKY = np.array([[0.80, 0.83, 0.87], [0.55, 0.59, 0.65]])
"""Background at the top and at the bottom of the image, sRGB in [0, 1]; chosen to look at."""
_LAMP_SIZE = (360, 360)
"""Pixels of the lamp's view, with which shadows are cast."""
_LAMP_RADIUS = 0.83
"""The lamp's view covers this radius about the camera's target [m]; chosen to hold the whole table."""


WRIST_FOVY = np.radians(41.83792730009236)
"""Vertical field of view of the wrist camera [rad]."""

OVERVIEW_POSITION = np.array([1.15, -1.05, 0.85])
"""Where the spectator's camera of reports stands, base frame [m]; chosen to look at."""
OVERVIEW_TARGET = np.array([0.28, 0.0, 0.27])
"""What it looks at, base frame [m]."""


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


def jittered(camera: CameraModel, scene: Scene) -> CameraModel:
    """The camera displaced by the scene's jitter; its calibration knows where it stands."""
    return replace(camera, T_base_camera=scene.displaced(camera.T_base_camera))


def wrist_camera(robot: RobotModel, size: tuple[int, int] = workspace.IMAGE_SIZE) -> CameraModel:
    """The colour camera beside the gripper, a Gen3's; its frame has OpenCV axes and moves with the arm."""
    focal = size[1] / (2.0 * np.tan(WRIST_FOVY / 2.0))
    return CameraModel(geometry.intrinsics(focal, *size), size, np.eye(4), "wrist", body=robot.wrist_camera_frame)


def overview_camera(size: tuple[int, int]) -> CameraModel:
    """A spectator's view of arm and table from the side, for reports; no tool sees it."""
    T_base_camera = geometry.look_at(OVERVIEW_POSITION, OVERVIEW_TARGET)
    return CameraModel(geometry.intrinsics(0.98 * size[0], *size), size, T_base_camera, "overview")


def camera_pose(model: mujoco.MjModel, data: mujoco.MjData, camera: CameraModel) -> FloatArray:
    """T_base_camera (4, 4) now, with the body poses that `data` holds.

    Raises:
        ToolError: INVALID_ARGUMENT when the model lacks the body that carries the camera.
    """
    if camera.body is None:
        return camera.T_base_camera
    body = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, camera.body)
    if body < 0:
        raise invalid(f"The {camera.name} camera sits on body '{camera.body}', which the model lacks.")
    return geometry.pose(data.xmat[body].reshape(3, 3), data.xpos[body]) @ camera.T_base_camera


def object_of_geom(model: mujoco.MjModel, body_index: Mapping[int, int]) -> NDArray[np.int32]:
    """Object index of every geom (ngeom + 1,): that of its root body, else -1; the last entry is "no geom"."""
    objects = np.full(model.ngeom + 1, -1, dtype=np.int32)
    for geom in range(model.ngeom):
        objects[geom] = body_index.get(int(model.body_rootid[model.geom_bodyid[geom]]), -1)
    return objects


@dataclass(frozen=True)
class CameraState:
    """What the next images of a camera depend on, beside the physics.

    Attributes:
        seed: Seed of the sensor noise.
        images: How many it has taken.
        last: The state that it took the newest one of, and the image; pickled, the image is left out.
    """

    seed: int
    images: int
    last: tuple[bytes, Frame | None] | None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"last": self.last and (self.last[0], None)}


class StampedCamera:
    """Takes one image per state of the simulation; subclasses say how with `_prepare` and `_render`.

    A `_render` that knows where something transparent is sets `_clear` (H, W), for sensors that are blind there.

    Args:
        model: The physics model; appearance is read once, here.
        data: Its state, read at every capture and never written.
        camera: Calibration and pose.
        body_index: Object index of each object's root body id.
        sensor: Sensor model applied to every image.
        seed: Seed of the sensor; every image draws from (seed, number of the image).
        lamp_position: (3,) where the light comes from, in the base frame [m].

    Raises:
        ToolError: INVALID_ARGUMENT when the model lacks the body that carries the camera.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        camera: CameraModel,
        body_index: Mapping[int, int],
        *,
        sensor: SensorModel = STEREO,
        seed: int = 0,
        lamp_position: ArrayLike = LAMP_POSITION,
    ) -> None:
        self._source = data
        self._camera = camera
        self._sensor = sensor
        self._clear: BoolArray | None = None
        self.reset(seed)
        camera_pose(model, data, camera)
        self._objects = object_of_geom(model, body_index)
        self._prepare(model, np.asarray(lamp_position, dtype=float))

    def reset(self, seed: int) -> None:
        """Forget the last image and start the noise again from a seed."""
        self._seed = seed
        self._unit = unit_of(self._sensor, seed, self._camera.name)
        self._images = 0
        self._last: tuple[bytes, Frame] | None = None

    def capture(self) -> Frame:
        """One image; an unchanged state at the same time gives the same (read-only) frame."""
        state = self._state()
        if self._last is None or self._last[0] != state:
            rgb, depth, ids, T_base_camera = self._render()
            rng = np.random.default_rng((self._seed, self._images))
            rgb, depth = measured(self._unit, rgb, depth, rng, View(self._camera.K, self._clear))
            K, T_base_camera = calibrated(self._unit, self._camera.K, T_base_camera)
            for array in (rgb, depth, ids):
                array.setflags(write=False)
            stamp = float(self._source.time)
            frame = Frame(rgb, depth, K, geometry.carried(T_base_camera), stamp, self._camera.name, ids)
            self._last = state, frame
            self._images += 1
        return self._last[1]

    def save(self) -> CameraState:
        """What the next images depend on, for `restore`."""
        return CameraState(self._seed, self._images, self._last)

    def restore(self, state: CameraState) -> None:
        """Go on as when the state was saved; the physics is there already."""
        self.reset(state.seed)
        self._images = state.images
        if state.last is None:
            return
        seen, frame = state.last
        if frame is not None:
            self._last = seen, frame
        elif seen == self._state():
            self._images -= 1  # the image of this moment was left out: it will be taken again, with its noise

    def _state(self) -> bytes:
        """What makes one image another than the one before."""
        source = self._source
        return np.concatenate(
            [[source.time], source.qpos, source.mocap_pos.ravel(), source.mocap_quat.ravel()]
        ).tobytes()

    def _prepare(self, model: mujoco.MjModel, lamp_position: FloatArray) -> None:
        """Read what does not change of the model, lit from lamp_position (3,) [m]."""
        raise NotImplementedError

    def _render(self) -> tuple[NDArray[np.uint8], FloatImage, NDArray[np.int32], FloatArray]:
        """Ideal rgb (H, W, 3), depth (H, W), object ids (H, W) and T_base_camera."""
        raise NotImplementedError


class RayCamera(StampedCamera):
    """Images of a MuJoCo model with depth, object ids, soft shadows and sensor noise.

    Opaque geoms (alpha >= 0.99) give colour, depth and ids; fainter ones only tint the colour, as
    clear plastic does to a stereo camera. Geoms of group 3 and up are not seen.
    """

    def _prepare(self, model: mujoco.MjModel, lamp_position: FloatArray) -> None:
        self._world = RayWorld(model)
        self._view = RayView(self._camera.K, self._camera.size)
        self._lamp = Lamp(lamp_position)
        self._lamp_view = _view_of_lamp(self._lamp)
        self._background: _Background | None = None

    def _render(self) -> tuple[NDArray[np.uint8], FloatImage, NDArray[np.int32], FloatArray]:
        self._world.refresh(self._source)
        T_base_camera = camera_pose(self._world.model, self._world.data, self._camera)
        if self._background is None or not np.array_equal(self._background.T_base_camera, T_base_camera):
            self._view.place(T_base_camera)
            make = _Background if self._background else _kept_background
            self._background = make(self._world, self._view, self._lamp, self._lamp_view)
        shadows = _ShadowMap(self._world, self._lamp_view)
        depth, geom, rgb = self._background.with_shadows(shadows)

        pixels, hits = self._world.cast(self._view, OPAQUE, depth)
        depth[pixels], geom[pixels] = hits.depth, hits.geom
        rgb[pixels] = encode_rgb(self._shade(pixels, hits, shadows))

        pixels, hits = self._world.cast(self._view, TRANSPARENT, depth)
        alpha = self._world.rgba[hits.geom, 3:]
        rgb[pixels] = encode_rgb(alpha * self._shade(pixels, hits, shadows) + (1.0 - alpha) * decode_rgb(rgb[pixels]))

        shape = self._camera.size[::-1]
        self._clear = np.zeros(shape, dtype=bool)
        self._clear.ravel()[pixels] = True
        image = smooth_edges(rgb.reshape(*shape, 3), geom.reshape(shape))
        return image, depth.reshape(shape), self._objects[geom].reshape(shape), T_base_camera

    def _shade(self, pixels: PixelIndex, hits: Hits, shadows: _ShadowMap) -> FloatImage:
        points = self._view.points(pixels, hits.depth)
        eye = unit((self._view.origin - points).astype(np.float32))
        ambient, diffuse, gloss = self._lamp.factors(points, hits.normal, eye)
        visible = shadows.visibility(*self._lamp_view.project(points + 0.003 * hits.normal))[:, None]
        return self._world.rgba[hits.geom, :3] * (ambient + diffuse * visible) + gloss * visible


AUTO = "auto"
"""OpenGL where a graphics processor draws it, else rays, which are faster than OpenGL on the CPU."""


def make_camera(
    renderer: str,
    model: mujoco.MjModel,
    data: mujoco.MjData,
    camera: CameraModel,
    body_index: Mapping[int, int],
    **options: Any,
) -> Camera:
    """A camera of the simulated world, drawn by a renderer.

    Args:
        renderer: A name of the entry points `toolhand.renderer`, such as "ray" (no graphics library) and "gl" (OpenGL);
            or "auto": OpenGL where a graphics processor draws it, else rays. Images of the two differ a little, so
            that another machine may see another image; for the same bytes everywhere ask for "ray".
        camera: Calibration and pose.
        body_index: Object index of each object's root body id.
        options: `sensor`, `seed`, `lamp_position`, as `RayCamera` has them.

    Returns:
        What is called with all of these.

    Raises:
        ToolError: INVALID_ARGUMENT for another name, UNAVAILABLE for "gl" without a graphics library.
    """
    if renderer == AUTO:
        renderer = "gl" if _gl_is_faster() else "ray"
    made: Camera = registry.load("renderer", renderer)(model, data, camera, body_index, **options)
    return made


def _gl_is_faster() -> bool:
    try:
        return bool(registry.load("renderer", "gl").accelerated())
    except ToolError as error:
        if error.code is not ErrorCode.UNAVAILABLE:
            raise
        return False


def _view_of_lamp(lamp: Lamp) -> RayView:
    """A pinhole at the lamp that sees the whole table."""
    T_base_lamp = geometry.look_at(lamp.position, workspace.SCENE_CAMERA_TARGET)
    distance = float(np.linalg.norm(lamp.position - workspace.SCENE_CAMERA_TARGET))
    view = RayView(geometry.intrinsics(0.5 * _LAMP_SIZE[0] * distance / _LAMP_RADIUS, *_LAMP_SIZE), _LAMP_SIZE)
    view.place(T_base_lamp)
    return view


class _Background:
    """The part of an image that never moves: sky, floor and table, shaded with and without the light."""

    def __init__(self, world: RayWorld, view: RayView, lamp: Lamp, lamp_view: RayView) -> None:
        self.T_base_camera = view.T_base_camera.copy()
        hits = world.surface_hits(view)
        self._depth, self._geom = hits.depth, hits.geom
        self._seen = np.flatnonzero(hits.geom >= 0)
        points = view.points(self._seen, hits.depth[self._seen])
        normal = hits.normal[self._seen]
        albedo = world.rgba[hits.geom[self._seen], :3] * wood_grain(points)[:, None]
        ambient, diffuse, _ = lamp.factors(points, normal, np.zeros_like(points))
        self._dark, self._direct = albedo * ambient, albedo * diffuse
        self._lamp_px, self._lamp_depth = lamp_view.project(points)

        width, height = view.size
        top, bottom = linear_light(_SKY)
        sky = np.linspace(top, bottom, height).astype(np.float32)
        self._rgb = encode_rgb(np.repeat(sky, width, axis=0))
        self._rgb[self._seen] = encode_rgb(self._dark + self._direct)

    def with_shadows(self, shadows: _ShadowMap) -> tuple[FloatImage, NDArray[np.int32], NDArray[np.uint8]]:
        """Fresh (depth (n,), geom (n,), rgb (n, 3)), darkened where something stands in the light."""
        rgb = self._rgb.copy()
        visible = shadows.visibility(self._lamp_px, self._lamp_depth)
        shaded = np.flatnonzero(visible < 1.0)
        rgb[self._seen[shaded]] = encode_rgb(self._dark[shaded] + visible[shaded, None] * self._direct[shaded])
        return self._depth.copy(), self._geom.copy(), rgb


_BACKGROUNDS: OrderedDict[bytes, _Background] = OrderedDict()
_BACKGROUNDS_LOCK = Lock()
_BACKGROUNDS_KEPT = 4
"""Backgrounds that stations of a process share; one of 640 x 480 pixels has 20 MB."""


def _kept_background(world: RayWorld, view: RayView, lamp: Lamp, lamp_view: RayView) -> _Background:
    """The background that an earlier camera of this process made of the same view, or a new one."""
    depends_on = (*world.surface_geometry(), view.K, view.size, view.T_base_camera, lamp.position)
    key = b";".join(np.asarray(part).tobytes() for part in depends_on)
    with _BACKGROUNDS_LOCK:
        if key not in _BACKGROUNDS:
            _BACKGROUNDS[key] = _Background(world, view, lamp, lamp_view)
        _BACKGROUNDS.move_to_end(key)
        if len(_BACKGROUNDS) > _BACKGROUNDS_KEPT:
            _BACKGROUNDS.popitem(last=False)
        return _BACKGROUNDS[key]


class _ShadowMap:
    """What the light sees: depth (h, w) [m] of the first opaque geom, infinite where light falls through."""

    def __init__(self, world: RayWorld, lamp_view: RayView) -> None:
        width, height = lamp_view.size
        depth = np.full(width * height, np.inf, dtype=np.float32)
        pixels, hits = world.cast(lamp_view, OPAQUE)
        depth[pixels] = hits.depth
        self._depth = depth
        self._near_occluder = ndimage.maximum_filter(np.isfinite(depth).reshape(height, width), 3).ravel()
        self._size = lamp_view.size

    def visibility(self, lamp_px: FloatImage, lamp_depth: FloatImage) -> FloatImage:
        """Share (n,) of the light that reaches points at pixels (n, 2) and depths (n,) of the lamp's view.

        The edge of a shadow is smoothed over three pixels of the lamp's view.
        """
        width, height = self._size
        nearest = np.rint(lamp_px).astype(np.int32)
        inside = (nearest[:, 0] > 0) & (nearest[:, 0] < width - 1) & (nearest[:, 1] > 0) & (nearest[:, 1] < height - 1)
        flat = np.where(inside, nearest[:, 1] * width + nearest[:, 0], 0)
        chosen = np.flatnonzero(self._near_occluder[flat] & inside)
        flat, limit = flat[chosen], lamp_depth[chosen] - np.float32(0.003)
        offset = lamp_px[chosen] - nearest[chosen]
        weights = 0.5 * (0.5 - offset) ** 2, 0.75 - offset**2, 0.5 * (0.5 + offset) ** 2
        share = np.zeros(len(chosen), dtype=np.float32)
        for dv, row in enumerate(weights):
            for du, column in enumerate(weights):
                lit = self._depth[flat + (dv - 1) * width + du - 1] > limit
                share += row[:, 1] * column[:, 0] * lit
        visible = np.ones(len(lamp_px), dtype=np.float32)
        visible[chosen] = share
        return visible
