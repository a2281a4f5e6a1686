"""Simple bodies as meshes: what URDF and MJCF describe by numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toolhand.sim.objects.meshes import TriangleMesh, convex_mesh
from toolhand.sim.objects.reading.assets import Placed
from toolhand.sim.objects.reading.mesh_files import RawMesh
from toolhand.tool_nodes.types import FloatArray

MOST_GEOMETRIES = 128
"""Geometries of an object [-]: a chest of drawers has nine; more is a robot."""
_CORNERS = 32
"""Corners of what is round [-]: flat to 0.2 mm at a radius of 40 mm."""
_BALL_CORNERS = 200
"""Corners of a ball [-]."""


@dataclass(frozen=True)
class DescribedObject:
    """What a file in XML says of an object.

    Attributes:
        meshes: Its geometry, in metres.
        mass: Sum of its links' masses [kg]; None where it gives none.
        friction: Sliding friction [-]; None where it gives none.
        remarks: A sentence for each part of the file that is not read.
    """

    meshes: tuple[Placed, ...]
    mass: float | None
    friction: float | None
    remarks: tuple[str, ...]


def box(half: FloatArray) -> RawMesh:
    """A box of half sides (3,)."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    return _raw(convex_mesh(corners))


def cylinder(radius: float, half: float) -> RawMesh:
    """A cylinder along z of half a length."""
    angle = np.arange(_CORNERS) * 2 * np.pi / _CORNERS
    circle = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return _raw(convex_mesh(np.vstack([np.column_stack([circle, np.full(_CORNERS, z)]) for z in (-half, half)])))


def ellipsoid(radii: FloatArray, half: float = 0.0) -> RawMesh:
    """An ellipsoid of radii (3,); with half a length, a capsule along z."""
    k = np.arange(_BALL_CORNERS) + 0.5
    z, azimuth = 1 - 2 * k / _BALL_CORNERS, np.pi * (1 + np.sqrt(5)) * k
    flat = np.sqrt(1 - z**2)
    points = np.column_stack([flat * np.cos(azimuth), flat * np.sin(azimuth), z]) * radii
    points[:, 2] += half * np.sign(points[:, 2])
    return _raw(convex_mesh(points))


def _raw(mesh: TriangleMesh) -> RawMesh:
    unpainted = np.full((len(mesh.faces), 3), np.nan)
    return RawMesh(mesh.vertices, mesh.faces, True, mesh.vertices[mesh.faces], unpainted)
