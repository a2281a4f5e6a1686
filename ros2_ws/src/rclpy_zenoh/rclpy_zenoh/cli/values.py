"""From YAML to messages, as `ros2 topic pub` and `ros2 service call` understand it, but stricter about loss.

Whole numbers suit floating-point fields and any scalar suits a text field; 1.5 for an integer field, which ros2 cuts
off, and texts for bools, which ros2 takes for true, are refused. `header: auto` and `stamp: now` become the time of
sending where the caller asks for it.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from rclpy_zenoh.cli.errors import UsageError
from rclpy_zenoh.cli.types import type_name
from rclpy_zenoh.plain_yaml import Limits, PlainYamlError, load

Stamper = Callable[[Any], None]
"""Puts a builtin_interfaces/msg/Time into a field that said `auto` or `now`."""

_LIMITS = Limits(size=2**24, depth=64, nodes=2**20)
"""Limits of a message, which may be a picture in figures."""
SEQUENCE = re.compile(r"sequence<(?P<item>.+?)(?:, (?P<most>\d+))?>$")
ARRAY = re.compile(r"(?P<item>.+)\[(?P<length>\d+)\]$")
_TEXT = re.compile(r"w?string(<\d+>)?$")
_INTEGER = re.compile(r"u?int\d+$")


class _Refused(Exception):
    """What a field must hold, e.g. "must be a list"."""


def parse_yaml(text: str, what: str) -> Any:
    """The value that a YAML text stands for; an empty text stands for no fields.

    Raises:
        UsageError: It is no YAML; the sentence calls it `what`.
    """
    try:
        value = load(text, _LIMITS)
    except PlainYamlError as error:
        where = "" if error.line is None else f" at line {error.line}"
        raise UsageError(f"The {what} is not YAML: {error.problem}{where}; write it as '{{field: value}}'.") from None
    return {} if value is None else value


def fill(message: Any, values: Any, *, name: str, stamps: bool = False) -> list[Stamper]:
    """Set fields of a message.

    Args:
        message: A message, changed in place.
        values: Mapping from field names to values, as YAML gives it.
        name: Type that the user named, for the hint in errors.
        stamps: Understand `auto` for headers and `now` for times.

    Returns:
        Functions that put a time into the fields that are to have the time of sending.

    Raises:
        UsageError: There is no such field, or it cannot hold the value.
    """
    stampers: list[Stamper] = []
    _Filler(name, stampers if stamps else None).fill(message, values, "")
    return stampers


class _Filler:
    """Fills a message and what is in it; `stampers` collects fields for the time of sending, None where unwanted."""

    def __init__(self, name: str, stampers: list[Stamper] | None) -> None:
        self._hint = f"see `interface show {name}`"
        self._stampers = stampers

    def fill(self, message: Any, values: Any, path: str) -> None:
        kinds = message.get_fields_and_field_types()
        if not isinstance(values, Mapping):
            place = f"Field '{path}'" if path else "The text"
            raise UsageError(
                f"{place} must be a mapping '{{field: value}}' for {type_name(type(message))}, "
                f"not {_show(values)}; {self._hint}."
            )
        for field, value in values.items():
            if field not in kinds:
                known = ", ".join(kinds) or "none"
                within = f" (in '{path}')" if path else ""
                raise UsageError(
                    f"{type_name(type(message))} has no field '{field}'{within}; its fields are: {known}; {self._hint}."
                )
            self._set(message, field, kinds[field], value, f"{path}.{field}" if path else str(field))

    def _set(self, message: Any, field: str, kind: str, value: Any, path: str) -> None:
        if self._stampers is not None:
            if kind == "std_msgs/Header" and value == "auto":
                self._stampers.append(partial(setattr, getattr(message, field), "stamp"))
                return
            if kind == "builtin_interfaces/Time" and value == "now":
                self._stampers.append(partial(setattr, message, field))
                return
        try:
            setattr(message, field, self._convert(kind, value, path))
        except _Refused as reason:
            raise UsageError(f"Field '{path}' ({kind}) {reason}, not {_show(value)}; {self._hint}.") from None
        except (AssertionError, TypeError, ValueError, OverflowError) as error:  # the setter of the message
            raise UsageError(f"Field '{path}' ({kind}): {str(error).rstrip('.')}; {self._hint}.") from None

    def _convert(self, kind: str, value: Any, path: str) -> Any:
        many = SEQUENCE.match(kind) or ARRAY.match(kind)
        if many is None:
            return self._message(kind, value, path) if "/" in kind else _scalar(kind, value)
        item = many["item"]
        if isinstance(value, bytes) and item == "uint8":  # YAML's !!binary
            return value
        if not isinstance(value, list | tuple):
            raise _Refused("must be a list")
        if "/" in item:
            return [self._message(item, element, f"{path}[{index}]") for index, element in enumerate(value)]
        return [_scalar(item, element) for element in value]

    def _message(self, kind: str, values: Any, path: str) -> Any:
        package, name = kind.split("/")
        message = getattr(import_module(f"{package}.msg"), name)()
        self.fill(message, values, path)
        return message


def _scalar(kind: str, value: Any) -> Any:
    """A value for a field of a primitive type. Raises _Refused."""
    if kind == "boolean":
        if not isinstance(value, bool):
            raise _Refused("must be true or false")
        return value
    if kind in ("float", "double"):
        return _floating(value)
    if kind == "octet":
        return _octet(value)
    if _INTEGER.match(kind):
        if not isinstance(value, int) or isinstance(value, bool):
            raise _Refused("must be a whole number")
        return value
    assert _TEXT.match(kind), kind
    if value is None or isinstance(value, list | Mapping | bytes):
        raise _Refused("must be a text")
    return str(value)


def _floating(value: Any) -> float:
    if isinstance(value, str):  # YAML 1.1 takes 1e-3 for a text
        try:
            return float(value)
        except ValueError:
            raise _Refused("must be a number") from None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise _Refused("must be a number")
    try:
        return float(value)
    except OverflowError:
        raise _Refused("must be a number that fits 64 bits") from None


def _octet(value: Any) -> bytes:
    """A byte, from its number or, as `topic echo` prints it, its character."""
    if isinstance(value, str) and len(value) == 1:
        value = ord(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 255:
        raise _Refused("must be a whole number from 0 to 255")
    return bytes([value])


def _show(value: Any) -> str:
    return f"{type(value).__name__} {reprlib.repr(value)}"
