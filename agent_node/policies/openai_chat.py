"""Chat completions: vLLM, SGLang, llama.cpp, transformers serve, OpenAI and the gateways that speak as it does."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolhand.agent_node.policies.call_pieces import CallPieces
from toolhand.agent_node.policies.chat import MAX_CHARACTERS, Completion, ContentPart, NativeTurn, image_words
from toolhand.agent_node.policies.chat_server import ChatServer, failure, require_length
from toolhand.agent_node.policies.guide import Guide
from toolhand.agent_node.policies.options import GuidedServer, PolicyOptions
from toolhand.agent_node.policies.transport import Endpoint, Fault
from toolhand.agent_node.policy import Message, Policy
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.results import invalid

_FAILED = frozenset({"error", "abort", "aborted", "cancelled", "failed", "malformed_function_call"})
"""Endings (`finish_reason`) of turns that failed on their way: nothing of one is run, however whole a call in it looks.
OpenRouter says "error", SGLang "abort", gateways to Gemini "malformed_function_call"."""


class OpenAIChat(ChatServer):
    """A model behind an OpenAI-compatible server.

    Images are data URLs in user messages: OpenAI and many gateways refuse them in tool messages, so those of results
    follow in a user message.

    Args:
        model: Name of the model on the server.
        base_url: Up to and with `/v1`.
        protocol: How the turn is written.
        schemas: JSON schemas of the tools; only the protocol `native` needs them.
        options: Deadlines, budgets, sampling.
        key: Sent as bearer token; none where empty.
        leader: Policy whose calls a guided model makes; None leaves them to the model.

    Raises:
        ToolError: INVALID_ARGUMENT for a tool whose name a server cannot take, and for native calls that are to be
            guided by llama.cpp.
    """

    OPTIONAL = frozenset({"temperature", "seed", "stop", "stream_options", "logprobs", "return_token_ids"})
    """As of `ChatServer`: stop strings are also cut here."""
    ANSWER = "chat completion"

    def __init__(
        self,
        model: str,
        base_url: str,
        protocol: Protocol,
        schemas: Sequence[Mapping[str, Any]],
        options: PolicyOptions,
        key: str = "",
        leader: Policy | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        super().__init__(
            "openai", model, Endpoint(f"{base_url}/chat/completions", headers, key), protocol, schemas, options
        )
        self._limit = "max_tokens"
        self.sees_images = not options.text_only
        if options.guided == "llama.cpp" and self._native:
            raise invalid(
                "llama.cpp takes no grammar beside tools: choose a protocol that lists them itself, e.g. spacetools."
            )
        self._guide = Guide(protocol, schemas, options.max_tokens // 2, leader) if options.guided else None

    def _offered(self, function: Mapping[str, Any]) -> dict[str, Any]:
        return {"type": "function", "function": {**function, "name": self._names.sent(function["name"])}}

    def _body(self, conversation: Sequence[Message], longest: int) -> dict[str, Any]:
        options, protocol = self._options, self._protocol
        wanted: dict[str, Any] = {"temperature": options.temperature or 0.0, "seed": options.seed}
        if protocol.stop and not self._native:
            wanted["stop"] = list(protocol.stop)
        if options.streams:
            wanted |= {"stream": True, "stream_options": {"include_usage": True}}
        if options.logprobs:
            wanted |= {"logprobs": True, "return_token_ids": True}
        if self._tools:
            wanted["tools"] = self._tools
        if self._guide and options.guided:
            wanted |= _as_taken(options.guided, self._guide.grammar(conversation))
        messages = self._messages(conversation)
        return {"model": self._model, "messages": messages, self._limit: longest, **self._wanted(wanted)}

    def _adapt(self, body: dict[str, Any], names: frozenset[str]) -> bool:
        """As for every server; and OpenAI's newer models name one parameter differently."""
        if "max_tokens" in names and "max_tokens" in body:
            self._limit = "max_completion_tokens"
            body[self._limit] = body.pop("max_tokens")
            return True
        return super()._adapt(body, names)

    def _content(self, parts: Sequence[ContentPart]) -> str | list[dict[str, Any]]:
        """Words alone stay a string, which every server takes."""
        if self._options.text_only or all(isinstance(part, str) for part in parts):
            return "".join(part for part in parts if isinstance(part, str))
        return [
            {"type": "text", "text": part}
            if isinstance(part, str)
            else {
                "type": "image_url",
                "image_url": {"url": f"data:{self._images.media_type};base64,{self._images.base64(part)}"},
            }
            for part in parts
        ]

    def _native_messages(self, turn: NativeTurn) -> list[dict[str, Any]]:
        content = self._content(turn.parts) if turn.shown else turn.words or (None if turn.calls else "(empty)")
        message: dict[str, Any] = {"role": turn.role, "content": content}
        if turn.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in turn.calls
            ]
        messages = [message]
        shown: list[ContentPart] = []
        for result in turn.results:
            messages.append({"role": "tool", "tool_call_id": result.id, "content": image_words(result)})
            if result.image is not None:
                shown += [f"<image {result.image_index}>", result.image]
        if shown:
            messages.append({"role": "user", "content": self._content(shown)})
        return messages

    def _read(self, events: Iterator[str]) -> Completion:
        """Either a whole completion or its pieces. Raises Fault for what is neither."""
        self._first_s = self._odd = None
        found, calls, finished = Completion(), CallPieces(), False
        for event in events:
            if event == "[DONE]":
                finished = True
                break
            document = self._document(event)
            if document.get("error"):
                raise failure(document["error"])
            finished |= self._take(document, found, calls)
            require_length(max(found.size, calls.size))
            if not self._native and any(stop in found.words for stop in self._protocol.stop) and self._options.streams:
                finished = True  # it does not heed stop strings: what follows is of no use
                break
        if not finished:
            raise self._unfinished()
        found.calls = calls.joined()
        ids, logprobs = len(found.token_ids), len(found.logprobs)
        if ids and logprobs and ids != logprobs:
            raise Fault(f"sent {ids} token ids and {logprobs} log-probabilities of one turn")
        return found

    def _take(self, document: Mapping[str, Any], found: Completion, calls: CallPieces) -> bool:
        """Add one piece, or a whole answer, to what was found; True where it says why the turn ended.

        What has no choices, or a choice without a piece, carries nothing of the turn: gateways keep a stream alive so.
        """
        usage = document.get("usage")
        if isinstance(usage, Mapping):
            found.prompt_tokens = _count(usage.get("prompt_tokens")) or found.prompt_tokens
            found.completion_tokens = _count(usage.get("completion_tokens")) or found.completion_tokens
            details = usage.get("prompt_tokens_details")
            if isinstance(details, Mapping):
                found.cached_tokens = _count(details.get("cached_tokens")) or found.cached_tokens
        choices = document.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, Mapping):
            self._carries_nothing(document)
            return False
        message, whole = choice.get("delta"), isinstance(choice.get("message"), Mapping)
        if not isinstance(message, Mapping):
            message = choice["message"] if whole else {}
        else:
            whole = False
        if message or choice.get("finish_reason"):
            self._odd = ""
        else:
            self._carries_nothing(document)
        # Parts of a whole message stand below each other; those of a piece are pieces themselves.
        between = "\n" if whole else ""
        words = _words(message.get("content"), between) + _words(message.get("refusal"), between)
        thought = _words(message.get("reasoning_content") or message.get("reasoning"), between)
        requested = message.get("tool_calls")
        if self._options.streams and self._first_s is None and (words or thought or requested):
            self._first_s = time.monotonic() - self._began
        found.words += words
        found.thought += thought
        if self._options.streams:
            self._client.say(thought + words)
        if whole:
            calls.replace(requested)
        else:
            calls.add(requested)
        if self._options.logprobs:
            _take_tokens(choice, found)
        ending = choice.get("finish_reason")
        if not isinstance(ending, str) or not ending:
            return whole  # a whole answer is complete, whatever it forgets to say
        if ending == "content_filter":
            raise Fault("withheld the turn (content_filter)")
        if ending in _FAILED:
            raise failure(choice.get("error") or f"finish_reason {ending}")
        found.ending, found.cut = ending, ending == "length"
        # vLLM says stop_reason, SGLang matched_stop: a string; a token's number or null where the model ended itself.
        for key in ("stop_reason", "matched_stop"):
            if key in choice:
                found.stopped_at = choice[key] if isinstance(choice[key], str) else ""
        return True


def _as_taken(server: GuidedServer, grammar: str) -> dict[str, Any]:
    """The grammar by the name that a server knows it by."""
    if server == "vllm":
        return {"structured_outputs": {"grammar": grammar}}
    return {"ebnf" if server == "sglang" else "grammar": grammar}


def _take_tokens(choice: Mapping[str, Any], found: Completion) -> None:
    """Add the tokens of a piece, or of a whole answer: ids as vLLM sends them, log-probabilities as all servers do."""
    scored = choice.get("logprobs")
    content = scored.get("content") if isinstance(scored, Mapping) else None
    logprobs: list[Any] = [entry.get("logprob") for entry in content or () if isinstance(entry, Mapping)]
    ids = choice.get("token_ids") or []
    if not all(isinstance(value, float | int) and math.isfinite(value) for value in logprobs):
        raise Fault("sent log-probabilities that are no numbers")
    if not isinstance(ids, list) or not all(type(token) is int and token >= 0 for token in ids):
        raise Fault("sent token ids that are no numbers")
    found.token_ids += ids
    found.logprobs += map(float, logprobs)
    if max(len(found.token_ids), len(found.logprobs)) > MAX_CHARACTERS:
        raise Fault(f"wrote a turn of more than {MAX_CHARACTERS} tokens")


def _words(content: Any, between: str) -> str:
    """Text, or the text parts of a list with `between` between them; nothing for null."""
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list):
        raise Fault("answered with content that is no text")
    texts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return between.join(text for text in texts if isinstance(text, str))


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else 0
