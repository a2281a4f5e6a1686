"""What the scripted policy's script is made of: steps, setbacks that another try may mend, and the end."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policies.scripted.commands import Command
from toolhand.agent_node.policies.scripted.transcript import MISSING, Response
from toolhand.tool_nodes.results import ErrorCode


@dataclass(frozen=True)
class ScriptStep:
    """One turn of the script: what is thought, and what it waits for: calls, or else a question to the operator."""

    thought: str
    calls: tuple[ToolCall, ...] = ()
    question: str = ""


class Done(Exception):
    """Ends the script with an answer."""

    def __init__(self, thought: str, answer: str) -> None:
        super().__init__(answer)
        self.thought = thought
        self.answer = answer


class AnotherCommand(Exception):
    """The operator has answered a question with a whole command, which takes the place of the first."""

    def __init__(self, command: Command) -> None:
        super().__init__(command.understood)
        self.command = command


class Withdrawn(Exception):
    """The operator's answer to a question ends the command."""


class Setback(Exception):
    """A failure that another try may mend."""

    def __init__(self, doing: str, response: Response) -> None:
        super().__init__(doing)
        self.doing = doing
        self.response = response


FINAL = frozenset(
    {
        ErrorCode.STOPPED, ErrorCode.CANCELLED, ErrorCode.NOT_APPROVED, ErrorCode.UNAVAILABLE, ErrorCode.INTERNAL,
        ErrorCode.CONTROLLER_FAULT, ErrorCode.WRONG_OBJECT, ErrorCode.TIMEOUT, ErrorCode.UNKNOWN_TOOL,
        ErrorCode.INVALID_ARGUMENT, ErrorCode.NOT_UNDERSTOOD, ErrorCode.AMBIGUOUS, ErrorCode.TURN_BUDGET,
        ErrorCode.IMAGE_UNUSABLE, ErrorCode.ALREADY_HOLDING,
    }
)  # fmt: skip
"""Errors that trying again does not mend."""
SAME_VIEW = frozenset({ErrorCode.IK_FAILED, ErrorCode.PLAN_FAILED})
"""Refused grasps: nothing has moved, the next best grasp of the same view will do."""
NO_PLACE = frozenset({ErrorCode.PLACE_BLOCKED, ErrorCode.OUT_OF_WORKSPACE})
"""There is no place: objects are in the way, or what the arm reaches and the camera sees ends before it."""
BEFORE_MOTION = SAME_VIEW | {
    ErrorCode.SCENE_CHANGED,
    ErrorCode.INVALID_ARGUMENT,
    ErrorCode.OUT_OF_WORKSPACE,
    ErrorCode.NOT_APPROVED,
    ErrorCode.ALREADY_HOLDING,
}
"""Errors of a grasp that is refused before anything moves."""

LOST = frozenset({ErrorCode.OBJECT_DROPPED, ErrorCode.GRIPPER_EMPTY, ErrorCode.NOT_HOLDING})
NOT_LOOKED_AT = frozenset({ErrorCode.IMAGE_UNUSABLE, ErrorCode.UNAVAILABLE})
"""What is said about an image in which nothing was looked for."""


class Unseen(Setback):
    """What should look at an image had nothing to say about it; a new image may mend that, once."""


def unmet(doing: str, response: Response) -> Setback:
    """The setback of a question about an image."""
    return (Unseen if response.error in NOT_LOOKED_AT else Setback)(doing, response)


T = TypeVar("T")
ScriptPart = Generator[ScriptStep, list[Response], T]
"""Yields steps, receives the responses to their calls or the operator's answer, and returns what it found out."""
Script = ScriptPart[None]
"""Ends by raising `Done`."""


def next_calls(script: Script, turns: Sequence[list[Response]], one_call: bool) -> tuple[str, tuple[ToolCall, ...]]:
    """The thought and the calls that come next when a script is replayed against what the tools have answered.

    Args:
        script: From its beginning.
        turns: The responses to each turn so far.
        one_call: The protocol allows one call in a turn: a step of several is spread over turns.

    Raises:
        Done: The script is over, or asks the operator: its answer is the question, until that is answered.
    """
    step = next(script)
    done: list[Response] = []
    for responses in turns:
        if step.question and not responses:
            break  # nobody has answered
        asked = 1 if one_call else max(len(step.calls), 1)
        done += (responses + [MISSING] * asked)[:asked]
        if len(done) >= len(step.calls):
            step, done = script.send(done), []
    if step.question:
        raise Done(step.thought, f"{ErrorCode.AMBIGUOUS}: {step.question}")
    return step.thought, step.calls[len(done) : len(done) + 1] if one_call else step.calls
