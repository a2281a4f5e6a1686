"""The learned reader's network in NumPy: what `toolhand.training.reader.network` is in PyTorch, without gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from toolhand.agent_node.plan.pieces import ReaderInput
from toolhand.tool_nodes.tensor_files import read_header

Floats: TypeAlias = npt.NDArray[np.float32]
HEADS = 12
"""Of attention, in encoder and decoder [-]; MiniLM has so many."""
_TYPES = {"I8": np.int8, "F16": np.float16, "F32": np.float32}


def load_weights(path: Path) -> tuple[dict[str, Floats], dict[str, str]]:
    """(weights, metadata) of a safetensors file: "name" with "name.scale" beside it is one number a row [float16] times
    the row [int8].

    Raises:
        OSError, ValueError: See `read_header`.
    """
    with path.open("rb") as file:
        spans, metadata = read_header(file, path.stat().st_size)
        data = file.read()
    arrays = {
        name: np.frombuffer(data, _TYPES[span.dtype], offset=span.begin, count=math.prod(span.shape)).reshape(
            span.shape
        )
        for name, span in spans.items()
    }
    whole = {}
    for name, array in arrays.items():
        if not name.endswith(".scale"):
            scale = arrays.get(f"{name}.scale")
            plain = array.astype(np.float32)
            whole[name] = plain if scale is None else plain * scale.astype(np.float32)[:, None]
    return whole, metadata


class ArrayNetwork:
    """Scores the steps of a plan. Arrays are float32; d is the width, n the pieces, w the words of the input.

    Args:
        weights: See `load_weights`.
    """

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self._weights = weights
        self._layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("encoder."))
        self._decoder_layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("decoder."))
        self.longest = len(weights["step.weight"])

    def _linear(self, name: str, x: Floats) -> Floats:
        out: Floats = x @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]
        return out

    def _norm(self, name: str, x: Floats) -> Floats:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        out: Floats = x * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return out

    def _split(self, x: Floats) -> Floats:
        return x.reshape(len(x), HEADS, -1).transpose(1, 0, 2)

    def _attend(self, name: str, x: Floats, keys: Floats, values: Floats) -> Floats:
        """x (m, d) attends to keys and values (heads, n, d / heads)."""
        query = self._split(self._linear(f"{name}.query", x))
        scores = query @ keys.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        found = (scores / scores.sum(-1, keepdims=True)) @ values
        return self._norm(f"{name}.norm", x + self._linear(f"{name}.out", found.transpose(1, 0, 2).reshape(x.shape)))

    def _keys(self, name: str, x: Floats) -> tuple[Floats, Floats]:
        return self._split(self._linear(f"{name}.key", x)), self._split(self._linear(f"{name}.value", x))

    def _inner(self, name: str, x: Floats) -> Floats:
        return self._norm(f"{name}.norm", x + self._linear(f"{name}.down", _gelu(self._linear(f"{name}.up", x))))

    def read(self, source: ReaderInput) -> PlanDecoder:
        """The decoder of what an input means, at its first step."""
        weights, ids = self._weights, list(source.ids)
        x = (
            weights["piece.weight"][ids]
            + weights["place.weight"][: len(ids)]
            + weights["side.weight"][list(source.types)]
        )
        x = self._norm("first_norm", x)
        for k in range(self._layers):
            x = self._inner(
                f"encoder.{k}.inner", self._attend(f"encoder.{k}.own", x, *self._keys(f"encoder.{k}.own", x))
            )
        return PlanDecoder(self, x, x[list(source.starts)])


class PlanDecoder:
    """A plan while it is written. `next` is called with what was chosen in the step before."""

    def __init__(self, network: ArrayNetwork, states: Floats, heads: Floats) -> None:
        self._network, self._heads = network, heads
        layers = range(network._decoder_layers)
        self._read = [network._keys(f"decoder.{k}.read", states) for k in layers]
        self._own: list[tuple[Floats, Floats] | None] = [None for _ in layers]
        self._offer = network._linear("offer", heads)
        self._at = 0

    def next(self, symbol: int, copied: int = -1) -> Floats:
        """Log-probabilities (symbols + w,) of what comes next.

        Args:
            symbol: Symbol of the step before, the number of symbols for a copied word.
            copied: Word that was copied in it, -1 for none.
        """
        net, weights = self._network, self._network._weights
        x = weights["symbol.weight"][symbol] + weights["step.weight"][self._at]
        if copied >= 0:
            x = x + net._linear("copied", self._heads[copied])
        x = net._norm("plan_norm", x[None])
        for k in range(net._decoder_layers):
            keys, values = net._keys(f"decoder.{k}.own", x)
            before = self._own[k]
            if before is not None:
                keys, values = np.concatenate([before[0], keys], 1), np.concatenate([before[1], values], 1)
            self._own[k] = keys, values
            x = net._attend(f"decoder.{k}.own", x, keys, values)
            x = net._inner(f"decoder.{k}.inner", net._attend(f"decoder.{k}.read", x, *self._read[k]))
        self._at += 1
        fixed = net._linear("choose", x)[0] @ weights["symbol.weight"][:-1].T + weights["choose_bias"]
        scores = np.concatenate([fixed, self._offer @ net._linear("ask", x)[0] / math.sqrt(x.shape[-1])])
        scores = scores - scores.max()
        found: Floats = scores - np.log(np.exp(scores).sum())
        return found


def _gelu(x: Floats) -> Floats:
    """x times the normal distribution's share below it, as Abramowitz and Stegun 7.1.26 gives it (to 1.5e-7)."""
    z = np.abs(x) * np.float32(1 / math.sqrt(2))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    half = np.float32(0.5) * series * np.exp(-z * z)
    out: Floats = x * np.where(x < 0, half, 1 - half).astype(np.float32)
    return out
