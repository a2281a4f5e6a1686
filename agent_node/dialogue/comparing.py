"""Answers to questions that compare objects or ask what stands at a place: largest, taller, left of, colour, empty."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from toolhand.agent_node.dialogue.measured import SeenBox
from toolhand.agent_node.dialogue.seeing import Seeing
from toolhand.agent_node.dialogue.telling import bare, joined, listed, side_words
from toolhand.agent_node.policies.scripted.points import near
from toolhand.agent_node.policies.scripted.steps import Done, Script, ScriptPart
from toolhand.tool_nodes.language.places import the
from toolhand.tool_nodes.language.unfound import unfound_in
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import ImagePoint

_ALIKE_SIZE_M = 0.01
"""Heights and sides that differ by less are called the same [m]: a measured height errs by up to about 0.8 cm."""
_ALIKE_BULK = 0.25
"""Bulks (products of the three sides) that differ by a smaller share are called the same [-]: a side that is 5 cm long
errs by up to 1.6 cm."""
_ALIKE_X = 0.02
"""Places in the image that differ by less are equally far left [-]: some 2 cm on the table."""
_MOST_COMPARED = 4
"""Objects of one name that are measured [-]; it is rare that more are alike."""
_COLOURS = ("red", "orange", "yellow", "green", "lime", "blue", "turquoise", "purple", "pink", "brown", "tan", "black")
_MORE_COLOURS = ("white", "grey", "transparent")

MeasuredObject = tuple[str, ImagePoint, SeenBox]
"""An object's name, its point and the box about it."""


def _bulk(obj: MeasuredObject) -> float:
    return float(obj[2].extent.prod())


def _height(obj: MeasuredObject) -> float:
    return float(obj[2].extent[2])


def _length(obj: MeasuredObject) -> float:
    return float(obj[2].extent[0])


def _width(obj: MeasuredObject) -> float:
    return float(obj[2].extent[1])


def _across(obj: MeasuredObject) -> float:
    return obj[1][0]


def _along(obj: MeasuredObject) -> float:
    return obj[1][1]


_WEIGHT = ("heaviest", "heavier", "lightest", "lighter")
_MEASURES: Mapping[str, tuple[Callable[[MeasuredObject], float], int]] = {
    **dict.fromkeys(("biggest", "bigger"), (_bulk, 1)),
    **dict.fromkeys(("smallest", "smaller"), (_bulk, -1)),
    **dict.fromkeys(("tallest", "taller", "highest"), (_height, 1)),
    **dict.fromkeys(("shortest", "shorter", "lowest"), (_height, -1)),
    **dict.fromkeys(("longest", "longer"), (_length, 1)),
    **dict.fromkeys(("widest", "wider"), (_width, 1)),
    **dict.fromkeys(("thinnest", "thinner"), (_width, -1)),
    **dict.fromkeys(("leftmost", "left"), (_across, -1)),
    **dict.fromkeys(("rightmost", "right"), (_across, 1)),
    "nearer": (_along, 1),
    "farther": (_along, -1),
}
"""What a word compares, and whether the most or the least of it is meant."""


class Comparing(Seeing):
    """Answers of questions that compare objects or tell what stands at a place."""

    def _word(self) -> str:
        """The word of the question that compares."""
        word = self._act.word or "biggest"
        if word not in _MEASURES:
            why = "I see sizes and no weights" if word in _WEIGHT else "I compare sizes and sides"
            raise Done(
                "I cannot tell.",
                f'{ErrorCode.NOT_UNDERSTOOD}: I cannot tell what is "{word}": {why}. Ask which is "taller" or "the '
                'biggest".',
            )
        return word

    def _measured(self, found: Sequence[tuple[str, ImagePoint]]) -> ScriptPart[list[MeasuredObject]]:
        boxes = yield from self._boxes([at for _, at in found])
        return [(name, at, box) for (name, at), box in zip(found, boxes, strict=True) if box is not None]

    def _most(self) -> Script:
        word = self._word()
        yield from self._look()
        found = yield from self._named()
        if self._act.objects:
            points = yield from self._points(self._act.objects[0])
            found = [each for each in found if any(near(each[1], point) for point in points)]
        objects = yield from self._measured(found)
        if not objects:
            raise Done("I cannot measure them.", f"{ErrorCode.NO_DEPTH}: I see nothing here that I can measure.")
        first, alike = _first(objects, word)
        if alike:
            raise Done("I have measured.", f"I see two that I cannot tell apart by that, {_alike(first, alike, word)}.")
        raise Done(
            "I have measured.", f"The {first[0]} is {_the_most(word)}, {side_words(first[1])}{_size(first, word)}."
        )

    def _more(self) -> Script:
        word = self._word()
        yield from self._look()
        groups: list[list[MeasuredObject]] = []
        for obj in self._act.objects[:2]:
            points = yield from self._points(obj)
            groups.append((yield from self._measured([(bare(obj), at) for at in points[:_MOST_COMPARED]])))
        if not all(groups):
            raise Done("I cannot measure them.", f"{ErrorCode.NO_DEPTH}: I see both, but cannot measure them.")
        measure, sign = _MEASURES[word]
        # Where several have the name, what is said holds for every one of them.
        least = [min(group, key=lambda obj: sign * measure(obj)) for group in groups]
        most = [max(group, key=lambda obj: sign * measure(obj)) for group in groups]
        sure = [k for k in (0, 1) if _first([least[k], most[1 - k]], word) == (least[k], [])]
        if not sure:
            alike = f"{_size(least[0], word)} and{_size(least[1], word).lstrip(',')}".lstrip(", ")
            raise Done("I have measured.", f"No: I cannot tell them apart by that: {alike}.")
        [k] = sure
        size, other = _size(least[k], word), _size(most[1 - k], word)
        told = f"the {least[k][0]} is {_rather(word)}{size}"
        told += f"; the {most[1 - k][0]} is{other.lstrip(',')}." if other else "."
        raise Done("I have measured.", f"{told[0].upper()}{told[1:]}")

    def _what_stands(self) -> Script:
        place = self._act.objects[0]
        yield from self._look()
        [response] = yield from self._all([f"things {place}"])
        if not response.ok and response.error is not ErrorCode.OBJECT_NOT_FOUND:
            raise Done("I cannot tell.", f"{response.error}: {response.text}")
        names = (yield from self._names_at(response.points)) if response.points else []
        if not names:
            raise Done("I see nothing there.", f"I see nothing {place}.")
        raise Done("I have looked.", f"I see {listed(names)} {place}.")

    def _empty(self) -> Script:
        obj = self._act.objects[0]
        yield from self._look()
        points = yield from self._points(obj)
        self._require_one(points, obj)
        [response] = yield from self._all([f"things in {the(bare(obj))}"])
        full = self._act.word == "full"
        there = (yield from self._names_at(response.points)) if response.points else []
        names = [name for name in there if name != bare(obj)]
        if not names:
            raise Done("It is empty.", f"{'No' if full else 'Yes'}: I see nothing in {the(bare(obj))}.")
        told = joined([f"the {name}" for name in dict.fromkeys(names)])
        raise Done("Something is in it.", f"{'Yes' if full else 'No'}: I see {told} in {the(bare(obj))}.")

    def _colour(self) -> Script:
        obj, part = bare(self._act.objects[0]), ""
        yield from self._look()
        [response] = yield from self._all([obj])
        unfound = None if response.ok else unfound_in(response.text)
        if unfound is not None and unfound.strange and any(word not in unfound.strange for word in obj.split()):
            part = " ".join(unfound.strange)  # "mustard cap": a part of something
            obj = " ".join(word for word in obj.split() if word not in (*unfound.strange, "of", "the"))
        points = response.points if response.ok else (yield from self._points(obj))
        self._require_one(points, obj)
        colours = (*_COLOURS, *_MORE_COLOURS)
        asked = [f"{obj} with the {colour} {part}" if part else f"{colour} {obj}" for colour in colours]
        responses = yield from self._all(asked)
        seen = [colour for colour, each in zip(colours, responses, strict=True) if each.ok and each.points]
        named = f"{the(part)} of {the(obj)}" if part else the(obj)
        if not seen:
            raise Done(
                "I cannot tell.", f"I see {the(obj)}, but cannot name the colour of {the(part) if part else 'it'}."
            )
        raise Done("I have looked.", f"{named.capitalize()} is {joined(seen)}.")


def _first(objects: Sequence[MeasuredObject], word: str) -> tuple[MeasuredObject, list[MeasuredObject]]:
    """The object that is most of it, and those that cannot be told from it."""
    measure, sign = _MEASURES[word]
    first, *rest = sorted(objects, key=lambda obj: -sign * measure(obj))
    best = measure(first)
    margin = _ALIKE_BULK * best if measure is _bulk else _ALIKE_X if measure in (_across, _along) else _ALIKE_SIZE_M
    return first, [obj for obj in rest if abs(measure(obj) - best) < margin]


def _alike(first: MeasuredObject, alike: Sequence[MeasuredObject], word: str) -> str:
    return f"the {joined([first[0], *(each[0] for each in alike)])}{_size(first, word)}"


def _size(obj: MeasuredObject, word: str) -> str:
    measure, _ = _MEASURES[word]
    if measure in (_across, _along):
        return ""
    if measure is _bulk:
        return f", {obj[2].told}"
    return f", about {100 * measure(obj):.0f} cm"


def _the_most(word: str) -> str:
    return f"furthest {word}" if word in ("left", "right") else word if word.endswith("most") else f"the {word}"


def _rather(word: str) -> str:
    return f"further {word}" if word in ("left", "right") else word
