"""What the scripted policy's script is made of: steps, setbacks that another try may mend, and the end."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from agent_node.calls import ToolCall
from agent_node.policies.scripted.transcript import Response
from tool_nodes.results import ErrorCode


@dataclass(frozen=True)
class ScriptStep:
    """One turn of the script: what is thought, and the calls that it waits for."""

    thought: str
    calls: tuple[ToolCall, ...]


class Done(Exception):
    """Ends the script with an answer."""

    def __init__(self, thought: str, answer: str) -> None:
        super().__init__(answer)
        self.thought = thought
        self.answer = answer


class Setback(Exception):
    """A failure that another try may mend."""

    def __init__(self, doing: str, response: Response) -> None:
        super().__init__(doing)
        self.doing = doing
        self.response = response


class Unseen(Setback):
    """What should look at a picture had nothing to say about it; a new picture may mend that, once."""


def unmet(doing: str, response: Response) -> Setback:
    """The setback of a question about a picture."""
    return (Unseen if response.error is ErrorCode.UNAVAILABLE else Setback)(doing, response)


Script = Generator[ScriptStep, list[Response], None]
"""Yields steps, receives the responses to their calls, and ends by raising `Done`."""
