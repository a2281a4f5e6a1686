"""Fits the learned reader to what people say, and judges it on authors that it has not read."""

from __future__ import annotations

import math
import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from toolhand.agent_node.plan.grammar import symbols as fixed_symbols
from toolhand.agent_node.plan.learned import END_SYMBOL, START_SYMBOL
from toolhand.agent_node.plan.pieces import PieceVocabulary, ReaderInput
from toolhand.training.reader.corpus import SaidPlan, Varied, target
from toolhand.training.reader.network import LONGEST_PLAN, ReaderNetwork


@dataclass(frozen=True)
class ReaderVocabulary:
    """What the network reads and writes: pieces of words, and symbols, the fixed ones first.

    Attributes:
        pieces: Pieces in the order of their numbers.
        symbols: The first and the last step, fixed words of the grammar, then words that it may write without reading
            them.
        fixed: Number of symbols that are no free words.
    """

    pieces: tuple[str, ...]
    symbols: tuple[str, ...]
    fixed: int


def vocabulary(
    readings: Iterable[SaidPlan], pieces: Sequence[str], names: frozenset[str], least: int = 8
) -> ReaderVocabulary:
    """The vocabulary of these readings: a word that is not read is written where at least `least` plans need it and it
    is no name of an object, which only the input can give."""
    encoder = PieceVocabulary(pieces)
    missing: Counter[str] = Counter()
    for reading in readings:
        source = encoder.encode(reading.said, reading.context)
        missing.update({w for t, w, at in target(reading, source.words) if t in ("WORD", "NUMBER", "SAID") and not at})
    free = sorted(word for word, count in missing.items() if count >= least and word not in names)
    fixed = (START_SYMBOL, END_SYMBOL, *sorted(fixed_symbols()))
    return ReaderVocabulary(tuple(pieces), (*fixed, *free), len(fixed))


@dataclass(frozen=True)
class Sample:
    """A reading as numbers: `gold` are the choices of each step, any one of which is right."""

    source: ReaderInput
    symbols: tuple[int, ...]
    copies: tuple[int, ...]
    gold: tuple[tuple[int, ...], ...]


class Sampler:
    """Turns readings into samples."""

    def __init__(self, known: ReaderVocabulary) -> None:
        self._known, self._encoder = known, PieceVocabulary(known.pieces)
        self._fixed = {symbol: k for k, symbol in enumerate(known.symbols[: known.fixed])}
        self._free = {symbol: known.fixed + k for k, symbol in enumerate(known.symbols[known.fixed :])}

    def sample(self, reading: SaidPlan) -> Sample | None:
        """The sample; None where a word of the plan can be neither copied nor written."""
        source = self._encoder.encode(reading.said, reading.context)
        many = len(self._known.symbols)
        symbols, copies = [self._fixed[START_SYMBOL]], [-1]
        gold: list[tuple[int, ...]] = []
        for terminal, words, places in target(reading, source.words):
            if terminal not in ("WORD", "NUMBER", "SAID"):
                gold.append((self._fixed[words],))
                symbols.append(self._fixed[words])
                copies.append(-1)
            elif places:
                gold.append(tuple(many + k for k in places))
                symbols.append(many)
                copies.append(places[0])
            elif words in self._free:
                gold.append((self._free[words],))
                symbols.append(self._free[words])
                copies.append(-1)
            else:
                return None
        gold.append((self._fixed[END_SYMBOL],))
        if len(gold) > LONGEST_PLAN:
            return None
        return Sample(source, tuple(symbols), tuple(copies), tuple(gold))


def batch(samples: Sequence[Sample]) -> dict[str, Tensor]:
    """Padded arrays of samples, see `ReaderNetwork`."""
    n, w, t = (max(len(get(s)) for s in samples) for get in (_pieces, _words, _steps))
    ids, types = torch.zeros(len(samples), n, dtype=torch.long), torch.zeros(len(samples), n, dtype=torch.long)
    there, words = torch.zeros(len(samples), n, dtype=torch.bool), torch.zeros(len(samples), w, dtype=torch.bool)
    starts = torch.zeros(len(samples), w, dtype=torch.long)
    symbols, copies = torch.zeros(len(samples), t, dtype=torch.long), torch.full((len(samples), t), -1)
    for k, sample in enumerate(samples):
        source = sample.source
        ids[k, : len(source.ids)], types[k, : len(source.ids)] = torch.tensor(source.ids), torch.tensor(source.types)
        there[k, : len(source.ids)], words[k, : len(source.starts)] = True, True
        starts[k, : len(source.starts)] = torch.tensor(source.starts)
        symbols[k, : len(sample.symbols)] = torch.tensor(sample.symbols)
        copies[k, : len(sample.copies)] = torch.tensor(sample.copies)
    return {
        "ids": ids,
        "types": types,
        "there": there,
        "starts": starts,
        "words": words,
        "symbols": symbols,
        "copies": copies,
    }


def _pieces(sample: Sample) -> tuple[int, ...]:
    return sample.source.ids


def _words(sample: Sample) -> tuple[int, ...]:
    return sample.source.starts


def _steps(sample: Sample) -> tuple[int, ...]:
    return sample.symbols


def loss(network: ReaderNetwork, samples: Sequence[Sample], blank: float = 0.0, smooth: float = 0.02) -> Tensor:
    """Mean over steps of the log-probability that any right choice is made, smoothed.

    Args:
        network: It.
        samples: Samples.
        blank: Share of steps that are not told what was written before them [0..1], so that a wrong one does not lead
            the rest astray.
        smooth: Weight of an even distribution over all choices [0..1].
    """
    arrays = batch(samples)
    unseen = torch.rand(arrays["symbols"].shape) < blank
    arrays["symbols"][unseen], arrays["copies"][unseen] = 0, -1
    states = network.read(arrays["ids"], arrays["types"], arrays["there"])
    scores = network.write(states, arrays["there"], *(arrays[k] for k in ("starts", "words", "symbols", "copies")))
    right = torch.zeros_like(scores, dtype=torch.bool)
    counted = torch.zeros(scores.shape[:2], dtype=torch.bool)
    for k, sample in enumerate(samples):
        for step, gold in enumerate(sample.gold):
            right[k, step, list(gold)] = True
            counted[k, step] = True
    logs = functional.log_softmax(scores.float(), dim=2)
    hit = torch.logsumexp(logs.masked_fill(~right, -1e9), dim=2)
    open_ = scores > -1e8
    even = (logs.masked_fill(~open_, 0.0)).sum(2) / open_.sum(2)
    return -(((1 - smooth) * hit + smooth * even)[counted]).mean()


def fit(
    network: ReaderNetwork,
    readings: Sequence[SaidPlan],
    known: ReaderVocabulary,
    names: Sequence[str],
    *,
    seed: int,
    epochs: int,
    noise: float = 0.5,
    size: int = 48,
    rate: float = 6e-4,
    encoder_rate: float = 1e-4,
    told: Any = print,
    each: Any = None,
) -> None:
    """Fit the network; `told` gets a line now and then, `each` is called with the number of each epoch."""
    torch.manual_seed(seed)
    chance, varied, sampler = random.Random(seed), Varied(names, seed, noise), Sampler(known)
    network.piece.weight.requires_grad_(False)
    own = {
        id(p)
        for part in (network.piece, network.place, network.side, network.first_norm, network.encoder)
        for p in part.parameters()
    }
    groups = [
        {"params": [p for p in network.parameters() if id(p) in own and p.requires_grad], "lr": encoder_rate},
        {"params": [p for p in network.parameters() if id(p) not in own], "lr": rate},
    ]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01, fused=True)
    total = epochs * math.ceil(len(readings) / size)
    warm = max(1, min(200, total // 10))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda k: min((k + 1) / warm, max(0.03, (total - k) / max(1, total - warm)))
    )
    begun, steps, recent = time.monotonic(), 0, 0.0
    for epoch in range(epochs):
        network.train()
        samples = [s for s in map(sampler.sample, varied.epoch(readings)) if s is not None]
        samples.sort(key=lambda s: len(s.source.ids) + 2 * len(s.symbols) + chance.random() * 6)
        batches = [samples[k : k + size] for k in range(0, len(samples), size)]
        chance.shuffle(batches)
        for part in batches:
            optimiser.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):  # the same in single precision took ten times as long
                value = loss(network, part, blank=0.08)
            value.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            steps += 1
            recent = 0.95 * recent + 0.05 * value.item()
            if steps % 100 == 0:
                told(
                    f"step {steps}/{total} loss {recent / (1 - 0.95 ** min(steps, 200)):.3f}"
                    f" {time.monotonic() - begun:.0f} s"
                )
        if each is not None:
            network.eval()
            each(epoch)
