"""What the small policy sees: features of the learned pointer's encoder, of parts of a picture and around points.

The encoder is `tool_nodes.perception.learned.forward.PointerForward`; a picture comes as RGB without depth, so the
channels of depth are zero. A point gets the same kind of features whichever pointer gave it: so the policy can see that
what a pointer shows is not what the words mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tool_nodes.perception.learned.backend import ShrunkFrame, shrunk
from tool_nodes.perception.learned.forward import GRID, PointerForward, network_input
from tool_nodes.types import Frame

EyeFeatures = NDArray[np.float32]
"""(..., EYE_WIDTH)."""

FEATURES = 64
"""Of a cell of the pointer's encoder [-]; see `tool_nodes.perception.learned.forward`."""
SEEN_GRID = (3, 4)
"""(rows, columns) of the parts of a picture: 12 parts of 10 x 10 cells."""
SEEN = SEEN_GRID[0] * SEEN_GRID[1]
"""Tokens of a picture."""
_FREQUENCIES = (1, 2, 4, 8)
"""Half waves over the picture, for its place each way [-]: the finest tells points a twentieth of the picture apart;
chosen by hand."""
PLACE_WIDTH = 2 + 4 * len(_FREQUENCIES)
"""Numbers that say where a point is: x and y, and sine and cosine of both at four frequencies."""
EYE_WIDTH = FEATURES + PLACE_WIDTH
"""Numbers of a token that something is seen at."""
_AROUND = 1
"""Cells on each side of the one of a point: a square of 3 x 3 is averaged."""

ENCODER = ("stem.", "block.", "mix.", "out.")
"""Beginnings of the names of the encoder's tensors."""


def place_features(points: Sequence[tuple[float, float]] | NDArray[np.float64]) -> EyeFeatures:
    """(n, PLACE_WIDTH) of normalized points (n, 2): their coordinates from -1 to 1, and waves of them.

    Products of the waves of two points depend on their distance alone, so that attention can compare places: as the
    position encoding of Vaswani et al. 2017, section 3.5.
    """
    centred = 2.0 * np.asarray(points, np.float64).reshape(-1, 2) - 1.0
    angles = (np.pi / 2) * centred[:, :, None] * np.array(_FREQUENCIES)
    waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=2).reshape(len(centred), -1)
    return np.concatenate([centred, waves], axis=1).astype(np.float32)


class Seen:
    """One picture as the eyes see it.

    Args:
        features: (FEATURES, rows, columns) of GRID.
        small: How the picture lies in the encoder's.
    """

    def __init__(self, features: NDArray[np.float32], small: ShrunkFrame) -> None:
        self._features = features
        self._small = small

    def parts(self) -> EyeFeatures:
        """(SEEN, EYE_WIDTH): the mean of each part of the picture, row by row."""
        rows, columns = SEEN_GRID
        blocks = self._features.reshape(FEATURES, rows, GRID[0] // rows, columns, GRID[1] // columns)
        means = blocks.mean(axis=(2, 4)).reshape(FEATURES, -1).T
        middles = [((c + 0.5) / columns, (r + 0.5) / rows) for r in range(rows) for c in range(columns)]
        return np.concatenate([means, place_features(middles)], axis=1)

    def around(self, point: tuple[float, float]) -> EyeFeatures:
        """(EYE_WIDTH,): the mean of the cells around a normalized point."""
        (left, top), (width, height) = self._small.corner, self._small.share
        column = min(max(int((left + point[0] * width) * GRID[1]), 0), GRID[1] - 1)
        row = min(max(int((top + point[1] * height) * GRID[0]), 0), GRID[0] - 1)
        square = self._features[
            :, max(row - _AROUND, 0) : row + _AROUND + 1, max(column - _AROUND, 0) : column + _AROUND + 1
        ]
        return np.concatenate([square.mean(axis=(1, 2)), place_features([point])[0]])


class Eyes:
    """Looks at pictures.

    Args:
        tensors: Of the pointer's encoder, by name.
        blind: What is seen is zero, and only where a point is remains: that is told by the tool, in numbers.
    """

    def __init__(self, tensors: Mapping[str, NDArray[np.float32]], blind: bool = False) -> None:
        self._encoder = PointerForward(tensors, (), ())
        self._blind = blind

    def look(self, rgb: NDArray[np.uint8]) -> Seen:
        """See a picture, uint8 (H, W, 3), of any size."""
        height, width = rgb.shape[:2]
        depth = np.full((height, width), np.nan, np.float32)
        small = shrunk(Frame(rgb, depth, np.eye(3), np.eye(4), 0.0))
        if self._blind:
            return Seen(np.zeros((FEATURES, *GRID), np.float32), small)
        picture = network_input(small.rgb, small.depth, small.K, np.eye(4))
        return Seen(self._encoder.encode(picture).features.reshape(FEATURES, *GRID), small)
