"""The ray camera against geometry, MuJoCo's own rays and, where there is one, OpenGL."""

import sys
from collections import OrderedDict
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import mujoco
import numpy as np
import pytest

from tests.refusals import refused
from toolhand.sim.camera import gl
from toolhand.sim.camera import ray as cameras
from toolhand.sim.camera.gl import GlCamera
from toolhand.sim.camera.ray import CameraModel, RayCamera, make_camera, scene_camera
from toolhand.sim.camera.sensor import SensorNoise
from toolhand.tool_nodes import geometry, workspace
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Frame

SIZE = (320, 240)
BALL_RADIUS = 0.05

SCENE = f"""
<mujoco>
  <worldbody>
    <geom name="table" type="box" size=".58 .7 .02" pos=".28 0 -.02"/>
    <geom name="floor" type="plane" size="3 3 .1" pos="0 0 -.75" rgba=".5 .5 .5 1"/>
    <geom name="post" type="cylinder" size=".03 .1" pos=".3 .3 .1" rgba=".2 .2 .2 1"/>
    <body name="ball" pos=".45 0 {BALL_RADIUS}">
      <freejoint/>
      <geom type="sphere" size="{BALL_RADIUS}" rgba=".9 .1 .1 1"/>
    </body>
    <body name="crate" pos=".5 -.2 .04">
      <freejoint/>
      <geom type="box" size=".03 .04 .04" rgba=".1 .3 .8 1"/>
      <body name="lid" pos="0 0 .05">
        <geom type="ellipsoid" size=".03 .03 .01" rgba=".1 .8 .3 1"/>
      </body>
    </body>
    <body name="pane" pos=".55 .2 .06">
      <freejoint/>
      <geom type="box" size=".03 .03 .06" rgba=".3 .6 1 .3"/>
    </body>
    <body name="ghost" pos=".35 -.3 .05">
      <freejoint/>
      <geom type="sphere" size=".05" group="3"/>
      <geom type="sphere" size=".05" rgba="1 0 0 0"/>
    </body>
  </worldbody>
</mujoco>
"""


class World:
    """The scene above with a camera; object indices are 0 ball, 1 crate, 2 pane, 3 ghost."""

    def __init__(self, xml: str = SCENE) -> None:
        self.model = mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)
        names = ("ball", "crate", "pane", "ghost")
        self.body_index = {self.model.body(name).id: index for index, name in enumerate(names)}

    def camera(self, camera: CameraModel | None = None, **options: Any) -> RayCamera:
        options = {"sensor": SensorNoise(0.0)} | options
        return RayCamera(self.model, self.data, camera or scene_camera(SIZE), self.body_index, **options)


def pixel_of(point: list[float], frame: Frame) -> tuple[int, int]:
    """(row, column) of a point in the base frame."""
    local = geometry.transform(geometry.invert(frame.T_base_camera), np.array([point]))
    u, v = np.rint(geometry.project(local, frame.K)[0]).astype(int)
    return int(v), int(u)


def test_the_frame_has_the_promised_shapes_and_types() -> None:
    frame = World().camera().capture()
    assert frame.rgb.shape == (240, 320, 3)
    assert frame.rgb.dtype == np.uint8
    assert frame.depth.shape == (240, 320)
    assert frame.depth.dtype == np.float32
    assert frame.ids is not None
    assert frame.ids.dtype == np.int32
    assert frame.size == SIZE
    assert frame.camera == "scene"


def test_the_table_lies_at_height_zero_in_the_cloud() -> None:
    frame = World().camera().capture()
    cloud = geometry.transform(frame.T_base_camera, geometry.backproject(frame.depth, frame.K)).reshape(240, 320, 3)
    row, column = pixel_of([0.6, 0.05, 0.0], frame)
    assert np.allclose(cloud[row, column], [0.6, 0.05, 0.0], atol=0.004)
    assert abs(cloud[row, column, 2]) < 1e-5


def test_depth_and_ids_are_those_of_one_ray_per_pixel_through_the_whole_model() -> None:
    world = World()
    frame = world.camera().capture()
    assert frame.ids is not None
    mujoco.mj_kinematics(world.model, world.data)
    rays = geometry.backproject(np.ones((240, 320), np.float32), frame.K).astype(float) @ frame.T_base_camera[:3, :3].T
    n = len(rays)
    geom, depth, normal = np.full(n, -1, np.int32), np.zeros(n), np.zeros(3 * n)
    world.model.geom_group[world.model.geom_rgba[:, 3] < 0.99] = 5
    groups = np.array([1, 1, 1, 0, 0, 0], dtype=np.uint8)
    mujoco.mj_multiRay(
        world.model,
        world.data,
        frame.T_base_camera[:3, 3],
        rays.ravel(),
        groups,
        True,
        -1,
        geom,
        depth,
        normal,
        n,
        10.0,
    )
    roots = world.model.body_rootid[world.model.geom_bodyid[geom]]
    expected = np.array([world.body_index.get(int(root), -1) for root in roots])
    assert np.mean(frame.ids.ravel() == expected) > 0.9995
    assert np.allclose(frame.depth.ravel(), depth, atol=2e-4)


def test_a_ball_covers_the_pixels_of_its_projection() -> None:
    frame = World().camera().capture()
    assert frame.ids is not None
    local = geometry.transform(geometry.invert(frame.T_base_camera), np.array([[0.45, 0.0, BALL_RADIUS]]))[0]
    rays = geometry.backproject(np.ones((240, 320), np.float32), frame.K).astype(float)
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    cosine = rays @ local / np.linalg.norm(local)
    inside = cosine > np.sqrt(1.0 - (BALL_RADIUS / np.linalg.norm(local)) ** 2)
    assert np.array_equal(frame.ids.ravel() == 0, inside)


def test_parts_of_an_object_share_its_index_and_everything_else_has_none() -> None:
    frame = World().camera().capture()
    assert frame.ids is not None
    assert frame.ids[pixel_of([0.5, -0.2, 0.10], frame)] == 1
    assert frame.ids[pixel_of([0.53, -0.2, 0.02], frame)] == 1
    assert frame.ids[pixel_of([0.3, 0.3, 0.2], frame)] == -1
    assert frame.ids[pixel_of([0.7, 0.1, 0.0], frame)] == -1


def test_clear_objects_tint_the_image_but_have_no_depth_and_no_index() -> None:
    frame = World().camera().capture()
    without = World(SCENE.replace('rgba=".3 .6 1 .3"', 'rgba=".3 .6 1 0"')).camera().capture()
    assert frame.ids is not None
    at = pixel_of([0.55, 0.2, 0.12], frame)
    assert 2 not in frame.ids
    assert np.array_equal(frame.depth, without.depth)
    change = frame.rgb[at].astype(int) - without.rgb[at].astype(int)
    assert change[2] > change[0]
    assert np.abs(change).max() > 5


def test_hidden_geoms_are_not_seen() -> None:
    frame = World().camera().capture()
    assert frame.ids is not None
    assert 3 not in frame.ids
    without = World(SCENE.replace('pos=".35 -.3 .05"', 'pos="-3 0 .05"')).camera().capture()
    assert np.array_equal(frame.rgb, without.rgb)


def test_an_object_throws_a_shadow_on_the_table() -> None:
    world = World()
    lit = world.camera(lamp_position=[0.45, -0.8, 1.2]).capture()
    world.data.qpos[0] = -3.0
    world.data.time = 1.0
    bare = world.camera(lamp_position=[0.45, -0.8, 1.2]).capture()
    in_shadow, beside = pixel_of([0.45, 0.075, 0.0], lit), pixel_of([0.6, 0.075, 0.0], lit)
    assert lit.rgb[in_shadow].mean() < 0.85 * bare.rgb[in_shadow].mean()
    assert np.array_equal(lit.rgb[beside], bare.rgb[beside])


def test_colours_in_the_light_are_those_of_the_model() -> None:
    frame = World().camera().capture()
    red, green, blue = frame.rgb[pixel_of([0.45, 0.0, 2 * BALL_RADIUS], frame)].astype(int)
    assert red > 180
    assert max(green, blue) < 0.6 * red


def test_objects_beyond_the_range_have_no_depth() -> None:
    away = CameraModel(
        geometry.intrinsics(300.0, 64, 48), (64, 48), geometry.look_at([0.9, 0.0, 0.5], [5.0, 0.0, 0.6]), "scene"
    )
    frame = World().camera(away).capture()
    assert np.isnan(frame.depth[0]).all()
    assert not np.isinf(frame.depth).any()
    assert frame.rgb.std() > 0.0


def test_one_state_gives_one_frame_and_a_changed_state_another() -> None:
    world = World()
    camera = world.camera(sensor=SensorNoise(0.0005))
    first = camera.capture()
    assert camera.capture() is first
    world.data.time = 0.5
    second = camera.capture()
    assert second is not first
    assert second.stamp == 0.5
    world.data.qpos[0] += 0.01
    assert camera.capture() is not second


def test_frames_cannot_be_changed_by_their_readers() -> None:
    frame = World().camera().capture()
    with pytest.raises(ValueError, match="read-only"):
        frame.depth[0, 0] = 1.0


def test_looking_leaves_the_physics_as_it_was() -> None:
    world = World()
    mujoco.mj_step(world.model, world.data)
    before = world.data.qpos.tobytes(), world.data.xpos.tobytes(), world.model.geom_group.tobytes()
    world.camera().capture()
    assert (world.data.qpos.tobytes(), world.data.xpos.tobytes(), world.model.geom_group.tobytes()) == before


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_noise() -> None:
    def images(seed: int) -> list[Frame]:
        world = World()
        camera = world.camera(sensor=SensorNoise(0.0005, 2.0), seed=seed)
        first = camera.capture()
        world.data.time = 1.0
        return [first, camera.capture()]

    one, same, other = images(1), images(1), images(2)
    for a, b in zip(one, same, strict=True):
        assert a.depth.tobytes() == b.depth.tobytes()
        assert a.rgb.tobytes() == b.rgb.tobytes()
    assert one[0].depth.tobytes() != other[0].depth.tobytes()
    assert one[0].depth.tobytes() != one[1].depth.tobytes()


def test_depth_noise_grows_with_the_square_of_the_distance() -> None:
    world = World()
    clean, noisy = world.camera().capture(), world.camera(sensor=SensorNoise(0.001)).capture()
    error = (noisy.depth - clean.depth) / clean.depth**2
    assert np.nanstd(error) == pytest.approx(0.001, rel=0.02)
    assert abs(np.nanmean(error)) < 2e-5


class Overwide:
    """A sensor whose depth has one more column than its colour."""

    def measure(self, rgb: Any, depth: Any, rng: np.random.Generator) -> Any:
        return rgb, np.hstack([depth, depth[:, :1]])


class Blinded:
    """A sensor without depth in the left half, and with all light in the colours."""

    def measure(self, rgb: Any, depth: Any, rng: np.random.Generator) -> Any:
        depth[:, : depth.shape[1] // 2] = np.inf
        return np.full_like(rgb, 255), depth


def test_a_sensor_decides_what_is_measured_of_the_ideal_image() -> None:
    frame, clean = World().camera(sensor=Blinded()).capture(), World().camera().capture()
    left, right = np.hsplit(frame.depth, 2)
    assert np.isnan(left).all()
    assert np.array_equal(right, np.hsplit(clean.depth, 2)[1], equal_nan=True)
    assert (frame.rgb == 255).all()
    with refused(ErrorCode.UNAVAILABLE, r"float32 depth \(240, 320\), but .* float32 \(240, 321\)"):
        World().camera(sensor=Overwide()).capture()


def test_a_small_image_shows_the_same_view_as_a_large_one() -> None:
    world = World()
    small, large = world.camera().capture(), world.camera(scene_camera()).capture()
    assert large.size == workspace.IMAGE_SIZE
    assert small.ids is not None
    assert large.ids is not None
    assert np.mean(small.ids == 0) == pytest.approx(np.mean(large.ids == 0), rel=0.02)


def test_a_camera_on_a_body_moves_with_it() -> None:
    world = World()
    T_body_camera = geometry.look_at([0.0, 0.0, 0.5], [0.0, 0.01, 0.0])
    model = CameraModel(geometry.intrinsics(60.0, 64, 48), (64, 48), T_body_camera, "wrist", body="ball")
    camera = world.camera(model)
    first = camera.capture()
    assert np.allclose(first.T_base_camera[:3, 3], [0.45, 0.0, 0.5 + BALL_RADIUS])
    assert first.camera == "wrist"
    world.data.qpos[:3] = [0.42, 0.05, 0.3]
    second = camera.capture()
    assert np.allclose(second.T_base_camera[:3, 3], [0.42, 0.05, 0.8])
    assert np.nanmedian(second.depth) == pytest.approx(np.nanmedian(first.depth) + 0.25, abs=0.02)


def test_a_camera_on_an_unknown_body_is_refused() -> None:
    model = CameraModel(np.eye(3), (64, 48), np.eye(4), "wrist", body="nowhere")
    with refused(ErrorCode.INVALID_ARGUMENT, "'nowhere', which the model lacks"):
        World().camera(model)


def test_an_unknown_renderer_is_refused() -> None:
    world = World()
    with refused(ErrorCode.INVALID_ARGUMENT, r"There is no renderer .*gl or ray"):
        make_camera("film", world.model, world.data, scene_camera(SIZE), world.body_index)


def test_without_opengl_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_library(*_: object) -> None:
        raise ImportError("no GL here")

    monkeypatch.setattr(mujoco, "Renderer", no_library)
    monkeypatch.setattr(gl, "_accelerated", gl._accelerated.__wrapped__)
    world = World()
    with refused(ErrorCode.UNAVAILABLE, r"pip install -e \S*\[gl\]\S*, install libEGL or OSMesa"):
        make_camera("gl", world.model, world.data, scene_camera(SIZE), world.body_index)
    assert isinstance(make_camera("auto", world.model, world.data, scene_camera(SIZE), world.body_index), RayCamera)


def _gl_camera_or_error(world: World) -> GlCamera | ToolError:
    try:
        return GlCamera(world.model, world.data, scene_camera(SIZE), world.body_index, sensor=SensorNoise(0.0))
    except ToolError as error:
        return error


def test_opengl_agrees_with_the_rays_or_is_clearly_missing() -> None:
    world = World()
    camera = _gl_camera_or_error(world)
    if isinstance(camera, ToolError):
        assert camera.code is ErrorCode.UNAVAILABLE
        assert "[gl]" in camera.hint
        return
    frame, expected = camera.capture(), world.camera().capture()
    assert frame.ids is not None
    assert np.mean(frame.ids == expected.ids) > 0.999
    assert np.nanmedian(np.abs(frame.depth - expected.depth)) < 1e-4
    assert np.array_equal(np.isnan(frame.depth), np.isnan(expected.depth))
    assert camera.capture() is frame


class _Renderer:
    """Stands for MuJoCo's renderer where there is an OpenGL library."""

    def __init__(self, *_: object) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (b"llvmpipe (LLVM 15.0.6, 256 bits)", RayCamera),
        (b"softpipe", RayCamera),
        (b"Software Rasterizer", RayCamera),
        (b"Mesa OffScreen", RayCamera),
        (b"ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (LLVM 10.0.0)), SwiftShader driver)", RayCamera),
        (b"Apple Software Renderer", RayCamera),
        (None, RayCamera),
        (b"NVIDIA H100 PCIe/PCIe/SSE2", GlCamera),
        (b"AMD Radeon RX 6800 (navi21, LLVM 15.0.7, DRM 3.49)", GlCamera),
        (b"Mesa Intel(R) UHD Graphics 620 (KBL GT2)", GlCamera),
        (b"Apple M2", GlCamera),
    ],
)
def test_auto_takes_opengl_only_where_a_graphics_processor_draws_it(
    monkeypatch: pytest.MonkeyPatch, name: bytes | None, kind: type
) -> None:
    opengl = SimpleNamespace(GL=SimpleNamespace(GL_RENDERER=0x1F01, glGetString=lambda _: name))
    monkeypatch.setitem(sys.modules, "OpenGL", opengl)
    monkeypatch.setattr(mujoco, "Renderer", _Renderer)
    monkeypatch.setattr(gl, "_accelerated", gl._accelerated.__wrapped__)
    world = World()
    assert type(make_camera("auto", world.model, world.data, scene_camera(SIZE), world.body_index)) is kind


def test_the_scene_camera_stands_where_the_workspace_says() -> None:
    camera = scene_camera()
    assert np.allclose(camera.T_base_camera[:3, 3], workspace.SCENE_CAMERA_POSITION)
    assert camera.K[0, 0] == workspace.SCENE_CAMERA_FOCAL_PX
    assert scene_camera((320, 240)).K[0, 0] == workspace.SCENE_CAMERA_FOCAL_PX / 2
    assert cameras.camera_pose(World().model, World().data, camera) is camera.T_base_camera


@pytest.mark.parametrize(
    ("xml", "moved", "lamp"),
    [
        (SCENE, 0.0, cameras.LAMP_POSITION),
        (SCENE.replace('pos=".28 0 -.02"', 'pos=".28 0 -.06"'), 0.0, cameras.LAMP_POSITION),
        (SCENE.replace('pos=".28 0 -.02"', 'pos=".28 0 -.02" euler="0 0 20"'), 0.0, cameras.LAMP_POSITION),
        (SCENE.replace(".58 .7 .02", ".38 .5 .02"), 0.0, cameras.LAMP_POSITION),
        (SCENE.replace('name="table"', 'rgba=".1 .5 .1 1"'), 0.0, cameras.LAMP_POSITION),
        (SCENE, 0.05, cameras.LAMP_POSITION),
        (SCENE, 0.0, (0.8, -0.15, 1.9)),
    ],
    ids=["nothing", "table's place", "table's turn", "table's size", "table's colour", "camera", "lamp"],
)
def test_cameras_share_a_background_only_where_nothing_of_it_differs(
    xml: str, moved: float, lamp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    camera = scene_camera(SIZE)
    other = replace(camera, T_base_camera=geometry.pose(np.eye(3), (0.0, moved, 0.0)) @ camera.T_base_camera)
    first = World().camera(camera).capture()
    shared = World(xml).camera(other, lamp_position=lamp).capture()
    monkeypatch.setattr(cameras, "_BACKGROUNDS", OrderedDict())
    alone = World(xml).camera(other, lamp_position=lamp).capture()
    assert np.array_equal(shared.rgb, alone.rgb)
    assert np.array_equal(shared.depth, alone.depth, equal_nan=True)
    assert np.array_equal(shared.rgb, first.rgb) is (xml == SCENE and not moved and lamp is cameras.LAMP_POSITION)
