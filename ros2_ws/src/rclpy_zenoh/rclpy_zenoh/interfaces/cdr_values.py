"""CDR of single values: strings, arrays and sequences, and the cursor that decoding moves along a packet."""

from __future__ import annotations

import array
import struct
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rclpy_zenoh.interfaces.checks import dtype_of
from rclpy_zenoh.interfaces.definitions import PRIMITIVES, FieldType, Shape
from rclpy_zenoh.interfaces.errors import InterfaceError

HEADER = b"\x00\x01\x00\x00"
_LENGTH = struct.Struct("<I")
_PADDING = [bytes(n) for n in range(8)]


class Cursor:
    """Where decoding stands: a view of the packet without its header, and the next byte."""

    __slots__ = ("end", "pos", "view")

    def __init__(self, view: memoryview) -> None:
        self.view, self.pos, self.end = view, 0, len(view)

    def take(self, size: int) -> int:
        """Position of the next `size` bytes, which are skipped. Raises InterfaceError where they are not there."""
        start = self.pos
        if size > self.end - start:
            raise InterfaceError(f"the packet ends after {self.end} bytes, {size} more are needed at byte {start}")
        self.pos = start + size
        return start

    def align(self, size: int) -> None:
        """Skip to the next multiple of `size`."""
        self.pos = -(-self.pos // size) * size

    def length(self, smallest: int) -> int:
        """A sequence's length, if that many items of at least `smallest` bytes can follow."""
        self.align(4)
        count: int = _LENGTH.unpack_from(self.view, self.take(4))[0]
        if count * smallest > self.end - self.pos:
            raise InterfaceError(f"a sequence of {count} items at byte {self.pos} is longer than the packet")
        return count


def align(out: bytearray, size: int) -> None:
    """Append padding up to the next multiple of `size`, counted from the end of the header."""
    out += _PADDING[(len(HEADER) - len(out)) % size]


def put_length(out: bytearray, count: int) -> None:
    """Append the length of a sequence."""
    align(out, 4)
    out += _LENGTH.pack(count)


class Codec(Protocol):
    """Writes and reads one kind of value; `smallest` is the least number of bytes it takes."""

    smallest: int

    def write(self, value: Any, out: bytearray) -> None:
        """Append a value to a packet."""

    def read(self, cursor: Cursor) -> Any:
        """The next value. Raises InterfaceError."""


class Text:
    """UTF-8 with its length, which counts the NUL at its end."""

    smallest = 4

    def __init__(self, kind: FieldType) -> None:
        self._most = kind.string_capacity

    def write(self, value: str, out: bytearray) -> None:
        """Append the string."""
        raw = value.encode()
        if (self._most and len(raw) > self._most) or b"\0" in raw:
            raise InterfaceError(f"the string {value[:40]!r} is too long or holds a NUL")
        put_length(out, len(raw) + 1)
        out += raw
        out.append(0)

    def read(self, cursor: Cursor) -> str:
        """The next string. Raises InterfaceError."""
        count = cursor.length(1)
        if not count:  # some writers send an empty string without its NUL
            return ""
        start = cursor.take(count)
        raw = bytes(cursor.view[start : start + count])
        if raw.find(0) != count - 1:
            raise InterfaceError(f"the string at byte {start} does not end with its only NUL")
        if self._most and count - 1 > self._most:
            raise InterfaceError(f"the string at byte {start} has {count - 1} bytes, at most {self._most} are allowed")
        try:
            return str(raw[:-1], "utf-8")
        except UnicodeDecodeError:
            raise InterfaceError(f"the string at byte {start} is no UTF-8") from None


class WideText:
    """UTF-16 code units, each in four bytes, without a NUL: as rosidl_typesupport_fastrtps writes a wstring."""

    smallest = 4

    def __init__(self, kind: FieldType) -> None:
        self._most = kind.string_capacity

    def write(self, value: str, out: bytearray) -> None:
        """Append the string."""
        units = np.frombuffer(value.encode("utf-16-le"), "<u2")
        if self._most and len(units) > self._most:
            raise InterfaceError(f"the string {value[:40]!r} is too long")
        put_length(out, len(units))
        out += units.astype("<u4").tobytes()

    def read(self, cursor: Cursor) -> str:
        """The next string. Raises InterfaceError."""
        count = cursor.length(4)
        if self._most and count > self._most:
            raise InterfaceError(f"a wide string has {count} units, at most {self._most} are allowed")
        start = cursor.take(4 * count)
        units = np.frombuffer(cursor.view, "<u4", count, start)
        if count and int(units.max()) > 0xFFFF:
            raise InterfaceError(f"the wide string at byte {start} holds no UTF-16")
        try:
            return units.astype("<u2").tobytes().decode("utf-16-le")
        except UnicodeDecodeError:
            raise InterfaceError(f"the wide string at byte {start} is no UTF-16") from None


class Many:
    """The length of an array or a sequence; subclasses know the items."""

    def __init__(self, kind: FieldType, item: int) -> None:
        self._fixed = kind.capacity if kind.shape is Shape.ARRAY else 0
        self._most = kind.capacity if kind.shape is Shape.BOUNDED else 0
        self._item = item
        self.smallest = self._fixed * item or 4

    def _write_count(self, count: int, out: bytearray) -> None:
        if self._fixed:
            if count != self._fixed:
                raise InterfaceError(f"{count} values where exactly {self._fixed} are needed")
            return
        if self._most and count > self._most:
            raise InterfaceError(f"{count} values where at most {self._most} are allowed")
        put_length(out, count)

    def _read_count(self, cursor: Cursor) -> int:
        if self._fixed:
            return self._fixed
        count = cursor.length(self._item)
        if self._most and count > self._most:
            raise InterfaceError(f"a sequence has {count} items, at most {self._most} are allowed")
        return count


class Numbers(Many):
    """Numbers as one block of bytes; wire and machine are little-endian."""

    def __init__(self, kind: FieldType) -> None:
        self._dtype, self._code = dtype_of(kind.base), PRIMITIVES[kind.base].code
        super().__init__(kind, self._dtype.itemsize)

    def write(self, value: Any, out: bytearray) -> None:
        """Append the numbers."""
        self._write_count(len(value), out)
        if len(value):
            align(out, self._item)
            out += memoryview(value)

    def read(self, cursor: Cursor) -> array.array[Any] | NDArray[Any]:
        """The next numbers: a numpy array where their number is fixed. Raises InterfaceError."""
        count = self._read_count(cursor)
        if count:
            cursor.align(self._item)
        start = cursor.take(count * self._item)
        if self._fixed:
            return np.frombuffer(cursor.view, self._dtype, count, start).copy()
        found = array.array(self._code)
        found.frombytes(cursor.view[start : start + count * self._item])
        return found


class Bools(Many):
    """One byte for each bool."""

    def __init__(self, kind: FieldType) -> None:
        super().__init__(kind, 1)

    def write(self, value: list[bool], out: bytearray) -> None:
        """Append the bools."""
        self._write_count(len(value), out)
        if not all(isinstance(item, bool) for item in value):
            raise TypeError
        out += bytes(value)

    def read(self, cursor: Cursor) -> list[bool]:
        """The next bools. Raises InterfaceError."""
        count = self._read_count(cursor)
        start = cursor.take(count)
        return [byte != 0 for byte in cursor.view[start : start + count]]


class Bytes(Many):
    """A list of `bytes` of length 1."""

    def __init__(self, kind: FieldType) -> None:
        super().__init__(kind, 1)

    def write(self, value: list[bytes], out: bytearray) -> None:
        """Append the bytes."""
        self._write_count(len(value), out)
        if any(len(item) != 1 for item in value):
            raise TypeError
        out += b"".join(value)

    def read(self, cursor: Cursor) -> list[bytes]:
        """The next bytes. Raises InterfaceError."""
        count = self._read_count(cursor)
        start = cursor.take(count)
        return [bytes((byte,)) for byte in cursor.view[start : start + count]]


class Items(Many):
    """Strings or messages, one after the other."""

    def __init__(self, kind: FieldType, codec: Codec) -> None:
        super().__init__(kind, codec.smallest)
        self._codec = codec

    def write(self, value: list[Any], out: bytearray) -> None:
        """Append the items."""
        self._write_count(len(value), out)
        for item in value:
            self._codec.write(item, out)

    def read(self, cursor: Cursor) -> list[Any]:
        """The next items. Raises InterfaceError."""
        read = self._codec.read
        return [read(cursor) for _ in range(self._read_count(cursor))]
