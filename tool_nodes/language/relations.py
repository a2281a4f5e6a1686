"""Relations between objects as operators say them, found in words: "to the left of", "between", "closest to"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolhand.tool_nodes.language.measures import POINT
from toolhand.tool_nodes.language.words import (
    COLOURS,
    DETERMINERS,
    FILLERS,
    GENERIC,
    NUMBERS,
    ORDINALS,
    PARTICIPLES,
    RELATIVE,
    SHADES,
    SIDES,
    SIZES,
    words_only,
)

RELATION_WORDS = {
    "in": "in",
    "on": "on",
    "left_of": "to the left of",
    "right_of": "to the right of",
    "in_front_of": "in front of",
    "behind": "behind",
    "next_to": "next to",
    "between": "between",
}
"""How each relation is said."""


@dataclass(frozen=True)
class RelationMark:
    """A relation found in a text, and where."""

    relation: str
    start: int
    end: int


_SCENE = r"(?:table|desk|picture|image|scene|view|photo|frame|workspace|counter|camera|screen|row|line|pile|bunch)"
STOP = (
    r"(?= (?:in|into|inside|on|onto|to|next|beside|besides|behind|between|near|by|and|then|that|which|is|with|from|at|"
    r"under|left|right|close|closest|nearest|not|but|except|down|off|out|up(?= |$)|before|<|@|=)|$)"
)
"""Lookahead: the words end here, or go on with something other than a noun."""
_LEAD = r"(?:(?:(?:on|to|at|onto|toward|towards|from) )?(?:the |its )(?:very |immediate )?|(?:on|to|at) )?"
_NOT_ONE_OF = r"(?!the (?:left|right)(?: hand)?(?: one)? of (?:the |these |those )?(?:two|three|four|both)\b)"
""" "The left of the two cans" is one of them."""
_HAND = r"(?: hand)?(?: side| end)?"
_NOT_SCENE = rf"(?! (?:the |this |your |my )?{_SCENE}{STOP})"
_FRONT = (
    rf"(?:in |(?:(?:to|at|on) )?(?:the )?)(?:direct )?front(?: side)?(?: of{_NOT_SCENE}|(?= (?:the|my|a|it)\b))"
    rf"|(?:on|at|to) the (?:near|front) side of{_NOT_SCENE}"
)
""""In front of" is a place outside of an object, "in the front of" one inside; so it is with left, right and back."""
_BACK = (
    r"(?:from )?behind(?: of)?|beyond"
    rf"|in back of{_NOT_SCENE}"
    rf"|(?:(?:at|to|on) )?(?:the )?(?:back|rear|far side|back side|rear side) of{_NOT_SCENE}"
)
_BESIDE = (
    r"(?:from )?(?:next|adjacent|close|near|nearby|as (?:close|near) as possible) to|"
    r"(?:close )?by|(?:from )?besides?|near|nearby|alongside(?: of)?|touching|against"
)
_RELATIONS = tuple(
    (relation, re.compile(f"(?:{pattern})(?= |$)"))
    for relation, pattern in (
        ("left_of", rf"{_NOT_ONE_OF}{_LEAD}left{_HAND} (?:of|from){_NOT_SCENE}"),
        ("right_of", rf"{_NOT_ONE_OF}{_LEAD}right{_HAND} (?:of|from){_NOT_SCENE}"),
        ("in_front_of", _FRONT),
        ("behind", _BACK),
        ("next_to", _BESIDE),
        ("next_to", r"(?:at|on|to|by) the side of|side by side with|in the (?:vicinity|neighbourhood) of"),
        ("on", r"(?:from )?(?:on|onto|to|off) (?:the )?top of|on to|onto|on|upon|atop|over|above|off(?: of)?"),
        (
            "in",
            r"inside of|in to|into|inside|within|in|(?:at|on|to|in) (?:the )?bottom of"
            r"|(?:from )?(?:out|inside) of|from inside|from within|from",
        ),
        ("between", r"(?:from )?(?:in )?between|midway between|halfway between|amid"),
        ("nearest_to", r"(?:the )?(?:closest|nearest|closer|nearer)(?: (?:to|by)|(?= (?:the|my|a)\b))"),
        ("farthest_from", r"(?:the )?(?:far|further|farther|furthest|farthest)(?: away)? from|away from"),
    )
)
_SIDE_WORD = "|".join(sorted(SIDES, key=len, reverse=True))
_VIEWER = r"(?:the |this |your |my )?(?:camera|viewer|operator|front|me|us|lens)(?: lens)?"
_ROBOT = r"(?:the |your )?(?:robot|arm|gripper|hand|kinova|base(?! ball)|you|yourself|back)(?: arm| base)?"
_NOT_OF = rf"(?! of (?!(?:the |this |your |my )?{_SCENE}\b))"
_AWAY = r"(?:(?:far|f[au]rther|f[au]rthest)(?: away)?|away)"
_CLOSE = r"(?:very )?(?:clos(?:e|er|est)|near(?:er|est|by)?)(?: to| by)?"
_LEAD_IN = r"(?:on|at|in|by|near|to|towards?)"
_REWRITES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\bin the (?:middle|centre|space|gap|room|area) between\b", "between"),
        (rf"\bin the (?:middle|centre) of (?!(?:the |this |my )?{_SCENE}\b)(?=(?:\w+ )+?and \w)", "between "),
        (
            r"(?<!the )(?<!est )(?<!most )(?<!far )\bright "
            r"(?=(?:next|behind|beside|between|near|by|in|on|inside|into|onto|at|alongside)\b)",
            " ",
        ),
        (
            r"\b(nearest|closest) (?!to )((?:\w+ ){1,4}?)to (?=(?:the|my|a) (?!left|right|front|back)|me\b|us\b|you\b)",
            r"\2 \1 to ",
        ),
        (r"\b(f[au]rthest) ((?:\w+ ){1,4}?)from (?=the|my|a|me|us|you)", r"\2 \1 from "),
        (rf"\bof (?:the |these |those |all )?(?:two|three|four|five|lot|bunch){STOP}", " "),
        (r"\b(?:f[au]rthe(?:r|st)|more|most) (?:to|towards?|in|at) the (?:front|foreground)\b(?! of)", " <near> "),
        (r"\b(?:f[au]rthe(?:r|st)|more|most) (?:to|towards?|in|at) the (?:back|rear|background)\b(?! of)", " <far> "),
        (
            r"\b(?:f[au]rther|f[au]rthest|more|most|far) "
            r"(?=(?:(?:to|on|towards?) the )?(?:left|right)\b(?!(?: hand)?(?: side)? of\b))",
            " ",
        ),
        (rf"\b{_CLOSE} {_VIEWER}(?= |$){_NOT_OF}", " <near:most> "),
        (rf"\b{_CLOSE} {_ROBOT}(?= |$){_NOT_OF}", " <far:robot> "),
        (rf"\b{_AWAY} from {_VIEWER}(?= |$)", " <far:most> "),
        (rf"\b{_AWAY} from {_ROBOT}(?= |$)", " <near:robot> "),
        (r"\bin front of (?:the camera|me|us)(?= |$)", " <near> "),
        (r"\b(?:far|f[au]rther|f[au]rthest) (?:away|back|off|out)\b(?! from)", " <far:most> "),
        (
            rf"\bfrom (?:the )?(?:far |very )?(left|right|front|near|back|rear|far)(?: hand)?(?: side| end)?{STOP}",
            r" <from:\1> ",
        ),
        (
            rf"\b{_LEAD_IN} the (near|far(?= \w+ corner)|front|back) (left|right)(?: (?:corner|side|end))*+"
            rf"(?: of (?:the )?{_SCENE}{STOP}|{STOP})",
            r" <\1> <\2> ",
        ),
        (
            rf"\b{_LEAD_IN} (?:the |your |my )?(?:(?:very|far|extreme) )*({_SIDE_WORD})"
            rf"(?! (?:left|right)(?: hand)? \w+ of (?!(?:the |this |your |my )?{_SCENE}\b))"
            r"(?: (?:hand|side|end|edge|corner|part|half|section)\b)*+"
            rf"(?: of (?:the |this |your |my )?{_SCENE}{STOP}|{STOP})",
            r" <\1> ",
        ),
        (r"\b(?:far|very|extreme) (left|right)\b(?! of)", r" \1 "),
        (r"\b(left|right) hand(?: side)?\b(?! of)", r" \1 "),
        (
            rf"(?:\b(?:{'|'.join(sorted(PARTICIPLES))}) )?\b(?:on|from|off|in|at) (?:top of )?(?:the |this |your |my )?"
            rf"(?:{_SCENE}|ground)(?: top)?{STOP}",
            " ",
        ),
    )
)
BREAKS = ("not", "except", "excluding", "but", "without")
CLAUSES = frozenset({"that", "which", "who", "with"})
ADJECTIVES = frozenset((*COLOURS, *SHADES, *RELATIVE))
CLOSED = frozenset(
    (*DETERMINERS, *FILLERS, *NUMBERS, *ORDINALS, *SIDES, *SIZES, *ADJECTIVES, *BREAKS, "of", "and", "all")
)


def rewrite(tokens: Sequence[str]) -> list[str]:
    """The words with position phrases folded into one: "on the left side" is `<left>`."""
    text = " ".join(words_only(tokens))
    for pattern, replacement in _REWRITES:
        text = " ".join(pattern.sub(replacement, text).split())
    return text.split()


def _is_noun(word: str) -> bool:
    return word in GENERIC or not (word in CLOSED or word.startswith(("<", POINT)))


def find_relations(words: Sequence[str], noun_first: bool = True) -> list[RelationMark]:
    """Relations in rewritten words, in order; start and end are word indices.

    Args:
        words: From `rewrite`.
        noun_first: Ignore a relation before the first noun: "the near bottle" has none.
    """
    marks: list[RelationMark] = []
    seen_noun = not noun_first
    i = 0
    while i < len(words):
        rest = " ".join(words[i : i + 8])
        found = [(m.end(), relation) for relation, pattern in _RELATIONS if (m := pattern.match(rest))]
        end, relation = max(found, default=(0, ""))
        length = len(rest[:end].split())
        stands_for_noun = i > 0 and (words[i - 1] in COLOURS or words[i - 1] in SIZES or words[i - 1].startswith("<"))
        if length == 1 and words[i] in SIDES and words[i + 1 : i + 2] and words[i + 1] not in DETERMINERS:
            stands_for_noun = False
        if length and i + length < len(words) and (seen_noun or stands_for_noun):
            marks.append(RelationMark(relation, i, i + length))
            seen_noun = False
            i += length
        else:
            seen_noun = seen_noun or _is_noun(words[i])
            i += 1
    return marks


def split_list(words: Sequence[str]) -> list[list[str]]:
    """Split "the red box and the bowl" at its conjunctions, but not those inside "between A and B"."""
    parts: list[list[str]] = [[]]
    open_betweens = 0
    for i, word in enumerate(words):
        open_betweens += word == "between" and i > 0
        if word == "and" and parts[-1] and i + 1 < len(words):
            if not open_betweens:
                parts.append([])
                continue
            open_betweens -= 1
        parts[-1].append(word)
    return parts


def split_references(relation: str, words: Sequence[str]) -> list[list[str]]:
    """The words of each reference of a relation. "Salt and pepper" stays whole: no article follows "and"."""
    parts = split_list(words)
    if relation == "between" and len(parts) == 2:
        return parts
    joined: list[list[str]] = []
    for part in parts:
        if joined and part[0] not in DETERMINERS:
            joined[-1] += [*(word for word in words if word == "and")][:1] + part
        else:
            joined.append(part)
    if relation == "between" and len(joined) == 1 and len(parts) > 1:
        return [parts[0], [w for part in parts[1:] for w in part]]
    return joined
