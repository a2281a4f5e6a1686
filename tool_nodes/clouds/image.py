"""A still image of a cloud, from anywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.geometry import intrinsics, invert, look_at, project, transform
from toolhand.tool_nodes.types import FloatArray

_FOCAL = 1.1
"""Focal length in shares of the image's width [-]: 49 degrees of view, as a ZED's."""
_NEAR_M = 0.05
"""Points nearer than this to the eye are not drawn [m]."""
_DOT_PX = 2
"""Side of a point [px]: the gaps between points of an image of as many pixels close."""
_PAPER = 32
"""Grey of what no point covers, of 255."""


def draw_cloud(
    points: FloatArray, colours: NDArray[np.uint8], eye: FloatArray, target: FloatArray, size: tuple[int, int]
) -> NDArray[np.uint8]:
    """An image (H, W, 3) of points (N, 3) [m] in their colours, uint8 (N, 3); nearer ones hide what is behind them.

    Args:
        points: Finite.
        colours: RGB of each.
        eye: (3,) where it is looked from [m].
        target: (3,) what it looks at [m].
        size: Width and height of the image [px].
    """
    width, height = size
    local = transform(invert(look_at(eye, target)), points)
    ahead = local[:, 2] > _NEAR_M
    local, shades = local[ahead], colours[ahead]
    corner = np.rint(project(local, intrinsics(_FOCAL * width, width, height))).astype(int)
    image = np.full((height, width, 3), _PAPER, np.uint8)
    order = np.argsort(-local[:, 2], kind="stable")  # what is nearer is drawn last
    for right in range(_DOT_PX):
        for down in range(_DOT_PX):
            u, v = corner[order, 0] + right, corner[order, 1] + down
            inside = (u >= 0) & (u < width) & (v >= 0) & (v < height)
            image[v[inside], u[inside]] = shades[order[inside]]
    return image
