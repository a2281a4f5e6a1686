"""Which language a sentence is in that is not English, and the sentence of that language which says so."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from toolhand.agent_node.plan.grammar import symbols
from toolhand.tool_nodes.language.vocabulary import is_english
from toolhand.tool_nodes.language.words import word_set
from toolhand.tool_nodes.plain_yaml import load

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
_FEWEST = 2
"""Fewest words of a language that tell it [words]; one alone may be a name."""


@functools.cache
def _languages() -> dict[str, tuple[frozenset[str], str]]:
    document = load(Path(__file__).with_name("languages.yaml").read_bytes())
    return {name: (frozenset(entry["words"].split()), entry["answer"]) for name, entry in document.items()}


def answer_in_its_language(text: str, words: Sequence[str]) -> str:
    """The sentence that refuses a sentence of another language, in that language; empty for one that is not known.

    Args:
        text: The sentence as it was said.
        words: Its words in lower case without accents and signs.
    """
    letters = [unicodedata.name(sign, "?").split()[0] for sign in text if sign.isalpha()]
    others = [letter for letter in letters if letter != "LATIN"]
    if others and len(others) * 2 > len(letters):
        if _OTHER_SCRIPTS & set(others):
            return ""
        script = max(set(others), key=others.count)
        return _languages()[_SCRIPTS[script]][1] if script in _SCRIPTS else ""
    counted = {name: sum(word in own for word in words) for name, (own, _) in _languages().items()}
    name = max(counted, key=lambda each: counted[each])
    own = _languages()[name][0]
    foreign = sum(word in own and not _is_english(word) for word in words)
    english = sum(word not in own and _is_english(word) for word in words)
    if counted[name] < _FEWEST or counted[name] * 2 < len(words) or foreign < (_FEWEST if english else 1):
        return ""
    if foreign < english:
        return ""
    return _languages()[name][1]


@functools.lru_cache(maxsize=4096)
def _is_english(word: str) -> bool:
    return word in _own_words() or is_english(word)


@functools.cache
def _own_words() -> frozenset[str]:
    """The words of the robot's own grammar, and orders that others say for them."""
    own = frozenset(word for symbol in symbols() for word in symbol.split())
    return own | word_set("place take get give bring grab move play")
