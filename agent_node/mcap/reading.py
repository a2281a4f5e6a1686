"""Reads a run's `run.mcap` back, and says in one sentence what is wrong with a damaged one.

The file may come from anywhere: nothing in it is trusted, and nothing in it is run.
"""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from agent_node.calls import ToolCall
from agent_node.mcap import ros_messages as ros
from agent_node.mcap_recording import ANSWER, CALL, COMMAND, OUTCOME, PICTURES, RESULT, THOUGHT
from rclpy_zenoh.interfaces import deserialize, get_class
from tool_nodes.extras import pip_install
from tool_nodes.results import ErrorCode, ToolError, ToolResult
from tool_nodes.toolbox import CallRecord

MAX_BYTES = 2**30
"""Longest file that is read [bytes]."""
MAX_CHUNK_BYTES = 2**28
"""Longest chunk after decompression [bytes]; our own hold 0.75 MiB and one message more."""

_MAGIC = b"\x89MCAP0\r\n"


@dataclass(frozen=True)
class Step:
    """One event of a run, as a listener of the agent hears it.

    Attributes:
        time_s: On the run's clock [s].
        kind: "thought", "call", "result" or "answer".
        payload: As of agent_node.agent.Listener.
    """

    time_s: float
    kind: str
    payload: Any


@dataclass(frozen=True)
class RecordedRun:
    """What a file says about a run.

    Attributes:
        task: The operator's sentence.
        steps: In the order in which they happened.
        result: What `result.json` said when the file was written; None where the run was interrupted before.
        messages: Number of messages by topic.
    """

    task: str
    steps: tuple[Step, ...]
    result: Mapping[str, Any] | None
    messages: Mapping[str, int]


def read_run(path: Path) -> RecordedRun:
    """Read and check a file: its checksums, that it is whole, and that no step is missing.

    Raises:
        ToolError: INVALID_ARGUMENT, with what is wrong with it; UNAVAILABLE without the package mcap.
    """
    try:
        if not path.is_file():
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"There is no recording {path}.")
        if path.stat().st_size > MAX_BYTES:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, f"{path} is longer than {MAX_BYTES // 2**20} MiB.")
        data = path.read_bytes()
    except OSError as error:
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"Cannot read {path}: {error.strerror}.") from error
    if not data.startswith(_MAGIC):
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"{path} is no MCAP file.")
    try:
        return _run(data)
    except ToolError:
        raise
    except Exception as error:  # whatever a parser of foreign bytes may raise
        cause = str(error) if isinstance(error, _Damaged) else "it is cut short, or something in it was changed"
        raise ToolError(ErrorCode.INVALID_ARGUMENT, f"The recording {path} is damaged: {cause}.") from error


class _Damaged(ValueError):
    """What is wrong, as the end of a sentence."""


def _run(data: bytes) -> RecordedRun:
    messages, notes = _content(data)
    by_topic: dict[str, int] = {}
    told: dict[int, tuple[str, int, str]] = {}
    pictures: dict[int, Any] = {}
    for topic, message in messages:
        by_topic[topic] = by_topic.get(topic, 0) + 1
        if topic in _EVENTS:
            if message.sequence in told:
                raise _Damaged(f"step {message.sequence} is there twice")
            text = deserialize(message.data, get_class(ros.STRING)).data
            told[message.sequence] = topic, message.log_time, text
        elif topic.startswith(("/camera/", PICTURES)):
            pictures[message.sequence] = message.data, topic
    if sorted(told) != list(range(len(told))):
        raise _Damaged("steps of the run are missing")
    order = [told[index] for index in range(len(told))]
    topics = [topic for topic, _, _ in order]
    if not topics or topics[0] != COMMAND or COMMAND in topics[1:]:
        raise _Damaged("it does not begin with a command")
    if OUTCOME in topics[:-1]:
        raise _Damaged("it goes on after its end")
    walls = iter(_object_list(notes.get("calls_wall_s", "[]")))
    steps = []
    result: Mapping[str, Any] | None = None
    for topic, time_ns, text in order[1:]:
        if topic == OUTCOME:
            result = {**_mapping(text), **_mapping(notes.get("result", "{}"))}
        else:
            kind = topic.rpartition("/")[2]
            steps.append(Step(time_ns / 1e9, kind, _payload(kind, text, time_ns / 1e9, walls, pictures)))
    task = _mapping(order[0][2]).get("task")
    if not isinstance(task, str):
        raise _Damaged("its command has no sentence")
    return RecordedRun(task, tuple(steps), result, by_topic)


_EVENTS = frozenset((COMMAND, THOUGHT, CALL, RESULT, ANSWER, OUTCOME))


def _payload(kind: str, text: str, time_s: float, walls: Iterator[Any], pictures: Mapping[int, Any]) -> Any:
    if kind in ("thought", "answer"):
        return text
    document = _mapping(text)
    name, arguments = document.get("name"), document.get("arguments")
    if not isinstance(name, str):
        raise _Damaged(f"a {kind} has no name")
    if kind == "call":
        return ToolCall(name, arguments)
    if not isinstance(arguments, dict) or not isinstance(document.get("text"), str):
        raise _Damaged("a result has not its usual form")
    code = document.get("error_code")
    error = None
    if code is not None:
        error = ToolError(ErrorCode(code), str(document.get("error")), str(document.get("hint") or ""))
    index = document.get("image_index")
    picture = pictures.get(index) if isinstance(index, int) else None
    if isinstance(document.get("image_topic"), str) and picture is None:
        raise _Damaged(f"picture {index} is missing")
    image = None if picture is None else _picture(*picture)
    result = ToolResult(text=document["text"], image=image, error=error)
    wall = next(walls, 0.0)
    return CallRecord(name, arguments, result, index, time_s, float(wall), motion=document.get("motion") is True)


def _picture(data: bytes, topic: str) -> NDArray[np.uint8]:
    if topic.endswith("/compressed"):
        message = deserialize(data, get_class(ros.COMPRESSED_IMAGE))
        return np.asarray(Image.open(io.BytesIO(bytes(message.data))).convert("RGB"))
    message = deserialize(data, get_class(ros.IMAGE))
    return np.frombuffer(bytes(message.data), np.uint8).reshape(message.height, message.width, 3)


def _mapping(text: str) -> Mapping[str, Any]:
    document = json.loads(text)
    if not isinstance(document, dict):
        raise _Damaged("a step is no JSON object")
    return document


def _object_list(text: str) -> list[Any]:
    document = json.loads(text)
    if not isinstance(document, list):
        raise _Damaged("its wall times are no list")
    return document


def _content(data: bytes) -> tuple[list[tuple[str, Any]], Mapping[str, str]]:
    """(topic, message) of every message in the file's order, and our metadata record."""
    try:
        from mcap.records import Channel, Chunk, Footer, Message, Metadata, Statistics
        from mcap.stream_reader import StreamReader, breakup_chunk
    except ImportError as error:
        raise ToolError(
            ErrorCode.UNAVAILABLE, f"A recording cannot be read: {error}.", f"Install it with: {pip_install('mcap')}"
        ) from error
    reader = StreamReader(io.BytesIO(data), emit_chunks=True, validate_crcs=True, record_size_limit=len(data))
    topics: dict[int, str] = {}
    found: list[tuple[str, Any]] = []
    notes: Mapping[str, str] = {}
    expected: int | None = None
    footer: Footer | None = None
    for record in reader.records:
        if isinstance(record, Chunk):
            _check_size(record.compression, record.data, record.uncompressed_size)
            for inner in breakup_chunk(record, validate_crc=True):
                if isinstance(inner, Channel):
                    topics[inner.id] = inner.topic
                elif isinstance(inner, Message):
                    found.append((topics[inner.channel_id], inner))
        elif isinstance(record, Metadata) and record.name == "toolhand":
            notes = record.metadata
        elif isinstance(record, Statistics):
            expected = record.message_count
        elif isinstance(record, Footer):
            footer = record
    if footer is None or footer.summary_start == 0 or expected != len(found):
        raise _Damaged("messages are missing")
    end = len(data) - len(_MAGIC)
    # The checksum of the index is the footer's last field; it covers all from the index's begin up to itself.
    if struct.unpack("<I", data[end - 4 : end])[0] != zlib.crc32(data[footer.summary_start : end - 4]):
        raise _Damaged("the checksum of its index is wrong")
    return found, notes


def _check_size(compression: str, data: bytes, size: int) -> None:
    """Refuse a chunk that unpacks to more than it says: mcap would unpack it to the end, and fill the memory."""
    if size > MAX_CHUNK_BYTES:
        raise _Damaged("a chunk is too long")
    longer = False
    if compression == "zstd":
        import zstandard

        longer = zstandard.frame_content_size(data) not in (-1, size)
    elif compression == "lz4":
        from lz4.frame import LZ4FrameDecompressor

        longer = len(LZ4FrameDecompressor().decompress(data, max_length=size + 1)) > size
    if longer:
        raise _Damaged("a chunk is longer than it says")
