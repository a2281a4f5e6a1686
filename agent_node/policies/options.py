"""Settings of a policy, and a meter of the tokens and money it has spent."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, get_args

from toolhand.tool_nodes.results import ErrorCode, ToolError, invalid

GuidedServer = Literal["vllm", "sglang", "llama.cpp"]
"""Servers that take a grammar with a request, each by a name of its own."""


def _silent(piece: str) -> None:
    """The default of `on_piece`: drops the words."""


def _never() -> bool:
    return False


@dataclass(frozen=True)
class ModelSettings:
    """Settings of a model; the scripted policy needs none.

    Attributes:
        temperature: Sampling temperature; 0 takes the likeliest token. By default Anthropic's API, whose newer models
            take none, is sent none, and everything else 0.
        max_tokens: Longest turn; a longer one is cut and is malformed.
        deadline_s: Longest time of a turn, with every attempt and pause [s].
        token_budget: Tokens of the whole command, read and written.
        cost_budget: Money of the whole command, by the two prices.
        price_prompt: Price of a million tokens read, in any currency.
        price_completion: Price of a million tokens written.
        price_cached: Price of a million of the tokens read that the server had in its cache; that of reading where
            None.
        picture_format: "jpeg" sends a server what `ImageParts` makes of an image, a sixth of the size; "png" keeps
            every pixel as the tools saw it.
        logprobs: Ask a server for the log-probability and the id of each token, for trajectory.jsonl. A server that
            refuses is asked no more, and the turn has none. A model in this process gives both in any case.
        text_only: The chat completion server's model has no eyes: it is sent words alone, and of an image what they
            call it.
        guided: Send a chat completion server, of this kind, a grammar with each turn: what the model writes is then in
            the form of the protocol, and calls tools that there are with arguments of their types. A server that
            passes over the grammar lets it write freely. A thought and each string may have half as many characters
            as `max_tokens`.
        led_by: A policy, e.g. scripted: the grammar admits the calls that it would make and no others, so that it
            decides and the model only writes the thoughts. Needs `guided`, and a policy that goes on with the turns of
            others.
        adapter: Folder of a LoRA adapter that is put into the weights of a model in this process.
        sure: Least probability of a token of the plan of smollm2, below which it asks for other words and moves
            nothing, from 0 (it always goes on) to 1; 0.8 by default.
    """

    temperature: float | None = None
    max_tokens: int = 2048
    deadline_s: float = 180.0
    token_budget: int | None = None
    cost_budget: float | None = None
    price_prompt: float = 0.0
    price_completion: float = 0.0
    price_cached: float | None = None
    picture_format: Literal["jpeg", "png"] = "jpeg"
    logprobs: bool = False
    text_only: bool = False
    guided: GuidedServer | None = None
    led_by: str = ""
    adapter: str = ""
    sure: float | None = None


@dataclass(frozen=True)
class PolicyOptions(ModelSettings):
    """Settings of every policy, with those of `ModelSettings`; a policy passes over those that mean nothing to it.

    Attributes:
        seed: Seed of sampling (where the server heeds it) and of the jitter between attempts.
        turns: Assistant turns that the agent allows, for policies that plan with it; None for the protocol's.
        api_key: Sent to the server; None takes OPENAI_API_KEY or ANTHROPIC_API_KEY from the environment, which is sent
            only over https or to this machine.
        connect_s, first_token_s: Deadlines [s] within that of the turn: to reach the server, and to its first word (of
            a streamed turn).
        attempts: Tries of one turn while the server is busy, broken or out of reach.
        backoff_s, longest_pause_s: First pause between attempts, which doubles, and the longest one [s], also where
            the server asks for one with Retry-After: asked for more, the policy gives up at once.
        stream: Words come as they are written; None: where `on_piece` is given.
        on_piece: Called with the words as they come; show them only without control characters.
        stopped: Polled while waiting; True ends the turn with STOPPED.
        device: Device of a model in this process, "auto" for the GPU where there is one.
        told: Causes by which tools err in the episode, for an oracle that others are measured against.
    """

    seed: int = 0
    turns: int | None = None
    api_key: str | None = field(default=None, repr=False)
    connect_s: float = 10.0
    first_token_s: float = 60.0
    attempts: int = 4
    backoff_s: float = 0.5
    longest_pause_s: float = 30.0
    stream: bool | None = None
    on_piece: Callable[[str], None] = _silent
    stopped: Callable[[], bool] = _never
    device: str = "auto"
    told: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        positive = ("max_tokens", "connect_s", "first_token_s", "deadline_s", "attempts")
        wrong = [name for name in positive if not 0 < getattr(self, name) < math.inf]
        prices = ("price_prompt", "price_completion", "price_cached")
        for name in ("backoff_s", "longest_pause_s", *prices, "temperature"):
            value = getattr(self, name)
            wrong += [name] if value is not None and not 0 <= value < math.inf else []
        if self.sure is not None and not 0 <= self.sure <= 1:
            raise invalid(f"How sure a policy must be is from 0 to 1, not {self.sure:g}.")
        if wrong:
            raise invalid(f"Options of a policy must be finite and not negative: {', '.join(wrong)}.")
        if self.guided is not None and self.guided not in get_args(GuidedServer):
            raise invalid(
                f"A turn can be guided by {', '.join(get_args(GuidedServer))}, not {str(self.guided)[:40]!r}."
            )
        if self.led_by and self.guided is None:
            raise invalid("What leads a model needs `guided`, the kind of its server.")

    @property
    def streams(self) -> bool:
        """Whether to ask for words as they are written."""
        return self.on_piece is not _silent if self.stream is None else self.stream


class UsageMeter:
    """Tokens and money that a policy has spent.

    Args:
        options: Prices and budgets.
    """

    def __init__(self, options: PolicyOptions) -> None:
        self._options = options
        self.tokens = 0
        self.cost = 0.0

    def allowance(self) -> int:
        """The longest turn that may be asked for [tokens]. Raises ToolError TURN_BUDGET when nothing is left."""
        options = self._options
        if options.cost_budget is not None and self.cost >= options.cost_budget:
            raise ToolError(
                ErrorCode.TURN_BUDGET, f"The model's budget of {options.cost_budget:g} is spent ({self.cost:.4g})."
            )
        if options.token_budget is None:
            return options.max_tokens
        left = options.token_budget - self.tokens
        if left <= 0:
            raise ToolError(
                ErrorCode.TURN_BUDGET,
                f"The model's budget of {options.token_budget} tokens is spent ({self.tokens} were used).",
            )
        return min(left, options.max_tokens)

    def spend(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> float:
        """Book a turn, `cached_tokens` of whose prompt were in the server's cache; returns its cost."""
        options = self._options
        cached = min(cached_tokens, prompt_tokens)
        price_cached = options.price_prompt if options.price_cached is None else options.price_cached
        read = (prompt_tokens - cached) * options.price_prompt + cached * price_cached
        cost = (read + completion_tokens * options.price_completion) / 1e6
        self.tokens += prompt_tokens + completion_tokens
        self.cost += cost
        return cost
