"""What an operator hears while a command is carried out: each step as a feedback of the action RunCommand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from std_msgs.msg import Header
from toolhand_interfaces.action import RunCommand

from agent_node.calls import ToolCall
from agent_node.policy import Message, Policy, Reply
from tool_nodes.ros.messages import rgb_to_image
from tool_nodes.toolbox import CallRecord


class Progress:
    """A policy that counts its turns, and a listener of the agent that tells each step.

    Args:
        policy: Decides.
        tell: Gets each feedback, in the agent's thread.

    Attributes:
        name: Of the policy.
        turn: Turn of the conversation, from 1; 0 before the first.
    """

    def __init__(self, policy: Policy, tell: Callable[[Any], None]) -> None:
        self._policy = policy
        self._tell = tell
        self.name = policy.name
        self.turn = 0

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """See Policy."""
        self.turn += 1
        return self._policy.respond(conversation)

    def listen(self, kind: str, payload: Any) -> None:
        """See agent_node.agent.Listener; the answer comes with the result of the action."""
        feedback = RunCommand.Feedback(turn=self.turn)
        if kind == "thought":
            feedback.thought = payload
        elif kind == "call":
            feedback.tool_call = call_text(payload)
        elif kind == "result":
            _put_result(feedback, payload)
        else:
            return
        self._tell(feedback)


def call_text(call: ToolCall) -> str:
    """A call as JSON; what JSON cannot say is written as text."""
    return json.dumps({"name": call.name, "arguments": call.arguments}, default=str)


def _put_result(feedback: Any, record: CallRecord) -> None:
    feedback.result_text = record.result.text
    if record.result.image is not None:
        feedback.image = rgb_to_image(record.result.image, Header())
