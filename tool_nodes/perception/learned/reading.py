"""What the learned pointer reads of a phrase: words of the thing, words for its place, and the thing that it is beside.

The grammar is the project's (`tool_nodes.language.phrases`); what each word looks like is learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tool_nodes.language.phrases import NounPhrase, parse_noun_phrase
from tool_nodes.language.words import COLOURS, SHADES, stem
from tool_nodes.results import ErrorCode, ToolError

ANYTHING = "<any>"
"""Head of a phrase that fits a thing of any kind: "the red one", "everything"."""

SIDE_KEYS = ("left", "right", "near", "far")
"""Sides by which one of several is distinguished from the others; rows of the network's `side.weight`."""

BESIDE = ("left_of", "right_of", "in_front_of", "behind", "next_to")
"""Relations to another thing; outputs of the network's `beside` layers."""


@dataclass(frozen=True)
class Named:
    """Words that name a kind of thing.

    Attributes:
        words: Stems, colours in their plain form, sorted; empty where anything is meant.
        head: The head noun among them, or ANYTHING.
    """

    words: tuple[str, ...]
    head: str

    @property
    def said(self) -> tuple[str, ...]:
        """Everything that has to be known for the words to be understood."""
        return self.words if self.head in (ANYTHING, *self.words) else (*self.words, self.head)


@dataclass(frozen=True)
class PhraseTokens:
    """A phrase as the network takes it.

    Attributes:
        thing: Words of the thing that is meant.
        side: One of SIDE_KEYS where one of several is meant by its place; else empty.
        relation: One of BESIDE where it stands beside something; else empty.
        reference: Words of the reference; None without a relation.
    """

    thing: Named
    side: str = ""
    relation: str = ""
    reference: Named | None = None


def named(phrase: NounPhrase) -> Named:
    """The words of a noun phrase, without its selectors and relation."""
    words = {part for word in phrase.words for part in plain_words(word)}
    head = plain_words(phrase.head)[-1:] if phrase.head else ()
    return Named(tuple(sorted(words)), head[0] if head else ANYTHING)


def plain_words(word: str) -> tuple[str, ...]:
    """A word in the form that all its spellings share: "plushies" and "plushie", "navy" and "dark blue"."""
    if word in SHADES:
        return (SHADES[word],) if SHADES[word] else ()
    return tuple((COLOURS[word] if word in COLOURS else stem(word)).split())


@lru_cache(maxsize=32768)
def read_phrase(text: str) -> PhraseTokens:
    """The tokens of a phrase that names one kind of thing, by a side or a relation at most.

    Raises:
        ToolError: NOT_RECOGNISED for what the network has never learned: ordinals, sizes, the middle, two sides or
            relations at once, relations other than BESIDE, "with", "not"; NOT_UNDERSTOOD as `parse_noun_phrase`.
    """
    return tokens_of(parse_noun_phrase(text))


def tokens_of(phrase: NounPhrase) -> PhraseTokens:
    """As `read_phrase`, of a phrase that is parsed already."""
    if phrase.empty or phrase.setting:
        raise unlearned(phrase.text)
    sides = [s for s in phrase.selectors if s.positional and s.rank == 1 and s.key in SIDE_KEYS]
    odd = len(sides) != len(phrase.selectors) or len(sides) > 1 or phrase.excluded is not None or phrase.details
    if odd or (sides and phrase.relation):
        raise unlearned(phrase.text)
    side = sides[0].key if sides else ""
    if phrase.relation is None:
        return PhraseTokens(named(phrase), side)
    reference = phrase.references[0] if len(phrase.references) == 1 else None
    plain = reference is not None and not (reference.selectors or reference.relation or reference.excluded)
    if phrase.relation not in BESIDE or reference is None or not plain or not reference.words:
        raise unlearned(phrase.text)
    return PhraseTokens(named(phrase), "", phrase.relation, named(reference))


def unlearned(text: str) -> ToolError:
    """The error about words whose meaning the network was never shown."""
    return ToolError(
        ErrorCode.NOT_RECOGNISED,
        f"I have not learned to judge '{text[:80]}': I know kinds of things, one side (left, right, near, far) or one "
        "thing that it is left of, right of, in front of, behind or next to.",
        "Name the thing alone, and choose among the points by where they are.",
    )
