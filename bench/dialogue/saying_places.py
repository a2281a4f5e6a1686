"""Utterances that put one thing somewhere: a relation, a part of the table or a container, a measure, a nudge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from toolhand.bench.dialogue.expected import Uttered
from toolhand.bench.dialogue.tabletop import SEEN, Tabletop, apart_m
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.tasks.places import (
    AllOf,
    AtDistance,
    Closer,
    Direction,
    Farthest,
    GoalPlace,
    InLine,
    InPart,
    InRegion,
    NotRelated,
    Nudged,
    OnTable,
    Related,
    Towards,
)
from toolhand.sim.tasks.predicates import Relation
from toolhand.sim.tasks.regions import TABLE_REGIONS, TableRegion
from toolhand.sim.tasks.sentences import WHERE

T = TypeVar("T")
UtteranceMaker = Callable[[Tabletop], Iterator[Uttered]]
"""Makes the utterances of a kind one after the other; between them the table is brought up to date. It makes none
where the table does not allow any."""

_VERBS = ("put", "place", "move", "set")
_BESIDE: tuple[Relation, ...] = ("left_of", "right_of", "in_front_of", "behind", "next_to")
_SIDES: tuple[Direction, ...] = ("left", "right", "front", "behind")
_SIDE_WORDS: dict[Direction, str] = {
    "left": "to the left of",
    "right": "to the right of",
    "front": "in front of",
    "behind": "behind",
}
_REGION_WORDS: dict[TableRegion, tuple[str, ...]] = {
    "left side": ("on the left side of the table", "to the left side of the table", "on the left of the table"),
    "right side": ("on the right side of the table", "over to the right side of the table"),
    "front": ("at the front of the table", "to the front of the table"),
    "back": ("at the back of the table", "to the back of the table"),
    "middle": ("in the middle of the table", "in the centre of the table", "to the center of the table"),
    "front left corner": ("in the front left corner", "in the front left corner of the table"),
    "front right corner": ("in the front right corner of the table", "in the right front corner"),
    "back left corner": ("in the back left corner", "in the far left corner of the table"),
    "back right corner": ("in the back right corner of the table", "in the far right corner"),
    "left edge": ("at the left edge of the table", "near the left edge"),
    "right edge": ("at the right edge of the table", "close to the right edge"),
    "front edge": ("at the front edge of the table",),
    "back edge": ("at the back edge of the table",),
}


def pick(table: Tabletop) -> Iterator[Uttered]:
    """A plain pick."""
    for thing in table.movable[:1]:
        begin = table.say("", "please ", "could you ", "now ")
        words = f"{begin}{table.say('pick up', 'grab', 'take', 'lift')} {table.the(thing)}{table.say('', ', please')}"
        yield table.pick("plain pick", words, thing)


def beside(table: Tabletop) -> Iterator[Uttered]:
    """A plain place."""
    for thing, other, relation in _one_beside(table):
        where = table.say(*WHERE[relation]).format(table.the(other))
        words = f"{table.say(*_VERBS)} {table.the(thing)} {where}"
        yield table.to("plain place", words, thing, Related(relation, (other.id,)))


def inside(table: Tabletop) -> Iterator[Uttered]:
    """Into the container."""
    for thing in table.movable:
        if table.fits_in(thing, table.container):
            where = table.say("in {}", "into {}", "inside {}").format(table.the(table.container))
            words = f"{table.say('put', 'drop', 'place')} {table.the(thing)} {where}"
            yield table.to("into a container", words, thing, Related("in", (table.container.id,)))
            return


def region(table: Tabletop) -> Iterator[Uttered]:
    """A side, corner, edge or the middle of the table."""
    for name in _shuffled(table, TABLE_REGIONS):
        for thing in table.movable[:3]:
            if table.room(thing, InRegion(name)):
                words = f"{table.say('put', 'place', 'move', 'bring')} {table.the(thing)} "
                yield table.to("part of the table", words + table.say(*_REGION_WORDS[name]), thing, InRegion(name))
                return


def part_of_container(table: Tabletop) -> Iterator[Uttered]:
    """A part of the container, inside it."""
    container = table.container
    inner = min(container.asset.cavity.half_extents_m) if container.asset.cavity else 0.0
    for thing in table.movable:
        if table.fits_in(thing, container) and thing.asset.outer_radius < 0.6 * inner:
            side = _shuffled(table, _SIDES)[0]
            words = f"put {table.the(thing)} in the {SEEN[side]} of {table.the(container)}"
            yield table.to("part of a container", words, thing, InPart(container.id, side))
            return


def closer(table: Tabletop) -> Iterator[Uttered]:
    """Closer to or further from a thing or a person."""
    for thing in table.movable:
        for other in table.named[:2]:
            options: list[tuple[str, GoalPlace]] = [
                (f"closer to {table.the(other)}", Closer(other.id)),
                (f"further away from {table.the(other)}", Closer(other.id, away=True)),
                ("closer to me", Closer("operator")),
                ("closer to you", Closer("robot")),
                (f"away from {table.the(other)}", Closer(other.id, away=True)),
            ]
            for where, place in _shuffled(table, options):
                if other is not thing and table.room(thing, place):
                    yield table.to(
                        "closer or further",
                        f"{table.say('move', 'bring', 'put')} {table.the(thing)} {where}",
                        thing,
                        place,
                    )
                    return


def farthest(table: Tabletop) -> Iterator[Uttered]:
    """As far as possible from a thing."""
    for thing, other in _pairs(table):
        if table.room(thing, Farthest(other.id)):
            words = f"{table.say('put', 'move')} {table.the(thing)} as far as possible from {table.the(other)}"
            yield table.to("as far as possible", words, thing, Farthest(other.id))
            return


def in_line(table: Tabletop) -> Iterator[Uttered]:
    """In line with two things."""
    for thing, first, second in _threes(table):
        place = InLine((first.id, second.id))
        if table.room(thing, place):
            words = f"put {table.the(thing)} in line with {table.the(first)} and {table.the(second)}"
            yield table.to("in line", words, thing, place)
            return


def between(table: Tabletop) -> Iterator[Uttered]:
    """Between two things, and perhaps in front of or behind a third."""
    for thing, first, second in _threes(table):
        place = Related("between", (first.id, second.id))
        if apart_m(table.xy(first), table.xy(second)) > 0.2 and table.room(thing, place):
            words = f"{table.say(*_VERBS)} {table.the(thing)} between {table.the(first)} and {table.the(second)}"
            yield table.to("between", words, thing, place)
            return


def two_relations(table: Tabletop) -> Iterator[Uttered]:
    """On a side of one thing and on a side of another one."""
    for thing, first, second in _threes(table):
        for side in _shuffled(table, _SIDES)[:2]:
            for other in _shuffled(table, _SIDES)[:2]:
                place = AllOf((Towards(side, first.id), Towards(other, second.id)))
                across = (side in ("left", "right")) != (other in ("left", "right"))
                if across and table.room(thing, place):
                    joined = table.say(" and ", " but ")
                    wheres = (f"{_SIDE_WORDS[side]} {table.the(first)}", f"{_SIDE_WORDS[other]} {table.the(second)}")
                    yield table.to("two relations", f"put {table.the(thing)} {joined.join(wheres)}", thing, place)
                    return


def between_and(table: Tabletop) -> Iterator[Uttered]:
    """Between two things and on a side of a third one."""
    for thing, first, second in _threes(table):
        for third in table.named[:3]:
            for side in ("front", "behind"):
                if third in (thing, first, second):
                    continue
                place = AllOf((Related("between", (first.id, second.id)), Towards(side, third.id)))
                if table.room(thing, place):
                    words = (
                        f"put {table.the(thing)} between {table.the(first)} and {table.the(second)} "
                        f"and {_SIDE_WORDS[side]} {table.the(third)}"
                    )
                    yield table.to("two relations", words, thing, place)
                    return


def denied(table: Tabletop) -> Iterator[Uttered]:
    """Beside a thing, but not on one side of it or not by another thing."""
    for thing, first, second in _threes(table):
        options: list[tuple[str, GoalPlace]] = [
            (
                f"next to {table.the(first)} but not in front of {table.say('it', table.the(first))}",
                AllOf((Related("next_to", (first.id,)), NotRelated("in_front_of", (first.id,)))),
            ),
            (
                f"behind {table.the(first)}, not next to {table.the(second)}",
                AllOf((Related("behind", (first.id,)), NotRelated("next_to", (second.id,)))),
            ),
            (
                f"next to {table.the(table.container)}, not in it",
                AllOf((Related("next_to", (table.container.id,)), NotRelated("in", (table.container.id,)))),
            ),
        ]
        for where, place in _shuffled(table, options):
            if table.room(thing, place):
                yield table.to("denied place", f"put {table.the(thing)} {where}", thing, place)
                return


def measured(table: Tabletop) -> Iterator[Uttered]:
    """So far from a thing."""
    measures = (("5 cm", 0.05), ("10 centimetres", 0.10), ("15 cm", 0.15), ("80 mm", 0.08), ("3 inches", 0.0762))
    for thing, other in _pairs(table):
        for side in _shuffled(table, _SIDES):
            for amount, metres in _shuffled(table, measures)[:2]:
                place = AtDistance(metres, side, other.id)
                if table.room(thing, place):
                    words = f"{table.say(*_VERBS)} {table.the(thing)} {amount} {_SIDE_WORDS[side]} {table.the(other)}"
                    yield table.to("measure", words, thing, place)
                    return


def nudge(table: Tabletop) -> Iterator[Uttered]:
    """A bit, or so many centimetres, in a direction; perhaps once more."""
    for thing in table.movable:
        for side in _shuffled(table, _SIDES):
            far = table.rng.random() < 0.5
            place = Nudged(side, 0.10 if far else None)
            if not table.room(thing, place):
                continue
            way = {"left": "to the left", "right": "to the right", "front": "towards me", "behind": "back"}[side]
            amount = "10 cm" if far else table.say("a bit", "a little")
            yield table.to("nudge", f"{table.say('move', 'shift')} {table.the(thing)} {amount} {way}", thing, place)
            if table.room(thing, Nudged(side)):
                more = {
                    "left": "further left",
                    "right": "further right",
                    "front": "closer to me",
                    "behind": "further back",
                }
                yield table.to("nudge", f"{table.say('a bit', 'a little')} {more[side]}", thing, Nudged(side))
            return


def free(table: Tabletop) -> Iterator[Uttered]:
    """Somewhere free or somewhere else."""
    for thing in table.movable[:1]:
        words, elsewhere = table.say("put {} somewhere free", "move {} somewhere else", "put {} in a free spot"), False
        elsewhere = "else" in words
        yield table.to("somewhere free", words.format(table.the(thing)), thing, OnTable(elsewhere=elsewhere))


def on_top(table: Tabletop) -> Iterator[Uttered]:
    """On top of a box, where it is stable."""
    for thing, other in stackable(table):
        words = f"{table.say('put', 'place')} {table.the(thing)} {table.say('on top of', 'on')} {table.the(other)}"
        yield table.to("on top", words, thing, Related("on", (other.id,)))
        return


def stackable(table: Tabletop) -> list[tuple[PlacedObject, PlacedObject]]:
    """Pairs of a small thing and a box with a flat top that is free and wider than it."""
    found = []
    for thing in table.movable:
        for other in table.named:
            wide = min(other.asset.size_m[:2]) >= max(thing.asset.size_m[:2])
            flat = other.asset.shape == "box" and other.asset.size_m[2] < 0.1
            loaded = any(other.id in s.touching for s in table.now.objects.values())
            if thing is not other and thing.asset.upright and wide and flat and not loaded:
                found.append((thing, other))
    return found


PLACES: dict[str, UtteranceMaker] = {
    "plain pick": pick,
    "plain place": beside,
    "into a container": inside,
    "part of the table": region,
    "part of a container": part_of_container,
    "closer or further": closer,
    "as far as possible": farthest,
    "in line": in_line,
    "between": between,
    "two relations": two_relations,
    "between and beside": between_and,
    "denied place": denied,
    "measure": measured,
    "nudge": nudge,
    "somewhere free": free,
    "on top": on_top,
}


def _one_beside(table: Tabletop) -> list[tuple[PlacedObject, PlacedObject, Relation]]:
    """One thing, another one and a relation for which there is room, or nothing."""
    for thing, other in _pairs(table):
        for relation in _shuffled(table, _BESIDE)[:2]:
            if table.room(thing, Related(relation, (other.id,))):
                return [(thing, other, relation)]
    return []


def _pairs(table: Tabletop) -> list[tuple[PlacedObject, PlacedObject]]:
    return [(thing, other) for thing in table.movable[:3] for other in table.named[:3] if other.id != thing.id]


def _threes(table: Tabletop) -> list[tuple[PlacedObject, PlacedObject, PlacedObject]]:
    found = []
    for thing in table.movable[:3]:
        others = [other for other in table.named if other.id != thing.id][:4]
        found += [(thing, a, b) for k, a in enumerate(others) for b in others[k + 1 :]]
    return _shuffled(table, found)[:6]


def _shuffled(table: Tabletop, options: Sequence[T]) -> list[T]:
    return [options[k] for k in table.rng.permutation(len(options))]
