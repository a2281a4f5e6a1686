"""A refusal as a policy, so that a run of what is refused has its report and its verdict like any other."""

from __future__ import annotations

from collections.abc import Sequence

from agent_node.dialogue.acts import Refused
from agent_node.policies.scripted.wording import untagged
from agent_node.policy import Message, Reply
from agent_node.protocol import Protocol


class RefusingPolicy:
    """Answers with a refusal at once.

    Args:
        act: Refusal that the utterance was read as.
        protocol: Protocol that it writes.
    """

    name = "refusal"

    def __init__(self, act: Refused, protocol: Protocol) -> None:
        self._act, self._protocol = act, protocol

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """See `agent_node.policy.Policy`."""
        answer = untagged(f"{self._act.code}: {self._act.message}")
        return Reply(self._protocol.render_turn("That is not a command I can carry out.", (), answer))
