"""A conversation as chat models take it: plain turns of text and images, or the tool calls of a server's own form.

In text mode the system prompt lists the tools and the model writes the protocol's own tags: the same text in training
and in use. An image follows its marker `<image K>`, so the model knows the index that later calls name it by; the
results of one turn are one user message, since many servers and templates refuse tool messages without calls and two
user messages in a row.

In native mode the server is given the tools as schemas and writes calls in its own form. Either way what reaches the
agent is text in the protocol's form, which it parses without trust.
"""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from toolhand.agent_node.calls import as_written, blocks, json_call
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import Protocol, as_data
from toolhand.tool_nodes.http_request import plain_line
from toolhand.tool_nodes.results import invalid

ContentPart = str | NDArray[np.uint8]
"""Words, or a uint8 RGB (H, W, 3) image."""

MAX_CHARACTERS = 400_000
"""Longest turn that is read."""
MALFORMED = "malformed_call"
"""Stands in the history for the name of a call that has none, and before the words of arguments that are no object."""
NO_LONGER_SHOWN = "(no longer shown; still usable by index while it is kept)"
"""Follows the marker of an image that has left the window of the policy, see `toolhand.agent_node.context_window`."""
IMAGE_BYTES = 25_000
"""Largest JPEG that is sent: with the 16 images of the longest window, in base64, a request stays below 600 kB."""
_QUALITIES = (85, 75, 65)
"""Qualities of a JPEG that are tried before it is made smaller [-]."""
_KEPT_IMAGES = 64
"""Encoded images that are kept for the next turns [-]."""
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(frozen=True)
class ChatTurn:
    """One message of text mode: who speaks, and words and images in order."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[ContentPart, ...]


def text_turns(conversation: Sequence[Message]) -> list[ChatTurn]:
    """The conversation in text mode: system, then user and assistant in turn.

    The signs that open a chat template's control tokens, `<|`, are pulled apart in whatever the operator, a tool or the
    model wrote: no sentence and no label in front of the camera can begin a turn in another's name.
    """
    turns: list[ChatTurn] = []
    for message in conversation:
        if message.role == "system":
            turns.append(ChatTurn("system", (message.text,)))
            continue
        role: Literal["user", "assistant"] = "assistant" if message.role == "assistant" else "user"
        parts = _parts(message)
        if turns and turns[-1].role == role:
            turns[-1] = ChatTurn(role, _joined((*turns[-1].parts, "\n", *parts)))
        else:
            turns.append(ChatTurn(role, parts))
    return turns


def without_control(text: str) -> str:
    """The text with `<|` pulled apart, so that no control token of a chat template is spelt in it."""
    return re.sub(r"<(?=[|\uff5c])", "< ", text)


def _parts(message: Message) -> tuple[ContentPart, ...]:
    text = without_control(message.text)
    if message.image_index is None:
        return (text,)
    # Only the last marker is the agent's: a tool's words may hold others.
    before, marker, after = text.rpartition(f"<image {message.image_index}>")
    if message.image is None:
        return (f"{before}{marker} {NO_LONGER_SHOWN}{after}" if marker else text,)
    return _joined((f"{before}{marker}" if marker else text, message.image, after if marker else ""))


def _joined(parts: Sequence[ContentPart]) -> tuple[ContentPart, ...]:
    joined: list[ContentPart] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif not isinstance(part, str) or part:
            joined.append(part)
    return tuple(joined)


class ImageParts:
    """Encodes images for sending, each one once and the same way whenever it is sent.

    Args:
        form: "png" keeps every pixel; "jpeg" is of quality 85 with halved colour resolution, and of less quality and
            then of fewer pixels where it would be longer than PICTURE_BYTES.
    """

    def __init__(self, form: Literal["png", "jpeg"]) -> None:
        self.media_type = f"image/{form}"
        self._form = form
        self._encoded: dict[int, tuple[NDArray[np.uint8], str]] = {}  # the array is kept, so that its id stays its own

    def base64(self, image: NDArray[np.uint8]) -> str:
        """The encoded image in base64."""
        if id(image) not in self._encoded:
            picture = Image.fromarray(image)
            data = _encoded(picture, "PNG", compress_level=1) if self._form == "png" else _jpeg(picture)
            if len(self._encoded) >= _KEPT_IMAGES:
                del self._encoded[next(iter(self._encoded))]
            self._encoded[id(image)] = (image, base64.b64encode(data).decode("ascii"))
        return self._encoded[id(image)][1]


def _jpeg(picture: Image.Image) -> bytes:
    for quality in _QUALITIES:
        if len(data := _encoded(picture, "JPEG", quality=quality, subsampling="4:2:0")) <= IMAGE_BYTES:
            return data
    return _jpeg(picture.reduce(2)) if min(picture.size) > 1 else data


def _encoded(picture: Image.Image, form: str, **settings: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format=form, **settings)
    return buffer.getvalue()


class ToolNames:
    """Tool names as servers allow them (letters, digits, _ and -): `robot.capture_image` is `robot__capture_image`.

    Args:
        schemas: JSON schemas of the tools.

    Raises:
        ToolError: INVALID_ARGUMENT where a name cannot be written so.
    """

    def __init__(self, schemas: Sequence[Mapping[str, Any]]) -> None:
        self._ours: dict[str, str] = {}
        for schema in schemas:
            name = schema["function"]["name"]
            sent = self.sent(name)
            if not _TOOL_NAME.fullmatch(sent) or sent in self._ours:
                raise invalid(
                    f"The tool {name!r} cannot be offered to a model server: {sent!r} is taken or not allowed there."
                )
            self._ours[sent] = name

    def schemas(self, schemas: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """JSON schemas of tools in the function-calling form, with the names as the server reads them."""
        functions = ({**schema["function"], "name": self.sent(schema["function"]["name"])} for schema in schemas)
        return [{"type": "function", "function": function} for function in functions]

    def sent(self, name: str) -> str:
        """The name as the server reads it."""
        return name.replace(".", "__")

    def ours(self, name: str) -> str:
        """The toolbox's name; an unknown name is for the toolbox to refuse."""
        return self._ours.get(name, name.replace("__", "."))


@dataclass(frozen=True)
class NativeCall:
    """A call of the history with the id that its result names."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class NativeResult:
    """What a call answered; its image, if one came with it and is still kept."""

    id: str
    words: str
    image_index: int | None = None
    image: NDArray[np.uint8] | None = None


@dataclass
class NativeTurn:
    """One step of native mode: what was said and shown, the calls made with it, and their results."""

    role: Literal["system", "user", "assistant"]
    words: str
    calls: list[NativeCall] = field(default_factory=list)
    results: list[NativeResult] = field(default_factory=list)
    shown: tuple[ContentPart, ...] = ()

    @property
    def parts(self) -> tuple[ContentPart, ...]:
        """The image that the operator shows, where there is one, and the words."""
        return (*self.shown, self.words) if self.words else self.shown


def native_turns(conversation: Sequence[Message], protocol: Protocol, names: ToolNames) -> list[NativeTurn]:
    """The conversation with calls and results tied by ids of nine letters and digits, as the strictest server asks.

    The ids are ours, made from the turn's number: a server that gives two calls one id does no harm.
    """
    turns: list[NativeTurn] = []
    waiting: list[NativeCall] = []
    said = 0
    for message in conversation:
        if message.role == "assistant":
            turn = _spoken(message, protocol, names, said)
            said += 1
            turns.append(turn)
            waiting = list(turn.calls)
        elif message.role == "tool" and waiting:
            call = waiting.pop(0)
            turns[-1].results.append(_result(call.id, message))
        else:
            turns.append(_told(message))
    for turn in turns:
        answered = {result.id for result in turn.results}
        turn.results += [NativeResult(call.id, "Not run.") for call in turn.calls if call.id not in answered]
    return turns


def _result(call_id: str, message: Message) -> NativeResult:
    result = NativeResult(call_id, without_control(as_data(message.said)), message.image_index, message.image)
    if message.image_index is None or message.image is not None:
        return result
    return NativeResult(call_id, f"{image_words(result)} {NO_LONGER_SHOWN}")


def _told(message: Message) -> NativeTurn:
    if message.role == "system":
        return NativeTurn("system", message.text)
    # An operator's words stand with what is remembered; a tool's and the agent's own without the protocol's tags.
    words = without_control(message.text if message.role == "user" else message.said)
    marker = f"<image {message.image_index}>"
    if message.image is None:
        return NativeTurn("user", words.replace(marker, f"{marker} {NO_LONGER_SHOWN}", 1))
    return NativeTurn("user", words.removeprefix(marker).lstrip("\n"), shown=(marker, message.image))


def _spoken(message: Message, protocol: Protocol, names: ToolNames, number: int) -> NativeTurn:
    parsed = protocol.parse(message.text)
    written = [body for _, body in blocks(message.text, [protocol.call])[0]]
    calls = []
    for k, call in enumerate(parsed.calls):
        name, arguments = call.name, call.arguments
        if call.problem or not isinstance(arguments, Mapping):
            name, words = as_written(written[k])
            arguments = {MALFORMED: without_control(words)}
        sent = names.sent(name)
        sent = sent if _TOOL_NAME.fullmatch(sent) else MALFORMED
        calls.append(NativeCall(f"call{number % 1000:03d}{k % 100:02d}", sent, arguments))
    words = "\n".join(part for part in (parsed.thought, parsed.answer) if part)
    if parsed.problem or not (words or calls):
        tags = rf"</?(?:{protocol.thought}|{protocol.call}|{protocol.answer})>"
        words = re.sub(tags, "", message.text) if protocol.native else plain(message.text, protocol)
    return NativeTurn("assistant", without_control(words), calls)


def image_words(result: NativeResult) -> str:
    """The words of a result with the index of its image, by which later calls name it."""
    return result.words if result.image_index is None else f"{result.words} <image {result.image_index}>".strip()


@dataclass
class Completion:
    """What a server wrote in native or in text mode.

    Attributes:
        words: Text of the turn.
        thought: Its reasoning, where the server separates it.
        calls: (name, arguments as the JSON text that the model wrote) of each call.
        cut: The longest turn was reached.
        stopped_at: The stop string that ended it; "" where it ended by itself; None where the server does not say.
        prompt_tokens, completion_tokens: Tokens counted by the server; 0 where it did not count.
        cached_tokens: Those of the prompt that the server had in its cache.
        ending: The server's own word for why it ended.
        token_ids, logprobs: Sampled tokens, see `toolhand.agent_node.policy.Reply`.
    """

    words: str = ""
    thought: str = ""
    calls: list[tuple[str, str]] = field(default_factory=list)
    cut: bool = False
    stopped_at: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    ending: str = ""
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Characters."""
        return len(self.words) + len(self.thought) + sum(len(name) + len(text) for name, text in self.calls)

    def redact(self, redact: Callable[[str], str]) -> None:
        """Replace every text by what `redact` makes of it."""
        self.words, self.thought = redact(self.words), redact(self.thought)
        self.calls = [(redact(name), redact(text)) for name, text in self.calls]
        self.ending = plain_line(redact(self.ending), length=40)


def text_of(completion: Completion, protocol: Protocol) -> str:
    """The turn that a server wrote in text mode, with the end that it cut off at a stop string.

    A turn that was cut for its length stays as it is, and one that the model ended itself in the middle of a tag too:
    both are malformed. What comes after a stop string is dropped where a server does not heed them.
    """
    if completion.calls:  # some servers take a model's calls and thoughts out of its words unasked
        return canonical(completion, protocol, ToolNames(()))
    text, stopped_at = _thinking(completion.thought, protocol) + completion.words, completion.stopped_at
    found = [(at, stop) for stop in protocol.stop if (at := text.find(stop)) >= 0]
    if found:
        at, stopped_at = min(found)
        text = text[:at]
    elif completion.cut:
        return text
    if stopped_at is None:
        return protocol.closed(text)
    return protocol.closed(text) if stopped_at.startswith("</") and stopped_at in protocol.stop else text


def canonical(completion: Completion, protocol: Protocol, names: ToolNames) -> str:
    """The turn that a server wrote in native mode, as text in the protocol's form.

    Arguments stay as the model wrote them, `<` spelt as JSON's `\\u003c` so that no string can end the tag that
    it stands in: broken JSON arrives broken, and the parser says so. A turn that was cut for its length ends in an
    open tag.
    """
    thought, words, calls = completion.thought, completion.words, completion.calls
    inline = re.match(r"\s*<think>(.*?)</think>(.*)$", words, re.DOTALL)
    if inline:  # a server that does not know its model's reasoning leaves it in the words
        thought, words = f"{thought}\n{inline.group(1)}", inline.group(2)
    if whole := re.fullmatch(rf"\s*<{protocol.answer}>(.*)</{protocol.answer}>\s*", words, re.DOTALL):
        words = whole.group(1)
    cut = completion.cut
    if not calls:
        words, calls, unclosed = _written_calls(words, protocol)
        cut = cut or unclosed
    if protocol.syntax == "lines":
        return _as_lines(thought, words, calls, protocol, names)
    thought, words = plain(thought.strip(), protocol), plain(words.strip(), protocol)
    if calls or cut:
        thought, words = "\n".join(part for part in (thought, words) if part), ""
    if cut and not calls:
        return f"<{protocol.thought}>{thought}"
    parts = [_thinking(thought, protocol).rstrip()] if thought else []
    for name, arguments in calls:
        written = arguments.strip() or "{}"
        # Without a name it is no call; the parser says what one is.
        named = f'"name": {json.dumps(names.ours(name))}, ' if name else ""
        call = f'{{{named}"arguments": {written}}}'.replace("<", "\\u003c")
        parts.append(f"<{protocol.call}>{call}</{protocol.call}>")
    if calls and cut:
        parts[-1] = parts[-1].removesuffix(f"</{protocol.call}>")
    if words:
        parts.append(f"<{protocol.answer}>{words}</{protocol.answer}>")
    return "\n".join(parts)


def _as_lines(thought: str, words: str, calls: Sequence[tuple[str, str]], protocol: Protocol, names: ToolNames) -> str:
    """The same where each line is a call; one whose JSON is broken stays as it was written."""
    said = protocol.render_turn("\n".join(part.strip() for part in (thought, words) if part.strip()), ())
    return "\n".join([*([said] if said else []), *(f"{names.ours(name)} {written}" for name, written in calls)])


def _thinking(thought: str, protocol: Protocol) -> str:
    """Reasoning that a server separates, as the protocol writes it."""
    if protocol.syntax == "lines":
        return f"{protocol.render_turn(thought.strip(), ())}\n" if thought.strip() else ""
    shown = plain(thought.strip(), protocol)
    return f"<{protocol.thought}>{shown}</{protocol.thought}>\n" if shown and protocol.thought else shown


def _written_calls(words: str, protocol: Protocol) -> tuple[str, list[tuple[str, str]], bool]:
    """(other words, calls, whether the last tag is open) of words that hold calls.

    A server without its model's parser leaves them there, and vLLM's leaves those whose JSON it cannot read.
    """
    found, unclosed = blocks(words, [protocol.call])
    read = [(json_call(body.strip()), body) for _, body in found]
    calls = [("", body) if call.problem else (call.name, json.dumps(call.arguments)) for call, body in read]
    # With an open tag, the search for its end would start anew at every other one.
    rest = words if unclosed else re.sub(rf"<{protocol.call}>.*?</{protocol.call}>", "", words, flags=re.DOTALL)
    return rest, calls, bool(unclosed)


def plain(text: str, protocol: Protocol) -> str:
    """The text with the protocol's own tags in square brackets: words about a call are no call."""
    tags = "|".join(re.escape(tag) for tag in (protocol.thought, protocol.call, protocol.answer) if tag)
    return re.sub(rf"<(/?(?:{tags}))>", r"[\1]", text)
