"""Single mesh files as objects of scenes: the set "mesh", whose names are paths with what is said of the mesh.

`mesh/%2Fdata%2Fmug.obj?scale=0.001&mass=0.2`; a scene file says `mesh: mug.obj` and `scale: 0.001` instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode

from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.objects.reading.assets import Placed, asset_of
from toolhand.sim.objects.reading.mesh_files import FORMATS, read_mesh
from toolhand.sim.objects.reading.notes import Note, note_beside
from toolhand.tool_nodes.catalogue import Description
from toolhand.tool_nodes.results import invalid

MESH_NUMBERS = ("scale", "mass", "density", "friction")
"""What a scene file can say of a mesh in numbers, see `Note`."""
_KEPT = 64
"""Objects that are kept once they were read [-]: those of some scenes."""
_PREFIX = "mesh/"


def mesh_item(path: Path, said: Mapping[str, Any]) -> str:
    """The name of an object made of a mesh file, as `PlacedObject.item` has it.

    Args:
        path: File of the mesh.
        said: Values of MESH_NUMBERS and of `up`, where they are given.

    Raises:
        ToolError: INVALID_ARGUMENT for what is no file of a mesh.
    """
    if path.suffix.lower() not in FORMATS or not path.is_file():
        raise invalid(f"mesh must name a file of {', '.join(FORMATS)}, and {path.name[:200]!r} is none.")
    return f"{_PREFIX}{quote(str(path.resolve()), safe='')}?{urlencode(sorted(said.items()))}"


def mesh_of_item(item: str) -> dict[str, Any] | None:
    """What a scene file says of such an object: `mesh` and what was said of it; None for any other object."""
    if not item.startswith(_PREFIX):
        return None
    path, _, query = item.removeprefix(_PREFIX).partition("?")
    said = {key: float(value) if key in MESH_NUMBERS else value for key, value in parse_qsl(query)}
    return {"mesh": unquote(path), **said}


class _MeshFiles(Mapping[str, ObjectAsset]):
    """Objects by `mesh_item` without its beginning; none is listed."""

    def __getitem__(self, name: str) -> ObjectAsset:
        return _read(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


MESH_FILES = _MeshFiles()


@lru_cache(_KEPT)
def _read(name: str) -> ObjectAsset:
    said = mesh_of_item(_PREFIX + name) or {}
    path = Path(str(said.pop("mesh", "")))
    if path.suffix.lower() not in FORMATS or not path.is_file():
        raise KeyError(name)
    note = replace(Note(), **said).over(note_beside(path, path.parent))
    words = path.stem.lower().replace("_", " ").replace("-", " ")
    described = Description(name=words, kind=words.split()[-1] if words.split() else "object", colour="")
    return asset_of((Placed.as_it_is(read_mesh(path, path.parent)),), note, described, path.name).asset
