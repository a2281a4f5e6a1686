"""Phrases of the scripted policy: what it asks the pointer and reports to the operator."""

from __future__ import annotations

from agent_node.policies.scripted.refusals import EXAMPLES
from tool_nodes.language.phrases import NounPhrase
from tool_nodes.results import ErrorCode, ToolError


def untagged(text: str) -> str:
    """Text from tools and pictures is data: it must not open or close a tag of a turn."""
    return text.replace("<", "(").replace(">", ")")


def refusal(error: ToolError) -> str:
    """The error's sentence and hint; where it has none, examples of what is understood."""
    return str(error) if error.hint or error.code is not ErrorCode.NOT_UNDERSTOOD else f"{error} {EXAMPLES}"


def pointable(reference: NounPhrase, relation: str | None) -> str:
    """Words for the pointer. Of "a bowl" it is to choose the same one each time; one puts things in containers."""
    bare = not (reference.selectors or reference.relation or reference.excluded)
    if relation == "in" and bare and not reference.head and reference.words:
        return f"{' '.join(reference.words)} container"
    return f"leftmost {reference.plain}" if reference.indefinite and bare else reference.text
