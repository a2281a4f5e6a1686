"""The network of the learned reader, in PyTorch: MiniLM's encoder, and a small decoder that writes symbols of the
plan's grammar or copies words of its input. `toolhand.agent_node.plan.network` is the same in NumPy, without gradients.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from toolhand.agent_node.plan.network import HEADS

WIDTH = 384
"""Of a state of MiniLM-L6 [-]."""
LAYERS, DECODER_LAYERS, DECODER_INNER = 6, 2, 1024
"""Layers of both; width inside the decoder's."""
LONGEST_PLAN = 72
"""Most steps of a plan [-]."""


class Attention(nn.Module):
    """Attention of many heads with a sum and a norm after it, as BERT has it."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: Tensor, to: Tensor, mask: Tensor, drop: float) -> Tensor:
        """x (b, n, d) attends to (b, m, d); mask (b, 1, n or 1, m) is True where it may."""

        def split(y: Tensor) -> Tensor:
            return y.view(y.shape[0], y.shape[1], HEADS, WIDTH // HEADS).transpose(1, 2)

        # Written out: on processors the backward pass of PyTorch's own takes as long as all the rest.
        scores = split(self.query(x)) @ split(self.key(to)).transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        found = functional.softmax(scores.masked_fill(~mask, -1e4), dim=3).to(scores.dtype) @ split(self.value(to))
        found = self.out(found.transpose(1, 2).reshape(x.shape))
        return self.norm(x + functional.dropout(found, drop, self.training))


class Inner(nn.Module):
    """Two linear layers with GELU between them, a sum and a norm."""

    def __init__(self, inner: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, inner), nn.Linear(inner, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: Tensor, drop: float) -> Tensor:
        """x (b, n, d)."""
        return self.norm(x + functional.dropout(self.down(functional.gelu(self.up(x))), drop, self.training))


class ReaderNetwork(nn.Module):
    """Reads pieces of an utterance and of what was before it, and scores the steps of a plan.

    Args:
        pieces: Size of the vocabulary of pieces.
        symbols: Number of symbols that it writes.
        drop: Dropout while it learns [0..1].
    """

    def __init__(self, pieces: int, symbols: int, drop: float = 0.1) -> None:
        super().__init__()
        self.drop = drop
        self.piece, self.place, self.side = (
            nn.Embedding(pieces, WIDTH),
            nn.Embedding(512, WIDTH),
            nn.Embedding(2, WIDTH),
        )
        self.first_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.encoder = nn.ModuleList(nn.ModuleDict({"own": Attention(), "inner": Inner(1536)}) for _ in range(LAYERS))
        self.symbol, self.step = nn.Embedding(symbols + 1, WIDTH), nn.Embedding(LONGEST_PLAN, WIDTH)
        self.copied = nn.Linear(WIDTH, WIDTH)
        self.plan_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.decoder = nn.ModuleList(
            nn.ModuleDict({"own": Attention(), "read": Attention(), "inner": Inner(DECODER_INNER)})
            for _ in range(DECODER_LAYERS)
        )
        self.choose, self.choose_bias = nn.Linear(WIDTH, WIDTH), nn.Parameter(torch.zeros(symbols))
        self.ask, self.offer = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        for new in (self.symbol, self.step):
            nn.init.normal_(new.weight, std=0.02)

    def start_from(self, weights: dict[str, Tensor], rows: Tensor) -> None:
        """Take over MiniLM's encoder; `rows` are the numbers of the pieces that are kept."""
        names = {"query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
                 "out": "attention.output.dense", "norm": "attention.output.LayerNorm"}  # fmt: skip
        with torch.no_grad():
            self.piece.weight.copy_(weights["embeddings.word_embeddings.weight"][rows])
            self.place.weight.copy_(weights["embeddings.position_embeddings.weight"])
            self.side.weight.copy_(weights["embeddings.token_type_embeddings.weight"])
            pairs: list[tuple[Any, str]] = [(self.first_norm, "embeddings.LayerNorm")]
            for k, layer in enumerate(_parts(self.encoder)):
                at = f"encoder.layer.{k}"
                pairs += [(getattr(layer["own"], mine), f"{at}.{theirs}") for mine, theirs in names.items()]
                pairs += [(layer["inner"].up, f"{at}.intermediate.dense"), (layer["inner"].down, f"{at}.output.dense")]
                pairs += [(layer["inner"].norm, f"{at}.output.LayerNorm")]
            for module, name in pairs:
                module.weight.copy_(weights[f"{name}.weight"])
                module.bias.copy_(weights[f"{name}.bias"])

    def read(self, ids: Tensor, types: Tensor, there: Tensor) -> Tensor:
        """Encoder states (b, n, d) of ids and types (b, n); `there` is True where a piece is."""
        x = self.piece(ids) + self.place.weight[: ids.shape[1]] + self.side(types)
        x = functional.dropout(self.first_norm(x), self.drop, self.training)
        for layer in _parts(self.encoder):
            x = layer["inner"](layer["own"](x, x, there[:, None, None, :], self.drop), self.drop)
        return x

    def write(
        self, states: Tensor, there: Tensor, starts: Tensor, words: Tensor, symbols: Tensor, copies: Tensor
    ) -> Tensor:
        """Scores (b, t, symbols + words) of each step.

        Args:
            states: States of the encoder, (b, n, d).
            there: True where a piece is, (b, n).
            starts: First piece of each word, (b, w).
            words: True where a word is, (b, w).
            symbols: Symbol of the step before each one, (b, t); the last symbol + 1 for a copied word.
            copies: Word that was copied in the step before, (b, t); -1 where none was.
        """
        heads = states.gather(1, starts[..., None].expand(-1, -1, WIDTH))
        taken = heads.gather(1, copies.clamp(min=0)[..., None].expand(-1, -1, WIDTH))
        x = self.symbol(symbols) + self.copied(taken) * (copies >= 0)[..., None] + self.step.weight[: symbols.shape[1]]
        x = functional.dropout(self.plan_norm(x), self.drop, self.training)
        steps = symbols.shape[1]
        past = torch.ones(steps, steps, dtype=torch.bool).tril()[None, None]
        for layer in _parts(self.decoder):
            x = layer["own"](x, x, past, self.drop)
            x = layer["inner"](layer["read"](x, states, there[:, None, None, :], self.drop), self.drop)
        fixed = self.choose(x) @ self.symbol.weight[:-1].T + self.choose_bias
        open_ = self.ask(x) @ self.offer(heads).transpose(1, 2) / math.sqrt(WIDTH)
        return torch.cat([fixed, open_.masked_fill(~words[:, None, :], -1e9)], dim=2)


def _parts(layers: nn.ModuleList) -> list[Any]:
    """The layers, whose parts are called by name."""
    return list(layers)
