"""Anthropic's Messages API, and the servers that speak it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolhand.agent_node.policies.call_pieces import same_call
from toolhand.agent_node.policies.chat import Completion, ContentPart, NativeTurn, image_words
from toolhand.agent_node.policies.chat_server import ChatServer, failure, require_length
from toolhand.agent_node.policies.options import PolicyOptions
from toolhand.agent_node.policies.transport import Endpoint, Fault
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import Protocol

VERSION = "2023-06-01"
"""Of the API."""
_MARK = "cache_control"


class AnthropicMessages(ChatServer):
    """A model behind the Messages API.

    As `OpenAIChat`, in text mode or with the protocol `native`; here the images of results stay in their
    `tool_result` blocks. What a request shares with those before and after it is marked for the server's cache, which
    takes four marks at most and looks back 20 blocks from each: the tools, the system prompt, and the ends of the two
    newest messages that are not the model's. A server that refuses marks is sent none.

    Args:
        model: Name of the model on the server.
        base_url: Up to and without `/v1`.
        protocol: How the turn is written.
        schemas: JSON schemas of the tools; only the protocol `native` needs them.
        options: Deadlines, budgets, sampling; the API knows no seed.
        key: Sent as `x-api-key`; none where empty.

    Raises:
        ToolError: INVALID_ARGUMENT for a tool whose name a server cannot take.
    """

    OPTIONAL = frozenset({"temperature", "stop_sequences"})
    ANSWER = "message"

    def __init__(
        self,
        model: str,
        base_url: str,
        protocol: Protocol,
        schemas: Sequence[Mapping[str, Any]],
        options: PolicyOptions,
        key: str = "",
    ) -> None:
        headers = {"anthropic-version": VERSION} | ({"x-api-key": key} if key else {})
        endpoint = Endpoint(f"{base_url}/v1/messages", headers, key)
        super().__init__("anthropic", model, endpoint, protocol, schemas, options)

    def _offered(self, function: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "name": self._names.sent(function["name"]),
            "description": function["description"],
            "input_schema": function["parameters"],
        }

    def _body(self, conversation: Sequence[Message], longest: int) -> dict[str, Any]:
        protocol, options = self._protocol, self._options
        system = "\n".join(message.text for message in conversation if message.role == "system")
        messages = self._messages([message for message in conversation if message.role != "system"])
        body: dict[str, Any] = {"model": self._model, "max_tokens": longest, "messages": messages}
        wanted: dict[str, Any] = {"temperature": options.temperature}
        if system:
            body["system"] = [{"type": "text", "text": system}]
        if protocol.stop and not self._native:
            wanted["stop_sequences"] = list(protocol.stop)
        if self._tools:
            body["tools"] = [dict(tool) for tool in self._tools]
        if options.streams:
            body["stream"] = True
        if _MARK not in self._refused:
            told = [message["content"] for message in messages if message["role"] == "user"]
            for blocks in [body.get("tools"), body.get("system"), *told[-2:]]:
                if blocks:
                    blocks[-1][_MARK] = {"type": "ephemeral"}
        return body | self._wanted(wanted)

    def _adapt(self, body: dict[str, Any], names: frozenset[str]) -> bool:
        """As for every server; and the marks for its cache are everywhere in a request."""
        if _MARK in names and _MARK not in self._refused:
            self._refused.add(_MARK)
            parts = [*body.get("tools", ()), *body.get("system", ())]
            for block in [*parts, *(block for message in body["messages"] for block in message["content"])]:
                block.pop(_MARK, None)
            return True
        return super()._adapt(body, names)

    def _content(self, parts: Sequence[ContentPart]) -> list[dict[str, Any]]:
        """Content blocks. The API refuses empty text, and text of white space alone."""
        blocks: list[dict[str, Any]] = []
        for part in parts:
            if not isinstance(part, str):
                source = {
                    "type": "base64",
                    "media_type": self._images.media_type,
                    "data": self._images.base64(part),
                }
                blocks.append({"type": "image", "source": source})
            elif part.strip():
                blocks.append({"type": "text", "text": part})
        return blocks or [{"type": "text", "text": "(empty)"}]

    def _native_messages(self, turn: NativeTurn) -> list[dict[str, Any]]:
        content = self._content(turn.parts) if turn.shown or turn.words.strip() or not turn.calls else []
        content += [
            {"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.arguments)} for call in turn.calls
        ]
        messages: list[dict[str, Any]] = [{"role": turn.role, "content": content}]
        if turn.results:
            results = [
                {
                    "type": "tool_result",
                    "tool_use_id": result.id,
                    "content": self._content(
                        (image_words(result),) if result.image is None else (image_words(result), result.image)
                    ),
                }
                for result in turn.results
            ]
            messages.append({"role": "user", "content": results})
        return messages

    def _read(self, events: Iterator[str]) -> Completion:
        """Either a whole message or the events of one. Raises Fault for what is neither."""
        self._first_s = self._odd = None
        found, blocks, finished = Completion(), list[dict[str, Any]](), False
        for event in events:
            document = self._document(event)
            kind = document.get("type")
            if kind == "error":
                raise failure(document.get("error"))
            if kind == "message":
                content = document.get("content")
                blocks = [_block(block) for block in content] if isinstance(content, list) else []
                _end(document, found)
                _use(document.get("usage"), found)
                finished = True
                break
            if kind == "message_start":
                message = document.get("message")
                _use(message.get("usage") if isinstance(message, Mapping) else None, found)
            elif kind == "content_block_start":
                self._begin(document, blocks)
            elif kind == "content_block_delta":
                self._add(document, blocks)
            elif kind == "content_block_stop":
                if (block := _open(document, blocks)) is not None:
                    block["ended"] = True
            elif kind == "message_delta":
                delta = document.get("delta")
                _end(delta if isinstance(delta, Mapping) else {}, found)
                _use(document.get("usage"), found)
            elif kind == "message_stop":
                finished = True
                break
            elif not isinstance(kind, str):
                self._carries_nothing(document)
            require_length(sum(_length(block) for block in blocks))
        if not finished:
            raise self._unfinished()
        _sort(blocks, found)
        require_length(found.size)
        return found

    def _begin(self, document: Mapping[str, Any], blocks: list[dict[str, Any]]) -> None:
        """A block begins, whatever its index: servers give several the same. One that is begun twice is one."""
        begun = _block(document.get("content_block"))
        self._odd = ""
        identity = {"index": document.get("index"), "id": begun.get("id"), "name": begun.get("name")}
        if begun.get("id") and any(block.items() >= identity.items() and not block.get("ended") for block in blocks):
            return
        if begun.get("type") == "text" and any(block.get("type") == "text" for block in blocks):
            self._client.say("\n")
        # A streamed call begins with an empty input, and what it holds comes in pieces; or it is there at once.
        given = begun.get("input")
        text = given if isinstance(given, str) else json.dumps(given) if given else ""
        blocks.append(begun | identity | {"input": text})

    def _add(self, document: Mapping[str, Any], blocks: list[dict[str, Any]]) -> None:
        delta, block = document.get("delta"), _open(document, blocks)
        if not delta:
            return  # a gateway keeps the stream alive
        if not isinstance(delta, Mapping) or block is None:
            raise self._unexpected(document)
        if self._first_s is None:
            self._first_s = time.monotonic() - self._began
        for source, target in (("text", "text"), ("thinking", "thinking"), ("partial_json", "input")):
            piece = delta.get(source)
            if isinstance(piece, str):
                block.setdefault("pieces", {}).setdefault(target, []).append(piece)
                block["length"] = block.get("length", 0) + len(piece)
                if target != "input":
                    self._client.say(piece)


def _block(block: Any) -> dict[str, Any]:
    if not isinstance(block, Mapping):
        raise Fault("answered with a content block that is no object")
    return dict(block)


def _open(document: Mapping[str, Any], blocks: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The last block of an event's index that has not ended."""
    index = document.get("index")
    return next((block for block in reversed(blocks) if block["index"] == index and not block.get("ended")), None)


def _length(block: Mapping[str, Any]) -> int:
    length = block.get("length", 0)
    return length if isinstance(length, int) else 0


def _part(block: Mapping[str, Any], key: str) -> str:
    """A block's text under a key, with the pieces that came after its start."""
    start, pieces = block.get(key), block.get("pieces", {})
    more = pieces.get(key, ()) if isinstance(pieces, dict) else ()
    return (start if isinstance(start, str) else "") + "".join(more)


def _sort(blocks: Any, found: Completion) -> None:
    """Words, reasoning and calls of the blocks, in order; each block of words begins a line."""
    words: list[str] = []
    thoughts: list[str] = []
    known: dict[str, list[tuple[Any, tuple[str, str]]]] = {}
    mixed = False
    for block in blocks:
        if block.get("type") == "text":
            words.append(_part(block, "text"))
        elif block.get("type") == "thinking":
            thoughts.append(_part(block, "thinking"))
        elif block.get("type") == "tool_use":
            name, given = block.get("name"), block.get("input")
            arguments = _part(block, "input") if isinstance(given, str) or given is None else json.dumps(given)
            call = (name if isinstance(name, str) else "", arguments)
            of_id = known.setdefault(str(block["id"]), []) if block.get("id") else []
            if any(same_call(other, call) for _, other in of_id):
                continue  # said again
            # A block that is begun anew with another input: which of the two is meant is not guessed at.
            mixed = mixed or any((index, other[0]) == (block.get("index"), call[0]) for index, other in of_id)
            of_id.append((block.get("index"), call))
            found.calls.append(call)
    if mixed:
        found.calls = [("", "{}")]
    found.words, found.thought = "\n".join(filter(None, words)), "\n".join(filter(None, thoughts))


def _end(document: Mapping[str, Any], found: Completion) -> None:
    ending, stop = document.get("stop_reason"), document.get("stop_sequence")
    if ending == "refusal":
        raise Fault("withheld the turn (refusal)")
    if isinstance(ending, str):
        found.ending, found.cut = ending, ending == "max_tokens"
        found.stopped_at = stop if isinstance(stop, str) else ""


def _use(usage: Any, found: Completion) -> None:
    if not isinstance(usage, Mapping):
        return
    read = [usage.get(f"{kind}input_tokens") for kind in ("", "cache_creation_", "cache_read_")]
    prompt = sum(count for count in read if isinstance(count, int) and count > 0)
    written = usage.get("output_tokens")
    found.prompt_tokens = prompt or found.prompt_tokens
    if isinstance(read[2], int) and read[2] > 0:
        found.cached_tokens = read[2]
    found.completion_tokens = written if isinstance(written, int) and written > 0 else found.completion_tokens
