"""Feedback of the action RunCommand: each step of a command while it is carried out."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from toolhand_interfaces.msg import CommandStep

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.events import Event, OperatorAnswer, OperatorQuestion, ToolAnswered
from toolhand.agent_node.open_question import Choice
from toolhand.agent_node.policy import (
    Message,
    Policy,
    Reply,
    candidates_of,
    only_answers,
    sees_images,
    speed_of,
    takes_answers,
)
from toolhand.agent_node.ros.pointing import candidate_messages
from toolhand.agent_node.runs.folder import image_path

Publish = Callable[[Any, NDArray[np.uint8] | None], None]
"""Gets each CommandStep and the image (H, W, 3) that it names, if it names one."""

_FIELDS = {
    "thought": "thought",
    "call": "",
    "result": "result_text",
    "refusal": "refusal",
    "note": "note",
    "question": "question",
    "operator": "answer",
}
"""Field of a CommandStep for the words of an event, by its kind. The end comes with the result of the action."""


class TurnProgress:
    """A policy that counts its turns, and a listener of the agent that publishes each step.

    Args:
        publish: Called in the agent's thread.
        command: Which of the commands it is that the operator's words became, from 1.
        published: Number of the last step of the commands before.

    Attributes:
        takes_answers, only_answers, sees_images, speed_of, candidates_of: See the functions of
            `toolhand.agent_node.policy`.
        turn: Turn of the conversation, from 1; 0 before the first.
        published: Number of the last step that was published.
    """

    def __init__(self, policy: Policy, publish: Publish, command: int = 1, published: int = 0) -> None:
        self._policy = policy
        self._publish = publish
        self._command = command
        self.name = policy.name
        self.takes_answers, self.only_answers = takes_answers(policy), only_answers(policy)
        self.sees_images = sees_images(policy)
        self.speed_of = functools.partial(speed_of, policy)
        self.candidates_of = functools.partial(candidates_of, policy)
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
        """Publish an event, see `toolhand.agent_node.events.Listener`; the end comes with the result of the action."""
        if event.kind not in _FIELDS:
            return
        step = CommandStep(error_code=event.code)
        if event.of_call is not None and not isinstance(event, ToolAnswered):
            step.tool_call = call_text(event.of_call)
        if _FIELDS[event.kind]:
            setattr(step, _FIELDS[event.kind], event.words if isinstance(event, OperatorAnswer) else event.text)
        if isinstance(event, OperatorQuestion):
            step.candidates = candidate_messages([Choice(each.label, each.point) for each in event.candidates])
        record = event.record if isinstance(event, ToolAnswered) else None
        index = getattr(event if record is None else record, "image_index", None)
        step.image = "" if index is None else image_path(index)
        self._send(step, None if record is None or index is None else record.result.image)

    def _send(self, step: CommandStep, image: NDArray[np.uint8] | None) -> None:
        step.number, step.command, step.turn = self.published + 1, self._command, self.turn
        self.published = step.number
        self._publish(step, image)


def call_text(call: ToolCall) -> str:
    """A call as JSON; what JSON cannot say is written as text."""
    return json.dumps({"name": call.name, "arguments": call.arguments}, default=str)
