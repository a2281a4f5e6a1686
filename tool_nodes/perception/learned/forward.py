"""The learned pointer's network in numpy: what `training.pointer.network` trains with torch, without torch.

The encoder turns colour and place of each pixel into features of 40 x 30 cells (a patch stem of stride 4, dilated
residual convolutions). Each word has a vector and a bias, its product with a cell's features is how well the word fits
there, and a phrase fits where all of its words do: the soft minimum over them. The place of one thing among others is
judged on the table: a side is a direction, "left of X" a small network over the offset from where X is seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tool_nodes.geometry import backproject
from tool_nodes.perception.learned.reading import BESIDE, SIDE_KEYS, Named, PhraseTokens
from tool_nodes.types import FloatArray

Array = NDArray[np.float32]
Weights = Mapping[str, Array]
"""Tensors by name; a convolution is (out, in, 3, 3)."""

PICTURE_PX = (160, 120)
"""(width, height) of the picture that the network sees [px]."""
STRIDE = 4
"""Pixels of a cell, each way."""
GRID = (PICTURE_PX[1] // STRIDE, PICTURE_PX[0] // STRIDE)
"""(rows, columns) of cells."""
CHANNELS = 7
"""Channels of the input: red, green, blue, x, y, z in the base frame, whether there is depth."""
DILATIONS = (1, 2, 3)
"""Dilations of the residual blocks: a cell then sees about a quarter of the picture."""
ORIGIN_M = (0.45, 0.0, 0.05)
"""What the network counts places from, in the base frame [m]; about the middle of the table."""
UNIT_M = (0.3, 0.3, 0.1)
"""Unit of those places along each axis [m]: so that the inputs are near 1."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """A picture as the network understands it.

    Attributes:
        features: (width, cells), float32.
        place: (2, cells) x and y of each cell in the base frame, in UNIT_M from ORIGIN_M; 0 where it is not known.
        known: (cells,) True where there is depth.
    """

    features: Array
    place: Array
    known: NDArray[np.bool_]


def network_input(rgb: NDArray[np.uint8], depth: Array, K: FloatArray, T_base_camera: FloatArray) -> Array:
    """(7, H, W) of a picture (H, W, 3) of any size with depth (H, W) [m], NaN where unknown."""
    height, width = depth.shape
    known = np.isfinite(depth)
    cloud = backproject(np.where(known, depth, np.float32(0.0)), K).reshape(-1, 3)
    T = np.asarray(T_base_camera, np.float32)
    base = (cloud @ T[:3, :3].T + T[:3, 3] - np.array(ORIGIN_M, np.float32)) / np.array(UNIT_M, np.float32)
    base = np.clip(base, -4.0, 4.0) * known.reshape(-1, 1)
    out = np.empty((CHANNELS, height, width), np.float32)
    out[:3] = rgb.transpose(2, 0, 1) / np.float32(127.5) - np.float32(1.0)
    out[3:6] = base.T.reshape(3, height, width)
    out[6] = known
    return out


def convolved(x: Array, weight: Array, bias: Array, stride: int = 1, dilation: int = 1) -> Array:
    """A 3 x 3 convolution of x (in, H, W) with zeros around it: (out, H / stride, W / stride)."""
    channels, height, width = x.shape
    padded = np.pad(x, ((0, 0), (dilation, dilation), (dilation, dilation)))
    out_h, out_w = -(-height // stride), -(-width // stride)
    columns = np.empty((channels, 9, out_h, out_w), np.float32)
    for k in range(9):
        down, across = dilation * (k // 3), dilation * (k % 3)
        columns[:, k] = padded[:, down : down + height : stride, across : across + width : stride]
    flat = weight.reshape(len(weight), -1) @ columns.reshape(9 * channels, -1)
    flat += bias[:, None]
    return flat.reshape(len(weight), out_h, out_w)


def log_sigmoid(x: Array) -> Array:
    """log(1 / (1 + exp(-x))), also for large x."""
    return -np.logaddexp(np.float32(0.0), -x)


def soft_minimum(scores: Array) -> Array:
    """-log(sum exp(-s)) over the first axis of (words, cells): high only where every one is."""
    low = scores.min(axis=0)
    return np.asarray(low - np.log(np.exp(low - scores).sum(axis=0)), np.float32)


class PointerForward:
    """The network.

    Args:
        weights: By name, as `training.pointer.network.exported` gives them.
        words: The vocabulary; row k of `word.weight` and `word.bias`.
        heads: Head nouns; rows of `head.weight` and `head.bias`.
    """

    def __init__(self, weights: Weights, words: Sequence[str], heads: Sequence[str]) -> None:
        self._weights = weights
        self._words = {word: row for row, word in enumerate(words)}
        self._heads = {word: row for row, word in enumerate(heads)}

    def unknown(self, tokens: PhraseTokens) -> tuple[str, ...]:
        """Words of a phrase that the network was never shown."""
        said = (*tokens.thing.said, *(tokens.reference.said if tokens.reference else ()))
        return tuple(word for word in said if word not in self._words and word not in self._heads)

    def encode(self, picture: Array) -> Encoded:
        """Features of the cells of a picture (7, 120, 160)."""
        w = self._weights
        x = np.maximum(convolved(picture, w["stem.0.weight"], w["stem.0.bias"], 2), 0.0)
        x = np.maximum(convolved(x, w["stem.1.weight"], w["stem.1.bias"], 2), 0.0)
        for k, dilation in enumerate(DILATIONS):
            hidden = np.maximum(convolved(x, w[f"block.{k}.weight"], w[f"block.{k}.bias"], 1, dilation), 0.0)
            mixed = w[f"mix.{k}.weight"] @ hidden.reshape(len(hidden), -1) + w[f"mix.{k}.bias"][:, None]
            x = np.maximum(x + mixed.reshape(x.shape), 0.0)
        half = STRIDE // 2
        middle = picture[:, half::STRIDE, half::STRIDE].reshape(CHANNELS, -1)
        features = w["out.weight"] @ x.reshape(len(x), -1) + w["out.bias"][:, None]
        return Encoded(features, middle[3:5], middle[6] > 0.5)

    def what(self, seen: Encoded, thing: Named) -> Array:
        """(cells,) log odds that a cell is the middle of a thing that the words name."""
        w = self._weights
        rows = [self._words[word] for word in thing.words if word in self._words]
        vectors, biases = w["word.weight"][rows], w["word.bias"][rows]
        head = self._heads.get(thing.head)
        if head is not None:
            vectors = np.concatenate([vectors, w["head.weight"][head : head + 1]])
            biases = np.concatenate([biases, w["head.bias"][head : head + 1]])
        return soft_minimum(vectors @ seen.features + biases[:, None])

    def where(self, seen: Encoded, tokens: PhraseTokens) -> tuple[Array, float]:
        """Log probability (cells,) that a cell is the one thing meant by its place, and log of that its reference is
        there."""
        w = self._weights
        score, sure = w["sharp"][0 if tokens.side else 1] * log_sigmoid(self.what(seen, tokens.thing)), 0.0
        if tokens.side:
            score = score + w["side.weight"][SIDE_KEYS.index(tokens.side)] @ seen.place
        if tokens.reference is not None:
            fit = self.what(seen, tokens.reference)
            share = np.exp(fit - fit.max())
            offset = (seen.place - (seen.place @ (share / share.sum()))[:, None]).astype(np.float32)
            hidden = np.maximum(w["beside.0.weight"] @ offset_features(offset) + w["beside.0.bias"][:, None], 0.0)
            row = BESIDE.index(tokens.relation)
            score = score + w["beside.1.weight"][row] @ hidden + w["beside.1.bias"][row]
            sure = float(log_sigmoid(fit.max()))
        score = score - score.max()
        return np.asarray(score - np.log(np.exp(score).sum()), np.float32), sure


def offset_features(offset: Array) -> Array:
    """(5, cells) of offsets (2, cells): themselves, their length, their direction."""
    length = np.sqrt(np.square(offset).sum(axis=0) + np.float32(1e-4))
    return np.concatenate([offset, length[None], offset / length])


def layer_shapes(words: int, heads: int) -> dict[str, tuple[int | None, ...]]:
    """Shapes of the tensors of a network with such a vocabulary; None where a size is the training's choice."""
    shapes: dict[str, tuple[int | None, ...]] = {
        "stem.0.weight": (None, CHANNELS, 3, 3),
        "stem.1.weight": (None, None, 3, 3),
        "out.weight": (None, None),
        "word.weight": (words, None),
        "word.bias": (words,),
        "head.weight": (heads, None),
        "head.bias": (heads,),
        "side.weight": (len(SIDE_KEYS), 2),
        "sharp": (2,),
        "beside.0.weight": (None, 5),
        "beside.1.weight": (len(BESIDE), None),
        "beside.1.bias": (len(BESIDE),),
    }
    shapes |= {f"{name}.bias": (None,) for name in ("stem.0", "stem.1", "out", "beside.0")}
    for k in range(len(DILATIONS)):
        shapes |= {f"block.{k}.weight": (None, None, 3, 3), f"block.{k}.bias": (None,)}
        shapes |= {f"mix.{k}.weight": (None, None), f"mix.{k}.bias": (None,)}
    return shapes
