"""Sentences over random scenes, each with what it means: a deed, a question to be asked, or words to be refused.

The meaning comes from how a sentence is made and from the true positions. Nothing here knows how the robot reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sim.scene.generator import generate_scene
from sim.scene.scenes import SIDES, PlacedObject, Scene, Side
from sim.tasks.arrangement import placeable
from sim.tasks.predicates import PlaceRelation, Relation
from sim.tasks.sentences import WHERE, choose, unique_descriptions

Wanted = Literal["deed", "question", "refusal", "absence"]

SENTENCES_A_SCENE = 8
"""Sentences that are made for each scene."""
_MOVABLE_M = 0.115
"""Widest things that are moved beside others [m]."""
_CLEARLY_M = 0.15
"""A thing is said to stand on a side of the table, or to be away from another thing, only by more than this [m]."""
_MIDDLE_X = 0.5
"""About where the middle of the table is, in front of the robot [m]."""


@dataclass(frozen=True)
class Sentence:
    """A sentence with its meaning.

    Attributes:
        family: Family of sentences that it belongs to, e.g. "denied place".
        text: Sentence of the operator.
        scene: The table before.
        wanted: A deed is to be done; a question is to be asked back; words are to be refused; or, after a look, the
            robot is to say that it sees no such thing.
        target_ids: Ids of the things that may be moved, any one of them.
        relation: Where to, None for a pick.
        reference_ids: In relation to what.
        where: Words that the place has in a robot's own account of it, where no single relation is it.
        quoted: Words that a refusal has to repeat, so that the operator knows which to change.
        kept: The rest without those words is another wish: they may not be called needless.
        looked_for: The words mean a thing, so that "I do not know it" is an answer; a place or a manner is no thing.
    """

    family: str
    text: str
    scene: Scene
    wanted: Wanted
    target_ids: tuple[str, ...] = ()
    relation: PlaceRelation | None = None
    reference_ids: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    kept: bool = False
    looked_for: bool = False


@dataclass(frozen=True)
class _Table:
    """A scene with a thing to move and others to speak of, each with words that only it can mean."""

    rng: np.random.Generator
    scene: Scene
    target: PlacedObject
    others: tuple[PlacedObject, ...]
    container: PlacedObject

    def name(self, placed: PlacedObject) -> str:
        """ "the red box"."""
        options = _names(placed, self.scene)
        plain = self.rng.random() < 0.5
        return f"the {options[0] if plain else choose(self.rng, options)}"

    def pick(self, *options: str) -> str:
        """One of several wordings."""
        return choose(self.rng, options)

    def where(self, relation: Relation, *references: PlacedObject) -> str:
        """ "to the left of the red box"."""
        return choose(self.rng, WHERE[relation]).format(*(self.name(reference) for reference in references))

    def place(self, avoid: Sequence[Relation] = ()) -> tuple[Relation, PlacedObject] | None:
        """A relation that is not yet true and has room."""
        options: list[tuple[Relation, PlacedObject]] = [("in", self.container)]
        directions: tuple[Relation, ...] = ("left_of", "right_of", "in_front_of", "behind", "next_to")
        options += [(relation, other) for other in self.others for relation in directions]
        for k in self.rng.permutation(len(options)):
            relation, reference = options[k]
            if relation not in avoid and placeable(self.scene.objects, self.target, relation, [reference]):
                return relation, reference
        return None

    def deed(self, family: str, text: str, relation: PlaceRelation | None, *references: PlacedObject) -> Sentence:
        """A sentence that is to be carried out."""
        ids = tuple(reference.id for reference in references)
        return Sentence(family, text, self.scene, "deed", (self.target.id,), relation, ids)

    def put(self, family: str, text: str, *where: str) -> Sentence:
        """A sentence that is to be carried out at a place that a robot tells with these words."""
        return Sentence(family, text, self.scene, "deed", (self.target.id,), where=where)

    def refusal(self, family: str, text: str, *quoted: str) -> Sentence:
        """A sentence that is to be refused in these words."""
        return Sentence(family, text, self.scene, "refusal", quoted=quoted)

    def absence(self, family: str, text: str, quoted: str) -> Sentence:
        """A sentence that names, in these words, what a look shows not to be there."""
        return Sentence(family, text, self.scene, "absence", quoted=(quoted,))


def _names(placed: PlacedObject, scene: Scene) -> list[str]:
    return unique_descriptions(placed.asset, [other.asset for other in scene.objects])


def _table(rng: np.random.Generator) -> _Table:
    """A random scene in which words single enough things out."""
    while True:
        scene = generate_scene(int(rng.integers(2**31)), [choose(rng, ("black bin", "transparent bin"))])
        named = [placed for placed in scene.objects if _names(placed, scene)]
        containers = [placed for placed in named if placed.asset.container]
        movable = [p for p in named if p.asset.graspable and max(p.asset.size_m[:2]) <= _MOVABLE_M]
        if containers and movable and len(named) >= 5:
            target = movable[int(rng.integers(len(movable)))]
            others = [p for p in named if p.id != target.id and not p.asset.container]
            order = rng.permutation(len(others))
            return _Table(rng, scene, target, tuple(others[k] for k in order), containers[0])


# ---- Deeds ----


def _plain_deed(table: _Table) -> Sentence | None:
    found = table.place()
    if found is None:
        return None
    relation, reference = found
    begin = table.pick("", "Please ", "Robot, ", "Be careful, ", "Could you ", "OK, now ", "I'd like you to ")
    end = table.pick("", ", please", " now", " for me", " carefully", ", thank you")
    verb = table.pick("put", "place", "move", "set")
    text = f"{begin}{verb} {table.name(table.target)} {table.where(relation, reference)}{end}"
    return table.deed("plain place", text, relation, reference)


def _plain_pick(table: _Table) -> Sentence:
    begin = table.pick("", "Please ", "Hey robot, ", "We're ready: ", "be careful and ", "Would you ")
    verb = table.pick("pick up", "grab", "take", "lift", "hand me")
    text = f"{begin}{verb} {table.name(table.target)}{table.pick('', ', please', ' right now', ' for a moment')}"
    if begin.startswith("We're"):
        return table.refusal("small talk", text, "We're ready")
    return table.deed("plain pick", text, None)


def _not_the_other(table: _Table) -> Sentence:
    other = table.name(table.others[0])
    joined = table.pick(", not {0}", " and not {0}", " but not {0}", " instead of {0}", " rather than {0}")
    text = f"{table.pick('Pick up', 'Grab', 'Take')} {table.name(table.target)}{joined.format(other)}"
    return table.deed("not the other thing", text, None)


def _turned_round(table: _Table) -> Sentence | None:
    found = table.place()
    if found is None:
        return None
    relation, reference = found
    name, where = table.name(table.target), table.where(relation, reference)
    text = table.pick(
        f"{where[0].upper()}{where[1:]}, place {name}",
        f"There is {name} on the table. Pick it up and put it {where}",
        f"{name[0].upper()}{name[1:]} should go {where}",
        f"I want {name} to be placed {where}",
        f"find {name}, pick it up, then place it {where}",
    )
    return table.deed("turned round", text, relation, reference)


def _somewhere(table: _Table) -> Sentence:
    where = table.pick("somewhere else", "in a free spot", "to another place", "down on the table")
    verb = "move" if "place" in where or "else" in where else "put"
    return table.deed("anywhere", f"{verb} {table.name(table.target)} {where}", "anywhere")


# ---- Refusals ----


_TOLD: dict[str, str] = {
    "in": "in", "left_of": "to the left of", "right_of": "to the right of", "behind": "behind",
    "in_front_of": "in front of", "next_to": "next to",
}  # fmt: skip
"""How a robot tells a relation."""


def _denied_place(table: _Table) -> Sentence:
    name, other = table.name(table.target), table.name(table.others[0])
    inside = table.name(table.container)
    relation, reference = ("next_to", other) if table.rng.random() < 0.5 else ("in", inside)
    denied = choose(table.rng, WHERE[relation]).format(reference)  # type: ignore[index]
    joined = table.pick("not", "but not", "rather than", "except", "and not", "instead of")
    behind = table.name(table.others[1])
    place = table.pick("on the table", "anywhere", "down", choose(table.rng, WHERE["behind"]).format(behind))
    told = f"behind {behind.lower()}" if place.endswith(behind) else "on the table"
    text = table.pick(f"put {name} {place}, {joined} {denied}", f"place {name} {place} {joined} {denied}")
    return table.put("denied place", text, told, f"not {_TOLD[relation]} {reference.lower()}")


def _part_of_table(table: _Table) -> Sentence:
    part, told = table.pick(
        "at the back|back side",
        "on the right|right side",
        "on the left|left side",
        "in the middle of the table|middle of the table",
        "at the front|front side",
        "on the far side|back side",
        "in the left corner of the table|left corner",
        "in the centre|middle of the table",
        "at the back of the table|back side",
        "on the right side of the table|right side",
    ).split("|")
    place = "" if "table" in part else table.pick("", " on the table", " down")
    return table.put("part of the table", f"put {table.name(table.target)}{place} {part}", told)


def _pose(table: _Table) -> Sentence | None:
    found = table.place()
    if found is None:
        return None
    where = table.pick("on the table", table.where(found[0], found[1]))
    pose, quoted = table.pick(
        "flat|flat",
        "upside down|upside down",
        "on its side|on its side",
        "upright|upright",
        "with the label facing left|facing left",
        "with the lid up|lid up",
        "horizontally|horizontally",
        "facing the camera|facing the camera",
        "turned by 90 degrees|90 degrees",
        "diagonally|diagonally",
    ).split("|")
    order = table.pick("{0} {1}", "{1} {0}")
    return table.refusal("pose", f"lay {table.name(table.target)} {order.format(pose, where)}", quoted)


def _second_deed(table: _Table) -> Sentence | None:
    found = table.place()
    if found is None:
        return None
    begin = f"put {table.name(table.target)} {table.where(found[0], found[1])}"
    second = table.pick(
        "take it out again",
        "pick it up again",
        "bring it back",
        "check it",
        "look at it",
        "pick up " + "{0}",
        "put it " + "{1}",
        "shake it",
        "put {0} " + "{1}",
    ).format(table.name(table.others[0]), table.where("behind", table.others[1]))
    return table.refusal("second deed", f"{begin} {table.pick('and then', 'and', 'then')} {second}", "")


def _second_place(table: _Table) -> Sentence:
    said, told = [], []
    for options, other in zip(
        (("left_of", "right_of", "next_to"), ("behind", "in_front_of")), table.others, strict=False
    ):
        relation, name = table.pick(*options), table.name(other)
        said.append(choose(table.rng, WHERE[relation]).format(name))  # type: ignore[index]
        told.append(f"{_TOLD[relation]} {name.lower()}")
    joined = table.pick(" and ", " ", ", ", " but also ")
    text = f"put {table.name(table.target)} {joined.join(said)}"
    if joined == " ":  # which one is meant, or where to?
        return table.refusal("second place", text, "")
    return table.put("second place", text, *told)


def _measure(table: _Table) -> Sentence:
    amount, told = table.pick(
        "5 cm|5 cm", "10 centimetres|10 cm", "about 3 inches|7.6 cm", "half a metre|50 cm", "20mm|2 cm",
        "a few centimetres|", "1.5 m|150 cm",
    ).split("|")  # fmt: skip
    relation, name = table.pick("left_of", "right_of", "behind"), table.name(table.others[0])
    where = choose(table.rng, WHERE[relation]).format(name)  # type: ignore[index]
    text = f"put {table.name(table.target)} {amount} {where}"
    if not told:
        return table.refusal("measure", text, amount)
    return table.put("measure", text, f"{told} {_TOLD[relation]} {name.lower()}")


def _strange_adjective(table: _Table) -> Sentence:
    word = table.pick(
        "rotten", "sticky", "broken", "expensive", "dirty", "nice", "heavy", "warm", "favourite", "shiny", "ripe",
        "standing", "upside-down", "half-empty", "unopened", "whole",
    )  # fmt: skip
    name = table.name(table.target).removeprefix("the ")
    text = f"{table.pick('pick up', 'grab', 'take')} the {word} {name}"
    return replace(table.refusal("strange adjective", text, word.replace("-", " ")), looked_for=True)


def _time_or_condition(table: _Table) -> Sentence:
    words, quoted = table.pick(
        "tomorrow|tomorrow", "in five minutes|five minutes", "after lunch|after lunch", "if it is empty|if",
        "until I say so|until", "unless it is heavy|unless", "when the bin is full|when", "twice|twice",
        "before the others|before", "every hour|hour", "as soon as I leave|as soon as", "while I watch|while",
    ).split("|")  # fmt: skip
    return table.refusal("time or condition", f"pick up {table.name(table.target)} {words}", quoted)


def _second_thought(table: _Table) -> Sentence:
    other = table.name(table.others[0])
    words = table.pick(
        "no wait, {0}",
        "sorry, I mean {0}",
        "actually {0}",
        "no, {0}",
        "or rather {0}",
        "scratch that, {0}",
        "oops, {0}",
        "make that {0}",
        "wait, {0}",
        "on second thought {0}",
    ).format(other)
    verb = table.pick("pick up", "take", "grab")
    return table.refusal("second thought", f"{verb} {table.name(table.target)}{table.pick(', ', ' - ')}{words}", other)


def _manner(table: _Table) -> Sentence:
    other = table.name(table.others[0])
    words, quoted = table.pick(
        f"without touching {other}|without touching",
        "with both hands|both hands",
        "with your left hand|left hand",
        f"together with {other}|with {other}",
        f"avoiding {other}|{other}",
        "by the handle|handle",
        f"like {other}|like {other}",
        "using a spoon|using a spoon",
        f"and not touch {other}|not touch",
        "from above|from above",
        "by its lid|lid",
    ).split("|")
    return table.refusal("manner", f"pick up {table.name(table.target)} {words}", quoted)


def _small_talk(table: _Table) -> Sentence:
    talk = table.pick(
        "we're out of milk",
        "I am hungry",
        "my sister is coming",
        "this is fun",
        "nice weather today",
        "the last one was wrong",
        "you did that badly",
        "it smells",
    )
    return table.refusal("small talk", f"{talk}, pick up {table.name(table.target)}", talk)


def _two_things(table: _Table) -> Sentence:
    other = table.name(table.others[0])
    joined, quoted = table.pick(
        f" then {other}|then {other}",
        f", then {other}|then {other}",
        f" and {other}|and {other}",
        f" or {other}|or {other}",
        f" followed by {other}|followed by",
        f" {other}|{other}",
        f" plus {other}|{other}",
        f" after {other}|after",
        f" as well as {other}|as well as",
    ).split("|")
    return table.refusal("two things", f"pick up {table.name(table.target)}{joined}", quoted)


def _wrong_side(table: _Table) -> Sentence | None:
    x, y, _ = table.target.position_m
    wrong = ["on the left"] * (y > _CLEARLY_M) + ["on the right"] * (y < -_CLEARLY_M)
    wrong += ["at the back"] * (x > _MIDDLE_X + _CLEARLY_M) + ["at the front"] * (x < _MIDDLE_X - _CLEARLY_M)
    if not wrong:
        return None
    side = table.pick(*wrong)
    return table.absence("wrong side", f"pick up {table.name(table.target)} {side}", side.split(" ")[-1])


def _wrong_relation(table: _Table) -> Sentence | None:
    far = [p for p in table.others if _apart(p, table.target) > 0.45]
    if not far:
        return None
    where = table.where("next_to", far[0])
    return table.absence("wrong relation", f"pick up {table.name(table.target)} {where}", where)


def _with_what_it_lacks(table: _Table) -> Sentence:
    part = table.pick("a green stripe", "two handles", "a broken lid", "a paper flag", "a hole", "a big bow")
    refusal = table.refusal("part it lacks", f"pick up {table.name(table.target)} with {part}", part.split(" ")[1])
    return replace(refusal, looked_for=True)


# ---- Questions ----


def _vague(table: _Table) -> Sentence | None:
    relation: Relation = table.pick("left_of", "right_of", "behind")  # type: ignore[assignment]
    sides: dict[Relation, Side] = {"left_of": "left", "right_of": "right", "behind": "behind"}
    direction = np.asarray(SIDES[sides[relation]], float)
    for reference in table.others:
        offsets = [_offset(placed, reference) for placed in table.scene.objects if placed.id != reference.id]
        if sum(offset @ direction > abs(offset @ direction[::-1]) + 0.03 for offset in offsets) >= 2:
            thing = table.pick("the thing", "the object", "the item", "something")
            text = f"pick up {thing} {table.where(relation, reference)}"
            if thing != "something":
                return Sentence("vague thing", text, table.scene, "question")
    return None


def _vague_middle(table: _Table) -> Sentence | None:
    if len(table.scene.objects) % 2:
        return None
    return Sentence("vague thing", "pick up the object in the middle", table.scene, "question")


def _offset(placed: PlacedObject, other: PlacedObject) -> np.ndarray:
    return np.subtract(placed.position_m[:2], other.position_m[:2])


def _apart(placed: PlacedObject, other: PlacedObject) -> float:
    return float(np.linalg.norm(_offset(placed, other)))


FAMILIES: tuple[Callable[[_Table], Sentence | None], ...] = (
    _plain_deed, _plain_pick, _not_the_other, _turned_round, _somewhere, _denied_place, _part_of_table, _pose,
    _second_deed, _second_place, _measure, _strange_adjective, _time_or_condition, _second_thought, _manner,
    _small_talk, _two_things, _wrong_side, _wrong_relation, _with_what_it_lacks, _vague, _vague_middle,
)  # fmt: skip


def make_sentences(n: int, seed: int) -> list[Sentence]:
    """n sentences; each family of them comes about as often as the others."""
    made: list[Sentence] = []
    turn = 0
    while len(made) < n:
        rng = np.random.default_rng([seed, turn])
        table = _table(rng)
        for _ in range(SENTENCES_A_SCENE):
            sentence = FAMILIES[turn % len(FAMILIES)](table)
            turn += 1
            if sentence is not None and len(made) < n:
                made.append(sentence)
    return made
