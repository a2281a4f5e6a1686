"""Policies that no model stands behind: a script of calls, replayed against what the tools have answered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from toolhand.agent_node.policies.scripted.steps import Done, Script, next_calls
from toolhand.agent_node.policies.scripted.transcript import read_episode
from toolhand.agent_node.policies.scripted.wording import untagged
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.language.speeds import spoken_share


class FixedCalls(ABC):
    """Writes the turns of a script; it keeps nothing between them.

    Args:
        protocol: Protocol that it writes.
    """

    name = "fixed calls"
    takes_answers = False
    on_the_way = False
    """It is no command of its own, but done on the way to one: a look, or to get out of the camera's view."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol

    @abstractmethod
    def script(self) -> Script:
        """The script from its beginning; it ends with `Done`."""

    def speed_of(self, words: str) -> float:
        """See `toolhand.agent_node.policy.speed_of`."""
        return spoken_share(words)

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """See `toolhand.agent_node.policy.Policy`."""
        _, turns = read_episode(conversation)
        try:
            thought, calls = next_calls(self.script(), turns, self._protocol.calls_in_a_turn != "all")
        except Done as end:
            return Reply(self._protocol.render_turn(untagged(end.thought), (), untagged(end.answer)))
        return Reply(self._protocol.render_turn(untagged(thought), calls))
