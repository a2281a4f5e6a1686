"""Policies that no model stands behind: a script of calls, replayed against what the tools have answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolhand.agent_node.policies.scripted.steps import Done, Script, next_calls
from toolhand.agent_node.policies.scripted.transcript import read_episode
from toolhand.agent_node.policies.scripted.wording import untagged
from toolhand.agent_node.policy import Message, Reply
from toolhand.agent_node.protocol import Protocol
from toolhand.tool_nodes.language.speeds import spoken_share


class FixedCalls:
    """Writes the turns of a script; it keeps nothing between them.

    Args:
        name: Its name in reports.
        script: Makes the script from its beginning; it ends with `Done`.
        protocol: Protocol that it writes.
        only_answers: Nothing is to move, so that an answer is all that is asked for.
        on_the_way: It is no command of its own, but done on the way to one: a look, or to get out of the camera's view.
    """

    takes_answers = False
    speed_of = staticmethod(spoken_share)

    def __init__(
        self,
        name: str,
        script: Callable[[], Script],
        protocol: Protocol,
        only_answers: bool = False,
        on_the_way: bool = False,
    ) -> None:
        self.name, self.only_answers, self.on_the_way = name, only_answers, on_the_way
        self._script, self._protocol = script, protocol

    def respond(self, conversation: Sequence[Message]) -> Reply:
        """See `toolhand.agent_node.policy.Policy`."""
        _, turns = read_episode(conversation)
        try:
            thought, calls = next_calls(self._script(), turns, self._protocol.calls_in_a_turn != "all")
        except Done as end:
            return Reply(self._protocol.render_turn(untagged(end.thought), (), untagged(end.answer)))
        return Reply(self._protocol.render_turn(untagged(thought), calls))


def at_once(thought: str, answer: str) -> Script:
    """A script of an answer without calls."""
    yield from ()
    raise Done(thought, answer)
