"""What can be said of the things of a scene, and which of them each phrase means, from positions and the catalogue.

Every wording of `sim.tasks.tasks.random_task` is among them: names, synonyms, colours, attributes and categories, side
words and superlatives, and "the can left of the red box". The truth is the task generator's, never a parser's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from sim.scene.scenes import Scene
from sim.tasks.relational_pick import relational_options
from sim.tasks.sentences import could_mean, descriptions
from tool_nodes.catalogue import Description, load_catalogue
from tool_nodes.perception.learned.reading import PhraseTokens, read_phrase

PhraseKind = Literal["plain", "held out", "several", "absent", "absent held out", "side", "beside"]
"""One thing by words that were trained on or were not, several things, nothing; one thing by its place."""

HELD_OUT_SHARE = 0.1
"""Share of all descriptions that is never trained on [-]."""

_SPLIT_SEED = 15
"""Decides which descriptions are held out, whatever seed the training has: figures of two runs compare."""
_ABSENT = 12
"""Phrases for nothing that is there, of each scene."""
_COMPOUNDS = 6
"""Descriptions of several words ("soft toy", "tall cylindrical container") of each thing that are tried."""
_REFERENCES = 2
"""Things of a scene that its phrases may name others beside [-]; all of them in a scene of the test."""


@dataclass(frozen=True)
class LabelledPhrase:
    """A phrase about one scene.

    Attributes:
        text: The phrase.
        kind: See PhraseKind.
        meant: For each thing of the scene 1 where it is meant, 0 where it is not, -1 where one may differ about it.
    """

    text: str
    kind: PhraseKind
    meant: tuple[int, ...]


@cache
def held_out() -> frozenset[PhraseTokens]:
    """Descriptions of catalogue items that are never trained on, as tokens: a tenth, names and kinds excepted.

    No other description reads the same, and each word of them is in one that is trained on: what is tested is whether
    words are understood in a new company. A word that was never shown means nothing to any learner.
    """
    items = load_catalogue().values()
    kept = {text for item in items for text in (item.name, item.kind)}
    every = sorted({text for item in items for text in descriptions(item)})
    readings = Counter(read_phrase(text) for text in every)
    uses = Counter(word for text in every for word in (*read_phrase(text).thing.words, f"head {_head(text)}"))
    chosen: set[PhraseTokens] = set()
    for k in np.random.default_rng(_SPLIT_SEED).permutation(len(every)):
        tokens = read_phrase(every[k])
        said = (*tokens.thing.words, f"head {_head(every[k])}")
        if every[k] in kept or readings[tokens] > 1 or min(uses[word] for word in said) < 2:
            continue
        chosen.add(tokens)
        uses.subtract(said)
        if len(chosen) >= HELD_OUT_SHARE * len(every):
            break
    return frozenset(chosen)


def _head(text: str) -> str:
    return read_phrase(text).thing.head


@cache
def known_descriptions() -> tuple[str, ...]:
    """All descriptions of catalogue items."""
    return tuple(sorted({text for item in load_catalogue().values() for text in descriptions(item)}))


def compounds(item: Description) -> list[str]:
    """Longer descriptions of an item: colour or attributes before a name, a kind or a category."""
    nouns = [item.kind, item.name, *item.categories]
    two = [f"{word} {noun}" for word in (item.colour, *item.attributes) for noun in nouns if word not in noun]
    three = [
        f"{first} {second} {noun}"
        for first in (item.colour, *item.attributes)
        for second in item.attributes
        for noun in nouns
        if first != second and first not in noun and second not in noun
    ]
    return [*two, *three, *([f"{item.name} {item.kind}"] if item.kind not in item.name else [])]


def meant_by(phrase: str, items: Sequence[Description]) -> tuple[int, ...]:
    """Which items a description without an article means: those it describes; others that it might are left open."""
    bare = phrase.removesuffix(" object")
    sure = [phrase in descriptions(item) for item in items]
    if not any(sure):
        return tuple(int(could_mean(bare, item)) for item in items)
    return tuple(1 if yes else -int(could_mean(bare, item)) for yes, item in zip(sure, items, strict=True))


def phrases_of(scene: Scene, rng: np.random.Generator, test: bool = False) -> Iterator[LabelledPhrase]:
    """Phrases about a scene; in a test the held-out ones too, and every thing is one to stand beside.

    Args:
        scene: Scene on the table.
        rng: Draws the absent ones and the references.
        test: Give what is never trained on as well.
    """
    items = [placed.asset for placed in scene.objects]
    spared = held_out()
    texts = {text for item in items for text in descriptions(item)}
    if not test:
        for item in items:
            options = compounds(item)
            texts |= {options[k] for k in rng.permutation(len(options))[:_COMPOUNDS]}
    for text in sorted(texts):
        new = read_phrase(text) in spared
        meant = meant_by(text, items)
        one = sum(label != 0 for label in meant) == 1
        kind: PhraseKind = "several" if not one else "held out" if new else "plain"
        if not new or (test and one):
            yield LabelledPhrase(text, kind, meant)
    yield LabelledPhrase("everything", "several", (1,) * len(items))
    every = known_descriptions()
    found = 0
    for k in rng.permutation(len(every)):
        text = every[k]
        if found == _ABSENT:
            break
        new = read_phrase(text) in spared
        if (new and not test) or any(could_mean(text.removesuffix(" object"), item) for item in items):
            continue
        found += 1
        yield LabelledPhrase(text, "absent held out" if new else "absent", (0,) * len(items))
    yield from _by_place(scene, rng, test)


def _by_place(scene: Scene, rng: np.random.Generator, test: bool) -> Iterator[LabelledPhrase]:
    order = rng.permutation(len(scene.objects))
    chosen = [scene.objects[k] for k in (order if test else order[:_REFERENCES])]
    beside = [f" the {placed.asset.name}" for placed in scene.objects]
    for target, wordings in relational_options(scene, chosen):
        meant = tuple(int(placed.id == target.id) for placed in scene.objects)
        for text in wordings:
            kind: PhraseKind = "beside" if any(text.endswith(reference) for reference in beside) else "side"
            yield LabelledPhrase(text, kind, meant)
