"""Geoms of MuJoCo as shapes of UsdGeom."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from toolhand.sim.objects.meshes import convex_mesh, mass_properties
from toolhand.sim.usd.library import openusd
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

_BOX, _SPHERE, _CYLINDER, _CAPSULE, _ELLIPSOID, _MESH, _PLANE = (
    int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}"))
    for name in ("BOX", "SPHERE", "CYLINDER", "CAPSULE", "ELLIPSOID", "MESH", "PLANE")
)


def define(stage: Any, path: str, model: mujoco.MjModel, geom: int) -> tuple[Any, FloatArray | None]:
    """(gprim, its scale (3,) or None) of a geom; where it stands is for the caller to say.

    Raises:
        ToolError: INVALID_ARGUMENT for a kind of geom that USD does not have.
    """
    usd_geom = openusd().UsdGeom
    kind, size = int(model.geom_type[geom]), model.geom_size[geom].astype(float)
    scale = None
    if kind == _BOX:
        shape = usd_geom.Cube.Define(stage, path)
        shape.CreateSizeAttr(2.0)
        scale = size
    elif kind == _SPHERE:
        shape = usd_geom.Sphere.Define(stage, path)
        shape.CreateRadiusAttr(float(size[0]))
    elif kind in (_CYLINDER, _CAPSULE):
        shape = (usd_geom.Cylinder if kind == _CYLINDER else usd_geom.Capsule).Define(stage, path)
        shape.CreateRadiusAttr(float(size[0]))
        shape.CreateHeightAttr(float(2 * size[1]))
        shape.CreateAxisAttr("Z")
    elif kind == _PLANE:
        shape = usd_geom.Plane.Define(stage, path)
        shape.CreateWidthAttr(float(2 * size[0]))
        shape.CreateLengthAttr(float(2 * size[1]))
        shape.CreateAxisAttr("Z")
    elif kind == _ELLIPSOID:
        return _define_mesh(stage, path, *_ellipsoid(size)), None
    elif kind == _MESH:
        return _define_mesh(stage, path, *_triangles(model, int(model.geom_dataid[geom]))), None
    else:
        raise invalid(f"A geom of kind {mujoco.mjtGeom(kind).name} cannot be exported to USD.")
    _set_extent(shape)
    return shape, scale


def _ellipsoid(half_sizes: FloatArray) -> tuple[FloatArray, NDArray[np.int32]]:
    """(corners (162, 3), faces (320, 3)) of a mesh of an ellipsoid's volume: UsdPhysics has no ellipsoid.

    A sphere with three scales is refused by its validators, and Isaac Sim and Newton take another shape for it.
    """
    mesh = convex_mesh(_icosphere() * half_sizes)
    larger = (4 / 3 * np.pi * float(np.prod(half_sizes)) / mass_properties(mesh).volume_m3) ** (1 / 3)
    return mesh.vertices * larger, mesh.faces


def _icosphere() -> FloatArray:
    """(162, 3) corners of an icosahedron whose edges were halved twice, all of length 1."""
    g = (1 + 5**0.5) / 2
    points = np.array([np.roll([0.0, a, b * g], k) for a in (-1, 1) for b in (-1, 1) for k in range(3)])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    for edge in (1.06, 0.62):  # just longer than the longest edge of an icosahedron, and of one with halved edges
        pairs = [(i, j) for i in range(len(points)) for j in range(i) if np.linalg.norm(points[i] - points[j]) < edge]
        middles = np.array([points[i] + points[j] for i, j in pairs])
        points = np.concatenate([points, middles / np.linalg.norm(middles, axis=1, keepdims=True)])
    return points


def _triangles(model: mujoco.MjModel, mesh: int) -> tuple[FloatArray, NDArray[np.int32]]:
    """(vertices (N, 3) in the geom's frame [m], faces (M, 3))."""
    start, faces = int(model.mesh_vertadr[mesh]), int(model.mesh_faceadr[mesh])
    vertices = model.mesh_vert[start : start + int(model.mesh_vertnum[mesh])].astype(float)
    return vertices, model.mesh_face[faces : faces + int(model.mesh_facenum[mesh])]


def _define_mesh(stage: Any, path: str, vertices: FloatArray, faces: NDArray[np.int32]) -> Any:
    usd_geom, vt = openusd().UsdGeom, openusd().Vt
    mesh = usd_geom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr(vt.Vec3fArray.FromNumpy(np.ascontiguousarray(vertices, dtype=np.float32)))
    mesh.CreateFaceVertexCountsAttr(vt.IntArray.FromNumpy(np.full(len(faces), 3, dtype=np.int32)))
    mesh.CreateFaceVertexIndicesAttr(vt.IntArray.FromNumpy(np.ascontiguousarray(faces.ravel(), dtype=np.int32)))
    mesh.CreateSubdivisionSchemeAttr("none")
    _set_extent(mesh)
    return mesh


def _set_extent(shape: Any) -> None:
    usd_geom, usd = openusd().UsdGeom, openusd().Usd
    shape.CreateExtentAttr(usd_geom.Boundable.ComputeExtentFromPlugins(shape, usd.TimeCode.Default()))
