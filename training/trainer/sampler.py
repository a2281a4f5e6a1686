"""The tiny policy for many conversations at once, in torch: one step of the network samples a token of each.

Keys and values of what was read are kept from turn to turn, so that a turn costs its new tokens alone; rows are as long
as they are, and nothing is read twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray

from agent_node.policies.tiny.context import ContextReader, TinyContext
from agent_node.policies.tiny.dialect import render_turn
from agent_node.policies.tiny.eyes import EYE_WIDTH
from agent_node.policies.tiny.grammar import TurnGrammar
from agent_node.policies.tiny.policy import TURN_TOKENS
from agent_node.policies.tiny.vocabulary import END
from agent_node.policies.tiny.weights import TinyWeights
from agent_node.policy import Message, Reply
from agent_node.protocol import Protocol, load_protocol
from tool_nodes.results import ErrorCode, ToolError
from training.trainer.network import KeptKeys, TinyTransformer, chosen_device


@dataclass(frozen=True)
class SampledTurn:
    """One turn as it was sampled.

    Attributes:
        tokens: Its ids, the one that ended it included.
        logprobs: Natural, at temperature 1.
    """

    tokens: tuple[int, ...]
    logprobs: tuple[float, ...]


class CachedSampler:
    """Samples turns of many rows; what each row has read is kept.

    Args:
        network: Used as it is: its weights may change between episodes, not within.
        end: Id of the token that ends a turn.
        most_tokens: Longest turn.
        temperature: 0 takes the likeliest token.
        grammar: Of what may be sampled; anything where None.
    """

    def __init__(
        self,
        network: TinyTransformer,
        end: int,
        most_tokens: int = TURN_TOKENS,
        temperature: float = 1.0,
        grammar: TurnGrammar | None = None,
    ) -> None:
        if most_tokens < 1 or not temperature >= 0:
            raise ToolError(ErrorCode.INVALID_ARGUMENT, "most_tokens must be 1 or more, and temperature 0 or more.")
        self._network, self._end, self._grammar = network, end, grammar
        self._most_tokens, self._temperature = most_tokens, temperature
        self._kept = KeptKeys.none(network)
        self._read: list[NDArray[np.int32]] = []
        self.tokens_read = self.tokens_sampled = 0
        """So far, of all rows."""

    def arrange(self, order: Sequence[int]) -> None:
        """Which rows the next turns are of: numbers of former rows, each once at most, -1 for a new one."""
        if list(order) != list(range(len(self._read))):
            self._kept = self._kept.arranged(order)
            empty = np.zeros(0, np.int32)
            self._read = [self._read[k] if k >= 0 else empty for k in order]

    @torch.no_grad()
    def turns(self, contexts: Sequence[TinyContext], rngs: Sequence[np.random.Generator]) -> list[SampledTurn]:
        """The next turn of every row.

        Args:
            contexts: The whole of each row; only what is new since the turn before is read. Shorter than the network's
                positions: a turn is cut where these end.
            rngs: What each row draws from.
        """
        self._network.eval()
        known = [_common(read, context.tokens) for read, context in zip(self._read, contexts, strict=True)]
        known = [min(k, len(context) - 1) for k, context in zip(known, contexts, strict=True)]
        room = [self._network.config.positions - len(context) for context in contexts]
        logits = self._extend(
            [context.tokens[k:] for k, context in zip(known, contexts, strict=True)],
            [context.eyes[k:] for k, context in zip(known, contexts, strict=True)],
            known,
        )
        tokens: list[list[int]] = [[] for _ in contexts]
        logprobs: list[list[float]] = [[] for _ in contexts]
        lengths = [len(context) for context in contexts]
        grammar = self._grammar
        guides = [None if grammar is None else grammar.turn(one.tokens, one.sampled) for one in contexts]
        speaking = list(range(len(contexts)))
        rows = speaking
        eyes = np.zeros((1, EYE_WIDTH), np.float32)
        while True:
            at = {row: k for k, row in enumerate(rows)}
            for row in speaking:
                guide, own = guides[row], logits[at[row]]
                token, logprob = self._drawn(own if guide is None else np.where(guide.mask, own, -np.inf), rngs[row])
                if guide is not None:
                    guide.take(token)
                tokens[row].append(token)
                logprobs[row].append(logprob)
            speaking = [
                row for row in speaking
                if tokens[row][-1] != self._end and len(tokens[row]) < min(self._most_tokens, room[row])
            ]  # fmt: skip
            if not speaking:
                break
            if len(speaking) <= len(rows) // 2:
                rows = speaking
            new = [np.array(tokens[row][-1:] if row in speaking else [], np.int32) for row in rows]
            starts = [lengths[row] + len(tokens[row]) - 1 for row in rows]
            logits = self._extend(new, [eyes[: len(part)] for part in new], starts, rows)
        self._read = [
            np.concatenate([context.tokens, np.array(said[:-1], np.int32)])
            for context, said in zip(contexts, tokens, strict=True)
        ]
        self.tokens_sampled += sum(map(len, tokens))
        return [SampledTurn(tuple(said), tuple(told)) for said, told in zip(tokens, logprobs, strict=True)]

    def _extend(
        self,
        tokens: Sequence[NDArray[np.int32]],
        eyes: Sequence[NDArray[np.float32]],
        starts: Sequence[int],
        rows: Sequence[int] | None = None,
    ) -> NDArray[np.float64]:
        """Logits (n, V) after the last of the new tokens of each row; of a row without one they mean nothing."""
        counts = [len(part) for part in tokens]
        width = max(counts)
        padded = np.zeros((len(tokens), width), np.int64)
        seen = np.zeros((len(tokens), width, EYE_WIDTH), np.float32)
        for k, (part, features) in enumerate(zip(tokens, eyes, strict=True)):
            padded[k, : counts[k]], seen[k, : counts[k]] = part, features
        self.tokens_read += sum(counts)
        device = self._network.device
        hidden = self._network.extend(
            self._kept,
            None if rows is None or len(rows) == len(self._read) else torch.tensor(rows, device=device),
            torch.from_numpy(padded).to(device),
            torch.from_numpy(seen).to(device),
            torch.tensor(starts, device=device),
            torch.tensor(counts, device=device),
        )
        last = torch.tensor([max(count - 1, 0) for count in counts], device=device)
        logits = self._network.logits(hidden[torch.arange(len(counts), device=device), last])
        return logits.double().cpu().numpy()

    def _drawn(self, logits: NDArray[np.float64], rng: np.random.Generator) -> tuple[int, float]:
        """A token and its log-probability at temperature 1."""
        logprobs = logits - logits.max()
        logprobs -= np.log(np.exp(logprobs).sum())
        if self._temperature == 0:
            token = int(np.argmax(logprobs))
        else:
            shares = np.cumsum(np.exp((logprobs - logprobs.max()) / self._temperature))
            token = min(int(np.searchsorted(shares, rng.random() * shares[-1], side="right")), len(shares) - 1)
        return token, float(logprobs[token])


@dataclass
class _Slot:
    """One conversation under way."""

    reader: ContextReader
    rng: np.random.Generator
    messages: tuple[Message, ...] = ()
    said: str = ""


@dataclass(frozen=True)
class _Due:
    """A turn that is to be sampled."""

    place: int
    slot: _Slot
    context: TinyContext
    messages: tuple[Message, ...] = field(repr=False)


class TinySampler:
    """The tiny policy as a `training.env.batch.BatchPolicy`.

    A conversation that goes on from one of the call before keeps what was read of it; all others are read from their
    beginning, and what the call before had and this one has not is let go.

    Args:
        weights: Of the policy.
        seed: Of the sampling; each conversation draws from a stream of its own.
        temperature: 0 takes the likeliest token.
        most_tokens: Longest turn.
        device: "cpu", "cuda", or "auto": a GPU where there is one.
        protocol: How turns are written; SpaceTools' where None.

    Raises:
        ToolError: UNAVAILABLE without torch or the device; INVALID_ARGUMENT for numbers that make no sense.
    """

    name = "tiny"

    def __init__(
        self,
        weights: TinyWeights,
        seed: int = 0,
        temperature: float = 1.0,
        most_tokens: int = TURN_TOKENS,
        device: str = "auto",
        protocol: Protocol | None = None,
    ) -> None:
        network = TinyTransformer.from_weights(weights).to(chosen_device(device))
        self._vocabulary, self._eyes = weights.vocabulary, weights.eyes
        self._protocol = protocol or load_protocol("spacetools")
        self._sampler = CachedSampler(network, weights.vocabulary.id(END), most_tokens, temperature, weights.grammar)
        self._positions = network.config.positions
        self._seed, self._begun = seed, 0
        self._slots: list[_Slot] = []

    @property
    def tokens_read(self) -> int:
        """By the network so far: each token once, however long the conversation."""
        return self._sampler.tokens_read

    def respond_all(self, conversations: Sequence[Sequence[Message]]) -> list[Reply | ToolError]:
        """See `training.env.batch.BatchPolicy`; a conversation that cannot be read ends alone."""
        replies: list[Reply | ToolError | None] = [None] * len(conversations)
        due, order, left = [], [], list(range(len(self._slots)))
        for place, conversation in enumerate(conversations):
            messages = tuple(conversation)
            number = next((k for k in left if _goes_on(self._slots[k], messages)), -1)
            slot = self._slots[number] if number >= 0 else self._begin()
            try:
                context = slot.reader.read(messages)
                if len(context) >= self._positions:
                    raise ToolError(
                        ErrorCode.TURN_BUDGET,
                        f"The conversation has {len(context)} tokens; the small policy reads {self._positions - 1}.",
                    )
            except ToolError as error:
                replies[place] = error.with_traceback(None)
                continue
            if number >= 0:
                left.remove(number)
            order.append(number)
            due.append(_Due(place, slot, context, messages))
        self._sampler.arrange(order)
        self._slots = [one.slot for one in due]
        if due:
            turns = self._sampler.turns([one.context for one in due], [one.slot.rng for one in due])
            for one, turn in zip(due, turns, strict=True):
                replies[one.place] = self._replied(one, turn)
        return [reply for reply in replies if reply is not None]

    def _begin(self) -> _Slot:
        self._begun += 1
        rng = np.random.default_rng((self._seed, _STREAM, self._begun))
        return _Slot(ContextReader(self._eyes, self._vocabulary, self._protocol), rng)

    def _replied(self, one: _Due, turn: SampledTurn) -> Reply:
        text = render_turn(self._vocabulary.decode(turn.tokens), one.slot.reader.registers, self._protocol)
        one.slot.messages, one.slot.said = one.messages, text
        return Reply(
            text, len(one.context), len(turn.tokens), token_ids=turn.tokens, logprobs=turn.logprobs
        )  # fmt: skip


_STREAM = 31
"""Keeps these random numbers apart from others of the same seed."""


def _goes_on(slot: _Slot, messages: Sequence[Message]) -> bool:
    """Whether a conversation is that of the slot, its answer, and more."""
    known = len(slot.messages)
    return len(messages) > known > 0 and messages[known].text == slot.said and all(
        a is b or (a.role, a.text, a.words) == (b.role, b.text, b.words)
        for a, b in zip(slot.messages, messages, strict=False)
    )  # fmt: skip


def _common(a: NDArray[np.int32], b: NDArray[np.int32]) -> int:
    """Length of the common beginning."""
    n = min(len(a), len(b))
    different = np.flatnonzero(a[:n] != b[:n])
    return int(different[0]) if len(different) else n
