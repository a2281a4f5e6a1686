"""Resumed trainings: what SFT and RL save of an epoch or iteration, and how they find it again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from agent_node.console.terminal import say
from agent_node.policies.tiny.weights import TinyWeights
from training.trainer.log import CHECKPOINT, LogRow, RunLog, written_to
from training.trainer.sequences import TokenSequence
from training.trainer.settings import OptimiserSettings

if TYPE_CHECKING:
    from training.trainer.learner import Learner


VERSION = 2
"""Of the fields of settings and of the metrics that a checkpoint holds; 1 had no number."""


def identity_of(
    settings: OptimiserSettings, seed: int, weights: TinyWeights, sequences: Sequence[TokenSequence] = ()
) -> dict[str, Any]:
    """What makes a training the same one: settings, seed, first weights, and sequences with each token's weight."""
    first = hashlib.sha256(json.dumps([asdict(weights.config), weights.vocabulary.tokens]).encode())
    for name in sorted(weights.tensors):
        first.update(np.ascontiguousarray(weights.tensors[name], np.float32).tobytes())
    data = hashlib.sha256()
    for sequence in sequences:
        parts = (sequence.tokens, sequence.sampled, sequence.visual_features, sequence.advantages)
        data.update(b"".join(part.tobytes() for part in parts))
    return {
        "version": VERSION,
        "settings": asdict(settings),
        "seed": seed,
        "first weights": first.hexdigest(),
        "rows": data.hexdigest(),
    }


def resumed(learner: Learner, folder: Path, identity: dict[str, Any]) -> RunLog:
    """The log of a training, with the learner as it was at its end.

    Raises:
        ToolError: INVALID_ARGUMENT where the folder holds another training or a damaged checkpoint, or cannot be
            written.
    """
    path = folder / CHECKPOINT
    rows: list[LogRow] = []
    if path.exists():
        rows = learner.load(path, identity)["log"]
        say(f"Going on in {folder} after {len(rows)}.")
    return RunLog(folder, rows)


def save(learner: Learner, log: RunLog, identity: dict[str, Any], row: LogRow) -> None:
    """Write the checkpoint and then the row of the log: a kill between both loses neither.

    Raises:
        ToolError: INVALID_ARGUMENT where they cannot be written.
    """
    with written_to(log.folder):
        learner.save(log.folder / CHECKPOINT, {"identity": identity, "log": [*log.rows, row]})
    log.add(row)
