"""Rigid transforms and the pinhole camera.

`T_a_b` is a (4, 4) matrix that maps b coordinates to a coordinates. Camera frames follow OpenCV:
x right, y down, z forward.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

_Float = TypeVar("_Float", np.float32, np.float64)

QUATERNION_DECIMALS = 12
"""Decimals of a quaternion's components as shares of its largest: 1e-12 rad, far above the rounding of doubles and far
below what an arm can resolve."""

ROUNDED = 1e-3
"""Largest deviation from rigid of poses that others have made, perhaps in float32, which comes within 1e-6 [-]."""
_FEW = 3000
"""Coordinates up to which a matrix product transforms points faster than sums by axis [-]. For an image's cloud the
sums take 1.5 ms of processor time, the product 2 ms, or 6 ms where BLAS has its threads wait for one another."""
_AT_ONCE = 16384
"""Points that are mapped together [-]: what is in between stays in a core's cache."""


def pose(R: ArrayLike, p: ArrayLike) -> FloatArray:
    """The (4, 4) transform with rotation R (3, 3) and translation p (3,) [m]."""
    T = np.eye(4)
    T[:3, :3] = R
    T[:3, 3] = p
    return T


def shifted(T: ArrayLike, by: ArrayLike) -> FloatArray:
    """The pose (4, 4) moved by (3,) [m], along the axes of the frame that it is in."""
    moved = np.array(T, float)
    moved[:3, 3] += by
    return moved


def invert(T: ArrayLike) -> FloatArray:
    """The inverse of a rigid transform (4, 4), or of a stack of them (..., 4, 4)."""
    T = np.asarray(T, dtype=float)
    R_inverse = np.swapaxes(T[..., :3, :3], -1, -2)
    inverse = np.zeros_like(T)
    inverse[..., :3, :3] = R_inverse
    inverse[..., :3, 3] = -(R_inverse @ T[..., :3, 3, None])[..., 0]
    inverse[..., 3, 3] = 1.0
    return inverse


def is_rigid(T: ArrayLike, tolerance: float = 1e-6) -> bool:
    """Whether all of (..., 4, 4) are finite rigid transforms.

    Args:
        T: The matrices.
        tolerance: Largest deviation of a rotation from orthonormal, and of the last row from 0, 0, 0, 1 [-]. float32
            comes within 1e-6.
    """
    try:
        T = np.asarray(T, dtype=float)
    except (TypeError, ValueError):
        return False
    if T.shape[-2:] != (4, 4) or not np.isfinite(T).all():
        return False
    R = T[..., :3, :3]
    skewed = np.abs(R @ np.swapaxes(R, -1, -2) - np.eye(3)).max(initial=0.0) > tolerance
    below = np.abs(T[..., 3, :] - [0.0, 0.0, 0.0, 1.0]).max(initial=0.0) > tolerance
    return bool(not skewed and not below and (np.linalg.det(R) > 0.0).all())


def transform(T: FloatArray, points: NDArray[_Float]) -> NDArray[_Float]:
    """Maps points (..., 3) by T (4, 4). Keeps the points' dtype and their NaN rows."""
    if points.size < _FEW:
        return points @ T[:3, :3].T.astype(points.dtype) + T[:3, 3].astype(points.dtype)
    return transform_part(T, points)


def transform_part(T: FloatArray, points: NDArray[_Float]) -> NDArray[_Float]:
    """`transform` that gives the same bytes for a part of a cloud as for all of it."""
    rows = points.reshape(-1, 3)
    mapped = np.empty(rows.shape, points.dtype)
    for at in range(0, len(rows), _AT_ONCE):
        some = np.ascontiguousarray(rows[at : at + _AT_ONCE].T)
        for axis in range(3):
            mapped[at : at + _AT_ONCE, axis] = _coordinate(T[axis], some)
    return mapped.reshape(points.shape)


def heights(T: FloatArray, points: NDArray[_Float]) -> NDArray[_Float]:
    """(N,) the third coordinate of points (N, 3) mapped by T (4, 4): of an image's cloud a third of the work."""
    return _coordinate(T[2], points.T)


def _coordinate(row: FloatArray, xyz: NDArray[_Float]) -> NDArray[_Float]:
    """(N,) one coordinate of points (3, N) mapped by a row (4,) of a pose."""
    a, b, c, d = row.astype(xyz.dtype)
    along = a * xyz[0]
    along += b * xyz[1]
    along += c * xyz[2]
    along += d
    return along


def rotation_z(yaw: float) -> FloatArray:
    """The (3, 3) rotation about z by yaw [rad]."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_angle(Ra: ArrayLike, Rb: ArrayLike) -> float:
    """Angle [rad] in [0, pi] of the rotation that takes Ra (3, 3) to Rb (3, 3)."""
    R = np.asarray(Ra, dtype=float).T @ np.asarray(Rb, dtype=float)
    sine = 0.5 * np.linalg.norm([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    return float(np.arctan2(sine, 0.5 * (np.trace(R) - 1.0)))


def quat_wxyz_from_matrix(R: ArrayLike) -> FloatArray:
    """The unit quaternion (4,) of a rotation (3, 3), with w >= 0."""
    m = np.asarray(R, dtype=float)
    xx, yy, zz = m[0, 0], m[1, 1], m[2, 2]
    # Each row is 4 * q_i * q; the row with the largest diagonal is the best conditioned.
    rows = np.array(
        [
            [1.0 + xx + yy + zz, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [m[2, 1] - m[1, 2], 1.0 + xx - yy - zz, m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
            [m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], 1.0 - xx + yy - zz, m[1, 2] + m[2, 1]],
            [m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], 1.0 - xx - yy + zz],
        ]
    )
    quat = rows[int(np.argmax(np.diag(rows)))]
    quat = quat / np.linalg.norm(quat)
    return -quat if quat[0] < 0.0 else quat


def matrix_from_quat_wxyz(quat_wxyz: ArrayLike) -> FloatArray:
    """The rotation (3, 3) of a quaternion (4,); it need not be normalized.

    Raises:
        ToolError: INVALID_ARGUMENT when the quaternion is zero or not finite.
    """
    quat = np.asarray(quat_wxyz, dtype=float)
    norm = float(np.linalg.norm(quat))
    if quat.shape != (4,) or not np.isfinite(norm) or norm < 1e-9:
        raise invalid("A quaternion needs four finite numbers (w, x, y, z) that are not all zero.")
    w, x, y, z = quat / norm
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )


def carried(T: ArrayLike) -> FloatArray:
    """A rigid transform (4, 4) as a message carries it, so that a pose is the same in process and over ROS.

    A message holds a quaternion, and neither a matrix in single precision nor the rounding of the way there comes back
    to the last bit. What this returns does, from `carried_rotation` of its quaternion, and is its own `carried`.
    """
    T = np.asarray(T, dtype=float)
    return pose(carried_rotation(quat_wxyz_from_matrix(T[:3, :3])), T[:3, 3] + 0.0)


def carried_rotation(quat_wxyz: ArrayLike) -> FloatArray:
    """The rotation (3, 3) of a quaternion (4,) of any length, rounded to QUATERNION_DECIMALS.

    Raises:
        ToolError: INVALID_ARGUMENT when the quaternion is zero or not finite.
    """
    quat = np.asarray(quat_wxyz, dtype=float)
    largest = quat[int(np.argmax(np.abs(quat)))]
    if largest and np.isfinite(quat).all():
        # Unlike the components, their shares of the largest are the same before and after it is normalized.
        quat = np.round(quat / largest, QUATERNION_DECIMALS)
    return matrix_from_quat_wxyz(quat) + 0.0  # no negative zeros, which a product with the identity would lose


def look_at(position: ArrayLike, target: ArrayLike) -> FloatArray:
    """T_base_camera (4, 4) of an OpenCV camera at position that looks at target (3,) [m], upright.

    Raises:
        ToolError: INVALID_ARGUMENT when position and target are the same point.
    """
    eye = np.asarray(position, dtype=float)
    forward = np.asarray(target, dtype=float) - eye
    distance = np.linalg.norm(forward)
    if not distance > 1e-9:
        raise invalid("A camera's position and target must be two different points.")
    forward = forward / distance
    up = np.array([0.0, 0.0, 1.0])
    if abs(forward @ up) > 1.0 - 1e-9:
        # Straight up or down has no upright; the base's x axis is then the top of the image.
        up = np.array([1.0, 0.0, 0.0])
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    return pose(np.column_stack([right, np.cross(forward, right), forward]), eye)


def intrinsics(focal_px: float, width: int, height: int) -> FloatArray:
    """K (3, 3) of a pinhole camera whose optical axis passes through the middle of the image.

    Pixel (u, v) means the centre of the pixel, so the middle is ((width - 1) / 2, (height - 1) / 2).
    """
    return np.array([[focal_px, 0.0, (width - 1) / 2.0], [0.0, focal_px, (height - 1) / 2.0], [0.0, 0.0, 1.0]])


def principal_point(cloud: NDArray[np.floating], size: tuple[int, int], focal_px: float) -> tuple[float, float]:
    """Where the optical axis meets the image that a cloud was made from; for a crop it may lie outside.

    Args:
        cloud: (H*W, 3) points in the camera frame [m], row-major, NaN where unknown.
        size: (width, height) of the image [px].
        focal_px: Focal length [px].

    Returns:
        (cx, cy) [px]; the middle of the image where the cloud knows no point.
    """
    width, height = size
    for step in (max(len(cloud) // 2003, 1), 1):  # a few points will do; where none of them is known, all are looked at
        looked_at = np.arange(0, len(cloud), step)
        chosen = looked_at[(cloud[looked_at, 2] > 0) & np.isfinite(cloud[looked_at]).all(axis=1)]
        if len(chosen):
            break
    else:
        return (width - 1) / 2.0, (height - 1) / 2.0
    x, y, z = cloud[chosen].T.astype(float)
    rows, columns = np.divmod(chosen, width)
    return float(np.median(columns - focal_px * x / z)), float(np.median(rows - focal_px * y / z))


def backproject(depth: NDArray[np.float32], K: FloatArray) -> NDArray[np.float32]:
    """The cloud (H*W, 3) [m] in the camera frame of a depth image (H, W) [m], row-major; NaN stays NaN."""
    height, width = depth.shape
    x = ((np.arange(width) - K[0, 2]) / K[0, 0]).astype(np.float32)
    y = ((np.arange(height) - K[1, 2]) / K[1, 1]).astype(np.float32)
    cloud = np.empty((height, width, 3), dtype=np.float32)
    np.multiply(depth, x[None, :], out=cloud[:, :, 0])
    np.multiply(depth, y[:, None], out=cloud[:, :, 1])
    cloud[:, :, 2] = depth
    return cloud.reshape(-1, 3)


def project(points: ArrayLike, K: FloatArray) -> FloatArray:
    """Pixel coordinates (N, 2) [px] of points (N, 3) [m] in the camera frame; NaN behind the camera."""
    points = np.asarray(points, dtype=float)
    z = np.where(points[:, 2] > 0.0, points[:, 2], np.nan)
    u = K[0, 0] * points[:, 0] / z + K[0, 2]
    v = K[1, 1] * points[:, 1] / z + K[1, 2]
    return np.column_stack([u, v])


def pixel(point_normalized: ArrayLike, size: tuple[int, int]) -> tuple[int, int]:
    """Pixel (u, v) of a normalized image point (x, y) in [0, 1] for an image of size (width, height).

    Raises:
        ToolError: INVALID_ARGUMENT when the point is not two numbers in [0, 1].
    """
    point = np.asarray(point_normalized, dtype=float)
    if point.shape != (2,) or not np.all((point >= 0.0) & (point <= 1.0)):
        raise invalid(f"An image point must be two numbers (x, y) between 0 and 1, but it is {point.tolist()}.")
    u, v = (min(int(value * extent), extent - 1) for value, extent in zip(point, size, strict=True))
    return u, v
