"""What an operator hears while a command is carried out: each step as a feedback of the action RunCommand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from toolhand_interfaces.msg import CommandStep

from agent_node.calls import ToolCall
from agent_node.policy import Message, Policy, Reply
from agent_node.runs.folder import image_path
from tool_nodes.toolbox.toolbox import CallRecord

Tell = Callable[[Any, NDArray[np.uint8] | None], None]
"""Gets each CommandStep and the picture (H, W, 3) that it names, if it names one."""


class TurnProgress:
    """A policy that counts its turns, and a listener of the agent that tells each step.

    Args:
        policy: Decides.
        tell: Called in the agent's thread.

    Attributes:
        name: Of the policy.
        turn: Turn of the conversation, from 1; 0 before the first.
        told: How many steps were told; the number of the last one.
    """

    def __init__(self, policy: Policy, tell: Tell) -> None:
        self._policy = policy
        self._tell = tell
        self.name = policy.name
        self.turn = 0
        self.told = 0

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """See Policy."""
        self.turn += 1
        return self._policy.respond(conversation)

    def listen(self, kind: str, payload: Any) -> None:
        """See agent_node.agent.Listener; the answer comes with the result of the action."""
        step, picture = CommandStep(number=self.told + 1, turn=self.turn), None
        if kind == "thought":
            step.thought = payload
        elif kind == "call":
            step.tool_call = call_text(payload)
        elif kind == "result":
            picture = _put_result(step, payload)
        else:
            return
        self.told = step.number
        self._tell(step, picture)


def call_text(call: ToolCall) -> str:
    """A call as JSON; what JSON cannot say is written as text."""
    return json.dumps({"name": call.name, "arguments": call.arguments}, default=str)


def _put_result(step: Any, record: CallRecord) -> NDArray[np.uint8] | None:
    """Fill in a step; the picture that it names."""
    step.result_text = record.result.text
    if record.image_index is None:
        return None
    step.picture = image_path(record.image_index)
    return record.result.image
