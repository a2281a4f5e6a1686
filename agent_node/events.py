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
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent_node.calls import ToolCall
from agent_node.pointed import PointedPoint
from tool_nodes.results import ErrorCode, invalid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tool_nodes.toolbox.toolbox import CallRecord

LONGEST_ANSWER = 2000
"""Longest answer to a question [characters]; as long as a command of the scripted policy may be."""
ANSWER_DEADLINE_S = 60.0
"""How long a question waits before it is closed, at the terminal and over ROS [s]: people answer within seconds, and
later the table may be another one."""

_NUMBER = r"(0?\.\d+|0|1(?:\.0+)?)"
TYPED_POINT = re.compile(rf"(?<![\d.])\(?\s*{_NUMBER}\s*[,; ]\s*{_NUMBER}(?![\d.])\s*\)?")
"""A normalized point as people type it: "0.41 0.22", "(0.41, 0.22)". Numbers outside of 0..1 are words like others."""


@dataclass(frozen=True)
class OperatorTold:
    """What the operator is told between two commands: a plan, or how a step of it has ended."""

    text: str


@dataclass(frozen=True)
class CommandBegan:
    """A command that the operator has not said word for word, e.g. one of several, or "undo".

    Attributes:
        text: The command in words that stand alone.
    """

    text: str


@dataclass(frozen=True)
class Thought:
    """The policy's reasoning of a turn."""

    text: str


@dataclass(frozen=True)
class ToolCalled:
    """A tool call that is about to run."""

    call: ToolCall


@dataclass(frozen=True, eq=False)
class ToolAnswered:
    """The record of a call that has run."""

    record: CallRecord


@dataclass(frozen=True)
class CallRefused:
    """A call that is not run.

    Attributes:
        call: The call as the policy wrote it; None where the whole turn cannot be read.
        error_code: The reason; None where an earlier motion of the same turn failed.
        text: Text that the policy reads.
    """

    call: ToolCall | None
    error_code: ErrorCode | None
    text: str


@dataclass(frozen=True)
class NoteAdded:
    """What the agent adds to the answer of a call for the policy."""

    text: str


@dataclass(frozen=True)
class OperatorQuestion:
    """A question of the policy to the operator; the command waits for the answer.

    Attributes:
        text: The question, without the code that it was written with.
        image_index: Newest picture of the conversation, which a point of the answer is in; None without one.
        picture: That picture, uint8 RGB (H, W, 3), where it is known here.
        candidates: Things that it lets choose from, in the order of their numbers from 1; empty where it lets choose
            from none, or they are not known here.
    """

    text: str
    image_index: int | None = None
    picture: NDArray[np.uint8] | None = field(default=None, repr=False, compare=False)
    candidates: tuple[PointedPoint, ...] = ()


@dataclass(frozen=True)
class OperatorAnswer:
    """The operator's answer to a question: words, or a point.

    Attributes:
        text: The words; empty where a point says it all.
        point: Normalized (x, y) of the question's picture from the top left, each in [0, 1]; None without one.

    Raises:
        ToolError: INVALID_ARGUMENT for neither words nor a point, words that are too long, a point outside the picture.
    """

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
class CommandEnded:
    """The end of a command.

    Attributes:
        text: The answer to the operator, after the code of what went wrong where something did.
        error_code: The stage that failed, or None.
    """

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
Listener = Callable[[Event], None]
Ask = Callable[[OperatorQuestion], OperatorAnswer | None]
"""Puts a question to the operator and waits; None without an answer. Raises ToolError STOPPED after a stop."""


def ignore(event: Event) -> None:
    """The listener that does nothing."""


def nobody(question: OperatorQuestion) -> None:
    """The operator who is not there: a question ends the command."""
