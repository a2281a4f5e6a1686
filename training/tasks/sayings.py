"""How people say it: a grammar of paraphrases, of which each split has wordings and phrases of its own.

    say(rng, "size", "test", a="rice box")        # "Be so good as to establish how tall the rice box is."
    say_command(rng, "train", CommandWords("rice box", side="left"))

The files `said/train.yaml`, `said/validation.yaml` and `said/test.yaml` hold the words; no sentence of one of them can
be made of another. They were written without the robot's reader of sentences, and share nothing with it. More words for
commands that are read and not carried out, of the training, are in `said/plans.yaml`.

| part of a file | holds |
|---|---|
| a kind of task | wordings: `do` for what one can be asked politely to do, `say` for whole sentences |
| `polite` | what stands around one of `do`, in half of the sentences |
| `sides`, `compared` | words for a side of an object, as the camera sees it; the second where two are only compared |
| `which` | words for the one of two alike that is further to a side |
| `where` | words for a place, by what stands there |

In a wording `{a}` is a blank and `[one|other]` a choice of words. A pick of one of two alike is also said in the
wordings of a pick.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, cast

import numpy as np

from toolhand.sim.tasks import sentences
from toolhand.sim.tasks.predicates import Relation
from toolhand.tool_nodes.plain_yaml import load
from toolhand.training.tasks.splits import SPLITS, Split

POLITE = 0.5
"""Share of the sentences that ask for something to be done which are said politely, or with a word around it [-]."""

ALIKE = "relational_pick"
"""The kind whose wordings are those of a pick, and some more."""

_CHOICE = re.compile(r"\[([^\]]*)\]")
_BEGIN = re.compile(r"(?:^|(?<=[.?!] ))[a-z]")


@dataclass(frozen=True)
class Sayings:
    """The words of one split.

    Attributes:
        do, say: Kind of task -> wordings, as of the module's table.
        polite: With the blank `said`.
        sides, compared, which: Side -> phrases.
        where: Relation -> phrases with the blanks `b` and, between two, `c`.
    """

    do: Mapping[str, Sequence[str]]
    say: Mapping[str, Sequence[str]]
    polite: Sequence[str]
    sides: Mapping[str, Sequence[str]]
    compared: Mapping[str, Sequence[str]]
    which: Mapping[str, Sequence[str]]
    where: Mapping[str, Sequence[str]]


@cache
def sayings(split: Split) -> Sayings:
    """The words of a split."""
    return _read(split)


@cache
def wider_sayings() -> Sayings:
    """The words of the train split and more, for commands that nobody carries out: those of `said/plans.yaml`."""
    own, more = sayings("train"), _read("plans")

    def joined(name: str) -> dict[str, Any]:
        one, two = getattr(own, name), getattr(more, name)
        return {key: (*words, *two.get(key, ())) for key, words in one.items()}

    tables = {name: joined(name) for name in ("do", "say", "sides", "compared", "which", "where")}
    return Sayings(polite=(*own.polite, *more.polite), **tables)


@cache
def wider_objects() -> tuple[str, ...]:
    """Names of objects that those commands also ask for, beside the products of the train split."""
    return tuple(_document("plans")["objects"])


def _document(name: str) -> dict[str, Any]:
    return dict(load(resources.files(__package__).joinpath("said", f"{name}.yaml").read_bytes()))


def _read(name: str) -> Sayings:
    document = _document(name)
    document.pop("objects", None)
    parts = {name: document.pop(name, {}) for name in ("polite", "sides", "compared", "which", "where")}
    for way in ("do", "say"):
        parts[way] = {kind: tuple(wordings.get(way, ())) for kind, wordings in document.items()}
        parts[way][ALIKE] = (*parts[way]["pick"], *parts[way][ALIKE])
    return Sayings(**parts)


def wordings_of(kind: str, split: Split) -> tuple[str, ...]:
    """All wordings of a kind in a split, as they stand in its file."""
    return _wordings(sayings(split), kind)


def _wordings(words: Sayings, kind: str) -> tuple[str, ...]:
    return (*words.do[kind], *words.say[kind])


def say(rng: np.random.Generator, kind: str, split: Split, **blanks: str) -> str:
    """A sentence of a kind in one of its split's wordings.

    Args:
        blanks: Words for the wording's blanks.
    """
    return _say(rng, kind, sayings(split), blanks)


def _say(rng: np.random.Generator, kind: str, words: Sayings, blanks: Mapping[str, str]) -> str:
    number = int(rng.integers(len(words.do[kind]) + len(words.say[kind])))
    asked = number < len(words.do[kind])
    wording = _wordings(words, kind)[number]
    said = _CHOICE.sub(lambda found: sentences.choose(rng, found[1].split("|")), wording).format(**blanks)
    if asked:
        polite = rng.random() < POLITE
        frame = sentences.choose(rng, words.polite) if polite else "{said}"
        said = frame.format(said=said)
    return _as_sentence(said)


def side_words(rng: np.random.Generator, side: str, split: Split, compared: bool = False) -> str:
    """Words for a side of an object, such as "to the left of"; `compared` as of the module's table."""
    words = sayings(split)
    return sentences.choose(rng, (*words.sides[side], *(words.compared.get(side, ()) if compared else ())))


def _as_sentence(said: str) -> str:
    """Each sentence with a capital letter, the last with a full stop where it has no other end."""
    said = _BEGIN.sub(lambda found: found[0].upper(), said)
    return said if said[-1] in ".?!" else f"{said}."


# -- commands ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CommandWords:
    """What a command of the arm says, by names.

    Attributes:
        target: Name of the object to pick up.
        side: The one of two alike that is meant; "" where there is one object of the name.
        relation: Where it is to be put; None where it is only picked up.
        references: Names of what it is put to: two for "between".
    """

    target: str
    side: str = ""
    relation: Relation | None = None
    references: tuple[str, ...] = field(default=())

    @property
    def plain(self) -> str:
        """The same in the plainest words, as a teacher is told it."""
        target = sentences.COMPARATIVES[self.side][0].format(self.target) if self.side else f"the {self.target}"
        if self.relation is None:
            return f"Pick up {target}."
        where = sentences.WHERE[self.relation][0].format(*(f"the {name}" for name in self.references))
        return f"Pick up {target} and place it {where}."


def say_command(rng: np.random.Generator, split: Split, words: CommandWords) -> str:
    """A sentence of a split that says so."""
    return _say_command(rng, sayings(split), words)


def say_widely(rng: np.random.Generator, words: CommandWords) -> str:
    """A sentence that says so in `wider_sayings`, which is to be read and not to be carried out."""
    return _say_command(rng, wider_sayings(), words)


def say_otherwise(rng: np.random.Generator, text: str, split: Split) -> str:
    """A command in other words of its split, those of the train split as of `say_widely`; as it was where the grammar
    does not know it."""
    meant = command_of(text)
    if meant is None:
        return text
    return say_widely(rng, meant) if split == "train" else say_command(rng, split, meant)


def _say_command(rng: np.random.Generator, own: Sayings, words: CommandWords) -> str:
    target = f"the {words.target}"
    if words.side:
        target = sentences.choose(rng, own.which[words.side]).format(a=words.target)
    if words.relation is None:
        return _say(rng, ALIKE if words.side else "pick", own, {"target": target})
    names = dict(zip("bc", words.references, strict=False))
    where = sentences.choose(rng, own.where[words.relation]).format(**names)
    return _say(rng, "pick_and_place", own, {"target": target, "where": where})


# -- reading them back ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReadSaying:
    """A sentence of the grammar, read back.

    Attributes:
        blanks: Words in the wording's blanks.
        free: Characters that no word of the grammar accounts for: of two readings the one with fewer is right.
    """

    blanks: Mapping[str, str]
    free: int


def heard(text: str, kind: str) -> ReadSaying | None:
    """What a sentence of a kind says, by the grammar of all splits; None where it is none of that kind."""
    candidates = [(text, "say"), *((said, "do") for said in _unframed(text))]
    found: list[ReadSaying] = []
    for said, way in candidates:
        for pattern in _patterns(kind, way):
            match = pattern.fullmatch(said)
            if match is not None:
                found.append(_heard(match))
    return min(found, key=lambda one: one.free, default=None)


def command_of(text: str) -> CommandWords | None:
    """What a sentence of the grammar has the arm do; None for any other sentence."""
    found: list[tuple[int, CommandWords]] = []
    for kind in ("pick", ALIKE, "pick_and_place"):
        said = heard(text, kind)
        target = None if said is None else _target(said.blanks["target"])
        if said is None or target is None:
            continue
        name, side = target
        if kind != "pick_and_place":
            found.append((said.free, CommandWords(name, side)))
            continue
        where = _where(said.blanks["where"])
        if where is not None:
            found.append((said.free, CommandWords(name, side, *where)))
    return min(found, key=lambda one: one[0], default=(0, None))[1]


def side_of(words: str) -> str | None:
    """The side that words for one mean, e.g. "left" for "to the left of"; None for others."""
    for split in SPLITS:
        own = sayings(split)
        for part in (own.sides, own.compared):
            for side, phrases in part.items():
                if words.lower() in phrases:
                    return side
    return None


def _heard(match: re.Match[str]) -> ReadSaying:
    blanks = match.groupdict()
    free = 0
    for name, value in blanks.items():
        if name == "target":
            target = _target(value)
            free += len(value) if target is None else len(target[0])
        elif name == "where" and side_of(value) is None:
            where = _where(value)
            free += len(value) if where is None else sum(map(len, where[1]))
        elif name != "where":
            free += len(value)
    return ReadSaying(blanks, free)


def _unframed(text: str) -> list[str]:
    """What was asked for, out of every frame of politeness that a sentence may have."""
    bare = text.removesuffix(".")
    return [bare, *(found[1] for frame in _frames() if (found := frame.fullmatch(text)))]


@cache
def _frames() -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(re.escape(_as_sentence(frame)).replace(r"\{said\}", "(.+?)"), re.IGNORECASE)
        for split in SPLITS
        for frame in sayings(split).polite
    )


@cache
def _patterns(kind: str, way: str) -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(_pattern(wording if way == "do" else _as_sentence(wording)), re.IGNORECASE)
        for split in SPLITS
        for wording in getattr(sayings(split), way)[kind]
    )


def _pattern(wording: str) -> str:
    """A wording as a regular expression, with a group for each blank; what stands twice is the same both times."""
    parts: list[str] = []
    for piece in re.split(r"(\[[^\]]*\]|\{\w+\})", wording):
        if piece.startswith("["):
            parts.append(f"(?:{'|'.join(map(re.escape, piece[1:-1].split('|')))})")
        elif piece.startswith("{"):
            name = piece[1:-1]
            group = f"(?P<{name}>{_places() if name == 'where' else '.+?'})"
            parts.append(f"(?P={name})" if group in parts else group)
        else:
            parts.append(re.escape(piece))
    return "".join(parts)


@cache
def _places() -> str:
    """A regular expression of all words for a side and for a place, longest first: they account for more."""
    found = []
    for split in SPLITS:
        own = sayings(split)
        for part in (own.sides, own.compared, own.where):
            found += [_blank(phrase) for phrases in part.values() for phrase in phrases]
    return "|".join(sorted(dict.fromkeys(found), key=len, reverse=True))


def _blank(phrase: str) -> str:
    return re.sub(r"\\\{\w\\\}", ".+?", re.escape(phrase))


def _target(words: str) -> tuple[str, str] | None:
    """(name, side) of words for an object, by the phrase that leaves the shortest name; None where they are none."""
    found = [(words[4:], "")] if words.lower().startswith("the ") else []
    for split in SPLITS:
        for side, phrases in sayings(split).which.items():
            for phrase in phrases:
                match = re.fullmatch(re.escape(phrase).replace(r"\{a\}", "(.+?)"), words, re.IGNORECASE)
                if match is not None:
                    found.append((match[1], side))
    return min(found, key=lambda one: len(one[0]), default=None)


def _where(words: str) -> tuple[Relation, tuple[str, ...]] | None:
    """(relation, names) of words for a place, by the phrase that leaves the fewest over; None where they are none."""
    found: list[tuple[int, Relation, tuple[str, ...]]] = []
    for split in SPLITS:
        for relation, phrases in sayings(split).where.items():
            for phrase in phrases:
                match = re.fullmatch(re.sub(r"\\\{\w\\\}", "(.+?)", re.escape(phrase)), words, re.IGNORECASE)
                if match is not None:
                    found.append((sum(map(len, match.groups())), cast(Relation, relation), match.groups()))
    return min(found, default=(0, None, ()))[1:] if found else None  # type: ignore[return-value]
