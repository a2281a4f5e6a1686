"""A recording from anywhere: whatever was cut, changed or made up in it ends in one sentence."""

import io
import json
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import lz4.frame
import numpy as np
import pytest
import zstandard
from PIL import Image

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.events import CommandEnded, Thought, ToolAnswered, ToolCalled
from toolhand.agent_node.runs.mcap import bag, reading
from toolhand.agent_node.runs.mcap import recorder as recording
from toolhand.agent_node.runs.mcap import ros_messages as ros
from toolhand.agent_node.runs.mcap.bag import Entry, write_bag
from toolhand.agent_node.runs.mcap.reading import read_run
from toolhand.agent_node.runs.mcap.recorder import Recorder
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import CallRecord


def write(folder: Path, change: Callable[[list[Entry]], Sequence[Entry]] | None = None, **note: str) -> Path:
    """A small run with an image, its messages changed before they are written."""
    recorder = Recorder("look", lambda: 1.0)
    recorder.hear(Thought("I look."))
    recorder.hear(ToolCalled(ToolCall("look", {})))
    image = np.full((8, 8, 3), 200, np.uint8)
    recorder.hear(ToolAnswered(CallRecord("look", {}, ToolResult(text="Seen.", image=image), 0, 0.0, 0.1)))
    recorder.hear(CommandEnded("Seen."))
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
    for path in (write(tmp_path), write(tmp_path, list)):
        assert [type(step.event) for step in read_run(path).steps] == [Thought, ToolCalled, ToolAnswered, CommandEnded]


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path)
    good = path.read_bytes()
    for at in np.random.default_rng(0).choice(len(good), 150, replace=False):
        changed = bytearray(good)
        changed[at] ^= 0x21
        path.write_bytes(changed)
        assert "damaged" in (sentence := damage_of(path)) or "is no MCAP file" in sentence


def copied(path: Path, target: Path, notes: bool = True, **options: Any) -> Path:
    """What a tool of others makes of a recording."""
    from mcap.reader import make_reader
    from mcap.writer import Writer

    with path.open("rb") as stream, target.open("wb") as out:
        reader, writer = make_reader(stream), Writer(out, **options)
        writer.start()
        for schema, channel, message in reader.iter_messages(log_time_order=False):
            assert schema is not None
            known = writer.register_schema(schema.name, schema.encoding, schema.data)
            topic = channel.topic if notes else f"/other{channel.topic}"
            there = writer.register_channel(topic, channel.message_encoding, known, dict(channel.metadata))
            writer.add_message(there, message.log_time, message.data, message.publish_time, message.sequence)
        for record in reader.iter_metadata() if notes else ():
            writer.add_metadata(record.name, record.metadata)
        writer.finish()
    return target


def test_a_copy_with_checksums_is_read_and_one_without_is_not_called_damaged(tmp_path: Path) -> None:
    path = write(tmp_path)
    assert len(read_run(copied(path, tmp_path / "with.mcap")).steps) == 4
    for off in ({"enable_crcs": False}, {"enable_crcs": False, "use_chunking": True, "chunk_size": 100}):
        sentence = damage_of(copied(path, tmp_path / "without.mcap", **off))
        assert "was written without checksums" in sentence
        assert "damaged" not in sentence


@pytest.mark.parametrize(
    "options",
    [{}, {"enable_crcs": False}, {"use_statistics": False}, {"use_chunking": False}, {"use_summary_offsets": False}],
)
def test_a_bag_of_something_else_is_not_called_damaged(tmp_path: Path, options: dict[str, bool]) -> None:
    sentence = damage_of(copied(write(tmp_path), tmp_path / "other.mcap", notes=False, **options))
    assert "is a recording of something else" in sentence
    assert "damaged" not in sentence


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
        (without(ToolCalled.topic), "steps of the run are missing"),
        (without(f"{recording.IMAGES}/compressed"), "picture 0 is missing"),
        (lambda entries: [], "it does not begin with a command"),
        (with_sequence(ToolCalled.topic, 1), "step 1 is there twice"),
        (with_sequence(recording.OUTCOME, 77), "steps of the run are missing"),
        (with_data(recording.COMMAND, string({"task": 3, "format": "2"})), "its command has no sentence"),
        (with_data(recording.COMMAND, string([])), "a step is no JSON object"),
        (with_data(ToolCalled.topic, string({"arguments": {}})), "in a call, name is missing"),
        (
            with_data(ToolAnswered.topic, string({"name": "x", "arguments": [], "text": "x"})),
            "in a result, arguments must be a mapping",
        ),
        (
            with_data(ToolAnswered.topic, string({"name": "x", "arguments": {}, "text": 3})),
            "in a result, text must be a text",
        ),
        (with_data(ToolCalled.topic, string("{")), "something in it was changed"),
        (with_data(ToolCalled.topic, b"\x00\x01\x00\x00\xff\xff\xff\x7f"), "something in it was changed"),
        (with_data(ToolCalled.topic, string("[" * 100_000)), "something in it was changed"),
        (with_data(f"{recording.IMAGES}/compressed", string("x")), "something in it was changed"),
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
        order = {CommandEnded.topic: 5, recording.OUTCOME: 4}
        return [replace(entry, sequence=order.get(entry.topic, entry.sequence)) for entry in entries]

    assert "it goes on after its end" in damage_of(write(tmp_path, swap))


def test_a_bag_of_something_else_is_no_run(tmp_path: Path) -> None:
    path = tmp_path / "other.mcap"
    bag.write_bag(path, [Entry(1, "/chatter", ros.STRING, string("hello"))], {})
    assert "is a recording of something else: it holds no command" in damage_of(path)


def whole(path: Path, *records: Any, messages: int = 0) -> Path:
    """A well-formed file of these records: its index and its checksums are right."""
    from mcap.data_stream import RecordBuilder
    from mcap.records import DataEnd, Footer, Header, Statistics

    builder = RecordBuilder()
    for record in (Header(profile="ros2", library="x"), *records, DataEnd(0)):
        record.write(builder)
    data = reading.MAGIC + builder.end()
    Statistics(0, 0, {}, 1, messages, 0, 0, 0, 0).write(builder)
    Footer(len(data), 0, 0).write(builder)
    index = builder.end()[:-4]
    path.write_bytes(data + index + struct.pack("<I", zlib.crc32(index)) + reading.MAGIC)
    return path


def chunk(data: bytes, compression: str = "zstd", size: int | None = None) -> Any:
    from mcap.records import Chunk

    if compression:
        packed = zstandard.compress(data) if compression == "zstd" else lz4.frame.compress(data, store_size=False)
    return Chunk(compression, packed if compression else data, 0, 0, 0, len(data) if size is None else size)


@pytest.mark.parametrize("compression", ["zstd", "lz4", ""])
@pytest.mark.parametrize(("says", "sentence"), [(100, "a chunk is longer than it says"), (6_000_000, "was changed")])
def test_a_chunk_that_does_not_unpack_to_what_it_says_is_refused(
    tmp_path: Path, compression: str, says: int, sentence: str
) -> None:
    path = whole(tmp_path / "run.mcap", chunk(bytes(5_000_000), compression, says))
    assert sentence in damage_of(path)


def test_many_chunks_that_unpack_to_much_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_unpacked", lambda chunk: pytest.fail("one was unpacked"))
    large = chunk(b"", size=reading.MAX_CHUNK_BYTES)
    path = whole(tmp_path / "run.mcap", *[large] * (reading.MAX_UNPACKED_BYTES // reading.MAX_CHUNK_BYTES + 1))
    assert path.stat().st_size < 2000
    assert "its chunks may hold 256 MiB together" in damage_of(path)


def test_a_chunk_of_records_without_end_is_refused(tmp_path: Path) -> None:
    path = whole(tmp_path / "run.mcap", chunk((b"\x7f" + bytes(8)) * 600_000))
    assert path.stat().st_size < 10_000
    assert "more than 500,000 records" in damage_of(path)


def test_a_record_that_is_longer_than_its_chunk_is_refused(tmp_path: Path) -> None:
    record = struct.pack("<BQ", 5, 2**60)
    assert "damaged" in damage_of(whole(tmp_path / "run.mcap", chunk(record), messages=1))


def test_steps_of_more_text_than_a_run_has_are_refused(tmp_path: Path) -> None:
    long = string({"name": "look", "arguments": {}, "text": "[" * reading.MAX_TEXT_BYTES})
    assert "more than 16 MiB of text" in damage_of(write(tmp_path, with_data(ToolAnswered.topic, long)))


# -- images ----------------------------------------------------------------------------------------


def with_image(data: bytes) -> Callable[[list[Entry]], list[Entry]]:
    packet = ros.packet(ros.COMPRESSED_IMAGE, data=np.frombuffer(data, np.uint8))
    return with_data(f"{recording.IMAGES}/compressed", packet)


def file_of(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


GREY = Image.new("RGB", (8, 8), (99, 99, 99))


@pytest.mark.parametrize("kind", ["EPS", "TIFF", "GIF", "BMP", "PPM", "TGA", "WEBP", "PDF"])
def test_an_image_of_another_format_is_handed_to_nobody(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subprocess.Popen", lambda *a, **k: pytest.fail("a program was started"))
    assert "it is no PNG or JPEG picture" in damage_of(write(tmp_path, with_image(file_of(GREY, kind))))


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (file_of(Image.new("1", (12_000, 12_000)), "PNG"), "it is 12000x12000, and a side may have 8192 px"),
        (file_of(Image.new("L", (20_000, 1)), "JPEG"), "it is 20000x1"),
        (b"\x89PNG\r\n\x1a\n", "it is no PNG or JPEG picture"),
        (b"", "it is no PNG or JPEG picture"),
    ],
)
def test_an_image_that_is_too_large_or_none_is_refused(tmp_path: Path, data: bytes, sentence: str) -> None:
    assert sentence in damage_of(write(tmp_path, with_image(data)))


def test_images_are_decoded_only_when_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, with_image(file_of(GREY, "PNG")))
    with monkeypatch.context() as patched:
        patched.setattr(Image.Image, "convert", lambda *a: pytest.fail("decoded"))
        read = read_run(path)
    assert np.array_equal(read.image(0), np.asarray(GREY))
    with pytest.raises(ToolError, match="holds no picture 1"):
        read.image(1)


def test_an_image_that_was_cut_is_told_when_it_is_asked_for(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    data = file_of(Image.fromarray(noise), "PNG")
    read = read_run(write(tmp_path, with_image(data[: len(data) // 2])))
    with pytest.raises(ToolError, match="Picture 0 of the recording cannot be shown: it is damaged"):
        read.image(0)
