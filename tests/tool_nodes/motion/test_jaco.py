"""Kinova's Jaco2 j2s7s300: its files against numbers of kinova-ros that are written down here, and against MuJoCo."""

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes.geometry import pose, rotation_z
from toolhand.tool_nodes.motion.kinematics import Kinematics
from toolhand.tool_nodes.motion.planner import EmbeddedPlanner
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.motion.robot_spec import load_robot_spec
from toolhand.tool_nodes.results import ToolError
from toolhand.tool_nodes.types import CollisionScene, FloatArray, LinearGoal, PoseGoal

JACO = load_robot("jaco2_j2s7s300")
PI = np.pi

# kinova_description/urdf/j2s7s300.xacro: origin and roll, pitch, yaw of every joint in its parent; all axes are z.
JOINT_ORIGINS = [
    ((0, 0, 0.15675), (0, PI, 0)),
    ((0, 0.0016, -0.11875), (-PI / 2, 0, PI)),
    ((0, -0.205, 0), (-PI / 2, 0, 0)),
    ((0, 0, -0.205), (PI / 2, 0, PI)),
    ((0, 0.2073, -0.0114), (-PI / 2, 0, PI)),
    ((0, 0, -0.10375), (PI / 2, 0, PI)),
    ((0, 0.10375, 0), (-PI / 2, 0, PI)),
]
END_EFFECTOR = ((0, 0, -0.16), (PI, 0, PI / 2))
BESIDE_M = 0.002095
"""The grasp frame is midway between thumb and fingers, so far from the end effector along its X [m]."""


def transform_of(origin: tuple[tuple[float, ...], tuple[float, ...]]) -> FloatArray:
    xyz, rpy = origin
    return pose(Rotation.from_euler("xyz", rpy).as_matrix(), np.array(xyz, float))


def fk_from_table(q: FloatArray) -> FloatArray:
    T = np.eye(4)
    for origin, angle in zip(JOINT_ORIGINS, q, strict=True):
        T = T @ transform_of(origin) @ pose(rotation_z(angle), np.zeros(3))
    return T @ transform_of(END_EFFECTOR) @ pose(np.eye(3), np.array([BESIDE_M, 0.0, 0.0]))


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return load_robot_spec(JACO).compile()


def test_forward_kinematics_agrees_with_the_table_and_with_the_physics(model: mujoco.MjModel) -> None:
    kinematics, data = Kinematics(robot=JACO), mujoco.MjData(model)
    address = [int(model.joint(name).qposadr[0]) for name in JACO.arm_joints]
    for q in np.random.default_rng(0).uniform(-PI, PI, (300, 7)):
        expected = fk_from_table(q)
        np.testing.assert_allclose(kinematics.fk(q), expected, atol=1e-6)
        data.qpos[address] = q
        mujoco.mj_kinematics(model, data)
        tip = data.body("j2s7s300_grasp")
        np.testing.assert_allclose(pose(tip.xmat.reshape(3, 3), tip.xpos), expected, atol=1e-6)


def test_limits_are_those_of_kinova_ros_and_bind_the_physics(model: mujoco.MjModel) -> None:
    ranges = {2: (0.8203047, 5.4628806), 4: (0.5235988, 5.7595865), 6: (1.1344640, 5.1487213)}
    for number, name in enumerate(JACO.arm_joints, 1):
        index = number - 1
        assert JACO.continuous[index] == (number not in ranges)
        assert JACO.velocity[index] == pytest.approx(np.radians(36 if number <= 4 else 48))
        if number in ranges:
            assert (JACO.lower[index], JACO.upper[index]) == pytest.approx(ranges[number])
            assert model.joint(name).range == pytest.approx(ranges[number])


def jaws(model: mujoco.MjModel, joint_position: float) -> tuple[float, float, float]:
    """(opening, depth of the pads' centre, depth of the fingertips) of the physics' own geoms [m]."""
    data = mujoco.MjData(model)
    data.joint(JACO.gripper.joint).qpos = joint_position
    for equality in load_robot_spec(JACO).equalities:
        data.joint(equality.name1).qpos = equality.data[0] + equality.data[1] * joint_position
    mujoco.mj_kinematics(model, data)
    grasp = data.body("j2s7s300_grasp")
    R, p = grasp.xmat.reshape(3, 3), grasp.xpos
    boxes = {}
    for finger in ("thumb", "finger_2", "finger_3"):
        corners = []
        for number in (1, 2):
            geom = data.geom(f"j2s7s300_{finger}_pad_{number}")
            half = model.geom(f"j2s7s300_{finger}_pad_{number}").size
            signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
            corners.append((signs * half @ geom.xmat.reshape(3, 3).T + geom.xpos - p) @ R)
        boxes[finger] = np.vstack(corners)
    left, right = boxes["thumb"][:, 0].min(), max(boxes[f][:, 0].max() for f in ("finger_2", "finger_3"))
    depth = np.concatenate([box[:, 2] for box in boxes.values()])
    return left - right, (depth.min() + depth.max()) / 2.0, depth.max()


@pytest.mark.parametrize("opening", [0.0, 0.02, 0.05, 0.08, 0.1])
def test_the_opening_and_the_depth_of_the_pads_are_those_of_the_physics(model: mujoco.MjModel, opening: float) -> None:
    gripper = JACO.gripper
    position = gripper.joint_position(opening)
    assert gripper.open_at <= position <= gripper.closed_at
    measured, centre, tip = jaws(model, position)
    assert measured == pytest.approx(opening, abs=2e-4)
    assert centre == pytest.approx(gripper.pad_depth(opening), abs=2e-4)
    assert tip == pytest.approx(gripper.fingertip_depth(opening), abs=2e-4)
    assert gripper.opening(position) == pytest.approx(opening, abs=2e-4)


def test_the_thumb_opposes_both_fingers(model: mujoco.MjModel) -> None:
    """Fingers close along X of the tip frame: the thumb from +X, two fingers from -X, on both sides of it in Y."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    grasp = data.body("j2s7s300_grasp")
    thumb, second, third = (
        grasp.xmat.reshape(3, 3).T @ (data.geom(f"j2s7s300_{finger}_pad_1").xpos - grasp.xpos)
        for finger in ("thumb", "finger_2", "finger_3")
    )
    assert thumb[0] > 0.05 > -0.05 > second[0] == pytest.approx(third[0])
    assert abs(thumb[1]) < 1e-9 < second[1] == pytest.approx(-third[1])


def top_down(x: float, y: float, z: float, yaw: float) -> FloatArray:
    return pose(rotation_z(yaw) @ np.diag([1.0, -1.0, -1.0]), np.array([x, y, z]))


def test_plans_keep_the_ranges_of_joints_that_are_not_symmetric() -> None:
    planner, kinematics = EmbeddedPlanner(robot=JACO), Kinematics(robot=JACO)
    goal = top_down(0.45, -0.2, 0.15, 0.7)
    there = planner.plan(JACO.park, PoseGoal(goal[None]), CollisionScene())
    down = planner.plan(there.q[-1], LinearGoal(top_down(0.45, -0.2, 0.05, 0.7)), CollisionScene())
    for trajectory in (there, down):
        assert trajectory.joint_names == JACO.arm_joints
        assert (JACO.beyond(trajectory.q) == 0.0).all()
        assert (np.abs(trajectory.qd) <= JACO.velocity + 1e-9).all()
    np.testing.assert_allclose(kinematics.fk(there.q[-1]), goal, atol=1e-4)


def test_a_posture_beyond_a_joints_range_is_refused_by_the_joints_name() -> None:
    with pytest.raises(ToolError, match=r"j2s7s300_joint_2 is at 0\.000 rad"):
        EmbeddedPlanner(robot=JACO).plan(np.zeros(7), PoseGoal(top_down(0.4, 0, 0.2, 0)[None]), CollisionScene())
