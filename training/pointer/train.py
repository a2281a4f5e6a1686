"""The whole training of a pointer: pictures, epochs, calibration, the test on scenes apart, weights and model card."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agent_node.console.terminal import say
from sim.objects.products import PRODUCTS
from tool_nodes.files import write_whole
from tool_nodes.perception.learned.backend import LearnedPointer
from tool_nodes.perception.learned.reading import read_phrase
from tool_nodes.perception.learned.weights import PointerWeights, write_weights
from tool_nodes.port_names import DEFAULT_SENSOR, require_sensor
from tool_nodes.results import invalid
from training.pointer.batch import WITHOUT_DEPTH, PhraseBook, WordList
from training.pointer.card import curves, model_card
from training.pointer.data import make_pictures
from training.pointer.evaluation import by_product, calibrated, figures, point_at
from training.trainer.log import written_to
from training.trainer.plots import as_png

if TYPE_CHECKING:
    from training.pointer.network import PointerTrainer

BATCH = 16
"""Scenes of a step."""

WEIGHTS = "pointer.safetensors"
CARD = "pointer.md"
CURVES = "pointer.png"
LOG = "log.jsonl"
CHECKPOINT = "checkpoint.pt"
"""Files of a training, in its folder."""


@dataclass(frozen=True)
class PointerTraining:
    """What decides the weights.

    Attributes:
        seed: Seed of scenes, phrases, first weights and order.
        scenes: To train on.
        epochs: Times that each is seen.
        test_scenes: To test on, the same ones for every seed.
        validation_scenes: To calibrate certainties on.
        threads: Processor threads of torch: another number gives other last digits.
        without_products: Number of products that are in no scene of the training and in each of a test of their own.
        sensor: Sensor model of the pictures; `random` is another camera in each.
    """

    seed: int = 0
    scenes: int = 1200
    epochs: int = 16
    test_scenes: int = 200
    validation_scenes: int = 80
    threads: int = 1
    without_products: int = 0
    sensor: str = DEFAULT_SENSOR

    def __post_init__(self) -> None:
        require_sensor(self.sensor)
        least = {"seed": 0, "scenes": BATCH, "epochs": 1, "test_scenes": 1, "validation_scenes": 1, "threads": 1}
        for name, low in least.items():
            if getattr(self, name) < low:
                raise invalid(f"{name} must be {low} or more, got {getattr(self, name)}.")
        most = len(PRODUCTS) // 2
        if not 0 <= self.without_products <= most:
            raise invalid(f"without_products must be 0 to {most}.")

    @property
    def held_out_products(self) -> tuple[str, ...]:
        """Graspable products that the training never shows."""
        names = sorted(item.name for item in PRODUCTS.values() if item.graspable)
        order = np.random.default_rng([self.seed, 63]).permutation(len(names))
        return tuple(names[k] for k in order[: self.without_products])


def train_pointer(
    training: PointerTraining, folder: Path, processes: int = 2, minutes: float | None = None
) -> Mapping[str, Any]:
    """Train, test and write a pointer; goes on where a killed run of the same settings was.

    Args:
        training: Settings that decide the weights.
        folder: For the pictures, the checkpoint, the log and what comes of it.
        processes: That make pictures.
        minutes: Stop the epochs after so long; the weights are then those of that moment [min].

    Returns:
        The test's figures, see `evaluation.figures`, with "files" and "seconds".

    Raises:
        ToolError: UNAVAILABLE without torch; INVALID_ARGUMENT where the folder holds another training, or cannot be
            written; INTERNAL where the loss is not a number.
    """
    from training.pointer.network import PointerTrainer, exported

    began = time.monotonic()
    without = training.held_out_products
    data = folder / "pictures"
    shown = make_pictures(data, "train", training.seed, training.scenes, processes, without, (), training.sensor)
    kept = make_pictures(
        data, "validation", training.seed, training.validation_scenes, processes, without, (), training.sensor
    )
    made = time.monotonic() - began
    vocabulary = WordList.of(read_phrase(phrase.text) for phrases in shown.phrases for phrase in phrases)
    book, check = PhraseBook(shown, vocabulary), PhraseBook(kept, vocabulary)
    steps = training.epochs * (training.scenes // BATCH)
    trainer = PointerTrainer(len(vocabulary.words), len(vocabulary.heads), steps, training.seed, training.threads)
    log = _resumed(trainer, training, folder)
    for epoch in range(len(log), training.epochs):
        if minutes is not None and time.monotonic() - began > 60.0 * minutes:
            say(f"Stopped after {epoch} of {training.epochs} epochs: {minutes:g} minutes are over.")
            break
        log.append(_epoch(trainer, training, book, check, epoch))
        with written_to(folder):
            trainer.save(folder / CHECKPOINT, {"training": asdict(training), "log": log})
            write_whole(folder / LOG, "".join(json.dumps(row) + "\n" for row in log).encode())
    trained = time.monotonic() - began - made
    weights = PointerWeights(exported(trainer.network), vocabulary.words, vocabulary.heads)
    weights = calibrated(weights, kept)
    result = _tested(weights, training, data, processes)
    about = asdict(training) | {"without": list(without), "parameters": trainer.parameters, "epochs_done": len(log)}
    result |= {"training": about, "log": log, "seconds": {"pictures": round(made), "epochs": round(trained)}}
    card = model_card(result)
    weights = PointerWeights(weights.tensors, weights.words, weights.heads, weights.calibration, json.dumps(about))
    with written_to(folder):
        write_weights(weights, folder / WEIGHTS)
        write_whole(folder / CURVES, as_png(curves(log)))
        write_whole(folder / CARD, card.encode())
    return result | {"files": [str(folder / name) for name in (WEIGHTS, CARD, CURVES, LOG)]}


def _resumed(trainer: PointerTrainer, training: PointerTraining, folder: Path) -> list[dict[str, Any]]:
    """The log so far, with the trainer as it was then."""
    path = folder / CHECKPOINT
    if not path.exists():
        return []
    before = trainer.load(path)
    if {"sensor": DEFAULT_SENSOR} | dict(before.get("training") or {}) != asdict(training):
        raise invalid(
            f"{folder} holds another training: {before.get('training')}.",
            "Choose another folder, or delete its checkpoint.",
        )
    log: list[dict[str, Any]] = before["log"]
    say(f"Going on after epoch {len(log)} of {training.epochs}.")
    return log


def _epoch(
    trainer: PointerTrainer, training: PointerTraining, book: PhraseBook, check: PhraseBook, epoch: int
) -> dict[str, Any]:
    """One row of the log."""
    started, count = time.process_time(), training.scenes // BATCH
    losses, hits, live = [], np.zeros(2, int), sys.stderr.isatty()
    rng = np.random.default_rng([training.seed, 7, epoch])
    for number, batch in enumerate(book.batches(BATCH, rng, WITHOUT_DEPTH), start=1):
        loss, tally = trainer.step(batch)
        losses.append(loss)
        hits = 0.9 * hits + np.array(tally["things"])
        if live:
            bar = "#" * (30 * number // count)
            rate = f"loss {loss:.2f}, hits {hits[0] / max(hits[1], 1):.1%}"
            print(f"\repoch {epoch + 1}/{training.epochs} [{bar:.<30}] {rate} ", end="", file=sys.stderr, flush=True)
    seen = trainer.check(check.batches(min(BATCH, len(check)), np.random.default_rng([training.seed, 8])))
    row: dict[str, Any] = {"epoch": epoch + 1, "loss": round(float(np.mean(losses)), 4)}
    row |= {name: round(right / n, 4) if n else None for name, (right, n) in seen.items()}
    row["cpu_s"] = round(time.process_time() - started, 1)
    shares = ", ".join(f"{name} {row[name]:.1%}" for name in seen if row[name] is not None)
    start = "\r" if live else ""
    say(f"{start}epoch {epoch + 1}/{training.epochs}: loss {row['loss']:.3f}; held-out scenes: {shares}")
    return row


def _tested(weights: PointerWeights, training: PointerTraining, data: Path, processes: int) -> dict[str, Any]:
    pointer, without = LearnedPointer(weights), training.held_out_products
    test = make_pictures(data, "test", training.seed, training.test_scenes, processes, without, (), training.sensor)
    result = figures(list(point_at(pointer, test)), list(point_at(pointer, test, ("plain", "held out"), depth=False)))
    if without:
        strange = make_pictures(
            data, "test", training.seed, training.test_scenes, processes, (), without, training.sensor
        )
        result["unseen_products"] = dict(by_product(list(point_at(pointer, strange, ("plain", "held out"))), without))
    return result


def be_nice(level: int = 5) -> None:
    """Let other processes go first."""
    if hasattr(os, "nice"):
        os.nice(level)
