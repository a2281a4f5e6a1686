"""Whatever lies where a file is expected: one sentence, no wait, no memory, and nothing of what is outside a folder."""

import json
import resource
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.redteam.outside_files import HARMLESS, HOSTILE, READERS, REFUSED, a_rollout
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.training.rollouts.collection import read_rollouts
from toolhand.training.rollouts.images import ImageStore

PATIENCE_S = 120
"""A reader that has not answered by then waits for ever [s]; each takes milliseconds."""
MOST_MEMORY = 512 << 20
"""So much more than before the tests may take together [bytes]."""


@pytest.fixture(autouse=True)
def nothing_waits() -> Iterator[None]:
    def late(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it waits for ever")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("reader", READERS)
def test_a_hostile_file_is_refused_in_one_sentence(reader: str, kind: str, tmp_path: Path) -> None:
    place, read = READERS[reader]
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    HOSTILE[kind](path)
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        read(path)
    except (ToolError, *REFUSED) as error:
        refusal: Exception = error
    else:
        assert kind in HARMLESS[reader]
        return
    said = str(refusal)
    assert not isinstance(refusal, ToolError) or refusal.code is ErrorCode.INVALID_ARGUMENT
    assert 0 < len(said) < 600
    assert "\n" not in said
    assert "Errno" not in said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - taken < MOST_MEMORY >> 10


def _read_all(folder: Path, text: str) -> None:
    (record,) = read_rollouts(folder)
    store = ImageStore(folder)
    store.get(next(message.image for message in record.messages if message.image))
    store.get_text(text)


@pytest.mark.parametrize("place", ["shards/00000.jsonl", "shards", "texts", "pictures"])
def test_a_link_does_not_lead_out_of_a_folder_of_rollouts(place: str, tmp_path: Path) -> None:
    folder, outside = tmp_path / "rollouts", tmp_path / "outside"
    a_rollout(folder)
    text = ImageStore(folder).add_text("long")
    _read_all(folder, text)
    (folder / place).rename(outside)
    (folder / place).symlink_to(outside)
    with pytest.raises(ToolError, match="it lies outside") as caught:
        _read_all(folder, text)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("number", "told"),
    [
        ("1e999", "1e999 is no finite number"),
        ("-1e999", "is no finite number"),
        ("NaN", "is no finite number"),
        ("Infinity", "is no finite number"),
        (f"1{'0' * 400}", "total must be a finite number"),
        (f"-1{'0' * 400}", "total must be a finite number"),
        ("1" * 5000, "more than 4300 digits"),
        ("1e308", "total must be a reward of at most 1e+09"),
        ("-2e9", "total must be a reward of at most"),
        ("true", "total must be a finite number, not True"),
        ('"1"', "total must be a finite number"),
        ("null", "total must be a finite number"),
        ("[1]", "total must be a finite number"),
    ],
)
@pytest.mark.parametrize("key", ["total", "term"])
def test_a_reward_is_a_number_that_one_can_calculate_with(key: str, number: str, told: str, tmp_path: Path) -> None:
    a_rollout(tmp_path)
    shard = tmp_path / "shards" / "00000.jsonl"
    document = json.loads(shard.read_text())
    if key == "total":
        document["total"] = "HERE"
    else:
        document["terms"] = {"a": "HERE"}
        told = told.replace("total must", "terms.a must")
    shard.write_text(json.dumps(document).replace('"HERE"', number) + "\n")
    with pytest.raises(ToolError) as caught:
        list(read_rollouts(tmp_path))
    assert told in caught.value.message
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert len(caught.value.message) < 400


@pytest.mark.parametrize("path", [("seed",), ("group",), ("turns", 0, "span", 0), ("turns", 0, "prompt_tokens")])
@pytest.mark.parametrize("number", [f"1{'0' * 400}", "9223372036854775808", "1.5", "true", '"1"', "1e2"])
def test_a_whole_number_is_one_of_64_bits(path: tuple[str | int, ...], number: str, tmp_path: Path) -> None:
    a_rollout(tmp_path)
    shard = tmp_path / "shards" / "00000.jsonl"
    document = json.loads(shard.read_text())
    inner: Any = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = "HERE"
    shard.write_text(json.dumps(document).replace('"HERE"', number) + "\n")
    with pytest.raises(ToolError, match=r"must be a whole number|it is no line of JSON") as caught:
        list(read_rollouts(tmp_path))
    assert len(caught.value.message) < 400
