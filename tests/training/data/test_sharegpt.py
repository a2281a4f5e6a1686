"""ShareGPT: what LLaMA-Factory's converter asks of a row, and the entry by which it finds the set."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.training.data.rollouts_at_hand import HOSTILE, rollout
from toolhand.tool_nodes.results import ToolError
from toolhand.training.data.formats.conversation import Layout
from toolhand.training.data.formats.sharegpt import BETWEEN_RESULTS, ShareGpt
from toolhand.training.data.formats.writing import write_set
from toolhand.training.rollouts.images import ImageStore
from toolhand.training.rollouts.record import MessageRecord, RolloutRecord


@pytest.fixture
def store(tmp_path: Path) -> ImageStore:
    return ImageStore(tmp_path / "rollouts")


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted((folder / "data").iterdir()) for line in file.read_text().splitlines()]


def without_last_answer(record: RolloutRecord) -> RolloutRecord:
    """As when the turns were spent: results are the last word."""
    return replace(record, messages=record.messages[:-1], turns=record.turns[:-1])


@pytest.mark.parametrize("layout", ["calls", "text"])
def test_turns_alternate_and_every_placeholder_has_its_image(layout: Layout, store: ImageStore, tmp_path: Path) -> None:
    records = [rollout(store, k, sentence=f"{HOSTILE} <video> {k}") for k in range(3)]
    records.append(without_last_answer(rollout(store, 3)))
    assert write_set(records, store, tmp_path / "out", ShareGpt(), layout).rows == 4
    for row in rows_of(tmp_path / "out"):
        speakers = [turn["from"] for turn in row["conversations"]]
        assert len(speakers) % 2 == 0
        assert set(speakers[::2]) <= {"human", "observation"}
        assert set(speakers[1::2]) <= {"gpt", "function_call"}
        said = [turn["value"] for turn in row["conversations"]]
        assert sum(value.count("<image>") for value in said) == len(row["images"]) == (2 if len(speakers) == 6 else 1)
        assert not any("<video>" in value for value in said)
        assert all((tmp_path / "out" / path).is_file() for path in row["images"])
        assert json.loads(row["about"])["task"]["kind"] == "pick"


def test_calls_results_and_tools_are_what_was_called_said_and_offered(store: ImageStore, tmp_path: Path) -> None:
    write_set([rollout(store)], store, tmp_path / "out", ShareGpt())
    (row,) = rows_of(tmp_path / "out")
    human, _, _, pointing, observed, answer = (turn["value"] for turn in row["conversations"])
    thought, _, calls = pointing.partition("</think>\n\n")
    assert (human, thought, answer) == ("pick up the red box", "<think>\nI point.\n", "Done.\nIt is held.")
    assert [call["arguments"]["obj_name"] for call in json.loads(calls)] == ["box", HOSTILE]
    assert observed.split(BETWEEN_RESULTS)[0] == "At (0.31, 0.52). <image 1><image>"
    assert [tool["name"] for tool in json.loads(row["tools"])] == ["robot__capture_image", "roborefer__detect_one"]


def test_llama_factory_finds_the_set_by_its_entry(store: ImageStore, tmp_path: Path) -> None:
    write_set([rollout(store)], store, tmp_path / "out", ShareGpt())
    entry = json.loads((tmp_path / "out" / "dataset_info.json").read_text())["toolhand"]
    (row,) = rows_of(tmp_path / "out")
    assert (tmp_path / "out" / entry["file_name"]).is_dir()
    assert entry["formatting"] == "sharegpt"
    assert set(entry["columns"].values()) <= set(row)
    assert {turn["from"] for turn in row["conversations"]} <= set(entry["tags"].values())


def test_what_sharegpt_cannot_say_is_left_out_with_the_reason(store: ImageStore, tmp_path: Path) -> None:
    whole, cut, silent = (rollout(store, k) for k in range(3))
    cut = replace(cut, messages=tuple(replace(message, sampled=False) for message in cut.messages))
    silent = replace(silent, messages=silent.messages[:2], turns=())
    twice = rollout(store, 3)
    twice = replace(
        twice, messages=(*twice.messages, MessageRecord("assistant", "<answer>Again.</answer>", sampled=True))
    )
    heard: list[str] = []
    write_set([whole, cut, silent, twice], store, tmp_path / "out", ShareGpt(), on_skip=heard.append)
    assert [row["id"] for row in rows_of(tmp_path / "out")] == [whole.id]
    assert [sentence.split(": ", 1)[1] for sentence in heard] == [
        "It has a turn that is not to be learned, which ShareGPT cannot say.",
        "It has no assistant's turn.",
        "Its turns do not alternate: turn 6 is gpt.",
    ]
    with pytest.raises(ToolError, match="not to be learned"):
        write_set([cut], store, tmp_path / "again", ShareGpt())
