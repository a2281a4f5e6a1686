"""What the teacher's scripts are made of: calls, what they answered, and answers in the form that was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

import numpy as np

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policies.scripted.steps import Done, Script, ScriptStep
from toolhand.agent_node.policies.scripted.transcript import Response
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import FloatArray
from toolhand.training.teacher.reading import ReadQuestion

T = TypeVar("T")
J = TypeVar("J", int, str, list[Any])

_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

AnswerScript = Callable[[ReadQuestion], Script]
"""Makes the script of a question: it ends by raising Done."""

Asking = Generator[ScriptStep, list[Response], T]
"""Part of a script that gives back what it has read."""

RETRIES = 1
"""Repetitions of calls whose answer is empty [-]: what fails at random works then."""

_LARGEST = 1e6
"""Numbers of tools are smaller [m, px], far above all that a camera sees."""


class Unread(Done):
    """What the tools said does not hold what was asked for: they are asked again before this is the end."""

    def __init__(self, why: str = "the tools' answer cannot be read", code: ErrorCode = ErrorCode.EXECUTION_FAILED):
        super().__init__("The tools do not tell.", f"{code}: {why}.")


def asked(thought: str, read: Callable[..., T], *calls: tuple[str, dict[str, Any]]) -> Asking[T]:
    """Make calls in one step, once more where one fails, says nothing or cannot be read, and give what was read.

    Args:
        read: (a Response for each call) -> what they say. Raises Unread where they do not.
        calls: (tool, arguments) each.

    Raises:
        Done: They brought nothing again.
    """
    todo = tuple(ToolCall(name, arguments) for name, arguments in calls)
    responses = yield ScriptStep(thought, todo)
    for _ in range(RETRIES):
        try:
            return _told(read, responses)
        except Unread:
            # All of them again: a variable must be the one of this try.
            responses = yield ScriptStep("That did not work; once more.", todo)
    return _told(read, responses)


def _told(read: Callable[..., T], responses: Sequence[Response]) -> T:
    for response in responses:
        if not response.ok or not response.text.strip():
            why = response.text.strip().removesuffix(".") or "a tool answered nothing"
            raise Unread(why, response.error or ErrorCode.EXECUTION_FAILED)
    return read(*responses)


def numbers(text: str, count: int) -> list[float]:
    """The first `count` numbers of a text, in order. Raises Unread where there are fewer."""
    found = [float(number) for number in _NUMBER.findall(text)[:count]]
    if len(found) < count or max(map(abs, found)) > _LARGEST:
        raise Unread()
    return found


def positive(values: list[float]) -> list[float]:
    """The same numbers. Raises Unread where one is not above 0."""
    if min(values) <= 0.0:
        raise Unread()
    return values


def after(text: str, words: str) -> str:
    """What stands behind some words. Raises Unread where they are not in it."""
    _, found, rest = text.partition(words)
    if not found:
        raise Unread()
    return rest


def result_json(response: Response, key: str, kind: type[J]) -> J:
    """An entry of a PERIA tool's answer, a JSON object. Raises Unread where there is none of that type."""
    try:
        document = json.JSONDecoder().raw_decode(response.text.partition("Result: ")[2] or response.text)[0]
    except (ValueError, RecursionError):  # such as one that was cut off
        raise Unread() from None
    found = document.get(key) if isinstance(document, dict) else None
    if not isinstance(found, kind):
        raise Unread()
    return found


def boxed(item: object) -> FloatArray:
    """The corners (4,) of an entry `{"bbox": "\\boxed{x1,y1,x2,y2}"}`, from 0..1000 to 0..1. Raises Unread."""
    values = numbers(str(item.get("bbox")) if isinstance(item, dict) else "", 4)
    if min(values) < 0.0 or max(values) > 1000.0:
        raise Unread()
    return np.array(values) / 1000.0


def listed(points: Sequence[Sequence[float]] | FloatArray) -> str:
    """Points as an answer has them."""
    return f"[{', '.join(one(point) for point in points)}]"


def one(values: Sequence[float] | FloatArray) -> str:
    """One point or box as an answer has it, kept within the image."""
    return f"[{', '.join(f'{min(max(value, 0.0), 1.0):.4f}' for value in values)}]"


def no_answer(why: str) -> Done:
    """The end of a script that found nothing."""
    return Done("I cannot tell.", f"{ErrorCode.OBJECT_NOT_FOUND}: {why}.")


def side_of(right: float, away: float) -> str:
    """Words for where something stands that is so far to the right and so far away [m]."""
    if abs(right) >= abs(away):
        return "right of" if right > 0 else "left of"
    return "behind" if away > 0 else "in front of"


def yes_no_or_letter(question: ReadQuestion, words: str) -> str:
    """The answer to a question about a relation that was measured."""
    if question.kind == "yes_no":
        return "yes" if question.blanks["where"] == words else "no"
    return next((letter for letter, option in question.options.items() if option == words), "A")
