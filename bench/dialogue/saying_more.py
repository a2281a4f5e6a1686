"""Utterances that go on with what was said or done, and those about several things."""

from __future__ import annotations

from collections.abc import Iterator

from toolhand.bench.dialogue.expected import Uttered, asked, quiet
from toolhand.bench.dialogue.saying_places import UtteranceMaker, stackable
from toolhand.bench.dialogue.tabletop import Tabletop, plural
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.tasks.arranged import ArrangedTask, Placing, SortedTask, stack_task, swap_task
from toolhand.sim.tasks.places import AtSpot, InRegion, OnTable, Related


def twin(table: Tabletop) -> Iterator[Uttered]:
    """A thing of which there are two, the question, and its answer."""
    if not table.has_twins:
        return
    left, right = table.twins
    name = left.item
    yield Uttered("tie", f"{table.say('pick up', 'grab', 'take')} the {name}", (asked("", table.scene),))
    clear = abs(table.xy(right)[1] - table.xy(left)[1]) > 0.1
    options = [("the left one", left), ("the right one", right)] if clear else []
    nearer = left if table.xy(left)[0] > table.xy(right)[0] else right
    if abs(table.xy(left)[0] - table.xy(right)[0]) > 0.1:
        options.append(("the one closer to the camera", nearer))
    if not options or table.rng.random() < 0.15:
        words = table.say("neither", "never mind")
        yield Uttered("answer", words, (quiet(words, table.scene),))
        return
    words, thing = options[int(table.rng.integers(len(options)))]
    yield table.pick("answer", f"{words}{table.say('', ', please')}", thing)
    if table.rng.random() < 0.5:
        yield from _down(table)


def twin_by_number(table: Tabletop) -> Iterator[Uttered]:
    """The question answered by a number of it: the first or the second of those that it lists."""
    if not table.has_twins:
        return
    left, right = table.twins
    yield Uttered("tie", f"take the {left.item}", (asked("", table.scene),))
    words = table.say("number 2", "the second one", "2", "number one")
    # Which number is which is the robot's own choice: it must be one of the two, and not the other after "the other".
    yield table.pick("answer", words, left, right)
    if (taken := table.held) is not None:
        yield from _down(table)
        other = left if taken.id == right.id else right
        yield table.pick("answer", table.say("now the other one", "the other one"), other)


def put_back(table: Tabletop) -> Iterator[Uttered]:
    """Picked up and put back."""
    for thing in table.movable[:1]:
        spot = _spot(table, thing)
        yield table.pick("plain pick", f"pick up {table.the(thing)}", thing)
        words = table.say(
            "put it back", "put it back where it was", "put it back where it came from", "return it to where it was"
        )
        yield table.to("put back", words, thing, spot)


def undo_place(table: Tabletop) -> Iterator[Uttered]:
    """A place taken back."""
    for thing in table.movable:
        for name in ("left side", "right side", "front", "back"):
            if not table.room(thing, InRegion(name)):
                continue
            spot = _spot(table, thing)
            side = name.removesuffix(" side")
            where = f"on the {name} of the table" if "side" in name else f"at the {side} of the table"
            yield table.to("part of the table", f"put {table.the(thing)} {where}", thing, InRegion(name))
            yield table.to("undo", table.say("undo", "undo that", "take that back", "undo the last move"), thing, spot)
            return


def undo_into(table: Tabletop) -> Iterator[Uttered]:
    """A thing put into the container, and taken out to where it was."""
    for thing in table.movable:
        if table.fits_in(thing, table.container):
            spot = _spot(table, thing)
            words = f"put {table.the(thing)} in {table.the(table.container)}"
            yield table.to("into a container", words, thing, Related("in", (table.container.id,)))
            yield table.to("undo", table.say("undo that", "undo"), thing, spot)
            return


def undo_pick(table: Tabletop) -> Iterator[Uttered]:
    """A pick taken back."""
    for thing in table.movable[:1]:
        spot = _spot(table, thing)
        yield table.pick("plain pick", f"grab {table.the(thing)}", thing)
        yield table.to("undo", "undo", thing, spot)


def pronoun(table: Tabletop) -> Iterator[Uttered]:
    """Picked up, then "it" or its name is put somewhere."""
    for thing in table.movable[:1]:
        yield table.pick("plain pick", f"pick up {table.the(thing)}", thing)
        for other in table.named:
            if other.id == thing.id or not table.room(thing, Related("next_to", (other.id,))):
                continue
            name = table.say("it", "that", table.the(thing), table.the(thing))
            kind = "held thing by name" if name.startswith("the ") else "it"
            yield table.to(kind, f"put {name} next to {table.the(other)}", thing, Related("next_to", (other.id,)))
            return


def same_with(table: Tabletop) -> Iterator[Uttered]:
    """The same with another thing."""
    things = [thing for thing in table.movable if table.fits_in(thing, table.container)]
    if len(things) < 2 or not _all_fit(table, things[:2]):
        return
    place = Related("in", (table.container.id,))
    words = f"put {table.the(things[0])} in {table.the(table.container)}"
    yield table.to("into a container", words, things[0], place)
    words = table.say("the same with {}", "now the same with {}", "do the same with {}", "and {} too").format(
        table.the(things[1])
    )
    yield table.to("the same with", words, things[1], place)


def not_that(table: Tabletop) -> Iterator[Uttered]:
    """The wrong thing, then the right one."""
    things = table.movable
    if len(things) < 2:
        return
    spot = _spot(table, things[0])
    yield table.pick("plain pick", f"pick up {table.the(things[0])}", things[0])
    words = table.say("not that: {}", "no, not that one, {}", "not that, {}").format(table.the(things[1]))
    back = ArrangedTask(words, table.scene, (Placing((things[0].id,), OnTable()),), held=(things[1].id,))
    exact = ArrangedTask(words, table.scene, (Placing((things[0].id,), spot),), held=(things[1].id,))
    yield table.deed("not that", words, exact, back)


def again(table: Tabletop) -> Iterator[Uttered]:
    """The same thing picked up again after it was put down."""
    for thing in table.movable[:1]:
        yield table.pick("plain pick", f"take {table.the(thing)}", thing)
        yield from _down(table)
        words = table.say("pick it up again", "take it again")
        yield table.pick("again", words, thing)


def stop(table: Tabletop) -> Iterator[Uttered]:
    """Stop and wait, when nothing is being done."""
    words = table.say("stop", "wait", "hold on", "stop!")
    yield Uttered("stop", words, (quiet(words, table.scene),))
    words = table.say("go on", "continue")
    yield Uttered("stop", words, (quiet(words, table.scene),))


def both(table: Tabletop) -> Iterator[Uttered]:
    """Both of two things alike."""
    if not table.has_twins:
        return
    first, second = table.twins
    if not (table.on_table(first) and table.on_table(second)):
        return
    if _both_fit(table):
        where, place = f"in {table.the(table.container)}", Related("in", (table.container.id,))
        words = f"put both {plural(first.item)} {where}"
        yield table.deed("both", words, table.arranged(words, (first, place), (second, place)))
        return
    for side in ("left side", "right side"):
        region = InRegion(side)
        if table.room(first, region) and table.room(second, region):
            words = f"put both {plural(first.item)} on the {side} of the table"
            yield table.deed("both", words, table.arranged(words, (first, region), (second, region)))
            return


def everything_but(table: Tabletop) -> Iterator[Uttered]:
    """All that is of one colour, or everything but some things, to a side of the table."""
    if not table.has_twins:
        return
    for thing in (table.twins[0], *table.movable):
        colour = thing.asset.colour
        alike = [p for p in table.scene.objects if colour in f"{p.asset.colour} {p.asset.secondary_colour} {p.item}"]
        same = [p for p in alike if p.asset.colour == colour]
        if (
            len(alike) == len(same)
            and 2 <= len(same) <= 3
            and all(p in table.movable or p in table.twins for p in same)
        ):
            for side in ("left side", "right side"):
                region = InRegion(side)
                if all(table.room(p, region) for p in same):
                    words = f"put {table.say('all', 'all the')} {colour} things on the {side} of the table"
                    yield table.deed("all of a colour", words, table.arranged(words, *((p, region) for p in same)))
                    return


def then(table: Tabletop) -> Iterator[Uttered]:
    """Two deeds, one after the other."""
    things = table.movable
    if len(things) < 2:
        return
    first, second = things[:2]
    if not table.fits_in(first, table.container):
        first, second = second, first
    if not table.fits_in(first, table.container):
        return
    inside = Related("in", (table.container.id,))
    begin = f"put {table.the(first)} in {table.the(table.container)}"
    joined = table.say(", then ", " and then ", ", and after that ")
    if table.rng.random() < 0.5:
        words = f"{begin}{joined}pick up {table.the(second)}"
        yield table.deed("sequence", words, table.arranged(words, (first, inside), held=second, order=True))
        return
    for side in ("left side", "right side"):
        region = InRegion(side)
        if table.room(second, region):
            words = f"{begin}{joined}put {table.the(second)} on the {side} of the table"
            yield table.deed("sequence", words, table.arranged(words, (first, inside), (second, region), order=True))
            return


def swap(table: Tabletop) -> Iterator[Uttered]:
    """Two things change places."""
    things = [thing for thing in table.movable if thing.asset.outer_radius < 0.05]
    if len(things) >= 2:
        a, b = things[:2]
        words = table.say("swap {0} and {1}", "swap {0} with {1}", "let {0} and {1} change places").format(
            table.the(a), table.the(b)
        )
        yield table.deed("swap", words, swap_task(words, table.scene, a.id, b.id, table.now))


def stack(table: Tabletop) -> Iterator[Uttered]:
    """A stack of two things."""
    for thing, other in stackable(table):
        words = table.say("stack {0} on {1}", "stack {0} on top of {1}").format(table.the(thing), table.the(other))
        yield table.deed("stack", words, stack_task(words, table.scene, (thing.id, other.id)))
        return


def one_of(table: Tabletop) -> Iterator[Uttered]:
    """Any one of several, which is no question."""
    if not table.has_twins:
        return
    first, second = table.twins
    words = table.say("pick up one of the {}", "give me any of the {}", "take one of the {}").format(plural(first.item))
    yield table.pick("one of", words, first, second)


def clear(table: Tabletop) -> Iterator[Uttered]:
    """All that stands on the table, into the container, where that holds it."""
    things = [p for p in table.scene.objects if not p.asset.container]
    if len(things) <= 4 and all(p.asset.graspable for p in things) and _all_fit(table, things):
        words = table.say("clear the table into {}", "put everything in {}").format(table.the(table.container))
        place = Related("in", (table.container.id,))
        yield table.deed("clear", words, table.arranged(words, *((p, place) for p in things)))


def sort(table: Tabletop) -> Iterator[Uttered]:
    """Things of a colour go together."""
    by_colour: dict[str, list[str]] = {}
    for thing in table.scene.objects:
        if not thing.asset.container:
            by_colour.setdefault(thing.asset.colour, []).append(thing.id)
    groups = tuple(tuple(ids) for ids in by_colour.values())
    if any(len(group) > 1 for group in groups):
        words = table.say("sort the things by colour", "sort everything by color")
        yield table.deed("sort", words, SortedTask(words, table.scene, groups))


FOLLOWING: dict[str, UtteranceMaker] = {
    "tie and answer": twin,
    "tie and number": twin_by_number,
    "put back": put_back,
    "undo a place": undo_place,
    "undo a place inside": undo_into,
    "undo a pick": undo_pick,
    "it": pronoun,
    "the same with": same_with,
    "not that": not_that,
    "again": again,
    "stop": stop,
}
SEVERAL: dict[str, UtteranceMaker] = {
    "both": both,
    "all of a colour": everything_but,
    "sequence": then,
    "swap": swap,
    "stack": stack,
    "one of": one_of,
    "clear": clear,
    "sort": sort,
}


def _down(table: Tabletop) -> Iterator[Uttered]:
    """What is held is put down."""
    if (thing := table.held) is not None:
        words = table.say("put it down", "put it down on the table", f"put {table.the(thing)} down")
        yield table.to("put down", words, thing, OnTable())


put_down = _down
"""Utterance that empties the gripper."""


def _spot(table: Tabletop, thing: PlacedObject) -> AtSpot:
    x, y, z = (float(value) for value in table.state(thing).position_m)
    return AtSpot((x, y, z))


def _both_fit(table: Tabletop) -> bool:
    return _all_fit(table, table.twins)


def _all_fit(table: Tabletop, things: tuple[PlacedObject, ...] | list[PlacedObject]) -> bool:
    """True if things surely stand in the container side by side."""
    cavity = table.container.asset.cavity
    if cavity is None or any(table.container.id in s.touching for s in table.now.objects.values()):
        return False
    area = 4 * cavity.half_extents_m[0] * cavity.half_extents_m[1]
    taken = sum((2 * thing.asset.outer_radius + 0.02) ** 2 for thing in things)
    return bool(taken < 0.8 * area) and all(table.fits_in(thing, table.container) for thing in things)
