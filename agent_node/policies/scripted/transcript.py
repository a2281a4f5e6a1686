"""Reads a serialised conversation back: the operator's sentence and what the tools answered, turn by turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolhand.agent_node.policy import Message
from toolhand.agent_node.protocol import NOT_RUN, NOTE
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import ImagePoint

_RESPONSE = re.compile(r"<tool_response>(.*?)</tool_response>", re.DOTALL)
_IMAGE = re.compile(r"<image (\d{1,9})>")
_ERROR = re.compile(rf"^Error ({'|'.join(ErrorCode)}):\s*(.*)$", re.DOTALL)
_UNVERIFIED = re.compile(r"\b(Not verified: [^.]*)\.")
_RAISED = re.compile(r"\b(It stands [\d.]+ m above the table)\.")
_OFFERED = re.compile(r"found free and within reach is at \(([\d.]+), ([\d.]+)\)")
_HELD = re.compile(r"\bThe gripper holds an object(?: that was grasped as '(.*)')?\.")
_POINT = re.compile(r"\(\s*([01]?\.\d+|[01](?:\.0*)?)\s*,\s*([01]?\.\d+|[01](?:\.0*)?)\s*\)")


@dataclass(frozen=True)
class Response:
    """What one call answered.

    Attributes:
        text: The words without tags.
        error: The code of a failed call, None for a successful one.
        image_index: Index of the image that came with it, or None.
    """

    text: str
    error: ErrorCode | None = None
    image_index: int | None = None

    @property
    def ok(self) -> bool:
        """True if the call did what it says."""
        return self.error is None

    @property
    def unverified(self) -> str:
        """What a successful call says that it could not verify, such as "Not verified: ...", or ""."""
        found = _UNVERIFIED.search(self.text) if self.ok else None
        return found.group(1) if found else ""

    @property
    def raised(self) -> str:
        """What a placement on something says of its height, such as "It stands 0.15 m above the table", or ""."""
        found = _RAISED.search(self.text) if self.ok else None
        return found.group(1) if found else ""

    @property
    def offered(self) -> ImagePoint | None:
        """The place that a refused placement offers instead."""
        found = _OFFERED.search(self.text)
        return (float(found[1]), float(found[2])) if found else None

    @property
    def held(self) -> str | None:
        """The words that what is held was grasped by, as a look tells; "" for none, None where nothing is held."""
        found = _HELD.search(self.text) if self.ok else None
        return (found.group(1) or "") if found else None

    @property
    def points(self) -> tuple[ImagePoint, ...]:
        """Normalized points of a detection, in order; empty for a failed one."""
        if not self.ok:
            return ()
        listed = self.text[self.text.rfind("':") + 1 :]
        return tuple((float(x), float(y)) for x, y in _POINT.findall(listed))


MISSING = Response("No response came back.", ErrorCode.UNAVAILABLE)
"""Stands for a call that the conversation holds no response for."""


def read_response(message: Message) -> Response:
    """Parse one tool message; a conversation that was stored as text alone is read by its tags."""
    words, index = message.words.strip(), message.image_index
    if not words:
        tagged = _RESPONSE.search(message.text)
        inner = (tagged.group(1) if tagged else message.text).strip()
        image = _IMAGE.findall(inner)
        words, index = _IMAGE.sub("", inner).strip(), int(image[-1]) if image else None
    words = words.partition(NOTE)[0]
    error = _ERROR.match(words)
    if error:
        return Response(error.group(2).strip(), ErrorCode(error.group(1)), index)
    if words.startswith(NOT_RUN):
        return Response(words, ErrorCode.CANCELLED, index)
    return Response(words, None, index)


def read_episode(conversation: Sequence[Message]) -> tuple[str, list[list[Response]]]:
    """(last command of the operator, responses to each assistant turn since then: the tools', or an answer)."""
    commands = (i for i, message in enumerate(conversation) if message.role == "user" and not message.answers)
    start = max(commands, default=None)
    if start is None:
        return "", []
    turns: list[list[Response]] = []
    for message in conversation[start + 1 :]:
        if message.role == "assistant":
            turns.append([])
        elif message.role == "tool" and turns:
            turns[-1].append(read_response(message))
        elif message.answers and turns:
            turns[-1].append(Response(message.said))
    return conversation[start].said, turns
