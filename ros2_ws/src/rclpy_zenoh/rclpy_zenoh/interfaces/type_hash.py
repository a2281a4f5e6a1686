"""RIHS01: the hash that ROS 2 puts beside a type's name, so that two sides with different definitions never talk.

It is the SHA-256 of the type's description, and of all descriptions that it refers to, written as JSON with fixed
separators (REP-2011). Defaults, constants and comments do not count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from rclpy_zenoh.interfaces.definitions import PRIMITIVES, Field, FieldType, MessageDefinition, Shape

_NESTED = 1
_BOUNDED_STRING = 4
"""Added to the type id of string and wstring."""

_SHAPE_OFFSET = {Shape.ONE: 0, Shape.ARRAY: 48, Shape.BOUNDED: 96, Shape.SEQUENCE: 144}

PLACEHOLDER = Field("structure_needs_at_least_one_member", FieldType("uint8"))
"""What rosidl puts into a message without fields."""


def rihs01(name: str, lookup: Callable[[str], MessageDefinition]) -> str:
    """The hash "RIHS01_" and 64 hexadecimal digits of the type `name`; `lookup` gives definitions by full name."""
    own, *others = with_referenced(name, lookup)
    document = {
        "type_description": _describe(own),
        "referenced_type_descriptions": [_describe(other) for other in others],
    }
    text = json.dumps(document, ensure_ascii=True, separators=(", ", ": "))
    return "RIHS01_" + hashlib.sha256(text.encode()).hexdigest()


def with_referenced(name: str, lookup: Callable[[str], MessageDefinition]) -> list[MessageDefinition]:
    """The type `name` and after it all that it refers to, sorted by name; `lookup` gives definitions by full name."""
    found: dict[str, MessageDefinition] = {}

    def collect(definition: MessageDefinition) -> None:
        if definition.name not in found:
            found[definition.name] = definition
            for field in definition.fields:
                if field.type.nested:
                    collect(lookup(field.type.base))

    collect(lookup(name))
    own = found.pop(name)
    return [own, *(found[other] for other in sorted(found))]


def _describe(definition: MessageDefinition) -> dict[str, Any]:
    fields = [_describe_field(field) for field in definition.fields or (PLACEHOLDER,)]
    return {"type_name": definition.name, "fields": fields}


def _describe_field(field: Field) -> dict[str, Any]:
    return {"name": field.name, "type": describe_type(field.type)}


def describe_type(kind: FieldType) -> dict[str, Any]:
    """The fields of type_description_interfaces/msg/FieldType."""
    type_id = _NESTED if kind.nested else PRIMITIVES[kind.base].type_id
    if kind.string_capacity:
        type_id += _BOUNDED_STRING
    return {
        "type_id": type_id + _SHAPE_OFFSET[kind.shape],
        "capacity": kind.capacity,
        "string_capacity": kind.string_capacity,
        "nested_type_name": kind.base if kind.nested else "",
    }
