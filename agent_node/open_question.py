"""A question that waits for an operator's next words, and what it lets choose from."""

from __future__ import annotations

from dataclasses import dataclass

ANSWER_WITHIN_S = 60.0
"""A question is closed so long after it was asked [s]: by then the table may be another one."""


@dataclass(frozen=True)
class Choice:
    """One of the objects that a question lets choose from.

    Attributes:
        words: Words for it, e.g. "the left one".
        point: Its normalized point; None where it is not known.
    """

    words: str
    point: tuple[float, float] | None = None


@dataclass(frozen=True)
class OpenQuestion:
    """A question that the operator has not answered yet.

    Attributes:
        text: The question.
        command: The command that it is about: of a dialogue in the robot's words, else as a policy was given it.
        asked_s: Wall-clock time when it was asked, seconds since the epoch.
        phrase: Words of the command that the candidates fit, e.g. "can"; empty where the question is another one.
        candidates: Objects that may be chosen, in the order of their numbers; the first has the number 1.
        left: Steps of a plan that come after the command.
    """

    text: str
    command: str
    asked_s: float
    phrase: str = ""
    candidates: tuple[Choice, ...] = ()
    left: tuple[str, ...] = ()
