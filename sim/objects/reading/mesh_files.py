"""Mesh files as plain arrays; the one file that needs trimesh.

Nothing is read that lies outside of a folder of objects, neither a mesh nor the materials and textures that it names,
nothing is fetched, and whatever a reader makes of a damaged file ends in one sentence.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sim.objects.meshes import Faces
from tool_nodes import extras
from tool_nodes.files import MIB, read_file, why
from tool_nodes.results import ToolError, invalid
from tool_nodes.types import FloatArray

FORMATS = (".glb", ".gltf", ".obj", ".ply", ".stl", ".off")
"""Mesh files that are read, the ones that carry most about colours first."""
_METRIC_Y_UP = (".glb", ".gltf")
"""Formats that say themselves what they mean: metres, with y upwards."""
_LONGEST = 64 * MIB
"""Longest file that is read, meshes and textures alike [bytes]; a scan of half a million triangles has 40 MiB."""
MOST_TRIANGLES = 500_000
"""Triangles of a mesh [-]: more than the finest published scans of household things have."""
_MOST_PIXELS = 8192**2
"""Pixels of a texture [-]: 200 MB of memory."""
_DETAIL = 40
"""A textured triangle is divided until its sides are shorter than this part of the thing's longest side [-]: 2 to 4 mm,
two pixels of a camera at one metre."""
_MOST_DIVIDED = 24_000
"""Triangles above which none is divided [-]: so many are fine enough by themselves."""
_SHOWN = 160
"""Characters of a reader's complaint that a message repeats."""


@dataclass(frozen=True, eq=False)
class RawMesh:
    """What a file holds, in its own unit and axes.

    Attributes:
        vertices: (N, 3); vertices at one place are one.
        faces: (M, 3) rows of `vertices`.
        corners: (K, 3, 3) corners of the triangles that are seen, finer than `faces` where a texture is.
        rgb: (K, 3) their colours in [0, 1]; NaN where the file has none.
        metric: True where its format says that the unit is the metre.
        y_up: True where its format says that y is upwards.
    """

    vertices: FloatArray
    faces: Faces
    corners: FloatArray
    rgb: FloatArray
    metric: bool = False
    y_up: bool = False


def read_mesh(path: Path, root: Path) -> RawMesh:
    """All triangles of a mesh file.

    Args:
        path: File in one of FORMATS.
        root: Folder that neither the file nor what it names may lie outside of.

    Raises:
        ToolError: INVALID_ARGUMENT for a file that is missing, too large, damaged or empty, or holds other than finite
            numbers; UNAVAILABLE without the extra `objects`.
    """
    trimesh = extras.package("trimesh", "objects", "Reading meshes")
    kind, name = path.suffix.lower(), path.name
    try:
        content = read_file(path, _LONGEST, root)
    except OSError as error:
        raise invalid(f"The mesh {name} cannot be read: {why(error)}.") from error
    try:
        scene = trimesh.load_scene(
            io.BytesIO(content), file_type=kind[1:], resolver=_resolver(trimesh, path, root), process=False
        )
        pieces = list(_pieces(scene, trimesh))
    except ToolError:
        raise
    except Exception as error:  # trimesh raises whatever its readers meet, from KeyError to MemoryError
        reason = " ".join(str(error).split())[:_SHOWN].rstrip(".") or type(error).__name__
        raise invalid(f"The mesh {name} is damaged or not of the format {kind}: {reason}.") from error
    if not pieces:
        raise invalid(f"The mesh {name} is empty: it must hold at least one triangle.")
    count = sum(len(piece.faces) for piece in pieces)
    if count > MOST_TRIANGLES:
        raise invalid(f"The mesh {name} has {count:,} triangles, and {MOST_TRIANGLES:,} are allowed: simplify it.")
    every = np.concatenate([piece.vertices[piece.faces] for piece in pieces])
    if not np.isfinite(every).all():
        raise invalid(f"The mesh {name} has coordinates that are no finite numbers.")
    vertices, rows = np.unique(every.reshape(-1, 3), axis=0, return_inverse=True)
    longest = float(np.ptp(vertices, axis=0).max())
    drawn = [_drawn(piece, longest / _DETAIL) for piece in pieces]
    corners, rgb = (np.concatenate(arrays) for arrays in zip(*drawn, strict=True))
    said = kind in _METRIC_Y_UP
    return RawMesh(vertices, rows.reshape(-1, 3).astype(np.int32), corners, rgb, said, said)


def consistent(vertices: FloatArray, faces: Faces) -> tuple[Faces, bool]:
    """The faces with one orientation where they can have one, small holes closed, and whether the surface is closed."""
    trimesh = extras.package("trimesh", "objects", "Reading meshes")
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    if not mesh.is_winding_consistent:
        trimesh.repair.fix_winding(mesh)
    if not mesh.is_watertight:
        trimesh.repair.fill_holes(mesh)
    return np.asarray(mesh.faces, dtype=np.int32), bool(mesh.is_watertight and mesh.is_winding_consistent)


@dataclass(frozen=True, eq=False)
class _Piece:
    """Triangles with one material: vertices (N, 3), faces (M, 3), their colours or texture coordinates."""

    vertices: FloatArray
    faces: Faces
    rgb: FloatArray
    uv: FloatArray | None = None
    texture: NDArray[np.uint8] | None = None


def _pieces(scene: Any, trimesh: Any) -> Iterator[_Piece]:
    for node in scene.graph.nodes_geometry:
        T, name = scene.graph[node]
        mesh = scene.geometry[name]
        if not isinstance(mesh, trimesh.Trimesh) or len(mesh.faces) == 0:
            continue
        vertices = np.asarray(mesh.vertices, dtype=float)
        if np.isfinite(vertices).all():  # else refused by its numbers
            vertices = vertices @ np.asarray(T)[:3, :3].T + np.asarray(T)[:3, 3]
        faces = np.asarray(mesh.faces, dtype=np.int32)
        yield _painted(mesh.visual, vertices, faces)


def _painted(visual: Any, vertices: FloatArray, faces: Faces) -> _Piece:
    unpainted = np.full((len(faces), 3), np.nan)
    if visual.kind == "face":
        return _Piece(vertices, faces, np.asarray(visual.face_colors)[:, :3] / 255)
    if visual.kind == "vertex":
        return _Piece(vertices, faces, np.asarray(visual.vertex_colors)[faces][:, :, :3].mean(axis=1) / 255)
    if visual.kind != "texture":
        return _Piece(vertices, faces, unpainted)
    material = visual.material
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    if image is None or visual.uv is None:
        return _Piece(vertices, faces, np.tile(np.asarray(material.main_color)[:3] / 255, (len(faces), 1)))
    if image.size[0] * image.size[1] > _MOST_PIXELS:
        raise invalid(f"A texture has {image.size[0]}x{image.size[1]} pixels, and {_MOST_PIXELS:,} are allowed.")
    return _Piece(vertices, faces, unpainted, np.asarray(visual.uv, dtype=float), np.asarray(image.convert("RGB")))


def _drawn(piece: _Piece, side: float) -> tuple[FloatArray, FloatArray]:
    """Corners (K, 3, 3) of a piece's triangles and their colours (K, 3)."""
    corners = piece.vertices[piece.faces]
    if piece.uv is None or piece.texture is None:
        return corners, piece.rgb
    both = np.concatenate([corners, piece.uv[piece.faces]], axis=2)
    while len(both) < _MOST_DIVIDED:
        edges = np.linalg.norm(np.roll(both[:, :, :3], -1, axis=1) - both[:, :, :3], axis=2)
        large = edges.max(axis=1) > side
        if not large.any():
            break
        a, b, c = np.moveaxis(both[large], 1, 0)
        ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
        quarters = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        both = np.concatenate([both[~large], *(np.stack(quarter, axis=1) for quarter in quarters)])
    height, width = piece.texture.shape[:2]
    uv = np.nan_to_num(both[:, :, 3:].mean(axis=1))
    uv = np.where((uv >= 0.0) & (uv <= 1.0), uv, uv % 1.0)  # the upper end of the texture is not its lower one
    column = np.minimum((uv[:, 0] * width).astype(int), width - 1)
    row = np.minimum(((1.0 - uv[:, 1]) * height).astype(int), height - 1)
    return both[:, :, :3], piece.texture[row, column] / 255


def _resolver(trimesh: Any, path: Path, root: Path) -> Any:
    """Gives a reader the files beside a mesh, and none outside of the root."""

    class Beside(trimesh.resolvers.Resolver):
        def __init__(self, folder: Path) -> None:
            self._folder = folder

        def get(self, key: str) -> bytes:
            if "\0" in key or "://" in key:
                raise KeyError(key)
            try:
                return read_file(self._folder / key.strip(), _LONGEST, root)
            except FileNotFoundError:
                raise KeyError(key) from None  # a mesh without its texture is still a mesh

        def write(self, name: str, data: Any) -> None:
            raise NotImplementedError

        def namespaced(self, namespace: str) -> Any:
            return Beside(self._folder / namespace)

        def keys(self) -> Iterable[str]:
            return ()

    return Beside(path.parent)
