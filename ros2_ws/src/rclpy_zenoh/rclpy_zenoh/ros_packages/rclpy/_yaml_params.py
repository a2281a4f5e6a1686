"""Parameters from files and from the command line, read by the rules of rcl's parser.

A file holds sections of nodes, and each section holds `ros__parameters`:

    /**:                    # every node
      ros__parameters:
        use_sim_time: true
    /arm/planner:           # also as a nested key: `arm: planner: ros__parameters: ...`
      ros__parameters:
        speed: {max: 0.5}   # the parameter "speed.max"

A section may occur twice, a parameter in it may not.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import yaml

from rclpy._rclpy_pybind11 import RCLInvalidROSArgsError
from rclpy_zenoh.plain_yaml import Limits, PlainYamlError, events

PARAMS_KEY = "ros__parameters"
Value = bool | int | float | str | list[Any] | None
Sections = dict[str, dict[str, Value]]
"""Parameters by section, which is a node's name or pattern as it is written in the file."""

_TRUE = frozenset(["Y", "y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"])
_FALSE = frozenset(["N", "n", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"])
_SPECIAL = {".nan": "nan", ".NaN": "nan", ".NAN": "nan"} | {
    sign + text: sign + "inf" for sign in ("", "+", "-") for text in (".inf", ".Inf", ".INF")
}
_INTEGER = re.compile(r"[+-]?(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?(inf|infinity|nan)", re.IGNORECASE)
_HEXADECIMAL = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)([pP][+-]?[0-9]+)?")
_PATTERN_PART = re.compile(r"\*|\*\*|[A-Za-z_][A-Za-z0-9_]*")
_TYPE_NAMES = {bool: "bool", int: "integer", float: "double", str: "string"}
_LIMITS = Limits(size=2**22, depth=64, nodes=100_000)
"""Limits of a file; a description of a robot may be among the values."""
_MAX_INTEGER_LENGTH = 64  # Python refuses to read integers of thousands of digits
_MAX_NUMBER_LENGTH = 500  # matching takes quadratic time; the longest double without an exponent has 309 digits


class ParameterFileError(RCLInvalidROSArgsError):
    """A parameter file, or a parameter on the command line, that is malformed; the text names file, line and key."""


def load_params(path: str | os.PathLike[str]) -> Sections:
    """The sections of a parameter file; see `read_params`.

    Raises:
        ParameterFileError: If the file cannot be read or is malformed.
    """
    try:
        return read_params(path)
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterFileError(f"{path}: the parameter file cannot be read: {error}.") from error


def read_params(path: str | os.PathLike[str]) -> Sections:
    """The sections of a parameter file, in the order of the file.

    An empty list has no type, so its value is None, as in rcl.

    Raises:
        OSError: If the file cannot be read.
        UnicodeDecodeError: If it is not UTF-8.
        ParameterFileError: If it is malformed.
    """
    with open(path, encoding="utf-8") as file:
        reader = _Reader(str(path), file.read())
    sections: Sections = {}
    root = reader.document()
    if root is not None:
        if not isinstance(root, _Mapping):
            reader.fail(root, "", "a parameter file must hold node names at its top level")
        _read_nodes(reader, root, "", sections)
    return sections


def parse_value(text: str) -> Value:
    """The value that a text such as `1e3`, `yes` or `[1, 2]` stands for.

    Raises:
        ParameterFileError: If the text is no YAML, is empty, or is a mapping.
    """
    reader = _Reader("command line", text)
    item = reader.document()
    if item is None or isinstance(item, _Mapping):
        raise ParameterFileError(f"command line: '{_cut(text)}' must be a value or a list of values.")
    return _read_value(reader, item, "")


def merge_sources(sources: Iterable[tuple[str, ...]]) -> Sections:
    """The sections of several sources: ("file", path) and ("value", node pattern or "", name, text).

    Sources are merged as in rcl: a section keeps the place where it was first seen, and a later section overrides an
    earlier one. So `-p x:=1`, which goes to the section `/**`, does not override `x` of a section `/node` that comes
    after `/**` in a file.

    Raises:
        ParameterFileError: If a source is malformed.
    """
    merged: Sections = {}
    for kind, *rest in sources:
        if kind == "file":
            for section, values in load_params(rest[0]).items():
                merged.setdefault(section, {}).update(values)
        else:
            node, name, text = rest
            try:
                merged.setdefault(node or "/**", {})[name] = parse_value(text)
            except ParameterFileError as error:
                raise ParameterFileError(f"parameter '{name}' on the {error}") from error
    return merged


def params_for_node(sources: Iterable[tuple[str, ...]], fq_name: str) -> dict[str, Value]:
    """Overrides for the node with the fully qualified name, e.g. {"speed.max": 0.5}; see `merge_sources`.

    Raises:
        ParameterFileError: If a source is malformed.
    """
    values: dict[str, Value] = {}
    for section, section_values in merge_sources(sources).items():
        if matches(section, fq_name):
            values.update(section_values)
    return values


def matches(section: str, fq_name: str) -> bool:
    """True where a section such as `/**`, `/*/camera` or `camera` is for the node; `*` stands for one name."""
    parts = [
        {"**": r"(/\w+)*", "*": r"/\w+"}.get(part, "/" + re.escape(part)) for part in section.lstrip("/").split("/")
    ]
    return re.fullmatch("".join(parts), fq_name) is not None


def parse_scalar(text: str) -> bool | int | float | str:
    """The value of a plain scalar, as rcl's parser types it: octal `010`, `1e3` a float, `y` and `on` bools."""
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if len(text) <= _MAX_INTEGER_LENGTH and _INTEGER.fullmatch(text):
        sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.removeprefix("+"))
        base = 16 if digits[:2] in ("0x", "0X") else 8 if digits[0] == "0" else 10
        if -(2**63) <= (integer := sign * int(digits, base)) < 2**63:
            return integer
    if len(text) > _MAX_NUMBER_LENGTH:
        return text
    if text in _SPECIAL:
        return float(_SPECIAL[text])
    if _DECIMAL.fullmatch(text):
        number = float(text)
        overflow = number in (float("inf"), float("-inf")) and any(digit in text for digit in "0123456789")
        underflow = number == 0 and any(digit in re.split("[eE]", text)[0] for digit in "123456789")
        return text if overflow or underflow else number
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text)
        except OverflowError:
            return text
    return text


class _Scalar:
    """A scalar and the line that it starts on."""

    def __init__(self, event: yaml.ScalarEvent) -> None:
        self.text: str = event.value
        self.line: int = _line(event)
        self.quoted = event.style in ("'", '"')
        self.is_string = self.quoted or event.tag == "tag:yaml.org,2002:str"


class _Sequence:
    """A list and the line that it starts on."""

    def __init__(self, line: int, items: list[_Node]) -> None:
        self.line = line
        self.items = items


class _Mapping:
    """A mapping, whose keys may occur twice, and the line that it starts on."""

    def __init__(self, line: int, items: list[tuple[_Scalar, _Node]]) -> None:
        self.line = line
        self.items = items


_Node = _Scalar | _Sequence | _Mapping


class _Reader:
    """Reads one YAML document into nodes; it keeps the texts of scalars, which YAML would type differently than rcl."""

    def __init__(self, source: str, text: str) -> None:
        self.source = source
        self._events: Iterator[yaml.Event] = events(text, _LIMITS)

    def fail(self, at: _Node | int | None, key: str, sentence: str) -> NoReturn:
        """Raise the error for a place: a node or a line."""
        line = at if isinstance(at, int) else None if at is None else at.line
        place = self.source if line is None else f"{self.source}, line {line}"
        raise ParameterFileError(
            f"{place}: key '{_cut(key)}': {_cut(sentence)}." if key else f"{place}: {_cut(sentence)}."
        )

    def document(self) -> _Node | None:
        """The only document of the source; None where there is none."""
        try:
            root: _Node | None = None
            for event in self._events:
                if isinstance(event, yaml.DocumentStartEvent):
                    if root is not None:
                        self.fail(_line(event), "", "only one YAML document is allowed")
                    root = self._node(next(self._events), "")
            return root
        except PlainYamlError as error:
            self.fail(error.line, "", f"it is no valid YAML: {error.problem}")

    def _node(self, event: yaml.Event, key: str) -> _Node:
        line = _line(event)
        if isinstance(event, yaml.ScalarEvent):
            return _Scalar(event)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        items: list[Any] = []
        while not isinstance(event := next(self._events), (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            item = self._node(event, key)
            if not is_mapping:
                items.append(item)
                continue
            if not isinstance(item, _Scalar) or not item.text:
                self.fail(item, key, "a key must be a name")
            path = f"{key}/{item.text}" if key else item.text
            items.append((item, self._node(next(self._events), path)))
        return _Mapping(line, items) if is_mapping else _Sequence(line, items)


def _cut(words: str) -> str:
    return words if len(words) <= 300 else f"{words[:300]}..."


def _line(event: yaml.Event) -> int:
    return 0 if event.start_mark is None else event.start_mark.line + 1


def _read_nodes(reader: _Reader, mapping: _Mapping, node_name: str, sections: Sections) -> None:
    """Add the sections below a node name, which is "" at the top of the file."""
    if node_name and not mapping.items:
        reader.fail(mapping, node_name, f"it must hold '{PARAMS_KEY}'")
    for key, value in mapping.items:
        path = f"{node_name}/{key.text}" if node_name else key.text
        if key.text == PARAMS_KEY:
            if not node_name:
                reader.fail(key, path, "a node name must come before it")
            _check_section(reader, key, node_name)
            if not isinstance(value, _Mapping):
                reader.fail(key, path, "it must hold names and values of parameters")
            _read_parameters(reader, value, "", path, sections.setdefault(node_name, {}))
        elif isinstance(value, _Mapping):
            _read_nodes(reader, value, path, sections)
        else:
            wrong = node_name.rpartition("/")[2]
            meant = wrong if difflib.get_close_matches(wrong, [PARAMS_KEY]) else key.text
            reader.fail(key, path, f"unknown key '{meant}'; a node name holds only '{PARAMS_KEY}' or more names")


def _check_section(reader: _Reader, at: _Node, name: str) -> None:
    for part in name.removeprefix("/").split("/"):
        if not _PATTERN_PART.fullmatch(part):
            reader.fail(at, name, f"'{part}' is no name of a node or namespace, and no '*' or '**'")


def _read_parameters(reader: _Reader, mapping: _Mapping, prefix: str, path: str, values: dict[str, Value]) -> None:
    for key, item in mapping.items:
        name = f"{prefix}.{key.text}" if prefix else key.text
        if isinstance(item, _Mapping):
            _read_parameters(reader, item, name, f"{path}/{key.text}", values)
            continue
        if name in values:
            reader.fail(key, f"{path}/{key.text}", f"the parameter '{name}' is a duplicate")
        values[name] = _read_value(reader, item, f"{path}/{key.text}")


def _read_value(reader: _Reader, item: _Node, path: str) -> Value:
    if isinstance(item, _Scalar):
        if not item.text and not item.quoted:
            reader.fail(item, path, "it has no value")
        return item.text if item.is_string else parse_scalar(item.text)
    assert isinstance(item, _Sequence)
    values = []
    for entry in item.items:
        if not isinstance(entry, _Scalar):
            reader.fail(entry, path, "a list must hold scalars, neither lists nor mappings")
        values.append(_read_value(reader, entry, path))
        if type(values[0]) is not type(values[-1]):
            first, other = (_TYPE_NAMES[type(value)] for value in (values[0], values[-1]))
            reader.fail(entry, path, f"a list must hold values of one type, not {first} and {other}")
    return values or None
