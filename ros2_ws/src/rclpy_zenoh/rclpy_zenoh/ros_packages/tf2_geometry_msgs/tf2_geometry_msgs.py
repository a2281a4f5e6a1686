"""Transforming messages of geometry_msgs. A transform turns coordinates of its child frame into those of its frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import tf2_ros
from geometry_msgs.msg import (
    Point32,
    PointStamped,
    PolygonStamped,
    Pose,
    PoseStamped,
    PoseWithCovarianceStamped,
    Quaternion,
    QuaternionStamped,
    TransformStamped,
    Vector3Stamped,
)
from numpy.typing import ArrayLike, NDArray
from tf2_py._rigid import Rigid, Vector, multiply, normalize, rotate


def do_transform_point(point: PointStamped, transform: TransformStamped) -> PointStamped:
    """The point, rotated and moved."""
    result = PointStamped(header=transform.header)
    _set_xyz(result.point, _rigid(transform).apply(_xyz(point.point)))
    return result


def do_transform_vector3(vector3: Vector3Stamped, transform: TransformStamped) -> Vector3Stamped:
    """The vector, rotated only."""
    result = Vector3Stamped(header=transform.header)
    _set_xyz(result.vector, rotate(_rigid(transform).rotation, _xyz(vector3.vector)))
    return result


def do_transform_quaternion(quaternion: QuaternionStamped, transform: TransformStamped) -> QuaternionStamped:
    """The rotation, turned by that of the transform."""
    q = quaternion.quaternion
    x, y, z, w = multiply(_rigid(transform).rotation, (q.x, q.y, q.z, q.w))
    return QuaternionStamped(header=transform.header, quaternion=Quaternion(x=x, y=y, z=z, w=w))


def do_transform_pose(pose: Pose, transform: TransformStamped) -> Pose:
    """The pose, its position rotated and moved and its orientation turned."""
    q = pose.orientation
    # An orientation of zeros, the default of older messages, means no rotation.
    rotation = normalize((q.x, q.y, q.z, q.w)) if any((q.x, q.y, q.z, q.w)) else (0.0, 0.0, 0.0, 1.0)
    moved = _rigid(transform) @ Rigid(rotation, _xyz(pose.position))
    result = Pose()
    _set_xyz(result.position, moved.translation)
    x, y, z, w = moved.rotation if moved.rotation[3] >= 0 else tuple(-part for part in moved.rotation)
    result.orientation = Quaternion(x=x, y=y, z=z, w=w)
    return result


def do_transform_pose_stamped(pose: PoseStamped, transform: TransformStamped) -> PoseStamped:
    """As `do_transform_pose`, with a header."""
    return PoseStamped(header=transform.header, pose=do_transform_pose(pose.pose, transform))


def do_transform_pose_with_covariance_stamped(
    pose: PoseWithCovarianceStamped, transform: TransformStamped
) -> PoseWithCovarianceStamped:
    """As `do_transform_pose_stamped`, with the covariance rotated."""
    result = PoseWithCovarianceStamped(header=transform.header)
    result.pose.pose = do_transform_pose(pose.pose.pose, transform)
    result.pose.covariance = transform_covariance(pose.pose.covariance, transform)
    return result


def do_transform_polygon_stamped(polygon: PolygonStamped, transform: TransformStamped) -> PolygonStamped:
    """The polygon, its points rotated and moved."""
    rigid = _rigid(transform)
    result = PolygonStamped(header=transform.header)
    for point in polygon.polygon.points:
        moved = Point32()
        _set_xyz(moved, rigid.apply(_xyz(point)))
        result.polygon.points.append(moved)
    return result


def transform_covariance(cov_in: ArrayLike, transform: TransformStamped) -> NDArray[np.float64]:
    """A 6x6 covariance of position and rotation, row by row, rotated by the transform."""
    rotation = _rigid(transform).rotation
    matrix = np.array([rotate(rotation, axis) for axis in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))]).T
    both = np.kron(np.eye(2), matrix)
    covariance: NDArray[np.float64] = both @ np.reshape(cov_in, (6, 6)) @ both.T
    return covariance.ravel()


def _rigid(transform: TransformStamped) -> Rigid:
    q = transform.transform.rotation
    return Rigid(normalize((q.x, q.y, q.z, q.w)), _xyz(transform.transform.translation))


def _xyz(message: Any) -> Vector:
    return (message.x, message.y, message.z)


def _set_xyz(message: Any, values: Vector) -> None:
    message.x, message.y, message.z = values


def _same(message: Any) -> Any:
    return message


for _class in (Vector3Stamped, PoseStamped, PointStamped):
    tf2_ros.ConvertRegistration().add_to_msg(_class, _same)
    tf2_ros.ConvertRegistration().add_from_msg(_class, _same)
for _class, _function in (
    (PointStamped, do_transform_point),
    (Vector3Stamped, do_transform_vector3),
    (QuaternionStamped, do_transform_quaternion),
    (PoseStamped, do_transform_pose_stamped),
    (PoseWithCovarianceStamped, do_transform_pose_with_covariance_stamped),
    (PolygonStamped, do_transform_polygon_stamped),
):
    tf2_ros.TransformRegistration().add(_class, _function)
