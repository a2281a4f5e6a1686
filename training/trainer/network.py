"""The tiny policy's network in torch: the same as `agent_node.policies.tiny.network` in numpy, to be trained.

With gradients it reads whole rows; without, it may keep keys and values of what it has read (`KeptKeys`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from agent_node.policies.tiny.eyes import EYE_WIDTH
from agent_node.policies.tiny.network import NORM_EPSILON
from agent_node.policies.tiny.weights import TinyConfig, TinyWeights
from tool_nodes.extras import install_extra
from tool_nodes.results import ErrorCode, ToolError

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F
except ImportError as error:  # pragma: no cover
    raise ToolError(
        ErrorCode.UNAVAILABLE, "Training the small policy needs torch, which is not installed.",
        f"Install it with: {install_extra('learn')}",
    ) from error  # fmt: skip


def chosen_device(name: str) -> torch.device:
    """The device of a name, "auto" for a GPU where there is one. Raises ToolError INVALID_ARGUMENT for another name."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
        return device
    except (RuntimeError, AssertionError) as error:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT, f"torch has no device {name[:60]!r} here: take auto, cpu or cuda."
        ) from error


def nothing_dropped(x: Tensor) -> Tensor:
    """All of it."""
    return x


@dataclass(frozen=True)
class Dropout:
    """Sets a share of all numbers to 0 and makes the others as much larger (Srivastava et al. 2014).

    Attributes:
        share: Below 1.
        generator: Of the draws, so that a training that goes on has the same ones.
    """

    share: float
    generator: torch.Generator

    def __call__(self, x: Tensor) -> Tensor:
        """What is left of it."""
        kept = torch.rand(x.shape, generator=self.generator, device=x.device) >= self.share
        return x * kept / (1.0 - self.share)


class TinyTransformer(nn.Module):
    """See `agent_node.policies.tiny.network`; the names of the parameters are those of its tensors.

    Args:
        config: Its sizes.
        words: (V, FEATURES) the pointer's vectors of the vocabulary, which are not trained.
    """

    def __init__(self, config: TinyConfig, words: Tensor) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("words", words)
        width = config.width
        self.token, self.word = nn.Embedding(len(words), width), nn.Linear(words.shape[1], width, bias=False)
        self.position = nn.Embedding(config.positions, width)
        self.eye = nn.Linear(EYE_WIDTH, width, bias=False)
        self.layer = nn.ModuleList([_Layer(config) for _ in range(config.layers)])
        self.norm = nn.LayerNorm(width, NORM_EPSILON)

    @classmethod
    def from_weights(cls, weights: TinyWeights) -> TinyTransformer:
        """The network of trained or fresh weights."""
        network = cls(weights.config, torch.from_numpy(np.array(weights.words)))
        tensors = {name: torch.from_numpy(np.array(tensor)) for name, tensor in weights.tensors.items()}
        network.load_state_dict({**tensors, "words": network.words})
        return network

    @torch.no_grad()
    def to_weights(self, like: TinyWeights, about: str | None = None) -> TinyWeights:
        """Its weights, with vocabulary and eyes of the policy that it was made from.

        Args:
            like: That policy.
            about: How the weights were made; as of `like` where None.
        """
        tensors = {
            name: np.array(parameter.detach().cpu().numpy(), np.float32) for name, parameter in self.named_parameters()
        }
        return replace(like, tensors=tensors, about=like.about if about is None else about)

    @property
    def device(self) -> torch.device:
        """Where it is."""
        return self.token.weight.device

    def embedding(self) -> Tensor:
        """(V, width) of every token, for input and output."""
        assert isinstance(self.words, Tensor)
        return self.token.weight + self.word(self.words)

    def forward(self, tokens: Tensor, eyes: Tensor, drop: Callable[[Tensor], Tensor] = nothing_dropped) -> Tensor:
        """Read whole rows from their beginnings.

        Args:
            tokens: (B, L) int64; what fills a row up stands at its end, and is seen by nothing before it.
            eyes: (B, L, EYE_WIDTH).
            drop: What is left of the embeddings, and of what each layer adds, as of GPT-2.

        Returns:
            (B, L, width): what `logits` takes.
        """
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = drop(F.embedding(tokens, self.embedding()) + self.position(places) + self.eye(eyes))
        for layer in self.layer:
            x = layer(x, drop)
        hidden: Tensor = self.norm(x)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """(..., V) of hidden states (..., width)."""
        return hidden @ self.embedding().T

    def extend(
        self, kept: KeptKeys, rows: Tensor | None, tokens: Tensor, eyes: Tensor, starts: Tensor, counts: Tensor
    ) -> Tensor:
        """Read more of n rows, each from where it is; what is read is kept in their place.

        Args:
            kept: Of all rows.
            rows: (n,) which of them; all where None.
            tokens, eyes: (n, T) and (n, T, EYE_WIDTH), filled up at the end.
            starts: (n,) how much of each was read before.
            counts: (n,) how many of its T tokens are new ones, 0..T.

        Returns:
            (n, T, width); of what fills up it means nothing.
        """
        offsets = torch.arange(tokens.shape[1], device=tokens.device)
        places = starts[:, None] + offsets
        new = offsets < counts[:, None]
        numbers = torch.arange(len(tokens), device=tokens.device) if rows is None else rows
        end = int((starts + counts).max())
        kept.reserve(end)
        target = numbers[:, None].expand_as(places)[new], places[new]
        seen = torch.arange(end, device=tokens.device) <= places[:, None, :, None]
        x = F.embedding(tokens, self.embedding()) + self.position(places.clamp(max=self.config.positions - 1))
        x = x + self.eye(eyes)
        for layer, keys, values in zip(self.layer, kept.keys, kept.values, strict=True):
            assert isinstance(layer, _Layer)
            x = layer.extend(x, keys, values, rows, target, new, end, seen)
        hidden: Tensor = self.norm(x)
        return hidden


class _Layer(nn.Module):
    """Attention and two layers, each with the norm before it."""

    def __init__(self, config: TinyConfig) -> None:
        super().__init__()
        width = config.width
        self.heads = config.heads
        self.norm1, self.norm2 = nn.LayerNorm(width, NORM_EPSILON), nn.LayerNorm(width, NORM_EPSILON)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, config.hidden), nn.Linear(config.hidden, width)

    def forward(self, x: Tensor, drop: Callable[[Tensor], Tensor]) -> Tensor:
        query, key, value = self._split(x)
        return self._rest(x, F.scaled_dot_product_attention(query, key, value, is_causal=True), drop)

    def extend(
        self,
        x: Tensor,
        keys: Tensor,
        values: Tensor,
        rows: Tensor | None,
        target: tuple[Tensor, Tensor],
        new: Tensor,
        end: int,
        seen: Tensor,
    ) -> Tensor:
        """As `TinyTransformer.extend`, of one layer, whose keys and values are (rows, places, heads, size)."""
        query, key, value = self._split(x)
        keys[target], values[target] = key.transpose(1, 2)[new], value.transpose(1, 2)[new]
        before, told = keys[:, :end], values[:, :end]
        if rows is not None:
            before, told = before[rows], told[rows]
        mixed = F.scaled_dot_product_attention(query, before.transpose(1, 2), told.transpose(1, 2), attn_mask=seen)
        return self._rest(x, mixed)

    def _split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, (B, heads, L, size) each."""
        B, L, width = x.shape
        parts = self.qkv(self.norm1(x)).view(B, L, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        return query, key, value

    def _rest(self, x: Tensor, mixed: Tensor, drop: Callable[[Tensor], Tensor] = nothing_dropped) -> Tensor:
        x = x + drop(self.out(mixed.transpose(1, 2).flatten(2)))
        added: Tensor = x + drop(self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh")))
        return added


@dataclass
class KeptKeys:
    """Keys and values of what rows have read.

    Attributes:
        keys, values: Of each layer (rows, places, heads, size); room for more places is made as it is needed.
        positions: Most places.
    """

    keys: list[Tensor]
    values: list[Tensor]
    positions: int

    @classmethod
    def none(cls, network: TinyTransformer) -> KeptKeys:
        """Of no rows."""
        config = network.config
        shape = (0, min(_PLACES, config.positions), config.heads, config.width // config.heads)
        empty = [torch.zeros(shape, device=network.device) for _ in range(2 * config.layers)]
        return cls(empty[: config.layers], empty[config.layers :], config.positions)

    def arranged(self, order: Sequence[int]) -> KeptKeys:
        """Of other rows: numbers of those that are kept, -1 for a new one."""
        device = self.keys[0].device
        new = [k for k, number in enumerate(order) if number < 0]
        chosen = torch.tensor([max(number, 0) for number in order], dtype=torch.long, device=device)

        def moved(kept: Tensor) -> Tensor:
            if not len(kept):
                return kept.new_zeros((len(order), *kept.shape[1:]))
            taken = kept[chosen]
            taken[new] = 0.0
            return taken

        return KeptKeys([moved(one) for one in self.keys], [moved(one) for one in self.values], self.positions)

    def reserve(self, places: int) -> None:
        """Make room for so many places."""
        have = self.keys[0].shape[1]
        if places > have:
            more = min(max(places, 2 * have), self.positions) - have
            self.keys = [F.pad(one, (0, 0, 0, 0, 0, more)) for one in self.keys]
            self.values = [F.pad(one, (0, 0, 0, 0, 0, more)) for one in self.values]


_PLACES = 64
"""Places at first [tokens]; chosen by hand, a conversation's first turns."""
