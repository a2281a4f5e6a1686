"""Policies that no model stands behind: a script of calls, replayed against what the tools have answered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from agent_node.policies.scripted.steps import Done, Script, next_calls
from agent_node.policies.scripted.transcript import read_episode
from agent_node.policies.scripted.wording import untagged
from agent_node.policy import Message, Reply
from agent_node.protocol import Protocol


class FixedCalls(ABC):
    """Writes the turns of a script; it keeps nothing between them.

    Args:
        protocol: Protocol that it writes.
    """

    name = "fixed calls"
    takes_answers = False

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol

    @abstractmethod
    def script(self) -> Script:
        """The script from its beginning; it ends with `Done`."""

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """See `agent_node.policy.Policy`."""
        _, turns = read_episode(conversation)
        try:
            thought, calls = next_calls(self.script(), turns, self._protocol.calls_in_a_turn != "all")
        except Done as end:
            return Reply(self._protocol.render_turn(untagged(end.thought), (), untagged(end.answer)))
        return Reply(self._protocol.render_turn(untagged(thought), calls))
