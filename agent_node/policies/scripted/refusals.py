"""How a command is refused."""

from __future__ import annotations

from typing import NoReturn

from toolhand.tool_nodes.language.relations import RELATION_WORDS
from toolhand.tool_nodes.results import ErrorCode, ToolError

EXAMPLES = 'For example: "Pick up the red box" or "Put the can to the left of the bowl".'
SEVERAL = "I carry out one command at a time: one object and at most one place."
SEVERAL_OBJECTS = 'I can handle one object at a time: "{}" is more than one.'
ABILITY = "I can pick things up and place them"
PLACES = f"I can place things {', '.join(RELATION_WORDS.values())} other things or on the table."


def nothing_to_stop(quoted: str) -> ToolError:
    """The refusal of words of stopping as a command, with those words in quotes."""
    return ToolError(
        ErrorCode.NOT_UNDERSTOOD,
        f"Nothing is moving in this command, so there is nothing to stop: {quoted}.",
        'To stop the arm at any time, run "toolhand stop" in another terminal, or press Ctrl-C where it moves.',
    )


def refuse(sentence: str, code: ErrorCode = ErrorCode.NOT_UNDERSTOOD) -> NoReturn:
    """Raise a ToolError with examples of what is understood."""
    raise ToolError(code, sentence, EXAMPLES)
