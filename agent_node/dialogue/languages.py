"""Which language a sentence is in that is not English, and the sentence of that language which says so."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence

from agent_node.dialogue.wordings import FOLDER
from rclpy_zenoh.plain_yaml import load
from tool_nodes.language.words import word_set

_SCRIPTS = {
    "CJK": "mandarin",
    "DEVANAGARI": "hindi",
    "ARABIC": "arabic",
    "BENGALI": "bengali",
    "CYRILLIC": "russian",
}
"""First words of the Unicode names of letters, and the language that they are taken for."""
_OTHER_SCRIPTS = frozenset({"HIRAGANA", "KATAKANA", "HANGUL"})
"""Letters beside Chinese ones that make a sentence Japanese or Korean."""
_ENGLISH = word_set(
    "the this that my your it me i do at by up down please put pick take bring give move place what where is are how "
    "and of with then you can could would"
)
"""Words of which one makes a sentence English, unless another language has it too."""
_FEWEST = 2
"""Fewest words of a language that tell it [words]; one alone may be a name."""


@functools.cache
def _languages() -> dict[str, tuple[frozenset[str], str]]:
    document = load((FOLDER / "languages.yaml").read_bytes())
    return {name: (frozenset(entry["words"].split()), entry["answer"]) for name, entry in document.items()}


def answer_in_its_language(text: str, words: Sequence[str]) -> str:
    """The sentence that refuses a sentence of another language, in that language; empty for one that is not known.

    Args:
        text: The sentence as it was said.
        words: Its words in lower case without accents and signs.
    """
    letters = [unicodedata.name(sign, "?").split()[0] for sign in text if sign.isalpha()]
    foreign = [letter for letter in letters if letter != "LATIN"]
    if foreign and len(foreign) * 2 > len(letters):
        if _OTHER_SCRIPTS & set(foreign):
            return ""
        script = max(set(foreign), key=foreign.count)
        return _languages()[_SCRIPTS[script]][1] if script in _SCRIPTS else ""
    counted = {name: sum(word in own for word in words) for name, (own, _) in _languages().items()}
    name = max(counted, key=lambda each: counted[each])
    ambiguous = sum(word in _ENGLISH for word in words)
    if counted[name] < _FEWEST or counted[name] * 2 < len(words) or ambiguous > counted[name] // 2:
        return ""
    return _languages()[name][1]
