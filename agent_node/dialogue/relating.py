"""Answers about where objects are to each other and what they are called: which side, nearer to, "what is that"."""

from __future__ import annotations

from toolhand.agent_node.dialogue.seeing import Seeing
from toolhand.agent_node.dialogue.telling import bare, listed, side_words
from toolhand.agent_node.policies.scripted.points import near
from toolhand.agent_node.policies.scripted.steps import Done, Script, ScriptPart
from toolhand.tool_nodes.language.places import the
from toolhand.tool_nodes.language.sides import table_points
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import ImagePoint

APART_CM = 1.0
"""What a distance errs by, mostly [cm]: of 212 distances between two catalogue products 95 % were within 0.6."""
_AS_NEAR_M = 0.015
"""Distances that differ by less are called the same [m]: both may err by 1 cm."""
_IN_LINE_M = 0.02
"""Objects of which one is less than this farther to a side are not called to that side of each other [m]."""


class Relating(Seeing):
    """Answers of questions about relations of objects that are named."""

    def _one_of(self, index: int) -> ScriptPart[tuple[str, ImagePoint]]:
        """The bare name and the point of the only object that a phrase of the question means."""
        obj = self._act.objects[index]
        points = yield from self._points(obj)
        self._require_one(points, obj)
        return bare(obj), points[0]

    def _related(self) -> Script:
        """ "Is the can left of the bowl?": yes or no."""
        obj, place = self._act.objects
        yield from self._look()
        points = yield from self._points(obj)
        [response] = yield from self._all([f"{bare(obj)} {place}"])
        if not response.ok and response.error is not ErrorCode.OBJECT_NOT_FOUND:
            raise Done("I cannot tell.", f"{response.error}: {response.text}")
        holds = [each for each in response.points if any(near(each, point) for point in points)]
        name = the(bare(obj))
        if holds:
            raise Done("It is.", f"Yes: {name} is {place}.")
        raise Done("It is not.", f"No: {name} is {side_words(points[0])}, and not {place}.")

    def _which_side(self) -> Script:
        """ "On which side of the bowl is the can?"."""
        yield from self._look()
        obj, at = yield from self._one_of(0)
        other, there = yield from self._one_of(1)
        (x, y), (x0, y0) = table_points([at, there])
        across, along = x - x0, y - y0
        told = []
        if abs(across) >= _IN_LINE_M:
            told.append(f"{'to the left' if across < 0 else 'to the right'} of {the(other)}")
        if abs(along) >= _IN_LINE_M and abs(along) > abs(across) / 2:
            told.append(f"{'behind' if along < 0 else 'in front of'} {'it' if told else the(other)}")
        where = " and ".join(told) or f"at the same place as {the(other)}"
        raise Done("I have looked.", f"{the(obj).capitalize()} is {where}, as the camera sees it.")

    def _nearer(self) -> Script:
        """ "Is the can nearer to the bowl or to the box?"."""
        yield from self._look()
        named = []
        for index in range(3):
            named.append((yield from self._one_of(index)))
        boxes = yield from self._boxes([at for _, at in named])
        if any(box is None for box in boxes):
            raise Done("I cannot measure them.", f"{ErrorCode.NO_DEPTH}: I see all three, but cannot measure them.")
        own, first, second = (box for box in boxes if box is not None)
        to_first, to_second = own.distance_m(first), own.distance_m(second)
        (obj, _), (one, _), (other, _) = named
        sizes = f"{100 * to_first:.0f} cm from {the(one)} and {100 * to_second:.0f} cm from {the(other)}"
        if abs(to_first - to_second) < _AS_NEAR_M:
            raise Done("I have measured.", f"{the(obj).capitalize()} is about equally near to both: {sizes}.")
        nearest = one if to_first < to_second else other
        raise Done("I have measured.", f"{the(obj).capitalize()} is nearer to {the(nearest)}: about {sizes}.")

    def _what_is(self) -> Script:
        """ "What is that brown pot?", "which drinks are there?": what those objects are called."""
        obj = self._act.objects[0]
        yield from self._look()
        points = yield from self._points(obj)
        told = listed((yield from self._names_at(points)) or ["thing"])
        where = f", {side_words(points[0])}" if len(points) == 1 else ""
        raise Done("I have looked.", f"{'That is' if len(points) == 1 else 'I see'} {told}{where}.")

    def _apart(self) -> Script:
        yield from self._look()
        names = [self._act.objects[0], self._act.objects[-1]]  # "the two cans" are one name
        ends: list[ImagePoint] = []
        for name in names if len(self._act.objects) > 1 else names[:1]:
            points = yield from self._points(name)
            if len(self._act.objects) > 1:
                self._require_one(points, name)
            ends += points[:1] if len(self._act.objects) > 1 else points
        if len(ends) != 2:
            raise Done(
                "Not two.", f"{ErrorCode.AMBIGUOUS}: There are {len(ends)} of '{bare(names[0])}': which two are meant?"
            )
        first, second = yield from self._boxes(ends)
        if first is None or second is None:
            raise Done("I cannot measure them.", f"{ErrorCode.NO_DEPTH}: I see both, but cannot measure them.")
        room = first.room_m(second)
        between = f"with {cm(room)} of room between them" if room > 0.005 else "and touch, or nearly so"
        told = " and ".join(the(bare(name)) for name in names) if len(self._act.objects) > 1 else the(bare(names[0]))
        raise Done(
            "I have measured.",
            f"{told.capitalize()} are {cm(first.distance_m(second))} apart from middle to middle, {between}; give or "
            f"take {APART_CM:.0f} cm.",
        )


def cm(metres: float) -> str:
    """ "about 5 cm"."""
    return f"about {100 * metres:.0f} cm"
