"""Rollouts of a teacher as rows: each command in several wordings, all else as it was."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from agent_node.policies.tiny.dialect import parse_move
from agent_node.policies.tiny.weights import TinyConfig, fresh_weights
from tests.training.data.rollouts_at_hand import rollout
from training.rollouts.collection import read_rollouts, write_shard
from training.rollouts.pictures import PictureStore
from training.rollouts.plan import RolloutPlan
from training.rollouts.replies import RolloutOrder, RolloutReply
from training.rollouts.work import make_work
from training.tasks.kinds import task_document
from training.tasks.sayings import command_of
from training.teacher.vocabulary import taught_vocabulary
from training.trainer.reading import in_other_words, sequences_of_folder


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher's rollouts of three kinds of task."""
    folder = tmp_path_factory.mktemp("taught")
    for group, kind in enumerate(("pick", "relational_pick", "pick_and_place")):
        plan = RolloutPlan((task_document(kind, 5),), seed=group, policy="careful:varied", turns=24, backend="mock")
        reply = make_work(plan, folder)(RolloutOrder(0, 0))
        assert isinstance(reply, RolloutReply)
        write_shard(folder, group, [reply.line])
    return folder


def test_the_command_alone_is_said_otherwise_and_means_the_same(taught: Path) -> None:
    said = Counter[str]()
    for record in read_rollouts(taught):
        for draw in range(8):
            other = in_other_words(record, np.random.default_rng(draw))
            changed = [
                (old, new) for old, new in zip(record.messages, other.messages, strict=True) if old.words != new.words
            ]
            assert len(changed) <= 1
            for old, new in changed:
                assert new.text == new.words
                said[new.words] += 1
                meant = command_of(old.words)
                assert meant is not None
                assert meant.target in new.words.lower()
            assert other.turns == record.turns
    assert len(said) > 12


def test_a_sentence_that_the_grammar_does_not_know_stays(tmp_path: Path) -> None:
    record = rollout(PictureStore(tmp_path), sentence="tidy up, would you")
    assert in_other_words(record, np.random.default_rng(0)) == record


def test_each_wording_is_a_row_with_the_same_moves(taught: Path) -> None:
    weights = fresh_weights(0, TinyConfig(width=32, layers=1, heads=2, hidden=32), taught_vocabulary())
    once, _ = sequences_of_folder(taught, weights)
    rows, bad = sequences_of_folder(taught, weights, wordings=3)
    again, _ = sequences_of_folder(taught, weights, wordings=3)
    assert not bad
    assert len(rows) == 3 * len(once) == 9
    assert [row.tokens.tolist() for row in rows] == [row.tokens.tolist() for row in again]
    for k, first in enumerate(once):
        assert rows[3 * k].tokens.tolist() == first.tokens.tolist()
        plans = {
            str(parse_move(weights.vocabulary.decode(row.tokens[row.spans[0][0] : row.spans[0][1] - 1])))
            for row in rows[3 * k : 3 * k + 3]
        }
        assert len(plans) == 1
