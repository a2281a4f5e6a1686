"""Chat JSONL and Parquet: what is read is what was written, and nothing is half-written."""

import errno
import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.refusals import refused
from tests.training.data.rollouts_at_hand import HOSTILE, SCHEMAS, make_image, rollout
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.data.arrow import parquet
from toolhand.training.data.formats.chat import ChatJsonl, ChatParquet
from toolhand.training.data.formats.conversation import ImagePart, Layout, example_of
from toolhand.training.data.formats.shards import require_empty
from toolhand.training.data.formats.writing import WrittenSet, write_set
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import MessageRecord

Writer = Callable[..., WrittenSet]


def write_chat_jsonl(records: Any, store: Any, folder: Path, *more: Any, **options: Any) -> WrittenSet:
    return write_set(records, store, folder, ChatJsonl(), *more, **options)


def write_chat_parquet(records: Any, store: Any, folder: Path, *more: Any, **options: Any) -> WrittenSet:
    return write_set(records, store, folder, ChatParquet(), *more, **options)


WRITERS = pytest.mark.parametrize("write", [write_chat_jsonl, write_chat_parquet])


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "rollouts")


def _told(row: Mapping[str, Any]) -> dict[str, Any]:
    """What of a row of Parquet has a meaning."""
    return {key: value for key, value in row.items() if value is not None and value != []}


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """The rows of a data set, in both forms alike: nothing is JSON text, keys without a meaning are absent."""
    rows: list[dict[str, Any]] = []
    for file in sorted((folder / "data").iterdir()):
        if file.suffix == ".jsonl":
            lines = [json.loads(line) for line in file.read_text().splitlines()]
            rows += [line | {"images": [(folder / path).read_bytes() for path in line["images"]]} for line in lines]
            continue
        for row in parquet().read_table(file).to_pylist():
            messages = [_told(message) for message in row["messages"]]
            for message in messages:
                message["content"] = [_told(part) for part in message["content"]]
                message["tool_calls"] = [json.loads(call) for call in message.get("tool_calls", ())]
            changed = {"tools": [json.loads(tool) for tool in row["tools"]], "about": json.loads(row["about"])}
            rows.append(row | changed | {"messages": messages, "images": [image["bytes"] for image in row["images"]]})
    return rows


def ids_in(folder: Path) -> list[str]:
    return [row["id"] for row in rows_in(folder)]


@WRITERS
@pytest.mark.parametrize("layout", ["calls", "text"])
def test_what_is_read_is_what_was_written(write: Writer, layout: Layout, store: ImageStore, tmp_path: Path) -> None:
    records = [rollout(store, k, sentence=f"pick {HOSTILE} {k}") for k in range(5)]
    written = write(records, store, tmp_path / "out", layout, shard_rows=2)
    assert (written.rows, written.shards, written.images) == (5, 3, 10)
    for number, (row, record) in enumerate(zip(rows_in(tmp_path / "out"), records, strict=True)):
        example = example_of(record, layout)
        assert (row["id"], row["tools"], row["about"]) == (example.id, list(example.tools), dict(example.about))
        for message, entry in zip(row["messages"], example.entries, strict=True):
            assert (message["role"], message["sampled"]) == (entry.role, entry.sampled)
            assert [part.get("text") for part in message["content"]] == [
                None if isinstance(part, ImagePart) else part for part in entry.parts
            ]
            assert (message.get("tool_call_id", ""), message.get("name", "")) == (entry.call_id, entry.name)
            assert message.get("tool_calls", []) == [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": dict(call.arguments)}}
                for call in entry.calls
            ]
        assert row["images"] == [store.path(name).read_bytes() for name in example.images]
        with Image.open(io.BytesIO(row["images"][1])) as shown:
            assert np.array_equal(np.asarray(shown), make_image(2 * number + 1))


@pytest.mark.parametrize("layout", ["calls", "text"])
def test_the_image_that_comes_with_a_question_is_there_before_its_words(layout: Layout, store: ImageStore) -> None:
    plain = rollout(store)
    name = store.add(make_image(99))
    asked = MessageRecord("user", "<image 0>\nWhich?", "Which?", 0, name)
    example = example_of(replace(plain, messages=(plain.messages[0], asked, *plain.messages[2:])), layout)
    marker, shown, words = example.entries[1].parts
    assert shown == ImagePart(name)
    assert (str(marker).strip(), str(words).strip()) == ("<image 0>", "Which?")


def test_calls_are_in_the_function_calling_form(store: ImageStore) -> None:
    example = example_of(rollout(store), "calls")
    assert [entry.role for entry in example.entries] == [
        "system",
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]
    pointing = example.entries[4]
    assert [call.name for call in pointing.calls] == ["roborefer__detect_one"] * 2
    assert pointing.calls[1].arguments == {"image_index": 0, "obj_name": HOSTILE}
    assert [entry.call_id for entry in example.entries[5:7]] == [call.id for call in pointing.calls]
    assert "capture_image" not in example.entries[0].words
    assert [tool["function"]["name"] for tool in example.tools] == ["robot__capture_image", "roborefer__detect_one"]
    assert SCHEMAS[0]["function"]["name"] == "robot.capture_image"


def test_text_is_what_the_policy_wrote_word_by_word(store: ImageStore) -> None:
    record = rollout(store)
    example = example_of(record, "text")
    said = [entry.words for entry in example.entries if entry.role == "assistant"]
    assert said == [turn.text.replace("<|", "< |") for turn in record.turns]
    assert [entry.role for entry in example.entries] == ["system", *["user", "assistant"] * 3]
    assert example.tools == ()
    assert "robot.capture_image" in example.entries[0].words


@pytest.mark.parametrize("layout", ["calls", "text"])
def test_a_turn_that_was_cut_is_not_to_be_learned(layout: Layout, store: ImageStore) -> None:
    record = rollout(store)
    messages = list(record.messages)
    messages[2] = replace(messages[2], sampled=False)
    spoken = [
        e.sampled
        for e in example_of(replace(record, messages=tuple(messages)), layout).entries
        if e.role == "assistant"
    ]
    assert spoken == [False, True, True]


def test_a_malformed_call_is_to_be_learned_only_where_it_stands_as_it_was_written(store: ImageStore) -> None:
    record = rollout(store)
    messages = list(record.messages)
    messages[2] = replace(messages[2], text="<think>hm</think><tool_call>{not json</tool_call>")
    changed = replace(record, messages=tuple(messages))
    learned = {layout: example_of(changed, layout).entries[2].sampled for layout in ("calls", "text")}
    assert learned == {"calls": False, "text": True}


# -- whole or not at all -----------------------------------------------------------------------------


@WRITERS
def test_a_killed_run_leaves_whole_shards_that_can_be_read(write: Writer, store: ImageStore, tmp_path: Path) -> None:
    records = [rollout(store, k) for k in range(5)]

    def killed_after_four() -> Any:
        yield from records[:4]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(killed_after_four(), store, tmp_path / "out", shard_rows=2)
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert ids_in(tmp_path / "out") == [record.id for record in records[:4]]
    with pytest.raises(ToolError, match="holds an unfinished data set, and nothing is replaced"):
        write(records, store, tmp_path / "out")


@pytest.mark.parametrize("files", [("meta/info.json", "data/chunk-000/file-000.parquet"), ("data/rows.csv",)])
def test_a_data_set_of_another_kind_is_not_called_unfinished(tmp_path: Path, files: tuple[str, ...]) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    with pytest.raises(ToolError, match=r"holds something already, such as \w+, and nothing is replaced"):
        require_empty(tmp_path)


@WRITERS
def test_a_full_disk_is_one_sentence_and_leaves_nothing_half_written(
    write: Writer, store: ImageStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = os.fsync
    calls = 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 14:
            raise OSError(errno.ENOSPC, "No space left on device")
        whole(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with refused(ErrorCode.UNAVAILABLE, r"Cannot write .*: No space left on device"):
        write([rollout(store, k) for k in range(9)], store, tmp_path / "out", shard_rows=1)
    assert not list((tmp_path / "out").rglob("*.part"))
    assert ids_in(tmp_path / "out")[:1] == ["00000-000"]


@WRITERS
def test_a_folder_that_holds_something_is_refused(write: Writer, store: ImageStore, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    for folder, such in ((tmp_path, ", such as rollouts"), (tmp_path / "thesis.txt", "")):
        with pytest.raises(ToolError, match=f"holds something already{such}, and nothing is replaced"):
            write([rollout(store)], store, folder)
    assert (tmp_path / "thesis.txt").read_text() == "mine"


# -- bad input ---------------------------------------------------------------------------------------


@WRITERS
def test_a_missing_image_is_told_with_the_rollout_and_the_others_are_written(
    write: Writer, store: ImageStore, tmp_path: Path
) -> None:
    records = [rollout(store, k) for k in range(3)]
    lost = example_of(records[1]).images[0]
    store.path(lost).unlink()
    heard: list[str] = []
    written = write(records, store, tmp_path / "out", on_skip=heard.append)
    assert (
        heard
        == written.skipped
        == [f"Rollout 00000-001 is left out: The picture {lost[:12]} is missing: No such file or directory."]
    )
    assert ids_in(tmp_path / "out") == ["00000-000", "00000-002"]
    with pytest.raises(ToolError, match="is missing"):
        write(records, store, tmp_path / "again")


def test_an_image_that_is_no_longer_what_it_was_is_told(store: ImageStore, tmp_path: Path) -> None:
    record = rollout(store)
    first, second = (store.path(name) for name in example_of(record).images)
    first.write_bytes(second.read_bytes())
    with pytest.raises(ToolError, match="is not what it was"):
        write_chat_jsonl([record], store, tmp_path / "out")


def test_without_pyarrow_only_parquet_is_unavailable(
    store: ImageStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with refused(ErrorCode.UNAVAILABLE, "Parquet needs pyarrow") as caught:
        write_chat_parquet([rollout(store)], store, tmp_path / "out")
    assert "[data]" in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert write_chat_jsonl([rollout(store)], store, tmp_path / "out").rows == 1
