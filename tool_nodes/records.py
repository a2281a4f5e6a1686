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

import difflib
import functools
import json
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from rclpy_zenoh.plain_yaml import Limits, PlainYamlError, load
from tool_nodes import plain_json
from tool_nodes.files import read_file, why
from tool_nodes.plain_json import PlainJsonError
from tool_nodes.results import ToolError, invalid

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

T = TypeVar("T")

HASH = "sha256"
"""The key of the document that stands for a value which is kept apart."""
LINE = "__line__"
"""Key of a mapping's first line, in documents that were read with lines."""

KeepText = Callable[[str], str]
"""Keeps a text and gives its hash."""
RecallText = Callable[[str], str]
"""The text of a hash."""

USUAL = Limits()
"""Of a YAML file of some hundred lines."""

_GREATEST = 1e300
"""Greatest number of either sign: Python's whole numbers have no end, and arithmetic goes on with what is read."""
_WHOLE = 2**63
"""Whole numbers lie below it, and not below its negative: what every reader of JSON and ROS can hold."""
_MOST_KEYS = 16
"""Most keys that a sentence lists."""

_SHORTENED = reprlib.Repr()
_SHORTENED.maxstring = _SHORTENED.maxother = _SHORTENED.maxlong = 60


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
        document: What JSON or YAML holds.
        at: Where it stands, which the keys of a sentence begin with, e.g. "turns[3]".
        recall: Gives the texts that `document_of` kept apart.

    Raises:
        ToolError: INVALID_ARGUMENT, one sentence with the key and what is allowed; what `recall` raises.
    """
    from pydantic_core import ValidationError

    reader = _reader(cast(Any, kind))
    try:
        return cast(T, reader.validator.validate_python(document, context=recall))
    except ValidationError as error:
        raise invalid(f"{_sentence(error, reader, at)[0]}.") from None


def read_yaml(kind: type[T], path: Path, limits: Limits = USUAL, within: Path | None = None, name: str = "") -> T:
    """The record in a YAML file.

    Args:
        kind: See `record_of`.
        path: The file.
        limits: How much it may hold.
        within: See `tool_nodes.files.read_file`.
        name: Of the file in errors; that of the path by default.

    Raises:
        ToolError: INVALID_ARGUMENT, one sentence that names file, line and key and says what is allowed.
    """
    name = name or path.name
    return yaml_record(kind, _content(path, limits.size, within, name), name, limits)


def yaml_record(kind: type[T], text: str | bytes, name: str, limits: Limits = USUAL) -> T:
    """The record of a YAML text. Raises as `read_yaml`; `name` stands for the file's."""
    return placed_record(kind, yaml_document(text, name, limits), name)


def yaml_document(text: str | bytes, name: str, limits: Limits = USUAL) -> Any:
    """A YAML text as plain data whose mappings say by LINE where they begin. Raises as `read_yaml`."""
    try:
        return load(text, limits, line_key=LINE)
    except PlainYamlError as error:
        where = name if error.line is None else f"{name}, line {error.line}"
        raise invalid(f"{where}: it is no plain YAML ({error.problem.rstrip('.')}).") from error


def placed_record(kind: type[T], document: Any, name: str) -> T:
    """The record of a document with lines (`yaml_document`). Raises as `read_yaml`."""
    from pydantic_core import ValidationError

    reader = _reader(cast(Any, kind))
    try:
        return cast(T, reader.validator.validate_python(_without_lines(document)))
    except ValidationError as error:
        problem, path = _sentence(error, reader, "")
        line = _line(document, path)
        raise invalid(f"{name}{f', line {line}' if line else ''}: {problem}.") from None
    except ToolError as error:
        raise ToolError(error.code, f"{name}: {error.message}", error.hint) from None


def read_json(kind: type[T], path: Path, limit: int, within: Path | None = None) -> T:
    """The record in a JSON file of at most `limit` bytes. Raises ToolError INVALID_ARGUMENT that names file and key."""
    content = _content(path, limit, within, path.name)
    try:
        return record_of(kind, plain_json.load(content))
    except PlainJsonError as error:
        raise invalid(f"{path.name} is damaged: {error}.") from error
    except ToolError as error:
        raise ToolError(error.code, f"{path.name}: {error.message}", error.hint) from None


def without_version(document: Any, version: int, key: str = "version", what: str = "it") -> dict[str, Any]:
    """A document without its version. Raises ToolError INVALID_ARGUMENT for no mapping, and any other version."""
    if not isinstance(document, Mapping):
        raise invalid(f"{what} must be a mapping, not {_shown(document)}.")
    if (found := document.get(key)) != version or isinstance(found, bool):
        said = f"is of {key} {_shown(found)}" if key in document else f"has no {key}"
        raise invalid(f"{what} {said}, and only {key} {version} is read.")
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


# -- the validator ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Reader:
    """A validator, its schema, and the schemas that it refers to."""

    validator: SchemaValidator
    schema: Mapping[str, Any]
    named: Mapping[str, Mapping[str, Any]]

    def plain(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        """The schema of the values of a node: without defaults, null and names."""
        while True:
            if node["type"] == "definition-ref":
                node = self.named[node["schema_ref"]]
            elif node["type"] in _WRAPPERS and "says" not in _metadata(node):
                node = node["schema"]
            else:
                return node

    def inner(self, node: Mapping[str, Any], key: str | int) -> Mapping[str, Any] | None:
        """The schema of what a node has at a key; None where that is open."""
        if "says" in _metadata(node):
            node = self.plain(node["schema"]) if "schema" in node else node
        if node["type"] == "dataclass-args":
            return next((each for each in node["fields"] if _key(each) == key), None)
        if node["type"] == "dict":
            return cast(Mapping[str, Any], node["values_schema"])
        if node["type"] == "tuple" and isinstance(key, int):
            items = node["items_schema"]
            return cast(Mapping[str, Any], items[min(key, len(items) - 1)])
        return node.get("items_schema") if node["type"] == "list" else None


_WRAPPERS = (
    "default",
    "nullable",
    "definitions",
    "dataclass-field",
    "dataclass",
    "function-before",
    "function-after",
)
"""Types of schema around the one of a value."""


@functools.cache
def _reader(kind: Any) -> _Reader:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    schema = _strict(TypeAdapter(kind).core_schema)
    named = {node["ref"]: node for node in schema.get("definitions", ())}
    return _Reader(SchemaValidator(schema), schema, named)


def _strict(node: Any) -> Any:
    """pydantic's schema, made as strict as the module says."""
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    made = {key: value if key == "metadata" else _strict(value) for key, value in node.items()}
    match node.get("type"):
        case "float":
            bounds = {} if made.keys() & {"gt", "ge"} else {"ge": -_GREATEST}
            bounds |= {} if made.keys() & {"lt", "le"} else {"le": _GREATEST}
            return made | bounds | {"strict": True, "allow_inf_nan": False}
        case "int":
            bounds = {} if made.keys() & {"gt", "ge"} else {"ge": -_WHOLE}
            return made | bounds | ({} if made.keys() & {"lt", "le"} else {"le": _WHOLE - 1}) | {"strict": True}
        case "bool":
            return made | {"strict": True}
        case "str":  # every text of Python, also one with half of a surrogate pair
            length = made.keys() & {"min_length", "max_length", "pattern"}
            return _recalling(made | {"strict": True} if length else {"type": "is-instance", "cls": str})
        case "list":
            return made | {"fail_fast": True}
        case "tuple":
            return _recalling(made | {"fail_fast": True})
        case "dataclass-args":
            return made | {"extra_behavior": "forbid"}
        case "dataclass-field" if _key(made) != made["name"]:
            return made | {"validation_alias": _key(made)}
    return made


def _recalling(schema: dict[str, Any]) -> dict[str, Any]:
    """What also takes `{HASH: ...}` in place of its value."""
    from pydantic_core import PydanticCustomError, core_schema

    def recalled(value: Any, info: Any) -> Any:
        if not (isinstance(value, Mapping) and set(value) == {HASH} and isinstance(value[HASH], str)):
            return value
        if info.context is None:
            raise PydanticCustomError("said", "is kept in a store, and none was given")
        text = info.context(value[HASH])
        return plain_json.load(text) if schema["type"] == "tuple" else text

    made: dict[str, Any] = dict(core_schema.with_info_before_validator_function(recalled, cast(Any, schema)))
    return made


def _key(entry: Mapping[str, Any]) -> str:
    """The key of a field."""
    return str(entry["name"]).removesuffix("_")


def _metadata(node: Mapping[str, Any]) -> Mapping[str, Any]:
    return node.get("metadata") or {}


# -- sentences --------------------------------------------------------------------------------------------------------


def _sentence(error: Any, reader: _Reader, at: str) -> tuple[str, Sequence[str | int]]:
    """The first mistake as a clause, and the keys of the value that it is about; a key too many comes before all."""
    found = error.errors(include_url=False, include_context=False)
    first = next((each for each in found if each["type"] == "unexpected_keyword_argument"), found[0])
    path, value = list(first["loc"]), first["input"]
    if first["type"] == "unexpected_keyword_argument":
        return _unknown(path, reader, at), path[:-1]
    if first["type"] == "missing" and isinstance(path[-1], str):
        return f"{_spoken(path, at)} is missing", path[:-1]
    if first["type"] == "missing":  # a list is too short, and the input is the list
        path.pop()
    if first["type"] == "said":
        return f"{_spoken(path, at)} {first['msg']}", path
    node = reader.plain(reader.schema)
    known: list[str | int] = []
    for key in path:
        inner = reader.inner(node, key)
        if inner is None:  # which of several types was meant is open
            break
        node = reader.plain(inner)
        known.append(key)
    return f"{_spoken(known, at)} must be {_expected(node, reader)}, not {_shown(value)}", known


def _unknown(path: Sequence[str | int], reader: _Reader, at: str) -> str:
    node = reader.plain(reader.schema)
    for key in path[:-1]:
        node = reader.plain(reader.inner(node, key) or node)
    keys = [_key(entry) for entry in node.get("fields", ())]
    near = difflib.get_close_matches(str(path[-1]), keys, n=1, cutoff=0.6)
    nearest = f", the nearest is {near[0]}" if near else ""
    listed = f"; the keys are {', '.join(keys)}" if len(keys) <= _MOST_KEYS else ""
    return f"there is no key {_spoken([*path[:-1], str(path[-1])[:60]], at)}{nearest}{listed}"


def _expected(node: Mapping[str, Any], reader: _Reader) -> str:
    """What a schema takes, as the end of "it must be ..."."""
    kind = node["type"]
    if says := _metadata(node).get("says"):
        return str(says)
    if kind in ("float", "int"):
        return f"a {'finite' if kind == 'float' else 'whole'} number{_bounds(node)}"
    if kind == "literal":
        allowed = [str(value) for value in node["expected"]]
        return " or ".join(allowed) if len(allowed) < 4 else f"one of {', '.join(allowed)}"
    if kind == "dataclass-args":
        return f"a mapping with the keys {', '.join(_key(entry) for entry in node['fields'][:_MOST_KEYS])}"
    if kind in ("union", "tagged-union"):
        return " or ".join(_expected(reader.plain(choice), reader) for choice in node["choices"])
    if kind in ("tuple", "list"):
        return _listed(node, reader)
    if kind == "dict":
        return "a mapping that is not empty" if node.get("min_length") else "a mapping"
    return _KINDS.get(kind, "as documented")


_KINDS = {"is-instance": "a text", "str": "a text", "bool": "true or false", "none": "null", "enum": "a known code"}
"""What a type of schema takes, as the end of "it must be ..."."""


def _listed(node: Mapping[str, Any], reader: _Reader) -> str:
    items = [node["items_schema"]] if node["type"] == "list" else node["items_schema"]
    each = {_expected(reader.plain(item), reader).split(" with the keys")[0] for item in items}
    named = each.pop() if len(each) == 1 else ""
    article, _, noun = named.partition(" ")
    noun = re.sub(r"^((?:finite |whole )?number|text|list|mapping)\b", r"\1s", noun) if article == "a" else "values"
    if node["type"] == "tuple" and "variadic_item_index" not in node:
        return f"a list of {len(items)} {noun}"
    low, high = node.get("min_length", 0), node.get("max_length")
    amount = f"{low} or more " if low else ""
    if high is not None:
        amount = f"{low} {'or' if high == low + 1 else 'to'} {high} "
    return f"a list of {amount}{noun}"


def _bounds(node: Mapping[str, Any]) -> str:
    low, high = node.get("ge"), node.get("le")
    low = None if low in (-_GREATEST, -_WHOLE) else low
    high = None if high in (_GREATEST, _WHOLE - 1) else high
    if low is not None and high is not None:
        return f" from {low:g} to {high:g}"
    said = [f" of {low:g} or more"] if low is not None else [f" of at most {high:g}"] if high is not None else []
    said += [f" {word} {node[key]:g}" for key, word in (("gt", "above"), ("lt", "below")) if key in node]
    return " and".join(said)


def _spoken(path: Sequence[str | int], at: str) -> str:
    """Keys as in code: "turns[3].text"; "it" for the whole document."""
    parts = [f"[{key}]" if isinstance(key, int) else f".{str(key)[:60]}" for key in path]
    return (at + "".join(parts)).removeprefix(".") or "it"


def _shown(value: Any) -> str:
    return _SHORTENED.repr(value)


def _without_lines(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: _without_lines(value) for key, value in document.items() if key != LINE}
    return [_without_lines(item) for item in document] if isinstance(document, list) else document


def _line(document: Any, path: Sequence[str | int]) -> int | None:
    """Line of the innermost mapping on the way to a value."""
    line = document.get(LINE) if isinstance(document, dict) else None
    for key in path:
        try:
            document = document[key]
        except (LookupError, TypeError):
            break
        line = document.get(LINE, line) if isinstance(document, dict) else line
    return line
