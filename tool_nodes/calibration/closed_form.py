"""A first solution of the hand-eye problem without iteration: rotation by singular values, then translation.

With X the camera, Z the board, G_i what the robot says and C_i what image i says, X C_i = G_i Z. Two images leave
Z out: A X = X B with A = G_i G_j^-1 and B = C_i C_j^-1. The rotation vectors of all A are those of all B, turned by X
(Park and Martin 1994).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from toolhand.tool_nodes.geometry import invert, pose
from toolhand.tool_nodes.types import FloatArray


def turns(G: FloatArray) -> tuple[float, float]:
    """How much poses (n, 4, 4) turn against each other: root mean square of the angles between two of them, about the
    axis about which they turn most, and about the second [rad]."""
    first, second = _pairs(len(G))
    a = Rotation.from_matrix(G[first, :3, :3] @ np.swapaxes(G[second, :3, :3], 1, 2)).as_rotvec()
    spread = np.linalg.svd(a / np.sqrt(len(a)), compute_uv=False)
    return float(spread[0]), float(spread[1])


def solve_closed_form(G: FloatArray, C: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The X and Z that come near to X C_i = G_i Z in all n images.

    Args:
        G: (n, 4, 4) poses by the robot; n is 3 or more.
        C: (n, 4, 4) T_camera_board by the images.
    """
    first, second = _pairs(len(G))
    A, B = G[first] @ invert(G[second]), C[first] @ invert(C[second])
    a, b = (Rotation.from_matrix(M[:, :3, :3]).as_rotvec() for M in (A, B))
    R = Rotation.align_vectors(a, b)[0].as_matrix()
    left = (A[:, :3, :3] - np.eye(3)).reshape(-1, 3)
    right = (B[:, :3, 3] @ R.T - A[:, :3, 3]).ravel()
    X = pose(R, np.linalg.lstsq(left, right, rcond=None)[0])
    Z = invert(G) @ X @ C
    return X, pose(Rotation.from_matrix(Z[:, :3, :3]).mean().as_matrix(), Z[:, :3, 3].mean(axis=0))


def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    both = np.array(list(combinations(range(n), 2)), dtype=np.intp)
    return both[:, 0], both[:, 1]
