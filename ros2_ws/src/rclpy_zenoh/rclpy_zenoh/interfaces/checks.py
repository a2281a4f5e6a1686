"""What a field may hold: one checker and one default for each type, as rosidl's generated setters have them.

Numbers are as strict as rosidl's checked setters: an int is no float, a numpy scalar is neither, a `byte` is a `bytes`
of length 1. Keyword arguments of a new message convert sequences and arrays of numbers, as there. A program that
passes here passes there.
"""

from __future__ import annotations

import array
import math
import operator
import reprlib
from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rclpy_zenoh.interfaces.definitions import (
    FLOATS,
    INTEGER_RANGES,
    NUMBERS,
    PRIMITIVES,
    Field,
    FieldType,
    Shape,
)
from rclpy_zenoh.interfaces.errors import FieldError

Checker = Callable[[Any], Any]
"""Takes a value, returns what the field stores; raises `Refused`."""

_RAW = (str, bytes, bytearray, memoryview)
"""Sequences in Python, but no lists."""

FLOAT32_MAX = float(np.finfo(np.float32).max)


class Refused(Exception):
    """What a field must hold instead, e.g. "must be a bool"."""


def refuse(where: str, value: Any, reason: Refused) -> FieldError:
    """The error for a field: its name, what it must hold and what it got."""
    return FieldError(f"{where} {reason}, got {type(value).__name__} {reprlib.repr(value)}.")


def dtype_of(base: str) -> np.dtype[Any]:
    """The numpy type of a number, little-endian as on the wire."""
    return np.dtype("<" + PRIMITIVES[base].code)


def checker(kind: FieldType, message: type | None, converts: bool = False) -> Checker:
    """The checker of a field type; `message` is the class of its messages where it holds messages.

    One that converts takes what `array.array` and `numpy.array` make such numbers of, as rosidl's constructors do.
    """
    one = _check_one(kind, message)
    if kind.shape is Shape.ONE:
        return one
    if kind.base not in NUMBERS:
        return _check_length(kind, _check_list(one))
    many = _check_array if kind.shape is Shape.ARRAY else _check_sequence
    return _check_length(kind, many(kind.base, converts))


def default(field: Field, message: type | None) -> Callable[[], Any]:
    """Makes the value that a field has in a new message."""
    kind = field.type
    if kind.shape is Shape.ONE:
        if message is not None:
            return message
        value = _zero(kind.base) if field.default is None else field.default
        return lambda: value
    length = kind.capacity if kind.shape is Shape.ARRAY else 0
    if message is not None:
        return lambda: [message() for _ in range(length)]
    values = [_zero(kind.base)] * length if field.default is None else list(field.default)
    if kind.base not in NUMBERS:
        return lambda: list(values)
    if kind.shape is Shape.ARRAY:
        dtype = dtype_of(kind.base)
        return lambda: np.array(values, dtype)
    code = PRIMITIVES[kind.base].code
    return lambda: array.array(code, values)


def _zero(base: str) -> Any:
    if base in FLOATS:
        return 0.0
    return {"bool": False, "byte": b"\0", "string": "", "wstring": ""}.get(base, 0)


def _check_one(kind: FieldType, message: type | None) -> Checker:
    base = kind.base
    if message is not None:
        return _check_message(message, base)
    if base in INTEGER_RANGES:
        return _check_int(*INTEGER_RANGES[base])
    if base in FLOATS:
        return _check_float(FLOAT32_MAX if base == "float32" else math.inf)
    if base == "bool":
        return _check_bool
    if base == "byte":
        return _check_byte
    return _check_text(kind)


def _check_message(message: type, name: str) -> Checker:
    def check(value: Any) -> Any:
        if not isinstance(value, message):
            raise Refused(f"must be a message of type {name}")
        return value

    return check


def _check_int(low: int, high: int) -> Checker:
    def check(value: Any) -> int:
        if not isinstance(value, int) or not low <= value <= high:
            raise Refused(f"must be an int from {low} to {high}")
        return value

    return check


def _check_float(largest: float) -> Checker:
    def check(value: Any) -> float:
        if not isinstance(value, float):
            raise Refused("must be a float, such as 1.0")
        if abs(value) > largest and not math.isinf(value):
            raise Refused(f"must be a float between -{largest:g} and {largest:g}")
        return value

    return check


def _check_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Refused("must be a bool")
    return value


def _check_byte(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray) or len(value) != 1:
        raise Refused("must be bytes of length 1, such as b'\\x01'")
    return bytes(value)


def _check_text(kind: FieldType) -> Checker:
    wide, most = kind.base == "wstring", kind.string_capacity

    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise Refused("must be a str")
        if "\0" in value and not wide:
            raise Refused("must be a str without NUL characters, which end a string on the wire")
        try:
            length = (
                len(value) if value.isascii() else len(value.encode("utf-16-le")) // 2 if wide else len(value.encode())
            )
        except UnicodeEncodeError:
            raise Refused("must be a str that UTF-8 can encode (no lone surrogates)") from None
        if most and length > most:
            raise Refused(f"must be a str of at most {most} {'UTF-16 units' if wide else 'bytes'}")
        return value

    return check


def _check_length(kind: FieldType, check: Checker) -> Checker:
    def checked(value: Any) -> Any:
        stored = check(value)
        if kind.shape is Shape.ARRAY and len(stored) != kind.capacity:
            raise Refused(f"must have exactly {kind.capacity} values")
        if kind.shape is Shape.BOUNDED and len(stored) > kind.capacity:
            raise Refused(f"must have at most {kind.capacity} values")
        return stored

    return checked if kind.capacity else check


def _check_list(one: Checker) -> Checker:
    def check(value: Any) -> list[Any]:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, _RAW) or not isinstance(value, Sequence | Set):
            raise Refused("must be a list")
        items = value if isinstance(value, list) else list(value)
        for index, item in enumerate(items):
            try:
                one(item)
            except Refused as reason:
                raise Refused(f"{reason} in each item (item {index} is not)") from None
        return items

    return check


def _check_array(base: str, converts: bool) -> Checker:
    """Of arrays of fixed size: stored as numpy arrays."""
    dtype, listed = dtype_of(base), _check_numbers(base, converts)

    def check(value: Any) -> NDArray[Any]:
        if not isinstance(value, np.ndarray):
            return np.array(listed(value), dtype)
        if value.dtype != dtype and not converts:
            raise Refused(f"must be an array of {base}, not of {value.dtype}")
        fitting = _fit(value, base, converts)
        return fitting.copy() if converts else fitting

    return check


def _check_sequence(base: str, converts: bool) -> Checker:
    """Of sequences: stored as `array.array`; an assigned one of the field's type is kept as it is."""
    code, listed = PRIMITIVES[base].code, _check_numbers(base, converts)

    def check(value: Any) -> array.array[Any]:
        if isinstance(value, array.array) and not converts and value.typecode != code:
            raise Refused(f"must be an array.array of type code '{code}', not '{value.typecode}'")
        stored = listed(value)
        return stored[:] if converts and stored is value else stored

    return check


def _check_numbers(base: str, converts: bool) -> Callable[[Any], array.array[Any]]:
    """Takes whatever holds such numbers."""
    code, one = PRIMITIVES[base].code, _check_one(FieldType(base), None)
    number = (float if base in FLOATS else operator.index) if converts else None
    several = f"must be an array or a list of {base}"

    def check(value: Any) -> array.array[Any]:
        if isinstance(value, array.array) and value.typecode == code:
            return value
        if isinstance(value, array.array):
            value = np.array(value)
        if isinstance(value, np.ndarray):
            return _array(code, _fit(value, base, converts))
        if code == "B" and isinstance(value, bytes | bytearray):
            return array.array(code, value)
        if isinstance(value, memoryview) and value.ndim != 1:
            raise Refused(f"must be one-dimensional, not of shape {value.shape}")
        if isinstance(value, str) or not isinstance(value, Sequence | Set):
            raise Refused(several)
        items = list(value)
        for item in items:
            try:
                one(item if number is None or isinstance(item, str | bytes) else number(item))
            except Refused as reason:
                raise Refused(f"{several}: each {reason}") from None
            except (TypeError, OverflowError):
                raise Refused(f"{several}, and one item is of type {type(item).__name__}") from None
        return array.array(code, items)

    return check


def _array(code: str, values: NDArray[Any]) -> array.array[Any]:
    """A copy of numbers of the same type."""
    copy = array.array(code)
    if values.size:
        copy.frombytes(values.data.cast("B"))
    return copy


def _fit(value: NDArray[Any], base: str, converts: bool) -> NDArray[Any]:
    """The array as the field stores it: itself where its type is the field's, else a copy that loses nothing."""
    dtype = dtype_of(base)
    if value.ndim != 1:
        raise Refused(f"must be a one-dimensional array (reshape(-1) flattens), not one of shape {value.shape}")
    if value.dtype == dtype:
        return np.ascontiguousarray(value)
    if base in FLOATS:
        if value.dtype.kind not in ("fiu" if converts else "f"):
            raise Refused(f"must be an array of {base}, not of {value.dtype}")
        finite = value[np.isfinite(value)]
        if base == "float32" and finite.size and float(np.abs(finite).max()) > FLOAT32_MAX:
            raise Refused(f"must be an array of {base}, whose greatest number is {FLOAT32_MAX:g}")
        return value.astype(dtype)
    low, high = INTEGER_RANGES[base]
    if value.dtype.kind not in "iu" or (value.size and (int(value.min()) < low or int(value.max()) > high)):
        raise Refused(f"must be an array of integers from {low} to {high}, not of {value.dtype}")
    return value.astype(dtype)
