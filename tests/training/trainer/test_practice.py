"""Rows that practise copying: they hold what the teacher would write, and nothing but copying is learned from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from agent_node.policies.scripted.commands import parse_command
from agent_node.policies.tiny.dialect import parse_move
from agent_node.policies.tiny.quotation import SIDE_WORDS
from agent_node.policies.tiny.vocabulary import said_words
from agent_node.policies.tiny.weights import TinyWeights, fresh_weights
from training.tasks.sayings import CommandWords, say_widely
from training.tasks.splits import HELD_OUT
from training.teacher.careful import plan_of
from training.teacher.vocabulary import taught_vocabulary
from training.trainer import practice
from training.trainer.learner import Learner
from training.trainer.practice import Renaming, naming_words, sentence_sequences
from training.trainer.sequences import TokenSequence, trainable
from training.trainer.settings import SupervisedSettings


@pytest.fixture(scope="module")
def weights() -> TinyWeights:
    return fresh_weights(0, vocabulary=taught_vocabulary())


def drawn(weights: TinyWeights, count: int, seed: int = 0) -> list[TokenSequence]:
    return sentence_sequences(weights, count, np.random.default_rng(seed))


def words_of(row: TokenSequence, weights: TinyWeights) -> tuple[list[str], list[str]]:
    """What the operator said, and what the policy wrote."""
    said = weights.vocabulary.decode(row.tokens[~row.sampled])
    return list(said[1:-1]), list(weights.vocabulary.decode(row.tokens[row.sampled]))


def test_a_sentence_is_answered_by_its_plan(weights: TinyWeights, monkeypatch: pytest.MonkeyPatch) -> None:
    plain: dict[str, str] = {}

    def noted(rng: np.random.Generator, words: CommandWords) -> str:
        said = say_widely(rng, words)
        plain[" ".join(said_words(said))] = words.plain
        return said

    monkeypatch.setattr(practice, "say_widely", noted)
    rows = drawn(weights, 60)
    usable, bad = trainable(rows, len(weights.vocabulary), rows[0].visual_features.shape[1], weights.config.positions)
    assert len(usable) == 60
    assert not bad
    kinds = set()
    for row in rows:
        said, written = words_of(row, weights)
        move = parse_move(written[:-1])
        assert move is not None
        assert move.kind == "look"
        assert move.plan is not None
        if not any(word.startswith("[w") for word in said):
            assert move.plan == plan_of(parse_command(plain[" ".join(said)]))
        kinds.add(move.plan.relation)
    assert {"", "left_of", "between", "in"} <= kinds
    assert any(word.startswith("[w") for row in rows for word in words_of(row, weights)[1])


def test_words_that_carry_no_meaning_are_unknown_now_and_then(weights: TinyWeights) -> None:
    unknown, asked = 0, 0
    for row in drawn(weights, 200):
        said, written = words_of(row, weights)
        slots = {word for word in said if word.startswith("[w")}
        unknown += bool(slots - set(written))
        asked += bool(slots & set(written))
        move = parse_move(written[:-1])
        assert move is not None
        assert move.plan is not None
        sided = move.plan.target[0] in SIDE_WORDS
        assert " ".join(move.plan.target[sided:]) in " ".join(said), "a side alone may be said in other words"
    assert unknown > 30
    assert asked > 20


def test_sentences_come_from_the_seed_and_no_held_out_product_is_named_whole(weights: TinyWeights) -> None:
    rows, again, other = drawn(weights, 40), drawn(weights, 40), drawn(weights, 40, seed=1)
    assert all(np.array_equal(a.tokens, b.tokens) for a, b in zip(rows, again, strict=True))
    assert any(not np.array_equal(a.tokens, b.tokens) for a, b in zip(rows, other, strict=True))
    held_out = {name for names in HELD_OUT.values() for name in names if " " in name}
    said = [" ".join(words_of(row, weights)[0]) for row in drawn(weights, 200)]
    assert not [text for text in said for name in held_out if f"the {name}" in text]


def test_other_names_throughout_and_only_they_are_learned(weights: TinyWeights) -> None:
    rows = drawn(weights, 8)
    made = Renaming(weights.vocabulary, np.random.default_rng(3)).conversations(rows, 30)
    naming = set(naming_words(weights.vocabulary))
    changed = 0
    for row in made:
        said, written = words_of(row, weights)
        old = next(
            one for one in rows if len(one) == len(row) and np.array_equal(one.tokens < 60, row.tokens < 60)
        )  # its tokens that are no words
        changed += not np.array_equal(old.tokens, row.tokens)
        assert {word for word in written if word in naming} <= set(said)
        learned = weights.vocabulary.decode(row.tokens[row.advantages == 1])
        assert set(np.unique(row.advantages)) <= {0.0, 1.0}
        assert all(word in learned for word in written if word in naming)
        assert "PLAN" not in learned
    assert changed >= 20, "names that no vocabulary has stay as they are"


def test_tokens_that_do_not_count_teach_nothing(weights: TinyWeights) -> None:
    settings = SupervisedSettings(device="cpu")
    rows = drawn(weights, 4)
    muted = [replace(row, advantages=np.zeros(len(row), np.float32)) for row in drawn(weights, 4, seed=5)]
    losses = []
    for more in ([], muted):
        learner = Learner(weights, settings)
        losses.append(learner.supervise([*rows, *more])["loss"])
        losses.append(learner.supervise(rows)["loss"])
    assert losses[:2] == pytest.approx(losses[2:], abs=1e-4)
