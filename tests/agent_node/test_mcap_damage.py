"""A recording from anywhere: whatever was cut, changed or made up in it ends in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agent_node import mcap_recording as recording
from agent_node.calls import ToolCall
from agent_node.mcap import bag, reading
from agent_node.mcap import ros_messages as ros
from agent_node.mcap.bag import Entry, write_bag
from agent_node.mcap.reading import read_run
from agent_node.mcap_recording import Recorder
from tool_nodes.results import ErrorCode, ToolError, ToolResult
from tool_nodes.toolbox import CallRecord


def write(folder: Path, change: Callable[[list[Entry]], Sequence[Entry]] | None = None, **note: str) -> Path:
    """A small run with a picture, its messages changed before they are written."""
    recorder = Recorder("look", lambda: 1.0)
    recorder.listen("thought", "I look.")
    recorder.listen("call", ToolCall("look", {}))
    picture = np.full((8, 8, 3), 200, np.uint8)
    recorder.listen("result", CallRecord("look", {}, ToolResult(text="Seen.", image=picture), 0, 0.0, 0.1))
    recorder.listen("answer", "Seen.")
    path = recorder.write(folder, None, {"task": "look", "success": True})
    if change is not None or note:
        entries = entries_of(path)
        write_bag(path, list(change(entries) if change else entries), {"toolhand": {"calls_wall_s": "[0.1]"} | note})
    return path


def entries_of(path: Path) -> list[Entry]:
    from mcap.reader import make_reader

    with path.open("rb") as stream:
        return [
            Entry(message.log_time, channel.topic, schema.name, message.data, message.sequence)
            for schema, channel, message in make_reader(stream).iter_messages(log_time_order=False)
            if schema is not None
        ]


def damage_of(path: Path) -> str:
    """The sentence that reading ends in."""
    with pytest.raises(ToolError) as caught:
        read_run(path)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert "\n" not in caught.value.message
    assert str(path) in caught.value.message
    return caught.value.message


def string(document: Any) -> bytes:
    return ros.packet(ros.STRING, data=document if isinstance(document, str) else json.dumps(document))


def test_an_unchanged_file_is_read(tmp_path: Path) -> None:
    assert [step.kind for step in read_run(write(tmp_path)).steps] == ["thought", "call", "result", "answer"]
    assert [step.kind for step in read_run(write(tmp_path, list)).steps] == ["thought", "call", "result", "answer"]


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path)
    good = path.read_bytes()
    for at in np.random.default_rng(0).choice(len(good), 150, replace=False):
        changed = bytearray(good)
        changed[at] ^= 0x21
        path.write_bytes(changed)
        assert "damaged" in (sentence := damage_of(path)) or "is no MCAP file" in sentence


@pytest.mark.parametrize("share", [0.0, 0.0005, 0.01, 0.3, 0.9, 0.999])
def test_a_file_that_was_cut_is_noticed(tmp_path: Path, share: float) -> None:
    path = write(tmp_path)
    good = path.read_bytes()
    path.write_bytes(good[: int(share * len(good))])
    assert "damaged: it is cut short" in (sentence := damage_of(path)) or "is no MCAP file" in sentence


def test_bytes_behind_the_end_are_noticed(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_bytes(path.read_bytes() + b"more")
    assert "damaged" in damage_of(path)


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"task": "x"}', b"\x00" * 1000])
def test_another_kind_of_file_is_called_so(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.mcap"
    path.write_bytes(content)
    assert damage_of(path) == f"{path} is no MCAP file."


def test_a_folder_and_nothing_are_no_recording(tmp_path: Path) -> None:
    assert "There is no recording" in damage_of(tmp_path)
    assert "There is no recording" in damage_of(tmp_path / "gone")


def test_a_longer_file_than_we_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path)
    monkeypatch.setattr(reading, "MAX_BYTES", 100)
    assert "is longer than" in damage_of(path)


def test_a_chunk_that_unpacks_to_more_than_we_write_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path)
    monkeypatch.setattr(reading, "MAX_CHUNK_BYTES", 100)
    assert "a chunk is too long" in damage_of(path)


def without(topic: str) -> Callable[[list[Entry]], list[Entry]]:
    return lambda entries: [entry for entry in entries if entry.topic != topic]


def with_data(topic: str, data: bytes) -> Callable[[list[Entry]], list[Entry]]:
    return lambda entries: [replace(entry, data=data) if entry.topic == topic else entry for entry in entries]


def with_sequence(topic: str, sequence: int) -> Callable[[list[Entry]], list[Entry]]:
    return lambda entries: [replace(entry, sequence=sequence) if entry.topic == topic else entry for entry in entries]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (without(recording.COMMAND), "steps of the run are missing"),
        (without(recording.CALL), "steps of the run are missing"),
        (without(f"{recording.PICTURES}/compressed"), "picture 0 is missing"),
        (lambda entries: [], "it does not begin with a command"),
        (with_sequence(recording.CALL, 1), "step 1 is there twice"),
        (with_sequence(recording.OUTCOME, 77), "steps of the run are missing"),
        (with_data(recording.COMMAND, string({"task": 3})), "its command has no sentence"),
        (with_data(recording.COMMAND, string([])), "a step is no JSON object"),
        (with_data(recording.CALL, string({"arguments": {}})), "a call has no name"),
        (
            with_data(recording.RESULT, string({"name": "x", "arguments": [], "text": "x"})),
            "a result has not its usual",
        ),
        (with_data(recording.RESULT, string({"name": "x", "arguments": {}, "text": 3})), "a result has not its usual"),
        (with_data(recording.CALL, string("{")), "something in it was changed"),
        (with_data(recording.CALL, b"\x00\x01\x00\x00\xff\xff\xff\x7f"), "something in it was changed"),
        (with_data(recording.CALL, string("[" * 100_000)), "something in it was changed"),
        (with_data(f"{recording.PICTURES}/compressed", string("x")), "something in it was changed"),
    ],
)
def test_a_well_formed_file_that_is_no_run_is_told(
    tmp_path: Path, change: Callable[[list[Entry]], Sequence[Entry]], sentence: str
) -> None:
    assert sentence in damage_of(write(tmp_path, change))


@pytest.mark.parametrize("walls", ["{}", "x", '["fast"]'])
def test_wall_times_that_are_none_are_told(tmp_path: Path, walls: str) -> None:
    assert "damaged" in damage_of(write(tmp_path, calls_wall_s=walls))


def test_an_end_in_the_middle_is_told(tmp_path: Path) -> None:
    def swap(entries: list[Entry]) -> list[Entry]:
        order = {recording.ANSWER: 5, recording.OUTCOME: 4}
        return [replace(entry, sequence=order.get(entry.topic, entry.sequence)) for entry in entries]

    assert "it goes on after its end" in damage_of(write(tmp_path, swap))


def test_a_bag_of_something_else_is_no_run(tmp_path: Path) -> None:
    path = tmp_path / "other.mcap"
    bag.write_bag(path, [Entry(1, "/chatter", ros.STRING, string("hello"))], {})
    assert "it does not begin with a command" in damage_of(path)


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_chunk_that_unpacks_to_more_than_it_says_is_not_unpacked(tmp_path: Path, compression: str) -> None:
    import lz4.frame
    import zstandard
    from mcap.data_stream import RecordBuilder
    from mcap.records import Chunk, Header

    zeros = bytes(50_000_000)
    packed = zstandard.compress(zeros) if compression == "zstd" else lz4.frame.compress(zeros, store_size=False)
    builder = RecordBuilder()
    Header(profile="ros2", library="x").write(builder)
    Chunk(compression, packed, 0, 0, 0, 100).write(builder)
    path = tmp_path / "run.mcap"
    path.write_bytes(reading._MAGIC + builder.end())
    assert "a chunk is longer than it says" in damage_of(path)
