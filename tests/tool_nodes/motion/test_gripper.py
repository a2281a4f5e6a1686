"""The 2F-85's formulas against the compiled model."""

import mujoco
import numpy as np
import pytest

from tests.gen3 import (
    GRIPPER_JOINT,
    MAX_OPENING,
    TIP_FRAME,
    fingertip_depth,
    gripper_points,
    knuckle_from_opening,
    opening_from_knuckle,
    pad_depth,
)
from toolhand.tool_nodes.geometry import invert
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import FloatArray


def pad_face_distance(model: mujoco.MjModel, data: mujoco.MjData) -> float:
    left, right = data.geom("left_pad_1"), data.geom("right_pad_1")
    thickness = float(model.geom("left_pad_1").size[0] + model.geom("right_pad_1").size[0])
    tip = data.body(TIP_FRAME)
    return float(((left.xpos - right.xpos) @ tip.xmat.reshape(3, 3))[0]) - thickness


def close_to(model: mujoco.MjModel, data: mujoco.MjData, knuckle: float, steps: int = 600) -> None:
    data.ctrl[7] = knuckle
    mujoco.mj_step(model, data, steps)


def test_the_opening_formula_agrees_with_the_pads_of_the_compiled_model(model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    for knuckle in (0.0, 0.25, 0.5, 0.8):
        close_to(model, data, knuckle)
        q = float(data.joint(GRIPPER_JOINT).qpos[0])
        assert q == pytest.approx(knuckle, abs=2e-3)
        assert pad_face_distance(model, data) == pytest.approx(opening_from_knuckle(q), abs=1e-4)


def test_the_jaws_close_symmetrically_and_stay_parallel(model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    close_to(model, data, 0.5)
    left, right = (data.body(f"robotiq_85_{side}_finger_tip_link") for side in ("left", "right"))
    R = data.body(TIP_FRAME).xmat.reshape(3, 3)
    middle = R.T @ ((left.xpos + right.xpos) / 2 - data.body(TIP_FRAME).xpos)
    assert abs(middle[0]) < 1e-4
    np.testing.assert_allclose(left.xmat.reshape(3, 3), R, atol=2e-3)


def test_the_pads_lie_at_the_depth_that_the_formula_gives(model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    for knuckle in (0.0, 0.6):
        close_to(model, data, knuckle)
        tip = data.body(TIP_FRAME)
        pads = [data.geom(f"left_pad_{index}").xpos for index in (1, 2)]
        centre = tip.xmat.reshape(3, 3).T @ (np.mean(pads, axis=0) - tip.xpos)
        opening = opening_from_knuckle(float(data.joint(GRIPPER_JOINT).qpos[0]))
        assert centre[2] == pytest.approx(pad_depth(opening), abs=2e-4)


def test_opening_and_knuckle_angle_are_inverse_to_each_other() -> None:
    for opening in np.linspace(0.001, 0.0848, 30):
        assert opening_from_knuckle(knuckle_from_opening(opening)) == pytest.approx(opening, abs=1e-9)
    assert knuckle_from_opening(MAX_OPENING) == 0.0
    assert knuckle_from_opening(0.0) == pytest.approx(0.8, abs=5e-4)
    assert opening_from_knuckle(0.0) == pytest.approx(0.085, abs=2e-4)


def test_fingertips_move_forward_by_thirteen_and_a_half_millimetres_when_closing() -> None:
    assert fingertip_depth(0.0) - fingertip_depth(MAX_OPENING) == pytest.approx(0.0135, abs=1e-4)


def test_gripper_points_are_the_grasp_centre_and_both_fingers() -> None:
    centre, left_base, right_base, left_tip, right_tip = gripper_points(0.05)
    np.testing.assert_allclose(centre, [0, 0, pad_depth(0.05)])
    np.testing.assert_allclose(left_tip, [0.025, 0, fingertip_depth(0.05)])
    np.testing.assert_allclose(right_tip, left_tip * [-1, 1, 1])
    np.testing.assert_allclose(right_base, left_base * [-1, 1, 1])
    assert left_base[2] < centre[2] < left_tip[2]


@pytest.mark.parametrize("opening", [-0.01, 0.1, float("nan")])
def test_an_opening_out_of_range_says_what_is_allowed(opening: float) -> None:
    with pytest.raises(ToolError, match=r"between 0 and 0\.085 m"):
        gripper_points(opening)


def corners(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> FloatArray:
    size = model.geom_size[geom]
    box = model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_BOX
    half = size if box else np.array([size[0], size[0], size[1]])
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return data.geom_xpos[geom] + (signs * half) @ data.geom_xmat[geom].reshape(3, 3).T


def test_the_open_hand_is_as_wide_as_the_real_one(model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = data.body(TIP_FRAME).xmat.reshape(3, 3), data.body(TIP_FRAME).xpos
    points = np.vstack(
        [
            corners(model, data, geom)
            for geom in range(model.ngeom)
            if "finger" in model.body(model.geom_bodyid[geom]).name
        ]
    )
    local = points @ invert(T)[:3, :3].T + invert(T)[:3, 3]
    extent = np.ptp(local, axis=0)
    assert 0.145 < extent[0] < 0.158
    assert 0.026 < extent[1] < 0.036
    assert local[:, 2].max() == pytest.approx(fingertip_depth(MAX_OPENING), abs=2e-3)
