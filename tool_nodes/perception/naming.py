"""Whether what looks most like a product is one: evidence that was fitted to unknown objects and to known ones.

A product's name needs more than being the nearest of the list: objects that are in no list look like some product, too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from toolhand.tool_nodes.types import FloatArray

_FILE = Path(__file__).with_name("naming.json")

EVIDENCE = (
    "size",
    "too short",
    "too narrow",
    "too low",
    "too long",
    "too wide",
    "too high",
    "colour",
    "shape",
    "lying",
    "two colours",
    "odd pixels",
    "foreign pixels",
    "misfit",
    "largest misfit",
    "second colour in excess",
    "second colour missing",
)
"""What speaks for a product or against it: logarithms of likelihoods (size, colour, shape), errors along the three axes
[their standard deviations], flags, shares of pixels, and misfits of colours [grey levels]."""
SURE = 0.65
"""Probability from which on an object has a product's name [-], unknown and known objects being equally frequent. It
was chosen with earlier weights, on crowded scenes. With these, on scenes from seed 150000 that nothing was fitted to, 1
of 351 unknown objects has a product's name, and 159 of 162 products have theirs, by the sensors `stereo` and
`realsense_d435`; what it costs stands in docs/results/perception.md."""


def known_product(evidence: FloatArray) -> float:
    """Probability in [0, 1] that an object is the product whose evidence (len(EVIDENCE),) this is."""
    weights, bias = _weights()
    return float(1.0 / (1.0 + np.exp(-np.clip(weights @ evidence + bias, -30.0, 30.0))))


@cache
def _weights() -> tuple[FloatArray, float]:
    rows = json.loads(_FILE.read_text(encoding="utf-8"))
    return np.array([rows[name] for name in EVIDENCE], dtype=float), float(rows["bias"])


def save(weights: ArrayLike, bias: float) -> None:
    """Write the file anew.

    Args:
        weights: (len(EVIDENCE),) what a unit of each kind of evidence adds [logarithm of odds].
        bias: Log odds of a name without any evidence [-].
    """
    values: Sequence[float] = [*np.asarray(weights, dtype=float), bias]
    rows = {name: float(f"{value:.4g}") for name, value in zip((*EVIDENCE, "bias"), values, strict=True)}
    _FILE.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    _weights.cache_clear()
