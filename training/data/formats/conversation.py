"""A rollout as a conversation to learn from, in either of two layouts; the formats beside this file write it down.

| layout | system prompt | an assistant's turn | results |
|---|---|---|---|
| "text" | the protocol's, with the tools in it | word by word, as it was sampled | one user message a turn |
| "calls" | that of the protocol `native`, beside the tools' schemas | words, and calls | a tool message each |

Both are what a policy is given when it is served (`toolhand.agent_node.policies.chat`), so that what is trained on is
what is met later. Images are named by their hash.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from toolhand.agent_node.policies.chat import (
    ContentPart,
    NativeCall,
    NativeTurn,
    ToolNames,
    image_words,
    native_turns,
    text_turns,
)
from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.agent_node.runs.folder import encode
from toolhand.tool_nodes.results import invalid
from toolhand.training.rollouts.record import MessageRecord, RolloutRecord

Layout = Literal["calls", "text"]

_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class ImagePart:
    """An image between words, by its hash in a `ImageStore`."""

    image: str


ChatPart = str | ImagePart
"""Words, or an image."""


@dataclass(frozen=True)
class ChatEntry:
    """One message.

    Attributes:
        role: "system", "user", "assistant" or "tool".
        parts: Words and images in order.
        calls: Calls of an assistant, in the layout "calls".
        call_id, name: Call that a tool's message answers, and name of the tool.
        sampled: An assistant's turn that the policy wrote so: what is to be learned. False where it was cut, and in the
            layout "calls" where a call was malformed.
    """

    role: str
    parts: tuple[ChatPart, ...]
    calls: tuple[NativeCall, ...] = ()
    call_id: str = ""
    name: str = ""
    sampled: bool = False

    @property
    def words(self) -> str:
        """The words without the images."""
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def images(self) -> tuple[str, ...]:
        """Hashes of the images, in order."""
        return tuple(part.image for part in self.parts if isinstance(part, ImagePart))


@dataclass(frozen=True)
class ChatExample:
    """One rollout to learn from.

    Attributes:
        tools: Schemas in the function-calling form, for a chat template; empty in the layout "text".
        about: Further facts as plain data: see `about`.
    """

    id: str
    entries: tuple[ChatEntry, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def images(self) -> tuple[str, ...]:
        """Hashes of all images, in the order of their parts; one that is shown twice is named twice."""
        return tuple(itertools.chain.from_iterable(entry.images for entry in self.entries))


def example_of(record: RolloutRecord, layout: Layout = "calls") -> ChatExample:
    """A rollout as a conversation.

    All its images are shown, also those that the policy was no longer given in later turns: `TurnRecord.prompt` says
    which, and matters from ten images on.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown layout or protocol, or an image that is no hash.
    """
    if layout not in get_args(Layout):
        raise invalid(f"There is no layout {layout!r}: it must be calls or text.")
    stand_ins, hashes = _stand_ins(record)
    if layout == "text":
        return ChatExample(record.id, tuple(_as_text(record, stand_ins, hashes)), (), about(record))
    names = ToolNames(record.schemas)
    entries = tuple(_as_calls(record, stand_ins, hashes, names))
    return ChatExample(record.id, entries, tuple(names.schemas(record.schemas)), about(record))


def about(record: RolloutRecord) -> dict[str, Any]:
    """What is known of a rollout beside its conversation: the task, its seeds, and what came of it."""
    return {
        "task": dict(record.task),
        "text": record.text,
        "seed": record.seed,
        "group": record.group,
        "rollout": record.rollout,
        "protocol": record.protocol,
        "policy": record.policy,
        "total": record.total,
        "terms": dict(record.terms),
        "success": record.true_success,
        "stages": dict(record.stages),
        "answer": record.answer,
        "error_code": record.error_code,
        "labels": dict(record.labels),
    }


_Hashes = dict[int, str]


def _stand_ins(record: RolloutRecord) -> tuple[list[Message], _Hashes]:
    """The messages with an array of one pixel in the place of each image, and the hash that each stands for."""
    messages, hashes = [], dict[int, str]()
    for message in record.messages:
        image = None
        if message.image is not None:
            if not _HASH.fullmatch(message.image):
                raise invalid(f"A picture is named by its hash, not {message.image[:20]!r}.")
            image = np.zeros((1, 1, 3), np.uint8)
            hashes[id(image)] = message.image
        text, words = (encode(part).decode() for part in (message.text, message.words))  # no half surrogate pairs
        messages.append(Message(_role(message), text, words, message.image_index, image))
    return messages, hashes


def _role(message: MessageRecord) -> Literal["system", "user", "assistant", "tool"]:
    match message.role:
        case "system" | "user" | "assistant" | "tool" as role:
            return role
    raise invalid(f"There is no role {message.role[:20]!r} in a conversation.")


def _parts(parts: tuple[ContentPart, ...], hashes: _Hashes) -> tuple[ChatPart, ...]:
    return tuple(part if isinstance(part, str) else ImagePart(hashes[id(part)]) for part in parts)


# -- text ------------------------------------------------------------------------------------------


def _as_text(record: RolloutRecord, messages: list[Message], hashes: _Hashes) -> Iterator[ChatEntry]:
    flags = _sampled_runs(record)
    for turn in text_turns(messages):
        sampled = next(flags) if turn.role == "assistant" else False
        yield ChatEntry(turn.role, _parts(turn.parts, hashes), sampled=sampled)


def _sampled_runs(record: RolloutRecord) -> Iterator[bool]:
    """For each run of assistant turns without anything between them whether all of them are as sampled."""
    for role, run in itertools.groupby(record.messages, lambda message: message.role):
        if role == "assistant":
            yield all(message.sampled for message in run)


# -- calls -----------------------------------------------------------------------------------------


def _as_calls(record: RolloutRecord, messages: list[Message], hashes: _Hashes, names: ToolNames) -> Iterator[ChatEntry]:
    protocol = load_protocol(record.protocol)
    spoken = (message for message in record.messages if message.role == "assistant")
    for turn in native_turns(messages, protocol, names):
        if turn.role == "system" and protocol.tools != "none":
            yield ChatEntry("system", (load_protocol("native").system_prompt(record.schemas),))
        elif turn.role == "assistant":
            message = next(spoken)
            yield ChatEntry(
                "assistant",
                (turn.words,) if turn.words else (),
                tuple(turn.calls),
                sampled=message.sampled and _well_formed(message.text, protocol),
            )
            yield from _results(turn, hashes)
        else:
            yield ChatEntry(turn.role, _parts(turn.parts, hashes))


def _results(turn: NativeTurn, hashes: _Hashes) -> Iterator[ChatEntry]:
    called = {call.id: call.name for call in turn.calls}
    for result in turn.results:
        shown = () if result.image is None else (ImagePart(hashes[id(result.image)]),)
        yield ChatEntry("tool", (image_words(result), *shown), call_id=result.id, name=called[result.id])


def _well_formed(text: str, protocol: Protocol) -> bool:
    parsed = protocol.parse(text)
    return not parsed.problem and not any(call.problem for call in parsed.calls)
