"""The same deeds in other ways of saying: verbless, fronted, polite, corrected, misspelt, dictated."""

from __future__ import annotations

from collections.abc import Iterator

from toolhand.bench.dialogue.expected import Uttered
from toolhand.bench.dialogue.saying_places import UtteranceMaker
from toolhand.bench.dialogue.tabletop import Tabletop
from toolhand.sim.scene.scenes import PlacedObject
from toolhand.sim.tasks.places import GoalPlace, Related
from toolhand.sim.tasks.predicates import Relation

_FORMS: dict[str, tuple[str, ...]] = {
    "verbless": ("{0} {1}", "{0} {1} please"),
    "fronted": ("{1}, put {0}", "{1} put {0}", "{1} goes {0}"),
    "inverted": ("put {1} {0}",),
    "polite": (
        "would you be so kind as to put {0} {1}",
        "I'd like you to put {0} {1}",
        "can you please put {0} {1}, thank you",
        "if you don't mind, put {0} {1}",
        "hey robot, put {0} {1} for me",
        "I want {0} {1}",
    ),
    "small talk before": ("good job! now put {0} {1}", "thanks, and now put {0} {1}", "ok great, put {0} {1}"),
    "dictation": ("put {0} {1} thanks", "okay um put {0} {1}", "so please take {0} and put it {1} yeah"),
    "rarer verb": (
        "set {0} down {1}",
        "position {0} {1}",
        "deposit {0} {1}",
        "leave {0} {1}",
        "stick {0} {1}",
        "pop {0} {1}",
        "shift {0} so that it is {1}",
        "relocate {0} {1}",
        "lay {0} down {1}",
        "transfer {0} {1}",
    ),
}
"""{0} is the thing and {1} the place."""

_WHERE: dict[Relation, str] = {
    "left_of": "to the left of",
    "right_of": "to the right of",
    "behind": "behind",
    "next_to": "next to",
}
_TYPOS = (
    ("the ", "teh "),
    ("put ", "putt "),
    ("next to", "nxt to"),
    ("behind", "behnd"),
    ("left", "lfet"),
    ("right", "rihgt"),
)


def _deed(table: Tabletop) -> tuple[PlacedObject, PlacedObject, str, GoalPlace] | None:
    for thing in table.movable[:3]:
        for other in table.named[:3]:
            for relation, words in sorted(_WHERE.items(), key=lambda item: table.rng.random()):
                place = Related(relation, (other.id,))
                if other.id != thing.id and table.room(thing, place):
                    return thing, other, words, place
    return None


def _way(kind: str) -> UtteranceMaker:
    def saying(table: Tabletop) -> Iterator[Uttered]:
        found = _deed(table)
        if found is None:
            return
        thing, other, where, place = found
        form = table.say(*_FORMS[kind])
        name, at = table.the(thing), f"{where} {table.the(other)}"
        words = form.format(name, at)
        if "goes" in form:
            words = f"{at} goes {name}"
        if kind == "verbless":
            words = words.replace("the ", "", 1) if table.rng.random() < 0.5 else words
        yield table.to(kind, words, thing, place)

    return saying


def correction(table: Tabletop) -> Iterator[Uttered]:
    """A thing, and at once another one."""
    things = table.movable
    if len(things) >= 2:
        first, second = (table.the(thing) for thing in things[:2])
        form = table.say(
            "pick up {0}, no wait, {1}",
            "pick up {0}, sorry, I mean {1}",
            "take {0}, no, {1}",
            "grab {0}, or rather {1}",
        )
        yield table.pick("self-correction", form.format(first, second), things[1])


def typo(table: Tabletop) -> Iterator[Uttered]:
    """A misspelt word."""
    found = _deed(table)
    if found is not None:
        thing, other, where, place = found
        words = f"put {table.the(thing)} {where} {table.the(other)}"
        right, wrong = next(pair for pair in sorted(_TYPOS, key=lambda pair: table.rng.random()) if pair[0] in words)
        yield table.to("typo", words.replace(right, wrong, 1), thing, place)


def bin_it(table: Tabletop) -> Iterator[Uttered]:
    """Thrown away, where there is one bin."""
    container = table.container
    if "bin" not in container.item:
        return
    for thing in table.movable:
        if table.fits_in(thing, container):
            form = table.say(
                "bin {}", "throw away {}", "throw {} in the trash", "chuck {} in the bin", "toss {} into the bin"
            )
            yield table.to("bin it", form.format(table.the(thing)), thing, Related("in", (container.id,)))
            return


def wish(table: Tabletop) -> Iterator[Uttered]:
    """A wish for a thing."""
    for thing in table.movable[:1]:
        form = table.say("I need {}", "get me {}", "give me {}", "fetch {}", "I'd like {}", "pass me {}")
        yield table.pick("wish", form.format(table.the(thing)), thing)


WAYS: dict[str, UtteranceMaker] = {
    **{kind: _way(kind) for kind in _FORMS},
    "self-correction": correction,
    "typo": typo,
    "bin it": bin_it,
    "wish": wish,
}
