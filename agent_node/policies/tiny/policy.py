"""The small policy: a transformer of less than a million parameters that sees, in numpy.

It works the SpaceTools tools in the dialect of `agent_node.policies.tiny.dialect`. Keys and values of what it has read
stay from turn to turn, so that a turn costs its own tokens and those of the answers before it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from agent_node.policies.accounting import is_command, refusal
from agent_node.policies.options import PolicyOptions, UsageMeter
from agent_node.policies.tiny import vocabulary as v
from agent_node.policies.tiny.context import ContextReader, TinyContext
from agent_node.policies.tiny.dialect import TOOLS, planned, render_turn
from agent_node.policies.tiny.grammar import GuidedTurn
from agent_node.policies.tiny.network import TinyNetwork, log_softmax
from agent_node.policies.tiny.visual_encoder import VISUAL_WIDTH
from agent_node.policies.tiny.weights import TinyWeights
from agent_node.policy import Message, Reply
from agent_node.protocol import Protocol, load_protocol
from tool_nodes.perception.learned.forward import Array
from tool_nodes.results import ErrorCode, ToolError, invalid

TURN_TOKENS = 40
"""Longest turn [tokens]: the longest plan and move of the task generators have about 25. A longer turn is cut, and
what is left is no move."""


class TinyPolicy:
    """Decides by a small network.

    Args:
        weights: Weights of the network, with its vocabulary and visual encoder.
        options: Temperature (0 where None: the likeliest token), seed and budgets.
        protocol: How it writes; SpaceTools' where None.
        schemas: JSON schemas of the toolbox, to see that its tools are there; not looked at where None.

    Raises:
        ToolError: INVALID_ARGUMENT for another protocol than `spacetools`, and for a toolbox without its tools.
    """

    name = "tiny"
    takes_answers = False

    def __init__(
        self,
        weights: TinyWeights,
        options: PolicyOptions | None = None,
        protocol: Protocol | None = None,
        schemas: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        self._protocol = protocol or load_protocol("spacetools")
        _check(self._protocol, schemas)
        self._weights = weights
        self._options = options or PolicyOptions()
        self._meter = UsageMeter(self._options)
        self._reader = ContextReader(weights.visual_encoder, weights.vocabulary, self._protocol)
        self._network = TinyNetwork(weights)
        self._grammar = weights.grammar
        self._behind = TinyContext(np.zeros(0, np.int32), np.zeros((0, VISUAL_WIDTH), np.float32), np.zeros(0, bool))

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The next turn.

        The same conversation, seed and temperature give the same turn, whatever was asked before.

        Raises:
            ToolError: TURN_BUDGET where the conversation or a budget of the options leaves no token; INTERNAL where
                the grammar does; and as `context.read_context`.
        """
        began = time.monotonic()
        context = self._reader.read(conversation)
        room = self._weights.config.positions - len(context)
        if room < 1:
            raise ToolError(
                ErrorCode.TURN_BUDGET,
                f"The small policy reads conversations of up to {self._weights.config.positions} tokens, and this one "
                f"has {len(context)}.",
            )
        allowed = min(room, TURN_TOKENS, self._meter.allowance())
        rng = np.random.default_rng([self._options.seed, len(context)])
        guide = None if self._grammar is None else self._grammar.turn(context.tokens, context.sampled)
        tokens, logprobs = self._sample(self._catch_up(context), guide, rng, allowed)
        self._behind = TinyContext(
            np.concatenate([context.tokens, np.array(tokens[:-1], np.int32)]),
            np.pad(context.visual_features, ((0, len(tokens) - 1), (0, 0))),
            np.pad(context.sampled, (0, len(tokens) - 1), constant_values=True),
        )
        words, registers = self._weights.vocabulary.decode(tokens), self._reader.registers
        text = render_turn(words, registers, self._protocol)
        plan = planned(words, registers) if is_command(conversation[-1]) and not self._options.temperature else ""
        if plan and (told := refusal(conversation[-1].said, plan)):
            protocol = self._protocol or load_protocol("spacetools")
            text, tokens, logprobs = protocol.render_turn("", (), told), [], []
        return Reply(
            text,
            prompt_tokens=len(context),
            completion_tokens=len(words),
            cost=self._meter.spend(len(context), len(words)),
            latency_s=time.monotonic() - began,
            token_ids=tuple(tokens),
            logprobs=tuple(logprobs),
        )

    def _catch_up(self, context: TinyContext) -> Array:
        """Logits (V,) after a context, of which the network may have read a part."""
        behind = self._behind
        # What the network has read of its own turn is compared too: the conversation may hold another one.
        common = min(len(behind), len(context) - 1)
        other = (behind.tokens[:common] != context.tokens[:common]) | (
            behind.visual_features[:common] != context.visual_features[:common]
        ).any(axis=1)
        length = int(other.argmax()) if other.any() else common
        self._network.rewind(length)
        return self._network.read(context.tokens[length:], context.visual_features[length:])[-1]

    def _sample(
        self, logits: Array, guide: GuidedTurn | None, rng: np.random.Generator, most: int
    ) -> tuple[list[int], list[float]]:
        """(tokens of a turn up to its END, their log-probabilities at temperature 1 among those allowed)."""
        end = self._weights.vocabulary.id(v.END)
        tokens: list[int] = []
        logprobs: list[float] = []
        blank = np.zeros((1, VISUAL_WIDTH), np.float32)
        while True:
            if guide is not None:
                allowed = guide.mask
                if not allowed.any():
                    raise ToolError(ErrorCode.INTERNAL, "The dialect leaves nothing to say here: its grammar is wrong.")
                logits = np.where(allowed, logits, np.float32(-np.inf))
            log_p = log_softmax(logits)
            token = drawn_token(logits, self._options.temperature or 0.0, rng)
            tokens.append(token)
            logprobs.append(float(log_p[token]))
            if guide is not None:
                guide.take(token)
            if token == end or len(tokens) == most:
                return tokens, logprobs
            logits = self._network.read(np.array([token], np.int32), blank)[0]


def drawn_token(logits: Array, temperature: float, rng: np.random.Generator) -> int:
    """A token by its logits (V,) at a temperature; the likeliest at 0."""
    if temperature == 0.0:
        return int(logits.argmax())
    p = np.exp(log_softmax(logits / np.float32(temperature)))
    return min(int(np.searchsorted(np.cumsum(p), rng.random(), side="right")), len(p) - 1)


def _check(protocol: Protocol, schemas: Sequence[Mapping[str, Any]] | None) -> None:
    if protocol.name != "spacetools":
        raise invalid(
            f"The small policy writes the protocol spacetools, not {protocol.name}.",
            "Leave out --protocol, or choose another policy.",
        )
    offered = None if schemas is None else {schema["function"]["name"] for schema in schemas}
    missing = [] if offered is None else [name for name in TOOLS if name not in offered]
    if missing:
        raise invalid(
            f"The small policy works the tools of the suite spacetools, and {missing[0]} is not offered.",
            "Choose that suite, or another policy.",
        )
