"""Rigid transforms against 4x4 matrices, and interpolation."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import (
    PointStamped,
    PolygonStamped,
    PoseStamped,
    PoseWithCovarianceStamped,
    QuaternionStamped,
    TransformStamped,
    Vector3Stamped,
)
from hypothesis import assume, given
from hypothesis import strategies as st
from tf2_geometry_msgs import (
    do_transform_point,
    do_transform_polygon_stamped,
    do_transform_pose_stamped,
    do_transform_pose_with_covariance_stamped,
    do_transform_quaternion,
    do_transform_vector3,
)
from tf2_py._rigid import IDENTITY, Rigid, interpolate, normalize, slerp

numbers = st.floats(-100, 100)
vectors = st.tuples(numbers, numbers, numbers)


@st.composite
def rotations(draw):
    quaternion = draw(st.tuples(*[st.floats(-1, 1)] * 4))
    assume(math.hypot(*quaternion) > 0.1)
    return normalize(quaternion)


rigids = st.builds(Rigid, rotations(), vectors)


def matrix(rigid):
    """The 4x4 matrix, by the textbook's formula."""
    x, y, z, w = rigid.rotation
    result = np.eye(4)
    result[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    result[:3, 3] = rigid.translation
    return result


def close(a, b):
    return np.allclose(a, b, atol=1e-9)


@given(rigids, rigids)
def test_composition_is_the_product_of_matrices(a, b):
    assert close(matrix(a @ b), matrix(a) @ matrix(b))


@given(rigids)
def test_the_inverse_undoes_a_transform(a):
    assert close(matrix(a.inverse()), np.linalg.inv(matrix(a)))
    assert close(matrix(a @ a.inverse()), np.eye(4))


@given(rigids, vectors)
def test_a_point_is_moved_as_by_the_matrix(a, point):
    assert close(a.apply(point), (matrix(a) @ [*point, 1])[:3])


@given(rigids, rigids)
def test_interpolation_begins_and_ends_at_its_arguments(a, b):
    assert close(matrix(interpolate(a, b, 0.0)), matrix(a))
    assert close(matrix(interpolate(a, b, 1.0)), matrix(b))


@given(rotations(), rotations(), st.floats(0, 1))
def test_slerp_turns_at_an_even_speed_along_the_shorter_way(a, b, ratio):
    def angle(p, q):
        return 2 * math.acos(min(1.0, abs(float(np.dot(p, q)))))

    middle = slerp(a, b, ratio)
    assert math.isclose(math.hypot(*middle), 1, abs_tol=1e-12)
    assert math.isclose(angle(a, middle), ratio * angle(a, b), abs_tol=1e-6)
    assert angle(a, b) <= math.pi + 1e-9


def test_slerp_between_opposite_quaternions_stays():
    assert close(matrix(Rigid(slerp((0, 0, 0, 1), (0, 0, 0, -1), 0.3), (0, 0, 0))), np.eye(4))


def message(rigid):
    transform = TransformStamped()
    transform.header.frame_id = "target"
    rotation, translation = transform.transform.rotation, transform.transform.translation
    rotation.x, rotation.y, rotation.z, rotation.w = rigid.rotation
    translation.x, translation.y, translation.z = rigid.translation
    return transform


def xyz(point):
    return [point.x, point.y, point.z]


def as_rigid(pose):
    q = pose.orientation
    return Rigid((q.x, q.y, q.z, q.w), tuple(xyz(pose.position)))


@given(rigids, rigids)
def test_messages_are_moved_as_by_the_matrix(a, b):
    transform = message(a)
    point, vector, pose = PointStamped(), Vector3Stamped(), PoseStamped()
    for part in (point.point, vector.vector, pose.pose.position):
        part.x, part.y, part.z = b.translation
    q = pose.pose.orientation
    q.x, q.y, q.z, q.w = b.rotation
    rotation = QuaternionStamped(quaternion=q)

    assert close(xyz(do_transform_point(point, transform).point), (matrix(a) @ [*b.translation, 1])[:3])
    assert close(xyz(do_transform_vector3(vector, transform).vector), matrix(a)[:3, :3] @ b.translation)
    moved = do_transform_pose_stamped(pose, transform)
    assert close(matrix(as_rigid(moved.pose)), matrix(a) @ matrix(b))
    assert moved.header.frame_id == "target"
    turned = do_transform_quaternion(rotation, transform).quaternion
    assert close(
        matrix(Rigid((turned.x, turned.y, turned.z, turned.w), (0, 0, 0)))[:3, :3],
        (matrix(a) @ matrix(b))[:3, :3],
    )
    assert xyz(transform.transform.translation) == list(a.translation)  # the transform is as before


def test_a_covariance_is_rotated_in_blocks():
    quarter_turn = Rigid((0.0, 0.0, math.sqrt(0.5), math.sqrt(0.5)), (1.0, 2.0, 3.0))
    pose = PoseWithCovarianceStamped()
    pose.pose.covariance = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).ravel()
    moved = do_transform_pose_with_covariance_stamped(pose, message(quarter_turn))
    assert close(np.reshape(moved.pose.covariance, (6, 6)), np.diag([2, 1, 3, 5, 4, 6]))


def test_a_pose_with_an_orientation_of_zeros_counts_as_not_rotated():
    pose = PoseStamped()
    pose.pose.orientation.w = 0.0
    assert as_rigid(do_transform_pose_stamped(pose, message(IDENTITY)).pose) == IDENTITY


def test_a_polygon_is_moved_point_by_point():
    from geometry_msgs.msg import Point32, Polygon

    polygon = PolygonStamped(polygon=Polygon(points=[Point32(x=1.0), Point32(y=1.0)]))
    moved = do_transform_polygon_stamped(polygon, message(Rigid(IDENTITY.rotation, (0.0, 0.0, 2.0))))
    assert [xyz(point) for point in moved.polygon.points] == [[1, 0, 2], [0, 1, 2]]


def test_an_unknown_class_cannot_be_transformed():
    import tf2_ros

    with pytest.raises(tf2_ros.TypeException, match="not loaded or supported"):
        tf2_ros.TransformRegistration().get(str)
