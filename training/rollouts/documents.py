"""Dataclasses as JSON documents and back, strictly: what is read has exactly the fields and types that are written.

Long texts and long lists of numbers may be kept apart, by the hash of what they say: a document has
`{"sha256": ...}` in their place.
"""

from __future__ import annotations

import functools
import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from tool_nodes import plain_json
from tool_nodes.plain_json import PlainJsonError
from tool_nodes.results import ToolError, invalid

T = TypeVar("T")

HASH = "sha256"
"""The key of the document that stands for a value which is kept apart."""

KeepText = Callable[[str], str]
"""Keeps a text and gives its hash."""
RecallText = Callable[[str], str]
"""The text of a hash."""

_GREATEST = 1e300
"""Greatest number, of either sign, that stands for one: Python's whole numbers have no end, and NaN is below none."""

_SHOWN = 60
"""Longest part of a wrong value in an error [characters]."""


def document_of(value: Any, keep: KeepText | None = None, longest: int = 0) -> dict[str, Any]:
    """A dataclass as a JSON document, without the fields that are as by default.

    Args:
        value: Its fields hold text, numbers, booleans, None, JSON documents, dataclasses, and tuples of these.
        keep: Keeps texts of more characters, and tuples of more numbers, than `longest`; None writes all in place.
        longest: See `keep`.
    """
    found = {}
    for entry in fields(value):
        content = getattr(value, entry.name)
        if content != _default(entry):
            found[entry.name] = _as_plain(content, keep, longest)
    return found


def _as_plain(content: Any, keep: KeepText | None, longest: int) -> Any:
    if is_dataclass(content):
        return document_of(content, keep, longest)
    if isinstance(content, tuple):
        written = [_as_plain(item, keep, longest) for item in content]
        numbers = bool(content) and isinstance(content[0], int | float)
        return {HASH: keep(json.dumps(written))} if keep and numbers and len(content) > longest else written
    if isinstance(content, str):
        return {HASH: keep(content)} if keep and len(content) > longest else str(content)
    return content


def dataclass_of(kind: type[T], document: Any, recall: RecallText | None = None, where: str = "") -> T:
    """The dataclass of a JSON document.

    Args:
        kind: Which.
        document: Document made by `document_of`.
        recall: Gives texts that were kept apart.
        where: Names the document in an error, e.g. "turns[3]".

    Raises:
        ToolError: INVALID_ARGUMENT for a field too many, one that is missing, or one of another type; what `recall`
            raises.
    """
    if not isinstance(document, Mapping):
        raise _wrong(where or kind.__name__, "an object", document)
    known: dict[str, Field[Any]] = {entry.name: entry for entry in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(document) - set(known))
    missing = sorted(name for name, entry in known.items() if name not in document and _default(entry) is MISSING)
    if unknown or missing:
        said = f"has no field {missing[0]!r}" if missing else f"has an unknown field {unknown[0][:_SHOWN]!r}"
        raise invalid(f"{where or 'it'} {said}")
    hints = _hints(kind)  # type: ignore[arg-type]
    values = {
        name: _read(hints[name], content, recall, f"{where}.{name}" if where else name)
        for name, content in document.items()
    }
    return kind(**values)


def _read(hint: Any, content: Any, recall: RecallText | None, where: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if content is None and type(None) in arguments:
            return None
        (hint,) = (argument for argument in arguments if argument is not type(None))
        return _read(hint, content, recall, where)
    if origin is tuple:
        if isinstance(content, Mapping) and set(content) == {HASH}:
            content = _json_of(_recalled(content, recall, where), where)
        if not isinstance(content, list):
            raise _wrong(where, "a list", content)
        if arguments[-1] is not Ellipsis and len(content) != len(arguments):
            raise _wrong(where, f"a list of {len(arguments)}", content)
        kinds = arguments[:1] * len(content) if arguments[-1] is Ellipsis else arguments
        return tuple(
            _read(kind, item, recall, f"{where}[{k}]")
            for k, (kind, item) in enumerate(zip(kinds, content, strict=True))
        )
    if hint is Any:
        return content
    if origin is Literal:
        if content not in arguments:
            raise _wrong(where, " or ".join(map(str, arguments)), content)
        return content
    if origin is not None:  # a mapping with names
        if not isinstance(content, Mapping):
            raise _wrong(where, "an object", content)
        return {name: _read(arguments[1], item, recall, f"{where}.{name}") for name, item in content.items()}
    if is_dataclass(hint):
        return dataclass_of(hint, content, recall, where)  # type: ignore[arg-type]
    if hint is str and isinstance(content, Mapping) and set(content) == {HASH}:
        return _recalled(content, recall, where)
    return _plain(hint, content, where)


def _plain(hint: type, content: Any, where: str) -> Any:
    """Text, a number or a boolean."""
    if hint is float and isinstance(content, int | float) and type(content) is not bool and abs(content) <= _GREATEST:
        return float(content)
    names = {str: "a text", int: "a whole number", float: "a finite number", bool: "true or false"}
    if hint is int and type(content) is int and not -(2**63) <= content < 2**63:
        raise invalid(f"{where} must be a whole number of 64 bits")
    if type(content) is not hint:
        raise _wrong(where, names[hint], content)
    return content


def _json_of(text: str, where: str) -> Any:
    try:
        return plain_json.load(text)
    except PlainJsonError as error:
        raise invalid(f"{where} is kept in the store, where {error}") from error


def _recalled(content: Mapping[str, Any], recall: RecallText | None, where: str) -> str:
    if recall is None:
        raise invalid(f"{where} is kept in a store, and none was given")
    return recall(content[HASH])


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _default(entry: Field[Any]) -> Any:
    if entry.default_factory is not MISSING:
        return entry.default_factory()
    return entry.default


def _wrong(where: str, expected: str, content: Any) -> ToolError:
    return invalid(f"{where} must be {expected}, not {repr(content)[:_SHOWN]}")
