"""From messages to YAML, as `ros2 topic echo` prints them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from rclpy_zenoh.cli.values import ARRAY, SEQUENCE


@dataclass(frozen=True)
class Style:
    """How much of a message is shown.

    Attributes:
        truncate: Longest array and text; None shows them in full.
        arrays: False shows only type and length of arrays.
        texts: False shows only the length of texts.
        flow: Everything in one line.
    """

    truncate: int | None = None
    arrays: bool = True
    texts: bool = True
    flow: bool = False


FULL = Style()


def to_yaml(message: Any, style: Style = FULL) -> str:
    """A message as YAML that ends with a line end; an empty message is `{}`."""
    return dump_yaml(to_dict(message, style), flow=style.flow)


def dump_yaml(value: Any, *, flow: bool = False, sort_keys: bool = False) -> str:
    """Plain data as YAML with the settings of ros2: no line is broken, characters stay as they are."""
    return yaml.safe_dump(value, allow_unicode=True, width=sys.maxsize, default_flow_style=flow, sort_keys=sort_keys)


def to_dict(message: Any, style: Style = FULL) -> dict[str, Any]:
    """A message as plain data in the order of its fields."""
    return {
        field: _plain(getattr(message, field), kind, style)
        for field, kind in message.get_fields_and_field_types().items()
    }


def _plain(value: Any, kind: str, style: Style) -> Any:
    if isinstance(value, bytes):
        return _cut(value.decode("latin-1"), style.truncate)
    if isinstance(value, str):
        return _cut(value, style.truncate) if style.texts else f"<string length: <{len(value)}>>"
    if isinstance(value, bool | int | float):
        return value
    if hasattr(value, "get_fields_and_field_types"):
        return to_dict(value, style)
    return _plain_list(value, kind, style)


def _plain_list(value: Any, kind: str, style: Style) -> Any:
    """A list, an array.array or a numpy array as a list, shortened like ros2 does."""
    item, words = _describe(kind)
    if not style.arrays:
        return f"<{words}, length: {len(value)}>" if words.startswith("sequence") else f"<{words}>"
    shown = value if style.truncate is None else value[: style.truncate]
    items = shown.tolist() if hasattr(shown, "tolist") else shown
    plain = [_plain(element, item, style) for element in items]
    return plain if len(shown) == len(value) else [*plain, "..."]


@cache
def _describe(kind: str) -> tuple[str, str]:
    """Type of the items, and ros2's words for the list, e.g. "sequence type: double"."""
    if found := SEQUENCE.match(kind):
        bound = f"[{found['most']}]" if found["most"] else ""
        return found["item"], f"sequence type: {_base(found['item'])}{bound}"
    found = ARRAY.match(kind)
    assert found is not None, kind
    return found["item"], f"array type: {_base(found['item'])}[{found['length']}]"


def _base(item: str) -> str:
    return item.replace("/", "/msg/").split("<")[0]


def _cut(text: str, length: int | None) -> str:
    return text if length is None or len(text) <= length else f"{text[:length]}..."


def select(message: Any, path: list[str]) -> Any:
    """The value of a field of fields, e.g. ["pose", "position"].

    Raises:
        LookupError: With a sentence that says what is there instead.
    """
    value = message
    for depth, name in enumerate(path):
        kinds: Mapping[str, str] = getattr(value, "get_fields_and_field_types", dict)()
        if name not in kinds:
            where = f"'{'.'.join(path[:depth])}'" if depth else "the message"
            raise LookupError(f"There is no field '{name}' in {where}; fields there are: {', '.join(kinds) or 'none'}.")
        value = getattr(value, name)
    return value


def to_text(value: Any, style: Style) -> str:
    """What `topic echo` prints for a message or for a selected field of it, without the separator."""
    if hasattr(value, "get_fields_and_field_types"):
        return to_yaml(value, style)
    return f"{value.tolist() if hasattr(value, 'tolist') else value}\n"
