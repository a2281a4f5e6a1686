"""Rays of a camera, and the camera at the wrist."""

import mujoco
import numpy as np

from tests.gen3 import NAMED_STATES
from toolhand.sim.camera.ray_casting import OPAQUE, RayView, RayWorld
from toolhand.sim.scene.files import EXAMPLE_SCENE, load_scene
from toolhand.sim.station import Station, StationConfig
from toolhand.tool_nodes import geometry
from toolhand.tool_nodes.geometry import matrix_from_quat_wxyz, rotation_angle
from toolhand.tool_nodes.motion.kinematics import Kinematics

# -- which pixel sees which geom -------------------------------------------------------------------


def test_what_is_seen_but_not_touched_is_seen_whole() -> None:
    """MuJoCo passes over a body by a box about what touches of it."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(pos=[0, 0, 0.3], quat=[0.9, 0.1, 0.3, 0.2])
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.02] * 3, pos=[0.01, 0, 0], group=3)
    wide = {"size": [0.1, 0.02, 0.02], "pos": [0.05, 0, 0], "contype": 0, "conaffinity": 0, "mass": 0.0}
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, **wide, rgba=[1, 0, 0, 1])
    model = spec.compile()
    data = mujoco.MjData(model)
    world = RayWorld(model)
    world.refresh(data)
    view = RayView(geometry.intrinsics(100.0, 96, 96), (96, 96))
    view.place(geometry.look_at(np.array([0.0, -0.5, 0.6]), np.array([0.0, 0.0, 0.3])))
    pixels, hits = world.cast(view, OPAQUE)
    mujoco.mj_kinematics(model, data)
    one = np.zeros(1, dtype=np.int32)
    groups = np.array([1, 0, 0, 0, 0, 0], dtype=np.uint8)
    seen = [mujoco.mj_ray(model, data, view.origin, ray.astype(float), groups, True, -1, one) >= 0 for ray in view.rays]
    assert np.array_equal(pixels, np.flatnonzero(seen))
    assert len(pixels) > 200
    assert set(hits.geom.tolist()) == {1}


def test_a_ray_that_runs_along_a_face_meets_what_lies_across_it() -> None:
    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.3, 0.2, 0.1], rgba=[1, 1, 1, 1])
    model = spec.compile()
    data = mujoco.MjData(model)
    world = RayWorld(model)
    world.refresh(data)
    view = RayView(geometry.intrinsics(100.0, 9, 9), (9, 9))  # with a ray through the middle
    for x, depth in ((0.1, 0.9), (-0.1, 0.9), (0.0, 0.9), (0.4, np.inf), (-0.4, np.inf)):
        view.place(geometry.pose(np.diag([1.0, -1.0, -1.0]), np.array([x, 0.05, 1.0])))
        middle = len(view.rays) // 2
        assert np.count_nonzero(view.rays[middle]) == 1
        with np.errstate(all="raise", under="ignore"):
            hits = world.surface_hits(view)
        np.testing.assert_allclose(hits.depth[middle], depth, rtol=1e-6)


# -- the camera on the bracelet moves with the arm and sees what is below it -----------------------


def test_the_wrist_camera_looks_along_the_gripper_and_sees_the_table() -> None:
    station = Station(load_scene(EXAMPLE_SCENE))
    frame = station.wrist_camera.capture()
    T_base_gripper = Kinematics().fk(NAMED_STATES["Park"])
    assert frame.camera == "wrist"
    assert np.linalg.norm(frame.T_base_camera[:3, 3] - T_base_gripper[:3, 3]) < 0.06
    assert frame.T_base_camera[2, 2] < -0.99
    assert frame.ids is not None
    assert len(np.unique(frame.ids[frame.ids >= 0])) >= 3
    body = station.world.data.body("camera_color_frame")
    assert rotation_angle(frame.T_base_camera[:3, :3], matrix_from_quat_wxyz(body.xquat)) < 1e-6


def test_pixel_perception_gets_no_ids_from_either_camera() -> None:
    station = Station(load_scene(EXAMPLE_SCENE), StationConfig(perception="pixels"))
    assert station.camera.capture().ids is None
    assert station.wrist_camera.capture().ids is None
    assert station.camera.capture() is station.camera.capture()
