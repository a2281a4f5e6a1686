"""How sure a measured rate is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Z95 = 1.959963984540054
"""Quantile of the standard normal distribution for two-sided 95 % intervals [-]."""
RESAMPLES = 10_000
"""Resamples of a bootstrap [-]: the ends of a 95 % interval are then sure to about half a point."""


def wilson(success: int, n: int) -> tuple[float, float]:
    """95 % Wilson score interval (low, high) of a rate; (0, 1) when n is 0."""
    if n == 0:
        return 0.0, 1.0
    rate = success / n
    centre = rate + Z95**2 / (2 * n)
    spread = Z95 * np.sqrt(rate * (1 - rate) / n + Z95**2 / (4 * n**2))
    scale = 1 + Z95**2 / n
    return float(max(0.0, (centre - spread) / scale)), float(min(1.0, (centre + spread) / scale))


def paired_difference(gain: NDArray[np.number], seed: int) -> tuple[float, float, float]:
    """A mean difference with its 95 % percentile interval: (mean, low, high).

    Args:
        gain: Differences, one a task, one or more: whole tasks are drawn, so that what both find hard moves both.
        seed: Seed of the bootstrap.
    """
    rng = np.random.default_rng(seed)
    means = [gain[rng.integers(len(gain), size=len(gain))].mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return float(gain.mean()), float(low), float(high)
