"""What happens in a conversation, a type each; a listener is called with every event as it happens.

| event | when |
|---|---|
| OperatorTold | the dialogue says something before the end: a plan, how a step of it has ended |
| CommandBegan | a command begins that the operator's words became |
| Thought | the policy has reasoned |
| ToolCalled, ToolAnswered | a tool is called; it has answered |
| CallRefused | a call, or a whole turn, is not run |
| NoteAdded | the agent adds something to an answer for the policy |
| OperatorQuestion | the policy asks the operator, and the command waits |
| OperatorAnswer | the operator has answered, and the command goes on |
| CommandEnded | the command is over |

Every event says of itself what a log, a transcript and a recording need (`AgentEvent`);
`toolhand.agent_node.event_documents` reads it back.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.pointed import PointedPoint
from toolhand.tool_nodes.results import ErrorCode, invalid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from toolhand.tool_nodes.toolbox.toolbox import CallRecord

LONGEST_ANSWER = 2000
"""Longest answer to a question [characters]; as long as a command of the scripted policy may be."""
ANSWER_DEADLINE_S = 60.0
"""How long a question waits before it is closed, at the terminal and over ROS [s]: people answer within seconds, and
later the table may be another one."""

_LONGEST_NAME = 120
"""Longest name of a tool in a line [characters], as in the report: a model may call what it likes."""
_LONGEST_LINE = 240
"""Longest line of a result, a refusal or a note [characters]."""

_NUMBER = r"(0?\.\d+|0|1(?:\.0+)?)"
TYPED_POINT = re.compile(rf"(?<![\d.])\(?\s*{_NUMBER}\s*[,; ]\s*{_NUMBER}(?![\d.])\s*\)?")
"""A normalized point as people type it: "0.41 0.22", "(0.41, 0.22)". Numbers outside of 0..1 are words like others."""


class AgentEvent:
    """What every event says of itself.

    Attributes:
        kind: One word: the last part of its topic, and its kind in transcripts.
        verb: Verb of its line in a log; empty where the line says it.
        topic: Topic of a recording on which it stands.
        text: The words of it.
    """

    kind: ClassVar[str]
    verb: ClassVar[str] = ""
    topic: ClassVar[str]
    text: str
    _longest: ClassVar[int | None] = None
    _written: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.topic = f"/toolhand/{cls.kind}"

    @property
    def words(self) -> str:
        """What people are shown of it."""
        return self.text

    @property
    def detail(self) -> str:
        """More of it, for who asks."""
        return ""

    @property
    def of_call(self) -> ToolCall | None:
        """The call that it is about."""
        return getattr(self, "call", None)

    @property
    def code(self) -> str:
        """The error's code; empty for none."""
        return str(getattr(self, "error_code", None) or "")

    @property
    def failed(self) -> bool:
        """Something has gone wrong."""
        return bool(self.code)

    def line(self) -> str:
        """A line of a log, after the verb."""
        return self.words[: self._longest]

    def document(self) -> Any:
        """What a recording says of it: a text, or a JSON document; see `toolhand.agent_node.event_documents`."""
        return {name: getattr(self, name) for name in self._written} if self._written else self.text


@dataclass(frozen=True)
class OperatorTold(AgentEvent):
    """What the operator is told between two commands: a plan, or how a step of it has ended."""

    kind = "told"

    text: str


@dataclass(frozen=True)
class CommandBegan(AgentEvent):
    """A command that the operator has not said word for word, e.g. one of several, or "undo".

    Attributes:
        text: The command in words that stand alone.
    """

    kind = "command"
    verb = "does"

    text: str


@dataclass(frozen=True)
class Thought(AgentEvent):
    """The policy's reasoning of a turn."""

    kind = "thought"
    verb = "thinks"

    text: str


@dataclass(frozen=True)
class ToolCalled(AgentEvent):
    """A tool call that is about to run; its text is the arguments."""

    kind = "call"
    verb = "calls"

    call: ToolCall

    @property
    def text(self) -> str:  # type: ignore[override]
        """The arguments as JSON."""
        return as_json(self.call.arguments)

    def line(self) -> str:
        """Tool and arguments."""
        return f"{self.call.name[:_LONGEST_NAME]} {json.dumps(self.call.arguments, default=str)[:160]}"

    def document(self) -> dict[str, Any]:
        """Tool and arguments."""
        return {"name": self.call.name, "arguments": self.call.arguments}


@dataclass(frozen=True, eq=False)
class ToolAnswered(AgentEvent):
    """The record of a call that has run."""

    kind = "result"

    record: CallRecord

    @property
    def text(self) -> str:  # type: ignore[override]
        """The result as the policy reads it."""
        return self.record.result.text

    @property
    def words(self) -> str:
        """The result as people are shown it."""
        return self.record.result.shown

    @property
    def detail(self) -> str:
        """Tool and wall time."""
        return f"{self.record.name}, {self.record.wall_s:.2f} s"

    @property
    def of_call(self) -> ToolCall:
        """The call that was answered."""
        return ToolCall(self.record.name, self.record.arguments)

    @property
    def code(self) -> str:
        """The error's code, also of a look that has found nothing; empty for none."""
        error = self.record.result.error
        return "" if error is None else str(error.code)

    @property
    def failed(self) -> bool:
        """See `toolhand.tool_nodes.results.ToolResult`."""
        return self.record.result.failed

    def line(self) -> str:
        """The result without the names of its variables."""
        return self.words.split(" Use $")[0][:_LONGEST_LINE]

    def document(self) -> dict[str, Any]:
        """All but images, variables and times."""
        record, error = self.record, self.record.result.error
        return {
            "name": record.name,
            "arguments": record.arguments,
            "text": record.result.text,
            "error_code": None if error is None else error.code,
            "error": None if error is None else error.message,
            "hint": None if error is None else error.hint,
            "motion": record.motion,
            "image_index": record.image_index,
        }


@dataclass(frozen=True)
class CallRefused(AgentEvent):
    """A call that is not run.

    Attributes:
        call: The call as the policy wrote it; None where the whole turn cannot be read.
        error_code: The reason; None where an earlier motion of the same turn failed.
        text: Text that the policy reads.
    """

    kind = "refusal"
    _longest = _LONGEST_LINE

    call: ToolCall | None
    error_code: ErrorCode | None
    text: str

    @property
    def detail(self) -> str:
        """Tool and arguments."""
        return "" if self.call is None else f"{self.call.name} {as_json(self.call.arguments)}"

    def document(self) -> dict[str, Any]:
        """With the call as `ToolCalled` has it."""
        call = None if self.call is None else ToolCalled(self.call).document()
        return {"call": call, "error_code": self.error_code, "text": self.text}


@dataclass(frozen=True)
class NoteAdded(AgentEvent):
    """What the agent adds to the answer of a call for the policy."""

    kind = "note"
    _longest = _LONGEST_LINE

    text: str


@dataclass(frozen=True)
class OperatorQuestion(AgentEvent):
    """A question of the policy to the operator; the command waits for the answer.

    Attributes:
        text: The question, without the code that it was written with.
        image_index: Newest image of the conversation, which a point of the answer is in; None without one.
        image: That image, uint8 RGB (H, W, 3), where it is known here.
        candidates: Objects that it lets choose from, in the order of their numbers from 1; empty where it lets choose
            from none, or they are not known here.
    """

    kind = "question"
    verb = "asks"
    _written = ("text", "image_index")

    text: str
    image_index: int | None = None
    image: NDArray[np.uint8] | None = field(default=None, repr=False, compare=False)
    candidates: tuple[PointedPoint, ...] = ()


@dataclass(frozen=True)
class OperatorAnswer(AgentEvent):
    """The operator's answer to a question: words, or a point.

    Attributes:
        text: The words; empty where a point says it all.
        point: Normalized (x, y) of the question's image from the top left, each in [0, 1]; None without one.

    Raises:
        ToolError: INVALID_ARGUMENT for neither words nor a point, words that are too long, a point outside the image.
    """

    kind = "operator"
    verb = "hears"
    _written = ("text", "point")

    text: str = ""
    point: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.text, str) and (self.text.strip() or self.point is not None)):
            raise invalid("An answer needs words or a point.")
        if len(self.text) > LONGEST_ANSWER:
            raise invalid(f"An answer may have at most {LONGEST_ANSWER:,} characters, got {len(self.text):,}.")
        if self.point is not None and not (
            len(self.point) == 2 and all(math.isfinite(value) and 0.0 <= value <= 1.0 for value in self.point)
        ):
            raise invalid(f"A point is (x, y) with both in 0..1, got {self.point}.")

    @property
    def words(self) -> str:
        """The answer as the policy reads it: the words, and the point as "(0.410, 0.220)"."""
        pointed = "" if self.point is None else f"({self.point[0]:.3f}, {self.point[1]:.3f})"
        return f"{self.text.strip()} {pointed}".strip()


@dataclass(frozen=True)
class CommandEnded(AgentEvent):
    """The end of a command.

    Attributes:
        text: The answer to the operator, after the code of what went wrong where something did.
        error_code: The stage that failed, or None.
    """

    kind = "answer"
    verb = "answers"
    _written = ("text", "error_code")

    text: str
    error_code: ErrorCode | None = None


Event = (
    OperatorTold
    | CommandBegan
    | Thought
    | ToolCalled
    | ToolAnswered
    | CallRefused
    | NoteAdded
    | OperatorQuestion
    | OperatorAnswer
    | CommandEnded
)
RECORDED = ("thought", "call", "result", "refusal", "note", "question", "operator", "answer")
"""Kinds of the events that a recording has, each on its topic."""
Listener = Callable[[Event], None]
Ask = Callable[[OperatorQuestion], OperatorAnswer | None]
"""Puts a question to the operator and waits; None without an answer. Raises ToolError STOPPED after a stop."""


def as_json(value: Any) -> str:
    """A value as JSON in any case: what JSON cannot say is written as text."""
    try:
        return json.dumps(value, default=str, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(type(value).__name__)


def ignore(event: Event) -> None:
    """The listener that does nothing."""


def nobody(question: OperatorQuestion) -> None:
    """The operator who is not there: a question ends the command."""
