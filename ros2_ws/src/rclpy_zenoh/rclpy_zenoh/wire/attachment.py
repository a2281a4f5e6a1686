"""The 33 bytes beside every message, request and reply: who sent it, when, and its number."""

from __future__ import annotations

import struct
from typing import NamedTuple

GID_SIZE = 16
_FORMAT = struct.Struct(f"<qqB{GID_SIZE}s")
SIZE = _FORMAT.size


class Attachment(NamedTuple):
    """What an attachment says.

    Attributes:
        sequence_number: Counts from 1 for each sender.
        source_timestamp_ns: Wall clock of the sender, nanoseconds since 1970.
        gid: The sender; in a reply, the client that asked.
    """

    sequence_number: int
    source_timestamp_ns: int
    gid: bytes


def pack_attachment(sequence_number: int, source_timestamp_ns: int, gid: bytes) -> bytes:
    """The bytes of an attachment."""
    return _FORMAT.pack(sequence_number, source_timestamp_ns, GID_SIZE, gid)


def unpack_attachment(data: bytes) -> Attachment:
    """What the bytes say. Raises ValueError with the reason when they are no attachment of rmw_zenoh's."""
    if len(data) != SIZE:
        raise ValueError(f"the attachment has {len(data)} bytes, not {SIZE}")
    sequence_number, timestamp, size, gid = _FORMAT.unpack(data)
    if size != GID_SIZE:
        raise ValueError(f"the attachment's gid has {size} bytes, not {GID_SIZE}")
    if sequence_number < 0 or timestamp < 0:
        raise ValueError("the attachment's number or time is negative")
    return Attachment(sequence_number, timestamp, gid)
