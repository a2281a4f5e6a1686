"""Convex solids of a mesh: its hull where it is convex enough, else CoACD's parts, kept by their content."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import ConvexHull, QhullError

from toolhand.sim.objects.meshes import TriangleMesh, centroids, convex_mesh, mass_properties, picked
from toolhand.tool_nodes import extras, private_folders
from toolhand.tool_nodes.children import Child, ChildFailed
from toolhand.tool_nodes.files import GIB, MIB, read_file, write_whole
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

_SHALLOW = 0.02
"""Deepest dent that a hull may fill, as a part of the longest side [-]: 2 mm of 10 cm, what a pad of rubber gives."""
_COVERED = 0.95
"""Least part of its hull's area that an open surface must have to be a solid rather than a shell [-]."""
_MOST_FACES = 6_000
"""Triangles that CoACD is given [-]: some seconds of work; finer meshes are coarsened first."""
MOST_PARTS = 24
"""Convex solids of an object [-]: as many as the walls of a bowl need, and ten such objects still step in real time."""
_PARAMETERS = {
    "threshold": 0.05,
    "max_convex_hull": MOST_PARTS,
    "preprocess_mode": "auto",
    "preprocess_resolution": 25,
    "resolution": 300,
    "mcts_iterations": 30,
    "mcts_nodes": 10,
    "mcts_max_depth": 2,
    "max_ch_vertex": 48,
    "decimate": True,
    "seed": 0,
}
"""Parameters of CoACD: its own concavity threshold (5 % of half the longest side), bounds of the number of solids and
of their corners, and a smaller search: at its own depth of 3 a slice of bread of 104 triangles takes more than 40 s of
processor time, at 2 half a second."""
_COACD = Child("toolhand.sim.objects.reading.coacd_child:parts", cpu_s=300, memory=4 * GIB)
"""Where meshes are taken apart: ordinary objects take 1 to 10 s and less than 1 GiB."""
_CORNERS = 200
"""Corners of one solid [-]: a ball of 30 mm radius is round to 0.6 mm; the physics is slow with more."""
_FORMAT = b"toolhand solids 1\n"
"""First line of a kept file; a change of its layout or of the parameters' meaning changes it."""
_LONGEST_KEPT = 4 * MIB
"""Longest file of the cache that is read [bytes]: hundred times what 24 solids of 48 corners have."""
_FINEST, _GRIDS = 160, 12
"""Cells along the longest side of the first grid by which a mesh is coarsened, and how many grids are tried [-]."""


def convex_parts(mesh: TriangleMesh, closed: bool, name: str) -> tuple[FloatArray, ...]:
    """Corners of convex solids whose union is near a mesh.

    Args:
        mesh: The mesh [m].
        closed: Whether it encloses a volume.
        name: Name of the object in messages.

    Raises:
        ToolError: INVALID_ARGUMENT where no solids can be found; UNAVAILABLE without the extra `objects`.
    """
    pieces = _components(mesh) if closed else [mesh]
    return tuple(part for piece in pieces for part in _parts_of_piece(piece, closed, name))


def hull_of(points: FloatArray, name: str) -> TriangleMesh:
    """The convex hull of points (N, 3). Raises ToolError INVALID_ARGUMENT, naming the object, for what has no
    volume."""
    try:
        return convex_mesh(points)
    except QhullError as error:
        raise invalid(f"{name} is flat: an object must have a volume.") from error


def _parts_of_piece(mesh: TriangleMesh, closed: bool, name: str) -> tuple[FloatArray, ...]:
    hull = hull_of(mesh.vertices, name)
    coarse = coarsened(mesh, _MOST_FACES)
    if _nearly_convex(coarse, closed):
        return (_few_corners(hull.vertices),)
    key = hashlib.sha256(_FORMAT + json.dumps(_PARAMETERS, sort_keys=True).encode())
    key.update(coarse.vertices.astype("<f8").tobytes() + coarse.faces.astype("<i4").tobytes())
    kept = _kept_file(f"{key.hexdigest()}.solids")
    parts = _read_kept(kept)
    if parts is None:
        parts = _decomposed(coarse, name)
        _keep(kept, parts)
    return parts


def _components(mesh: TriangleMesh) -> list[TriangleMesh]:
    """The closed surfaces of a mesh that share no vertex; the mesh itself where one bounds a hollow of another."""
    n, edges = len(mesh.vertices), np.concatenate([mesh.faces[:, :2], mesh.faces[:, 1:]])
    graph = coo_array((np.ones(len(edges), dtype=bool), (edges[:, 0], edges[:, 1])), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    if not 1 < count <= MOST_PARTS:
        return [mesh]
    of_faces = label[mesh.faces[:, 0]]
    pieces = [picked(mesh, of_faces == k) for k in range(count) if (of_faces == k).any()]
    return pieces if all(mass_properties(piece).volume_m3 > 0 for piece in pieces) else [mesh]


def coarsened(mesh: TriangleMesh, most: int) -> TriangleMesh:
    """A mesh of at most so many triangles: vertices in one cell of a grid become their mean."""
    if len(mesh.faces) <= most:
        return mesh
    low, side = mesh.vertices.min(axis=0), float(np.ptp(mesh.vertices, axis=0).max())
    found = mesh
    for k in range(_GRIDS):
        cell = side / _FINEST * 1.35**k
        _, rows = np.unique(np.floor((mesh.vertices - low) / cell).astype(np.int64), axis=0, return_inverse=True)
        rows = rows.ravel()
        count = np.bincount(rows)
        means = np.stack([np.bincount(rows, mesh.vertices[:, axis]) / count for axis in range(3)], axis=1)
        faces = rows[mesh.faces]
        apart = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])
        faces = faces[apart]
        _, first = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
        found = TriangleMesh(means, faces[np.sort(first)].astype(np.int32))
        if len(found.faces) <= most:
            break
    return found


def _nearly_convex(mesh: TriangleMesh, closed: bool) -> bool:
    hull = ConvexHull(mesh.vertices)
    points = np.concatenate([mesh.vertices, centroids(mesh)])
    depth = np.full(len(points), np.inf)
    for normal_offset in hull.equations:
        np.minimum(depth, -(points @ normal_offset[:3] + normal_offset[3]), out=depth)
    if depth.max() > _SHALLOW * float(np.ptp(mesh.vertices, axis=0).max()):
        return False
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    area = float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)
    return closed or area >= _COVERED * hull.area


def _few_corners(points: FloatArray) -> FloatArray:
    """At most `_CORNERS` corners of a hull, the outermost in evenly spread directions."""
    if len(points) <= _CORNERS:
        return points
    k = np.arange(_CORNERS - 6) + 0.5
    z, azimuth = 1 - 2 * k / len(k), np.pi * (1 + np.sqrt(5)) * k
    flat = np.sqrt(1 - z**2)
    directions = np.column_stack([flat * np.cos(azimuth), flat * np.sin(azimuth), z])
    directions = np.vstack([np.eye(3), -np.eye(3), directions])
    return points[np.unique(np.argmax(points @ directions.T, axis=0))]


def _decomposed(mesh: TriangleMesh, name: str) -> tuple[FloatArray, ...]:
    if importlib.util.find_spec("coacd") is None:
        extras.package("coacd", "objects", f"{name} is not convex, and taking it apart")
    request = {"vertices": mesh.vertices, "faces": mesh.faces, "parameters": json.dumps(_PARAMETERS)}
    try:
        found = _COACD.ask(request)
    except ChildFailed as error:
        raise invalid(f"{name} could not be taken apart: it {error}; simplify its mesh.") from error
    parts = [part for part in map(_solid, found.values()) if len(part)]
    if not parts:
        raise invalid(f"{name} could not be taken apart into convex solids: repair its mesh.")
    return tuple(parts)


def _solid(points: FloatArray) -> FloatArray:
    """The corners of a part; none where it is flat."""
    try:
        return convex_mesh(np.asarray(points, dtype=float)).vertices
    except QhullError:
        return np.zeros((0, 3))


def _kept_file(name: str) -> Path | None:
    try:
        return private_folders.made_private(private_folders.cache_folder() / "objects") / name
    except private_folders.FolderRefused:
        return None  # nothing is kept where the user has no folder of their own


def _read_kept(path: Path | None) -> tuple[FloatArray, ...] | None:
    """What was kept; None where there is nothing, or something else than what was written."""
    if path is None:
        return None
    try:
        content = read_file(path, _LONGEST_KEPT)
    except OSError:
        return None
    head, body = content[: len(_FORMAT) + 32], content[len(_FORMAT) + 32 :]
    if head != _FORMAT + hashlib.sha256(body).digest():
        return None
    with np.load(io.BytesIO(body), allow_pickle=False) as found:
        return tuple(found[f"part_{k}"] for k in range(len(found.files)))


def _keep(path: Path | None, parts: tuple[FloatArray, ...]) -> None:
    if path is None:
        return
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {f"part_{k}": part for k, part in enumerate(parts)}
    np.savez(buffer, **arrays)
    body = buffer.getvalue()
    with contextlib.suppress(OSError):  # a full disk costs time, no answer
        write_whole(path, _FORMAT + hashlib.sha256(body).digest() + body)
