"""Names that a page asks for, as folders inside the one that is shown: nothing outside of it is reached."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from toolhand.tool_nodes.results import invalid

_LONGEST = 255
"""Longest name of a file that Linux allows [bytes]."""
_SHOWN = 60
"""Longest part of a name that an error repeats [characters]."""


def folder_in(root: Path, name: str, what: str = "run") -> Path:
    """A folder that lies directly in another one.

    Args:
        root: Folder that is shown.
        name: Name of the folder, as a page asks for it.
        what: Kind of the folder, for errors.

    Raises:
        ToolError: INVALID_ARGUMENT for a path, a link that leads out of `root`, and what is not there.
    """
    return _found_in(root, name, what, "folder", Path.is_dir)


def file_in(root: Path, name: str, what: str) -> Path:
    """A regular file that lies directly in a folder; arguments and errors as of `folder_in`."""
    return _found_in(root, name, what, "file", Path.is_file)


def _found_in(root: Path, name: str, what: str, kind: str, is_there: Callable[[Path], bool]) -> Path:
    shown = f"{what} {name[:_SHOWN]!r}"
    if not _is_name(name):
        raise invalid(f"The {shown} is no name of a {kind}.")
    path = root / name
    if not is_there(path):
        raise invalid(f"There is no {shown} in {root.name} any more, or there never was.")
    if not is_inside(path, root):
        raise invalid(f"The {shown} lies outside of {root.name}, and is not shown.")
    return path


def is_inside(path: Path, root: Path) -> bool:
    """Whether a path, with all links followed, lies in a folder."""
    try:
        return path.resolve().is_relative_to(root.resolve())
    except OSError:
        return False


def _is_name(name: str) -> bool:
    encoded = name.encode("utf-8", "surrogateescape")
    return 0 < len(encoded) <= _LONGEST and name not in (".", "..") and not set(name) & set("/\\\0")
