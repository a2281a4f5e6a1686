"""Which of several names a person's word for an object is like, by its letters and by what the learned reader knows."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from toolhand.agent_node.plan.reader import shipped_reader
from toolhand.tool_nodes.results import ToolError

SPELT_ALIKE = 0.65
"""Least share of letters in common by which a word is a misspelling [-], see `difflib`: 0.67 for "maionese" and
"mayonnaise", 0.6 for "elbows" and "bowl"; 2 % of words that name nothing here reach it."""
ALIKE = 0.5
"""Least likeness of a name that is taken for another one [-]: the mean over the pieces of both of the cosine with the
most alike piece of the other, 0.51 for "froggies" and "plush frog", 0.54 for "motor car" and "toy car"."""
CLEARLY = 0.15
"""By so much the next name has to be less alike [-]."""


def nearest_spelt(words: Sequence[str], names: Sequence[str]) -> str:
    """The name with the word that one of some words is clearly a misspelling of; empty where there is none."""

    def share(name: str) -> float:
        pairs = ((word, other) for word in words for other in (name.replace(" ", ""), *name.split()))
        return max((difflib.SequenceMatcher(None, *pair).ratio() for pair in pairs), default=0.0)

    return _clearly(share, names, SPELT_ALIKE)


def nearest_name(words: str, names: Sequence[str]) -> str:
    """The name that words are clearly most like; empty where there is none, or no reader that could tell."""
    try:
        reader = shipped_reader()
    except ToolError:
        return ""
    said = (words, words.split()[-1])
    return _clearly(lambda name: max(reader.likeness(each, name) for each in said), names, ALIKE)


def _clearly(likeness: Callable[[str], float], names: Sequence[str], least: float) -> str:
    """The name of the greatest likeness, where that is enough, and clearly more than the next one's; else empty."""
    ranked = sorted(((likeness(name), name) for name in dict.fromkeys(names)), reverse=True)
    if not ranked or ranked[0][0] < least or (len(ranked) > 1 and ranked[0][0] - ranked[1][0] < CLEARLY):
        return ""
    return ranked[0][1]
