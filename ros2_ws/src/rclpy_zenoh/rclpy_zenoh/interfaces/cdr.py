"""CDR, the bytes of messages on the wire: XCDR1, little-endian, with the four-byte header 00 01 00 00.

A message's codec is built once from its class. Numbers that follow one another, across nested messages too, are packed
by one `struct` call; arrays of numbers are copied whole. Whatever a packet holds, decoding ends with a message or with
an `InterfaceError`: lengths are compared with the bytes that are left before anything is allocated.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from rclpy_zenoh.interfaces.cdr_values import HEADER, Bools, Bytes, Codec, Cursor, Items, Numbers, Text, WideText
from rclpy_zenoh.interfaces.definitions import NUMBERS, PRIMITIVES, STRINGS, Shape
from rclpy_zenoh.interfaces.errors import InterfaceError
from rclpy_zenoh.interfaces.message import FieldSpec, Message, explain


class _Block:
    """Numbers of fixed size that follow one another, packed by one `struct` call.

    Padding depends on where the block starts, so there are up to eight formats.
    """

    def __init__(self) -> None:
        self.codes: list[str] = []
        self.paths: list[str] = []
        self.targets: list[tuple[int, Callable[[Any, Any], None]]] = []
        self._structs: list[struct.Struct] = []
        self._get: Callable[[Any], Any] = tuple

    @property
    def size(self) -> int:
        """Bytes without padding."""
        return sum(struct.calcsize("<" + code) for code in self.codes)

    def close(self) -> None:
        """Make the formats; no member is added after this."""
        self._structs = [struct.Struct(self._format(phase)) for phase in range(8)]
        if len(self.paths) == 1:
            only = attrgetter(self.paths[0])
            self._get = lambda message: (only(message),)
        elif self.paths:
            self._get = attrgetter(*self.paths)
        else:
            self._get = lambda message: ()

    def _format(self, phase: int) -> str:
        text, at = "<", phase
        for code in self.codes:
            size = struct.calcsize("<" + code)
            padding = -at % size
            text += "x" * padding + code
            at += padding + size
        return text

    def write(self, message: Message, out: bytearray) -> None:
        out += self._structs[(len(out) - len(HEADER)) % 8].pack(*self._get(message))

    def read(self, cursor: Cursor, objects: list[Any]) -> None:
        packed = self._structs[cursor.pos % 8]
        values = packed.unpack_from(cursor.view, cursor.take(packed.size))
        for (index, store), value in zip(self.targets, values, strict=True):
            store(objects[index], value)


class _Value:
    """One field whose size varies, or an array."""

    def __init__(self, path: str, index: int, spec: FieldSpec, codec: Codec) -> None:
        self._get = attrgetter(path)
        self._index, self._store, self._codec = index, spec.store, codec

    def write(self, message: Message, out: bytearray) -> None:
        self._codec.write(self._get(message), out)

    def read(self, cursor: Cursor, objects: list[Any]) -> None:
        self._store(objects[self._index], self._codec.read(cursor))


class MessageCodec:
    """Codec of one message class; the messages in it are handled in the same pass."""

    def __init__(self, cls: type[Message]) -> None:
        self._cls = cls
        self._classes: list[type[Message]] = [cls]
        self._links: list[tuple[int, Callable[[Any, Any], None]]] = []
        self._steps: list[_Block | _Value] = []
        self.smallest = 0
        self._add(cls, "", 0)
        for step in self._steps:
            if isinstance(step, _Block):
                step.close()
                self.smallest += step.size

    def _add(self, cls: type[Message], prefix: str, index: int) -> None:
        if not cls._specs_:
            self._block().codes.append("x")  # a message without fields is one byte on the wire
        for spec in cls._specs_:
            path = prefix + spec.slot
            if spec.kind.shape is Shape.ONE and spec.message is not None:
                self._classes.append(spec.message)
                self._links.append((index, spec.store))
                self._add(spec.message, f"{path}.", len(self._classes) - 1)
            elif spec.kind.shape is Shape.ONE and spec.kind.base not in STRINGS:
                block = self._block()
                block.codes.append(PRIMITIVES[spec.kind.base].code)
                block.paths.append(path)
                block.targets.append((index, spec.store))
            else:
                codec = _codec_of(spec)
                self.smallest += codec.smallest
                self._steps.append(_Value(path, index, spec, codec))

    def _block(self) -> _Block:
        last = self._steps[-1] if self._steps else None
        if isinstance(last, _Block):
            return last
        block = _Block()
        self._steps.append(block)
        return block

    def write(self, value: Message, out: bytearray) -> None:
        """Append a message to a packet."""
        if not isinstance(value, self._cls):
            raise TypeError
        for step in self._steps:
            step.write(value, out)

    def read(self, cursor: Cursor) -> Message:
        """The next message. Raises InterfaceError."""
        objects: list[Message] = [cls.__new__(cls) for cls in self._classes]
        for child, (parent, store) in enumerate(self._links, 1):
            store(objects[parent], objects[child])
        for step in self._steps:
            step.read(cursor, objects)
        return objects[0]


def _codec_of(spec: FieldSpec) -> Codec:
    kind = spec.kind
    if kind.base in STRINGS:
        text: Codec = Text(kind) if kind.base == "string" else WideText(kind)
        return text if kind.shape is Shape.ONE else Items(kind, text)
    if spec.message is not None:
        return Items(kind, codec_of(spec.message))
    if kind.base in NUMBERS:
        return Numbers(kind)
    return Bools(kind) if kind.base == "bool" else Bytes(kind)


def codec_of(cls: type[Message]) -> MessageCodec:
    """The codec of a message class, built when it is first needed."""
    codec: MessageCodec | None = cls.__dict__.get("_codec_")
    if codec is None:
        codec = MessageCodec(cls)
        cls._codec_ = codec  # type: ignore[attr-defined]  # one per class, never inherited
    return codec


def serialize(msg: Message) -> bytearray:
    """The packet of a message, header included.

    Raises:
        InterfaceError: `msg` is no message, or a list in it was changed in place to what its field does not allow.
    """
    if not isinstance(msg, Message):
        raise InterfaceError(f"Only messages can be serialized, not {type(msg).__name__}.")
    out = bytearray(HEADER)
    try:
        codec_of(type(msg)).write(msg, out)
    except (TypeError, ValueError, AttributeError, struct.error) as error:
        raise InterfaceError(f"{msg._type_name_}: {explain(msg) or error}") from None
    return out


def deserialize(data: bytes | bytearray | memoryview, cls: type[Message]) -> Any:
    """The message of class `cls` in a packet; bytes after its end are ignored, as rmw implementations do.

    Raises:
        InterfaceError: `cls` is no message class, or the packet is no such message.
    """
    if not (isinstance(cls, type) and issubclass(cls, Message)):
        raise InterfaceError(f"Packets hold messages, and {cls!r} is no message class (a service has .Request).")
    try:
        view = memoryview(data).cast("B")
    except TypeError:
        raise InterfaceError(f"A packet is bytes, a bytearray or a memoryview, not {type(data).__name__}.") from None
    if bytes(view[:2]) != HEADER[:2] or len(view) < len(HEADER):
        raise InterfaceError(
            f"{cls._type_name_}: the packet starts with {bytes(view[:4]).hex() or 'nothing'}, not with 0001 "
            "(XCDR1, little-endian) and two bytes of options."
        )
    try:
        return codec_of(cls).read(Cursor(view[len(HEADER) :]))
    except InterfaceError as error:
        raise InterfaceError(f"{cls._type_name_}: {error}.") from None
