"""What the teacher's scripts are made of: calls, what they answered, and answers in the form that was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from agent_node.calls import ToolCall
from agent_node.policies.scripted.steps import Done, Script, ScriptStep
from agent_node.policies.scripted.transcript import Response
from tool_nodes.results import ErrorCode
from tool_nodes.types import FloatArray
from training.teacher.reading import ReadQuestion

AnswerScript = Callable[[ReadQuestion], Script]
"""Makes the script of a question: it ends by raising Done."""

Asking = Generator[ScriptStep, list[Response], list[Response]]
"""Part of a script that gives back what its calls answered."""

RETRIES = 1
"""So often a call that failed is made again [-]; chosen by hand: what fails at random works then."""


def asked(thought: str, *calls: tuple[str, dict[str, Any]]) -> Asking:
    """Make calls in one step, once more where one fails or says nothing, and give what they answered.

    Raises:
        Done: A call did so again.
    """
    todo = tuple(ToolCall(name, arguments) for name, arguments in calls)
    responses = yield ScriptStep(thought, todo)
    for _ in range(RETRIES):
        if all(map(_tells, responses)):
            break
        # All of them again: a variable must be the one of this try.
        responses = yield ScriptStep("That did not work; once more.", todo)
    failed = next((response for response in responses if not _tells(response)), None)
    if failed is not None:
        code = failed.error or ErrorCode.EXECUTION_FAILED
        raise Done("The tools do not tell.", f"{code}: {failed.text or 'a tool answered nothing.'}")
    return responses


def _tells(response: Response) -> bool:
    """Whether a call worked and said something."""
    return response.ok and bool(response.text.strip())


def numbers(text: str) -> list[float]:
    """All numbers of a text, in order."""
    return [float(number) for number in re.findall(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", text)]


def after(text: str, words: str) -> str:
    """What stands behind some words; all of the text where they are not in it."""
    return text.partition(words)[2] or text


def result_json(response: Response) -> dict[str, Any]:
    """The JSON object of a PERIA tool's answer. Raises Done for one that was cut."""
    try:
        found: dict[str, Any] = json.JSONDecoder().raw_decode(after(response.text, "Result: "))[0]
    except ValueError:
        raise Done(
            "The answer was cut off.", f"{ErrorCode.EXECUTION_FAILED}: the tool's answer cannot be read."
        ) from None
    return found


def boxed(text: str) -> FloatArray:
    """The corners (4,) of `\\boxed{x1,y1,x2,y2}`, from 0..1000 to 0..1."""
    return np.array(numbers(text)[:4]) / 1000.0


def listed(points: Sequence[Sequence[float]] | FloatArray) -> str:
    """Points as an answer has them."""
    return f"[{', '.join(one(point) for point in points)}]"


def one(values: Sequence[float] | FloatArray) -> str:
    """One point or box as an answer has it, kept within the picture."""
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
