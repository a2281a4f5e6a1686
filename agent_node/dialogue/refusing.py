"""A refusal as a policy, so that a run of what is refused has its report and its verdict like any other."""

from __future__ import annotations

from toolhand.agent_node.dialogue.acts import Refused
from toolhand.agent_node.dialogue.fixed_calls import FixedCalls
from toolhand.agent_node.policies.scripted.steps import Done, Script
from toolhand.agent_node.protocol import Protocol


class RefusingPolicy(FixedCalls):
    """Answers with a refusal at once.

    Args:
        act: Refusal that the utterance was read as.
        protocol: Protocol that it writes.
    """

    name = "refusal"

    def __init__(self, act: Refused, protocol: Protocol) -> None:
        super().__init__(protocol)
        self._act = act

    def script(self) -> Script:
        """See `FixedCalls`."""
        yield from ()
        raise Done("That is not a command I can carry out.", f"{self._act.code}: {self._act.message}")
