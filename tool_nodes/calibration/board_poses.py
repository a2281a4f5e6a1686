"""Poses of the board before a camera from its corners, each image by itself, and what they say of the intrinsics.

No robot is in it: how far the corners are from where the best pose has them is the noise of the images, and
intrinsics that fit the images better than those that were given are another camera's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes.calibration.detection import BoardCorners
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray

_ITERATIONS = 30
"""Gauss-Newton steps [-]; from a homography five to eight are needed."""
_STEP = 1e-10
"""Relative decrease of the squared error below which it has converged [-]."""
_NOISE_FLOOR_PX = 0.02
"""Least standard deviation of a corner that is believed [px]: what blur and sampling shift all corners of an image
together is not in its residuals."""


def turned(T: FloatArray, step: FloatArray) -> FloatArray:
    """The pose (4, 4) moved in its own frame by a step (6,): translation [m], then rotation vector [rad]."""
    return T @ pose(Rotation.from_rotvec(step[3:]).as_matrix(), step[:3])


def cross(points: FloatArray) -> FloatArray:
    """(k, 3, 3) matrices whose product with a vector is the cross product of points (k, 3) with it."""
    matrix = np.zeros((len(points), 3, 3))
    x, y, z = points.T
    matrix[:, 0, 1], matrix[:, 0, 2] = -z, y
    matrix[:, 1, 0], matrix[:, 1, 2] = z, -x
    matrix[:, 2, 0], matrix[:, 2, 1] = -y, x
    return matrix


def seen_at(points: FloatArray, K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pixels (k, 2) [px] of points (k, 3) before the camera [m], and their derivatives (k, 2, 3) [px/m]."""
    x, y, z = points.T
    pixels = np.column_stack([K[0, 0] * x / z + K[0, 2], K[1, 1] * y / z + K[1, 2]])
    derivative = np.zeros((len(points), 2, 3))
    derivative[:, 0, 0], derivative[:, 0, 2] = K[0, 0] / z, -K[0, 0] * x / z**2
    derivative[:, 1, 1], derivative[:, 1, 2] = K[1, 1] / z, -K[1, 1] * y / z**2
    return pixels, derivative


def board_pose(corners: BoardCorners, points: FloatArray, K: FloatArray) -> FloatArray:
    """T_camera_board (4, 4) that fits the corners of one image best.

    Args:
        corners: Where they are in the image.
        points: (N, 3) all corners in the board's frame [m].
        K: (3, 3) intrinsics [px].

    Raises:
        ToolError: IMAGE_UNUSABLE where no pose before the camera has them there.
    """
    own = points[corners.ids]
    T = _from_homography(corners.pixels, own, K)
    before = np.inf
    for _ in range(_ITERATIONS):
        residual, jacobian = _reprojection(T, corners.pixels, own, K)
        error = float(residual @ residual)
        if not np.isfinite(error):
            break
        if before - error < _STEP * before:
            return T
        before = error
        T = turned(T, np.linalg.lstsq(jacobian, residual, rcond=None)[0].astype(float))
    raise ToolError(
        ErrorCode.IMAGE_UNUSABLE,
        "The corners in the picture fit no pose of the board.",
        "Take the picture again, with the whole board flat and in view.",
    )


def _from_homography(pixels: FloatArray, points: FloatArray, K: FloatArray) -> FloatArray:
    """A first pose (4, 4) from the homography of the board's plane."""
    rays = np.column_stack([(pixels[:, 0] - K[0, 2]) / K[0, 0], (pixels[:, 1] - K[1, 2]) / K[1, 1]])
    middle, scale = points[:, :2].mean(axis=0), float(np.ptp(points[:, :2], axis=0).max())
    plane = np.column_stack([(points[:, :2] - middle) / scale, np.ones(len(points))])
    zero = np.zeros_like(plane)
    A = np.vstack([np.hstack([plane, zero, -rays[:, :1] * plane]), np.hstack([zero, plane, -rays[:, 1:] * plane])])
    H = np.linalg.svd(A)[2][-1].reshape(3, 3)
    H = H * np.sign(H[2, 2])
    length = (np.linalg.norm(H[:, 0]) + np.linalg.norm(H[:, 1])) / 2.0
    H = H * (scale / length)  # the scale of the columns, from units of the plane to metres
    x, y, t = H[:, 0] / scale, H[:, 1] / scale, H[:, 2]
    U, _, Vt = np.linalg.svd(np.column_stack([x, y, np.cross(x, y)]))
    R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
    return pose(R, t - R @ np.array([*middle, 0.0]))


def _reprojection(
    T: FloatArray, pixels: FloatArray, points: FloatArray, K: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Measured less predicted pixels (2k,), and the derivatives (2k, 6) of the predicted ones by a step of the pose."""
    before = points @ T[:3, :3].T + T[:3, 3]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        predicted, by_point = seen_at(before, K)
    moved = np.concatenate([np.broadcast_to(T[:3, :3], (len(points), 3, 3)), -T[:3, :3] @ cross(points)], axis=2)
    return (pixels - predicted).ravel(), (by_point @ moved).reshape(-1, 6)


@dataclass(frozen=True)
class IntrinsicsCheck:
    """Intrinsics as the images have them, beside those that were given.

    Attributes:
        noise_px: Standard deviation of a corner's coordinate [px].
        values: (5,) fx, fy, cx, cy [px] and the radial distortion k1 [-] that fit the images best.
        sd: (5,) their standard deviations.
        edge_px: By how much k1 moves a point half an image's width from the middle [px].
    """

    noise_px: float
    values: FloatArray
    sd: FloatArray
    edge_px: float


def check_intrinsics(
    seen: Sequence[BoardCorners], poses: Sequence[FloatArray], points: FloatArray, K: FloatArray, width: int
) -> IntrinsicsCheck:
    """The intrinsics that fit all images best, each with the board at a free pose.

    Args:
        seen: Corners of each of n images.
        poses: n first poses T_camera_board (4, 4), of `board_pose`.
        points: (N, 3) all corners in the board's frame [m].
        K: (3, 3) given intrinsics [px].
        width: Width of the images [px].
    """
    noise_px = _noise(seen, poses, points, K)
    values = np.array([K[0, 0], K[1, 1], K[0, 2], K[1, 2], 0.0])
    poses = list(poses)
    normal = np.eye(5)
    before = np.inf
    for _ in range(_ITERATIONS):
        parts = [_free_intrinsics(T, own, points, values) for T, own in zip(poses, seen, strict=True)]
        error = sum(float(residual @ residual) for residual, _, _ in parts)
        normal, right = np.zeros((5, 5)), np.zeros(5)
        blocks = []
        for residual, by_values, by_pose in parts:  # the poses are eliminated: each is in one image alone
            inverse = np.linalg.pinv(by_pose.T @ by_pose)
            mixed = by_values.T @ by_pose
            normal += by_values.T @ by_values - mixed @ inverse @ mixed.T
            right += by_values.T @ residual - mixed @ inverse @ (by_pose.T @ residual)
            blocks.append((inverse, mixed, by_pose.T @ residual))
        if before - error < _STEP * before:
            break
        before = error
        step = np.linalg.pinv(normal, hermitian=True) @ right
        values = values + step
        poses = [
            turned(T, inverse @ (own - mixed.T @ step)) for T, (inverse, mixed, own) in zip(poses, blocks, strict=True)
        ]
    free_noise = _noise_of(sum(2 * len(own.ids) for own in seen), 5 + 6 * len(poses), before)
    sd = free_noise * np.sqrt(np.maximum(np.diag(np.linalg.pinv(normal, hermitian=True)), 0.0))
    r = width / 2.0 / values[0]
    return IntrinsicsCheck(
        max(min(noise_px, free_noise), _NOISE_FLOOR_PX), values, sd, values[0] * abs(values[4]) * r**3
    )


def _free_intrinsics(
    T: FloatArray, own: BoardCorners, points: FloatArray, values: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Residuals (2k,) of one image and the derivatives of its predicted pixels by fx, fy, cx, cy, k1 and the pose."""
    fx, fy, cx, cy, k1 = values
    before = points[own.ids] @ T[:3, :3].T + T[:3, 3]
    x, y = before[:, 0] / before[:, 2], before[:, 1] / before[:, 2]
    r2 = x * x + y * y
    factor = 1.0 + k1 * r2
    predicted = np.column_stack([fx * x * factor + cx, fy * y * factor + cy])
    k = len(x)
    by_values = np.zeros((k, 2, 5))
    by_values[:, 0, 0], by_values[:, 1, 1] = x * factor, y * factor
    by_values[:, 0, 2] = by_values[:, 1, 3] = 1.0
    by_values[:, 0, 4], by_values[:, 1, 4] = fx * x * r2, fy * y * r2
    # k1 is small: its share in the derivatives by the pose is left out, which costs an iteration and no accuracy
    _, by_pose = _reprojection(T, own.pixels, points[own.ids], np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1.0]]))
    return (own.pixels - predicted).ravel(), by_values.reshape(-1, 5), by_pose


def _noise(seen: Sequence[BoardCorners], poses: Sequence[FloatArray], points: FloatArray, K: FloatArray) -> float:
    squares = [
        float(np.sum(_reprojection(T, own.pixels, points[own.ids], K)[0] ** 2))
        for T, own in zip(poses, seen, strict=True)
    ]
    return _noise_of(sum(2 * len(own.ids) for own in seen), 6 * len(poses), sum(squares))


def _noise_of(measured: int, unknown: int, squares: float) -> float:
    """Standard deviation of one measured coordinate [px]."""
    return float(np.sqrt(squares / max(measured - unknown, 1)))
