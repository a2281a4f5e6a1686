"""The tiny policy's network in torch: the same as `agent_node.policies.tiny.network` in numpy, to be trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from agent_node.policies.tiny.network import NORM_EPSILON
from agent_node.policies.tiny.visual_encoder import VISUAL_WIDTH
from agent_node.policies.tiny.weights import TinyConfig, TinyWeights
from tool_nodes.extras import install_extra
from tool_nodes.results import invalid, unavailable

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F
except ImportError as error:  # pragma: no cover
    raise unavailable(
        "Training the small policy needs torch, which is not installed.", f"Install it with: {install_extra('learn')}"
    ) from error


def chosen_device(name: str) -> torch.device:
    """The device of a name, "auto" for a GPU where there is one. Raises ToolError INVALID_ARGUMENT for another name."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
        return device
    except (RuntimeError, AssertionError) as error:
        raise invalid(f"torch has no device {name[:60]!r} here: take auto, cpu or cuda.") from error


def nothing_dropped(x: Tensor) -> Tensor:
    """All of it."""
    return x


@dataclass(frozen=True)
class Dropout:
    """Sets a share of all numbers to 0 and makes the others as much larger (Srivastava et al. 2014).

    Attributes:
        share: Below 1.
        generator: Generator of the draws, so that a training that goes on has the same ones.
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
        self.before = nn.Linear(width, width, bias=False)
        self.eye = nn.Linear(VISUAL_WIDTH, width, bias=False)
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
        """Its weights, with vocabulary and visual encoder of the policy that it was made from.

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

    def forward(
        self, tokens: Tensor, visual_features: Tensor, drop: Callable[[Tensor], Tensor] = nothing_dropped
    ) -> Tensor:
        """Read whole rows from their beginnings.

        Args:
            tokens: (B, L) int64; what fills a row up stands at its end, and is seen by nothing before it.
            visual_features: (B, L, VISUAL_WIDTH).
            drop: Dropout of the embeddings, and of what each layer adds, as in GPT-2.

        Returns:
            (B, L, width): what `logits` takes.
        """
        places = torch.arange(tokens.shape[1], device=tokens.device)
        of_tokens = F.embedding(tokens, self.embedding())
        of_those_before = F.pad(self.before(of_tokens[:, :-1]), (0, 0, 1, 0))
        x = drop(of_tokens + of_those_before + self.position(places) + self.eye(visual_features))
        for layer in self.layer:
            x = layer(x, drop)
        hidden: Tensor = self.norm(x)
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """(..., V) of hidden states (..., width)."""
        return hidden @ self.embedding().T


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
        B, L, width = x.shape
        parts = self.qkv(self.norm1(x)).view(B, L, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)  # (B, heads, L, width / heads) each
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + drop(self.out(mixed.transpose(1, 2).flatten(2)))
        added: Tensor = x + drop(self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh")))
        return added
