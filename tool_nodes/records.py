"""Files of others as dataclasses, strictly: one reader of JSON and YAML documents, with one sentence for each mistake.

    @dataclass(frozen=True)
    class Light:
        position_m: tuple[float, float, float]
        power: Annotated[float, Interval(ge=0.0, le=10.0)] = 1.0

    read_yaml(Light, Path("light.yaml"))

A new kind of file is such a dataclass and nothing else. What its types say is checked by pydantic, which is imported
with the first document that is read. Stricter than pydantic's default:

- a number is finite, a whole one has 64 bits, and neither text nor truth values stand for one;
- a key that the dataclass has not is refused, with the nearest that it has;
- bounds are `annotated_types.Interval` and `Len`; everything else that a value has to be is a `Rule`;
- a field whose name ends with an underscore is the key without it (`with_` is `with`).

Sizes are bounded by the readers' limits of a file; `__post_init__` checks what several fields say together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from toolhand.tool_nodes.files import read_file, why
from toolhand.tool_nodes.plain_yaml import PlainYamlError, YamlLimits, load
from toolhand.tool_nodes.record_schemas import HASH, LINE, line_of, reader_of, sentence_of, shown, without_lines
from toolhand.tool_nodes.results import ToolError, invalid

T = TypeVar("T")

KeepText = Callable[[str], str]
"""Keeps a text and gives its hash."""
RecallText = Callable[[str], str]
"""The text of a hash."""

USUAL = YamlLimits()
"""Of a YAML file of some hundred lines."""


@dataclass(frozen=True)
class Rule:
    """What a value has to be besides its type: metadata of `typing.Annotated`.

    Attributes:
        says: The end of "KEY must be ...".
        test: Whether a value of the type is so.
    """

    says: str
    test: Callable[[Any], bool]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import PydanticCustomError, core_schema

        def checked(value: Any) -> Any:
            if not self.test(value):
                raise PydanticCustomError("rule", "it is otherwise")
            return value

        schema = core_schema.no_info_after_validator_function(checked, handler(source))
        return schema | {"metadata": {"says": self.says}}


@dataclass(frozen=True)
class As:
    """What is written in another form: the document has what `read` takes, see `Rule`.

    Attributes:
        says: The end of "KEY must be ...".
        read: Makes the value; raises ValueError for what is none.
    """

    says: str
    read: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(self.read, metadata={"says": self.says})


@dataclass(frozen=True)
class Before:
    """What is made of a value before it is checked, such as the long form of a short one; see `Rule`."""

    made: Callable[[Any], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self.made, handler(source))


def record_of(kind: type[T], document: Any, at: str = "", recall: RecallText | None = None) -> T:
    """The dataclass, or any other type, of a document of plain data.

    Args:
        kind: Which.
        document: Content of JSON or YAML.
        at: Where it stands, which the keys of a sentence begin with, e.g. "turns[3]".
        recall: Gives the texts that `document_of` kept apart.

    Raises:
        ToolError: INVALID_ARGUMENT, one sentence with the key and what is allowed; what `recall` raises.
    """
    from pydantic_core import ValidationError

    reader = reader_of(cast(Any, kind))
    try:
        return cast(T, reader.validator.validate_python(document, context=recall))
    except ValidationError as error:
        raise invalid(f"{sentence_of(error, reader, at)[0]}.") from None


def read_yaml(kind: type[T], path: Path, limits: YamlLimits = USUAL, within: Path | None = None, name: str = "") -> T:
    """The record in a YAML file.

    Args:
        kind: See `record_of`.
        path: The file.
        limits: How much it may hold.
        within: See `toolhand.tool_nodes.files.read_file`.
        name: Name of the file in errors; that of the path by default.

    Raises:
        ToolError: INVALID_ARGUMENT, one sentence that names file, line and key and says what is allowed.
    """
    name = name or path.name
    return yaml_record(kind, _content(path, limits.size, within, name), name, limits)


def yaml_record(kind: type[T], text: str | bytes, name: str, limits: YamlLimits = USUAL) -> T:
    """The record of a YAML text. Raises as `read_yaml`; `name` stands for the file's."""
    return placed_record(kind, yaml_document(text, name, limits), name)


def yaml_document(text: str | bytes, name: str, limits: YamlLimits = USUAL) -> Any:
    """A YAML text as plain data whose mappings say by LINE where they begin. Raises as `read_yaml`."""
    try:
        return load(text, limits, line_key=LINE)
    except PlainYamlError as error:
        where = name if error.line is None else f"{name}, line {error.line}"
        raise invalid(f"{where}: it is no plain YAML ({error.problem.rstrip('.')}).") from error


def placed_record(kind: type[T], document: Any, name: str) -> T:
    """The record of a document with lines (`yaml_document`). Raises as `read_yaml`."""
    from pydantic_core import ValidationError

    reader = reader_of(cast(Any, kind))
    try:
        return cast(T, reader.validator.validate_python(without_lines(document)))
    except ValidationError as error:
        problem, path = sentence_of(error, reader, "")
        line = line_of(document, path)
        raise invalid(f"{name}{f', line {line}' if line else ''}: {problem}.") from None
    except ToolError as error:
        raise ToolError(error.code, f"{name}: {error.message}", error.hint) from None


def without_version(document: Any, version: int, key: str = "version") -> dict[str, Any]:
    """A document without its version. Raises ToolError INVALID_ARGUMENT for no mapping, and any other version."""
    if not isinstance(document, Mapping):
        raise invalid(f"it must be a mapping, not {shown(document)}.")
    if (found := document.get(key)) != version or isinstance(found, bool):
        said = f"is of {key} {shown(found)}" if key in document else f"has no {key}"
        raise invalid(f"it {said}, and only {key} {version} is read.")
    return {name: value for name, value in document.items() if name != key}


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
        default = entry.default if entry.default_factory is MISSING else entry.default_factory()
        if content != default:
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


def _content(path: Path, limit: int, within: Path | None, name: str) -> bytes:
    try:
        return read_file(path, limit, within)
    except OSError as error:
        raise invalid(f"{name} cannot be read: {why(error)}.") from error
