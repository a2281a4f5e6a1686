"""The objects that a question of the scripted policy lets choose from, as its text names them."""

from __future__ import annotations

import re

from toolhand.agent_node.open_question import Choice
from toolhand.agent_node.pointed import PointedPoint

_POINT = r"\(([01]?\.\d+|[01](?:\.0*)?), ([01]?\.\d+|[01](?:\.0*)?)\)"
_CANDIDATE = re.compile(rf"\b((?:the )?(?:[\w-]+ )*?one(?: [a-z ]+?)?) at {_POINT}")
_NAMES = 60
"""Longest words of a candidate [characters]."""


def choices_in(text: str) -> tuple[Choice, ...]:
    """The objects that the text of a question lets choose from, as far as it says their points; in its order."""
    return tuple(
        Choice(match[1].strip().removeprefix("or ")[:_NAMES], (float(match[2]), float(match[3])))
        for match in _CANDIDATE.finditer(text)
    )


def candidates_in(question: str) -> tuple[PointedPoint, ...]:
    """The same as points, see `toolhand.agent_node.policy.candidates_of`."""
    return tuple(PointedPoint(choice.point, label=choice.words) for choice in choices_in(question))
