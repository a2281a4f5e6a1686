"""What an interface is made of: primitive types, fields, constants and messages, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True)
class Primitive:
    """One primitive type of .msg files.

    Attributes:
        type_id: Its number in type_description_interfaces/msg/FieldType.
        code: Its character in the `struct` module and, for numbers, in numpy; empty for strings.
        size: Bytes of one value in CDR, which is also its alignment; 4 for strings, the size of their length.
        idl: Its name in OMG IDL, as `get_fields_and_field_types` gives it.
    """

    type_id: int
    code: str
    size: int
    idl: str


PRIMITIVES = {
    "int8": Primitive(2, "b", 1, "int8"),
    "uint8": Primitive(3, "B", 1, "uint8"),
    "int16": Primitive(4, "h", 2, "int16"),
    "uint16": Primitive(5, "H", 2, "uint16"),
    "int32": Primitive(6, "i", 4, "int32"),
    "uint32": Primitive(7, "I", 4, "uint32"),
    "int64": Primitive(8, "q", 8, "int64"),
    "uint64": Primitive(9, "Q", 8, "uint64"),
    "float32": Primitive(10, "f", 4, "float"),
    "float64": Primitive(11, "d", 8, "double"),
    "char": Primitive(3, "B", 1, "uint8"),  # rosidl_adapter maps char of a .msg file to uint8
    "bool": Primitive(15, "?", 1, "boolean"),
    "byte": Primitive(16, "c", 1, "octet"),
    "string": Primitive(17, "", 4, "string"),
    "wstring": Primitive(18, "", 4, "wstring"),
}

INTEGER_RANGES = {
    name: (-(1 << (8 * p.size - 1)), (1 << (8 * p.size - 1)) - 1) if p.code.islower() else (0, (1 << (8 * p.size)) - 1)
    for name, p in PRIMITIVES.items()
    if p.code and p.code in "bBhHiIqQ"
}
FLOATS = ("float32", "float64")
NUMBERS = (*INTEGER_RANGES, *FLOATS)
"""Primitives whose arrays are numpy arrays and whose sequences are `array.array`."""

STRINGS = ("string", "wstring")


class Shape(Enum):
    """How many values a field holds."""

    ONE = "one"
    ARRAY = "array"
    BOUNDED = "bounded sequence"
    SEQUENCE = "sequence"


@dataclass(frozen=True)
class FieldType:
    """The type of one field.

    Attributes:
        base: Name of a primitive, or the full name of a message such as "geometry_msgs/msg/Pose".
        shape: One value, or how many.
        capacity: Length of an array, greatest length of a bounded sequence, else 0.
        string_capacity: Greatest length of a bounded string in bytes of UTF-8 (code units for wstring), else 0.
    """

    base: str
    shape: Shape = Shape.ONE
    capacity: int = 0
    string_capacity: int = 0

    @property
    def nested(self) -> bool:
        """True where the field holds messages."""
        return "/" in self.base

    @property
    def idl(self) -> str:
        """The type as rosidl's `get_fields_and_field_types` writes it, e.g. "sequence<double, 3>"."""
        if self.nested:
            package, _, name = self.base.split("/")
            one = f"{package}/{name}"
        else:
            one = PRIMITIVES[self.base].idl + (f"<{self.string_capacity}>" if self.string_capacity else "")
        return {
            Shape.ONE: one,
            Shape.ARRAY: f"{one}[{self.capacity}]",
            Shape.BOUNDED: f"sequence<{one}, {self.capacity}>",
            Shape.SEQUENCE: f"sequence<{one}>",
        }[self.shape]


@dataclass(frozen=True)
class Field:
    """One field; `default` is None where the definition names no default."""

    name: str
    type: FieldType
    default: Any = None


@dataclass(frozen=True)
class Constant:
    """One constant, such as `uint8 OK=0`."""

    name: str
    type: FieldType
    value: Any


@dataclass(frozen=True)
class MessageDefinition:
    """A message, or one of the messages that a service or an action is made of.

    Attributes:
        name: Full name, such as "std_msgs/msg/Header" or "std_srvs/srv/SetBool_Request".
        fields: In the order of the definition, which is the order on the wire.
        constants: In the order of the definition.
    """

    name: str
    fields: tuple[Field, ...]
    constants: tuple[Constant, ...] = ()


def dds_type_name(name: str) -> str:
    """The name that rmw implementations give a type: "pkg/msg/Name" becomes "pkg::msg::dds_::Name_"."""
    package, kind, short = name.split("/")
    return f"{package}::{kind}::dds_::{short}_"
