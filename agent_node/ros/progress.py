"""Feedback of the action RunCommand: each step of a command while it is carried out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from toolhand_interfaces.msg import CommandStep

from agent_node.calls import ToolCall
from agent_node.events import (
    CallRefused,
    CommandEnded,
    Event,
    NoteAdded,
    OperatorAnswer,
    OperatorQuestion,
    Thought,
    ToolAnswered,
    ToolCalled,
)
from agent_node.policy import Message, Policy, Reply, only_answers, sees_pictures, takes_answers
from agent_node.runs.folder import image_path
from tool_nodes.toolbox.toolbox import CallRecord

Publish = Callable[[Any, NDArray[np.uint8] | None], None]
"""Gets each CommandStep and the picture (H, W, 3) that it names, if it names one."""


class TurnProgress:
    """A policy that counts its turns, and a listener of the agent that publishes each step.

    Args:
        policy: Decides.
        publish: Called in the agent's thread.
        command: Which of the commands it is that the operator's words became, from 1.
        published: Number of the last step of the commands before.

    Attributes:
        name: Name of the policy.
        takes_answers, only_answers, sees_pictures: See the functions of `agent_node.policy`.
        turn: Turn of the conversation, from 1; 0 before the first.
        published: Number of the last step that was published.
    """

    def __init__(self, policy: Policy, publish: Publish, command: int = 1, published: int = 0) -> None:
        self._policy = policy
        self._publish = publish
        self._command = command
        self.name = policy.name
        self.takes_answers, self.only_answers = takes_answers(policy), only_answers(policy)
        self.sees_pictures = sees_pictures(policy)
        self.turn = 0
        self.published = published

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """See Policy."""
        self.turn += 1
        return self._policy.respond(conversation)

    def begin(self, sentence: str) -> None:
        """Publish what the command is, where the operator has said it otherwise."""
        self._send(CommandStep(sentence=sentence), None)

    def hear(self, event: Event) -> None:
        """Publish an event, see `agent_node.events.Listener`; the end comes with the result of the action."""
        step, picture = CommandStep(), None
        match event:
            case Thought(text):
                step.thought = text
            case ToolCalled(call):
                step.tool_call = call_text(call)
            case ToolAnswered(record):
                picture = _put_result(step, record)
            case CallRefused(refused, code, text):
                step.tool_call = "" if refused is None else call_text(refused)
                step.refusal, step.error_code = text, "" if code is None else str(code)
            case NoteAdded(text):
                step.note = text
            case OperatorQuestion(text, image_index):
                step.question = text
                step.picture = "" if image_index is None else image_path(image_index)
            case OperatorAnswer():
                step.answer = event.words
            case CommandEnded():
                return
        self._send(step, picture)

    def _send(self, step: CommandStep, picture: NDArray[np.uint8] | None) -> None:
        step.number, step.command, step.turn = self.published + 1, self._command, self.turn
        self.published = step.number
        self._publish(step, picture)


def call_text(call: ToolCall) -> str:
    """A call as JSON; what JSON cannot say is written as text."""
    return json.dumps({"name": call.name, "arguments": call.arguments}, default=str)


def _put_result(step: Any, record: CallRecord) -> NDArray[np.uint8] | None:
    """Fill in a step; the picture that it names."""
    step.result_text = record.result.text
    step.error_code = "" if record.result.error is None else str(record.result.error.code)
    if record.image_index is None:
        return None
    step.picture = image_path(record.image_index)
    return record.result.image
