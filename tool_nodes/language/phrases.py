"""Noun phrases and places as operators say them: "the can to the left of the bowl", "free table next to the box".

A noun phrase is words (the last one is the head), selectors that pick by position or size, and at most one
relation to other objects. Directions are those of the camera image: left is smaller x, near is larger y.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from toolhand.tool_nodes.language.measures import POINT, as_said, point_of
from toolhand.tool_nodes.language.relations import (
    ADJECTIVES,
    BREAKS,
    CLAUSES,
    CLOSED,
    find_relations,
    rewrite,
    split_references,
)
from toolhand.tool_nodes.language.words import (
    BACKDROPS,
    DETERMINERS,
    FUNCTION_WORDS,
    GENERIC,
    LEADING_ON,
    NUMBERS,
    ORDINALS,
    PARTICIPLES,
    RELATIVE,
    SIDES,
    SIZES,
    SUPPORTS,
    SURFACES,
    UNCHECKED,
    is_plural,
    singular,
    tokenize,
)
from toolhand.tool_nodes.results import ErrorCode, ToolError

MAX_PHRASE = 300
"""Longest phrase that is read [characters]."""
MAX_WORDS = 60
"""Longest description of an object [words]; a round figure."""
ROBOT_KEYS = {"<far:robot>": "robot", "<near:robot>": "robotless"}
"""Folded words for what is nearest to the robot and farthest from it, and the keys of their selectors."""
_ARTICLES = DETERMINERS - {"a", "an", "any", "some", "either", "other", "another"}


@dataclass(frozen=True)
class Selector:
    """Picks among objects of the same kind.

    Attributes:
        key: left, right, near, far, middle; robot and robotless, the nearest to the robot's base and the farthest from
            it; or big, small, tall, short, long, wide, thin.
        rank: 1 is the extreme one, 2 the next; -1 is the last.
        most: A superlative says so: even an object without its like is the leftmost one.
    """

    key: str
    rank: int = 1
    most: bool = field(default=False, compare=False)

    @property
    def positional(self) -> bool:
        """True if the point in the image decides, False if the size does."""
        return self.key in {"left", "right", "near", "far", "middle", *ROBOT_KEYS.values()}


@dataclass(frozen=True)
class NounPhrase:
    """What a phrase says about an object.

    Attributes:
        text: The phrase in lower case without its leading article.
        words: Adjectives and nouns in order, without articles.
        head: The head noun, or "" when anything with those words fits ("the red one").
        details: Words after "with", wished for but not required ("the bottle with a red cap").
        selectors: Position and size selectors.
        relation: left_of, in, ... or nearest_to, farthest_from; None when there is none.
        references: Objects that the relation refers to (two for "between A and B").
        excluded: Descriptions that the object must not match ("not the red one").
        count: 2 for "both" and "the two cans"; None when not said.
        plural: Several objects are meant.
        indefinite: Any one will do ("a can", "one of the cans").
        unread: Words of the phrase, and of those in it, that describe nothing that an object here can have.
        setting: "table" where it names what the objects stand on, "background" for what is around them; else "".
        empty: It says nothing about an object at all, such as "please".
        generic: A word such as "object" stands for the noun: "the orange object", but not "the orange".
        point: Normalized point (x, y) of the image where it stands; None where not said.
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
    unread: tuple[str, ...] = field(default=(), compare=False)
    setting: str = field(default="", compare=False)
    empty: bool = field(default=False, compare=False)
    generic: bool = field(default=False, compare=False)
    point: tuple[float, float] | None = None

    @property
    def plain(self) -> str:
        """The object without selectors and relation: "coconut water" for "far coconut water"."""
        return " ".join(self.words if self.head else (*self.words, "object"))


@dataclass
class _Core:
    """The words of a phrase before any relation, sorted by what they do."""

    content: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    most: set[str] = field(default_factory=set)
    origin: str = ""
    rank: int = 1
    first: bool = False
    count: int | None = None
    generic: bool = False
    all: bool = False
    indefinite: bool = False
    one_of: bool = False
    setting: str = ""
    point: tuple[float, float] | None = None
    unread: list[str] = field(default_factory=list)

    def selectors(self) -> list[Selector]:
        """The selectors; an ordinal without a side counts from the left."""
        keys = [self.origin, *self.keys] if self.origin else list(self.keys)
        if (self.first or self.rank != 1) and not keys:
            keys = ["left"]
        return [
            Selector(key, self.rank if i == 0 else 1, key in self.most) for i, key in enumerate(dict.fromkeys(keys))
        ]

    @property
    def says_nothing(self) -> bool:
        """True if no object is picked by any of the words."""
        named = any(word not in FUNCTION_WORDS for word in self.content)
        chosen = self.keys or self.origin or self.first or self.rank != 1 or self.count or self.point
        return not (named or chosen or self.generic or self.all or self.indefinite)

    def add_key(self, word: str, key: str) -> None:
        """Add a selector, unless the phrase has said the contrary."""
        if _OPPOSITE.get(key) in self.keys:
            self.unread.append(word)
        else:
            self.keys.append(key)
            self.most |= {key} if word.endswith(("most", "est", ":most>", ":robot>")) else set()


_OPPOSITE = {"left": "right", "right": "left", "near": "far", "far": "near"}


def _core(words: Sequence[str], placed: bool = False) -> _Core:
    """Sort words; `placed`: a relation follows them."""
    core = _Core()
    contained: list[str] = []
    lost = len(words)
    for i, word in enumerate(words):
        following = words[i + 1] if i + 1 < len(words) else ""
        second = word in DETERMINERS - {"of"} and core.content and words[i - 1] in (*core.content[-1:], *GENERIC)
        if word in LEADING_ON or (i and second):
            # "The lemon the baseball", "the lemon after the baseball": a second object, and nothing that joins them.
            lost = min(lost, i)
        if point := point_of(word):
            core.unread += [word] if core.point or following or i == 0 else []
            core.point = core.point or point
        elif word.startswith("<from:"):
            core.unread += [word] if core.origin else []
            core.origin = SIDES[word[6:-1]]
        elif word.startswith("<"):
            core.add_key(word, ROBOT_KEYS.get(word) or SIDES[word[1:-1].split(":")[0]])
        elif word in ORDINALS:
            core.unread += [word] if core.rank != 1 or "first" in words[:i] else []
            core.rank = ORDINALS[word]
            core.first = core.rank == 1
        elif word in SIDES or word in SIZES:
            core.add_key(word, SIDES.get(word) or SIZES[word])
            core.setting = core.setting or ("background" if word in BACKDROPS else "")
        elif word in BACKDROPS or singular(word) in SUPPORTS:
            core.setting = "background" if word in BACKDROPS else "table"
        elif word in NUMBERS:
            core.unread += [word] if core.count is not None else []
            core.count = core.count if core.one_of else NUMBERS[word]
        elif word in ("all", "every", "each", "everything"):
            core.all = True
        elif word in ("a", "an", "any", "some", "either") or (word == "one" and following == "of"):
            core.indefinite = core.indefinite or not core.content
        elif word == "one" and i == 0 and _is_noun(following):
            core.indefinite = True
        elif word == "of" and core.content and core.content[-1] not in ("set", "group"):
            contained, core.content = core.content, []
        elif word == "of" and i and words[i - 1] in GENERIC - {"one", "any"}:
            core.generic = False
        elif word == "of":
            core.one_of = core.one_of or (not core.content and core.count is None and not core.all)
            core.content = []
        elif word in GENERIC or (word.endswith("s") and word[:-1] in GENERIC):
            core.generic = True
            core.indefinite = core.indefinite or word in ("something", "anything")
            core.all = core.all or (word.endswith("s") and not core.one_of)
        elif (word not in CLOSED or word in ADJECTIVES) and not word.startswith(POINT):
            core.content.append(word)
            # "The object milk carton" names it after all, "something red" does not.
            core.generic = core.generic and word in ADJECTIVES
        if _says_nothing(word, words, i, core, placed):
            core.unread.append(word)
    core.unread += words[lost:]
    core.content += contained
    return core


def _is_noun(word: str) -> bool:
    """True for a word that can name an object, or lead to one that does: "one can", "one red can"."""
    return (
        bool(word)
        and not word.startswith(("<", POINT))
        and (word not in CLOSED or word in ADJECTIVES)
        and word not in FUNCTION_WORDS
    )


def _says_nothing(word: str, words: Sequence[str], i: int, core: _Core, placed: bool) -> bool:
    """True for a word that no rule reads where it stands, such as "lying" and "flat" in "the lying bottle flat"."""
    following = words[i + 1] if i + 1 < len(words) else ""
    if word in PARTICIPLES:
        return not (following.startswith("<") or (placed and not following))
    if word in BACKDROPS or singular(word) in SUPPORTS:
        return word not in SIDES and (not following or following in CLOSED)
    if word in ("of", "and"):
        return not following or i == 0
    if word in RELATIVE:
        named = any(before not in CLOSED or before in SURFACES for before in words[:i])
        return named and not core.generic and all(after in CLOSED for after in words[i + 1 :])
    return word in UNCHECKED or word in FUNCTION_WORDS


def noun_phrase(words: Sequence[str]) -> NounPhrase:
    """The noun phrase of rewritten words (see `rewrite`). Raises ToolError NOT_UNDERSTOOD when it is too long."""
    if len(words) > MAX_WORDS:
        raise ToolError(ErrorCode.NOT_UNDERSTOOD, f"A description of a thing may have at most {MAX_WORDS} words.")
    cut = next((i for i, word in enumerate(words) if word in BREAKS), len(words))
    kept, negated = list(words[:cut]), [w for w in words[cut:] if w not in (*BREAKS, "for")]
    if negated and (negated[0].startswith("<") or any(m.start == 0 for m in find_relations(negated, noun_first=False))):
        negated.insert(0, "thing")
    marks = find_relations(kept)
    relation: str | None = None
    references: tuple[NounPhrase, ...] = ()
    related: list[str] = []
    if marks:
        relation = marks[0].relation
        related = kept[marks[0].start :]
        references = tuple(noun_phrase(part) for part in split_references(relation, kept[marks[0].end :]))
        kept = kept[: marks[0].start]
    at = next((i for i, word in enumerate(kept) if i and word in CLAUSES), len(kept))
    core, clause = _core(kept[:at], bool(marks)), _core(kept[at + 1 :], bool(marks))
    details: tuple[str, ...] = ()
    content = core.content
    if kept[at : at + 1] == ["with"]:
        details = tuple(clause.content)
    else:
        content = [*clause.content, *content]
    head = content[-1] if core.content and not core.generic and content[-1] not in ADJECTIVES else ""
    selectors = core.selectors()
    plural = core.all or (core.count or 1) > 1 or (bool(head) and is_plural(head) and not core.one_of)
    excluded = noun_phrase(negated) if negated else None
    # "The red table" is a table; "the table tennis ball", "the red one on the table" are none.
    setting = core.setting if not (head or core.generic) else ""
    unread = [*core.unread, *clause.unread]
    if kept[at : at + 1] == ["with"] and (not clause.content or clause.count):
        unread += kept[at:]
    elif clause.count:
        unread += [word for word in kept[at + 1 :] if word in NUMBERS]
    if related:
        unread += _unread_relation(related, marks[0].end - marks[0].start, references, lost=kept[-1] in LEADING_ON)
    if cut < len(words) and not _excludable(words[cut:], excluded):
        unread += words[cut:]
    return NounPhrase(
        text=_text(words),
        words=tuple(content),
        head=head,
        details=details,
        selectors=(*selectors, *(s for s in clause.selectors() if s not in selectors)),
        relation=relation,
        references=references,
        excluded=excluded,
        count=core.count,
        plural=plural,
        indefinite=core.indefinite or (core.one_of and not selectors),
        unread=tuple(unread),
        setting=setting,
        generic=core.generic,
        point=core.point or clause.point,
        empty=not setting and core.says_nothing and clause.says_nothing and not (marks or negated),
    )


def _unread_relation(words: Sequence[str], length: int, references: Sequence[NounPhrase], lost: bool) -> Sequence[str]:
    """What says nothing in a relation whose mark has so many words; all of it after words that are `lost`."""
    inside = [word for reference in references for word in reference.unread]
    nothing = all(any(word is other for other in inside) for word in words[length:])
    return words if lost or nothing else inside


def _excludable(words: Sequence[str], excluded: NounPhrase | None) -> bool:
    """True if what follows a "not" says by name, side or relation what is not meant, and nothing else."""
    first = next((i for i, word in enumerate(words) if word not in (*BREAKS, "for")), 0)
    if excluded is None or any(word in BREAKS for word in words[first:]) or excluded.unread:
        return False
    said = excluded.words or excluded.selectors or excluded.relation
    return bool(said) and not (excluded.details or excluded.count)


def _text(words: Sequence[str]) -> str:
    shown = list(words)
    while len(shown) > 1 and shown[0] in _ARTICLES:
        shown.pop(0)
    text = re.sub(r"<from:(\w+)>", r"from the \1", as_said(" ".join(shown)))
    text = text.replace("<far:robot>", "closest to the robot").replace("<near:robot>", "furthest from the robot")
    text = re.sub(r"<(near|far)(?::most)?>", lambda m: "closest to the camera" if m[1] == "near" else "far away", text)
    return re.sub(r"<(\w+)>", r"on the \1", text)


def parse_noun_phrase(text: str) -> NounPhrase:
    """Parse a description of an object such as "the second can from the left" or "far coconut water".

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
