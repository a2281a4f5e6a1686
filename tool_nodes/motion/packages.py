"""Where the files of a URDF's meshes are: in the robot's folder, or in a ROS package.

`package://NAME/PATH` is looked for in the folders of `--package-path` (the variable TOOLHAND_PACKAGE_PATH), then in
the ament index (AMENT_PREFIX_PATH). Nothing outside the robot's folder and these packages is opened, and nothing is
fetched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

from toolhand.tool_nodes.results import invalid

PACKAGE_PATH = "TOOLHAND_PACKAGE_PATH"
"""Environment variable: folders of packages, separated as in PATH; what a command starts inherits it."""
MAX_MESH_BYTES = 64_000_000
"""Largest mesh that is read [bytes]; those of the Gen3 have 2 MB at most."""
_AMENT_PREFIXES = "AMENT_PREFIX_PATH"
_INDEX = Path("share", "ament_index", "resource_index", "packages")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,127}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


def use_packages(folders: str) -> None:
    """Look for packages in these folders, separated as in PATH, in this process and in those that it starts.

    Raises:
        ToolError: INVALID_ARGUMENT for what is no folder.
    """
    if not folders:
        return
    named = folders.split(os.pathsep)
    for folder in named:
        if not folder or not Path(folder).is_dir():
            raise invalid(f"package-path must name folders, got {folder[:200]!r}.")
    os.environ[PACKAGE_PATH] = os.pathsep.join(str(Path(folder).resolve()) for folder in named)


def find_package(name: str) -> Path | None:
    """The folder with the files of a package; None where it is not found."""
    if not _NAME.fullmatch(name):
        return None
    for folder in _folders(PACKAGE_PATH):
        # A package itself, one in a folder of packages, or one in a repository of several.
        candidates = [folder] if folder.name == name else []
        candidates += [folder / name, *sorted(folder.glob(f"*/{name}"))]
        for candidate in candidates:
            if (candidate / "package.xml").is_file():
                return candidate
    for prefix in _folders(_AMENT_PREFIXES):
        if (prefix / _INDEX / name).is_file() and (prefix / "share" / name).is_dir():
            return prefix / "share" / name
    return None


def mesh_file(address: str, folder: Path) -> Path:
    """The file that a URDF means by `address`.

    Args:
        address: package://NAME/PATH, file://PATH, or a path, from the URDF's folder where it is not absolute.
        folder: The URDF's folder.

    Raises:
        ValueError: Where it is not allowed or not found; the message is a sentence without a full stop.
    """
    if "\0" in address or not address.strip():
        raise ValueError("the file name of a mesh must not be empty")
    scheme = _SCHEME.fullmatch(address.strip())
    roots = [folder]
    if scheme is None:
        path = folder / address.strip()
    elif scheme[1] == "package":
        name, _, rest = scheme[2].partition("/")
        package = find_package(name)
        if package is None:
            raise ValueError(
                f"the package {name[:80]!r} is not found; source its workspace (AMENT_PREFIX_PATH), or name the folder "
                "that it is in with --package-path"
            )
        path, roots = package / unquote(rest), [package]
    elif scheme[1] == "file":
        path = Path(unquote(scheme[2]))
        roots += _known_packages(path)
    else:
        raise ValueError(f"a mesh is named by package://, file:// or a path, not by {scheme[1][:20]}://")
    if scheme is None and Path(address.strip()).is_absolute():
        roots += _known_packages(path)
    found = path.resolve()
    if not any(found.is_relative_to(root.resolve()) for root in roots):
        raise ValueError(f"the mesh {address[:120]!r} is outside the robot's folder and the packages")
    if not found.is_file():
        raise ValueError(f"the mesh {address[:120]!r} is not there")
    if found.stat().st_size > MAX_MESH_BYTES:
        raise ValueError(f"the mesh {address[:120]!r} is larger than {MAX_MESH_BYTES} bytes")
    return found


def _known_packages(path: Path) -> Iterator[Path]:
    """The packages that a file could be in by the names of the folders above it."""
    for parent in path.parents:
        found = find_package(parent.name)
        if found is not None and found.resolve() == parent.resolve():
            yield found


def _folders(variable: str) -> Iterator[Path]:
    for text in os.environ.get(variable, "").split(os.pathsep):
        if text and Path(text).is_dir():
            yield Path(text)
