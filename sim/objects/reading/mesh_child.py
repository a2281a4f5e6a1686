"""Mesh files of others, read in a child: what a damaged or hostile file does to a reader ends with that.

Nothing is read that lies outside of a folder of objects, neither a mesh nor the materials and textures that it names,
nothing is fetched, and whatever a reader makes of a damaged file ends in one sentence. The one file that needs trimesh.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from toolhand.sim.objects.reading.gltf import Damaged, read_gltf
from toolhand.sim.objects.reading.pieces import LONGEST, MOST_TRIANGLES, MeshPiece, NamedFiles, drawn
from toolhand.tool_nodes import extras
from toolhand.tool_nodes.files import read_file, why
from toolhand.tool_nodes.results import ToolError, invalid

_SHOWN = 160
"""Characters of a reader's complaint that a message repeats."""
_STL_HEAD, _STL_TRIANGLE = 84, 50
"""Lengths of the head of a binary STL, which ends with the number of triangles, and of a triangle [bytes]."""
_MOST_CORNERS = 1_000
"""Corners of one face of an OFF [-]; ordinary ones have three or four."""
_OFF = re.compile(rb"\s*(ST)?(C)?(N)?(4)?(n)?OFF(?=[\s\d])")
"""The first word of an OFF: texture coordinates, colours, normals, a fourth coordinate, a dimension of its own."""


def contents(request: Mapping[str, Any]) -> dict[str, Any]:
    """What a mesh file holds, as `RawMesh` has it, the remarks as JSON.

    Args:
        request: `path` of the file, and `root`, the folder that nothing may lie outside of.

    Raises:
        ToolError: As `read_mesh`.
    """
    path = Path(str(request["path"]))
    files = NamedFiles(path, Path(str(request["root"])))
    kind, name = path.suffix.lower(), path.name
    try:
        content = read_file(path, LONGEST, Path(str(request["root"])))
    except OSError as error:
        raise invalid(f"The mesh {name} cannot be read: {why(error)}.") from error
    if kind not in (".glb", ".gltf"):
        extras.package("trimesh", "objects", "Reading meshes")
    try:
        pieces = list(_READERS[kind](content.removeprefix(b"\xef\xbb\xbf"), files))
        if files.refusal is not None:
            raise files.refusal
    except (ToolError, MemoryError):
        raise
    except Exception as error:  # readers raise whatever they meet, from KeyError to RecursionError
        reason = " ".join(str(error).split())[:_SHOWN].rstrip(".") or type(error).__name__
        raise invalid(f"The mesh {name} is damaged or not of the format {kind}: {reason}.") from error
    count = sum(len(piece.corners) for piece in pieces)
    files.check_triangles(count)
    files.check_pieces(len(pieces))
    if not count:
        raise invalid(f"The mesh {name} is empty: it must hold at least one triangle.")
    every = np.concatenate([piece.corners for piece in pieces])
    if not np.isfinite(every).all():
        raise invalid(f"The mesh {name} has coordinates that are no finite numbers.")
    vertices, rows = np.unique(every.reshape(-1, 3), axis=0, return_inverse=True)
    faces, closed = _consistent(vertices, rows.reshape(-1, 3).astype(np.int32))
    corners, rgb = drawn(pieces, float(np.ptp(vertices, axis=0).max()))
    found = {"vertices": vertices, "faces": faces, "closed": closed, "corners": corners, "rgb": rgb}
    return found | {"remarks": json.dumps(files.remarks)}


def _consistent(vertices: Any, faces: Any) -> tuple[Any, bool]:
    """The faces with one orientation where they can have one, small holes closed, and whether the surface is closed."""
    trimesh = extras.package("trimesh", "objects", "Reading meshes")
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    if not mesh.is_winding_consistent:
        trimesh.repair.fix_winding(mesh)
    if not mesh.is_watertight:
        trimesh.repair.fill_holes(mesh)
    return np.asarray(mesh.faces, dtype=np.int32), bool(mesh.is_watertight and mesh.is_winding_consistent)


# ---- Formats ----


def _obj(content: bytes, files: NamedFiles) -> Iterator[MeshPiece]:
    files.check_pieces(len(re.findall(rb"^\s*usemtl\b", content, re.MULTILINE)))
    return _by_trimesh("obj", content, files)


def _stl(content: bytes, files: NamedFiles) -> Iterator[MeshPiece]:
    count = int.from_bytes(content[_STL_HEAD - 4 : _STL_HEAD], "little")
    end = _STL_HEAD + _STL_TRIANGLE * count
    if count and _STL_HEAD < end <= len(content):  # a text would say some hundred million triangles there
        files.check_triangles(count)
        content = content[:end]  # exporters append what is theirs
    return _by_trimesh("stl", content, files)


def _ply(content: bytes, files: NamedFiles) -> Iterator[MeshPiece]:
    return _by_trimesh("ply", content, files)


def _off(content: bytes, files: NamedFiles) -> Iterator[MeshPiece]:
    """An OFF by lines, with its colours of vertices and faces."""
    head = _OFF.match(content)
    if head is None or content[head.end() :].split(None, 1)[:1] == [b"BINARY"]:
        raise Damaged("it does not begin with OFF and numbers in text")
    _, coloured, normals, fourth, dimension = head.groups()
    if fourth or dimension:
        files.refuse("has points of another dimension than 3, which are not read")
    lines = [line for line in (text.partition(b"#")[0].split() for text in content[head.end() :].splitlines()) if line]
    n, m = int(lines[0][0]), int(lines[0][1])
    files.check_triangles(m)
    if n < 0 or m < 0 or len(lines) < 1 + n + m or n > 3 * MOST_TRIANGLES:
        raise Damaged("it has fewer lines than it says")
    at = 6 if normals else 3
    vertices = np.array([[float(word) for word in line[:3]] for line in lines[1 : 1 + n]]).reshape(-1, 3)
    tints = np.full((n, 3), np.nan)
    if coloured:
        tints = np.array([_rgb(line[at : at + 3]) for line in lines[1 : 1 + n]]).reshape(-1, 3)
    faces, rgb = [], []
    for line in lines[1 + n : 1 + n + m]:
        count = int(line[0])
        row = [int(word) for word in line[1 : 1 + count]]
        if not 0 <= count <= _MOST_CORNERS or len(row) < count or (row and not 0 <= min(row) <= max(row) < n):
            raise Damaged("a face of it names points that are not there")
        faces += [(row[0], row[k], row[k + 1]) for k in range(1, count - 1)]
        files.check_triangles(len(faces))
        own = _rgb(line[1 + count : 4 + count])
        rgb += [own if np.isfinite(own).all() else tints[row].mean(axis=0)] * max(count - 2, 0)
    rows = np.array(faces, dtype=np.int64).reshape(-1, 3)
    yield MeshPiece(vertices[rows], np.array(rgb, dtype=float).reshape(-1, 3))


def _msh(content: bytes, files: NamedFiles) -> Iterator[MeshPiece]:
    """MuJoCo's own binary format: four counts, then points, normals, texture coordinates and faces."""
    if len(content) < 16:
        raise Damaged("it is cut short")
    n, normals, coordinates, m = (int(count) for count in np.frombuffer(content, "<i4", 4))
    if min(n, normals, coordinates, m) < 0 or 16 + 12 * (n + normals + m) + 8 * coordinates != len(content):
        raise Damaged("its length is not that of MuJoCo's binary meshes")
    files.check_triangles(m)
    points = np.frombuffer(content, "<f4", 3 * n, 16).reshape(-1, 3)
    rows = np.frombuffer(content, "<i4", 3 * m, len(content) - 12 * m).reshape(-1, 3)
    if m and not 0 <= int(rows.min()) <= int(rows.max()) < n:
        raise Damaged("a face of it names points that are not there")
    yield MeshPiece(points[rows].astype(float), np.full((m, 3), np.nan))


def _rgb(words: list[bytes]) -> Any:
    """A colour in [0, 1] of three words, whole numbers up to 255 or others; NaN where there are fewer."""
    if len(words) < 3:
        return np.full(3, np.nan)
    scale = 1.0 if any(b"." in word for word in words) else 255.0
    return np.array([float(word) / scale for word in words])


def _by_trimesh(kind: str, content: bytes, files: NamedFiles) -> Iterator[MeshPiece]:
    trimesh = extras.package("trimesh", "objects", "Reading meshes")
    scene = trimesh.load_scene(
        io.BytesIO(content), file_type=kind, resolver=_resolver(trimesh, files, ""), process=False
    )
    for node in scene.graph.nodes_geometry:
        T, name = scene.graph[node]
        mesh = scene.geometry[name]
        if isinstance(mesh, trimesh.Trimesh) and len(mesh.faces):
            corners = np.asarray(mesh.vertices, dtype=float)[mesh.faces]
            with np.errstate(invalid="ignore"):  # refused by its numbers
                corners = corners @ np.asarray(T)[:3, :3].T + np.asarray(T)[:3, 3]
            yield _painted(mesh.visual, corners, np.asarray(mesh.faces))


def _painted(visual: Any, corners: Any, faces: Any) -> MeshPiece:
    unpainted = np.full((len(faces), 3), np.nan)
    if visual.kind == "face":
        return MeshPiece(corners, np.asarray(visual.face_colors)[:, :3] / 255)
    if visual.kind == "vertex":
        return MeshPiece(corners, np.asarray(visual.vertex_colors)[faces][:, :, :3].mean(axis=1) / 255)
    if visual.kind != "texture":
        return MeshPiece(corners, unpainted)
    material = visual.material
    image = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
    if image is None or visual.uv is None:
        return MeshPiece(corners, np.tile(np.asarray(material.main_color)[:3] / 255, (len(faces), 1)))
    return MeshPiece(corners, unpainted, np.asarray(visual.uv, dtype=float)[faces], np.asarray(image.convert("RGB")))


def _resolver(trimesh: Any, files: NamedFiles, folder: str) -> Any:
    """Gives trimesh the files beside a mesh; a texture once its pixels are counted."""

    class Beside(trimesh.resolvers.Resolver):
        def __init__(self) -> None:
            pass

        def get(self, key: str) -> bytes:
            content = files.content(folder + key)
            if key.strip().lower().endswith(".mtl"):
                content = content.removeprefix(b"\xef\xbb\xbf")
                files.check_pieces(content.count(b"newmtl"))
            else:
                files.check_image(content, key.strip())
            return content

        def write(self, name: str, data: Any) -> None:
            raise NotImplementedError

        def namespaced(self, namespace: str) -> Any:
            return _resolver(trimesh, files, f"{folder}{namespace}/")

        def keys(self) -> Iterable[str]:
            return ()

    return Beside()


_READERS: Mapping[str, Callable[[bytes, NamedFiles], Iterator[MeshPiece]]] = {
    ".glb": read_gltf,
    ".gltf": read_gltf,
    ".obj": _obj,
    ".ply": _ply,
    ".stl": _stl,
    ".off": _off,
    ".msh": _msh,
}
