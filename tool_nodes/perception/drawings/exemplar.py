"""How alike two objects in one image look: by their colours and by the shape of their outlines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from toolhand.tool_nodes.perception.drawings.shapes import measure_shape
from toolhand.tool_nodes.perception.masks import window_of
from toolhand.tool_nodes.types import BoolArray, FloatArray

_COLOUR_SCALE = 30.0
"""Difference of two objects' colours at which they look different [grey levels]."""
_QUANTILES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""Quantiles of each channel: where an object has two colours, they say how much of each."""
_SHAPE_SCALES = np.array([0.30, 0.12, 0.15, 0.08, 0.20, 1.50])
"""The same for log aspect, solidity, straightness, spread, holes, and log area: objects are seen near and far."""


@dataclass(frozen=True, eq=False)
class Appearance:
    """What an object looks like.

    Attributes:
        colours: (5, 3) quantiles of each channel in 0..255.
        shape: (6,) numbers of its outline, and the logarithm of its area [px].
    """

    colours: FloatArray
    shape: FloatArray

    @classmethod
    def of(cls, rgb: NDArray[np.uint8], mask: BoolArray) -> Appearance:
        """The appearance of the pixels mask (H, W), not empty, of an image (H, W, 3)."""
        window = window_of(mask)
        part = mask[window]
        numbers = measure_shape(part)
        shape = [np.log(numbers.aspect), numbers.solidity, numbers.straight, numbers.spread, numbers.holes]
        return cls(
            np.quantile(rgb[window][part], _QUANTILES, axis=0), np.array([*shape, np.log(np.count_nonzero(part))])
        )

    def likeness(self, other: Appearance) -> float:
        """How alike two objects look, in [0, 1]: each difference d with its scale s is a factor exp(-(d / s)^2)."""
        colour = float(np.abs(self.colours - other.colours).mean()) / _COLOUR_SCALE
        shape = (self.shape - other.shape) / _SHAPE_SCALES
        return float(np.exp(-(colour**2) - np.sum(shape**2)))
