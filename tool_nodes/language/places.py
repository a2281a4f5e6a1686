"""Free room as it is asked for by words, and back: "free table left of the box", "inside the black bin"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tool_nodes.language.phrases import noun_phrase, parse_noun_phrase
from tool_nodes.language.relations import find_relations, rewrite, split_references
from tool_nodes.language.words import DETERMINERS, SIDES, tokenize, words_only
from tool_nodes.results import invalid

Relation = Literal["in", "on", "left_of", "right_of", "in_front_of", "behind", "next_to", "between", "anywhere"]

_PHRASES: dict[str, str] = {
    "in": "inside {}",
    "on": "top of {}",
    "left_of": "free table left of {}",
    "right_of": "free table right of {}",
    "in_front_of": "free table in front of {}",
    "behind": "free table behind {}",
    "next_to": "free table next to {}",
    "between": "free table between {}",
    "anywhere": "free table",
}
_FREE = r"(?:free|empty|clear|open|vacant|unoccupied|available|unused|good|suitable)"
_FREE_SPACE_NOUNS = r"(?:table|tabletop|space|spot|place|area|room|surface|region|location|position|point|gap)s?"
_ASKS_FOR_ROOM = re.compile(
    rf"^(?:the |a |an |any |some |this )?(?P<free>{_FREE} )*"
    rf"(?P<room>{_FREE_SPACE_NOUNS})(?: {_FREE_SPACE_NOUNS})*(?: on the table)?"
    r"(?: (?:that|which) is)?(?: |$)"
)


@dataclass(frozen=True)
class FreeSpaceRequest:
    """Free room asked for by words: a relation and the noun phrases that it is to."""

    relation: Relation
    references: tuple[str, ...] = ()


def parse_free_space(phrase: str) -> FreeSpaceRequest | None:
    """Free room asked for, such as "free table left of the box" or "inside the black bin"; None for a thing.

    Raises:
        ToolError: NOT_UNDERSTOOD when the text is empty or longer than 300 characters.
    """
    parse_noun_phrase(phrase)
    text = " ".join(words_only(tokenize(phrase)))
    asks = _ASKS_FOR_ROOM.match(text)
    if asks and asks["room"] in ("table", "surface", "tabletop") and not asks["free"]:
        return None
    rest = text[asks.end() :] if asks else text
    rest = re.sub(r"^(?:the )?(?:top|upper) (?:surface |side |face )?of\b", "on top of", rest)
    rest = re.sub(r"^the (?=(?:inside|left|right|front|back)(?: hand)?(?: side)? of (?!the two\b|both\b))", "", rest)
    words = rewrite(rest.split())
    marks = [mark for mark in find_relations(words, noun_first=False) if mark.start == 0]
    if not marks:
        leftover = noun_phrase(words) if words else None
        return FreeSpaceRequest("anywhere") if asks and not (leftover and leftover.words) else None
    if not asks and marks[0].end == 1 and words[0] in SIDES and words[1] not in DETERMINERS:
        return None
    references = [noun_phrase(part) for part in split_references(marks[0].relation, words[marks[0].end :])]
    if not all(r.words or r.selectors for r in references):
        return FreeSpaceRequest("anywhere") if asks else None
    relation = {"nearest_to": "next_to", "farthest_from": "anywhere"}.get(marks[0].relation, marks[0].relation)
    texts = () if relation == "anywhere" else tuple(reference.text for reference in references)
    return FreeSpaceRequest(relation, texts)  # type: ignore[arg-type]


def free_space_phrase(relation: str, references: Sequence[str] = ()) -> str:
    """The phrase that `parse_free_space` reads back as this relation to these noun phrases.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown relation or one without its references.
    """
    if relation not in _PHRASES or (relation != "anywhere" and not references):
        raise invalid(f"A place needs one of {', '.join(_PHRASES)} and what it is to, got {relation!r}.")
    return _PHRASES[relation].format(" and ".join(f"the {reference}" for reference in references))
