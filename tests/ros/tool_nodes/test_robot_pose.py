"""Where the robot is in an image: its joints from /tf at the image's stamp, what it holds from the motion node."""

from typing import Any

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from tf2_ros import Buffer

from toolhand.tool_nodes.geometry import intrinsics, matrix_from_quat_wxyz, pose, quat_wxyz_from_matrix
from toolhand.tool_nodes.motion.robot_model import load_robot
from toolhand.tool_nodes.motion.self_filter import RobotPose, shape_of
from toolhand.tool_nodes.ros.robot_pose import HeldPublisher, RobotOnTf
from toolhand.tool_nodes.types import Box, FloatArray, Frame

ROBOT = load_robot()
SHAPE = shape_of(ROBOT)
Q = np.array([0.4, -0.3, 2.9, 1.2, -0.7, 0.5, -2.0])


def frame_at(stamp: float) -> Frame:
    return Frame(
        np.zeros((48, 64, 3), np.uint8), np.ones((48, 64), np.float32), intrinsics(66.0, 64, 48), np.eye(4), stamp
    )


def rotation_about(axis: FloatArray, angle: float) -> FloatArray:
    return matrix_from_quat_wxyz([np.cos(angle / 2.0), *(np.sin(angle / 2.0) * axis)])


def tell(transforms: Buffer, angles: dict[str, float], second: int) -> None:
    """What a robot_state_publisher sends for some joints."""
    for name, angle in angles.items():
        place, message = SHAPE.joints[name], TransformStamped()
        message.header.frame_id, message.child_frame_id = place.parent, place.child
        message.header.stamp = Time(sec=second)
        q = message.transform.rotation
        q.w, q.x, q.y, q.z = (float(v) for v in quat_wxyz_from_matrix(place.R @ rotation_about(place.axis, angle)))
        transforms.set_transform(message, "test")


@pytest.fixture(scope="module")
def node(make_node: Any) -> Node:
    made: Node = make_node("looking")
    return made


def asked(node: Node, arm: FloatArray | None, knuckle: float | None, second: int, stamp: float) -> RobotPose | None:
    transforms = Buffer()
    if arm is not None:
        tell(transforms, dict(zip(ROBOT.arm_joints, arm.tolist(), strict=True)), second)
    if knuckle is not None:
        tell(transforms, {ROBOT.gripper.joint: knuckle}, second)
    return RobotOnTf(node, transforms, ROBOT, SHAPE)(frame_at(stamp))


@pytest.mark.parametrize("stamp", [10.0, 10.3, 9.8])
def test_the_joints_and_the_jaws_are_those_of_the_links_at_about_the_images_time(node: Node, stamp: float) -> None:
    at = asked(node, Q, ROBOT.gripper.joint_position(0.03), 10, stamp)
    assert at is not None
    np.testing.assert_allclose(at.q, Q, atol=1e-6)
    assert at.opening_m == pytest.approx(0.03, abs=1e-6)
    assert at.held == ()


@pytest.mark.parametrize(("arm", "stamp"), [(None, 10.0), (Q, 11.0), (Q[:3], 10.0)])
def test_an_image_stays_as_it_is_where_nobody_says_where_the_robot_was_then(
    node: Node, arm: FloatArray | None, stamp: float
) -> None:
    transforms = Buffer()
    if arm is not None:
        tell(transforms, dict(zip(ROBOT.arm_joints, arm.tolist(), strict=False)), 10)
    assert RobotOnTf(node, transforms, ROBOT, SHAPE)(frame_at(stamp)) is None


def test_jaws_that_nobody_publishes_count_as_open(node: Node) -> None:
    at = asked(node, Q, None, 10, 10.0)
    assert at is not None
    assert at.opening_m == ROBOT.gripper.max_opening


def test_what_the_motion_node_holds_is_known_to_cameras_that_come_later_until_it_is_let_go(
    node: Node, make_node: Any, wait_until: Any
) -> None:
    transforms, publisher = Buffer(), HeldPublisher(make_node("holding"), ROBOT)
    tell(transforms, dict(zip(ROBOT.arm_joints, Q.tolist(), strict=True)), 10)
    box = Box(pose(rotation_about(np.array([0.0, 0.0, 1.0]), 0.3), (0.0, 0.01, 0.12)), np.array([0.03, 0.02, 0.08]))
    publisher.tell(box)
    where = RobotOnTf(node, transforms, ROBOT, SHAPE)

    def held() -> tuple[Box, ...]:
        at = where(frame_at(10.0))
        assert at is not None
        return at.held

    wait_until(lambda: len(held()) == 1, "it is known what is held")
    np.testing.assert_allclose(held()[0].T_parent_box, box.T_parent_box, atol=1e-9)
    np.testing.assert_allclose(held()[0].half_extents, box.half_extents)
    publisher.tell(None)
    wait_until(lambda: held() == (), "it is known that nothing is held")
