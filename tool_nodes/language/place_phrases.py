"""Places as phrases for a pointer: "free table left of the box", "inside the black bin", "free spot at (0.4, 0.5)"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolhand.tool_nodes.language.measures import LENGTH, POINT, is_written
from toolhand.tool_nodes.language.phrases import noun_phrase, parse_noun_phrase
from toolhand.tool_nodes.language.place_wordings import TABLE, ReadPlace, read_place
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
_FOR_THING = re.compile(rf"for (?P<thing>[^{POINT}{LENGTH}]+ {POINT}\S+|[^{LENGTH}]+?(?= {LENGTH})) ")
_STOOD = re.compile(r"(?P<way>.+?) (?:of|than) where (?P<thing>.+) stands")
_ANYWHERE = re.compile(rf"any ?where|some ?where|(?:on|onto|to) (?:the |this |my |your )?{TABLE}")
_JOINING = frozenset({"and", "but", "not", "also", "yet", "nor", ",", "except", "excluding"})
"""Words between two conditions on a place."""
_DENYING = frozenset({"not", "nor", "except", "excluding"})
_ANY = frozenset({"anywhere", "everywhere", "somewhere", "else"})
"""Words after which "but" denies: "anywhere but in the bin"."""
_DESCRIBING = frozenset({"is", "are", "that", "which", "was", "one"})
"""Words after which a condition is of a thing: "the can that is not in the bin"."""
_SECOND = frozenset({"and", "two", "both"})
"""Words after "between" with which both of its things are named."""
_COMPARED = frozenset({"closer", "nearer", "further", "farther", "as", "forward", "forwards", "backward", "backwards"})


@dataclass(frozen=True)
class Condition:
    """One of several conditions on a place.

    Attributes:
        joined: The words that join it to what is before it; none for the first.
        text: Its own words.
        denied: It must not hold.
    """

    joined: tuple[str, ...]
    text: str
    denied: bool = False


def split_conditions(text: str) -> list[Condition]:
    """The parts of "between the box and the bowl and not behind the can", in order; one where nothing is joined."""
    tokens = text.split()
    parts: list[Condition] = []
    start, joined = 0, 0
    for i in range(1, len(tokens)):
        j = next((k for k in range(i, len(tokens)) if tokens[k] not in _JOINING), len(tokens))
        if i <= joined or tokens[i - 1] in _DESCRIBING or _is_open_between(tokens[joined:i], tokens[i:j]):
            continue
        if j > i and begins_place(tokens[j:]):
            parts.append(_condition(tokens, start, joined, i))
            start, joined = i, j
    return [*parts, _condition(tokens, start, joined, len(tokens))]


def _is_open_between(before: Sequence[str], joining: Sequence[str]) -> bool:
    """True for the "and" of "between the box and", which joins two things."""
    at = max((k for k, token in enumerate(before) if token == "between"), default=None)
    return at is not None and list(joining) == ["and"] and not _SECOND.intersection(before[at:])


def _condition(tokens: Sequence[str], start: int, begins: int, end: int) -> Condition:
    joined = tuple(tokens[start:begins])
    denied = bool(_DENYING.intersection(joined)) or ("but" in joined and tokens[start - 1] in _ANY)
    return Condition(joined, " ".join(tokens[begins:end]), denied)


def begins_place(tokens: Sequence[str]) -> bool:
    """True if words, as `tokenize` gives them, begin with a place; "near" is none in "near can"."""
    if not tokens:
        return False
    adjective = len(tokens) > 1 and tokens[0] in SIDES and tokens[1] not in (*DETERMINERS, "of", "to")
    if is_written(tokens[0]) or tokens[0] in _COMPARED or list(tokens[:2]) in (["far", "from"], ["away", "from"]):
        return True
    if _ANYWHERE.match(" ".join(tokens)):
        return True
    words = rewrite(tokens[:12])
    marks = find_relations(words, noun_first=False)
    return (bool(words) and words[0].startswith("<")) or (bool(marks) and marks[0].start == 0 and not adjective)


def read_condition(text: str) -> ReadPlace | None:
    """A place of any kind, by itself; None for words that are none."""
    place = read_place(text)
    if place is not None:
        return place
    if _ANYWHERE.fullmatch(text):
        return ReadPlace(FreeSpaceRequest("anywhere"))
    words = rewrite(text.split())
    mark = next((mark for mark in find_relations(words, noun_first=False) if mark.start == 0), None)
    if mark is None:
        return None
    relation = {"nearest_to": "next_to"}.get(mark.relation, mark.relation)
    things = tuple(tuple(part) for part in split_references(relation, words[mark.end :]))
    return ReadPlace(FreeSpaceRequest(relation, ("",) * len(things)), things)  # type: ignore[arg-type]


def parse_free_space(phrase: str) -> FreeSpaceRequest | None:
    """Free room asked for, such as "free table left of the box" or "inside the black bin"; None for a thing.

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
    worded = _worded(rest, bool(asks))
    if worded is not None:
        return worded
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


def _worded(rest: str, asks: bool) -> FreeSpaceRequest | None:
    """What is more than one plain relation; without words of room only a part of a container is asked for."""
    thing = _FOR_THING.match(rest)
    conditions = split_conditions(rest[thing.end() :] if thing else rest)
    read: list[FreeSpaceRequest] = []
    for condition in conditions:
        stood = _STOOD.fullmatch(condition.text)
        place = read_condition(stood["way"] if stood else condition.text)
        if place is None:
            return None
        names = [noun_phrase(words).text for words in place.things]
        request = replace(place.request.naming(names), denied=condition.denied)
        read.append(replace(request, thing=_name(stood["thing"])) if stood else request)
    first = replace(read[0], also=tuple(read[1:]))
    if thing and first.relation == "in" and not first.also:
        return replace(first, thing=_name(thing["thing"]))
    if first.is_plain or not (asks or first.relation == "in") or (first.relation == "in" and not first.region):
        return None
    return replace(first, thing=_name(thing["thing"])) if thing else first


def _name(words: str) -> str:
    return noun_phrase(rewrite(tokenize(words))).text
