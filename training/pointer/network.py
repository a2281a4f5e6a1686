"""The pointer's network and its training in torch, which only this file and `hits` need (extra `learn`).

`tool_nodes.perception.learned.forward` is the same network in numpy; `exported` gives its weights, the batch
normalisation folded into the convolutions.

Loss. A phrase that names things: cross-entropy of the softmax over cells against the middle of each thing that is
meant, -mean_k log p(middle of k), and for every cell the focal loss of Lin et al. 2017 (Eq. 4, gamma 2) with the
middles as positives, so that the scores mean something by themselves: several things, or none, may be meant. A phrase
that tells one of several by its place: -log p(middle of that one) of the joint score.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tool_nodes.extras import install_extra
from tool_nodes.files import write_whole
from tool_nodes.perception.learned.forward import CHANNELS, DILATIONS, GRID
from tool_nodes.perception.learned.reading import BESIDE, SIDE_KEYS
from tool_nodes.perception.learned.weights import PointerWeights
from tool_nodes.results import ErrorCode, ToolError, invalid, unavailable
from training.pointer.batch import Batch, PhraseRows

try:
    import torch
    from torch import Tensor, nn
    from torch.nn import functional as F
except ImportError as error:  # pragma: no cover
    raise unavailable(
        "Training the pointer needs torch, which is not installed.", f"Install it with: {install_extra('learn')}"
    ) from error

WIDTH = 48
"""Channels of the cells' features while they are made [-], for the budget of 15 ms a call."""
STEM = 24
"""Channels after the first convolution [-]."""
VECTOR = 64
"""Length of a word's vector [-]."""
STEEP = 15.0
"""What a side's direction is learned in units of: the optimiser moves every number by about the same, and ten
centimetres have to outweigh all doubt about what a thing is."""
HIDDEN = 32
"""Width of the small network that judges "left of" and "next to" [-]."""
LEARNING_RATE = 3e-3
"""Highest, of AdamW: it warms up and falls to zero as a cosine (Loshchilov and Hutter 2017)."""
WARM_UP = 0.05
"""Share of the steps in which it rises."""
FINE_RATE = 1e-3
"""The same where trained weights are improved; a round figure."""
RARE = -4.0
"""Bias of every word at first, log odds: hardly any cell is the middle of what it names."""
FOCAL_GAMMA = 2.0
"""Of the focal loss, as in its paper [-]."""
FOCAL_WEIGHT = 1.0
"""Weight of the focal loss beside the cross-entropy [-]: both count the same."""
_PAD = 30.0
"""Score of a word that a phrase does not have: no soft minimum feels it."""


class PointerNetwork(nn.Module):
    """See the module.

    Args:
        words: Size of the vocabulary.
        heads: Head nouns.
    """

    def __init__(self, words: int, heads: int) -> None:
        super().__init__()
        self.stem = nn.ModuleList(
            [nn.Conv2d(CHANNELS, STEM, 3, 2, 1, bias=False), nn.Conv2d(STEM, WIDTH, 3, 2, 1, bias=False)]
        )
        self.stem_norm = nn.ModuleList([nn.BatchNorm2d(STEM), nn.BatchNorm2d(WIDTH)])
        self.block = nn.ModuleList(
            [nn.Conv2d(WIDTH, WIDTH, 3, 1, dilation, dilation, bias=False) for dilation in DILATIONS]
        )
        self.block_norm = nn.ModuleList([nn.BatchNorm2d(WIDTH) for _ in DILATIONS])
        self.mix = nn.ModuleList([nn.Conv2d(WIDTH, WIDTH, 1) for _ in DILATIONS])
        self.out = nn.Conv2d(WIDTH, VECTOR, 1)
        self.word, self.word_bias = nn.Embedding(words, VECTOR), nn.Embedding(words, 1)
        self.head, self.head_bias = nn.Embedding(heads, VECTOR), nn.Embedding(heads, 1)
        self.sharp = nn.Parameter(torch.tensor([2.0, 2.0]))
        self.side = nn.Parameter(0.1 * torch.randn(len(SIDE_KEYS), 2))
        self.beside = nn.Sequential(nn.Linear(5, HIDDEN), nn.Linear(HIDDEN, len(BESIDE)))
        for embedding in (self.word, self.head):
            nn.init.normal_(embedding.weight, std=0.3)
        for embedding in (self.word_bias, self.head_bias):
            nn.init.constant_(embedding.weight, RARE)

    @property
    def directions(self) -> Tensor:
        """(sides, 2) log odds for each UNIT_M towards a side."""
        return STEEP * self.side

    def encode(self, pictures: Tensor) -> Tensor:
        """Features (B, VECTOR, cells) of pictures (B, 7, 120, 160)."""
        x = pictures
        for convolution, norm in zip(self.stem, self.stem_norm, strict=True):
            x = torch.relu(norm(convolution(x)))
        for convolution, norm, mix in zip(self.block, self.block_norm, self.mix, strict=True):
            x = torch.relu(x + mix(torch.relu(norm(convolution(x)))))
        features: Tensor = self.out(x)
        return features.flatten(2)

    def what(self, features: Tensor, words: Tensor, heads: Tensor) -> Tensor:
        """Log odds (B, Q, cells) that a cell is the middle of what words (B, Q, W; -1 for none) and heads name."""
        words = words[..., : int((words >= 0).sum(-1).max())]
        B, Q, W = words.shape
        there = words >= 0
        rows = words.clamp(min=0)
        vectors = torch.cat([self.word(rows), self.head(heads)[:, :, None]], 2)
        biases = torch.cat([self.word_bias(rows), self.head_bias(heads)[:, :, None]], 2)
        scores = torch.bmm(vectors.reshape(B, Q * (W + 1), VECTOR), features).reshape(B, Q, W + 1, -1) + biases
        absent = ~torch.cat([there, torch.ones_like(heads, dtype=torch.bool)[:, :, None]], 2)
        return -torch.logsumexp(-scores.masked_fill(absent[..., None], _PAD), 2)

    def where(self, features: Tensor, place: Tensor, rows: Rows) -> Tensor:
        """Log probability (B, Q, cells) of being the one that is meant by its place (place is (B, 2, cells))."""
        sided = (rows.side >= 0)[..., None]
        sharp = torch.where(sided, self.sharp[0], self.sharp[1])
        score = sharp * F.logsigmoid(self.what(features, rows.words, rows.heads))
        score = score + sided * torch.einsum("bqd,bdn->bqn", self.directions[rows.side.clamp(min=0)], place)
        columns = (rows.relation >= 0).any(0).nonzero()[:, 0]
        if len(columns):
            score = score.index_add(1, columns, self._beside(features, place, rows, columns))
        return torch.log_softmax(score, -1)

    def _beside(self, features: Tensor, place: Tensor, rows: Rows, columns: Tensor) -> Tensor:
        """How well each cell's offset from the reference fits the relation, for some columns of Q."""
        relation = rows.relation[:, columns]
        share = torch.softmax(
            self.what(features, rows.reference_words[:, columns], rows.reference_heads[:, columns]), -1
        )
        offset = place[:, None] - torch.einsum("bqn,bdn->bqd", share, place)[..., None]
        length = torch.sqrt(offset.square().sum(2, keepdim=True) + 1e-4)
        hidden = torch.relu(self.beside[0](torch.cat([offset, length, offset / length], 2).transpose(2, 3)))
        rows_of, judge = relation.clamp(min=0), self.beside[1]
        assert isinstance(judge, nn.Linear)
        fit = torch.einsum("bqnh,bqh->bqn", hidden, judge.weight[rows_of])
        return (fit + judge.bias[rows_of][..., None]) * (relation >= 0)[..., None]


@dataclass(frozen=True)
class Rows:
    """`PhraseRows` as tensors."""

    words: Tensor
    heads: Tensor
    side: Tensor
    relation: Tensor
    reference_words: Tensor
    reference_heads: Tensor

    @classmethod
    def of(cls, rows: PhraseRows) -> Rows:
        """The same on this side."""
        names = ("words", "heads", "side", "relation", "reference_words", "reference_heads")
        return cls(*(torch.from_numpy(getattr(rows, name)).long() for name in names))


def loss_of(network: PointerNetwork, batch: Batch) -> tuple[Tensor, dict[str, tuple[int, int]]]:
    """The loss of a batch, and (hits, phrases) by what the phrases are."""
    features = network.encode(torch.from_numpy(batch.pictures))
    place = torch.from_numpy(batch.place)
    cells = torch.from_numpy(batch.cells).long()
    centres = torch.from_numpy(batch.centres).long()
    things, meant = Rows.of(batch.things), torch.from_numpy(batch.things.meant).long()
    scores = network.what(features, things.words, things.heads)
    said = torch.from_numpy(batch.things.valid)
    positive = (meant[..., :-1] == 1) & said[..., None]
    at_middle = scores.gather(2, centres[:, None].expand(-1, scores.shape[1], -1))
    normal = torch.logsumexp(scores, 2, keepdim=True)
    counted = positive.sum(2)
    any_meant = counted > 0
    cross = ((normal - at_middle) * positive).sum(2) / counted.clamp(min=1)
    label = meant.gather(2, cells[:, None].expand(-1, scores.shape[1], -1))
    outer = torch.from_numpy(batch.outer)[:, None]
    negative = (label == 0) | ((label == 1) & outer)
    lost = (torch.sigmoid(scores) ** FOCAL_GAMMA * F.softplus(scores) * negative).sum(2)
    found = (torch.sigmoid(-at_middle) ** FOCAL_GAMMA * F.softplus(-at_middle) * positive).sum(2)
    focal = (lost + found) / counted.clamp(min=1)
    total = (cross * any_meant).sum() / any_meant.sum().clamp(min=1)
    total = total + FOCAL_WEIGHT * (focal * said).sum() / said.sum().clamp(min=1)
    tally = {"things": _hits(scores, cells, meant, any_meant)}
    if batch.places.valid.any():
        valid = torch.from_numpy(batch.places.valid)
        one = torch.from_numpy(batch.places.meant).long()
        joint = network.where(features, place, Rows.of(batch.places))
        target = centres.gather(1, one[..., :-1].argmax(2))
        total = total - (joint.gather(2, target[..., None])[..., 0] * valid).sum() / valid.sum()
        beside = torch.from_numpy(batch.places.relation) >= 0
        tally["side"] = _hits(joint, cells, one, valid & ~beside)
        tally["beside"] = _hits(joint, cells, one, valid & beside)
    return total, tally


def _hits(scores: Tensor, cells: Tensor, meant: Tensor, counted: Tensor) -> tuple[int, int]:
    with torch.no_grad():
        best = cells.gather(1, scores.argmax(2))
        hit = (meant.gather(2, best[..., None])[..., 0] == 1) & counted
        return int(hit.sum()), int(counted.sum())


class PointerTrainer:
    """Network and optimiser, a step at a time; saved and read back to the last bit.

    Args:
        words, heads: Sizes of the vocabularies.
        steps: Steps of the whole training, for the learning rate.
        seed: Seed of the first weights.
        threads: Processor threads; another number gives other last digits.
        start: Trained weights with these vocabularies to go on from. Their batch normalisation is part of the
            convolutions and stays so.
    """

    def __init__(
        self, words: int, heads: int, steps: int, seed: int, threads: int, start: PointerWeights | None = None
    ) -> None:
        torch.set_num_threads(threads)
        torch.manual_seed(seed)
        self.network = PointerNetwork(words, heads)
        if start is not None:
            load_exported(self.network, start.tensors)
        self._rate = LEARNING_RATE if start is None else FINE_RATE
        self._batch_statistics = start is None
        self._optimiser = torch.optim.AdamW(self.network.parameters(), self._rate, weight_decay=1e-4)
        self._steps, self.step_number = steps, 0

    @property
    def parameters(self) -> int:
        """How many numbers are learned."""
        return sum(parameter.numel() for parameter in self.network.parameters())

    def step(self, batch: Batch) -> tuple[float, dict[str, tuple[int, int]]]:
        """One step; the loss and (hits, phrases) before it.

        Raises:
            ToolError: INTERNAL where the loss is no number: nothing was changed by it.
        """
        self.network.train(self._batch_statistics)
        for group in self._optimiser.param_groups:
            group["lr"] = self._rate * schedule(self.step_number, self._steps)
        loss, tally = self.loss(batch)
        if not torch.isfinite(loss):
            raise ToolError(
                ErrorCode.INTERNAL, f"The loss of step {self.step_number + 1} is not a number: training stopped."
            )
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self._optimiser.step()
        self.step_number += 1
        return float(loss.detach()), tally

    def loss(self, batch: Batch) -> tuple[Tensor, dict[str, tuple[int, int]]]:
        """What a step makes smaller, and (hits, phrases) by what the phrases are: `loss_of`, from labels."""
        return loss_of(self.network, batch)

    def check(self, batches: Iterator[Batch]) -> dict[str, tuple[int, int]]:
        """(hits, phrases) of batches that are not trained on."""
        self.network.eval()
        total: dict[str, tuple[int, int]] = {}
        with torch.no_grad():
            for batch in batches:
                for name, (hits, n) in loss_of(self.network, batch)[1].items():
                    before = total.get(name, (0, 0))
                    total[name] = before[0] + hits, before[1] + n
        return total

    def save(self, path: Path, more: Mapping[str, Any]) -> None:
        """Write a checkpoint, whole or not at all. Raises OSError."""
        state = {"network": self.network.state_dict(), "optimiser": self._optimiser.state_dict()}
        buffer = io.BytesIO()
        torch.save({**state, "step": self.step_number, "more": dict(more)}, buffer)
        write_whole(path, buffer.getvalue())

    def load(self, path: Path) -> dict[str, Any]:
        """Go on from a checkpoint; what was saved beside it. Raises ToolError INVALID_ARGUMENT where it is damaged."""
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            self.network.load_state_dict(state["network"])
            self._optimiser.load_state_dict(state["optimiser"])
            self.step_number = int(state["step"])
            return dict(state["more"])
        except Exception as error:
            raise invalid(
                f"The checkpoint {path} is damaged or of another training.", "Delete it to begin again."
            ) from error


def schedule(step: int, steps: int) -> float:
    """Share of the highest learning rate in a step of `steps`."""
    progress = step / steps
    if progress < WARM_UP:
        return (progress + 1e-3) / WARM_UP
    return 0.5 * (1.0 + float(np.cos(np.pi * (progress - WARM_UP) / (1.0 - WARM_UP))))


def _folded(convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
    """Weight and bias of a convolution that does its batch normalisation as well."""
    assert norm.running_var is not None
    assert norm.running_mean is not None
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    return convolution.weight * scale[:, None, None, None], norm.bias - norm.running_mean * scale


@torch.no_grad()
def exported(network: PointerNetwork) -> dict[str, NDArray[np.float32]]:
    """The weights as `tool_nodes.perception.learned.forward.PointerForward` takes them."""
    tensors: dict[str, Tensor] = {}
    layers: Sequence[tuple[str, Any, Any]] = (
        ("stem", network.stem, network.stem_norm),
        ("block", network.block, network.block_norm),
    )
    for name, convolutions, norms in layers:
        for k, (convolution, norm) in enumerate(zip(convolutions, norms, strict=True)):
            tensors[f"{name}.{k}.weight"], tensors[f"{name}.{k}.bias"] = _folded(convolution, norm)
    named: list[tuple[str, Any]] = [(f"mix.{k}", mix) for k, mix in enumerate(network.mix)]
    named += [("out", network.out), *((f"beside.{k}", layer) for k, layer in enumerate(network.beside))]
    for name, layer in named:
        tensors[f"{name}.weight"], tensors[f"{name}.bias"] = layer.weight.flatten(1), layer.bias
    tensors |= {"word.weight": network.word.weight, "word.bias": network.word_bias.weight[:, 0]}
    tensors |= {"head.weight": network.head.weight, "head.bias": network.head_bias.weight[:, 0]}
    tensors |= {"side.weight": network.directions, "sharp": network.sharp}
    return {name: np.ascontiguousarray(tensor.detach().numpy(), np.float32) for name, tensor in tensors.items()}


@torch.no_grad()
def load_exported(network: PointerNetwork, tensors: Mapping[str, NDArray[np.float32]]) -> None:
    """Give a network weights of `exported`: it computes the same as long as it is not in training mode.

    Raises:
        ToolError: INVALID_ARGUMENT for weights of another size.
    """
    given = {name: torch.from_numpy(np.array(tensor)) for name, tensor in tensors.items()}
    given["side"] = given.pop("side.weight") / STEEP
    for name in ("word", "head"):
        given[f"{name}_bias.weight"] = given.pop(f"{name}.bias")
    for layer, norms in (("stem", network.stem_norm), ("block", network.block_norm)):
        for k, norm in enumerate(norms):
            assert isinstance(norm, nn.BatchNorm2d)
            given[f"{layer}_norm.{k}.bias"] = given.pop(f"{layer}.{k}.bias")
            given[f"{layer}_norm.{k}.weight"] = torch.ones(norm.num_features)
            given[f"{layer}_norm.{k}.running_mean"] = torch.zeros(norm.num_features)
            given[f"{layer}_norm.{k}.running_var"] = torch.full((norm.num_features,), 1.0 - norm.eps)
    own = network.state_dict()
    wrong = [name for name, value in given.items() if name not in own or value.numel() != own[name].numel()]
    if wrong:
        raise invalid(
            f"The weights are of a network of another size: {', '.join(wrong[:3])}.",
            "Go on from weights that this version has trained.",
        )
    network.load_state_dict(own | {name: value.reshape(own[name].shape) for name, value in given.items()})


def scores_of(network: PointerNetwork, picture: NDArray[np.float32], words: Sequence[int], head: int) -> Any:
    """(features, scores) in torch of one picture (7, 120, 160) and phrase, for comparison with numpy."""
    network.eval()
    with torch.no_grad():
        features = network.encode(torch.from_numpy(picture[None]))
        rows = torch.tensor([[list(words)]], dtype=torch.long)
        scores = network.what(features, rows, torch.tensor([[head]]))
    assert features.shape[2] == GRID[0] * GRID[1]
    return features[0].numpy(), scores[0, 0].numpy()
