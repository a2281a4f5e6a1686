"""RIHS01: the hash that ROS 2 puts beside a type's name, so that two sides with different definitions never talk.

It is the SHA-256 of the type's description, and of all descriptions that it refers to, written as JSON with fixed
separators (REP-2011). Defaults, constants and comments do not count.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from rclpy_zenoh.interfaces.definitions import PRIMITIVES, Field, MessageDefinition, Shape

_NESTED = 1
_BOUNDED_STRING = 4
"""Added to the type id of string and wstring."""

_SHAPE_OFFSET = {Shape.ONE: 0, Shape.ARRAY: 48, Shape.BOUNDED: 96, Shape.SEQUENCE: 144}

_PLACEHOLDER = {
    "name": "structure_needs_at_least_one_member",
    "type": {"type_id": 3, "capacity": 0, "string_capacity": 0, "nested_type_name": ""},
}
"""What rosidl puts into a message without fields."""


def rihs01(name: str, lookup: Callable[[str], MessageDefinition]) -> str:
    """The hash "RIHS01_" and 64 hexadecimal digits of the type `name`; `lookup` gives definitions by full name."""
    found: dict[str, MessageDefinition] = {}

    def collect(definition: MessageDefinition) -> None:
        if definition.name not in found:
            found[definition.name] = definition
            for field in definition.fields:
                if field.type.nested:
                    collect(lookup(field.type.base))

    collect(lookup(name))
    own = _describe(found.pop(name))
    document = {
        "type_description": own,
        "referenced_type_descriptions": [_describe(found[other]) for other in sorted(found)],
    }
    text = json.dumps(document, ensure_ascii=True, separators=(", ", ": "))
    return "RIHS01_" + hashlib.sha256(text.encode()).hexdigest()


def _describe(definition: MessageDefinition) -> dict[str, Any]:
    fields = [_describe_field(field) for field in definition.fields] or [_PLACEHOLDER]
    return {"type_name": definition.name, "fields": fields}


def _describe_field(field: Field) -> dict[str, Any]:
    kind = field.type
    type_id = _NESTED if kind.nested else PRIMITIVES[kind.base].type_id
    if kind.string_capacity:
        type_id += _BOUNDED_STRING
    return {
        "name": field.name,
        "type": {
            "type_id": type_id + _SHAPE_OFFSET[kind.shape],
            "capacity": kind.capacity,
            "string_capacity": kind.string_capacity,
            "nested_type_name": kind.base if kind.nested else "",
        },
    }
