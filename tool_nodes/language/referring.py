"""Which of the objects that a camera sees a phrase means: "the far coconut water", "the can next to the bowl".

Every word of a phrase must be explained by what is known of an object (name, synonyms, kind, categories, colour,
attributes) and its head noun by a head noun of that vocabulary, so that "tennis ball" is not the tennis ball tube.
Directions are those of the image, taken on the table: what looks further left because it is near the camera
is not further left. With that, smaller x is left and larger y is nearer the camera.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from toolhand.tool_nodes.language import unfound
from toolhand.tool_nodes.language.phrases import NounPhrase, Selector, parse_noun_phrase
from toolhand.tool_nodes.language.pointed import at_point
from toolhand.tool_nodes.language.sides import CLEARLY_NEARER, on_side, select_points, table_points, take
from toolhand.tool_nodes.language.unfound import quoted
from toolhand.tool_nodes.language.vocabulary import (
    NAMED,
    Lexicon,
    Match,
    Vocabulary,
    catalogue_lexicon,
    correct,
    match,
    may_show,
)
from toolhand.tool_nodes.language.words import COLOURS, NEAR_SYNONYMS, RELATIVE, SHADES
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import BoolArray, ObjectView

NEXT_TO_GAP = 0.30
"""Largest gap between objects that are next to each other [m]."""
AS_NEAR = 0.03
"""Objects whose distances from another one differ by less than this are equally near to it [m]."""
OBLIQUE = float(np.tan(np.radians(60.0)))
"""The only candidate has to be this clearly to the side that is said: aside over ahead."""
CLEARLY_SIZED = 1.08
"""Ratio from which an object is "tall" or "small" beside another."""

_SHOWN_PLACES = 10
"""Most places of objects that are told."""


def refer(
    phrase: str,
    views: Sequence[ObjectView],
    nearest: bool = False,
    lexicon: Lexicon | None = None,
    masks: Sequence[BoolArray] = (),
    alike: bool = False,
) -> list[int]:
    """Indices of all objects that a phrase means, best first.

    Several indices for a phrase in the singular mean that it is ambiguous.

    Args:
        phrase: Such as "left can", "the two plushies", "everything", "the bottle next to the bowl".
        views: Objects in view.
        nearest: "The object left of the bowl" is the one that is clearly nearest to it, not everything on that side.
        lexicon: The words that the backend behind the views knows; those of the shipped catalogue where None.
        masks: Visible pixels (H, W) of each view, by which "the can at (0.48, 0.42)" is found; empty where not known.
        alike: An object may be meant that is only alike, as a basket is where there is no bin: for places, and not for
            what a deed is done to.

    Raises:
        ToolError: OBJECT_NOT_FOUND, naming what is seen and what is alike; NOT_RECOGNISED where it cannot be said
            whether it is there: words that are not known, objects that were not recognised, the table or the
            background; AMBIGUOUS where a description could also fit one of several objects that touch;
            NOT_UNDERSTOOD for an endless phrase or one that describes nothing.
    """
    return _Reader(views, nearest, lexicon or catalogue_lexicon(), masks).indices(parse_noun_phrase(phrase), alike)


def _measure(view: ObjectView, key: str) -> float:
    """Larger means more of a size word: tall, big, thin, ... [m] or [m^3]."""
    x, y, z = (float(v) for v in view.size_m)
    return {
        "big": x * y * z,
        "small": -x * y * z,
        "tall": z,
        "short": -z,
        "long": max(x, y, z),
        "wide": max(x, y),
        "thin": -min(x, y),
    }[key]


def _ratio(a: float, b: float) -> float:
    """How many times as large one of two sizes of one sign is as the other."""
    return max(abs(a), abs(b)) / max(min(abs(a), abs(b)), 1e-9)


class _Reader:
    """Reads noun phrases about one set of views."""

    def __init__(
        self, views: Sequence[ObjectView], nearest: bool, lexicon: Lexicon, masks: Sequence[BoolArray]
    ) -> None:
        self._views = views
        self._masks = dict(enumerate(masks))
        self._nearest = nearest
        self._lexicon = lexicon
        self._table = table_points([view.point for view in views]) if views else np.zeros((0, 2))
        self._vocabularies = [Vocabulary.of(view) for view in views]
        self._several = [view for view in views if view.several]

    @cached_property
    def _spoken(self) -> list[Vocabulary]:
        """The vocabularies with what else people call objects: few phrases need them."""
        return [Vocabulary.of(view, spoken=True) for view in self._views]

    def indices(self, phrase: NounPhrase, alike: bool) -> list[int]:
        matches, as_named = self._matches(phrase)
        found = list(matches)
        if phrase.excluded is not None:
            found = self._without(phrase.excluded, found)
        if phrase.relation is not None:
            found = self._related(phrase, found)
        if not found:
            raise self._not_found(phrase)
        if not (alike or as_named):  # a bin is not a box
            raise self._not_found(phrase, found)
        if phrase.point is not None:
            return [found[at_point(phrase, [self._views[i].point for i in found], [self._masks.get(i) for i in found])]]
        found = self._preferred(phrase, matches, found)
        if not found:
            raise self._not_found(phrase)
        found = self._selected(phrase, found)
        if not found:
            raise self._not_found(phrase)
        # Among objects that touch may be one that a description fits as well; a name that is seen elsewhere is that.
        if self._several and any(matches[i].tier > 0 or matches[i].approximate_colour for i in found):
            raise ToolError(
                ErrorCode.AMBIGUOUS,
                f"I cannot tell what '{quoted(phrase.text)}' is: {self._unclear()}.",
                "Move them apart, or call the thing by its name.",
            )
        return found

    def _without(self, excluded: NounPhrase, found: list[int]) -> list[int]:
        """Those of some objects that a description does not fit."""
        fits = [i for i in found if i in self._matches(excluded)[0]]
        if excluded.relation is not None and fits:
            one = excluded.relation in ("nearest_to", "farthest_from")
            fits = self._related(replace(excluded, plural=not one), fits)
        if len(fits) == 1 and not on_side(excluded.selectors, self._views[fits[0]].point):
            fits = []
        if excluded.selectors and fits:
            fits = self._selected(excluded, fits)
        return [i for i in found if i not in fits]

    def _matches(self, phrase: NounPhrase) -> tuple[dict[int, Match], bool]:
        """How well each object fits that does; False where those are only alike."""
        if phrase.empty:
            raise ToolError(
                ErrorCode.NOT_UNDERSTOOD,
                f"'{quoted(phrase.text)}' describes no thing.",
                'Name one, for example "red box"; "everything" means all things.',
            )
        if phrase.setting:
            raise ToolError(
                ErrorCode.NOT_RECOGNISED,
                f"'{quoted(phrase.text)}' is the {phrase.setting}, which is none of the things; I see: {self._seen()}",
                'A place is asked for as "free space on the table".',
            )
        words = tuple(word for word in phrase.words if word not in RELATIVE or word == phrase.head)
        for head, tried in correct(phrase.head, words, self._vocabularies):
            for groups, spoken in (*NAMED, (NEAR_SYNONYMS, False)):
                vocabularies = self._spoken if spoken else self._vocabularies
                every = {
                    i: match(tried, head, v, groups, naming=not phrase.generic) for i, v in enumerate(vocabularies)
                }
                found = {i: m for i, m in every.items() if m is not None}
                exact = {i: m for i, m in found.items() if not m.approximate_colour}
                if exact or (found and not groups):
                    return exact or found, groups is not NEAR_SYNONYMS
        raise self._not_found(phrase)

    def _preferred(self, phrase: NounPhrase, matches: dict[int, Match], found: list[int]) -> list[int]:
        """Keep the best matches, as far as the phrase leaves a choice; best first."""
        found = sorted(found, key=lambda i: matches[i].rank)
        sized = [word for word in phrase.words if word in RELATIVE and word != phrase.head]
        for word in sized:
            called = [i for i in found if self._vocabularies[i].has(word)]
            found = called or found
        *_, (_, details) = correct("", phrase.details, self._vocabularies)
        with_part = [i for i in found if details and self._vocabularies[i].has_part(details)]
        found = with_part or [i for i in found if all(self._spoken[i].has(word) for word in details)]
        if not phrase.plural or phrase.count:
            rank = max((s.rank for s in phrase.selectors), default=1)
            needed = phrase.count or (max(2, rank) if phrase.selectors else 1)
            for level in (lambda i: matches[i].tier, lambda i: matches[i].rank):
                best = [i for i in found if level(i) == min(level(j) for j in found)]
                found = best if len(best) >= needed else found
        if len(found) > 1 and not phrase.plural and not phrase.selectors:
            for word in sized:
                found = self._extreme(RELATIVE[word], found)
        return found

    def _extreme(self, key: str, found: list[int]) -> list[int]:
        """The one that stands out by size, or all of them when none does."""
        order = sorted(found, key=lambda i: -_measure(self._views[i], key))
        if len(order) < 2:
            return order
        first, second = (_measure(self._views[i], key) for i in order[:2])
        return order[:1] if _ratio(first, second) >= CLEARLY_SIZED else found

    def _sized(self, selector: Selector, found: list[int], count: int | None) -> list[int]:
        """The tallest, the second tallest ...; all that are as tall as it where it does not stand out."""
        size = {i: _measure(self._views[i], selector.key) for i in found}
        order = sorted(found, key=lambda i: -size[i])
        chosen = take(order, selector.rank, count)
        if count is not None or not chosen:
            return chosen
        alike = [i for i in order if _ratio(size[i], size[chosen[0]]) < CLEARLY_SIZED]
        return alike if len(alike) > 1 else chosen

    def _selected(self, phrase: NounPhrase, found: list[int]) -> list[int]:
        positions = [s for s in phrase.selectors if s.positional]
        sizes = [s for s in phrase.selectors if not s.positional]
        points = [self._views[i].point for i in found]
        if sizes and positions:
            half = len(found) - len(found) // 2
            found = [found[k] for k in select_points([replace(s, rank=1) for s in positions], points, half)]
        elif positions:
            if len(found) == 1 and not phrase.plural and not on_side(positions, points[0]):
                raise ToolError(
                    ErrorCode.OBJECT_NOT_FOUND,
                    f"the only '{quoted(phrase.plain)}' here is not where '{quoted(phrase.text)}' says it is; "
                    f"I see: {self._seen()}",
                )
            return [found[k] for k in select_points(positions, points, phrase.count)]
        for selector in sizes:
            found = self._sized(selector, found, phrase.count)
        if phrase.count and len(found) < phrase.count:
            raise ToolError(
                ErrorCode.OBJECT_NOT_FOUND,
                f"there are not {phrase.count} of '{quoted(phrase.plain)}' here, only {len(found)}; "
                f"I see: {self._seen()}",
            )
        return found

    def _related(self, phrase: NounPhrase, found: list[int]) -> list[int]:
        references = [self.indices(reference, alike=True) for reference in phrase.references]
        if not references:
            return found
        relation = phrase.relation or ""
        distances: dict[int, float] = {}
        for i in found:
            groups = self._groups(relation, i, references)
            measured = [self._distance(relation, i, group, strict=len(found) == 1) for group in groups]
            known = [d for d in measured if d is not None]
            if known:
                distances[i] = min(known)
        order = sorted(distances, key=lambda i: distances[i])
        if relation in ("nearest_to", "farthest_from") and not phrase.plural:
            return [i for i in order if distances[i] - distances[order[0]] < AS_NEAR]
        named = self._nearest or bool(phrase.words or phrase.details) or relation == "between"
        if phrase.plural or phrase.selectors or not named or relation in ("in", "on") or len(order) < 2:
            return order
        clear = distances[order[0]] < CLEARLY_NEARER * distances[order[1]]
        return order[:1] if clear else order

    @staticmethod
    def _groups(relation: str, i: int, references: list[list[int]]) -> list[list[int]]:
        """The sets of references that object i is compared with."""
        if relation == "between":
            pairs = [(a, b) for a in references[0] for b in references[-1] if i not in (a, b) and a != b]
            return [list(pair) for pair in pairs]
        return [[r] for group in references for r in group if r != i]

    def _distance(self, relation: str, i: int, group: list[int], strict: bool = False) -> float | None:
        """How far object i is from being the best example of the relation; None if it does not hold.

        `strict` is for the only candidate, which no comparison makes right.
        """
        obj, other = self._views[i], self._views[group[0]]
        apart = float(np.linalg.norm((obj.position_m - other.position_m)[:2]))
        gap = max(apart - float(obj.size_m[:2].mean() + other.size_m[:2].mean()) / 2, 0.0)
        if relation == "nearest_to":
            return apart
        if relation == "farthest_from":
            return -apart if not (strict and gap <= NEXT_TO_GAP / 2) else None
        if relation == "next_to":
            return max(gap, 0.02) if gap <= NEXT_TO_GAP else None
        if relation in ("in", "on"):
            lifted = float(obj.position_m[2] - obj.size_m[2] / 2 - (other.position_m[2] - other.size_m[2] / 2))
            over = apart <= float(other.size_m[:2].max()) / 2
            high = lifted >= (0.6 * float(other.size_m[2]) if relation == "on" else -0.02)
            return apart if over and high and (relation == "on" or other.container) else None
        dx, dy = (float(d) for d in self._table[i] - self._table[group[0]])
        if relation == "between":
            line = self._table[group[1]] - self._table[group[0]]
            along = float(np.dot((dx, dy), line) / max(float(np.dot(line, line)), 1e-9))
            off = float(abs(dx * line[1] - dy * line[0]) / max(float(np.linalg.norm(line)), 1e-9))
            return off if 0.1 < along < 0.9 and off < 0.5 * float(np.linalg.norm(line)) else None
        ahead, aside = {
            "left_of": (-dx, dy),
            "right_of": (dx, dy),
            "in_front_of": (dy, dx),
            "behind": (-dy, dx),
        }[relation]
        if ahead <= 0.01 or (strict and abs(aside) > OBLIQUE * ahead):
            return None
        return apart * max(1.0, abs(aside) / ahead) ** 2

    def _not_found(self, phrase: NounPhrase, alike: Sequence[int] = ()) -> ToolError:
        said = (*phrase.words, *phrase.details)
        known = (*COLOURS, *SHADES, *RELATIVE)
        strange = [word for word in said if word not in known and not any(v.has(word) for v in self._spoken)]
        unknown = quoted(" ".join(word for word in strange if not self._lexicon.knows(word)))
        told = {"asked": quoted(phrase.text), "seen": self._seen()}
        if alike:
            meant = " or ".join(dict.fromkeys(f"the {self._views[i].name}" for i in alike))
            return ToolError(ErrorCode.OBJECT_NOT_FOUND, unfound.ALIKE.format(alike=meant, **told))
        if unknown:
            sentence = unfound.UNKNOWN.format(unknown=unknown, known=self._lexicon.description, **told)
            return ToolError(ErrorCode.NOT_RECOGNISED, sentence)
        odd = [view for view, v in zip(self._views, self._vocabularies, strict=True) if self._may_be(phrase, view, v)]
        if odd:
            return ToolError(
                ErrorCode.NOT_RECOGNISED,
                f"I recognise no '{quoted(phrase.text)}' here, but not everything: what is {_where(odd)} may be one; "
                f"I see: {self._seen()}",
            )
        form = unfound.STRANGE if 0 < len(strange) < len(said) else unfound.PLAIN
        unclear = f"; {self._unclear()}" if self._several else ""
        sentence = form.format(strange=quoted(" ".join(strange)), **told) + unclear
        return ToolError(ErrorCode.OBJECT_NOT_FOUND, sentence)

    @staticmethod
    def _may_be(phrase: NounPhrase, view: ObjectView, vocabulary: Vocabulary) -> bool:
        """True for an object that was not recognised, and does not have another colour than what is asked for."""
        return not view.recognised and may_show(phrase.words, vocabulary)

    def _unclear(self) -> str:
        """What may be several objects, and where."""
        return f"what stands {_where(self._several)} may be several things that touch"

    def _seen(self) -> str:
        return unfound.listed(view.name for view in self._views)


def _where(views: Sequence[ObjectView]) -> str:
    """ "at (0.21, 0.53) and (0.48, 0.42)"."""
    return "at " + " and ".join(f"({x:.2f}, {y:.2f})" for x, y in (view.point for view in views[:_SHOWN_PLACES]))
