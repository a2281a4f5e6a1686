"""Questions of a policy to the operator: which of its words, and which of its calls, are one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from toolhand.agent_node.episode import Exchange, coded_answer
from toolhand.agent_node.pointed import PointedPoint
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.toolbox.toolbox import Tools

PutQuestion = tuple[str, tuple[PointedPoint, ...]]
"""A question, and what it lets choose from; an empty one is none."""
_SAME_POINT = 0.005
"""A candidate that was clicked comes back within this of its own point, in shares of the image [-]: three decimals."""


def question_of(exchange: Exchange) -> PutQuestion | None:
    """The question that a call puts, by the fact `asked` of its result; None for any other call."""
    asked = None if exchange.record is None else exchange.record.result.facts.get("asked")
    if asked is None:
        return None
    labels = [f"mark {mark}" for mark in asked["marks"]] or [str(k + 1) for k in range(len(asked["candidates"]))]
    points = zip(asked["candidates"], labels, strict=True)
    return asked["question"], tuple(PointedPoint((x, y), label=label) for (x, y), label in points)


def candidate_meant(
    words: str, point: tuple[float, float] | None, candidates: Sequence[tuple[str, tuple[float, float] | None]]
) -> str:
    """The candidate that an answer names by its number alone, or by its own point, in words; "" for any other answer.

    Args:
        words: The operator's words.
        point: The point that they have shown, normalized (x, y); None for nothing, or for several points.
        candidates: Label and normalized point of each, in the order of their numbers from 1.
    """
    number = int(words) - 1 if re.fullmatch(r"\s*[0-9]{1,2}\s*", words) else -1
    if point is not None:
        near = (k for k, (_, at) in enumerate(candidates) if at and max(map(abs, np.subtract(at, point))) < _SAME_POINT)
        number = next(near, -1)
    if not 0 <= number < len(candidates):
        return ""
    label = candidates[number][0]
    return f"candidate {number + 1}" + ("" if label == str(number + 1) else f", {label}")


def question_in(answer: str, in_prose: bool, candidates: Callable[[str], tuple[PointedPoint, ...]]) -> PutQuestion:
    """The question that an answer is.

    Args:
        answer: The answer, with its code.
        in_prose: One without a code may be a question, too.
        candidates: Reads what a question with its code lets choose from.
    """
    coded = coded_answer(answer)
    if coded is not None:
        return (coded[1], candidates(coded[1])) if coded[0] is ErrorCode.AMBIGUOUS else ("", ())
    return (answer, ()) if in_prose and _asks(answer) else ("", ())


def may_be_unfinished(task: str, answer: str, protocol: Protocol, tools: Tools) -> bool:
    """Whether an answer before any call may be no answer, but what a policy says on the way to its first call.

    Not where the operator asks, where no tool moves anything, where the answer admits a failure or asks, and where the
    protocol has a form of its own for answers.
    """
    ordered = not _asks(task) and any(spec.motion for spec in tools.specs.values())
    return ordered and protocol.native and coded_answer(answer) is None and not _asks(answer)


def _asks(words: str) -> bool:
    return words.rstrip().endswith(("?", "？"))
