"""What travels between a port and the process that serves it: requests with images by reference, and their answers.

An array of 100 kB and more is put into the cluster's shared memory once, known there by what it holds, and freed when
no part of this process has it any more. Only its reference travels; readers share its memory, which is read-only.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from toolhand.tool_nodes.content import content_key
from toolhand.tool_nodes.toolbox.images import FrameWindow, SessionImage
from toolhand.tool_nodes.types import Frame

INLINE_BYTES = 100_000
"""Smaller arrays travel with the request [bytes]; Ray itself sends values below this size along with a call."""


@dataclass(frozen=True)
class ByReference:
    """Something in the shared memory; `ref` is an ObjectRef, which Ray counts."""

    ref: Any


@dataclass(frozen=True)
class SentImage:
    """A `SessionImage` on its way.

    Attributes:
        rgb: Its pixels; None where the frame has them.
        frame: A Frame, where there is one.
        window: See `SessionImage`.
    """

    rgb: Any
    frame: Any
    window: FrameWindow | None


@dataclass(frozen=True)
class PortRequest:
    """One call.

    Attributes:
        arguments: Arguments of the port's method.
        until: Time when the last caller stops waiting [s since 1970]; the clocks of a cluster agree to well below
            a deadline.
        seed: The caller's, for backends that are `ports.Seeded`.
    """

    arguments: tuple[Any, ...]
    until: float
    seed: int = 0


@dataclass
class _Kept:
    ref: Any
    owners: set[int] = field(default_factory=set)


class SharedArrays:
    """What this process has put into the shared memory.

    Args:
        put: Puts a value there and gives its reference, `ray.put`.
    """

    def __init__(self, put: Callable[[Any], Any]) -> None:
        self._put = put
        self._kept: dict[bytes, _Kept] = {}
        self._lock = threading.RLock()  # an owner may go, and so release, while this thread is in here

    def __len__(self) -> int:
        return len(self._kept)

    def refer(self, owner: Any, key: bytes, value: Any) -> ByReference:
        """A reference to a value, which is put there where it is not yet.

        Args:
            owner: Object that keeps the value alive, with other owners of the same key.
            key: The value's, see `content_key`.
            value: The value to store.
        """
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                kept = self._kept[key] = _Kept(self._put(value))
            if id(owner) not in kept.owners:
                kept.owners.add(id(owner))
                weakref.finalize(owner, self._release, key, id(owner)).atexit = False
            return ByReference(kept.ref)

    def _release(self, key: bytes, owner: int) -> None:
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None:
                kept.owners.discard(owner)
                if not kept.owners:
                    del self._kept[key]

    def pack(self, argument: Any) -> Any:
        """An argument of a port as it travels: images and arrays by reference, all else as it is."""
        if isinstance(argument, SessionImage):
            frame = None if argument.frame is None else self._frame(argument.frame)
            alike = argument.frame is not None and argument.rgb is argument.frame.rgb
            return SentImage(None if alike else self._array(argument.rgb, argument), frame, argument.window)
        if isinstance(argument, np.ndarray):
            return self._array(argument, argument)
        return argument

    def _frame(self, frame: Frame) -> Any:
        size = sum(array.nbytes for array in (frame.rgb, frame.depth, frame.ids) if array is not None)
        if size < INLINE_BYTES:
            return _plain(frame)
        return self.refer(frame, frame.key, _plain(frame))  # the key goes with it

    def _array(self, array: Any, owner: Any) -> Any:
        return array if array.nbytes < INLINE_BYTES else self.refer(owner, content_key(array), array)


def _plain(frame: Frame) -> Frame:
    """A frame without what its makers have added: a replica may not have the packages of a node."""
    if type(frame) is Frame:
        return frame
    plain = Frame(**{each.name: getattr(frame, each.name) for each in fields(Frame)})
    plain.__dict__["key"] = frame.key
    return plain


def references(requests: Sequence[PortRequest]) -> list[Any]:
    """Every ObjectRef in the requests, once."""
    found: dict[Any, None] = {}
    for request in requests:
        for argument in request.arguments:
            parts = (argument.rgb, argument.frame) if isinstance(argument, SentImage) else (argument,)
            found.update({part.ref: None for part in parts if isinstance(part, ByReference)})
    return list(found)


def unpack(request: PortRequest, values: dict[Any, Any], writable: bool = False) -> tuple[Any, ...]:
    """The arguments as the backend gets them.

    Args:
        request: The request as it arrived.
        values: Behind the references.
        writable: Copy the pixels: for a backend that writes into the image that it is given.
    """

    def value(part: Any) -> Any:
        return values[part.ref] if isinstance(part, ByReference) else part

    def argument(part: Any) -> Any:
        if not isinstance(part, SentImage):
            return value(part)
        frame = value(part.frame)
        rgb = frame.rgb if part.rgb is None else value(part.rgb)
        return SessionImage(rgb.copy() if writable else rgb, frame, part.window)

    return tuple(argument(part) for part in request.arguments)
