"""What a user says of objects in YAML: `objects.yaml` of a folder, or a file beside a mesh.

# objects.yaml
package: some_python_package     # the meshes are in an installed package (or ROS package), not beside this file
folder: assets/objects           # and there in this folder
defaults: {density: 400}         # for every object
objects:
  mug: {mass: 0.2, friction: 0.5, name: coffee mug, synonyms: [cup], colour: red, scale: 0.001, up: y}
  best mug: {mesh: mugs/best.obj}
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from annotated_types import Interval

from toolhand.sim.objects.asset import MASS_KG
from toolhand.tool_nodes.files import MIB
from toolhand.tool_nodes.motion.packages import find_package
from toolhand.tool_nodes.plain_yaml import YamlLimits
from toolhand.tool_nodes.records import Before, Rule, read_yaml
from toolhand.tool_nodes.results import invalid

FILE = "objects.yaml"
"""File of a folder in which its objects are described."""
_LIMITS = YamlLimits(size=8 * MIB, depth=8, nodes=400_000)
"""Some lines for each object of the largest published sets."""
UpAxis = Literal["x", "y", "z", "-x", "-y", "-z"]
"""Axes of a mesh that can be upwards."""
_WORD = 60
"""Longest name or word [characters]."""
_PATH = 400
"""Longest path [characters]."""


def _text(longest: int) -> Rule:
    return Rule(f"a text of 1 to {longest} characters", lambda text: 0 < len(text) <= longest and text.isprintable())


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _empty(value: Any) -> Any:
    return {} if value is None else value


def _stripped(value: Any) -> Any:
    return value.strip() if isinstance(value, str) else value


_Word = Annotated[str, _text(_WORD), Before(_stripped)]
_Words = Annotated[tuple[_Word, ...], Before(_listed)]
_Path = Annotated[str, _text(_PATH), Before(_stripped)]


@dataclass(frozen=True)
class Note:
    """What is said of one object; None and empty where nothing is.

    Attributes:
        name: Name that people use.
        synonyms: Other names.
        categories: General classes.
        attributes: Adjectives.
        mass: Mass [kg].
        density: Density [kg/m^3], where no mass is given.
        friction: Sliding friction [-], which holds against a gripper's pads too.
        scale: Length of the mesh's unit [m].
        up: Axis of the mesh that is upwards as the object stands.
        mesh: Path of its file from the folder of meshes; only in `objects.yaml`.
        package: Installed package in which that path begins; only in `objects.yaml`.
    """

    name: _Word | None = None
    kind: _Word | None = None
    colour: _Word | None = None
    synonyms: _Words = ()
    categories: _Words = ()
    attributes: _Words = ()
    mass: Annotated[float, Interval(ge=MASS_KG[0], le=MASS_KG[1])] | None = None
    density: Annotated[float, Interval(ge=10.0, le=20_000.0)] | None = None
    friction: Annotated[float, Interval(ge=0.05, le=5.0)] | None = None
    scale: Annotated[float, Interval(ge=1e-6, le=1e6)] | None = None
    up: UpAxis | None = None
    mesh: _Path | None = None
    package: _Word | None = None

    def over(self, other: Note) -> Note:
        """This note, with what another says where it says nothing."""
        said = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return replace(other, **{key: value for key, value in said.items() if value not in (None, ())})


_BESIDE = tuple(entry.name for entry in fields(Note) if entry.name not in ("mesh", "package"))
_DEFAULTS = ("density", "friction", "scale", "up", "kind")


@dataclass(frozen=True)
class _File:
    """What `objects.yaml` holds."""

    package: _Word | None = None
    folder: _Path | None = None
    defaults: Annotated[Note, Before(_empty)] = field(default_factory=Note)
    objects: Annotated[dict[str, Annotated[Note, Before(_empty)]], Before(_empty)] = field(default_factory=dict)


@dataclass(frozen=True)
class FolderNotes:
    """The file `objects.yaml`, or what a folder without one has.

    Attributes:
        root: Folder that holds the meshes.
        defaults: Said of every object.
        objects: Said of single objects, by their key in the file.
    """

    root: Path
    defaults: Note = field(default_factory=Note)
    objects: Mapping[str, Note] = field(default_factory=dict)


def folder_notes(folder: Path) -> FolderNotes:
    """What `objects.yaml` of a folder says.

    Raises:
        ToolError: INVALID_ARGUMENT, naming the file, the object and what is allowed.
    """
    path = folder / FILE
    if not path.exists():
        return FolderNotes(folder)
    found = read_yaml(_File, path, _LIMITS, folder)
    _require_only(found.defaults, _DEFAULTS, f"{FILE}, defaults")
    root = folder if found.package is None else package_folder(found.package, FILE)
    if found.folder is not None:
        within = root / found.folder
        if not within.resolve().is_relative_to(root.resolve()) or not within.is_dir():
            raise invalid(f"{FILE}: folder must name a folder inside of {root.name}, got {found.folder!r}.")
        root = within
    return FolderNotes(root, found.defaults, MappingProxyType(found.objects))


def note_beside(path: Path, root: Path) -> Note:
    """What a YAML file of a mesh's name beside it says; nothing where there is none. Raises as `folder_notes`."""
    beside = path.with_suffix(".yaml")
    if not beside.exists() or beside.name == FILE:
        return Note()
    note = read_yaml(_Beside, beside, _LIMITS, root)
    _require_only(note, _BESIDE, beside.name)
    return note


_Beside = Annotated[Note, Before(_empty)]


def _require_only(note: Note, allowed: tuple[str, ...], where: str) -> None:
    """Raises ToolError INVALID_ARGUMENT where a note says more than may be said of it there."""
    for entry in fields(Note):
        if entry.name not in allowed and getattr(note, entry.name) != entry.default:
            raise invalid(f"{where}: {entry.name} is not allowed here, the keys are {', '.join(allowed)}.")


def package_folder(name: str, where: str) -> Path:
    """The folder of an installed Python package, which is not imported, or of a ROS package.

    Raises:
        ToolError: INVALID_ARGUMENT where there is none.
    """
    if all(part.isidentifier() for part in name.split(".")) and "." not in name:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations:
            return Path(next(iter(spec.submodule_search_locations)))
    found = find_package(name)
    if found is None:
        raise invalid(
            f"{where}: there is no installed package {name[:_WORD]!r}; install it, or name its folder itself."
        )
    return found
