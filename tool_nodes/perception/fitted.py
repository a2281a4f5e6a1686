"""Small networks, as `toolhand.bench.perception.fitting` and `toolhand.training.grasps.fit` write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

_PARTS = Path(__file__).with_name("parts.json")
_STEEPEST = 30.0
"""Bound of a logit, beyond which a probability is 0 or 1 in single precision [-]."""


@dataclass(frozen=True)
class Network:
    """One hidden layer of rectified units, and a logistic output.

    Attributes:
        first: (F, K) weights of the hidden units.
        offset: (K,) their offsets.
        second: (K,) weights of the output.
        bias: Its offset.
    """

    first: NDArray[np.float32]
    offset: NDArray[np.float32]
    second: NDArray[np.float32]
    bias: float

    def logits(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """(N,) logits for features (N, F)."""
        hidden = features @ self.first
        hidden += self.offset
        np.maximum(hidden, 0.0, out=hidden)
        out = np.clip(hidden @ self.second + np.float32(self.bias), -_STEEPEST, _STEEPEST)
        return np.asarray(out, np.float32)

    def __call__(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """(N,) probabilities for features (N, F)."""
        return logistic(self.logits(features))

    def rows(self) -> dict[str, object]:
        """The numbers as JSON data, four digits each."""

        def short(values: ArrayLike) -> list[float]:
            return [float(f"{value:.4g}") for value in np.asarray(values).ravel()]

        return {
            "first": [short(row) for row in self.first],
            "offset": short(self.offset),
            "second": short(self.second),
            "bias": short([self.bias])[0],
        }


def logistic(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Probabilities of logits."""
    return np.asarray(1.0 / (1.0 + np.exp(-logits)), np.float32)


@cache
def network(name: str, file: Path = _PARTS) -> Network:
    """A network of a file; of the parts of piles "border" (pixels), "joint" (regions) or "score" (masks)."""
    rows = json.loads(file.read_text(encoding="utf-8"))[name]
    return Network(
        np.array(rows["first"], np.float32),
        np.array(rows["offset"], np.float32),
        np.array(rows["second"], np.float32),
        float(rows["bias"]),
    )


def save(networks: Mapping[str, Network], file: Path = _PARTS) -> None:
    """Write a file anew."""
    lines = [f"{json.dumps(name)}: {json.dumps(net.rows())}" for name, net in networks.items()]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    network.cache_clear()
