"""Wordings as data: what a clause may say, as patterns of words with slots; the whole clause has to match.

| in a pattern | matches |
|---|---|
| `undo` | the word, or a slip of one letter of it |
| `(it|that|the last one)` | one of the alternatives |
| `[again]` | the words, or nothing |
| `{thing}` | one noun phrase |
| `{things}` | several noun phrases, joined by commas and "and" |
| `{place}` | the words of a place: they begin with one such as "in", "next to" or "to" |
| `{number}` | a number from 1 on: "2", "two", "second" |
| `{count}` | a number from 2 on, of things: "2", "two" |
| `{plural}` | a noun phrase of several things: "the cans" |
| `{words}` | any words |
| `{length}` | a length: "2 cm" |
| `PUT` | one of the verbs of that name in joints.yaml |

The pattern with most literal words wins, then the one whose slots take fewest words. Two entries that are equal there
for one of their examples are an error of the tables, which a test finds.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolhand.agent_node.policies.scripted.verbs import VERBS
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.language.measures import LENGTH
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.words import (
    DETERMINERS,
    FUNCTION_WORDS,
    NUMBERS,
    ORDINALS,
    is_slip,
    singular,
    word_set,
)
from toolhand.tool_nodes.plain_yaml import load
from toolhand.tool_nodes.results import ErrorCode, ToolError

FOLDER = Path(__file__).with_name("tables")
TABLES = ("followups", "groups", "questions", "skills", "smalltalk", "limits", "deeds")
"""The tables in which a clause is looked up."""
_ELEMENT = re.compile(r"[()\[\]|]|\{\w+\}|[^\s()\[\]|{}]+")
_SHORTEST_MENDED = 4
"""Shortest word of a pattern that is recognised with a slip of one letter [letters]."""
_LONGEST_SLOT = 40
"""Most words that a slot takes [words]: longer descriptions are no noun phrase for a policy either."""
PLACE_WORDS = word_set(
    "in into inside on onto at to towards toward next beside near by behind between under over above below away "
    "closer nearer further farther as back somewhere anywhere left right where off out along around down against "
    "opposite atop forward forwards backward backwards leftwards rightwards"
)
"""Words that the words of a place may begin with; a measure begins with a number."""
_OF_A_NUMBER = 0.5
"""What a number counts beside a literal word [words]: it is more specific than a noun phrase, which may hold one."""
_Slots = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Node:
    """A part of a pattern: a word, a slot, or alternatives of sequences."""

    word: str = ""
    slot: str = ""
    options: tuple[tuple[_Node, ...], ...] = ()


@dataclass(frozen=True)
class Wording:
    """One pattern of an entry.

    Attributes:
        table: Name of its table.
        entry: Name of its entry.
        pattern: The pattern as it is written.
    """

    table: str
    entry: str
    pattern: str

    @functools.cached_property
    def parts(self) -> list[str]:
        """The words and signs of the pattern."""
        spelt = re.sub(r"\b[A-Z]{2,}\b", lambda name: f"({'|'.join(joints()[name[0]])})", self.pattern)
        return _ELEMENT.findall(spelt)

    @functools.cached_property
    def nodes(self) -> tuple[_Node, ...]:
        """The pattern, read. Raises ToolError INTERNAL for one that is wrong."""
        parts = self.parts
        nodes, rest = _sequence(parts, 0)
        if rest != len(parts):
            raise ToolError(
                ErrorCode.INTERNAL, f"The wording {self.pattern!r} of {self.table} closes what is not open."
            )
        return nodes

    @functools.cached_property
    def words(self) -> frozenset[str]:
        """Every literal word in it."""
        return frozenset(part for part in self.parts if part[0] not in "()[]|{")


@dataclass(frozen=True)
class WordingMatch:
    """A wording that a clause matches.

    Attributes:
        wording: The pattern.
        slots: (name, words) of each slot, in the order of the clause.
        literal: Literal words that matched; a slip counts less than the word itself.
        taken: Words that slots took.
    """

    wording: Wording
    slots: tuple[tuple[str, str], ...]
    literal: float
    taken: int

    @property
    def rank(self) -> tuple[float, int]:
        """What decides between wordings: the larger is the more specific."""
        return self.literal, -self.taken

    def all(self, name: str) -> tuple[str, ...]:
        """The words of every slot of a name."""
        return tuple(words for slot, words in self.slots if slot == name)

    def get(self, name: str) -> str:
        """The words of the first slot of a name; empty without one."""
        return next(iter(self.all(name)), "")


@dataclass(frozen=True)
class TableEntry:
    """One entry of a table.

    Attributes:
        name: Its name, the kind of the act.
        say: Its wordings.
        examples: Sentences that are read as this entry.
        unlike: Sentences that are not.
        answer: Text that is answered; empty where it is an act of another kind.
        code: Code of a refusal; empty elsewhere.
        command: Command that it stands for, with its slots; empty elsewhere.
    """

    name: str
    say: tuple[Wording, ...]
    examples: tuple[str, ...]
    unlike: tuple[str, ...] = ()
    answer: str = ""
    code: str = ""
    command: str = ""


@functools.cache
def joints() -> dict[str, tuple[str, ...]]:
    """What joins clauses, and verbs that patterns name, by their kind; see tables/joints.yaml."""
    return {key: tuple(words) for key, words in load((FOLDER / "joints.yaml").read_bytes()).items()}


@functools.cache
def table(name: str) -> dict[str, TableEntry]:
    """The entries of a table; none where its file is not there.

    Raises:
        ToolError: INTERNAL for a file that is no table.
    """
    path = FOLDER / f"{name}.yaml"
    document = load(path.read_bytes()) if path.is_file() else {}
    try:
        return {
            key: TableEntry(
                key,
                tuple(Wording(name, key, pattern) for pattern in entry["say"]),
                tuple(entry["examples"]),
                tuple(entry.get("not", ())),
                entry.get("answer", ""),
                entry.get("code", ""),
                entry.get("as", ""),
            )
            for key, entry in document.items()
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise ToolError(ErrorCode.INTERNAL, f"The table {name}.yaml is wrong: {error}.") from error


@functools.cache
def known_words() -> frozenset[str]:
    """Every word of the tables and of the grammar: what is one of them is no slip of another."""
    literal = {word for name in TABLES for entry in table(name).values() for w in entry.say for word in w.words}
    return frozenset(literal | FUNCTION_WORDS | DETERMINERS | set(VERBS))


def matches(words: Sequence[str], tables: Sequence[str] = TABLES) -> list[WordingMatch]:
    """Every entry that a whole clause matches, the most specific first, an entry once.

    Args:
        words: The clause as `toolhand.tool_nodes.language.words.tokenize` gives it, with commas as the only signs.
        tables: Names of the tables to look in.
    """
    best: dict[tuple[str, str], WordingMatch] = {}
    present = set(words)
    for name in tables:
        for entry in table(name).values():
            for wording in entry.say:
                if not _may_match(wording, present):
                    continue
                for found in _whole(wording, words):
                    key = (name, entry.name)
                    if key not in best or found.rank > best[key].rank:
                        best[key] = found
    return sorted(best.values(), key=lambda found: found.rank, reverse=True)


def _may_match(wording: Wording, present: set[str]) -> bool:
    """False where a word that the pattern needs is surely missing, which spares the search."""
    needed = [node.word for node in wording.nodes if node.word]
    return all(
        word in present or (len(word) >= _SHORTEST_MENDED and any(_meant(said, word) for said in present))
        for word in needed
    )


def _whole(wording: Wording, words: Sequence[str]) -> Iterator[WordingMatch]:
    for end, literal, slots in _match(wording.nodes, words, 0):
        if all(word == "," for word in words[end:]):
            yield WordingMatch(wording, slots, literal, sum(len(text.split()) for _, text in slots))


def _match(nodes: Sequence[_Node], words: Sequence[str], at: int) -> Iterator[tuple[int, float, _Slots]]:
    """(end, literal words, slots) of every way in which nodes match words from a position on."""
    if not nodes:
        yield at, 0.0, ()
        return
    first, rest = nodes[0], nodes[1:]
    for end, literal, slots in _match_one(first, words, at):
        for last, more, further in _match(rest, words, end):
            yield last, literal + more, (*slots, *further)


def _match_one(node: _Node, words: Sequence[str], at: int) -> Iterator[tuple[int, float, _Slots]]:
    if node.options:
        for option in node.options:
            yield from _match(option, words, at)
        return
    if node.word == ",":
        if words[at : at + 1] == [","]:
            yield at + 1, 0.0, ()
        return
    while at < len(words) and words[at] == ",":
        at += 1
    if node.slot:
        for end in range(at + 1, min(len(words), at + _LONGEST_SLOT) + 1):
            if words[end - 1] != "," and _fits(node.slot, words[at:end]):
                yield (
                    end,
                    _OF_A_NUMBER if node.slot in ("number", "count") else 0.0,
                    ((node.slot, " ".join(words[at:end])),),
                )
    elif at < len(words):
        said = words[at]
        if said == node.word:
            yield at + 1, 1.0, ()
        elif _meant(said, node.word):
            yield at + 1, 0.9, ()


@functools.lru_cache(maxsize=4096)
def _meant(said: str, word: str) -> bool:
    return len(word) >= _SHORTEST_MENDED and said not in known_words() and is_slip(said, word)


def _fits(slot: str, words: Sequence[str]) -> bool:
    text = " ".join(words)
    if slot == "words":
        return True
    if slot == "length":
        return len(words) == 1 and text.startswith(LENGTH)
    if slot == "number":
        return number_of(text) is not None
    if slot == "count":
        return text not in ORDINALS and (number_of(text) or 1) > 1
    if slot == "place":
        return is_place(words)
    if slot == "plural":
        return is_several(text.replace(" ,", ""))
    if slot == "things" and set(words) & set(joints()["hesitates"]):
        return False
    parts = listed_things(text) if slot == "things" else [text.replace(" ,", "")]
    if slot == "things" and (
        len(parts) < 2 or any(parse_noun_phrase(part).relation for part in parts if is_thing(part))
    ):
        return False  # "the lemon in the bowl and the pear" are a thing and its place, and another
    return bool(parts) and all(is_thing(part) for part in parts)


def is_place(words: Sequence[str]) -> bool:
    """Whether words may say where: they begin as a place does, or with a measure, and no other clause follows."""
    words = words[_before_place(words) :]
    begins = len(words) > 1 and (words[0] in PLACE_WORDS or words[0] in NUMBERS or words[0].isdigit())
    begins = begins or (len(words) > 1 and words[0].startswith(LENGTH))
    return begins and not any(
        word in ("then", "except", "afterwards", "what", "how", "why", "who")
        or (words[k] in ("and", ",") and VERBS.get(word, ("",))[0] == word)
        for k, word in enumerate(words[1:])
    )


_VAGUELY = (
    "a little bit", "a tiny bit", "a bit", "a little", "a tad", "a touch", "a lot", "slightly", "somewhat", "just",
    "all the way", "directly", "straight", "exactly", "precisely", "immediately", "over", "right over", "somewhere",
)  # fmt: skip
"""What may stand before the words of a place, the longer first."""


def _before_place(words: Sequence[str]) -> int:
    """How many words say how far or how exactly before a place."""
    text = " ".join(words)
    lead = next((each for each in _VAGUELY if text.startswith(f"{each} ")), "")
    after = words[len(lead.split()) :] if lead else ()
    return len(lead.split()) if lead and after and (after[0] in PLACE_WORDS or after[0].startswith(LENGTH)) else 0


@functools.lru_cache(maxsize=4096)
def is_thing(text: str) -> bool:
    """Whether words are one noun phrase and nothing else."""
    words = text.split()
    joined = {"and", "or", "then", "but"} & set(words)
    joined |= {word for word in words[1:] if word.isdigit() or word in NUMBERS}  # "the apple 10 cm" is two things said
    if not words or joined or any(w in VERBS and w == VERBS[w][0] and k == 0 for k, w in enumerate(words)):
        return False
    if text in ("it", "them"):
        return True
    if words[0] in FUNCTION_WORDS - {"them", "it"} or words[-1] in DETERMINERS | FUNCTION_WORDS - {"it", "them"}:
        return False
    try:
        phrase = parse_noun_phrase(text)
    except ToolError:
        return False
    if phrase.unread or phrase.empty or phrase.setting:
        return False
    return bool(phrase.words or phrase.generic or phrase.selectors or phrase.plural)


@functools.lru_cache(maxsize=4096)
def is_several(text: str) -> bool:
    """Whether words are one noun phrase of several things; "crackers", the name of a product, is none."""
    if not is_thing(text) or set(text.split()) & {"it", "them", "both", "all", "one", *NUMBERS}:
        return False
    phrase = parse_noun_phrase(text)
    return phrase.plural and (phrase.head or "things") not in _names_in_plural()


@functools.cache
def _names_in_plural() -> frozenset[str]:
    names = (text for item in load_catalogue().values() for text in (item.name, item.kind, *item.synonyms))
    return frozenset(name.split()[-1] for name in names)


def names_products(text: str) -> bool:
    """Whether every word is one of the names of products."""
    return all(word in _words_of_names() for word in text.split())


@functools.cache
def _words_of_names() -> frozenset[str]:
    names = (text for item in load_catalogue().values() for text in (item.name, *item.synonyms))
    return frozenset(word for name in names for word in name.split())


def ends_with_product(words: Sequence[str]) -> bool:
    """Whether words end with the noun of a product: "my bottle", but not "my kitchen" of the kitchen sponge."""
    return bool(words) and singular(words[-1]) in _nouns()


@functools.cache
def _nouns() -> frozenset[str]:
    names = (text for item in load_catalogue().values() for text in (item.name, item.kind, *item.synonyms))
    return frozenset(singular(name.split()[-1]) for name in names)


def listed_things(text: str) -> list[str]:
    """The parts of "the honey , the soup and the tea"; commas and "and" part them."""
    return [part.strip() for part in re.split(r"\band\b| , ", f"{text} ") if part.strip()]


def number_of(text: str) -> int | None:
    """The number that a word says, from 1 on; None for another word."""
    if text.isdigit():
        return int(text) if 0 < int(text) < _TOO_MANY else None
    if text in ("one", "both", "couple", "pair"):
        return 1 if text == "one" else None
    return NUMBERS.get(text) or (ORDINALS[text] if ORDINALS.get(text, 0) > 0 else None)


def without_hesitation(text: str) -> str:
    """Words without "um" and "er", which mean nothing."""
    return re.sub(rf"\b(?:{'|'.join(joints()['hesitates'])})\b[ ,.]*", "", text, flags=re.IGNORECASE)


_TOO_MANY = 100
"""No question has so many candidates [-]."""


def _sequence(parts: Sequence[str], at: int) -> tuple[tuple[_Node, ...], int]:
    """The nodes from a position on, up to what closes them, and where that is."""
    nodes: list[_Node] = []
    while at < len(parts) and parts[at] not in (")", "]", "|"):
        part = parts[at]
        if part in ("(", "["):
            options, at = _options(parts, at + 1)
            nodes.append(_Node(options=(*options, ()) if part == "[" else options))
        elif part.startswith("{"):
            nodes.append(_Node(slot=part[1:-1]))
        else:
            nodes.append(_Node(word=part))
        at += 1
    return tuple(nodes), at


def _options(parts: Sequence[str], at: int) -> tuple[tuple[tuple[_Node, ...], ...], int]:
    options = []
    while True:
        nodes, at = _sequence(parts, at)
        options.append(nodes)
        if at >= len(parts):
            raise ToolError(ErrorCode.INTERNAL, f"The wording {' '.join(parts)!r} does not close what it opens.")
        if parts[at] != "|":
            return tuple(options), at
        at += 1
