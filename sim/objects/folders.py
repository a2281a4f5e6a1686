"""Folders of meshes as sets of objects: YCB, Google Scanned Objects, EGAD, URDF folders, and any of one's own.

A set is called as its folder and its objects as their files or folders, in lower case with letters and digits of any
script and minus alone: `ycb/003-cracker-box`. Naming them reads no mesh; a mesh is read when its object is asked for.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import unicodedata
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from toolhand.sim.objects.asset import ObjectAsset
from toolhand.sim.objects.reading.assets import Placed, ReadObject, asset_of
from toolhand.sim.objects.reading.bodies import MOST_GEOMETRIES
from toolhand.sim.objects.reading.mesh_files import FORMATS, RawMesh, read_mesh
from toolhand.sim.objects.reading.mjcf import meshes_named, read_mjcf
from toolhand.sim.objects.reading.notes import FILE as NOTES
from toolhand.sim.objects.reading.notes import FolderNotes, Note, folder_notes, note_beside, package_folder
from toolhand.sim.objects.reading.urdf import read_urdf
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.catalogue import Description
from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

OBJECTS_PATH = "TOOLHAND_OBJECTS_PATH"
"""Environment variable: folders of objects, separated as in PATH; what a command starts inherits it."""

LOG = logging.getLogger("toolhand.objects")
"""What was repaired or guessed of a mesh, a warning each; shown on stderr unless somebody handles it."""

_URDF, _MJCF = ".urdf", ".xml"
_KINDS = (_URDF, _MJCF, *FORMATS)
"""Files of objects, what describes one before what only draws it."""
_DEEPEST, _MOST_FILES = 8, 200_000
"""Folders in folders, and files in all, that are looked through [-]: Google's 1,030 scans have 10,000 files."""
_SHARED_STEMS = re.compile(r"(non|un)?textured(_simple|_simplified)?|model(_normalized)?|mesh|object|base|visual|scene")
"""Names of files that many objects of a set share: their folder names them then."""
_SHARED_FOLDERS = re.compile(
    r"google_\d+k|meshes|mesh|models?|visual|poisson|tsdf|clouds|obj|stl|ply|glb|gltf|urdf|textured_objs|materials|textures"
)
"""Names of folders that say nothing of an object."""
_ONLY_TOUCHED = re.compile(r"(^|[_-])(collision|coll|col|vhacd|coacd|convex|hull)s?([_-]?\d*)?$")
"""Names of files and folders with the collision geometry of an object."""
_APART = 0.15
"""How far collision meshes may end beside what is seen, as a part of its longest side [-]: they are simplified."""
_HASH_DIGITS = 12
"""Hexadecimal digits by which a folder's content is known [-]: 48 bits, more than tell two folders apart."""
_BETTER = ("google_16k", "google_64k", "google_512k")
"""Where one object has several meshes, these folders come first: of YCB's, the one of 16,000 triangles."""


def use_objects(folders: str) -> None:
    """Make folders of meshes sets of objects, in this process and in those that it starts.

    Args:
        folders: Folders, separated as in PATH; empty for none.

    Raises:
        ToolError: INVALID_ARGUMENT for what is no folder or holds nothing, for a name that another set has, and for
            mistakes in `objects.yaml`.
    """
    named = [str(Path(folder).resolve()) for folder in folders.split(os.pathsep)] if folders else []
    given = folders.split(os.pathsep) if folders else []
    for folder, path in zip(given, named, strict=True):
        if not folder or not Path(path).is_dir():
            raise invalid(f"objects must name folders of meshes, got {folder[:200]!r}.")
    sets = _sets(os.pathsep.join(named))
    for objects in sets.values():
        len(objects)  # found now, so that a mistake is said before anything begins
    if named:
        os.environ[OBJECTS_PATH] = os.pathsep.join(named)
    else:
        os.environ.pop(OBJECTS_PATH, None)


def folder_sets() -> Mapping[str, FolderSet]:
    """The sets of all folders in use, by name. Raises ToolError as `use_objects`."""
    return _sets(os.environ.get(OBJECTS_PATH, ""))


def plain_name(text: str) -> str:
    """A name of letters and digits of any script, and minus, in lower case; empty where nothing of it is left."""
    letters = unicodedata.normalize("NFC", text).lower()
    kept = (letter if unicodedata.category(letter)[0] in "LMN" else "-" for letter in letters)
    return re.sub(r"-+", "-", "".join(kept)).strip("-")


@cache
def say_once(remark: str) -> None:
    """Warn of something about an object, once in a process."""
    LOG.warning("%s", remark)


@cache
def _sets(folders: str) -> Mapping[str, FolderSet]:
    found: dict[str, FolderSet] = {}
    for folder in (Path(text) for text in folders.split(os.pathsep) if text):
        name = plain_name(folder.name)
        if not name:
            raise invalid(f"The folder {folder.name!r} has no letter or digit in its name, which is the set's.")
        if name in found or name in registry.names("object set"):
            raise invalid(f"The folder {folder.name!r} would be the set {name!r}, and there is one: rename the folder.")
        found[name] = FolderSet(folder)
    return found


@dataclass(frozen=True)
class _Found:
    """One object of a folder: its file, the folder that it must not leave, its words, and what else touches."""

    path: Path
    root: Path
    note: Note
    collisions: tuple[Path, ...] = ()


class FolderSet(Mapping[str, ObjectAsset]):
    """The objects of one folder, in the order of their names.

    Args:
        folder: The folder, which stays as it is while it is in use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, ReadObject | ToolError] = {}

    def __getitem__(self, name: str) -> ObjectAsset:
        made = self.read(name)
        for remark in made.remarks:
            say_once(f"{name}: {remark}")
        return made.asset

    def read(self, name: str) -> ReadObject:
        """An object with what was repaired or guessed of it.

        Raises:
            KeyError: There is no such object.
            ToolError: INVALID_ARGUMENT for what cannot be read; UNAVAILABLE without the extra `objects`.
        """
        found = self._found[name]
        made = self._made.get(name)
        if made is None:
            try:
                made = _made(name, found)
            except ToolError as error:
                if error.code is not ErrorCode.INVALID_ARGUMENT:
                    raise
                made = error  # which another scene need not find once more
            self._made[name] = made
        if isinstance(made, ToolError):
            raise made
        return made

    def file(self, name: str) -> str:
        """The file of an object, from the folder of the set."""
        found = self._found[name]
        return found.path.relative_to(found.root).as_posix()

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def content_hash(self) -> str:
        """The first 12 digits of the SHA-256 of `objects.yaml` and of every file beside the objects, paths and all.

        Raises:
            ToolError: INVALID_ARGUMENT for a file that cannot be read.
        """
        root, found = folder_notes(self._folder).root, self._found.values()
        files = {path.relative_to(root).as_posix(): path for path in _beside(root)}
        files |= {f"{one.root.name}/{one.path.relative_to(one.root)}": one.path for one in found if one.root != root}
        notes = self._folder / NOTES
        files |= {NOTES: notes} if notes.exists() else {}
        whole = hashlib.sha256()
        for name, path in sorted(files.items()):
            try:
                with path.open("rb") as content:
                    digest = hashlib.file_digest(content, "sha256")
            except OSError as error:
                raise invalid(f"The file {name} of {self._folder.name!r} cannot be read: {error.strerror}.") from error
            whole.update(f"{name}\0{digest.hexdigest()}\n".encode())
        return whole.hexdigest()[:_HASH_DIGITS]

    @cached_property
    def _found(self) -> Mapping[str, _Found]:
        notes = folder_notes(self._folder)
        files, collisions = _files_by_name(notes.root)
        found = {
            name: _Found(path, notes.root, notes.defaults, collisions.get(path, ())) for name, path in files.items()
        }
        said = {plain_name(key): _described(key, note, notes, found) for key, note in notes.objects.items()}
        named = {one.path for name, one in said.items() if name not in found}
        found = {name: one for name, one in found.items() if one.path not in named} | said
        if not found:
            kinds = ", ".join(_KINDS)
            raise invalid(f"The folder {self._folder.name!r} holds no objects: it must hold files of {kinds}.")
        return dict(sorted(found.items()))


def _described(key: str, note: Note, notes: FolderNotes, files: Mapping[str, _Found]) -> _Found:
    """An object of `objects.yaml`: one of the folder's, or a mesh that it names, which is no other object then."""
    where = f"objects.yaml, {key[:60]!r}"
    whole = note.over(notes.defaults)
    if note.mesh is None:
        found = files.get(plain_name(key))
        if found is None:
            raise invalid(f"{where}: there is no such object in the folder; say its file, as mesh: PATH.")
        return replace(found, note=whole)
    root = package_folder(note.package, where) if note.package else notes.root
    path = root / note.mesh
    if path.suffix.lower() not in _KINDS or not path.is_file():
        raise invalid(f"{where}: mesh must name a file of {', '.join(_KINDS)}, and {note.mesh!r} does not.")
    if not path.resolve().is_relative_to(root.resolve()):
        raise invalid(f"{where}: the mesh {note.mesh!r} lies outside of {root.name}.")
    path = Path(os.path.normpath(path))
    return next((replace(one, note=whole) for one in files.values() if one.path == path), _Found(path, root, whole))


def _made(name: str, found: _Found) -> ReadObject:
    """An object, read."""
    note = note_beside(found.path, found.root).over(found.note)
    words = re.sub(r"^\d+[a-z]?-(?=[^\W\d_])", "", name).replace("-", " ")
    last = words.split()[-1]
    described = Description(name=words, kind=last if last.isalpha() and len(last) > 2 else "object", colour="")
    remarks: tuple[str, ...] = ()
    if found.path.suffix.lower() in (_URDF, _MJCF):
        item = (read_urdf if found.path.suffix.lower() == _URDF else read_mjcf)(found.path, found.root)
        note = note.over(Note(mass=None if note.density else item.mass, friction=item.friction))
        meshes, remarks = item.meshes, item.remarks
    else:
        meshes, remarks = _with_collisions(read_mesh(found.path, found.root), found)
    made = asset_of(meshes, note, described, found.path.name)
    return replace(made, remarks=(*remarks, *made.remarks))


def _with_collisions(seen: RawMesh, found: _Found) -> tuple[tuple[Placed, ...], tuple[str, ...]]:
    """What is seen of an object, and what touches: the collision meshes beside it where they fit it, else the same."""
    alone = (Placed.as_it_is(seen),)
    if not found.collisions:
        return alone, ()
    names = f"{len(found.collisions)} collision mesh{'es' * (len(found.collisions) > 1)} beside {found.path.name}"
    if len(found.collisions) > MOST_GEOMETRIES:
        return alone, (f"The {names} are not used: {MOST_GEOMETRIES} are allowed.",)
    try:
        touched = [read_mesh(path, found.root) for path in found.collisions]
    except ToolError as error:
        return alone, (f"The {names} cannot be used: {error.message}",)
    corners = np.vstack([mesh.vertices for mesh in touched])
    off = max(
        float(np.abs(end(corners, axis=0) - end(seen.vertices, axis=0)).max()) for end in (np.min, np.max)
    ) / float(np.ptp(seen.vertices, axis=0).max() or 1.0)
    if off > _APART or any(mesh.y_up is not seen.y_up for mesh in touched):
        return alone, (f"The {names} cannot be used: what they enclose is not where the object is.",)
    solid = (Placed(replace(mesh, remarks=()), np.eye(3), np.zeros(3), drawn=False) for mesh in touched)
    return (replace(alone[0], solid=False), *solid), (f"What touches are the {names}.",)


# ---- Files ----


def _files_by_name(root: Path) -> tuple[dict[str, Path], dict[Path, tuple[Path, ...]]]:
    """The file of each object of a folder, by the name that it gets, and the collision meshes of some."""
    files, touched = _files(root)
    by_object: dict[tuple[Path, str], list[Path]] = {}
    for path in files:
        by_object.setdefault(_object_of(path, root), []).append(path)
    chosen = {item: min(paths, key=_rank) for item, paths in by_object.items()}
    alone: dict[str, list[tuple[Path, str]]] = {}
    for folder, stem in chosen:
        alone.setdefault(plain_name(stem), []).append((folder, stem))
    names: dict[str, list[Path]] = {}
    for name, objects in alone.items():
        for folder, stem in objects:
            inside = folder.relative_to(root).as_posix()
            own = name if len(objects) == 1 else plain_name(f"{inside}-{stem}")
            names.setdefault(own, []).append(chosen[folder, stem])
    found: dict[str, Path] = {}
    for name, paths in names.items():
        for path in paths:
            # A number of its path, not of its place among others: a name never comes to mean another object.
            number = zlib.crc32(
                unicodedata.normalize("NFC", path.relative_to(root).as_posix()).encode("utf-8", "replace")
            )
            found[name if name and len(paths) == 1 else f"{name or 'object'}-{number:08x}"] = path
    collisions: dict[Path, tuple[Path, ...]] = {}
    for path in touched:
        of = _touched_of(path, root, chosen)
        if of is not None:
            collisions[of] = (*collisions.get(of, ()), path)
    return found, collisions


def _object_of(path: Path, root: Path) -> tuple[Path, str]:
    """The folder of an object and its name: the file's, or its folder's where many files are called so."""
    folder = path.parent
    while folder != root and _SHARED_FOLDERS.fullmatch(folder.name.lower()):
        folder = folder.parent
    if _SHARED_STEMS.fullmatch(path.stem.lower()) and folder != root:
        return folder.parent, folder.name
    return folder, path.stem


def _touched_of(path: Path, root: Path, chosen: Mapping[tuple[Path, str], Path]) -> Path | None:
    """The file of the object that a collision mesh belongs to: by its name, else the only one of its folder."""
    folder = path.parent
    while folder != root and (
        _ONLY_TOUCHED.search(folder.name.lower()) or _SHARED_FOLDERS.fullmatch(folder.name.lower())
    ):
        folder = folder.parent
    stem = path.stem[: len(_ONLY_TOUCHED.sub("", path.stem.lower()))]
    for name in (stem, re.sub(r"[_-]?\d+$", "", stem)):
        shared = _SHARED_STEMS.fullmatch(name.lower()) and folder != root
        found = chosen.get((folder.parent, folder.name) if shared else (folder, name))
        if found is not None:
            return found
    there = [file for (at, name), file in chosen.items() if at == folder or (at, name) == (folder.parent, folder.name)]
    return there[0] if len(there) == 1 and folder != root else None


def _rank(path: Path) -> tuple[int, bool, int, str]:
    """Which of several meshes of an object is taken: the least."""
    known = [_BETTER.index(part) for part in path.parts if part in _BETTER]
    plain, kind = path.stem.lower().startswith(("non", "un")), path.suffix.lower()
    return (known[0] if known else len(_BETTER), plain and kind in FORMATS, _KINDS.index(kind), path.as_posix())


def _files(root: Path) -> tuple[list[Path], list[Path]]:
    """Files of objects in a folder and those in it, and files of what only touches; links to folders are not followed.

    A mesh that an MJCF names is no object of its own, nor is one beside or below a URDF.
    """
    found: list[Path] = []
    touched: list[Path] = []
    described: set[Path] = set()
    count = 0
    for at, folders, files in os.walk(root):
        here = Path(at)
        count += len(files)
        if count > _MOST_FILES:
            raise invalid(f"The folder {root.name!r} holds more than {_MOST_FILES:,} files: name a folder in it.")
        inside = here.relative_to(root).parts
        folders[:] = sorted(name for name in folders if len(inside) < _DEEPEST and not name.startswith("."))
        urdfs = sorted(name for name in files if name.lower().endswith(_URDF))
        if urdfs:  # what lies beside and below them are their meshes
            folders[:] = [
                name
                for name in folders
                if not _SHARED_FOLDERS.fullmatch(name.lower()) and not _ONLY_TOUCHED.search(name.lower())
            ]
        touches = any(_ONLY_TOUCHED.search(part.lower()) for part in inside)
        for name in urdfs or sorted(files):
            stem, kind = os.path.splitext(name.lower())
            if kind not in _KINDS or name.startswith("."):
                continue
            path = here / name
            if kind == _MJCF:
                meshes = meshes_named(path, root)
                if meshes is None:
                    continue
                described.update(meshes)
            touching = kind in FORMATS and (touches or _ONLY_TOUCHED.search(stem) is not None)
            (touched if touching else found).append(path)
    return [path for path in found if path not in described], [path for path in touched if path not in described]


def _beside(root: Path) -> Iterator[Path]:
    """Every file of a folder and those in it but the hidden ones; links to folders are not followed."""
    for at, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(at) / name for name in files if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


def known_sets() -> tuple[str, ...]:
    """Names of all sets: those of installed packages, then those of folders. Raises ToolError as `use_objects`."""
    return (*registry.names("object set"), *folder_sets())
