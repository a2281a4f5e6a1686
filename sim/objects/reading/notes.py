"""What a user says of things in YAML: `objects.yaml` of a folder, or a file beside a mesh.

# objects.yaml
package: some_python_package     # the meshes are in an installed package (or ROS package), not beside this file
folder: assets/objects           # and there in this folder
defaults: {density: 400}         # for every thing
objects:
  mug: {mass: 0.2, friction: 0.5, name: coffee mug, synonyms: [cup], colour: red, scale: 0.001, up: y}
  best mug: {mesh: mugs/best.obj}
"""

from __future__ import annotations

import importlib.util
import math
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sim.objects.asset import MASS_KG
from tool_nodes.files import MIB, read_file, why
from tool_nodes.motion.packages import find_package
from tool_nodes.plain_yaml import PlainYamlError, YamlLimits, load
from tool_nodes.results import invalid

FILE = "objects.yaml"
"""File of a folder in which its things are described."""
_LIMITS = YamlLimits(size=8 * MIB, depth=8, nodes=400_000)
"""Some lines for each thing of the largest published sets."""
AXES = ("x", "y", "z", "-x", "-y", "-z")
"""Axes of a mesh that can be upwards."""
_NUMBERS = {"mass": MASS_KG, "density": (10.0, 20_000.0), "friction": (0.05, 5.0), "scale": (1e-6, 1e6)}
"""Numbers that a note may hold, and their bounds: [kg], [kg/m^3] from foam to lead, [-], [m] a unit of the mesh."""
_WORD = 60
"""Longest name or word [characters]."""
_PATH = 400
"""Longest path [characters]."""


@dataclass(frozen=True)
class Note:
    """What is said of one thing; None and empty where nothing is.

    Attributes:
        name: Name that people use.
        kind: One word for its kind.
        colour: Main colour in words.
        synonyms: Other names.
        categories: General classes.
        attributes: Adjectives.
        mass: Mass [kg].
        density: Density [kg/m^3], where no mass is given.
        friction: Sliding friction [-], which holds against a gripper's pads too.
        scale: Length of the mesh's unit [m].
        up: Axis of the mesh that is upwards as the thing stands, of AXES.
        mesh: Path of its file from the folder of meshes; only in `objects.yaml`.
        package: Installed package in which that path begins; only in `objects.yaml`.
    """

    name: str | None = None
    kind: str | None = None
    colour: str | None = None
    synonyms: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()
    mass: float | None = None
    density: float | None = None
    friction: float | None = None
    scale: float | None = None
    up: str | None = None
    mesh: str | None = None
    package: str | None = None

    def over(self, other: Note) -> Note:
        """This note, with what another says where it says nothing."""
        said = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return replace(other, **{key: value for key, value in said.items() if value not in (None, ())})


_TEXTS = ("name", "kind", "colour", "up", "mesh", "package")
_LISTS = ("synonyms", "categories", "attributes")
_BESIDE = tuple(entry.name for entry in fields(Note) if entry.name not in ("mesh", "package"))


@dataclass(frozen=True)
class FolderNotes:
    """The file `objects.yaml`, or what a folder without one has.

    Attributes:
        root: Folder that holds the meshes.
        defaults: Said of every thing.
        things: Said of single things, by their key in the file.
    """

    root: Path
    defaults: Note = field(default_factory=Note)
    things: Mapping[str, Note] = field(default_factory=dict)


def folder_notes(folder: Path) -> FolderNotes:
    """What `objects.yaml` of a folder says.

    Raises:
        ToolError: INVALID_ARGUMENT, naming the file, the thing and what is allowed.
    """
    path = folder / FILE
    if not path.exists():
        return FolderNotes(folder)
    document = _mapping(_read(path, folder), FILE, ("package", "folder", "defaults", "objects"))
    root = folder
    if "package" in document:
        root = package_folder(_text(document["package"], FILE, "package"), FILE)
    if "folder" in document:
        within = root / _text(document["folder"], FILE, "folder", _PATH)
        if not within.resolve().is_relative_to(root.resolve()) or not within.is_dir():
            raise invalid(f"{FILE}: folder must name a folder inside of {root.name}, got {document['folder']!r}.")
        root = within
    defaults = _note(
        document.get("defaults") or {}, f"{FILE}, defaults", ("density", "friction", "scale", "up", "kind")
    )
    things = document.get("objects") or {}
    if not isinstance(things, dict):
        raise invalid(f"{FILE}: objects must be a mapping of names to notes.")
    every = tuple(entry.name for entry in fields(Note))
    notes = {key: _note(row or {}, f"{FILE}, {key[:_WORD]!r}", every) for key, row in things.items()}
    return FolderNotes(root, defaults, MappingProxyType(notes))


def note_beside(path: Path, root: Path) -> Note:
    """What a YAML file of a mesh's name beside it says; nothing where there is none. Raises as `folder_notes`."""
    beside = path.with_suffix(".yaml")
    if not beside.exists() or beside.name == FILE:
        return Note()
    return _note(_read(beside, root) or {}, beside.name, _BESIDE)


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


def _read(path: Path, root: Path) -> Any:
    try:
        return load(read_file(path, _LIMITS.size, root), _LIMITS)
    except (OSError, PlainYamlError) as error:
        raise invalid(f"{path.name} cannot be read as YAML: {why(error)}.") from error


def _mapping(value: Any, where: str, allowed: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid(f"{where}: it must be a mapping with the keys {', '.join(allowed)}, not {reprlib.repr(value)}.")
    for key in value:
        if key not in allowed:
            raise invalid(f'{where}: "{key[:_WORD]}" is not allowed here, the keys are {", ".join(allowed)}.')
    return value


def _note(value: Any, where: str, allowed: tuple[str, ...]) -> Note:
    row = _mapping(value, where, allowed)
    read: dict[str, Any] = {
        key: _text(row[key], where, key, 400 if key == "mesh" else _WORD) for key in _TEXTS if key in row
    }
    read |= {key: _number(row[key], where, key) for key in _NUMBERS if key in row}
    for key in _LISTS:
        if key in row:
            listed = row[key] if isinstance(row[key], list) else [row[key]]
            read[key] = tuple(_text(word, where, key) for word in listed)
    if "up" in read and read["up"] not in AXES:
        raise invalid(f"{where}: up must be one of {', '.join(AXES)}, not {read['up']!r}.")
    return Note(**read)


def _text(value: Any, where: str, key: str, longest: int = _WORD) -> str:
    if not isinstance(value, str) or not 0 < len(value.strip()) <= longest or not value.isprintable():
        raise invalid(f"{where}: {key} must be a text of 1 to {longest} characters, not {reprlib.repr(value)}.")
    return value.strip()


def _number(value: Any, where: str, key: str) -> float:
    low, high = _NUMBERS[key]
    plain = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not plain or not low <= value <= high:
        raise invalid(f"{where}: {key} must be a number from {low:g} to {high:g}, not {reprlib.repr(value)}.")
    return float(value)
