"""A pointer that learns from hits and misses: what it is told, the same seed, a kill, and what stops it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.training.pointer.conftest import COUNTS
from tool_nodes.perception.learned.reading import read_phrase
from tool_nodes.perception.learned.weights import PointerWeights
from tool_nodes.results import ErrorCode, ToolError
from training.pointer import hits
from training.pointer.batch import Batch, PhraseBook, WordList
from training.pointer.data import PictureSet, make_pictures
from training.pointer.hits import (
    HitJudge,
    HitTrainer,
    HitTraining,
    group_advantages,
    improve_by_hits,
    learned_from_labels,
)


@pytest.fixture(scope="module")
def shown(pictures: Path) -> PictureSet:
    """Two scenes."""
    return make_pictures(pictures, "train", 0, COUNTS["train"]).some([0, 1])


@pytest.fixture(scope="module")
def start(shown: PictureSet) -> PointerWeights:
    """Weights that hit now and then."""
    words = WordList.of(read_phrase(phrase.text) for phrases in shown.phrases for phrase in phrases)
    return learned_from_labels(shown, words, 0, 12)[0]


def batch_of(shown: PictureSet, weights: PointerWeights) -> Batch:
    """Phrases about the two scenes."""
    return PhraseBook(shown, WordList(weights.words, weights.heads)).batch([0, 1], np.random.default_rng(0))


def test_the_judge_says_hit_on_what_is_meant_and_nowhere_else(shown: PictureSet, start: PointerWeights) -> None:
    batch = batch_of(shown, start)
    every = np.broadcast_to(np.arange(1200), (*batch.things.valid.shape, 1200))
    every = np.concatenate([every, every[:, : batch.places.valid.shape[1]]], axis=1)
    told = HitJudge(batch).hits(every)
    for scene in range(2):
        for k, meant in enumerate(batch.things.meant[scene]):
            on = np.isin(batch.cells[scene], np.flatnonzero(meant[:-1] == 1))
            assert np.array_equal(told[scene, k], on)


def test_advantages_are_the_reward_against_its_group_in_units_of_its_spread() -> None:
    given = group_advantages(np.array([[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]], np.float32))
    assert given[0] == pytest.approx([3**0.5, *[-(3**-0.5)] * 3], abs=1e-4)
    assert not given[1:].any()


def test_hits_make_hits_more_likely(shown: PictureSet, start: PointerWeights) -> None:
    trainer = HitTrainer(start, HitTraining(steps=30))
    batch = batch_of(shown, start)
    rates = []
    for _ in range(30):
        right, n = trainer.step(batch)[1]["hits"]
        rates.append(right / n)
    assert np.mean(rates[-5:]) > np.mean(rates[:5]) + 0.15


def test_a_run_that_was_killed_goes_on_to_the_same_weights(
    shown: PictureSet, start: PointerWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hits, "_EVERY", 2)
    training = HitTraining(seed=3, steps=4, rated=1)
    whole = improve_by_hits(start, shown, training)
    step = HitTrainer.step

    def dies(self: HitTrainer, batch: Batch) -> tuple[float, dict[str, tuple[int, int]]]:
        if self.step_number == 3:
            raise KeyboardInterrupt
        return step(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(HitTrainer, "step", dies)
        with pytest.raises(KeyboardInterrupt):
            improve_by_hits(start, shown, training, tmp_path)
    again = improve_by_hits(start, shown, training, tmp_path)
    assert [row["step"] for row in again.log] == [2, 4]
    for name, tensor in whole.weights.tensors.items():
        assert np.array_equal(tensor, again.weights.tensors[name]), name
    assert whole.weights.calibration == again.weights.calibration
    with pytest.raises(ToolError, match="another run"):
        improve_by_hits(start, shown, replace(training, seed=4), tmp_path)


def test_a_loss_that_is_no_number_stops_it(shown: PictureSet, start: PointerWeights) -> None:
    batch = batch_of(shown, start)
    trainer = HitTrainer(start, HitTraining(steps=2))
    broken = {name: np.full_like(tensor, np.nan) for name, tensor in start.tensors.items()}
    with pytest.raises(ToolError, match="not a number") as raised:
        HitTrainer(replace(start, tensors=broken), HitTraining(steps=2)).step(batch)
    assert raised.value.code is ErrorCode.INTERNAL
    assert trainer.step_number == 0


def test_groups_that_are_all_alike_stop_it(
    shown: PictureSet, start: PointerWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HitJudge, "hits", lambda self, chosen: np.zeros(chosen.shape, bool))
    monkeypatch.setattr(hits, "ALIKE_STEPS", 3)
    with pytest.raises(ToolError, match="hits and misses both") as raised:
        improve_by_hits(start, shown, HitTraining(steps=5, rated=0))
    assert raised.value.code is ErrorCode.INTERNAL


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"samples": 1}, {"seed": -1}, {"threads": 0}, {"without_depth": 1.5}])
def test_a_run_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ToolError):
        HitTraining(**wrong)  # type: ignore[arg-type]
