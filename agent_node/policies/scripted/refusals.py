"""How a command is refused."""

from __future__ import annotations

from typing import NoReturn

from tool_nodes.results import ErrorCode, ToolError

EXAMPLES = 'For example: "Pick up the red box" or "Put the can to the left of the bowl".'
SEVERAL = "I carry out one command at a time: one object and at most one place."


def refuse(sentence: str, code: ErrorCode = ErrorCode.NOT_UNDERSTOOD) -> NoReturn:
    """Raise a ToolError with examples of what is understood."""
    raise ToolError(code, sentence, EXAMPLES)
