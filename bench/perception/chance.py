"""Calibration errors in bins of equal width and of equal counts, and how large noise alone would make them.

A bin with few scores is off the diagonal by chance, and an expected calibration error adds up distances: of perfect
scores it is above 0, the more so the fewer there are. What perfect scores would have is found by resampling.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.types import BoolArray, FloatArray

Places = NDArray[np.intp]

LEAST_IN_BIN = 5
"""Fewest scores of a bin of equal counts [-]: fewer bins are made of fewer scores."""
_SAMPLES = 1000
"""Samples of what chance gives [-]: the 95th percentile of as many is known to 3 percent of the error."""


def equal_widths(scores: FloatArray, bins: int) -> Places:
    """Bin (n,) of each score (n,) in [0, 1], all bins equally wide."""
    return np.minimum(np.floor(scores * bins), bins - 1).astype(np.intp)


def equal_counts(scores: FloatArray, bins: int) -> Places:
    """Bin (n,) of each score (n,), as many scores in each as equal scores, which stay together, allow."""
    bins = max(1, min(bins, len(scores) // LEAST_IN_BIN))
    _, which, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle = (np.cumsum(counts) - counts / 2)[which]
    return np.minimum(np.floor(bins * middle / len(scores)), bins - 1).astype(np.intp)


def binned_error(scores: FloatArray, values: FloatArray | BoolArray, places: Places) -> float:
    """Expected calibration error: mean over bins, weighed by n, of |mean score - mean value|.

    Args:
        scores: (n,) what was predicted; at least one.
        values: (n,) what came of it.
        places: (n,) bin of each.
    """
    return float(np.abs(np.bincount(places, scores - values)).sum() / len(scores))


def errors_of(scores: FloatArray, values: FloatArray | BoolArray, bins: int) -> list[dict[str, Any]]:
    """A row for bins of equal width and one for bins of equal counts.

    Each has the calibration error, and the mean and the 95th percentile of the error of perfect scores: ones that are
    right as often as they say, or whose values scatter about them as these do about the mean of their neighbours.

    Args:
        scores: (n,) what was predicted, in [0, 1].
        values: (n,) what came of it: right or not, or an overlap in [0, 1].
    """
    if not len(scores):
        return []
    rng, counts = np.random.default_rng(0), equal_counts(scores, bins)
    perfect = [_perfect(scores, values, counts, rng) for _ in range(_SAMPLES)]
    rows = []
    for name, places in (("equal width", equal_widths(scores, bins)), ("equal counts", counts)):
        by_chance = [binned_error(scores, drawn, places) for drawn in perfect]
        rows.append(
            {
                "bins": name,
                "ece": round(binned_error(scores, values, places), 4),
                "by_chance": round(float(np.mean(by_chance)), 4),
                "by_chance_95": round(float(np.percentile(by_chance, 95)), 4),
            }
        )
    return rows


def _perfect(
    scores: FloatArray, values: FloatArray | BoolArray, places: Places, rng: np.random.Generator
) -> FloatArray | BoolArray:
    """Values (n,) that the same scores might have had if they were calibrated."""
    if values.dtype == bool:
        return np.asarray(rng.uniform(size=len(scores)) < scores)
    drawn = scores.astype(float)
    for place in np.unique(places):
        here = np.flatnonzero(places == place)
        scatter = values[here] - values[here].mean()
        # The mean was taken of the same values: their scatter about it is so much too small.
        scatter *= np.sqrt(len(here) / max(len(here) - 1, 1))
        drawn[here] += rng.choice(scatter, len(here))
    return drawn


def format_errors(rows: list[dict[str, Any]]) -> list[str]:
    """`errors_of` as lines of text."""
    return [
        f"  bins of {row['bins']}: error {row['ece']:.3f}; so many perfect scores have {row['by_chance']:.3f} on "
        f"average, and below {row['by_chance_95']:.3f} 95 times in 100"
        for row in rows
    ]
