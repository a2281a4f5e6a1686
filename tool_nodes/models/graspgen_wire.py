"""What GraspGen's server speaks: msgpack with arrays in the form of msgpack_numpy.

msgpack_numpy itself calls pickle.loads for arrays of objects, so that a server could run code here. Its form is read
by this module instead, which knows plain numbers only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_BYTES = 64 * 2**20
"""Longest answer [bytes]; a hundred thousand poses take 6.4 MB."""
DTYPES = frozenset({"<f4", "<f8", "<f2", "<i4", "<i8", "<u4", "<u8", "|u1", "|i1", "|b1", "<i2", "<u2"})
"""Types that an array may have: numbers and truth values."""


class UnreadableError(ValueError):
    """An answer that is none; the words say why."""


def packed(document: dict[str, Any], msgpack: Any) -> bytes:
    """A request as bytes."""
    data: bytes = msgpack.packb(document, default=_array_as_map, use_bin_type=True)
    return data


def unpacked(data: bytes, msgpack: Any) -> dict[str, Any]:
    """An answer. Raises UnreadableError for one that is too long, no map, damaged, or has an array of no numbers."""
    if len(data) > MAX_BYTES:
        raise UnreadableError(f"it has more than {MAX_BYTES:,} bytes")
    try:
        document = msgpack.unpackb(data, raw=False, strict_map_key=False, object_hook=_map_as_array)
    except UnreadableError:
        raise
    except Exception as error:  # msgpack's own kinds, some without a word
        raise UnreadableError(f"it is no msgpack: {type(error).__name__}") from error
    if not isinstance(document, dict):
        raise UnreadableError("it is no map")
    return {str(name): value for name, value in document.items()}


def _array_as_map(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = np.ascontiguousarray(value)
        return {b"nd": True, b"type": data.dtype.str, b"kind": b"", b"shape": list(data.shape), b"data": data.tobytes()}
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _map_as_array(found: dict[Any, Any]) -> Any:
    plain = {name.decode() if isinstance(name, bytes) else name: value for name, value in found.items()}
    if "nd" not in plain:
        return found
    dtype = plain.get("type")
    dtype = dtype.decode() if isinstance(dtype, bytes) else dtype
    data = plain.get("data")
    if not isinstance(dtype, str) or dtype not in DTYPES or not isinstance(data, bytes):
        raise UnreadableError(f"an array in it is not of plain numbers: {str(dtype)[:20]!r}")
    shape = plain.get("shape", []) if plain["nd"] else []
    if not isinstance(shape, list | tuple) or not all(isinstance(side, int) and side >= 0 for side in shape):
        raise UnreadableError("an array in it has no shape")
    if math.prod(shape) * np.dtype(dtype).itemsize != len(data):
        raise UnreadableError("an array in it does not fit its shape")
    array: NDArray[Any] = np.frombuffer(data, dtype).reshape(shape)
    return array if plain["nd"] else array.reshape(()).item()
