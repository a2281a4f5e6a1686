"""The bytes of an MCAP file: its records, and what its chunks hold, as far as both are whole."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator

CHUNK = 0x06
"""Opcode of a chunk, https://mcap.dev/spec."""
COMPRESSIONS = ("", "zstd", "lz4")
"""Those that rosbag2 knows."""
_RECORD = struct.Struct("<BQ")
"""Opcode and length of a record."""
_PIECE = 64 * 1024
"""Packed bytes that are unpacked at once: what stands before damage is not lost with it."""


class Cut(Exception):
    """Nothing more can be read here."""


def records(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """(opcode, body) of each record; a chunk that is cut short comes as far as it goes. Raises Cut after that."""
    at = 0
    while at < len(data):
        if at + _RECORD.size > len(data):
            raise Cut
        opcode, length = _RECORD.unpack_from(data, at)
        at += _RECORD.size
        if at + length > len(data):
            if opcode == CHUNK:
                yield opcode, data[at:]
            raise Cut
        yield opcode, data[at : at + length]
        at += length


def unpacked(compression: str, packed: bytes | memoryview, size: int) -> bytes:
    """What a chunk holds, at most `size` bytes, up to where it is damaged."""
    if compression == "":
        return bytes(packed[:size])
    unpacked = bytearray()
    try:
        if compression == "zstd":
            import zstandard

            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_size=_PIECE) as stream:
                while len(unpacked) < size and (piece := stream.read(min(_PIECE, size - len(unpacked)))):
                    unpacked += piece
        elif compression == "lz4":
            from lz4.frame import LZ4FrameDecompressor

            reader = LZ4FrameDecompressor()
            for at in range(0, len(packed), _PIECE):
                unpacked += reader.decompress(packed[at : at + _PIECE], max_length=size - len(unpacked))
                if len(unpacked) >= size:
                    break
    except Exception:  # the decompressors' own errors, and memory: what came before is kept
        pass
    return bytes(unpacked)
