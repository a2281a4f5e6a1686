"""SFT of the tiny policy: the tokens that a teacher wrote, as the likeliest ones.

    weights = supervise(fresh_weights(0), sequences, SupervisedSettings(), Path("runs/sft"), seed=0)

The same weights, rows, settings and seed give the same numbers, also through a kill: the folder's checkpoint of each
epoch is gone on from. What is written is listed in `training.trainer.log`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agent_node.policies.tiny.visual_encoder import VISUAL_WIDTH
from agent_node.policies.tiny.weights import TinyWeights, write_weights
from tool_nodes.results import invalid
from training.trainer.checkpoint import identity_of, resumed, save
from training.trainer.log import POLICY, RunReport, write_report, written_to
from training.trainer.progress import Progress
from training.trainer.sequences import TokenSequence, batches, trainable
from training.trainer.settings import SupervisedSettings

if TYPE_CHECKING:
    from training.trainer.learner import Learner

_SENTENCES = 6000
"""Sentences that practice draws from, each time with other names [-]: a dozen of each wording for a place."""
_PANELS = {"loss [nat a token]": ("loss", "held_out_loss"), "share of likeliest tokens": ("accuracy", "held_out")}


def supervise(
    weights: TinyWeights, sequences: Sequence[TokenSequence], settings: SupervisedSettings, folder: Path, seed: int
) -> TinyWeights:
    """Train on token sequences; goes on where a killed run of the same training was.

    Args:
        weights: Where it begins.
        sequences: Conversations with a teacher's tokens; those that cannot be trained on are left out and counted.
        settings: Settings that decide the steps.
        folder: For checkpoint, log, weights, curves and report.
        seed: Seed of the order, and of the choice of held-out sequences.

    Returns:
        The weights after the last epoch, which are in the folder as well.

    Raises:
        ToolError: UNAVAILABLE without torch; INTERNAL for a loss that is no number; INVALID_ARGUMENT where none can be
            trained on, half of them or more cannot, a token counts less than 0 times, the folder holds another
            training or a damaged checkpoint, or it cannot be written.
    """
    from training.trainer.learner import Learner
    from training.trainer.practice import Renaming, sentence_sequences

    usable, bad = trainable(sequences, len(weights.vocabulary), VISUAL_WIDTH, weights.config.positions)
    if 2 * sum(bad.values()) >= len(sequences):
        raise invalid(
            f"{sum(bad.values())} of {len(sequences)} rows cannot be trained on, most of them since "
            f"{bad.most_common(1)[0][0]}."
        )
    if any(sequence.advantages.min() < 0 for sequence in usable):
        raise invalid("A token of SFT must count 0 times or more: less than that, its loss would fall for ever.")
    order = np.random.default_rng([seed, 61]).permutation(len(usable)).tolist()
    apart = int(settings.held_out * len(usable))
    held_out, shown = [usable[k] for k in order[:apart]], [usable[k] for k in order[apart:]]
    sentences = sentence_sequences(weights, min(settings.sentences, _SENTENCES), np.random.default_rng([seed, 63]))
    learner = Learner(weights, settings)
    identity = identity_of(settings, seed, weights, usable)
    log = resumed(learner, folder, identity)
    progress = Progress("SFT epoch", settings.epochs)
    progress.values += [row["accuracy"] for row in log.rows]
    try:
        for epoch in range(len(log.rows), settings.epochs):
            renaming = Renaming(weights.vocabulary, np.random.default_rng([seed, 64, epoch]))
            practice = [
                *renaming.sentences(sentences, settings.sentences),
                *renaming.conversations(shown, settings.conversations),
            ]
            rng = np.random.default_rng([seed, 62, epoch])
            row = _epoch(learner, [*shown, *practice], held_out, settings, rng, epoch, progress)
            save(learner, log, identity, row)
            line = f"loss {row['loss']:.3f}, tokens {row['accuracy']:.1%}"
            progress.over(epoch + 1, row["accuracy"], line)
    finally:
        log.close()
    trained = replace(learner.weights, about=f"SFT on {len(shown)} rows, {settings.epochs} epochs, seed {seed}")
    with written_to(folder):
        write_weights(trained, folder / POLICY)
    notes = [f"{count} left out: {why}" for why, count in bad.items()]
    about = {
        "seed": seed,
        "rows": len(shown),
        "held out": len(held_out),
        "parameters": learner.parameters,
        "seconds a step": round(float(np.mean([row["step_s"] for row in log.rows])), 3),
    }
    write_report(log, RunReport("SFT of the small policy", about, asdict(settings), "epoch", _PANELS, notes))
    return trained


def _epoch(
    learner: Learner,
    sequences: Sequence[TokenSequence],
    held_out: Sequence[TokenSequence],
    settings: SupervisedSettings,
    rng: np.random.Generator,
    epoch: int,
    progress: Progress,
) -> dict[str, Any]:
    """Every sequence once; a line of the log."""
    some = list(batches(sequences, settings.batch, rng))
    began, metrics = time.monotonic(), []
    for number, batch in enumerate(some):
        rate = schedule(epoch * len(some) + number, settings.epochs * len(some), settings.warmup_ratio)
        metrics.append(learner.supervise(batch, rate, learner.dropout(settings.dropout, rng)))
        line = f"loss {metrics[-1]['loss']:.3f}"
        progress.during(epoch + 1, (number + 1) / len(some), line)
    spent = time.monotonic() - began
    weights = np.array([step["tokens"] for step in metrics])

    def mean(name: str) -> float:
        return round(float(np.average([step[name] for step in metrics], weights=weights)), 6)

    row: dict[str, Any] = {"epoch": epoch + 1, "loss": mean("loss"), "accuracy": mean("accuracy")}
    if held_out:
        checked = learner.measure(held_out)
        row |= {"held_out_loss": round(checked["loss"], 6), "held_out": round(checked["accuracy"], 6)}
    return row | {"steps": len(some), "step_s": round(spent / len(some), 4)}


def schedule(step: int, steps: int, warmup_ratio: float) -> float:
    """Share of the highest learning rate in a step of `steps`: it rises, then falls to 0 as a cosine."""
    rising = warmup_ratio * steps
    if step < rising:
        return (step + 1) / (rising + 1)
    return 0.5 * (1.0 + float(np.cos(np.pi * (step - rising) / max(steps - rising, 1.0))))
