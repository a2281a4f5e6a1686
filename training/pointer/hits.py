"""A pointer trained on hits and misses alone: reinforcement learning of a single tool, as stage 1 of DIRL.

The learner sees pictures and phrases and points at sampled cells; a judge, who knows the truth, says of each only
whether it was a hit. GRPO (Shao et al. 2024, Eq. 3) with one step a batch, so that the ratio of probabilities is 1 and
nothing is clipped, and without a KL term: the cells of one phrase are a group, A = (r - mean r) / (std r + 1e-6), and
the loss is the mean of -A log p(cell) over all groups.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agent_node.console.terminal import say
from tool_nodes.perception.learned.weights import PointerWeights
from tool_nodes.results import ErrorCode, ToolError, invalid
from training.pointer.batch import Batch, PhraseBook, WordList
from training.pointer.data import PictureSet
from training.pointer.evaluation import calibrated
from training.pointer.network import PointerNetwork, PointerTrainer, Rows, exported
from training.trainer.log import written_to

BATCH = 16
"""Scenes of a step."""
ALIKE_STEPS = 20
"""Steps in a row without a phrase that has both hits and misses after which the run stops [-]: nothing is learned."""
CHECKPOINT = "hits.pt"
"""File of a run that is not over, in its folder."""
_ASKED: Mapping[str, int] = {"plain": 9, "several": 4}
"""Phrases of each kind about each scene of a step that name things: what is there is asked for, so that there is
something to hit. As many as with labels."""
_EVERY = 50
"""Steps between rows of the log, and between checkpoints."""


@dataclass(frozen=True)
class HitTraining:
    """What decides the improved weights, beside the first weights and the pictures.

    Attributes:
        seed: Seed of scenes, phrases and sampled cells.
        steps: Training steps, of BATCH scenes each.
        samples: Cells that are tried for each phrase.
        threads: Processor threads: another number gives other last digits.
        rated: Scenes by whose hits and misses the certainties are calibrated in the end; 0 leaves them as they were.
        without_depth: Share of the pictures that are shown without depth, see `training.pointer.batch.WITHOUT_DEPTH`.
    """

    seed: int = 0
    steps: int = 300
    samples: int = 8
    threads: int = 1
    rated: int = 16
    without_depth: float = 0.0

    def __post_init__(self) -> None:
        for name, low in {"seed": 0, "steps": 1, "samples": 2, "threads": 1, "rated": 0}.items():
            if getattr(self, name) < low:
                raise invalid(f"{name} must be {low} or more, got {getattr(self, name)}.")
        if not 0.0 <= self.without_depth <= 1.0:
            raise invalid(f"without_depth must be in 0..1, got {self.without_depth}.")


class HitJudge:
    """Knows where the things of a batch are, and tells of a cell only whether it hits.

    Args:
        batch: With the truth.
    """

    def __init__(self, batch: Batch) -> None:
        self._cells = batch.cells.astype(np.int64)
        self._meant = np.concatenate([batch.things.meant, batch.places.meant], axis=1)

    def hits(self, chosen: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(B, Q, samples) of chosen cells of the same shape: the middle of the cell is on what phrase Q means."""
        at = np.take_along_axis(self._cells[:, None], chosen, axis=2)
        return np.asarray(np.take_along_axis(self._meant, at, axis=2) == 1)


class HitTrainer(PointerTrainer):
    """Trains further from trained weights on hits and misses.

    Args:
        start: Trained weights.
        training: See there.

    Raises:
        ToolError: INVALID_ARGUMENT for weights of a network of another size.
    """

    def __init__(self, start: PointerWeights, training: HitTraining) -> None:
        super().__init__(len(start.words), len(start.heads), training.steps, training.seed, training.threads, start)
        self._training = training
        self._alike = 0

    def loss(self, batch: Batch) -> tuple[Tensor, dict[str, tuple[int, int]]]:
        """The loss of the module's GRPO, and (hits, samples).

        Raises:
            ToolError: INTERNAL where groups have been all hits or all misses for ALIKE_STEPS.
        """
        log_p = log_probabilities(self.network, batch)
        if not torch.isfinite(log_p).all():
            return log_p.sum(), {}  # no chances to draw from: the step says so
        valid = np.concatenate([batch.things.valid, batch.places.valid], axis=1)
        chance = torch.Generator().manual_seed(1_000_003 * self._training.seed + self.step_number)
        p = log_p.detach().exp().flatten(0, 1)
        chosen = torch.multinomial(p, self._training.samples, replacement=True, generator=chance)
        chosen = chosen.view(*log_p.shape[:2], -1)
        rewards = HitJudge(batch).hits(chosen.numpy()) & valid[..., None]
        advantages = group_advantages(rewards.astype(np.float32))
        self._alike = 0 if advantages.any() else self._alike + 1
        if self._alike >= ALIKE_STEPS:
            raise ToolError(
                ErrorCode.INTERNAL,
                f"No phrase of the last {ALIKE_STEPS} steps had hits and misses both, so nothing can be learned: "
                f"stopped at step {self.step_number + 1}.",
                "Begin with weights that hit now and then, and not always.",
            )
        gained = (torch.from_numpy(advantages) * log_p.gather(2, chosen)).mean(2).sum()
        return -gained / max(int(valid.sum()), 1), {"hits": (int(rewards.sum()), int(valid.sum()) * rewards.shape[2])}


def log_probabilities(network: PointerNetwork, batch: Batch) -> Tensor:
    """(B, Q, cells) log probability of pointing at a cell, of phrases that name things, then of those with a place."""
    features = network.encode(torch.from_numpy(batch.pictures))
    things = Rows.of(batch.things)
    named = torch.log_softmax(network.what(features, things.words, things.heads), -1)
    if not batch.places.valid.any():
        return torch.cat([named, torch.zeros(*batch.places.valid.shape, named.shape[2])], 1)
    return torch.cat([named, network.where(features, torch.from_numpy(batch.place), Rows.of(batch.places))], 1)


def group_advantages(rewards: NDArray[np.float32]) -> NDArray[np.float32]:
    """(r - mean) / (std + 1e-6) over the last axis; 0 where all of a group are alike."""
    away = rewards - rewards.mean(axis=-1, keepdims=True)
    return np.asarray(away / (rewards.std(axis=-1, keepdims=True) + np.float32(1e-6)), np.float32)


@dataclass(frozen=True)
class Improved:
    """What came of it.

    Attributes:
        weights: The improved pointer.
        log: A row every 50 steps: "step", "loss", "hit_rate" of the samples, "cpu_s" since the begin.
    """

    weights: PointerWeights
    log: tuple[Mapping[str, Any], ...]

    @property
    def cpu_s(self) -> float:
        """Processor time of all steps [s]."""
        return float(self.log[-1]["cpu_s"]) if self.log else 0.0


def improve_by_hits(
    weights: PointerWeights,
    pictures: PictureSet,
    training: HitTraining,
    folder: Path | None = None,
    minutes: float | None = None,
) -> Improved:
    """Improve a pointer on pictures where hits and misses are the only feedback.

    Args:
        weights: A trained pointer; phrases with words that it does not know are left out.
        pictures: Scenes, with phrases and the truth that the judge reads.
        training: Settings that decide the outcome.
        folder: For a checkpoint, from which the same call goes on after a kill; none is kept where None.
        minutes: Stop the steps after so much processor time [min].

    Raises:
        ToolError: INTERNAL where the loss is not a number or groups are all alike; INVALID_ARGUMENT for weights of
            another size, or a folder that holds another run or cannot be written.
    """
    trainer = HitTrainer(weights, training)
    book = PhraseBook(pictures, WordList(weights.words, weights.heads))
    path = None if folder is None else folder / CHECKPOINT
    settings = asdict(training) | {"by": "hits", "scenes": len(pictures), "minutes": minutes}
    log: list[dict[str, Any]] = []
    if path is not None and path.exists():
        log = _resumed(trainer, path, settings)
    before, began = (log[-1]["cpu_s"] if log else 0.0), time.process_time()
    losses, tally = [], np.zeros(2, int)

    def spent() -> float:
        return before + time.process_time() - began

    while trainer.step_number < training.steps and (minutes is None or spent() < 60.0 * minutes):
        rng = np.random.default_rng([training.seed, 11, trainer.step_number])
        scenes = rng.choice(len(book), min(BATCH, len(book)), replace=False)
        loss, metrics = trainer.step(book.batch(scenes.tolist(), rng, _ASKED, training.without_depth))
        losses.append(loss)
        tally += metrics.get("hits", (0, 0))
        if trainer.step_number % _EVERY == 0 or trainer.step_number == training.steps:
            row: dict[str, Any] = {"step": trainer.step_number, "loss": round(float(np.mean(losses)), 4)}
            row |= {"hit_rate": round(float(tally[0] / tally[1]), 4)} if tally[1] else {}
            log.append(row | {"cpu_s": round(spent(), 1)})
            say(", ".join(f"{name} {value}" for name, value in log[-1].items()))
            losses, tally = [], np.zeros(2, int)
            if path is not None:
                with written_to(path.parent):
                    trainer.save(path, {"training": settings, "log": log})
    better = PointerWeights(exported(trainer.network), weights.words, weights.heads, weights.calibration, weights.about)
    if training.rated:
        better = calibrated(better, pictures.some(range(min(training.rated, len(pictures)))))
    return Improved(better, tuple(log))


def _resumed(trainer: PointerTrainer, path: Path, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    before = trainer.load(path)
    if before.get("training") != settings:
        raise invalid(f"{path} is of another run: {before.get('training')}.", "Choose another folder, or delete it.")
    say(f"Going on after step {trainer.step_number}.")
    return list(before["log"])


def learned_from_labels(
    pictures: PictureSet, vocabulary: WordList, seed: int, steps: int, threads: int = 1, without_depth: float = 0.0
) -> tuple[PointerWeights, float]:
    """A start for `improve_by_hits`: weights trained on the labels of a few scenes, and the processor time [s].

    Args:
        pictures: With labels.
        vocabulary: Vocabulary of all phrases to come: the words of a phrase are no label.
        seed: Seed of first weights, scenes and phrases.
        steps: Training steps, of BATCH scenes each.
        threads: Processor threads.
        without_depth: Depth is hidden, see HitTraining.
    """
    began = time.process_time()
    book = PhraseBook(pictures, vocabulary)
    trainer = PointerTrainer(len(vocabulary.words), len(vocabulary.heads), steps, seed, threads)
    for step in range(steps):
        rng = np.random.default_rng([seed, 12, step])
        scenes = rng.choice(len(book), min(BATCH, len(book)), replace=False).tolist()
        trainer.step(book.batch(scenes, rng, without_depth=without_depth))
    weights = PointerWeights(exported(trainer.network), vocabulary.words, vocabulary.heads)
    return weights, time.process_time() - began
