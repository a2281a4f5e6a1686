"""Folders of meshes as sets of things: YCB, Google Scanned Objects, EGAD, URDF folders, and any of one's own.

A set is called as its folder and its things as their files or folders, in lower case with letters, digits and minus
alone: `ycb/003-cracker-box`. Naming them reads no mesh; a mesh is read when its thing is asked for.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from sim.objects.asset import ObjectAsset
from sim.objects.reading.assets import Placed, asset_of
from sim.objects.reading.mesh_files import FORMATS, read_mesh
from sim.objects.reading.notes import FILE as NOTES
from sim.objects.reading.notes import FolderNotes, Note, folder_notes, note_beside, package_folder
from sim.objects.reading.urdf import read_urdf
from tool_nodes import registry
from tool_nodes.catalogue import Description
from tool_nodes.results import invalid

OBJECTS_PATH = "TOOLHAND_OBJECTS_PATH"
"""Environment variable: folders of things, separated as in PATH; what a command starts inherits it."""

LOG = logging.getLogger("toolhand.objects")
"""What was repaired or guessed of a mesh, a warning each; shown on stderr unless somebody handles it."""

_URDF = ".urdf"
_DEEPEST, _MOST_FILES = 8, 200_000
"""Folders in folders, and files in all, that are looked through [-]: Google's 1,030 scans have 10,000 files."""
_SHARED_STEMS = re.compile(r"(non|un)?textured(_simple|_simplified)?|model(_normalized)?|mesh|object|base|visual|scene")
"""Names of files that many things of a set share: their folder names them then."""
_SHARED_FOLDERS = re.compile(
    r"google_\d+k|meshes|mesh|models?|visual|poisson|tsdf|clouds|obj|stl|ply|glb|gltf|urdf|textured_objs|materials|textures"
)
"""Names of folders that say nothing of a thing."""
_ONLY_TOUCHED = re.compile(r"(^|[_-])(collision|coll|col|vhacd|coacd|convex|hull)s?([_-]?\d*)?$")
"""Names of files and folders with the collision geometry of a thing."""
_HASH_DIGITS = 12
"""Hexadecimal digits by which a folder's content is known [-]: 48 bits, more than tell two folders apart."""
_BETTER = ("google_16k", "google_64k", "google_512k")
"""Where one thing has several meshes, these folders come first: of YCB's, the one of 16,000 triangles."""


def use_objects(folders: str) -> None:
    """Make folders of meshes sets of things, in this process and in those that it starts.

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
    for things in sets.values():
        len(things)  # found now, so that a mistake is said before anything begins
    if named:
        os.environ[OBJECTS_PATH] = os.pathsep.join(named)
    else:
        os.environ.pop(OBJECTS_PATH, None)


def folder_sets() -> Mapping[str, FolderSet]:
    """The sets of all folders in use, by name. Raises ToolError as `use_objects`."""
    return _sets(os.environ.get(OBJECTS_PATH, ""))


def plain_name(text: str) -> str:
    """A name of letters, digits and minus, in lower case; empty where nothing of it is left."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


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
    """One thing of a folder: its file, the folder that it must not leave, and its words."""

    path: Path
    root: Path
    note: Note


class FolderSet(Mapping[str, ObjectAsset]):
    """The things of one folder, in the order of their names.

    Args:
        folder: The folder, which stays as it is while it is in use.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, ObjectAsset] = {}

    def __getitem__(self, name: str) -> ObjectAsset:
        found = self._found[name]
        if name not in self._made:
            self._made[name] = _made(name, found)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def content_hash(self) -> str:
        """The first 12 digits of the SHA-256 of `objects.yaml` and of every file beside the things, paths and all.

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
        files = _files_by_name(notes.root)
        found = {name: _Found(path, notes.root, notes.defaults) for name, path in files.items()}
        for key, note in notes.things.items():
            name = plain_name(key)
            found[name] = _described(key, note, notes, found.get(name))
        if not found:
            kinds = ", ".join((*FORMATS, _URDF))
            raise invalid(f"The folder {self._folder.name!r} holds no things: it must hold files of {kinds}.")
        return dict(sorted(found.items()))


def _described(key: str, note: Note, notes: FolderNotes, found: _Found | None) -> _Found:
    """A thing of `objects.yaml`: one of the folder's, or a mesh that it names."""
    where = f"objects.yaml, {key[:60]!r}"
    whole = note.over(notes.defaults)
    if note.mesh is None:
        if found is None:
            raise invalid(f"{where}: there is no such thing in the folder; say its file, as mesh: PATH.")
        return _Found(found.path, found.root, whole)
    root = package_folder(note.package, where) if note.package else notes.root
    path = root / note.mesh
    if path.suffix.lower() not in (*FORMATS, _URDF) or not path.is_file():
        raise invalid(f"{where}: mesh must name a file of {', '.join((*FORMATS, _URDF))}, and {note.mesh!r} does not.")
    if not path.resolve().is_relative_to(root.resolve()):
        raise invalid(f"{where}: the mesh {note.mesh!r} lies outside of {root.name}.")
    return _Found(path, root, whole)


def _made(name: str, found: _Found) -> ObjectAsset:
    """A thing, read. What was repaired of it is logged once in a process."""
    note = note_beside(found.path, found.root).over(found.note)
    words = re.sub(r"^\d+[a-z]?-(?=[a-z])", "", name).replace("-", " ")
    last = words.split()[-1]
    described = Description(name=words, kind=last if last.isalpha() and len(last) > 2 else "object", colour="")
    remarks: tuple[str, ...] = ()
    if found.path.suffix.lower() == _URDF:
        thing = read_urdf(found.path, found.root)
        note = note.over(Note(mass=None if note.density else thing.mass, friction=thing.friction))
        meshes, remarks = thing.meshes, thing.remarks
    else:
        raw = read_mesh(found.path, found.root)
        meshes = (Placed.as_it_is(raw),)
    made = asset_of(meshes, note, described, found.path.name)
    for remark in (*remarks, *made.remarks):
        LOG.warning("%s: %s", name, remark)
    return made.asset


def _files_by_name(root: Path) -> dict[str, Path]:
    """The file of each thing of a folder, by the name that it gets."""
    by_thing: dict[tuple[Path, str], list[Path]] = {}
    for path in _files(root):
        by_thing.setdefault(_thing_of(path, root), []).append(path)
    chosen = {thing: min(paths, key=_rank) for thing, paths in by_thing.items()}
    taken: dict[str, list[tuple[Path, str]]] = {}
    for folder, stem in chosen:
        taken.setdefault(plain_name(stem), []).append((folder, stem))
    found: dict[str, Path] = {}
    for name, things in taken.items():
        for k, (folder, stem) in enumerate(sorted(things)):
            inside = folder.relative_to(root).as_posix()
            own = name if len(things) == 1 else plain_name(f"{inside}-{stem}")
            own = own or f"thing-{k}"
            found[own if own not in found else f"{own}-{k}"] = chosen[folder, stem]
    return found


def _thing_of(path: Path, root: Path) -> tuple[Path, str]:
    """The folder of a thing and its name: the file's, or its folder's where many files are called so."""
    folder = path.parent
    while folder != root and _SHARED_FOLDERS.fullmatch(folder.name.lower()):
        folder = folder.parent
    if _SHARED_STEMS.fullmatch(path.stem.lower()) and folder != root:
        return folder.parent, folder.name
    return folder, path.stem


def _rank(path: Path) -> tuple[int, bool, int, str]:
    """Which of several meshes of a thing is taken: the least."""
    known = [_BETTER.index(part) for part in path.parts if part in _BETTER]
    order = (_URDF, *FORMATS)
    plain = path.stem.lower().startswith(("non", "un"))
    return (known[0] if known else len(_BETTER), plain, order.index(path.suffix.lower()), path.as_posix())


def _files(root: Path) -> Iterator[Path]:
    """Files of things in a folder and those in it, in order; links to folders are not followed."""
    count = 0
    for at, folders, files in os.walk(root):
        here = Path(at)
        count += len(files)
        if count > _MOST_FILES:
            raise invalid(f"The folder {root.name!r} holds more than {_MOST_FILES:,} files: name a folder in it.")
        deep = len(here.relative_to(root).parts)
        folders[:] = sorted(name for name in folders if deep < _DEEPEST and not name.startswith("."))
        urdfs = sorted(name for name in files if name.lower().endswith(_URDF))
        if urdfs:  # what lies beside and below them are their meshes
            folders[:] = [name for name in folders if not _SHARED_FOLDERS.fullmatch(name.lower())]
        folders[:] = [name for name in folders if not _ONLY_TOUCHED.search(name.lower())]
        for name in urdfs or sorted(files):
            stem, kind = os.path.splitext(name.lower())
            if kind in (*FORMATS, _URDF) and not _ONLY_TOUCHED.search(stem) and not name.startswith("."):
                yield here / name


def _beside(root: Path) -> Iterator[Path]:
    """Every file of a folder and those in it but the hidden ones; links to folders are not followed."""
    for at, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(at) / name for name in files if not name.startswith("."))
        yield from (path for path in paths if path.is_file())


def known_sets() -> tuple[str, ...]:
    """Names of all sets: those of installed packages, then those of folders. Raises ToolError as `use_objects`."""
    return (*registry.names("object set"), *folder_sets())
