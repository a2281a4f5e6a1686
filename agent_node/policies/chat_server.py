"""What the servers of chat models have in common: a request a turn, budgets, and parameters that a model refuses."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolhand.agent_node.policies.chat import (
    MAX_CHARACTERS,
    Completion,
    ContentPart,
    ImageParts,
    NativeTurn,
    ToolNames,
    canonical,
    native_turns,
    text_of,
    text_turns,
)
from toolhand.agent_node.policies.options import PolicyOptions, UsageMeter
from toolhand.agent_node.policies.transport import Client, Endpoint, Fault
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol

CHARACTERS_A_TOKEN = 4
"""Of a server that does not count, so that a budget means something there too: a rule of thumb for English text."""


class ChatServer(ABC):
    """A model behind a server; a subclass knows one API.

    With a protocol that lists the tools itself, the request has none and the model writes the protocol's text. With the
    protocol `native` the request carries the tools and the server writes calls in its own form.

    Args:
        api: Stands before the model in the policy's name.
        model: Name of the model on the server.
        endpoint: Where requests go.
        protocol: How the turn is written.
        schemas: JSON schemas of the tools; only the protocol `native` needs them.
        options: Deadlines, budgets, sampling.

    Raises:
        ToolError: INVALID_ARGUMENT for a tool whose name a server cannot take.
    """

    OPTIONAL: frozenset[str]
    """Parameters that some models refuse and that a turn can do without."""
    ANSWER: str
    """What the API calls an answer, for error messages."""
    sees_images = True

    def __init__(
        self,
        api: str,
        model: str,
        endpoint: Endpoint,
        protocol: Protocol,
        schemas: Sequence[Mapping[str, Any]],
        options: PolicyOptions,
    ) -> None:
        self.name = f"{api}:{model}"
        self._model = model
        self._protocol = protocol
        self._native = protocol.native
        self._names = ToolNames(schemas if self._native else ())
        self._tools = [self._offered(schema["function"]) for schema in schemas] if self._native else []
        self._options = options
        self._images = ImageParts(options.picture_format)
        self._account = UsageMeter(options)
        self._refused: set[str] = set()
        self._client = Client(endpoint, options)
        self._began = 0.0
        self._first_s: float | None = None
        self._odd: Any = None
        """What was heard first and carried nothing; "" once something has carried a part of the turn."""

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """The next assistant turn.

        Raises:
            ToolError: UNAVAILABLE, TIMEOUT or STOPPED; TURN_BUDGET where tokens, money or the context are spent.
        """
        self._began, self._first_s = time.monotonic(), None
        body = self._body(conversation, self._account.allowance())
        completion = self._client.call(body, self._read, lambda names: self._adapt(body, names))
        if not completion.prompt_tokens and not completion.completion_tokens:
            completion.completion_tokens = -(-completion.size // CHARACTERS_A_TOKEN)
            completion.prompt_tokens = len(json.dumps(body["messages"])) // CHARACTERS_A_TOKEN
        cached = completion.cached_tokens
        cost = self._account.spend(completion.prompt_tokens, completion.completion_tokens, cached)
        protocol, native = self._protocol, self._native
        return Reply(
            canonical(completion, protocol, self._names) if native else text_of(completion, protocol),
            completion.prompt_tokens,
            completion.completion_tokens,
            cost,
            time.monotonic() - self._began,
            self._first_s,
            {"model": self._model, "ending": completion.ending, "attempts": self._client.attempts}
            | ({"calls": completion.calls} if completion.calls else {})
            | ({"cached_tokens": cached} if cached else {}),
            tuple(completion.token_ids),
            tuple(completion.logprobs),
        )

    @abstractmethod
    def _offered(self, function: Mapping[str, Any]) -> dict[str, Any]:
        """A tool as the API takes it, of its `name`, `description` and `parameters` (a JSON schema)."""

    @abstractmethod
    def _body(self, conversation: Sequence[Message], longest: int) -> dict[str, Any]:
        """The request; `longest` is the turn's limit [tokens]."""

    @abstractmethod
    def _content(self, parts: Sequence[ContentPart]) -> Any:
        """Words and images as the API takes them."""

    @abstractmethod
    def _native_messages(self, turn: NativeTurn) -> list[dict[str, Any]]:
        """A turn of native mode as messages."""

    @abstractmethod
    def _read(self, events: Iterator[str]) -> Completion:
        """Either a whole answer or the events of one. Raises Fault for what is neither."""

    def _messages(self, conversation: Sequence[Message]) -> list[dict[str, Any]]:
        if self._native:
            turns = native_turns(conversation, self._protocol, self._names)
            return [message for turn in turns for message in self._native_messages(turn)]
        return [{"role": turn.role, "content": self._content(turn.parts)} for turn in text_turns(conversation)]

    def _wanted(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Those parameters that have a value and that the model has not refused."""
        return {name: value for name, value in parameters.items() if value is not None and name not in self._refused}

    def _adapt(self, body: dict[str, Any], names: frozenset[str]) -> bool:
        """Do without parameters that the model refuses, now and later; False where the request has none of them."""
        dropped = names & self.OPTIONAL & body.keys()
        self._refused |= dropped
        for name in dropped:
            del body[name]
        return bool(dropped)

    def _document(self, text: str) -> Mapping[str, Any]:
        """The JSON object of an event or of a whole answer; an empty one for what is none, such as a keep-alive.

        Raises:
            Fault: An object that is broken: a part of the turn would be lost.
        """
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            if text.startswith("{"):
                raise Fault("answered with something that is no JSON", said=text, shown=60) from None
            document = None
        if isinstance(document, Mapping):
            return document
        self._carries_nothing(text)
        return {}

    def _carries_nothing(self, heard: Any) -> None:
        """Note what was heard and is no part of a turn, for the sentence about an answer that is none at all."""
        if self._odd is None and heard not in ("", "null"):
            self._odd = heard

    def _unfinished(self) -> Fault:
        """What to raise for an answer without an end."""
        if self._odd:
            return self._unexpected(self._odd)
        return Fault("broke off in the middle of its answer", passing=True)

    def _unexpected(self, document: Any) -> Fault:
        return Fault(f"answered with something that is no {self.ANSWER}", said=str(document), shown=60)


def failure(error: Any) -> Fault:
    """What a server reports in the middle of its answer."""
    return Fault("failed in its answer", said=str(error.get("message") if isinstance(error, Mapping) else error))


def require_length(characters: int) -> None:
    """Raises Fault for a turn that is longer than any model should write."""
    if characters > MAX_CHARACTERS:
        raise Fault(f"wrote a turn of more than {MAX_CHARACTERS} characters")
