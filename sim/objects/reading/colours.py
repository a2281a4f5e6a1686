"""Few colours of a textured surface: a physics model has one for each geom."""

from __future__ import annotations

import numpy as np

from toolhand.sim.objects.mesh_asset import Skin
from toolhand.sim.objects.meshes import TriangleMesh
from toolhand.tool_nodes.types import FloatArray

_COLOURS = 8
"""Colours of an object [-]: print on a packet stays legible as patches; each costs the cameras a geom."""
_ROUNDS = 12
"""Rounds of k-means [-]; the colours stand still after fewer."""
_NEAR = 0.06
"""Colours nearer to each other than this in sRGB are one [-]: less than shading does."""
PLAIN = (0.62, 0.62, 0.60)
"""Colour of what has none, sRGB in [0, 1]: that of a cast without paint."""


def skins(corners: FloatArray, rgb: FloatArray) -> tuple[Skin, ...]:
    """A surface in few colours, the one with the largest area first.

    Args:
        corners: (K, 3, 3) corners of triangles, body frame [m].
        rgb: (K, 3) their colours in [0, 1]; NaN where there is none.
    """
    rgb = np.where(np.isfinite(rgb), np.clip(rgb, 0, 1), PLAIN)
    a, b, c = np.moveaxis(corners, 1, 0)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    corners, rgb, area = (array[area > 0] for array in (corners, rgb, area))
    colours = _main_colours(rgb, area)
    nearest = np.argmin(((rgb[:, None] - colours) ** 2).sum(axis=2), axis=1)
    share = np.bincount(nearest, area, len(colours))
    found = []
    for k in np.argsort(-share, kind="stable"):
        chosen = corners[nearest == k].reshape(-1, 3)
        if len(chosen):
            vertices, rows = np.unique(chosen, axis=0, return_inverse=True)
            mesh = TriangleMesh(vertices, rows.reshape(-1, 3).astype(np.int32))
            red, green, blue = np.average(rgb[nearest == k], axis=0, weights=area[nearest == k]).tolist()
            found.append(Skin(mesh, (red, green, blue)))
    return tuple(found)


def _main_colours(rgb: FloatArray, area: FloatArray) -> FloatArray:
    """(C, 3) colours that stand for all: the farthest from those before, then k-means over the area."""
    cells, rows = np.unique(np.round(rgb * 31).astype(int), axis=0, return_inverse=True)
    weight = np.bincount(rows.ravel(), area)
    points = cells / 31
    chosen = [points[np.argmax(weight)]]
    while len(chosen) < _COLOURS:
        apart = np.min([((points - colour) ** 2).sum(axis=1) for colour in chosen], axis=0)
        if apart.max() <= _NEAR**2:
            break
        # Weighed by area, so that a few triangles of another colour take no place of a large label's.
        chosen.append(points[np.argmax(apart * weight)])
    colours = np.array(chosen)
    for _ in range(_ROUNDS):
        nearest = np.argmin(((points[:, None] - colours) ** 2).sum(axis=2), axis=1)
        for k in range(len(colours)):
            if (nearest == k).any():
                colours[k] = np.average(points[nearest == k], axis=0, weights=weight[nearest == k])
    return colours
