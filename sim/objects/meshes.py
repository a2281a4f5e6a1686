"""Triangle meshes as plain arrays: convex hulls, mass properties, cuts by planes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from toolhand.tool_nodes.types import FloatArray

Faces = NDArray[np.int32]
"""Corners (M, 3) of triangles as rows of their vertices, counter-clockwise seen from outside."""

_SAME_SIDE_M = 1e-7
"""Vertices nearer to a plane than this lie in it [m]: far below what a camera or the physics distinguishes."""


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """Triangles in one frame.

    Attributes:
        vertices: (N, 3) [m].
        faces: (M, 3) rows of `vertices`, counter-clockwise seen from outside.
    """

    vertices: FloatArray
    faces: Faces


@dataclass(frozen=True, eq=False)
class MassProperties:
    """How the matter of an object is spread.

    Attributes:
        volume_m3: Volume [m^3].
        centre_m: (3,) centre of mass [m].
        inertia_m2: (3, 3) inertia about the centre of mass for each kilogram of mass [m^2].
    """

    volume_m3: float
    centre_m: FloatArray
    inertia_m2: FloatArray


def convex_mesh(points: FloatArray) -> TriangleMesh:
    """The convex hull of points (N, 3) with its faces outwards. Raises QhullError for what has no volume."""
    hull = ConvexHull(points)
    corners = points[hull.simplices]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inwards = np.einsum("ij,ij->i", normal, hull.equations[:, :3]) < 0
    simplices = np.where(inwards[:, None], hull.simplices[:, ::-1], hull.simplices)
    rows = np.full(len(points), -1, dtype=np.int32)
    rows[hull.vertices] = np.arange(len(hull.vertices))
    return TriangleMesh(points[hull.vertices], rows[simplices].astype(np.int32))


def joined(meshes: list[TriangleMesh]) -> TriangleMesh:
    """All triangles of some meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)]
    return TriangleMesh(np.vstack([mesh.vertices for mesh in meshes]), np.vstack(faces).astype(np.int32))


def mass_properties(mesh: TriangleMesh) -> MassProperties:
    """Those of a solid of even density inside a closed mesh; of several, as if they did not overlap.

    The volume is negative where the faces look inwards, and meaningless where the mesh is open.
    """
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    six = np.einsum("ij,ij->i", a, np.cross(b, c))  # six times the volume of the tetrahedron with the origin
    volume = float(six.sum() / 6)
    if volume == 0.0:
        return MassProperties(0.0, mesh.vertices.mean(axis=0), np.zeros((3, 3)))
    total = a + b + c
    centre = (six @ total) / 24 / volume
    # Integral of x x^T over a tetrahedron with one corner at the origin: (s s^T + a a^T + b b^T + c c^T) / 20 volumes.
    products = sum(np.einsum("i,ij,ik->jk", six, p, p) for p in (total, a, b, c)) / 120
    spread = products / volume - np.outer(centre, centre)
    return MassProperties(volume, centre, np.trace(spread) * np.eye(3) - spread)


def cut(mesh: TriangleMesh, normal: FloatArray, offset: float) -> TriangleMesh:
    """The same surface with no triangle on both sides of the plane normal (3,) . x = offset [m]."""
    height = mesh.vertices @ normal - offset
    side = np.where(np.abs(height) < _SAME_SIDE_M, 0, np.sign(height)).astype(int)
    of_faces = side[mesh.faces]
    crossed = (of_faces.min(axis=1) < 0) & (of_faces.max(axis=1) > 0)
    if not crossed.any():
        return mesh
    faces, sides = mesh.faces[crossed], of_faces[crossed]
    touching = (sides == 0).any(axis=1)
    # Turned so that a corner in the plane, or else the one that is alone on its side, comes first.
    alone = np.where(touching[:, None], sides == 0, sides * sides.sum(axis=1, keepdims=True) < 0)
    order = (np.argmax(alone, axis=1)[:, None] + np.arange(3)) % 3
    first, second, third = np.take_along_axis(faces, order, axis=1).T
    starts = np.concatenate([first[~touching], first[~touching], second[touching]])
    ends = np.concatenate([second[~touching], third[~touching], third[touching]])
    low, high = np.minimum(starts, ends), np.maximum(starts, ends)
    edges, new = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    share = (height[edges[:, 0]] / (height[edges[:, 0]] - height[edges[:, 1]]))[:, None]
    crossings = mesh.vertices[edges[:, 0]] * (1 - share) + mesh.vertices[edges[:, 1]] * share
    new = new.ravel() + len(mesh.vertices)
    n = int((~touching).sum())
    p, q, r = new[:n], new[n : 2 * n], new[2 * n :]
    a, b, c = first[~touching], second[~touching], third[~touching]
    d, e, f = first[touching], second[touching], third[touching]
    pieces = [(a, p, q), (p, b, c), (p, c, q), (d, e, r), (d, r, f)]
    added = np.concatenate([np.stack(piece, axis=1) for piece in pieces])
    kept = np.concatenate([mesh.faces[~crossed], added]).astype(np.int32)
    return TriangleMesh(np.vstack([mesh.vertices, crossings]), kept)


def centroids(mesh: TriangleMesh) -> FloatArray:
    """Middles (M, 3) of the triangles [m]."""
    return cast(FloatArray, mesh.vertices[mesh.faces].mean(axis=1))


def picked(mesh: TriangleMesh, chosen: NDArray[np.bool_]) -> TriangleMesh:
    """The triangles that a mask (M,) names, without the vertices that only others have."""
    used, rows = np.unique(mesh.faces[chosen], return_inverse=True)
    return TriangleMesh(mesh.vertices[used], rows.reshape(-1, 3).astype(np.int32))
