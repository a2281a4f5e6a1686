"""The same images through OpenGL, where the machine has a library for it (EGL, OSMesa or a screen)."""

from __future__ import annotations

import re
from functools import cache

import mujoco
import numpy as np
from numpy.typing import NDArray

from toolhand.sim.camera.ray import StampedCamera, camera_pose
from toolhand.sim.camera.shading import FloatImage
from toolhand.tool_nodes.extras import install_extra
from toolhand.tool_nodes.results import ToolError, unavailable
from toolhand.tool_nodes.types import FloatArray

_OPAQUE_GROUP, _TRANSPARENT_GROUP, _HIDDEN_GROUP = 0, 1, 5
"""Groups of geoms that MuJoCo's renderer draws, and one that it never draws."""


_GEOM = int(mujoco.mjtObj.mjOBJ_GEOM)
"""As a number: with the enum object numpy compares each pixel by itself in Python, 177 ms for 640x480 pixels."""

SHADOW_PX = 1024
"""Side of the shadow map [pixels], about that of an image. MuJoCo's 4096 is for the screen of a viewer: without a GPU,
filling it took half the time of an image, and images differ by 0.1 of 255 grey levels in the mean."""

_ON_THE_CPU = re.compile(
    r"llvmpipe|softpipe|swrast|swiftshader|lavapipe|software|off-?screen|basic render", re.IGNORECASE
)
"""In the name that OpenGL gives its renderer: it is a program (Mesa's, Google's, Apple's, Microsoft's), not a graphics
processor. "off-screen" is Mesa's name for OSMesa."""


class GlCamera(StampedCamera):
    """Images by MuJoCo's OpenGL renderer; arguments and meaning as for `RayCamera`.

    Raises:
        ToolError: UNAVAILABLE when there is no OpenGL library; INVALID_ARGUMENT when the model lacks
            the body that carries the camera.
    """

    def _prepare(self, model: mujoco.MjModel, lamp_position: FloatArray) -> None:
        self._model = model.__copy__()
        self._data = mujoco.MjData(self._model)
        self._lamp = lamp_position
        self._sort_geoms()
        width, height = self._camera.size
        visual = self._model.vis
        visual.global_.offwidth, visual.global_.offheight = width, height
        visual.quality.shadowsize = SHADOW_PX
        visual.map.znear = 0.01 / self._model.stat.extent
        visual.map.zfar = 20.0 / self._model.stat.extent
        visual.headlight.ambient = np.full(3, 0.45)
        visual.headlight.diffuse = np.zeros(3)
        self._renderer = _renderer(self._model, width, height)
        self._option = mujoco.MjvOption()

    @staticmethod
    def accelerated() -> bool:
        """True where a graphics processor draws OpenGL; asked once a process, and never by timing."""
        return _accelerated()

    def _sort_geoms(self) -> None:
        """Sorts opaque, transparent and hidden geoms into groups."""
        model = self._model
        alpha = np.where(model.geom_matid >= 0, model.mat_rgba[model.geom_matid, 3], 1.0) if model.nmat else 1.0
        alpha = alpha * model.geom_rgba[:, 3]
        hidden = (model.geom_group >= 3) | (alpha <= 0.0)
        model.geom_group[:] = np.where(alpha >= 0.99, _OPAQUE_GROUP, _TRANSPARENT_GROUP)
        model.geom_group[hidden] = _HIDDEN_GROUP

    def _render(self) -> tuple[NDArray[np.uint8], FloatImage, NDArray[np.int32], FloatArray]:
        data, source, renderer = self._data, self._source, self._renderer
        data.qpos[:] = source.qpos
        data.mocap_pos[:], data.mocap_quat[:] = source.mocap_pos, source.mocap_quat
        mujoco.mj_kinematics(self._model, data)
        T_base_camera = camera_pose(self._model, data, self._camera)

        self._update_scene(T_base_camera, transparent=True)
        rgb = renderer.render().copy()
        self._update_scene(T_base_camera, transparent=False)
        renderer.enable_depth_rendering()
        depth = renderer.render().astype(np.float32)
        renderer.disable_depth_rendering()
        renderer.enable_segmentation_rendering()
        segments = renderer.render()
        renderer.disable_segmentation_rendering()

        geom = np.where(segments[:, :, 1] == _GEOM, segments[:, :, 0], -1)
        depth[geom < 0] = np.inf
        return rgb, depth, self._objects[geom], T_base_camera

    def _update_scene(self, T_base_camera: FloatArray, transparent: bool) -> None:
        self._option.geomgroup[:] = 0
        self._option.geomgroup[_OPAQUE_GROUP] = 1
        self._option.geomgroup[_TRANSPARENT_GROUP] = transparent
        self._renderer.update_scene(self._data, scene_option=self._option)
        scene = self._renderer.scene
        (width, height), K = self._camera.size, self._camera.K
        for eye in scene.camera:
            eye.pos = T_base_camera[:3, 3]
            eye.forward = T_base_camera[:3, 2]
            eye.up = -T_base_camera[:3, 1]
            # Pixel (u, v) means a pixel's centre, so the image reaches from -0.5 to its size - 0.5.
            near = eye.frustum_near
            eye.frustum_top = (K[1, 2] + 0.5) / K[1, 1] * near
            eye.frustum_bottom = -(height - 0.5 - K[1, 2]) / K[1, 1] * near
            eye.frustum_center = ((width - 1) / 2.0 - K[0, 2]) / K[0, 0] * near
            eye.frustum_width = 0.5 * width / K[0, 0] * near
        self._add_lamp(scene)

    def _add_lamp(self, scene: mujoco.MjvScene) -> None:
        if scene.nlight >= len(scene.lights):
            return
        lamp = scene.lights[scene.nlight]
        to_table = -self._lamp
        lamp.pos, lamp.dir = self._lamp, to_table / np.linalg.norm(to_table)
        lamp.headlight, lamp.castshadow, lamp.type = 0, 1, mujoco.mjtLightType.mjLIGHT_SPOT
        lamp.cutoff, lamp.exponent = 60.0, 0.0
        lamp.attenuation = np.array([1.0, 0.0, 0.0])
        lamp.ambient, lamp.diffuse, lamp.specular = np.zeros(3), np.full(3, 0.6), np.full(3, 0.1)
        scene.nlight += 1


def _renderer(model: mujoco.MjModel, width: int, height: int) -> mujoco.Renderer:
    try:
        return mujoco.Renderer(model, height, width)
    # Each backend fails in its own way: ImportError, AttributeError of PyOpenGL, RuntimeError, FatalError.
    except Exception as error:
        raise unavailable(
            "The GL camera needs an OpenGL library, and none could be opened on this machine.",
            f"Run `{install_extra('gl')}`, install libEGL or OSMesa and set MUJOCO_GL=egl or osmesa, "
            "or use the renderer 'ray'.",
        ) from error


@cache
def _accelerated() -> bool:
    try:
        renderer = _renderer(mujoco.MjModel.from_xml_string("<mujoco/>"), 16, 16)
    except ToolError:
        return False
    try:
        from OpenGL import GL

        name = GL.glGetString(GL.GL_RENDERER)
    finally:
        renderer.close()
    return bool(name) and _ON_THE_CPU.search(name.decode(errors="replace")) is None
