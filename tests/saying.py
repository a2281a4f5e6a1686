"""A policy that says what a test gives it, and how it says it."""

import json
from collections.abc import Callable, Sequence

from toolhand.agent_node.policy import Message, Reply


def call(name: str, **arguments: object) -> str:
    """A call of a tool, in the words of the protocol `spacetools`."""
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def answer(words: str) -> str:
    """The end of a command, likewise."""
    return f"<answer>{words}</answer>"


class Says:
    """A policy that says its lines in order, the last one for ever.

    Args:
        lines: Of text; replies as they are; errors, which are raised; and functions, whose line is said.
        name: The policy's.

    Attributes:
        read: What it was given, a conversation a turn.
    """

    def __init__(self, *lines: str | Reply | BaseException | Callable[[], str], name: str = "says") -> None:
        self._lines = list(lines)
        self.name = name
        self.read: list[tuple[Message, ...]] = []

    def respond(self, conversation: Sequence[Message]) -> Reply:
        self.read.append(tuple(conversation))
        line = self._lines.pop(0) if len(self._lines) > 1 else self._lines[0]
        if isinstance(line, BaseException):
            raise line
        said = line() if callable(line) else line
        return said if isinstance(said, Reply) else Reply(said)
