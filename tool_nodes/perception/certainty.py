"""How surely the objects of a scene are what words ask for: what a detector's score says."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.place_phrases import parse_free_space
from toolhand.tool_nodes.language.referring import refer
from toolhand.tool_nodes.language.vocabulary import Lexicon, Vocabulary, match
from toolhand.tool_nodes.language.words import RELATIVE
from toolhand.tool_nodes.perception.word_pointer import names_table, point_by_words
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, Frame, ObjectView

LEAST = 0.02
"""What is less likely to be what was asked for is not reported [-]: below LAST's threshold of 0.1, so that it
decides."""

_LOOSE = 0.7
"""Share of the time that a word that is none of an object's own means it: a near synonym ("mug" for a cup), or a word
that was mended by a letter; a round figure."""
_APPROXIMATE_COLOUR = 0.3
"""The same of a colour that only some people call so ("blue" for turquoise); a round figure."""


@dataclass(frozen=True)
class Candidate:
    """A point (x, y) in [0, 1] on an object, and the probability in [0, 1] that it is what was asked for."""

    point: tuple[float, float]
    certainty: float


@dataclass(frozen=True)
class ReadView:
    """One way to understand an object, and its probability in [0, 1]."""

    view: ObjectView
    probability: float


@dataclass(frozen=True)
class ReadScene:
    """One frame, understood.

    Attributes:
        readings: what each object may be, first what it is taken for.
        masks: visible pixels (H, W) of each object, in the same order.
    """

    readings: tuple[tuple[ReadView, ...], ...]
    masks: tuple[BoolArray, ...]

    @property
    def views(self) -> tuple[ObjectView, ...]:
        """What each object is taken for."""
        return tuple(readings[0].view for readings in self.readings)


def candidates_by_words(frame: Frame, text: str, scene: ReadScene, lexicon: Lexicon | None = None) -> list[Candidate]:
    """What `point_by_words` points at, in its order, then what may be meant if an object was mistaken for another.

    The certainty is the probability of all readings of an object that the phrase would find in its place, each
    times how well the words fit it. The other objects stay what they are taken for. A place is one for sure.

    Raises:
        ToolError: As `point_by_words`; OBJECT_NOT_FOUND only where nothing has a certainty of `LEAST` either.
    """
    if parse_free_space(text) is not None or names_table(text):
        return [Candidate(point, 1.0) for point in point_by_words(frame, text, scene, lexicon)]
    taken = scene.views
    missing: ToolError | None = None
    try:
        found = refer(text, taken, lexicon=lexicon, masks=scene.masks)
    except ToolError as error:
        if error.code is not ErrorCode.OBJECT_NOT_FOUND:
            raise
        missing, found = error, []
    certainties = [_certainty(text, scene, k, k in found, lexicon) for k in range(len(scene.readings))]
    unlikely = [k for k, certainty in enumerate(certainties) if certainty >= LEAST and k not in found]
    unlikely.sort(key=lambda k: -certainties[k])
    if missing is not None and not unlikely:
        raise missing
    return [Candidate(taken[k].point, certainties[k]) for k in (*found, *unlikely)]


def _certainty(text: str, scene: ReadScene, k: int, found: bool, lexicon: Lexicon | None) -> float:
    """Probability that object k is what the text means."""
    taken, readings = scene.views, scene.readings[k]
    total = readings[0].probability * word_fit(text, taken[k]) if found else 0.0
    for other in readings[1:]:
        views = [*taken[:k], other.view, *taken[k + 1 :]]
        try:
            meant = k in refer(text, views, lexicon=lexicon, masks=scene.masks)
        except ToolError:
            continue
        if meant:
            total += other.probability * word_fit(text, other.view)
    return min(total, 1.0)


def word_fit(text: str, view: ObjectView) -> float:
    """How well the words of a phrase that means a view say what it is, in [0, 1]: 1 for its own words."""
    return WordFits(text).of_meant(view)


class WordFits:
    """How well the words of one phrase say what objects are.

    Args:
        text: The phrase.
        approximate: How well a colour fits that only some people call so.
    """

    def __init__(self, text: str, approximate: float = _APPROXIMATE_COLOUR) -> None:
        self._approximate = approximate
        phrase = parse_noun_phrase(text)
        self._words = tuple(word for word in phrase.words if word not in RELATIVE or word == phrase.head)
        self._head = phrase.head
        self._known: dict[Hashable, float] = {}

    def of(self, view: ObjectView) -> float:
        """1 for words of the view's own, less for a colour that only some people call so, 0 where a word is none."""
        called = view.name, view.synonyms, view.categories, view.attributes
        if called not in self._known:
            fit = match(self._words, self._head, Vocabulary.of(view), groups={})
            self._known[called] = 0.0 if fit is None else self._approximate if fit.approximate_colour else 1.0
        return self._known[called]

    def of_meant(self, view: ObjectView) -> float:
        """The same of a view that the phrase means, whatever its words."""
        return self.of(view) or _LOOSE
