"""Noun phrases and places as operators say them: "the can to the left of the bowl", "free table next to the box".

A noun phrase is words (the last one is the head), selectors that pick by position or size, and at most one
relation to other things. Directions are those of the camera picture: left is smaller x, near is larger y.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

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

MAX_PHRASE = 300
"""Longest phrase that is read [characters]."""
MAX_WORDS = 60


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
        words: Adjectives and nouns in order, without articles.
        head: The head noun, or "" when anything with those words fits ("the red one").
        details: Words after "with", wished for but not required ("the bottle with a red cap").
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
    head: str = ""
    details: tuple[str, ...] = ()
    selectors: tuple[Selector, ...] = ()
    relation: str | None = None
    references: tuple[NounPhrase, ...] = ()
    excluded: NounPhrase | None = None
    count: int | None = None
    plural: bool = False
    indefinite: bool = False

    @property
    def plain(self) -> str:
        """The thing without selectors and relation: "coconut water" for "far coconut water"."""
        return " ".join(self.words if self.head else (*self.words, "object"))


@dataclass(frozen=True)
class RelationMark:
    """A relation found in a text: where, and whether it speaks of a movement ("into", "to the left of")."""

    relation: str
    start: int
    end: int
    directed: bool


_SCENE = r"(?:table|desk|picture|image|scene|view|photo|frame|workspace|counter|camera|screen|row|line|pile|bunch)"
STOP = (
    r"(?= (?:in|into|inside|on|onto|to|next|beside|besides|behind|between|near|by|and|then|that|which|is|with|from|at|"
    r"under|left|right|close|closest|nearest|not|but|except|down|off|out|before|<)|$)"
)
"""Lookahead: the words end here, or go on with something other than a noun."""
_LEAD = r"(?:(?:(?:on|to|at|in|onto|toward|towards|from) )?(?:the |its )(?:very |far |immediate )?|(?:on|to|at) )?"
_HAND = r"(?: hand)?(?: side| end)?"
_NOT_SCENE = rf"(?! (?:the |this |your |my )?{_SCENE}{STOP})"
_FRONT = (
    rf"(?:(?:to|at|in|on) )?(?:the )?(?:direct )?front(?: side)?(?: of{_NOT_SCENE}|(?= (?:the|my|a|it)\b))"
    rf"|before(?= \w)|(?:on|at|to) the (?:near|front) side of{_NOT_SCENE}"
)
_BACK = (
    rf"behind(?: of)?|(?:(?:in|at|to|on) )?(?:the )?(?:back|rear|far side|back side|rear side) of{_NOT_SCENE}|beyond"
)
_BESIDE = (
    r"(?:next|adjacent|close|near|nearby|as (?:close|near) as possible) to|"
    r"(?:close )?by|besides?|near|nearby|alongside(?: of)?|touching|against"
)
_RELATIONS = tuple(
    (relation, re.compile(f"(?:{pattern})(?= |$)"))
    for relation, pattern in (
        ("left_of", rf"{_LEAD}left{_HAND} (?:of|from){_NOT_SCENE}"),
        ("right_of", rf"{_LEAD}right{_HAND} (?:of|from){_NOT_SCENE}"),
        ("in_front_of", _FRONT),
        ("behind", _BACK),
        ("next_to", _BESIDE),
        ("next_to", r"(?:at|on|to|by) the side of|side by side with|in the (?:vicinity|neighbourhood) of|around"),
        ("on", r"(?:from )?(?:on|onto|to|off) (?:the )?top of|on to|onto|on|upon|atop|over|above|off(?: of)?"),
        (
            "in",
            r"inside of|in to|into|inside|within|in|(?:at|on|to|in) (?:the )?bottom of"
            r"|(?:from )?(?:out|inside) of|from inside|from within|from",
        ),
        ("between", r"in between|between|midway between|halfway between|amid"),
        ("nearest_to", r"(?:the )?(?:closest|nearest|closer|nearer)(?: (?:to|by)|(?= (?:the|my|a)\b))"),
        ("farthest_from", r"(?:the )?(?:far|further|farther|furthest|farthest)(?: away)? from|away from"),
    )
)
_DIRECTED = re.compile(r"^(?:into|in to|onto|on to|to |(?:on|to) (?:the )?top|toward)")
_SIDE_WORD = "|".join(sorted(SIDES, key=len, reverse=True))
_VIEWER = r"(?:the |this |your |my )?(?:camera|viewer|operator|front|me|us|lens)(?: lens)?"
_ROBOT = r"(?:the |your )?(?:robot|arm|gripper|hand|kinova|base(?! ball)|you|yourself|back)(?: arm| base)?"
_AWAY = r"(?:(?:far|f[au]rther|f[au]rthest)(?: away)?|away)"
_CLOSE = r"(?:very )?(?:clos(?:e|er|est)|near(?:er|est|by)?)(?: to| by)?"
_REWRITES = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\bin the (?:middle|centre|space|gap|room|area) between\b", "between"),
        (rf"\bin the (?:middle|centre) of (?!(?:the |this |my )?{_SCENE}\b)(?=(?:\w+ )+?and \w)", "between "),
        (r"\b(?:a )?(?:little|bit|tad)(?: bit)? (?=(?:to|left|right|behind|in|on|next|beside|near|closer)\b)", " "),
        (r"\b(?:that |which )?(?:i|you|we) (?:can |could |do )?(?:see|have)\b", " "),
        (r"\bthan (?:the )?(?:other|others|rest|all)(?: (?:one|ones|two|of them))?\b", " "),
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
        (r"\bup front\b", " <near> "),
        (r"\b(?:f[au]rthest|most|all the way|far) (?=(?:(?:to|on|towards?) the )?(?:left|right)\b)", " "),
        (rf"\b{_CLOSE} {_VIEWER}(?= |$)", " <near> "),
        (rf"\b{_CLOSE} {_ROBOT}(?= |$)", " <far> "),
        (rf"\b{_AWAY} from {_VIEWER}(?= |$)", " <far> "),
        (rf"\b{_AWAY} from {_ROBOT}(?= |$)", " <near> "),
        (r"\bin front of (?:the camera|me|us)(?= |$)", " <near> "),
        (r"\b(?:far|f[au]rther|f[au]rthest) (?:away|back|off|out)\b(?! from)", " <far> "),
        (
            rf"\bfrom (?:the )?(?:far |very )?(left|right|front|near|back|rear|far)(?: hand)?(?: side| end)?{STOP}",
            r" <from:\1> ",
        ),
        (
            r"\b(?:on|to|at|in|near|by) the (near|far(?= \w+ corner)|front|back) (left|right)(?: (?:corner|side|end))*+"
            rf"(?: of (?:the )?{_SCENE}{STOP}|{STOP})",
            r" <\1> <\2> ",
        ),
        (
            rf"\b(?:on|to|at|in|toward|towards|by|near) (?:the |your |my )?(?:(?:very|far|extreme) )*({_SIDE_WORD})"
            r"(?: (?:hand|side|end|edge|corner|part|half|section)\b)*+"
            rf"(?: of (?:the |this |your |my )?{_SCENE}{STOP}|{STOP})",
            r" <\1> ",
        ),
        (r"\b(?:far|very|extreme) (left|right)\b(?! of)", r" \1 "),
        (r"\b(left|right) hand(?: side)?\b(?! of)", r" \1 "),
        (rf"\b(?:on|from|off|in|at) (?:top of )?(?:the |this |your |my )?(?:{_SCENE}|ground)(?: top)?{STOP}", " "),
    )
)  # fmt: skip
_BREAKS = ("not", "except", "excluding", "but", "without")
_CLAUSES = frozenset({"that", "which", "who", "with"})
ADJECTIVES = frozenset((*COLOURS, *SHADES, *RELATIVE))
_CLOSED = frozenset(
    (*DETERMINERS, *FILLERS, *NUMBERS, *ORDINALS, *SIDES, *SIZES, *ADJECTIVES, *_BREAKS, "of", "and", "all")
)


_ARTICLES = DETERMINERS - {"a", "an", "any", "some", "either", "other", "another"}


def rewrite(tokens: Sequence[str]) -> list[str]:
    """The words with position phrases folded into one: "on the left side" becomes `<left>`."""
    text = " ".join(words_only(tokens))
    for pattern, replacement in _REWRITES:
        text = " ".join(pattern.sub(replacement, text).split())
    return text.split()


def _is_noun(word: str) -> bool:
    return word in GENERIC or not (word in _CLOSED or word.startswith("<"))


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
            marks.append(RelationMark(relation, i, i + length, bool(_DIRECTED.match(rest))))
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
            joined[-1] += ["and", *part]
        else:
            joined.append(part)
    if relation == "between" and len(joined) == 1 and len(parts) > 1:
        return [parts[0], [w for part in parts[1:] for w in part]]
    return joined


@dataclass
class _Core:
    """The words of a phrase before any relation, sorted by what they do."""

    content: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    origin: str = ""
    rank: int = 1
    count: int | None = None
    generic: bool = False
    all: bool = False
    indefinite: bool = False
    one_of: bool = False

    def selectors(self) -> list[Selector]:
        """The selectors; an ordinal without a side counts from the left."""
        keys = [self.origin, *self.keys] if self.origin else list(self.keys)
        if self.rank != 1 and not keys:
            keys = ["left"]
        return [Selector(key, self.rank if i == 0 else 1) for i, key in enumerate(dict.fromkeys(keys))]


def _core(words: Sequence[str]) -> _Core:
    core = _Core()
    contained: list[str] = []
    for i, word in enumerate(words):
        if word.startswith("<from:"):
            core.origin = SIDES[word[6:-1]]
        elif word.startswith("<"):
            core.keys.append(SIDES[word[1:-1]])
        elif word in ORDINALS:
            core.rank = ORDINALS[word]
            if word == "first" and not core.keys:
                core.origin = core.origin or "left"
        elif word in SIDES or word in SIZES:
            core.keys.append(SIDES.get(word) or SIZES[word])
        elif word in NUMBERS:
            core.count = core.count if core.one_of else NUMBERS[word]
        elif word in ("all", "every", "each", "everything"):
            core.all = True
        elif word in ("a", "an", "any", "some", "either") or (word == "one" and list(words[i + 1 : i + 2]) == ["of"]):
            core.indefinite = core.indefinite or not core.content
        elif word == "of" and core.content and core.content[-1] not in ("set", "group"):
            contained, core.content = core.content, []
        elif word == "of" and i and words[i - 1] in GENERIC - {"one", "any"}:
            core.generic = False
        elif word == "of":
            core.one_of = core.one_of or (not core.content and core.count is None and not core.all)
            core.content = []
        elif word in GENERIC or (word.endswith("s") and word[:-1] in GENERIC):
            core.generic = True
            core.all = core.all or (word.endswith("s") and not core.one_of)
        elif word not in _CLOSED or word in ADJECTIVES:
            core.content.append(word)
            # "The object milk carton" names it after all, "something red" does not.
            core.generic = core.generic and word in ADJECTIVES
    core.content += contained
    return core


def noun_phrase(words: Sequence[str]) -> NounPhrase:
    """The noun phrase of rewritten words (see `rewrite`). Raises ToolError NOT_UNDERSTOOD when it is too long."""
    if len(words) > MAX_WORDS:
        raise ToolError(ErrorCode.NOT_UNDERSTOOD, f"A description of a thing may have at most {MAX_WORDS} words.")
    cut = next((i for i, word in enumerate(words) if word in _BREAKS), len(words))
    kept, negated = list(words[:cut]), [w for w in words[cut:] if w not in (*_BREAKS, "for")]
    marks = find_relations(kept)
    relation: str | None = None
    references: tuple[NounPhrase, ...] = ()
    if marks:
        relation = marks[0].relation
        references = tuple(noun_phrase(part) for part in split_references(relation, kept[marks[0].end :]))
        kept = kept[: marks[0].start]
    at = next((i for i, word in enumerate(kept) if i and word in _CLAUSES), len(kept))
    core, clause = _core(kept[:at]), _core(kept[at + 1 :])
    details: tuple[str, ...] = ()
    content = core.content
    if kept[at : at + 1] == ["with"]:
        details = tuple(clause.content)
    else:
        content = [*clause.content, *content]
    head = content[-1] if core.content and not core.generic and content[-1] not in ADJECTIVES else ""
    selectors = core.selectors()
    plural = core.all or (core.count or 1) > 1 or (bool(head) and is_plural(head) and not core.one_of)
    return NounPhrase(
        text=_text(words),
        words=tuple(content),
        head=head,
        details=details,
        selectors=(*selectors, *(s for s in clause.selectors() if s not in selectors)),
        relation=relation,
        references=references,
        excluded=noun_phrase(negated) if negated else None,
        count=core.count,
        plural=plural,
        indefinite=core.indefinite or (core.one_of and not selectors),
    )


def _text(words: Sequence[str]) -> str:
    shown = list(words)
    while len(shown) > 1 and shown[0] in _ARTICLES:
        shown.pop(0)
    text = re.sub(r"<from:(\w+)>", r"from the \1", " ".join(shown))
    text = re.sub(r"<(near|far)>", lambda m: "closest to the camera" if m[1] == "near" else "far away", text)
    return re.sub(r"<(\w+)>", r"on the \1", text)


def parse_noun_phrase(text: str) -> NounPhrase:
    """Parse a description of a thing such as "the second can from the left" or "far coconut water".

    Raises:
        ToolError: NOT_UNDERSTOOD when the text is empty or longer than 300 characters.
    """
    words = rewrite(tokenize(text)) if len(text) <= MAX_PHRASE else []
    if not words:
        problem = "is empty" if len(text) <= MAX_PHRASE else f"has {len(text):,} characters"
        raise ToolError(
            ErrorCode.NOT_UNDERSTOOD,
            f"The description of a thing {problem}; it must have 1 to {MAX_PHRASE} characters.",
            'For example "red box" or "the can to the left of the bowl".',
        )
    return noun_phrase(words)
