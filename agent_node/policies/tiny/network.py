"""The small policy's network in numpy: what `training.trainer.network` trains with torch, without torch.

A decoder-only transformer (Vaswani et al. 2017) with the norm before each part and learned positions (GPT-2, Radford et
al. 2019). With E = token.weight + words @ word.weight.T the embedding of every token, and zeros before the first one,

    x = E[tokens] + E[tokens before] @ before.weight.T + position.weight[0..L) + visual_features @ eye.weight.T
    x = x + out(attention(qkv(norm1(x))));  x = x + down(gelu(up(norm2(x))))     for each layer
    logits = norm(x) @ E.T

The second term lets one layer find what stood behind a word, which is what copying a phrase takes; without it two
layers have to come upon that together (the smeared keys of Olsson et al. 2022, "In-context learning and induction
heads"). Gelu is by its tanh formula (Hendrycks and Gimpel 2016, section 2), attention is scaled by
1 / sqrt(width / heads).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agent_node.policies.tiny.visual_encoder import VisualFeatures
from agent_node.policies.tiny.vocabulary import Tokens
from agent_node.policies.tiny.weights import TinyWeights
from tool_nodes.perception.learned.forward import Array

NORM_EPSILON = 1e-5
"""Added to the variance before a norm divides by its root [-]; torch's default."""

_GELU_CUBE = np.float32(0.044715)
"""Of gelu's tanh formula [-] (Hendrycks and Gimpel 2016, section 2)."""
_GELU_SCALE = np.float32(np.sqrt(2 / np.pi))
"""As above."""


class TinyNetwork:
    """The network, with the keys and values of the tokens that it has read.

    Args:
        weights: Weights of the policy.

    Attributes:
        length: Tokens that it has read.
    """

    def __init__(self, weights: TinyWeights) -> None:
        config, w = weights.config, weights.tensors
        self._config = config
        self._embedding = np.ascontiguousarray(w["token.weight"] + weights.words @ w["word.weight"].T)
        self._before = self._embedding @ w["before.weight"].T
        self._position = w["position.weight"]
        self._eye = np.ascontiguousarray(w["eye.weight"].T)
        self._logits = after_norm(
            self._embedding, np.zeros(len(self._embedding), np.float32), w["norm.weight"], w["norm.bias"]
        )
        self._layers = [_Layer(weights, k) for k in range(config.layers)]
        size = config.width // config.heads
        self._cache = np.zeros((config.layers, 2, config.heads, config.positions, size), np.float32)
        self._tokens = np.zeros(config.positions, np.int32)
        self.length = 0

    def rewind(self, length: int) -> None:
        """Forget the tokens after the first `length`."""
        self.length = min(self.length, max(length, 0))

    def read(self, tokens: Tokens, visual_features: VisualFeatures) -> Array:
        """Read more tokens; the logits after each.

        Args:
            tokens: (n,) 1 or more.
            visual_features: (n, VISUAL_WIDTH) what is seen at each.

        Returns:
            (n, V) logits.

        Raises:
            ValueError: Too few positions are left.
        """
        begin, end = self.length, self.length + len(tokens)
        if not len(tokens) or end > self._config.positions:
            raise ValueError(f"{len(tokens)} tokens after {begin} do not fit into {self._config.positions} positions")
        x = self._embedding[tokens] + self._position[begin:end] + visual_features @ self._eye
        self._tokens[begin:end] = tokens
        first = 1 if begin == 0 else 0  # nothing stands before the first
        x[first:] += self._before[self._tokens[begin + first - 1 : end - 1]]
        # Later tokens of the same call are hidden from earlier ones.
        hidden = np.triu(np.full((len(tokens), end), -np.inf, np.float32), begin + 1) if len(tokens) > 1 else None
        for layer, cache in zip(self._layers, self._cache, strict=True):
            x = layer(x, cache, begin, hidden)
        self.length = end
        return np.asarray(normed(x) @ self._logits[0] + self._logits[1], np.float32)


class _Layer:
    def __init__(self, weights: TinyWeights, k: int) -> None:
        w = weights.tensors
        self._heads = weights.config.heads

        def part(name: str) -> tuple[Array, Array]:
            return w[f"layer.{k}.{name}.weight"], w[f"layer.{k}.{name}.bias"]

        self._qkv = after_norm(*part("qkv"), *part("norm1"))
        self._up = after_norm(*part("up"), *part("norm2"))
        self._out, self._down = ((np.ascontiguousarray(m.T), bias) for m, bias in (part("out"), part("down")))

    def __call__(self, x: Array, cache: Array, begin: int, hidden: Array | None) -> Array:
        (n, width), heads = x.shape, self._heads
        end, size = begin + n, width // heads
        qkv = (normed(x) @ self._qkv[0] + self._qkv[1]).reshape(n, 3, heads, size).transpose(1, 2, 0, 3)
        cache[:, :, begin:end] = qkv[1:]
        keys, values = cache[0, :, :end], cache[1, :, :end]
        scores = (qkv[0] @ keys.transpose(0, 2, 1)) * np.float32(size**-0.5)
        if hidden is not None:
            scores += hidden
        mixed = (softmax(scores) @ values).transpose(1, 0, 2).reshape(n, width)
        x = np.asarray(x + mixed @ self._out[0] + self._out[1], np.float32)
        hidden_layer = gelu(normed(x) @ self._up[0] + self._up[1])
        return np.asarray(x + hidden_layer @ self._down[0] + self._down[1], np.float32)


def normed(x: Array) -> Array:
    """Layer norm over the last axis, without its weight and bias."""
    share = np.float32(1 / x.shape[-1])
    centred = x - np.add.reduce(x, axis=-1, keepdims=True) * share
    variance = np.einsum("ij,ij->i", centred, centred)[:, None] * share
    centred /= np.sqrt(variance + np.float32(NORM_EPSILON))
    return np.asarray(centred, np.float32)


def after_norm(weight: Array, bias: Array, norm_weight: Array, norm_bias: Array) -> tuple[Array, Array]:
    """(in, out) matrix and bias of a linear layer (out, in) that follows a norm, with that norm's own taken in."""
    return np.ascontiguousarray((weight * norm_weight).T), (bias + weight @ norm_bias).astype(np.float32)


def gelu(x: Array) -> Array:
    """By its tanh formula."""
    inner = np.tanh(x * (_GELU_SCALE + _GELU_SCALE * _GELU_CUBE * (x * x)))
    inner += np.float32(1.0)
    inner *= x
    inner *= np.float32(0.5)
    return np.asarray(inner, np.float32)


def softmax(x: Array) -> Array:
    """Over the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True), np.float32)


def log_softmax(x: Array) -> NDArray[np.float64]:
    """Over the last axis, in double precision."""
    x = x.astype(np.float64)
    x = x - x.max(axis=-1, keepdims=True)
    return np.asarray(x - np.log(np.exp(x).sum(axis=-1, keepdims=True)))
