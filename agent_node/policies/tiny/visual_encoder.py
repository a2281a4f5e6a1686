"""What the small policy sees: features of the learned pointer's encoder, of things in a picture and at points.

The encoder is `tool_nodes.perception.learned.forward.PointerForward`; a picture comes as RGB without depth, so the
channels of depth are zero. The pointer's vector for "anything" says which cells are the middle of a thing: of a picture
the 12 likeliest are seen, and around a point the likeliest cell. (Measured with depth: the features of that cell name
the thing at 99 % of points, those of the mean of 3 x 3 cells at 48 %, since a cell is about as large as a thing.) A
point gets the same kind of features whichever pointer gave it, and how well the thing there fits the words that were
asked for: so the policy can see that what a pointer shows is not what the words mean. (Among a thousand conversations
too few points are wrong to learn from them what each word looks like; the pointer's own vectors of words know it.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tool_nodes.language.phrases import parse_noun_phrase
from tool_nodes.perception.learned.backend import ShrunkFrame, shrunk
from tool_nodes.perception.learned.forward import GRID, PointerForward, layer_shapes, network_input, soft_minimum
from tool_nodes.perception.learned.peaks import cell_point, peaks
from tool_nodes.perception.learned.reading import ANYTHING
from tool_nodes.perception.learned.weights import PointerWeights
from tool_nodes.results import ToolError
from tool_nodes.types import Frame

VisualFeatures = NDArray[np.float32]
"""(..., VISUAL_WIDTH)."""
Meanings = NDArray[np.float32]
"""(n, FEATURES + 1): of each of n words its vector and, last, its bias, as the pointer has them."""

FEATURES = 64
"""Of a cell of the pointer's encoder [-]; see `tool_nodes.perception.learned.forward`."""
SEEN = 12
"""Tokens of a picture [-]: a scene has up to nine things, and the arm is seen as one or two."""
_FREQUENCIES = (1, 2, 4, 8)
"""Half waves over the picture, for its place each way [-]: the finest tells points a twentieth of the picture apart."""
PLACE_WIDTH = 2 + 4 * len(_FREQUENCIES)
"""Numbers that say where a point is: x and y, and sine and cosine of both at four frequencies."""
FIT = FEATURES + PLACE_WIDTH
"""Which number of a token says how well what is there fits the words in question: -1 not at all, 1 well, 0 unknown."""
VISUAL_WIDTH = FIT + 1
"""Numbers of a token that something is seen at."""
_FIT_SCALE = np.float32(4.0)
"""Log odds that are a fit of 0.76 [nat]: right things have 1 to 6, wrong ones -15 to 2."""
_AROUND = 1
"""Cells on each side of the one of a point, among which the likeliest middle of a thing is looked at [cells]."""
_FEATURE_SCALE = np.float32(1 / 16)
"""Of the encoder's features, so that those of a cell have a length of about 2, near that of a place's; as measured on
pictures of the shipped pointer, whose features have a length of 26 to 33."""

_ENCODER = ("stem.", "block.", "mix.", "out.")
"""Beginnings of the names of the encoder's tensors."""
_ANYTHING = "anything"


def encoder_names() -> frozenset[str]:
    """Names of the tensors: the pointer's encoder, and `anything` (FEATURES,), its vector for a thing."""
    return frozenset({_ANYTHING, *(name for name in layer_shapes(1, 1) if name.startswith(_ENCODER))})


def encoder_of(pointer: PointerWeights) -> dict[str, NDArray[np.float32]]:
    """The visual encoder's tensors out of a pointer, with features in its own scale.

    Raises:
        ValueError: It has no word for "anything".
    """
    tensors = {name: pointer.tensors[name] for name in encoder_names() - {_ANYTHING}}
    tensors |= {name: tensors[name] * _FEATURE_SCALE for name in ("out.weight", "out.bias")}
    return {**tensors, _ANYTHING: pointer.tensors["head.weight"][pointer.heads.index(ANYTHING)]}


def place_features(points: Sequence[tuple[float, float]] | NDArray[np.float64]) -> VisualFeatures:
    """(n, PLACE_WIDTH) of normalized points (n, 2): their coordinates from -1 to 1, and waves of them.

    Products of the waves of two points depend on their distance alone, so that attention can compare places: as the
    position encoding of Vaswani et al. 2017, section 3.5.
    """
    centred = 2.0 * np.asarray(points, np.float64).reshape(-1, 2) - 1.0
    angles = (np.pi / 2) * centred[:, :, None] * np.array(_FREQUENCIES)
    waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=2).reshape(len(centred), -1)
    return np.concatenate([centred, waves], axis=1).astype(np.float32)


class Seen:
    """One encoded picture.

    Args:
        features: (FEATURES, cells) of GRID.
        thing: (cells,) how much each cell looks like the middle of a thing.
        small: How the picture lies in the encoder's.
        blind: Nothing is seen of it.
    """

    def __init__(
        self, features: NDArray[np.float32], thing: NDArray[np.float32], small: ShrunkFrame, blind: bool = False
    ) -> None:
        self._features = features
        self._thing = thing
        self._small = small
        self._blind = blind

    def things(self, asked: Meanings | None = None) -> VisualFeatures:
        """(SEEN, VISUAL_WIDTH): what looks most like a thing first, with its place and its fit to what is asked
        for; zeros where there are fewer."""
        out = np.zeros((SEEN, VISUAL_WIDTH), np.float32)
        cells = [] if self._blind else peaks(self._thing, -np.inf)[:SEEN]
        if cells:
            (left, top), (width, height) = self._small.corner, self._small.share
            places = (np.array([cell_point(cell) for cell in cells]) - (left, top)) / (width, height)
            out[: len(cells), :FIT] = np.concatenate([self._features[:, cells].T, place_features(places)], axis=1)
            out[: len(cells), FIT] = _fit(self._features[:, cells], asked)
        return out

    def at(self, point: tuple[float, float], asked: Meanings | None = None) -> VisualFeatures:
        """(VISUAL_WIDTH,): the thing at a normalized point, the point, and how well the thing fits what is asked
        for; to the blind the point alone."""
        out = np.zeros(VISUAL_WIDTH, np.float32)
        out[FEATURES:FIT] = place_features([point])[0]
        if not self._blind:
            cell = self._cell(point)
            out[:FEATURES] = self._features[:, cell]
            out[FIT] = _fit(self._features[:, [cell]], asked)[0]
        return out

    def _cell(self, point: tuple[float, float]) -> int:
        (left, top), (width, height) = self._small.corner, self._small.share
        rows, columns = GRID
        row = min(max(int((top + point[1] * height) * rows), 0), rows - 1)
        column = min(max(int((left + point[0] * width) * columns), 0), columns - 1)
        first = max(row - _AROUND, 0), max(column - _AROUND, 0)
        square = self._thing.reshape(GRID)[first[0] : row + _AROUND + 1, first[1] : column + _AROUND + 1]
        down, across = divmod(int(square.argmax()), square.shape[1])
        return (first[0] + down) * columns + first[1] + across


def _fit(features: NDArray[np.float32], asked: Meanings | None) -> NDArray[np.float32]:
    """(n,) of features (FEATURES, n): all words fit, as the pointer has it; 0 without a word that it knows."""
    if asked is None or not len(asked):
        return np.zeros(features.shape[1], np.float32)
    odds = soft_minimum(asked[:, :-1] @ (features / _FEATURE_SCALE) + asked[:, -1:])
    return np.asarray(np.tanh(odds / _FIT_SCALE), np.float32)


class VisualEncoder:
    """Looks at pictures.

    Args:
        tensors: Tensors of `encoder_of`.
        blind: Visual features are zero. The place of a point remains, as a tool gives it in numbers.
        meanings: (FEATURES + 1,) of each word that the pointer knows, as of Meanings.
    """

    def __init__(
        self,
        tensors: Mapping[str, NDArray[np.float32]],
        blind: bool = False,
        meanings: Mapping[str, NDArray[np.float32]] | None = None,
    ) -> None:
        self._encoder = PointerForward(tensors, (), ())
        self._anything = tensors[_ANYTHING]
        self._blind = blind
        self._meanings = meanings or {}

    def meanings(self, phrase: str) -> Meanings:
        """What is looked for by a phrase: the words of the thing itself that are known, not those of its place."""
        try:
            words = parse_noun_phrase(phrase).words
        except ToolError:
            words = ()
        known = [self._meanings[word] for word in words if word in self._meanings]
        return np.stack(known) if known else np.zeros((0, FEATURES + 1), np.float32)

    def look(self, rgb: NDArray[np.uint8]) -> Seen:
        """See a picture, uint8 (H, W, 3), of any size."""
        height, width = rgb.shape[:2]
        depth = np.full((height, width), np.nan, np.float32)
        small = shrunk(Frame(rgb, depth, np.eye(3), np.eye(4), 0.0))
        cells = GRID[0] * GRID[1]
        if self._blind:
            return Seen(np.zeros((FEATURES, cells), np.float32), np.zeros(cells, np.float32), small, True)
        picture = network_input(small.rgb, small.depth, small.K, np.eye(4))
        features = self._encoder.encode(picture).features
        return Seen(features, self._anything @ features, small)
