"""Memories of sessions as files of a run folder: read before they are used, so that deleting one forgets it."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from toolhand.agent_node.runs.folder import encode, write_atomically
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.files import read_file
from toolhand.tool_nodes.plain_json import PlainJsonError
from toolhand.tool_nodes.results import ToolError, invalid, unavailable

FOLDER = "dialogue"
"""Folder of a folder of runs in which memories lie, one file each."""
FORMAT = "toolhand-dialogue-1"
"""Value of the entry "format" of each file."""
MAX_BYTES = 2**20
"""A longer file is not read [bytes]: a memory of the longest sentences has a tenth of that."""

logger = logging.getLogger("toolhand.agent")

T = TypeVar("T")


class MemoryFile:
    """One file, and the memories that it keeps.

    Args:
        path: The file; its folder is made when it is first written.
        memories: Dataclasses that it keeps by their names, which are changed in place.
    """

    def __init__(self, path: Path, **memories: Any) -> None:
        self._path, self._kept = path, memories
        self._written = self._behind = False

    def read(self) -> None:
        """Take over what the file holds; where it is gone, forget all that was remembered.

        A file that could not be written last time holds less than is remembered, and is passed over.

        Raises:
            ToolError: INVALID_ARGUMENT for a file that is damaged or none of a dialogue.
        """
        if self._behind or (not self._written and not self._path.exists()):
            return
        found = load(self._path, {name: type(memory) for name, memory in self._kept.items()})
        for name, memory in self._kept.items():
            known = found.get(name, type(memory)())
            for entry in fields(memory):
                setattr(memory, entry.name, getattr(known, entry.name))

    def write(self) -> None:
        """Keep what is remembered now. Raises ToolError UNAVAILABLE where it cannot be written."""
        self._behind = True
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unavailable(f"Cannot write {self._path}: {error.strerror}.") from error
        document = {"format": FORMAT} | {name: asdict(memory) for name, memory in self._kept.items()}
        write_atomically(self._path, encode(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"))
        self._written, self._behind = True, False


@contextlib.contextmanager
def kept_up(files: Sequence[MemoryFile]) -> Iterator[list[str]]:
    """A context around what changes memories: their files are read before it and written after it.

    Yields:
        A list that holds, after the context, a sentence for each file that could not be written, which is logged, too:
        what was done is told all the same.

    Raises:
        ToolError: As `MemoryFile.read`.
    """
    unwritten = list[str]()
    for file in files:
        file.read()
    try:
        yield unwritten
    finally:
        for file in files:
            try:
                file.write()
            except ToolError as error:
                unwritten.append(f"What is remembered is not kept: {error}")
                logger.warning("%s", unwritten[-1])


def load(path: Path, kinds: Mapping[str, type]) -> dict[str, Any]:
    """The memories of a file by their names, of those that are asked for; empty where there is no file.

    Raises:
        ToolError: INVALID_ARGUMENT for a file that is damaged or none of a dialogue.
    """
    try:
        document = plain_json.load(read_file(path, MAX_BYTES, path.parent))
    except FileNotFoundError:
        return {}
    except PlainJsonError as error:
        raise invalid(f"{path} is damaged: it is no JSON document.", _FORGET) from error
    except OSError as error:
        raise invalid(f"Cannot read {path}: {error.strerror or error}.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise invalid(f"{path} is no memory of a dialogue.", _FORGET)
    try:
        return {name: _made(kind, document[name]) for name, kind in kinds.items() if name in document}
    except (TypeError, ValueError, KeyError, ToolError) as error:
        raise invalid(f"{path} is damaged: {error}.", _FORGET) from error


_FORGET = "Delete it, or type `toolhand dialogue forget`."


def _made(kind: Any, value: Any) -> Any:
    """A value of a JSON document as a type, checked to the last entry. Raises ValueError."""
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, Mapping):
            raise ValueError(f"{kind.__name__} must be an object")
        hints = get_type_hints(kind)
        known = {entry.name for entry in fields(kind)}
        if unknown := set(value) - known:
            raise ValueError(f"{kind.__name__} has no {sorted(unknown)[0]!r}")
        return kind(**{name: _made(hints[name], each) for name, each in value.items()})
    if origin in (Union, UnionType):
        if value is None and type(None) in arguments:
            return None
        return _made(next(each for each in arguments if each is not type(None)), value)
    if origin is Literal:
        if value not in arguments:
            raise ValueError(f"{value!r} is none of {', '.join(map(str, arguments))}")
        return value
    if origin is list:
        return [_made(arguments[0], each) for each in _sequence(value)]
    if origin is tuple:
        items = _sequence(value)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return tuple(_made(arguments[0], each) for each in items)
        if len(items) != len(arguments):
            raise ValueError(f"{len(arguments)} values are needed, not {len(items)}")
        return tuple(_made(each, item) for each, item in zip(arguments, items, strict=True))
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise ValueError(f"{value!r:.60} is no {kind.__name__}")
    return value


def _sequence(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r:.60} is no list")
    return value
