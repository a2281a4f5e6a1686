"""Mesh files as plain arrays, read in a child (`sim/objects/reading/mesh_child.py`) with bounds of time and memory."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from toolhand.sim.objects.meshes import Faces
from toolhand.tool_nodes.children import Child, ChildFailed
from toolhand.tool_nodes.files import GIB
from toolhand.tool_nodes.results import invalid
from toolhand.tool_nodes.types import FloatArray

FORMATS = (".glb", ".gltf", ".obj", ".ply", ".stl", ".off", ".msh")
"""Mesh files that are read, the ones that carry most about colours first."""
_METRIC_Y_UP = (".glb", ".gltf")
"""Formats that say themselves what they mean: metres, with y upwards."""
_READER = Child("toolhand.sim.objects.reading.mesh_child:contents", cpu_s=60, memory=3 * GIB)
"""Where meshes are read: the largest that are allowed take some 10 s and 1.5 GiB."""


@dataclass(frozen=True, eq=False)
class RawMesh:
    """What a file holds, in its own unit and axes.

    Attributes:
        vertices: (N, 3); vertices at one place are one.
        faces: (M, 3) rows of `vertices`, with one orientation where they can have one, small holes closed.
        closed: Whether they enclose a volume.
        corners: (K, 3, 3) corners of the triangles that are seen, finer than `faces` where a texture is.
        rgb: (K, 3) their colours in [0, 1]; NaN where the file has none.
        metric: True where its format says that the unit is the metre.
        y_up: True where its format says that y is upwards.
        remarks: A sentence for each file that it names and that is not there.
    """

    vertices: FloatArray
    faces: Faces
    closed: bool
    corners: FloatArray
    rgb: FloatArray
    metric: bool = False
    y_up: bool = False
    remarks: tuple[str, ...] = ()


def read_mesh(path: Path, root: Path) -> RawMesh:
    """All triangles of a mesh file.

    Args:
        path: File in one of FORMATS.
        root: Folder that neither the file nor what it names may lie outside of.

    Raises:
        ToolError: INVALID_ARGUMENT for a file that is missing, too large, damaged, empty or of what is not read, that
            holds other than finite numbers, or that takes too much time or memory; UNAVAILABLE without the extra
            `objects`.
    """
    try:
        found = _READER.ask({"path": str(path.absolute()), "root": str(root.absolute())})
    except ChildFailed as error:
        raise invalid(f"The mesh {path.name} cannot be read: it {error}; simplify it.") from error
    said = path.suffix.lower() in _METRIC_Y_UP
    arrays = {name: found[name] for name in ("vertices", "faces", "corners", "rgb")}
    remarks = tuple(json.loads(str(found["remarks"])))
    return RawMesh(**arrays, closed=bool(found["closed"]), metric=said, y_up=said, remarks=remarks)
