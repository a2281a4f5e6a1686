"""What `toolhand.tool_nodes.records` makes of a type by pydantic: a strict validator, and one sentence for each
mistake.

The sentence is made of the schema: what stands at the place of a mistake says what is allowed there.
"""

from __future__ import annotations

import difflib
import functools
import re
import reprlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from toolhand.tool_nodes import plain_json

if TYPE_CHECKING:
    from pydantic_core import SchemaValidator

HASH = "sha256"
"""The key of the document that stands for a value which is kept apart."""
LINE = "__line__"
"""Key of a mapping's first line, in documents that were read with lines."""

_GREATEST = sys.float_info.max
"""Greatest number of either sign: Python's whole numbers have no end."""
_WHOLE = 2**63
"""Whole numbers lie below it, and not below its negative: what every reader of JSON and ROS can hold."""
_MOST_KEYS = 16
"""Most keys that a sentence lists."""

_SHORTENED = reprlib.Repr()
_SHORTENED.maxstring = _SHORTENED.maxother = _SHORTENED.maxlong = 60


# -- the validator ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RecordReader:
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
def reader_of(kind: Any) -> RecordReader:
    """The validator of a type, made once."""
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    schema = _strict(TypeAdapter(kind).core_schema)
    named = {node["ref"]: node for node in schema.get("definitions", ())}
    return RecordReader(SchemaValidator(schema), schema, named)


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


def sentence_of(error: Any, reader: RecordReader, at: str) -> tuple[str, Sequence[str | int]]:
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
    return f"{_spoken(known, at)} must be {_expected(node, reader)}, not {shown(value)}", known


def _unknown(path: Sequence[str | int], reader: RecordReader, at: str) -> str:
    node = reader.plain(reader.schema)
    for key in path[:-1]:
        node = reader.plain(reader.inner(node, key) or node)
    keys = [_key(entry) for entry in node.get("fields", ())]
    near = difflib.get_close_matches(str(path[-1]), keys, n=1, cutoff=0.6)
    nearest = f", the nearest is {near[0]}" if near else ""
    listed = f"; the keys are {', '.join(keys)}" if len(keys) <= _MOST_KEYS else ""
    return f"there is no key {_spoken([*path[:-1], str(path[-1])[:60]], at)}{nearest}{listed}"


def _expected(node: Mapping[str, Any], reader: RecordReader) -> str:
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


def _listed(node: Mapping[str, Any], reader: RecordReader) -> str:
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


def shown(value: Any) -> str:
    """A value in a sentence, shortened."""
    return _SHORTENED.repr(value)


def without_lines(document: Any) -> Any:
    """A document without the numbers of its lines."""
    if isinstance(document, dict):
        return {key: without_lines(value) for key, value in document.items() if key != LINE}
    return [without_lines(item) for item in document] if isinstance(document, list) else document


def line_of(document: Any, path: Sequence[str | int]) -> int | None:
    """Line of the innermost mapping on the way to a value."""
    line = document.get(LINE) if isinstance(document, dict) else None
    for key in path:
        try:
            document = document[key]
        except (LookupError, TypeError):
            break
        line = document.get(LINE, line) if isinstance(document, dict) else line
    return line
