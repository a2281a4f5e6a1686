"""Object sets as `--objects` names them: folders of meshes, and sets of installed packages."""

from __future__ import annotations

import os
from pathlib import Path

from toolhand.sim.objects.folders import folder_sets, plain_name, use_objects
from toolhand.sim.objects.sets import object_set
from toolhand.tool_nodes import registry
from toolhand.tool_nodes.results import invalid

_SHOWN = 200
"""Characters of an unknown name that a message repeats."""


def choose_sets(text: str) -> tuple[str, ...]:
    """Make the folders that a text names sets of this process and of those that it starts, in place of earlier ones.

    Args:
        text: Folders and names of installed sets, separated as in PATH, or by + as in the names of scenes; empty leaves
            everything as it is.

    Returns:
        Names of the sets, as scenes write them.

    Raises:
        ToolError: INVALID_ARGUMENT for what is neither; UNAVAILABLE for an installed set that cannot be loaded.
    """
    if not text:
        return ()
    installed, parts = registry.names("object set"), _parts(text)
    for part in parts:
        if part not in installed and not os.path.isdir(part):
            raise invalid(
                f"There is no object set {part[:_SHOWN]!r}: it must be a folder of meshes, or {' or '.join(installed)}."
            )
    use_objects(os.pathsep.join(part for part in parts if part not in installed))
    names = tuple(part if part in installed else plain_name(Path(part).resolve().name) for part in parts)
    for name in names:
        object_set(name)
    return names


def absolute_sets(text: str) -> str:
    """The same sets for processes that may run in another folder: paths of folders are made absolute."""
    installed, parts = registry.names("object set"), _parts(text) if text else []
    return os.pathsep.join(part if part in installed else os.path.abspath(part) for part in parts)


def sets_known_by(text: str) -> str:
    """What sets are known by, wherever their folders lie and however they were typed: their names, and of folders the
    content. Raises ToolError INVALID_ARGUMENT as `choose_sets`."""
    names = choose_sets(text)
    folders = folder_sets()
    return "+".join(sorted(f"{name}:{folders[name].content_hash()}" if name in folders else name for name in names))


def _parts(text: str) -> list[str]:
    """Folders and names. A folder may have a + in its name."""
    parts = text.split(os.pathsep)
    return [piece for part in parts for piece in ([part] if os.path.isdir(part) else part.split("+"))]
