"""`toolhand engines`: the environments of engines that train on this project's episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from toolhand.agent_node.console.terminal import AsJson, emit, say
from toolhand.training.adapters.environments import ENGINES, FOLDER, engine_named, make_environment


def engines_list(folder: Path = FOLDER, as_json: AsJson = False) -> int:
    """List the engines: version, and the Python that has it where its environment has been made.

    Args:
        folder: Holds their environments.
    """
    rows = [
        {
            "engine": engine.name,
            "version": engine.version,
            "python": str(engine.python(folder)) if engine.made(folder) else None,
        }
        for engine in ENGINES.values()
    ]
    if as_json:
        emit(rows)
        return 0
    for row in rows:
        print(f"{row['engine']:10}{row['version']:10}{row['python'] or 'not made'}")
    return 0


def engines_make(
    name: Annotated[str, tyro.conf.Positional],
    folder: Path = FOLDER,
    again: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    as_json: AsJson = False,
) -> int:
    """Make the virtual environment of an engine, of pinned versions, with this checkout in it.

    Args:
        name: Name of the engine, see `toolhand engines list`.
        folder: Holds their environments.
        again: Begin anew, from an empty folder.
    """
    python = make_environment(engine_named(name), folder, again)
    if as_json:
        emit({"engine": name, "python": str(python)})
    else:
        say(f"{python} has {name} and this project.")
    return 0
