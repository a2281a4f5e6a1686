"""Settings of a conversation, the same for an agent, an environment, a rollout and the node of a graph."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolhand.agent_node.context_window import Memory
from toolhand.agent_node.protocol import Protocol, load_protocol
from toolhand.agent_node.recovery import Recovery

TURN_BUDGET = 24
"""Assistant turns per command."""


@dataclass(frozen=True)
class ConversationSettings:
    """Settings of a conversation.

    Attributes:
        turn_budget: Assistant turns before the command ends with TURN_BUDGET.
        protocol: How the policy writes and reads.
        recovery: Rules for what to do after failures.
        memory: How much of a long conversation is kept.
    """

    turn_budget: int = TURN_BUDGET
    protocol: Protocol = field(default_factory=lambda: load_protocol("spacetools"))
    recovery: Recovery = field(default_factory=Recovery)
    memory: Memory = field(default_factory=Memory)


AS_SPACETOOLS = ConversationSettings()
"""The settings where none are given: SpaceTools' protocol, and recovery and memory of every command."""
