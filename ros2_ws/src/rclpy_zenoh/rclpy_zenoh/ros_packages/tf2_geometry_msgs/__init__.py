"""Transforming messages of geometry_msgs; importing it registers them for `Buffer.transform`."""

from tf2_geometry_msgs.tf2_geometry_msgs import (
    do_transform_point,
    do_transform_polygon_stamped,
    do_transform_pose,
    do_transform_pose_stamped,
    do_transform_pose_with_covariance_stamped,
    do_transform_quaternion,
    do_transform_vector3,
    transform_covariance,
)

__all__ = [
    "do_transform_point",
    "do_transform_polygon_stamped",
    "do_transform_pose",
    "do_transform_pose_stamped",
    "do_transform_pose_with_covariance_stamped",
    "do_transform_quaternion",
    "do_transform_vector3",
    "transform_covariance",
]
