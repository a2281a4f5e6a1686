"""What can be read of a recording that may be damaged: `reading` refuses such a file, a viewer shows what is left.

A chunk that is cut in two still gives its first messages.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolhand.agent_node.runs.mcap.packed import CHUNK, Cut, records, unpacked
from toolhand.agent_node.runs.mcap.reading import (
    EVENT_TOPICS,
    MAGIC,
    MAX_CHUNK_BYTES,
    MAX_RECORDS,
    MAX_UNPACKED_BYTES,
    file_bytes,
)

_FOOTER, _CHANNEL, _MESSAGE, _STATISTICS = 0x02, 0x04, 0x05, 0x0B
"""Opcodes of records, https://mcap.dev/spec."""
_CHUNK_HEAD = struct.Struct("<QQQII")
"""Of a chunk: first and last time [ns], unpacked size [bytes], checksum, length of the compression's name [bytes]."""
_MESSAGE_HEAD = struct.Struct("<HIQQ")
"""Of a message: channel, sequence, time of the record and of publishing [ns]."""


@dataclass(frozen=True)
class SalvagedMessage:
    """One message.

    Attributes:
        topic: E.g. "/joint_states".
        time_ns: Time on the run's clock [ns].
        sequence: Number of the message, as its kind counts.
        data: CDR packet.
    """

    topic: str
    time_ns: int
    sequence: int
    data: bytes


@dataclass(frozen=True)
class Salvage:
    """The messages that could be read, and what is wrong with the file.

    Attributes:
        messages: In the file's order.
        problem: One sentence; empty where nothing is known to be missing.
    """

    messages: Sequence[SalvagedMessage]
    problem: str = ""


def salvage(path: Path, topics: Collection[str]) -> Salvage:
    """Read the messages of some topics, as far as the file is whole.

    Raises:
        ToolError: INVALID_ARGUMENT for what is no MCAP file.
    """
    walk = _Walk(topics)
    try:
        walk.file(memoryview(file_bytes(path))[len(MAGIC) :])
    except Cut:
        walk.cut = True
    steps = sorted(message.sequence for message in walk.found if message.topic in EVENT_TOPICS)
    read_part = f"{walk.read:,} messages, {len(steps):,} of them steps, could be read"
    problem = ""
    if walk.cut:
        problem = f"The recording {path.name} is damaged or cut short: {read_part}."
    elif walk.read != walk.expected or steps != list(range(len(steps))):
        problem = f"Messages are missing in the recording {path.name}: {read_part}."
    return Salvage(walk.found, problem)


class _Walk:
    """What has been read of a file so far."""

    def __init__(self, topics: Collection[str]) -> None:
        self.found: list[SalvagedMessage] = []
        self.read = 0
        self.expected: int | None = None
        self.cut = False
        self._topics = topics
        self._channels: dict[int, str] = {}
        self._room = MAX_UNPACKED_BYTES

    def file(self, data: memoryview) -> None:
        """Walk the records of a file. Raises Cut where it ends too early."""
        for opcode, body in records(data):
            if opcode == _FOOTER:
                return
            if opcode == CHUNK:
                self._chunk(body)
            elif opcode == _STATISTICS and len(body) >= 8:
                (self.expected,) = struct.unpack_from("<Q", body)
        raise Cut

    def _chunk(self, body: memoryview) -> None:
        if len(body) < _CHUNK_HEAD.size:
            raise Cut
        _, _, size, checksum, named = _CHUNK_HEAD.unpack_from(body)
        packed = body[_CHUNK_HEAD.size + named + 8 :]
        if size > min(self._room, MAX_CHUNK_BYTES):
            raise Cut
        data = unpacked(str(body[_CHUNK_HEAD.size :][:named], "utf-8", "replace"), packed, size)
        self._room -= len(data)
        if len(data) != size or (checksum and zlib.crc32(data) != checksum):
            self.cut = True
        try:
            for opcode, record in records(memoryview(data)):
                self._record(opcode, record)
        except Cut:
            self.cut = True

    def _record(self, opcode: int, body: memoryview) -> None:
        if opcode == _CHANNEL and len(body) >= 8:
            number, _, length = struct.unpack_from("<HHI", body)
            self._channels[number] = bytes(body[8 : 8 + length]).decode("utf-8", "replace")
        elif opcode == _MESSAGE and len(body) >= _MESSAGE_HEAD.size:
            if self.read >= MAX_RECORDS:
                raise Cut
            channel, sequence, time_ns, _ = _MESSAGE_HEAD.unpack_from(body)
            self.read += 1
            topic = self._channels.get(channel, "")
            if topic in self._topics:
                self.found.append(SalvagedMessage(topic, time_ns, sequence, bytes(body[_MESSAGE_HEAD.size :])))
