"""Fits small networks of one hidden layer, `toolhand.tool_nodes.perception.fitted.Network`, with numpy alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.perception.fitted import Network, logistic
from toolhand.tool_nodes.types import FloatArray

Array32 = NDArray[np.float32]

STEPS = 8000
"""Steps of a fit [-]; a round figure, some seconds each."""
_HIDDEN = 32
"""Hidden units of a network [-]: with twice as many, objects of other sets were cut more often."""
_CONSTANT = 1e-3
"""A feature that spreads less says nothing [-]: scaled up, it would decide everything where it differs."""
_BATCH = 512
"""Examples of a step [-]; a usual number."""
_RATE, _DECAY = 5e-3, 1e-2
"""Adam's highest rate, and how much weights shrink in a step, by that rate [-]; usual numbers."""
_BLUR = 0.15
"""Noise that is added to features in a step [their standard deviation]: without it the networks know the shapes of the
set too well, and cut those of others."""


@dataclass
class Examples:
    """Features (n, F), what they should give in [0, 1], and how much each counts."""

    features: list[Array32] = field(default_factory=list)
    wanted: list[FloatArray] = field(default_factory=list)
    weights: list[FloatArray] = field(default_factory=list)

    def add(self, features: Array32, wanted: FloatArray, weights: FloatArray) -> None:
        """Some more."""
        self.features.append(features)
        self.wanted.append(np.asarray(wanted, float))
        self.weights.append(np.asarray(weights, float))


def fit(
    examples: Examples,
    rng: np.random.Generator,
    steps: int = STEPS,
    hidden: int = _HIDDEN,
    blur: float = _BLUR,
    decay: float = _DECAY,
) -> Network:
    """The network of least cross entropy, by Adam with a rate that falls to zero."""
    X = np.concatenate(examples.features).astype(np.float32)
    y = np.concatenate(examples.wanted).astype(np.float32)
    w = np.concatenate(examples.weights).astype(np.float32)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale < _CONSTANT] = 1.0
    X = np.clip((X - mean) / scale, -8.0, 8.0)
    parts = [
        (rng.standard_normal((X.shape[1], hidden)) * np.sqrt(2.0 / X.shape[1])).astype(np.float32),
        np.zeros(hidden, np.float32),
        (rng.standard_normal(hidden) * np.sqrt(1.0 / hidden)).astype(np.float32),
        np.zeros(1, np.float32),
    ]
    moments = [(np.zeros_like(part), np.zeros_like(part)) for part in parts]
    for step in range(1, steps + 1):
        rows = rng.integers(len(y), size=_BATCH)
        blurred = X[rows] + np.float32(blur) * rng.standard_normal((_BATCH, X.shape[1]), np.float32)
        slopes = _slopes(parts, blurred, y[rows], w[rows])
        rate = _RATE * min(1.0, 10.0 * step / steps) * 0.5 * (1.0 + np.cos(np.pi * step / steps))
        for k, (part, slope, (first, second)) in enumerate(zip(parts, slopes, moments, strict=True)):
            first += 0.1 * (slope - first)
            second += 0.001 * (slope * slope - second)
            change = (first / (1.0 - 0.9**step)) / (np.sqrt(second / (1.0 - 0.999**step)) + 1e-8)
            parts[k] = part - np.float32(rate) * (change + np.float32(decay) * part)
    first, offset, second, bias = parts
    return Network(first / scale[:, None], offset - (mean / scale) @ first, second, float(bias[0]))


def _slopes(parts: Sequence[Array32], X: Array32, y: Array32, w: Array32) -> list[Array32]:
    """Derivatives of the mean cross entropy by each of the parts."""
    first, offset, second, bias = parts
    hidden = np.maximum(X @ first + offset, 0.0)
    error = w * (logistic(np.clip(hidden @ second + bias, -30, 30)) - y) / w.sum()
    back = np.outer(error, second) * (hidden > 0)
    return [X.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(keepdims=True)]
