"""How sure a measured rate is."""

from __future__ import annotations

import numpy as np

Z95 = 1.959963984540054
"""Quantile of the standard normal distribution for two-sided 95 % intervals [-]."""


def wilson(success: int, n: int) -> tuple[float, float]:
    """95 % Wilson score interval (low, high) of a rate; (0, 1) when n is 0."""
    if n == 0:
        return 0.0, 1.0
    rate = success / n
    centre = rate + Z95**2 / (2 * n)
    spread = Z95 * np.sqrt(rate * (1 - rate) / n + Z95**2 / (4 * n**2))
    scale = 1 + Z95**2 / n
    return float(max(0.0, (centre - spread) / scale)), float(min(1.0, (centre + spread) / scale))
