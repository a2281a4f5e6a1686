"""Events of a conversation as documents of a recording, read back; the other way is `AgentEvent.document`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.events import (
    CallRefused,
    CommandEnded,
    Event,
    NoteAdded,
    OperatorAnswer,
    OperatorQuestion,
    Thought,
    ToolAnswered,
    ToolCalled,
)
from toolhand.tool_nodes.records import record_of
from toolhand.tool_nodes.results import ErrorCode, ToolError, ToolResult
from toolhand.tool_nodes.toolbox.toolbox import CallRecord


def read_event(kind: str, document: Any) -> Event:
    """The event of what `AgentEvent.document` says, without images, and with times of 0.

    Args:
        kind: One of `toolhand.agent_node.events.RECORDED`.
        document: A text, or a JSON document.

    Raises:
        ToolError: INVALID_ARGUMENT for another document, one sentence with the key and what is allowed.
    """
    return _READ[kind](document)


@dataclass(frozen=True)
class _Question:
    text: str
    image_index: int | None = None


@dataclass(frozen=True)
class _Result:
    name: str
    arguments: dict[str, Any]
    text: str
    error_code: ErrorCode | None = None
    error: str | None = None
    hint: str | None = None
    motion: bool = False
    image_index: int | None = None


def _question(document: Any) -> Event:
    found = record_of(_Question, document)
    return OperatorQuestion(found.text, found.image_index)


def _result(document: Any) -> Event:
    found = record_of(_Result, document)
    code = found.error_code
    error = None if code is None else ToolError(code, found.error or "", found.hint or "")
    result = ToolResult(text=found.text, error=error)
    return ToolAnswered(CallRecord(found.name, found.arguments, result, found.image_index, 0.0, 0.0, found.motion))


_READ: Mapping[str, Callable[[Any], Event]] = {
    "thought": lambda document: Thought(record_of(str, document)),
    "note": lambda document: NoteAdded(record_of(str, document)),
    "call": lambda document: ToolCalled(record_of(ToolCall, document)),
    "refusal": lambda document: record_of(CallRefused, document),
    "operator": lambda document: record_of(OperatorAnswer, document),
    "answer": lambda document: record_of(CommandEnded, document),
    "question": _question,
    "result": _result,
}
"""Reads what stands on a topic, by the kind of the event."""
