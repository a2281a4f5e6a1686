"""Noun phrases and places as operators say them: "the can to the left of the bowl", "free table next to the box".

A noun phrase is words (the last one is the head), selectors that pick by position or size, and at most one
relation to other things. Directions are those of the camera picture: left is smaller x, near is larger y.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tool_nodes.perception.words import (
    COLOURS,
    DETERMINERS,
    FILLERS,
    GENERIC,
    NUMBERS,
    ORDINALS,
    RELATIVE,
    SHADES,
    SIDES,
    SIZES,
    is_plural,
    tokenize,
    words_only,
)
from tool_nodes.results import ErrorCode, ToolError

Relation = Literal["in", "on", "left_of", "right_of", "in_front_of", "behind", "next_to", "between", "anywhere"]

MAX_PHRASE = 300
"""Longest phrase that is read [characters]."""


@dataclass(frozen=True)
class Selector:
    """Picks among things of the same kind.

    Attributes:
        key: left, right, near, far, middle, or big, small, tall, short, long, wide, thin.
        rank: 1 is the extreme one, 2 the next; -1 is the last.
    """

    key: str
    rank: int = 1

    @property
    def positional(self) -> bool:
        """True if the point in the picture decides, False if the size does."""
        return self.key in {"left", "right", "near", "far", "middle"}


@dataclass(frozen=True)
class NounPhrase:
    """What a phrase says about a thing.

    Attributes:
        text: The phrase in lower case without its leading article.
        words: Adjectives and nouns in order, the head last; empty when anything fits ("the left one").
        selectors: Position and size selectors.
        relation: left_of, in, ... or nearest_to, farthest_from; None when there is none.
        references: What the relation is to (two for "between A and B").
        excluded: What it must not be ("not the red one").
        count: 2 for "both" and "the two cans"; None when not said.
        plural: Several things are meant.
        indefinite: Any one will do ("a can", "one of the cans").
    """

    text: str
    words: tuple[str, ...] = ()
    selectors: tuple[Selector, ...] = ()
    relation: str | None = None
    references: tuple[NounPhrase, ...] = ()
    excluded: NounPhrase | None = None
    count: int | None = None
    plural: bool = False
    indefinite: bool = False

    @property
    def head(self) -> str:
        """The head noun, or "" when anything fits."""
        return self.words[-1] if self.words else ""

    @property
    def plain(self) -> str:
        """The thing without selectors and relation: "coconut water" for "far coconut water"."""
        return " ".join(self.words) or "object"


@dataclass(frozen=True)
class FreeSpaceRequest:
    """Free room asked for by words: a relation and the noun phrases that it is to."""

    relation: Relation
    references: tuple[str, ...] = ()


@dataclass(frozen=True)
class RelationMark:
    """A relation found in a text: where, and whether it speaks of a movement ("into", "to the left of")."""

    relation: str
    start: int
    end: int
    directed: bool


_SCENE = r"(?:table|desk|picture|image|scene|view|photo|frame|workspace|counter|camera|screen|row|line|pile|bunch)"
_LEAD = r"(?:(?:(?:on|to|at|in|onto|toward|towards|from) )?(?:the |its )(?:very |far |immediate )?|(?:on|to|at) )?"
_HAND = r"(?: hand)?(?: side| end)?"
_NOT_SCENE = rf"(?! (?:the |this |your |my )?{_SCENE}\b)"
_RELATIONS = tuple(
    (relation, re.compile(pattern + r"(?= |$)"))
    for relation, pattern in (
        ("left_of", rf"{_LEAD}left{_HAND} (?:of|from){_NOT_SCENE}"),
        ("right_of", rf"{_LEAD}right{_HAND} (?:of|from){_NOT_SCENE}"),
        ("in_front_of", rf"(?:(?:to|at|in|on) )?(?:the )?(?:direct )?front(?: side)?(?: of{_NOT_SCENE}|(?= (?:the|my|a|it)\b))"),
        ("behind", rf"behind(?: of)?|(?:(?:in|at|to|on) )?(?:the )?(?:back|rear)(?: side)? of{_NOT_SCENE}|beyond"),
        ("next_to", r"(?:next|adjacent|close|near|nearby) to|(?:close )?by|besides?|near|nearby|alongside(?: of)?|next|touching|against"),
        ("next_to", r"(?:at|on|to|by) the side of|side by side with|in the (?:vicinity|neighbourhood) of|around"),
        ("on", r"(?:on|onto|to) (?:the )?top of|on to|onto|on|upon|atop|over|above"),
        ("in", r"inside of|in to|into|inside|within|in|(?:from )?(?:out|inside) of|from inside|from within|from"),
        ("between", r"in between|between|in the middle between|midway between|halfway between|amid"),
        ("nearest_to", r"(?:the )?(?:closest|nearest|closer|nearer)(?: (?:to|by)|(?= (?:the|my|a)\b))"),
        ("farthest_from", r"(?:the )?(?:far|further|farther|furthest|farthest)(?: away)? from|away from"),
    )
)
_DIRECTED = re.compile(r"^(?:into|in to|onto|on to|to |(?:on|to) (?:the )?top|toward)")
_SIDE_WORD = "|".join(sorted(SIDES, key=len, reverse=True))
_VIEWER = r"(?:the |this |your |my )?(?:camera|viewer|operator|front|me|us|lens)(?: lens)?"
_ROBOT = r"(?:the |your )?(?:robot|arm|gripper|hand|kinova|base|you|yourself|back)(?: arm| base)?"
_REWRITES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\b(?:that |which )?(?:i|you|we) (?:can |could |do )?(?:see|have)\b", " "),
        (r"\bthan (?:the )?(?:other|others|rest|all)(?: (?:one|ones|two|of them))?\b", " "),
        (r"(?<!the )\bright (?=(?:next|behind|beside|between|near|by|in|on|inside|into|onto|at|alongside|there|here)\b)", " "),
        (r"\b(?:at|in|on|of) (?:the )?same\b", " the same "),
        (rf"\b(?:very )?(?:clos(?:e|er|est)|near(?:er|est|by)?)(?: to| by)? {_VIEWER}\b", " <near> "),
        (rf"\b(?:very )?(?:clos(?:e|er|est)|near(?:er|est|by)?)(?: to| by)? {_ROBOT}\b", " <far> "),
        (rf"\b(?:far|f[au]rther|f[au]rthest)?(?: away)? ?\bfrom {_VIEWER}\b", " <far> "),
        (rf"\b(?:far|f[au]rther|f[au]rthest)(?: away)? from {_ROBOT}\b", " <near> "),
        (r"\b(?:far|f[au]rther|f[au]rthest) (?:away|back|off|out)\b(?! from)", " <far> "),
        (r"\bf[au]rthest (?=<|(?:to the )?(?:left|right))", " "),
        (r"\bfrom (?:the )?(?:far |very )?(left|right)(?: hand)?(?: side| end)?\b(?! of)", r" <from:\1> "),
        (r"\b(?:from|counting from) (?:the )?(front|near|bottom)(?: side| end)?\b(?! of)", " <from:near> "),
        (r"\b(?:from|counting from) (?:the )?(back|rear|far|top)(?: side| end)?\b(?! of)", " <from:far> "),
        (
            rf"\b(?:on|to|at|in|toward|towards|up|by|near) (?:the |your |my )?(?:(?:very|far|extreme) )*({_SIDE_WORD})"
            rf"(?: (?:hand|side|end|edge|corner|part|half|row|section)\b)*"
            rf"(?: of (?:the |this |your |my )?{_SCENE}\b|(?! of\b| the\b| to\b| from\b)(?= |$))",
            r" <\1> ",
        ),
        (
            rf"\b(?:on|to|at|in|near|by) the (near|far|front|back|left|right) (left|right)(?: (?:corner|side|end))+"
            rf"(?: of (?:the )?{_SCENE})?\b",
            r" <\1> <\2> ",
        ),
        (r"\b(?:far|very|extreme) (left|right)\b(?! of)", r" \1 "),
        (r"\b(left|right) hand(?: side)?\b(?! of)", r" \1 "),
        (rf"\b(?:on|from|off|in|at) (?:top of )?(?:the |this |your |my )?(?:{_SCENE}|ground)(?: top)?\b", " "),
    )
)
_BREAKS = ("not", "except", "excluding", "but", "without")
_BOUNDARY = frozenset("that which who with".split())


def _squeeze(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def rewrite(tokens: Sequence[str]) -> list[str]:
    """The words with position phrases folded into one: "on the left side" becomes `<left>`."""
    text = " ".join(words_only(tokens))
    for pattern, replacement in _REWRITES:
        text = _squeeze(pattern.sub(replacement, text))
    return text.split()


def _is_noun(word: str) -> bool:
    if word in GENERIC:
        return True
    closed = (DETERMINERS, FILLERS, NUMBERS, ORDINALS, SIDES, SIZES, RELATIVE, SHADES, COLOURS, _BREAKS, {"of", "and", "all"})
    return not word.startswith("<") and not any(word in words for words in closed)


def find_relations(words: Sequence[str], noun_first: bool = True) -> list[RelationMark]:
    """Relations in rewritten words, in order; start and end are word indices.

    Args:
        words: From `rewrite`.
        noun_first: Ignore a relation before the first noun ("the near bottle" has none). A colour can stand
            for a noun when "of" or an article follows.
    """
    marks: list[RelationMark] = []
    seen_noun = not noun_first
    i = 0
    while i < len(words):
        rest = " ".join(words[i:])
        best = max(
            ((match.end(), relation) for relation, pattern in _RELATIONS if (match := pattern.match(rest))),
            default=(0, ""),
        )
        length = len(rest[: best[0]].split())
        has_object = i + length < len(words)
        colour_head = i > 0 and (words[i - 1] in COLOURS or words[i - 1].startswith("<") or words[i - 1] in SIZES)
        if length and has_object and (seen_noun or colour_head):
            marks.append(RelationMark(best[1], i, i + length, bool(_DIRECTED.match(rest))))
            seen_noun = False
            i += length
            continue
        seen_noun = seen_noun or _is_noun(words[i])
        i += 1
    return marks


def split_list(words: Sequence[str]) -> list[list[str]]:
    """Split "the red box and the bowl" at its conjunctions, but not those inside "between A and B"."""
    parts: list[list[str]] = [[]]
    open_betweens = 0
    for i, word in enumerate(words):
        if word == "between" and i:
            open_betweens += 1
        if word == "and" and parts[-1] and i + 1 < len(words):
            if open_betweens:
                open_betweens -= 1
            else:
                parts.append([])
                continue
        parts[-1].append(word)
    return parts


def _split_references(relation: str, words: Sequence[str]) -> list[list[str]]:
    """The references of a relation. Names such as "salt and pepper" stay whole unless an article follows "and"."""
    parts = split_list(words)
    if len(parts) == 1 or (relation == "between" and len(parts) == 2):
        return parts
    joined: list[list[str]] = []
    for part in parts:
        if joined and part[0] not in DETERMINERS:
            joined[-1] += ["and", *part]
        else:
            joined.append(part)
    if relation == "between" and len(joined) == 1:
        return [joined[0][: len(parts[0])], [w for part in parts[1:] for w in part]]
    return joined


def _core(words: Sequence[str]) -> tuple[list[str], list[Selector], dict[str, int | bool]]:
    """Content words, selectors and number of the words before any relation."""
    content: list[str] = []
    keys: list[str] = []
    origin = ""
    flags: dict[str, int | bool] = {}
    rank = 1
    for i, word in enumerate(words):
        following = words[i + 1 : i + 2]
        if word.startswith("<from:"):
            origin = SIDES[word[6:-1]]
        elif word.startswith("<"):
            keys.append(SIDES[word[1:-1]])
        elif word in ORDINALS:
            rank = ORDINALS[word]
            flags["ordinal"] = True
        elif word in SIDES and not (word == "back" and content):
            keys.append(SIDES[word])
        elif word in SIZES:
            keys.append(SIZES[word])
        elif word in NUMBERS:
            flags["count"] = NUMBERS[word]
        elif word in ("all", "every", "each", "everything"):
            flags["all"] = True
        elif word in ("a", "an", "any", "some", "either") and not content:
            flags["indefinite"] = True
        elif word == "one" and following == ["of"]:
            flags["indefinite"] = True
        elif word == "of":
            if content and not all(w in ("set", "group") for w in content):
                flags.setdefault("of", len(content))
            else:
                content.clear()
        elif word == "ones" or word in GENERIC:
            flags["generic"] = True
            flags["plural"] = bool(flags.get("plural")) or is_plural(word)
        elif is_plural(word) and word[:-1] in GENERIC:
            flags["generic"] = flags["plural"] = True
        elif word not in DETERMINERS and word not in FILLERS and word not in ("and", *_BREAKS):
            content.append(word)
    if origin:
        keys = [origin, *(k for k in keys if k != origin)]
    elif flags.get("ordinal") and not keys:
        keys = ["left"]
    selectors = [Selector(key, rank if i == 0 else 1) for i, key in enumerate(dict.fromkeys(keys))]
    return content, selectors, flags


def _cut(words: Sequence[str], at: frozenset[str] | tuple[str, ...]) -> int:
    return next((i for i, word in enumerate(words) if i and word in at), len(words))


def _parse(words: Sequence[str]) -> NounPhrase:
    cut = next((i for i, w in enumerate(words) if w in _BREAKS and i), len(words))
    if words[cut + 1 : cut + 2] == ["with"] or words[cut : cut + 1] == ["without"]:
        kept, excluded_words = list(words[:cut]), list(words[cut + 1 :])
    else:
        kept, excluded_words = list(words[:cut]), [w for w in words[cut + 1 :] if w not in ("for", "than", "not")]
    marks = find_relations(kept)
    relation, references = None, ()
    core = kept
    if marks:
        mark = marks[0]
        relation, core = mark.relation, kept[: mark.start]
        references = tuple(_parse(part) for part in _split_references(relation, kept[mark.end :]))
    boundary = _cut(core, _BOUNDARY)
    content, selectors, flags = _core(core[:boundary])
    more, more_selectors, _ = _core([w for w in core[boundary:] if w not in _BOUNDARY])
    if "of" in flags:
        at = int(flags["of"])
        content = content[at:] + content[:at]
    known = {s.key for s in selectors}
    head_is_plural = bool(content) and is_plural(content[-1]) and not flags.get("generic")
    count = flags.get("count")
    if flags.get("generic") and content and content[-1] not in COLOURS:
        content = [*content, ""]
    return NounPhrase(
        text=_text(words),
        words=tuple([*more, *content]) if content else tuple(more),
        selectors=tuple(selectors) + tuple(s for s in more_selectors if s.key not in known),
        relation=relation,
        references=references,
        excluded=_parse(excluded_words) if excluded_words else None,
        count=int(count) if count is not None else None,
        plural=bool(flags.get("all") or flags.get("plural") or (count or 0) > 1 or head_is_plural),
        indefinite=bool(flags.get("indefinite")),
    )


def _text(words: Sequence[str]) -> str:
    shown = list(words)
    while len(shown) > 1 and shown[0] in DETERMINERS and shown[0] not in ("any", "some", "a", "an", "either"):
        shown.pop(0)
    text = " ".join(shown)
    text = re.sub(r"<from:(\w+)>", r"from the \1", text)
    text = re.sub(r"<(near|nearest|closer|closest|far)>", lambda m: "closest to the camera" if m[1] != "far" else "far away", text)
    return re.sub(r"<(\w+)>", r"on the \1", text)
