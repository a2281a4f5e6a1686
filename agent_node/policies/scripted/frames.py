"""Sentences that ask in a way of their own, in the plain words of a command: frames.yaml has them, with examples.

| said | read |
|---|---|
| "The can belongs in the bin, so put it there." | "put the can in the bin" |
| "Behind the bowl is where I want the can." | "put the can behind the bowl" |
| "Of the two, take the left can." | "take the left can" |

Every word keeps its origin, so that what the rest is refused for is quoted as it was said.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolhand.tool_nodes.language.place_phrases import begins_place
from toolhand.tool_nodes.language.traced import Traced
from toolhand.tool_nodes.language.words import tokenize, words_only
from toolhand.tool_nodes.plain_yaml import load

_TABLE = Path(__file__).with_name("frames.yaml")
_ELEMENT = re.compile(r"\(\?=[^)]*\)|[()\[\]|]|\{\w+\}|[^\s()\[\]|{}]+")
_SLOTS = {
    "thing": r"(?P<thing>(?:(?!and |that |is |it )[^\s,.?!]+ ){1,10}?)",
    "other": r"(?P<other>(?:(?!and |that |is |it )[^\s,.?!]+ ){1,10}?)",
    "place": r"(?P<place>(?:[^\s,.?!]+ ){1,24}?)",
    "words": r"(?P<words>(?:\S+ )+?)",
}
"""How many words a slot takes at most; what they are is read afterwards."""
_MOST = 4
"""Most frames that stand around one another [-]: "of the two, what I need is the left can" has two."""


@dataclass(frozen=True)
class SentenceFrame:
    """One way of asking.

    Attributes:
        pattern: Its words, each followed by a blank.
        plain: The plain words for it, with the groups of the pattern by their numbers.
        examples: Sentences, and the plain ones that they are read as.
        whole: It has to be all of a sentence.
    """

    pattern: re.Pattern[str]
    plain: str
    examples: Mapping[str, str]
    whole: bool


@functools.cache
def frames() -> tuple[SentenceFrame, ...]:
    """The frames of the table, in its order."""
    document: dict[str, Any] = load(_TABLE.read_bytes())
    return tuple(
        _frame(say, entry["as"], entry["examples"], part == "sentences")
        for part in ("parts", "sentences")
        for entry in document[part]
        for say in entry["say"]
    )


def in_plain_words(text: Traced) -> Traced:
    """A sentence without courtesy in plain words; the same where no frame fits it."""
    for _ in range(_MOST):
        plain = _once(text)
        if plain is None:
            return text
        text = plain
    return text


def _once(text: Traced) -> Traced | None:
    words = Traced.join(words_only(text.split()), text.dropped)
    for frame in frames():
        said = words if frame.whole else text
        spaced = said + Traced(" ", (frozenset(),))
        found = frame.pattern.search(spaced.text)
        if found is None or not _fits(found):
            continue
        return spaced.sub(frame.pattern, frame.plain).tidied()
    return None


def _fits(found: re.Match[str]) -> bool:
    """Whether a place begins as one does."""
    place = found.groupdict().get("place")
    return place is None or begins_place(tokenize(place))


def _frame(say: str, plain: str, examples: Mapping[str, str], whole: bool) -> SentenceFrame:
    parts = [_part(element) for element in _ELEMENT.findall(say)]
    spelt = "".join(parts)
    pattern = re.compile(rf"^{spelt}$" if whole else rf"(?<!\S){spelt}")
    numbered = re.sub(r"\{(\w+)\}", lambda slot: rf"\{pattern.groupindex[slot[1]]}", plain)
    return SentenceFrame(pattern, f"{numbered} ", examples, whole)


def _part(element: str) -> str:
    if element.startswith("(?="):
        return rf"(?=(?:{element[3:-1]}) )"
    if element.startswith("{"):
        return _SLOTS[element[1:-1]]
    signs = {"(": "(?:", "[": "(?:", ")": ")", "]": ")?", "|": "|", ",": "(?:, )?"}
    return signs.get(element, rf"{re.escape(element)} ")
