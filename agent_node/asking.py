"""Questions of a policy to the operator: which of its words, and which of its calls, are one."""

from __future__ import annotations

from collections.abc import Callable

from toolhand.agent_node.episode import Exchange, coded_answer
from toolhand.agent_node.pointed import PointedPoint
from toolhand.tool_nodes.results import ErrorCode

PutQuestion = tuple[str, tuple[PointedPoint, ...]]
"""A question, and what it lets choose from; an empty one is none."""


def question_of(exchange: Exchange) -> PutQuestion | None:
    """The question that a call puts, by the fact `asked` of its result; None for any other call."""
    asked = None if exchange.record is None else exchange.record.result.facts.get("asked")
    if asked is None:
        return None
    points = enumerate(asked["candidates"], 1)
    return asked["question"], tuple(PointedPoint((x, y), label=str(k)) for k, (x, y) in points)


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


def is_words_alone(answer: str) -> bool:
    """Whether an answer neither admits a failure nor asks."""
    return coded_answer(answer) is None and not _asks(answer)


def _asks(answer: str) -> bool:
    return answer.rstrip().endswith(("?", "？"))
