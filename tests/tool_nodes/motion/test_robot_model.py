"""The URDF and the compiled model against numbers written down here by hand."""

import xml.etree.ElementTree as ET

import mujoco
import numpy as np
import pytest

from tests.gen3 import (
    ARM_JOINTS,
    GRIPPER_JOINT,
    POSITION_LIMITS,
    TIP_FRAME,
    URDF_PATH,
    VELOCITY_LIMITS,
)
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.types import FloatArray

PI, HALF_PI = np.pi, np.pi / 2

# Origin and roll of every joint frame in its parent; all axes are z.
JOINT_ORIGINS = [
    ((0, 0, 0.15643), PI),
    ((0, 0.005375, -0.12838), HALF_PI),
    ((0, -0.21038, -0.006375), -HALF_PI),
    ((0, 0.006375, -0.21038), HALF_PI),
    ((0, -0.20843, -0.006375), -HALF_PI),
    ((0, 0.00017505, -0.10593), HALF_PI),
    ((0, -0.10593, -0.00017505), -HALF_PI),
]
END_EFFECTOR_ORIGIN = ((0, 0, -0.061525), PI)

LINK_MASSES = {
    "base_link": 1.697,
    "shoulder_link": 1.3773,
    "half_arm_1_link": 1.1636,
    "half_arm_2_link": 1.1636,
    "forearm_link": 0.9302,
    "spherical_wrist_1_link": 0.6781,
    "spherical_wrist_2_link": 0.6781,
    "bracelet_link": 0.5,
    "robotiq_85_base_link": 0.66320197,
    "robotiq_85_left_knuckle_link": 0.01384773208,
    "robotiq_85_right_knuckle_link": 0.01384773208,
    "robotiq_85_left_finger_link": 0.04260376752,
    "robotiq_85_right_finger_link": 0.04260376752,
    "robotiq_85_left_inner_knuckle_link": 0.02969376448,
    "robotiq_85_right_inner_knuckle_link": 0.02969376448,
    "robotiq_85_left_finger_tip_link": 0.04268588744,
    "robotiq_85_right_finger_tip_link": 0.04268588744,
}

ROS_FRAMES = {*LINK_MASSES, "world", "end_effector_link", "camera_link", "camera_depth_frame", "camera_color_frame"}


def rotation_x(angle: float) -> FloatArray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


def rotation_about_z(angle: float) -> FloatArray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])


def fk_from_table(q: FloatArray) -> tuple[FloatArray, FloatArray]:
    R, p = np.eye(3), np.zeros(3)
    for (origin, roll), angle in zip(JOINT_ORIGINS, q, strict=True):
        p = p + R @ np.array(origin)
        R = R @ rotation_x(roll) @ rotation_about_z(angle)
    p = p + R @ np.array(END_EFFECTOR_ORIGIN[0])
    return R @ rotation_x(END_EFFECTOR_ORIGIN[1]), p


@pytest.fixture(scope="module")
def urdf() -> ET.Element:
    return ET.parse(URDF_PATH).getroot()


def test_forward_kinematics_agrees_with_the_table_of_joint_origins() -> None:
    kinematics = Kinematics()
    worst_position = worst_rotation = 0.0
    for q in np.random.default_rng(0).uniform(-PI, PI, (1000, 7)):
        T = kinematics.fk(q)
        R, p = fk_from_table(q)
        worst_position = max(worst_position, float(np.linalg.norm(T[:3, 3] - p)))
        worst_rotation = max(worst_rotation, float(np.linalg.norm(T[:3, :3] - R)))
    assert worst_position < 2e-5
    assert worst_rotation < 1e-4


def test_the_physics_model_has_the_same_kinematics(model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    data.qpos[:7] = q = np.array([0.3, -0.5, 1.2, -1.8, 0.4, 0.9, -2.2])
    mujoco.mj_kinematics(model, data)
    R, p = fk_from_table(q)
    np.testing.assert_allclose(data.body(TIP_FRAME).xpos, p, atol=1e-6)
    np.testing.assert_allclose(data.body("robotiq_85_base_link").xmat.reshape(3, 3), R, atol=1e-6)


def test_every_link_hangs_on_the_world(urdf: ET.Element) -> None:
    links = {link.get("name") for link in urdf.findall("link")}
    children = {
        joint.find("child").get("link"): joint.find("parent").get("link")  # type: ignore[union-attr]
        for joint in urdf.findall("joint")
    }
    assert links == ROS_FRAMES
    for link in links - {"world"}:
        steps = 0
        while link != "world":
            link, steps = children[link], steps + 1
            assert steps <= len(links)


def test_the_urdf_has_only_boxes_cylinders_and_spheres(urdf: ET.Element) -> None:
    shapes = {shape.tag for geometry in urdf.iter("geometry") for shape in geometry}
    assert shapes <= {"box", "cylinder", "sphere"}


def test_the_base_stands_on_the_origin_of_the_world(urdf: ET.Element) -> None:
    joint = urdf.find("joint[@name='base_joint']")
    assert joint is not None
    assert joint.get("type") == "fixed"
    assert joint.find("origin").get("xyz") == "0 0 0"  # type: ignore[union-attr]


def test_limits_and_velocities_are_those_of_the_datasheet(urdf: ET.Element, model: mujoco.MjModel) -> None:
    for index, (name, bound, velocity, effort) in enumerate(
        zip(
            ARM_JOINTS,
            (None, 2.24, None, 2.57, None, 2.09, None),
            (1.3963, 1.3963, 1.3963, 1.3963, 1.2218, 1.2218, 1.2218),
            (39, 39, 39, 39, 9, 9, 9),
            strict=True,
        )
    ):
        limit = urdf.find(f"joint[@name='{name}']/limit")
        assert limit is not None
        assert float(limit.get("velocity", "nan")) == velocity == VELOCITY_LIMITS[index]
        assert model.jnt_actfrcrange[model.joint(name).id].tolist() == [-effort, effort]
        assert bool(model.joint(name).limited) == (bound is not None)
        assert POSITION_LIMITS[index] == (np.inf if bound is None else bound)
        if bound is not None:
            assert model.joint(name).range.tolist() == [-bound, bound]
    assert model.joint(GRIPPER_JOINT).range.tolist() == [0.0, 0.8]


def test_every_joint_that_mimics_has_the_limits_of_what_it_mimics(urdf: ET.Element) -> None:
    """Isaac Sim refuses a mimicking joint without finite limits; the values are those of ros2_robotiq_gripper."""
    mimicking = [joint for joint in urdf.findall("joint") if joint.find("mimic") is not None]
    assert len(mimicking) == 5
    for joint in mimicking:
        limit, mimic = joint.find("limit"), joint.find("mimic")
        assert limit is not None, joint.get("name")
        assert mimic is not None
        assert joint.get("type") == "revolute"
        reached = sorted(float(mimic.get("multiplier", "1")) * end for end in (0.0, 0.8))
        assert [float(limit.get("lower", "nan")), float(limit.get("upper", "nan"))] == reached
        assert (limit.get("effort"), limit.get("velocity")) == ("50", "0.5")


def test_in_physics_only_the_knuckles_have_stops(model: mujoco.MjModel) -> None:
    fingers = [model.joint(k) for k in range(model.njnt) if model.joint(k).name.startswith("robotiq")]
    stopped = {joint.name for joint in fingers if joint.limited[0]}
    assert stopped == {GRIPPER_JOINT, GRIPPER_JOINT.replace("left", "right")}


def test_masses_are_those_of_the_manufacturers(model: mujoco.MjModel) -> None:
    for link, mass in LINK_MASSES.items():
        assert float(model.body(link).mass[0]) == pytest.approx(mass, abs=1e-9)
    assert float(model.body_mass.sum()) == pytest.approx(sum(LINK_MASSES.values()), abs=1e-9)


def test_inertias_survive_the_import(model: mujoco.MjModel) -> None:
    forearm = np.array([[0.008147, -1e-6, 0], [-1e-6, 0.000631, -0.0005], [0, -0.0005, 0.008316]])
    body = model.body("forearm_link")
    np.testing.assert_allclose(np.sort(body.inertia), np.linalg.eigvalsh(forearm), rtol=1e-6)
    np.testing.assert_allclose(body.ipos, [-1.8e-5, -0.075478, -0.015006], atol=1e-9)


def test_the_wrist_camera_looks_along_the_approach_axis(model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    tip, camera = data.body(TIP_FRAME), data.body("camera_color_frame")
    R_tip = tip.xmat.reshape(3, 3)
    np.testing.assert_allclose(R_tip.T @ camera.xmat.reshape(3, 3), np.diag([-1, -1, 1]), atol=1e-9)
    np.testing.assert_allclose(R_tip.T @ (camera.xpos - tip.xpos), [0, 0.05639, -0.00305], atol=1e-9)


def test_servos_are_named_as_their_joints(model: mujoco.MjModel) -> None:
    assert [model.actuator(index).name for index in range(model.nu)] == [*ARM_JOINTS, GRIPPER_JOINT]


def test_all_servos_are_equally_late_so_that_the_arm_stays_on_its_path(model: mujoco.MjModel) -> None:
    kp, kv = -model.actuator_biasprm[:7, 1], -model.actuator_biasprm[:7, 2]
    np.testing.assert_allclose(kv / kp, 0.05)
    np.testing.assert_array_equal(model.actuator_gainprm[:7, 0], kp)


def test_the_pads_grip_with_torsion_and_decide_the_contact(model: mujoco.MjModel) -> None:
    for name in ("left_pad_1", "left_pad_2", "right_pad_1", "right_pad_2"):
        pad = model.geom(name)
        assert (int(pad.condim[0]), int(pad.priority[0]), float(pad.friction[0])) == (4, 1, 1.0)
        np.testing.assert_allclose(pad.size, [0.004, 0.011, 0.009375])
