"""What the scripted policy's script is made of: steps, setbacks that another try may mend, and the end."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from agent_node.calls import ToolCall
from agent_node.policies.scripted.transcript import MISSING, Response
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


NOT_LOOKED_AT = frozenset({ErrorCode.PICTURE_UNUSABLE, ErrorCode.UNAVAILABLE})
"""What is said about a picture in which nothing was looked for."""


class Unseen(Setback):
    """What should look at a picture had nothing to say about it; a new picture may mend that, once."""


def unmet(doing: str, response: Response) -> Setback:
    """The setback of a question about a picture."""
    return (Unseen if response.error in NOT_LOOKED_AT else Setback)(doing, response)


Script = Generator[ScriptStep, list[Response], None]
"""Yields steps, receives the responses to their calls, and ends by raising `Done`."""


def next_calls(script: Script, turns: Sequence[list[Response]], one_call: bool) -> tuple[str, tuple[ToolCall, ...]]:
    """The thought and the calls that come next when a script is replayed against what the tools have answered.

    Args:
        script: From its beginning.
        turns: The responses to each turn so far.
        one_call: The protocol allows one call in a turn: a step of several is spread over turns.

    Raises:
        Done: The script is over.
    """
    step = next(script)
    done: list[Response] = []
    for responses in turns:
        asked = 1 if one_call else len(step.calls)
        done += (responses + [MISSING] * asked)[:asked]
        if len(done) >= len(step.calls):
            step, done = script.send(done), []
    return step.thought, step.calls[len(done) : len(done) + 1] if one_call else step.calls
