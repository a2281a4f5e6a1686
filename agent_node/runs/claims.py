"""Folders that a second call of the same command goes on with: what was asked for stands in a file of theirs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolhand.agent_node.runs.folder import write_json
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import NOTES_BYTES, read_file, why
from toolhand.tool_nodes.plain_json import PlainJsonError
from toolhand.tool_nodes.results import invalid, unavailable


def require_empty(folder: Path) -> None:
    """Raises ToolError INVALID_ARGUMENT where a folder holds anything or is none; UNAVAILABLE unread."""
    try:
        found = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise unavailable(f"Cannot read {folder}: {why(error)}.") from error
    if found or (folder.exists() and not folder.is_dir()):
        such = f", such as {found[0]}" if found else ""
        raise invalid(
            f"{folder} holds something already{such}, and nothing is replaced.",
            "Name a folder that does not exist yet or is empty.",
        )


def claim(
    folder: Path,
    name: str,
    asked: Mapping[str, Any],
    limit: int = NOTES_BYTES,
    other: Callable[[Mapping[str, Any]], str] = lambda there: "",
) -> None:
    """Note in a file of a folder what was asked for; nothing is done where the same stands there.

    Args:
        folder: Made where it is not there.
        name: Name of the file.
        asked: The request as a JSON object.
        limit: Longest file that is read [bytes].
        other: Gives a sentence about a note that is another, beside the names of its entries; empty for none.

    Raises:
        ToolError: INVALID_ARGUMENT where the folder holds something else, or was begun by another request; UNAVAILABLE
            where it cannot be written.
    """
    path, wanted = folder / name, json.loads(json.dumps(asked))
    if not path.exists():
        require_empty(folder)
        write_json(path, wanted)
        return
    try:
        there = plain_json.load(read_file(path, limit, folder))
        if not isinstance(there, dict):
            raise PlainJsonError("it is no object")
    except (OSError, PlainJsonError) as error:
        raise invalid(f"{path} cannot be read: {why(error)}.") from error
    if differing := sorted(key for key in {*there, *wanted} if there.get(key) != wanted.get(key)):
        short = {key: f" ({v!s:.60})" for key, v in there.items() if isinstance(v, (str, int, float)) and v != ""}
        named = ", ".join(key + short.get(key, "") for key in differing)
        message = f"{folder} was begun with another {named}. {other(there)}".strip()
        raise invalid(message, "Name another folder, or give the same options to go on with it.")
