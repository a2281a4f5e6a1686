"""The tool that takes the scene's image, by the name under which a toolbox offers it.

Sentences of tools and of the agent name it by one of its names; what a policy reads names the one that it has.
"""

from __future__ import annotations

import re
from collections.abc import Container

from toolhand.tool_nodes.results import ToolError

LOOKS = ("robot.look", "robot.capture_image")
"""Names of tools that take the scene's image; the first that is offered."""

_A_LOOK = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, LOOKS))})(?!\w)")


def look_of(offered: Container[str]) -> str:
    """The name of the tool that takes the scene's image; "" where none is offered."""
    return next((name for name in LOOKS if name in offered), "")


def as_offered(error: ToolError, offered: Container[str]) -> ToolError:
    """An error whose sentences name the look that is offered; the same where they do, or none is."""
    look = look_of(offered)
    if not look:
        return error
    message, hint = (
        _A_LOOK.sub(lambda found: found[0] if found[0] in offered else look, text)
        for text in (error.message, error.hint)
    )
    if (message, hint) == (error.message, error.hint):
        return error
    return error.reworded(message, hint)
