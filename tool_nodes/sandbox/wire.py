"""Messages between the executor and its sandbox: JSON and raw arrays, in both directions. Nothing is ever unpickled.

A message is one value. On the wire: the length of the JSON (uint32, little-endian), the JSON, then the bytes of all
arrays. The JSON is `[tree, arrays]`; `arrays` lists [dtype, shape] of each, so that the reader knows the total size
before it takes a byte, and need not trust a header inside the data. The tree names each array once, in their order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

MAX_TEXT_BYTES = 1 << 20
"""Longest JSON of a message. Lists grow by a factor of about 25 when they are read; arrays do not."""

_MAX_DEPTH = 32
"""Deepest nesting of a value: above it a reader's recursion could be exhausted."""
_MAX_NODES = 100_000
"""Most values in one message, which bounds the time to read it."""
_MAX_ARRAYS = 1000
"""Most arrays in one message."""
_MAX_DIMENSIONS = 32
"""Most dimensions of an array."""
_MAX_OTHER_KEYS = 1000
"""Most keys of a dict that has others than texts: hashes of numbers can be chosen to collide, those of texts cannot."""

_DTYPES: Mapping[str, np.dtype[Any]] = {
    name: np.dtype(name).newbyteorder("<")
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}


class CannotSend(ValueError):
    """Why a value cannot travel; the text completes the sentence "it cannot be stored: ..."."""


class Unreadable(ValueError):
    """What arrived is no message."""


def is_sendable_array(value: Any) -> bool:
    """True for arrays of numbers or booleans."""
    return isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray) and value.dtype.name in _DTYPES


@dataclass
class _Packing:
    """A value on its way to the wire."""

    arrays: list[NDArray[Any]] = field(default_factory=list)
    nodes: int = 0

    def tree(self, value: Any, depth: int = 0) -> Any:
        """The value as JSON; containers and arrays as {kind: content}."""
        self.nodes += 1
        if depth > _MAX_DEPTH or self.nodes > _MAX_NODES:
            raise CannotSend(f"it is nested more than {_MAX_DEPTH} deep or holds more than {_MAX_NODES} values")
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, Image.Image):
            value = np.asarray(value)
        for plain in (bool, int, float, str):
            if isinstance(value, plain):
                return plain(value)
        if value is None:
            return None
        if isinstance(value, complex):
            return {"complex": [value.real, value.imag]}
        if is_sendable_array(value):
            return self._array(value)
        if isinstance(value, list | tuple):
            kind = "list" if isinstance(value, list) else "tuple"
            return {kind: [self.tree(item, depth + 1) for item in value]}
        if isinstance(value, dict):
            if _has_too_many_keys(list(value)):
                raise CannotSend(f"it holds a dict with more than {_MAX_OTHER_KEYS} keys that are no texts")
            return {"dict": [[self.tree(k, depth + 1), self.tree(v, depth + 1)] for k, v in value.items()]}
        kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
        raise CannotSend(f"it is or holds a value of type {kind}")

    def _array(self, value: NDArray[Any]) -> Any:
        if len(self.arrays) == _MAX_ARRAYS:
            raise CannotSend(f"it holds more than {_MAX_ARRAYS} arrays")
        self.arrays.append(np.ascontiguousarray(value, _DTYPES[value.dtype.name]).reshape(value.shape))
        return {"array": None}


def pack(value: Any, max_bytes: int) -> list[memoryview]:
    """A message in pieces that are sent one after the other; arrays are not copied.

    Args:
        value: None, bool, int, float, complex, str, numeric array, or lists, tuples and dicts of these. An image of
            Pillow's arrives as its array.
        max_bytes: Most bytes that its arrays may take.

    Raises:
        CannotSend: The value is of another kind or too large.
    """
    packing = _Packing()
    try:
        tree = packing.tree(value)
        head = json.dumps([tree, [[a.dtype.name, list(a.shape)] for a in packing.arrays]]).encode()
    except CannotSend:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise CannotSend("it holds an integer of thousands of digits") from error
    total = sum(a.nbytes for a in packing.arrays)
    if total > max_bytes:
        raise CannotSend(f"the arrays hold {_megabytes(total)}; at most {_megabytes(max_bytes)} are allowed")
    if len(head) > MAX_TEXT_BYTES:
        raise CannotSend(f"the texts and lists take {_megabytes(len(head))}; at most 1 MB is allowed")
    pieces = [memoryview(len(head).to_bytes(4, "little") + head)]
    return pieces + [a.reshape(-1).view(np.uint8).data for a in packing.arrays if a.nbytes]


def _megabytes(count: int) -> str:
    return f"{math.ceil(count / (1 << 20) * 10) / 10:g} MB"


def read(receive: Callable[[int], bytearray], max_bytes: int) -> Any:
    """Take one message from a peer that may be hostile.

    Args:
        receive: Function that gives exactly the number of bytes asked for.
        max_bytes: Most bytes that its arrays may take.

    Raises:
        Unreadable: It is no message, or too large.
    """
    length = int.from_bytes(receive(4), "little")
    if length > MAX_TEXT_BYTES:
        raise Unreadable("the text is too long")
    try:
        tree, listed = json.loads(receive(length))
        arrays = _shapes(listed, max_bytes)
        return _value(tree, [_content(receive, dtype, shape) for dtype, shape in arrays])
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise Unreadable(f"{type(error).__name__}") from error


def _shapes(listed: Any, max_bytes: int) -> list[tuple[np.dtype[Any], tuple[int, ...]]]:
    """What the arrays are, checked before anything is allocated."""
    if not isinstance(listed, list) or len(listed) > _MAX_ARRAYS:
        raise Unreadable("the list of arrays is none or too long")
    found = []
    total = 0
    for name, shape in listed:
        if len(shape) > _MAX_DIMENSIONS or not all(type(n) is int and 0 <= n <= max_bytes for n in shape):
            raise Unreadable("a shape is none")
        total += math.prod(shape) * _DTYPES[name].itemsize
        if total > max_bytes:
            raise Unreadable("the arrays are too large")
        found.append((_DTYPES[name], tuple(shape)))
    return found


def _content(receive: Callable[[int], bytearray], dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    data = receive(math.prod(shape) * dtype.itemsize)
    if dtype == np.bool_:  # any byte may arrive, and a boolean that is neither 0 nor 1 breaks numpy
        return (np.frombuffer(data, np.uint8) != 0).reshape(shape)
    return np.frombuffer(data, dtype).reshape(shape)


def _value(tree: Any, arrays: list[NDArray[Any]], depth: int = 0) -> Any:
    if depth > _MAX_DEPTH:
        raise Unreadable("it is nested too deeply")
    if tree is None or isinstance(tree, bool | int | float):
        return tree
    if isinstance(tree, str):  # half of a surrogate pair could not be written anywhere later
        return tree.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    ((kind, content),) = tree.items()
    if kind == "array" and arrays:
        return arrays.pop(0)
    if kind == "complex":
        return complex(*content)
    if kind in ("list", "tuple"):
        items = [_value(item, arrays, depth + 1) for item in content]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        pairs = [(_value(key, arrays, depth + 1), _value(value, arrays, depth + 1)) for key, value in content]
        if _has_too_many_keys([key for key, _ in pairs]):
            raise Unreadable("a dict has too many keys")
        return dict(pairs)
    raise Unreadable("it holds an unknown kind")


def _has_too_many_keys(keys: list[Any]) -> bool:
    return len(keys) > _MAX_OTHER_KEYS and not all(isinstance(key, str) for key in keys)
