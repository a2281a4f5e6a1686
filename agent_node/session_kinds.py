"""Which session a policy has: its own matter, said once by the attribute `session` of its entry."""

from __future__ import annotations

import importlib

from toolhand.agent_node.session import POLICY_SESSION, SessionKind
from toolhand.tool_nodes import registry

NAMED = {"rules": "toolhand.agent_node.dialogue.rules:RULES"}
"""Sessions by the names that policies give; a policy of another package gives "module:NAME" of a `SessionKind`."""


def session_of(spec: str) -> SessionKind:
    """The session of a policy; that of every policy which says nothing else hears the words as they are.

    Args:
        spec: The policy, as `toolhand.agent_node.policies.registry.make_policy` takes it.

    Raises:
        ToolError: As `toolhand.tool_nodes.registry.load`.
    """
    named = getattr(registry.load("policy", spec), "session", "")
    if not named:
        return POLICY_SESSION
    module, _, name = NAMED.get(named, named).partition(":")
    kind: SessionKind = getattr(importlib.import_module(module), name)
    return kind
