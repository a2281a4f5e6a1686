"""Reads a run's `run.mcap` back, and says in one sentence what is wrong with a damaged one.

The file may come from anywhere: nothing in it is trusted, and nothing in it is run.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rclpy_zenoh.interfaces import deserialize, get_class
from toolhand.agent_node.event_documents import read_event
from toolhand.agent_node.events import RECORDED, Event, ToolAnswered
from toolhand.agent_node.runs.mcap import ros_messages as ros
from toolhand.agent_node.runs.mcap.packed import COMPRESSIONS, records, unpacked
from toolhand.agent_node.runs.mcap.recorder import COMMAND, FORMAT, OUTCOME
from toolhand.tool_nodes import plain_json
from toolhand.tool_nodes.extras import pip_install
from toolhand.tool_nodes.files import read_file
from toolhand.tool_nodes.results import ToolError, invalid, unavailable
from toolhand.tool_nodes.toolbox.image_files import ImageFileError, opened

if TYPE_CHECKING:
    from mcap.records import Channel, Chunk, Message

    _Part = Chunk | Channel | Message

MAX_BYTES = 2**28
"""Longest file that is read [bytes]: some hours of a run."""
MAX_CHUNK_BYTES = 2**26
"""Longest chunk after decompression [bytes]; our own hold 0.75 MiB and one message more."""
MAX_UNPACKED_BYTES = 2**28
"""All chunks together after decompression [bytes]."""
MAX_RECORDS = 500_000
"""Records of a file; an hour of joint states and transforms, fifty of each in a second, has 360,000."""
MAX_TEXT_BYTES = 2**24
"""All texts of the steps together [bytes]: a parsed one takes twenty times as much."""

MAGIC = b"\x89MCAP0\r\n"


@dataclass(frozen=True)
class RecordedStep:
    """One event of a run.

    Attributes:
        time_s: Time on the run's clock [s].
        event: Event that a listener of the agent heard, without images.
    """

    time_s: float
    event: Event


StoredImage = tuple[bytes, tuple[int, int, int] | None]
"""An image's file, or its bytes and their shape (H, W, 3)."""


@dataclass(frozen=True)
class RecordedRun:
    """What a file says about a run.

    Attributes:
        task: The operator's sentence.
        steps: In the order in which they happened.
        result: Content of `result.json` when the file was written; None where the run was interrupted before.
        messages: Number of messages by topic.
        images: Those that a step refers to, by their image_index; see `image`.
    """

    task: str
    steps: tuple[RecordedStep, ...]
    result: Mapping[str, Any] | None
    messages: Mapping[str, int]
    images: Mapping[int, StoredImage] = field(default_factory=dict, repr=False)

    def image(self, index: int) -> NDArray[np.uint8]:
        """The image (H, W, 3) of an image_index; the steps hold none.

        Raises:
            ToolError: INVALID_ARGUMENT where there is no such image, or it is damaged.
        """
        if index not in self.images:
            raise invalid(f"The recording holds no picture {index}.")
        try:
            data, shape = self.images[index]
            if shape is not None:
                return np.frombuffer(data, np.uint8).reshape(shape)
            with opened(data) as image:
                return np.asarray(image.convert("RGB"))
        except ValueError as error:
            message = f"Picture {index} of the recording cannot be shown: {error}."
            raise invalid(message) from error


def read_run(path: Path) -> RecordedRun:
    """Read and check a file: its checksums, that it is whole, and that no step is missing.

    Raises:
        ToolError: INVALID_ARGUMENT, with what is wrong with it; UNAVAILABLE without the package mcap.
    """
    data = file_bytes(path)
    try:
        return _run(data)
    except ToolError:
        raise
    except _Unsuited as error:
        raise invalid(f"{path} {error}.") from error
    except ImageFileError as error:
        message = f"The recording {path} holds a picture that cannot be shown: {error}."
        raise invalid(message) from error
    except Exception as error:  # whatever a parser of foreign bytes may raise
        cause = str(error) if isinstance(error, _Damaged) else "it is cut short, or something in it was changed"
        raise invalid(f"The recording {path} is damaged: {cause}.") from error


def read_messages(path: Path, topics: Collection[str]) -> list[tuple[str, int, bytes]]:
    """(topic, time [ns], packet) of each message on some topics of any rosbag2 file, in the file's order.

    Raises:
        ToolError: INVALID_ARGUMENT, with what is wrong with it; UNAVAILABLE without the package mcap.
    """
    data = file_bytes(path)
    try:
        parts, *_ = _content(data)
        return [(topic, m.log_time, m.data) for topic, m in _messages(parts) if topic in topics]
    except ToolError:
        raise
    except Exception as error:  # whatever a parser of foreign bytes may raise
        raise invalid(f"The recording {path} is damaged: it is cut short, or something in it was changed.") from error


def file_bytes(path: Path) -> bytes:
    """A recording as it is on the disk. Raises ToolError INVALID_ARGUMENT for what is no MCAP file."""
    try:
        data = read_file(path, MAX_BYTES)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise invalid(f"There is no recording {path}.") from error
    except OSError as error:
        raise invalid(f"Cannot read {path}: {error.strerror}.") from error
    if not data.startswith(MAGIC):
        raise invalid(f"{path} is no MCAP file.")
    return data


class _Damaged(ValueError):
    """What is wrong, as the end of a sentence."""


class _Unsuited(ValueError):
    """Why a file that may well be whole is not read, as the end of a sentence."""


_FOREIGN = "is a recording of something else: it holds no command to Toolhand and no notes of it"
_UNCHECKED = "was written without checksums, so that nobody can say whether it is as it was: copy it with checksums on"


def _run(data: bytes) -> RecordedRun:
    parts, expected, notes, checked = _content(data)
    by_topic: dict[str, int] = {}
    entries: dict[int, tuple[str, int, str]] = {}
    told_bytes = 0
    for topic, message in _messages(parts):
        by_topic[topic] = by_topic.get(topic, 0) + 1
        if topic in EVENT_TOPICS:
            if message.sequence in entries:
                raise _Damaged(f"step {message.sequence} is there twice")
            told_bytes += len(message.data)
            if told_bytes > MAX_TEXT_BYTES:
                raise _Damaged(f"its steps hold more than {MAX_TEXT_BYTES // 2**20} MiB of text")
            text = deserialize(message.data, get_class(ros.STRING)).data
            entries[message.sequence] = topic, message.log_time, text
    if not entries and not notes:
        raise _Unsuited(_FOREIGN)
    if not checked:
        raise _Unsuited(_UNCHECKED)
    if sum(by_topic.values()) != expected:
        raise _Damaged("messages are missing")
    if sorted(entries) != list(range(len(entries))):
        raise _Damaged("steps of the run are missing")
    order = [entries[index] for index in range(len(entries))]
    topics = [topic for topic, _, _ in order]
    if not topics or topics[0] != COMMAND or COMMAND in topics[1:]:
        raise _Damaged("it does not begin with a command")
    if OUTCOME in topics[:-1]:
        raise _Damaged("it goes on after its end")
    command = _mapping(order[0][2])
    written = command.get("format")
    if written != FORMAT:
        raise _Unsuited(f"is of format {str(written)[:20]!r}, and only format {FORMAT} is read")
    shown: set[tuple[str, int]] = set()
    walls = iter(_object_list(notes.get("calls_wall_s", "[]")))
    steps = []
    result: Mapping[str, Any] | None = None
    for topic, time_ns, text in order[1:]:
        if topic == OUTCOME:
            result = {**_mapping(text), **_mapping(notes.get("result", "{}"))}
        else:
            steps.append(RecordedStep(time_ns / 1e9, event_of(topic, text, time_ns / 1e9, walls, shown)))
    task = command.get("task")
    if not isinstance(task, str):
        raise _Damaged("its command has no sentence")
    return RecordedRun(task, tuple(steps), result, by_topic, _images(parts, shown))


EVENT_TOPICS = frozenset((COMMAND, OUTCOME, *(f"/toolhand/{kind}" for kind in RECORDED)))
"""Topics whose messages are the numbered steps of a run."""


def event_of(topic: str, text: str, time_s: float, walls: Iterator[Any], shown: set[tuple[str, int]]) -> Event:
    """The event of a step. Raises ValueError for what is none.

    Args:
        topic: One of EVENT_TOPICS, neither COMMAND nor OUTCOME.
        text: Content of the message.
        time_s: Time of the message [s].
        walls: Wall times of the results that follow [s].
        shown: Takes (topic, number) of the image that a result came with.
    """
    kind = topic.rpartition("/")[2]
    if kind in ("thought", "note"):
        return read_event(kind, text)
    document = dict(_mapping(text))
    shown_on = document.pop("image_topic", None) if kind == "result" else None
    try:
        event = read_event(kind, document)
    except ToolError as error:
        raise _Damaged(f"in a {kind}, {error.message.rstrip('.')}") from error
    if not isinstance(event, ToolAnswered):
        return event
    record = event.record
    if isinstance(shown_on, str):
        if record.image_index is None:
            raise _Damaged("a picture has no number")
        shown.add((shown_on, record.image_index))
    return ToolAnswered(replace(record, started_s=time_s, wall_s=float(next(walls, 0.0))))


def _images(parts: list[_Part], shown: set[tuple[str, int]]) -> Mapping[int, StoredImage]:
    """The images that were shown on these topics with these numbers; they are looked at, and not decoded."""
    found: dict[int, StoredImage] = {}
    for topic, message in _messages(parts) if shown else ():
        if (topic, message.sequence) in shown:
            compressed = topic.endswith("/compressed")
            found[message.sequence] = data, shape = packed_image(message.data, compressed)
            if shape is None:
                with opened(data):
                    pass
    missing = {index for _, index in shown} - found.keys()
    if missing:
        raise _Damaged(f"picture {min(missing)} is missing")
    return found


def packed_image(packet: bytes, compressed: bool) -> StoredImage:
    """The image of an Image's packet, or of a CompressedImage's; not decoded."""
    message = deserialize(packet, get_class(ros.COMPRESSED_IMAGE if compressed else ros.IMAGE))
    return bytes(message.data), None if compressed else (message.height, message.width, 3)


def _mapping(text: str) -> Mapping[str, Any]:
    document = plain_json.load(text, plain_json.AS_WRITTEN)
    if not isinstance(document, dict):
        raise _Damaged("a step is no JSON object")
    return document


def _object_list(text: str) -> list[Any]:
    document = plain_json.load(text)
    if not isinstance(document, list):
        raise _Damaged("its wall times are no list")
    return document


def _content(data: bytes) -> tuple[list[_Part], int, Mapping[str, str], bool]:
    """(chunks as they are packed and what stands outside of them, number of messages that they should hold, our notes,
    all has checksums).

    The file is walked to its end: nothing is unpacked of one that is cut short. A bag needs no index and no statistics.
    """
    try:
        from mcap.records import Channel, Chunk, Footer, Message, Metadata, Statistics
        from mcap.stream_reader import StreamReader
    except ImportError as error:
        raise unavailable(f"A recording cannot be read: {error}.", f"Install it with: {pip_install('mcap')}") from error
    reader = StreamReader(io.BytesIO(data), emit_chunks=True, validate_crcs=True, record_size_limit=len(data))
    parts: list[_Part] = []
    chunks: list[Chunk] = []
    notes: Mapping[str, str] = {}
    expected: int | None = None
    footer: Footer | None = None
    for count, record in enumerate(reader.records):
        if count > MAX_RECORDS:
            raise _Damaged(f"it holds more than {MAX_RECORDS:,} records")
        if isinstance(record, Chunk | Channel | Message):
            parts.append(record)
        if isinstance(record, Chunk):
            chunks.append(record)
            _check_sizes(chunks)
        elif isinstance(record, Metadata) and record.name == "toolhand":
            notes = record.metadata
        elif isinstance(record, Statistics):
            expected = record.message_count
        elif isinstance(record, Footer):
            footer = record
    if footer is not None and not notes and (footer.summary_start == 0 or expected is None):
        return parts, -1, notes, False
    if footer is None or footer.summary_start == 0 or expected is None:
        raise _Damaged("messages are missing")
    end = len(data) - len(MAGIC)
    # The checksum of the index is the footer's last field, of all from its begin up to itself; 0 is none.
    (checksum,) = struct.unpack("<I", data[end - 4 : end])
    if checksum and checksum != zlib.crc32(data[footer.summary_start : end - 4]):
        raise _Damaged("the checksum of its index is wrong")
    if sum(map(len, notes.values())) > MAX_TEXT_BYTES:
        raise _Damaged("its notes are too long")
    whole = not any(isinstance(part, Message) for part in parts)
    checked = whole and checksum != 0 and all(c.uncompressed_crc or not c.uncompressed_size for c in chunks)
    return parts, expected, notes, checked


def _check_sizes(chunks: list[Chunk]) -> None:
    if chunks[-1].uncompressed_size > MAX_CHUNK_BYTES:
        raise _Damaged(f"a chunk is too long: one may hold {MAX_CHUNK_BYTES // 2**20} MiB")
    if sum(chunk.uncompressed_size for chunk in chunks) > MAX_UNPACKED_BYTES:
        raise _Damaged(f"it is too long: its chunks may hold {MAX_UNPACKED_BYTES // 2**20} MiB together")


def _messages(parts: list[_Part]) -> Iterator[tuple[str, Message]]:
    """(topic, message) of every message in the file's order, in chunks or not; one chunk is unpacked at a time."""
    from mcap.data_stream import ReadDataStream
    from mcap.opcode import Opcode
    from mcap.records import Channel, Message

    topics: dict[int, str] = {}
    count = 0
    for part in parts:
        if isinstance(part, Channel):
            topics[part.id] = part.topic
            continue
        if isinstance(part, Message):
            yield topics[part.channel_id], part
            continue
        for opcode, body in records(memoryview(_unpacked(part))):
            count += 1
            if count > MAX_RECORDS:
                raise _Damaged(f"it holds more than {MAX_RECORDS:,} records")
            if opcode == Opcode.CHANNEL:
                channel = Channel.read(ReadDataStream(io.BytesIO(body)))
                topics[channel.id] = channel.topic
            elif opcode == Opcode.MESSAGE:
                message = Message.read(ReadDataStream(io.BytesIO(body)), len(body))
                yield topics[message.channel_id], message


def _unpacked(chunk: Chunk) -> bytes:
    """What a chunk holds: mcap's own reader would unpack it to its end, whatever it says, and fill the memory."""
    size = chunk.uncompressed_size
    if chunk.compression not in COMPRESSIONS:
        raise _Damaged("a chunk is packed in a way that rosbag2 does not know")
    data = unpacked(chunk.compression, chunk.data, size + 1)
    if len(data) > size:
        raise _Damaged("a chunk is longer than it says")
    if len(data) < size or (chunk.uncompressed_crc and zlib.crc32(data) != chunk.uncompressed_crc):
        raise _Damaged("a chunk was changed")
    return data
