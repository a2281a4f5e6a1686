"""Rows: what is sampled, what it is worth, and what cannot be trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from agent_node.policies.tiny.context import TinyContext
from tool_nodes.results import ErrorCode, ToolError
from training.trainer.sequences import (
    TokenBatch,
    TokenSequence,
    batches,
    even_batches,
    problem_of,
    read_sequences,
    trainable,
    write_sequences,
)

WIDTH = 3


def row(length: int = 6, first: int = 2) -> TokenSequence:
    sampled = np.zeros(length, bool)
    sampled[first : first + 2] = sampled[-1:] = True
    context = TinyContext(np.arange(length, dtype=np.int32), np.ones((length, WIDTH), np.float32), sampled)
    return TokenSequence.of(context, [-0.5] * int(sampled.sum()))


def test_advantages_go_to_all_that_was_sampled_or_to_each_turn() -> None:
    assert row().advantages.tolist() == [0, 0, 1, 1, 0, 1]
    assert row().with_advantages(-2.0).advantages.tolist() == [0, 0, -2, -2, 0, -2]
    assert row().with_advantages([1.0, 3.0]).advantages.tolist() == [0, 0, 1, 1, 0, 3]
    assert row().logprobs.tolist() == [0, 0, -0.5, -0.5, 0, -0.5]
    with pytest.raises(ToolError, match="3 turns need as many spans"):
        row().with_advantages([1.0, 2.0, 3.0])
    with pytest.raises(ToolError, match="3 tokens were sampled, and 1 have"):
        TokenSequence.of(TinyContext(row().tokens, row().visual_features, row().sampled), [-1.0])


def test_what_comes_after_the_last_sampled_token_is_no_part_of_a_row() -> None:
    sampled = np.zeros(9, bool)
    whole = TinyContext(np.arange(9, dtype=np.int32), np.ones((9, WIDTH), np.float32), sampled)
    assert len(TokenSequence.of(whole)) == 9
    sampled[[2, 5]] = True
    cut = TokenSequence.of(whole, [-1.0, -2.0])
    assert cut.tokens.tolist() == [0, 1, 2, 3, 4, 5]
    assert cut.logprobs.tolist() == [0, 0, -1, 0, 0, -2]
    assert not problem_of(cut, 9, WIDTH, 6), "the answer to the last turn was more than can be read"


def changed(**parts: np.ndarray) -> TokenSequence:
    return replace(row(), **parts)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (changed(tokens=np.arange(7, dtype=np.int32)), "parts of other lengths"),
        (changed(visual_features=np.ones((6, 4), np.float32)), "visual features of another width than 3"),
        (changed(tokens=np.full(6, 9, np.int32)), "not in the vocabulary of 8"),
        (changed(tokens=np.full(6, -1, np.int32)), "not in the vocabulary of 8"),
        (changed(visual_features=np.full((6, WIDTH), np.nan, np.float32)), "not numbers"),
        (changed(advantages=np.full(6, np.inf, np.float32)), "not numbers"),
        (changed(sampled=np.zeros(6, bool)), "no token that the policy wrote"),
        (changed(sampled=np.ones(6, bool)), "no token that the policy wrote after another"),
        (changed(logprobs=np.full(6, 0.1, np.float32)), "probabilities above 1"),
        (row(12), "not of 2 to 10 tokens"),
    ],
)
def test_a_row_that_cannot_be_trained_on_is_left_out_and_counted(bad: TokenSequence, problem: str) -> None:
    assert problem in problem_of(bad, 8, WIDTH, 10)
    good = row()
    usable, counted = trainable([bad, good, bad], 8, WIDTH, 10)
    assert usable == [good]
    assert counted.total() == 2
    with pytest.raises(ToolError, match="No row can be trained on") as caught:
        trainable([bad], 8, WIDTH, 10)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT


def test_no_rows_are_refused() -> None:
    with pytest.raises(ToolError, match="there is none"):
        trainable([], 8, WIDTH, 10)


def test_a_batch_is_filled_up_with_what_is_not_sampled() -> None:
    batch = TokenBatch.of([row(4, 1), row(6)])
    assert batch.tokens.shape == (2, 6)
    assert batch.visual_features.shape == (2, 6, WIDTH)
    assert not batch.sampled[0, 4:].any()
    assert batch.logprobs[0].tolist() == [0, -0.5, -0.5, -0.5, 0, 0]


def test_batches_have_every_row_once_and_rows_of_like_lengths() -> None:
    rows = [row(4 + k % 6, 1) for k in range(37)]
    seen = list(batches(rows, 5, np.random.default_rng(0)))
    assert sorted(id(one) for batch in seen for one in batch) == sorted(map(id, rows))
    assert max(map(len, seen)) == 5
    spread = [max(map(len, batch)) - min(map(len, batch)) for batch in seen]
    assert np.mean(spread) < 2
    again = list(batches(rows, 5, np.random.default_rng(0)))
    assert [[id(one) for one in batch] for batch in seen] == [[id(one) for one in batch] for batch in again]


@pytest.mark.parametrize(
    ("rows", "most", "sizes"), [(37, 36, [19, 18]), (72, 64, [36, 36]), (5, 9, [5]), (7, 3, [3, 2, 2])]
)
def test_even_batches_have_every_row_once_and_as_many_rows_each(rows: int, most: int, sizes: list[int]) -> None:
    own = [row(4 + k % 6, 1) for k in range(rows)]
    seen = list(even_batches(own, most, np.random.default_rng(0)))
    assert [len(batch) for batch in seen] == sizes
    assert sorted(id(one) for batch in seen for one in batch) == sorted(map(id, own))
    again = list(even_batches(own, most, np.random.default_rng(0)))
    assert [[id(one) for one in batch] for batch in seen] == [[id(one) for one in batch] for batch in again]


def test_rows_come_back_from_their_file_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.npz"
    write_sequences(path, [row(4, 1), row(6)])
    for ours, theirs in zip(read_sequences(path), [row(4, 1), row(6)], strict=True):
        for name in ("tokens", "visual_features", "sampled", "advantages", "logprobs"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
            assert getattr(ours, name).dtype == getattr(theirs, name).dtype
    with np.load(path) as stored:
        assert set(stored) == {"lengths", "tokens", "eyes", "sampled", "advantages", "logprobs"}, "as files of before"
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ToolError, match="no file of rows, or damaged"):
        read_sequences(path)
    with pytest.raises(ToolError, match="No such file"):
        read_sequences(tmp_path / "none.npz")
