"""Chat JSONL and Parquet: what is read is what was written, and nothing is half-written."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.training.data.rollouts_at_hand import HOSTILE, SCHEMAS, make_image, rollout
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.data.formats.chat import ChatJsonl, ChatParquet, read_chat
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


@WRITERS
@pytest.mark.parametrize("layout", ["calls", "text"])
def test_what_is_read_is_what_was_written(write: Writer, layout: Layout, store: ImageStore, tmp_path: Path) -> None:
    records = [rollout(store, k, sentence=f"pick {HOSTILE} {k}") for k in range(5)]
    written = write(records, store, tmp_path / "out", layout, shard_rows=2)
    assert (written.rows, written.shards, written.images) == (5, 3, 10)
    rows = list(read_chat(tmp_path / "out"))
    assert [row.example for row in rows] == [example_of(record, layout) for record in records]
    for number, row in enumerate(rows):
        assert row.images == tuple(store.path(name).read_bytes() for name in row.example.images)
        with Image.open(tmp_path / "rollouts" / store.path(row.example.images[1]).relative_to(store.folder)) as shown:
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
    assert [row.example.id for row in read_chat(tmp_path / "out")] == [record.id for record in records[:4]]
    with pytest.raises(ToolError, match="holds an unfinished data set, and nothing is replaced"):
        write(records, store, tmp_path / "out")


@pytest.mark.parametrize("files", [("meta/info.json", "data/chunk-000/file-000.parquet"), ("data/rows.csv",)])
def test_a_data_set_of_another_kind_is_not_called_unfinished(tmp_path: Path, files: tuple[str, ...]) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    with pytest.raises(ToolError, match="holds something already, and nothing is replaced"):
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
    with pytest.raises(ToolError, match=r"Cannot write .*: No space left on device") as caught:
        write([rollout(store, k) for k in range(9)], store, tmp_path / "out", shard_rows=1)
    assert caught.value.code is ErrorCode.UNAVAILABLE
    assert not list((tmp_path / "out").rglob("*.part"))
    assert [row.example.id for row in read_chat(tmp_path / "out")][:1] == ["00000-000"]


@WRITERS
def test_a_folder_that_holds_something_is_refused(write: Writer, store: ImageStore, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    for folder in (tmp_path, tmp_path / "thesis.txt"):
        with pytest.raises(ToolError, match="holds something already, and nothing is replaced"):
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
    assert [row.example.id for row in read_chat(tmp_path / "out")] == ["00000-000", "00000-002"]
    with pytest.raises(ToolError, match="is missing"):
        write(records, store, tmp_path / "again")


@WRITERS
def test_a_shard_that_was_cut_off_is_told_by_its_name(write: Writer, store: ImageStore, tmp_path: Path) -> None:
    write([rollout(store, k) for k in range(4)], store, tmp_path / "out", shard_rows=2)
    first = sorted((tmp_path / "out" / "data").iterdir())[0]
    first.write_bytes(first.read_bytes()[:-40])
    with pytest.raises(ToolError, match=rf"The shard {first} is not what was written"):
        list(read_chat(tmp_path / "out"))
    heard: list[str] = []
    assert [row.example.id for row in read_chat(tmp_path / "out", heard.append)] == ["00000-002", "00000-003"]
    assert len(heard) == 1
    (tmp_path / "out" / "manifest.json").unlink()
    with pytest.raises(ToolError, match=first.name):
        list(read_chat(tmp_path / "out"))


def test_an_image_that_is_no_longer_what_it_was_is_told(store: ImageStore, tmp_path: Path) -> None:
    record = rollout(store)
    first, second = (store.path(name) for name in example_of(record).images)
    first.write_bytes(second.read_bytes())
    with pytest.raises(ToolError, match="is not what it was"):
        write_chat_jsonl([record], store, tmp_path / "out")
    write_chat_jsonl([rollout(store, 1)], store, tmp_path / "files")
    one, other = (tmp_path / "files" / "images").iterdir()
    one.write_bytes(other.read_bytes())
    with pytest.raises(ToolError, match=r"row 1, is no chat: The picture .* is not what it was"):
        list(read_chat(tmp_path / "files"))


@pytest.mark.parametrize(
    ("break_it", "told"),
    [
        (lambda row: row["messages"][0].update(role="root"), "there is no role 'root'"),
        (lambda row: row.pop("tools"), "it has no 'tools'"),
        (lambda row: row["images"].pop(), "fewer images than parts"),
        (lambda row: row["images"].append(row["images"][0]), "more images than parts"),
        (lambda row: row["images"].__setitem__(0, "images/../../etc/passwd"), "is no picture of the data set"),
        (lambda row: row["messages"][1]["content"].append({"type": "video"}), "a part of a message is text or image"),
    ],
)
def test_a_bad_row_is_told_with_its_file_and_row(
    break_it: Callable[[dict[str, Any]], None], told: str, store: ImageStore, tmp_path: Path
) -> None:
    write_chat_jsonl([rollout(store, k) for k in range(2)], store, tmp_path / "out")
    (tmp_path / "out" / "manifest.json").unlink()
    (shard,) = (tmp_path / "out" / "data").iterdir()
    first, second = shard.read_text().splitlines()
    row = json.loads(second)
    break_it(row)
    shard.write_text(f"{first}\n{json.dumps(row)}\n")
    with pytest.raises(ToolError, match=rf"{shard.name}, row 2, is no chat: .*{told}"):
        list(read_chat(tmp_path / "out"))
    heard: list[str] = []
    assert len(list(read_chat(tmp_path / "out", heard.append))) == len(heard) == 1


def test_a_folder_without_a_data_set_and_a_broken_manifest_are_told(store: ImageStore, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="is no data set"):
        list(read_chat(tmp_path))
    write_chat_jsonl([rollout(store)], store, tmp_path / "out")
    (tmp_path / "out" / "manifest.json").write_text('{"shards": [{"file": "../../secret", "sha256": ""}]}')
    with pytest.raises(ToolError, match="is no manifest of a data set"):
        list(read_chat(tmp_path / "out"))


def test_without_pyarrow_only_parquet_is_unavailable(
    store: ImageStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ToolError, match="Parquet needs pyarrow") as caught:
        write_chat_parquet([rollout(store)], store, tmp_path / "out")
    assert caught.value.code is ErrorCode.UNAVAILABLE
    assert "[data]" in str(caught.value)
    assert not (tmp_path / "out").exists()
    assert write_chat_jsonl([rollout(store)], store, tmp_path / "out").rows == 1
