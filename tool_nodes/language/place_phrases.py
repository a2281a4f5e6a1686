"""Places as phrases for a pointer, as SpaceTools has them: "free table left of the box", "inside the black bin".

What more than one relation says goes to `robot.find_place` (`toolhand.tool_nodes.place_argument`), and is no phrase.
"""

from __future__ import annotations

import re

from toolhand.tool_nodes.language.phrases import noun_phrase, parse_noun_phrase
from toolhand.tool_nodes.language.places import FreeSpaceRequest
from toolhand.tool_nodes.language.relations import find_relations, rewrite, split_references
from toolhand.tool_nodes.language.words import DETERMINERS, SIDES, tokenize, words_only

_FREE = r"(?:free|empty|clear|open|vacant|unoccupied|available|unused|good|suitable)"
_FREE_SPACE_NOUNS = r"(?:table|tabletop|space|spot|place|area|room|surface|region|location|position|point|gap)s?"
_ASKS_FOR_ROOM = re.compile(
    rf"^(?:the |a |an |any |some |this )?(?P<free>{_FREE} )*"
    rf"(?P<room>{_FREE_SPACE_NOUNS})(?: {_FREE_SPACE_NOUNS})*(?: on the table)?"
    r"(?: (?:that|which) is)?(?: |$)"
)


def parse_free_space(phrase: str) -> FreeSpaceRequest | None:
    """Free room asked for, such as "free table left of the box" or "inside the black bin"; None for an object.

    Raises:
        ToolError: NOT_UNDERSTOOD when the text is empty or longer than 300 characters.
    """
    parse_noun_phrase(phrase)
    tokens = words_only(tokenize(phrase))
    text = " ".join(tokens)
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
    if not all(r.words or r.selectors or r.point for r in references):
        return FreeSpaceRequest("anywhere") if asks else None
    relation = {"nearest_to": "next_to"}.get(marks[0].relation, marks[0].relation)
    texts = tuple(reference.text for reference in references)
    return FreeSpaceRequest(relation, texts)  # type: ignore[arg-type]
