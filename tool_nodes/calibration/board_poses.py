"""Poses of the board before a camera from its corners, each image by itself, and what they say of the intrinsics.

No robot is in it: how far the corners are from where the best pose has them is the noise of the images, and
intrinsics that fit the images better than those that were given are another camera's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes.calibration.detection import BoardCorners, opencv
from toolhand.tool_nodes.geometry import pose
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray

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
    cv2 = opencv()
    own = points[corners.ids]
    try:
        found, rotation, position = cv2.solvePnP(own, corners.pixels, K, None, flags=cv2.SOLVEPNP_IPPE)
    except cv2.error:  # corners in one line, or numbers that are none
        found = False
    if found:
        rotation, position = cv2.solvePnPRefineLM(own, corners.pixels, K, None, rotation, position)
        T = pose(Rotation.from_rotvec(rotation.ravel()).as_matrix(), position.ravel())
        if np.isfinite(T).all() and T[2, 3] > 0.0:
            return T
    raise ToolError(
        ErrorCode.IMAGE_UNUSABLE,
        "The corners in the picture fit no pose of the board.",
        "Take the picture again, with the whole board flat and in view.",
    )


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
    seen: Sequence[BoardCorners],
    poses: Sequence[FloatArray],
    points: FloatArray,
    K: FloatArray,
    size: tuple[int, int],
) -> IntrinsicsCheck:
    """The intrinsics that fit all images best, each with the board at a free pose.

    Args:
        seen: Corners of each of n images.
        poses: n poses T_camera_board (4, 4), of `board_pose`.
        points: (N, 3) all corners in the board's frame [m].
        K: (3, 3) given intrinsics [px].
        size: (width, height) of the images [px].
    """
    cv2 = opencv()
    flags = cv2.CALIB_USE_INTRINSIC_GUESS | cv2.CALIB_ZERO_TANGENT_DIST | cv2.CALIB_FIX_K2 | cv2.CALIB_FIX_K3
    placed = [points[own.ids].astype(np.float32) for own in seen]
    pixels = [own.pixels.astype(np.float32) for own in seen]
    begin = np.array([[K[0, 0], 0.0, K[0, 2]], [0.0, K[1, 1], K[1, 2]], [0.0, 0.0, 1.0]])  # OpenCV refuses any skew
    rms, free, lens, _, _, deviations, *_ = cv2.calibrateCameraExtended(placed, pixels, size, begin, None, flags=flags)
    values = np.array([free[0, 0], free[1, 1], free[0, 2], free[1, 2], lens.ravel()[0]])
    count, unknown = sum(len(own.ids) for own in seen), 6 * len(poses)
    squares = sum(
        float(np.sum((own.pixels - seen_at(points[own.ids] @ T[:3, :3].T + T[:3, 3], K)[0]) ** 2))
        for T, own in zip(poses, seen, strict=True)
    )
    noise_px = min(_noise(2 * count, unknown, squares), _noise(2 * count, unknown + 5, count * rms**2))
    r = size[0] / 2.0 / values[0]
    return IntrinsicsCheck(
        max(noise_px, _NOISE_FLOOR_PX), values, deviations.ravel()[:5].astype(float), values[0] * abs(values[4]) * r**3
    )


def _noise(measured: int, unknown: int, squares: float) -> float:
    """Standard deviation of one measured coordinate [px]."""
    return float(np.sqrt(squares / max(measured - unknown, 1)))
