"""Events of a conversation as documents of a recording, read back; the other way is `AgentEvent.document`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_node.calls import ToolCall
from agent_node.events import (
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
from tool_nodes.records import record_of
from tool_nodes.results import ErrorCode, ToolError, ToolResult
from tool_nodes.toolbox.toolbox import CallRecord


def read_event(kind: str, document: Any) -> Event:
    """The event of what `AgentEvent.document` says, without pictures, and with times of 0.

    Args:
        kind: One of RECORDED.
        document: A text, or a JSON document.

    Raises:
        ToolError: INVALID_ARGUMENT for another document, one sentence with the key and what is allowed.
    """
    if kind == "thought":
        return Thought(record_of(str, document))
    if kind == "note":
        return NoteAdded(record_of(str, document))
    return record_of(_DOCUMENTS[kind], document).event()


@dataclass(frozen=True)
class _Call:
    name: str
    arguments: Any = None

    @property
    def call(self) -> ToolCall:
        return ToolCall(self.name, self.arguments)

    def event(self) -> Event:
        return ToolCalled(self.call)


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

    def event(self) -> Event:
        code = self.error_code
        error = None if code is None else ToolError(code, self.error or "", self.hint or "")
        result = ToolResult(text=self.text, error=error)
        return ToolAnswered(CallRecord(self.name, self.arguments, result, self.image_index, 0.0, 0.0, self.motion))


@dataclass(frozen=True)
class _Refusal:
    text: str
    call: _Call | None = None
    error_code: ErrorCode | None = None

    def event(self) -> Event:
        return CallRefused(None if self.call is None else self.call.call, self.error_code, self.text)


@dataclass(frozen=True)
class _Question:
    text: str
    image_index: int | None = None

    def event(self) -> Event:
        return OperatorQuestion(self.text, self.image_index)


@dataclass(frozen=True)
class _Operator:
    text: str
    point: tuple[float, float] | None = None

    def event(self) -> Event:
        return OperatorAnswer(self.text, self.point)


@dataclass(frozen=True)
class _Ended:
    text: str
    error_code: ErrorCode | None = None

    def event(self) -> Event:
        return CommandEnded(self.text, self.error_code)


_DOCUMENTS: Mapping[str, Any] = {
    "call": _Call,
    "result": _Result,
    "refusal": _Refusal,
    "question": _Question,
    "operator": _Operator,
    "answer": _Ended,
}
"""What stands on a topic, by the kind of the event."""
