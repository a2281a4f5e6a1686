"""Which of several names a person's word for an object is like, by the word pieces that the learned reader knows."""

from __future__ import annotations

from collections.abc import Sequence

from toolhand.agent_node.plan.reader import shipped_reader
from toolhand.tool_nodes.results import ToolError

ALIKE = 0.5
"""Least likeness of a name that is taken for another one [-]: the mean over the pieces of both of the cosine with the
most alike piece of the other, 0.51 for "froggies" and "plush frog", 0.54 for "motor car" and "toy car"."""
CLEARLY = 0.15
"""By so much the next name has to be less alike [-]."""


def nearest_name(words: str, names: Sequence[str]) -> str:
    """The name that words are clearly most like; empty where there is none, or no reader that could tell."""
    try:
        reader = shipped_reader()
    except ToolError:
        return ""
    said = (words, words.split()[-1])
    ranked = sorted(
        ((max(reader.likeness(each, name) for each in said), name) for name in dict.fromkeys(names)), reverse=True
    )
    if not ranked or ranked[0][0] < ALIKE or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < CLEARLY):
        return ""
    return ranked[0][1]
