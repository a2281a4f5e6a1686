"""The parked arm stays out of the scene camera's picture."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from tests.gen3 import NAMED_STATES, TIP_FRAME, load_robot_spec, pad_depth
from tool_nodes import workspace
from tool_nodes.geometry import invert, look_at
from tool_nodes.motion.kinematics import Kinematics
from tool_nodes.types import FloatArray


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return load_robot_spec().compile()


def in_picture(points: FloatArray) -> bool:
    T_camera_base = invert(look_at(workspace.SCENE_CAMERA_POSITION, workspace.SCENE_CAMERA_TARGET))
    x, y, z = (points @ T_camera_base[:3, :3].T + T_camera_base[:3, 3]).T
    half_width, half_height = workspace.IMAGE_SIZE[0] / 2, workspace.IMAGE_SIZE[1] / 2
    u, v = (workspace.SCENE_CAMERA_FOCAL_PX * coordinate / z for coordinate in (x, y))
    return bool(((np.abs(u) < half_width) & (np.abs(v) < half_height) & (z > 0)).any())


def parked(model: mujoco.MjModel, state: str = "Park") -> mujoco.MjData:
    data = mujoco.MjData(model)
    data.qpos[:7] = NAMED_STATES[state]
    mujoco.mj_forward(model, data)
    return data


def dense_box(half: FloatArray) -> FloatArray:
    axis = np.linspace(-1, 1, 9)
    return np.stack(np.meshgrid(axis, axis, axis), axis=-1).reshape(-1, 3) * half


def test_park_leaves_the_picture_of_the_scene_camera_free(model: mujoco.MjModel) -> None:
    data = parked(model)
    for geom in range(model.ngeom):
        link = model.body(model.geom_bodyid[geom]).name
        if link in ("base_link", "shoulder_link"):
            continue
        size = model.geom_size[geom]
        half = size if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_BOX else np.array([size[0], size[0], size[1]])
        points = data.geom_xpos[geom] + dense_box(half) @ data.geom_xmat[geom].reshape(3, 3).T
        assert not in_picture(points), model.geom(geom).name


def test_a_tall_box_held_at_park_is_outside_the_picture(model: mujoco.MjModel) -> None:
    tip = parked(model).body(TIP_FRAME)
    below_pads = np.array([0, 0, pad_depth(0.08) - 0.02 + 0.10])
    points = tip.xpos + (below_pads + dense_box(np.array([0.04, 0.04, 0.10]))) @ tip.xmat.reshape(3, 3).T
    assert not in_picture(points)


def test_the_picture_check_sees_an_arm_that_is_not_parked(model: mujoco.MjModel) -> None:
    data = parked(model, "Home")
    assert in_picture(data.body("robotiq_85_left_finger_tip_link").xpos[None])


def test_park_points_straight_down_near_the_base() -> None:
    T = Kinematics().fk(NAMED_STATES["Park"])
    np.testing.assert_allclose(T[:3, 2], [0, 0, -1], atol=1e-3)
    np.testing.assert_allclose(T[:3, 3], [0.18, 0.0, 0.56], atol=1e-3)


def test_park_keeps_three_centimetres_from_itself_and_the_table() -> None:
    spec = load_robot_spec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 0.1])
    for geom in spec.geoms:
        geom.margin = 0.03
    data = parked(spec.compile())
    assert data.ncon == 0
