"""How a command is refused."""

from __future__ import annotations

from typing import NoReturn

from toolhand.tool_nodes.language.relations import RELATION_WORDS
from toolhand.tool_nodes.results import ErrorCode, ToolError

EXAMPLES = 'For example: "Pick up the red box" or "Put the can to the left of the bowl".'
SEVERAL = "I carry out one command at a time: one object and at most one place."
ABILITY = "I can pick things up and place them"
PLACES = f"I can place things {', '.join(RELATION_WORDS.values())} other things or on the table."


def refuse_side(quoted: str) -> NoReturn:
    """Refuse a side or a way to go that stands where a place should."""
    refuse(f'{quoted} alone is no place for me; name a thing as well, such as "to the left of the bowl".')


def refuse(sentence: str, code: ErrorCode = ErrorCode.NOT_UNDERSTOOD) -> NoReturn:
    """Raise a ToolError with examples of what is understood."""
    raise ToolError(code, sentence, EXAMPLES)
