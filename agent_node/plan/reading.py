"""Plans from the robot's plain words, and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from lark import Token, Transformer

from toolhand.agent_node.plan.grammar import parse, symbols
from toolhand.agent_node.plan.types import ObjectClause, ObjectRef, PlacePart, Plan, PlanAct

_SIDE = re.compile(r"^(?:to|in) (?:the )?| of$")
"""What stands around a side in the words of a direction, and of a part of a container."""


@lru_cache(maxsize=512)
def read_plan(text: str, spoken: bool = False) -> Plan:
    """The plan of a text, `spoken` as of `toolhand.agent_node.plan.grammar.terminals`.

    Raises:
        NotCanonical: Where the grammar does not read it.
    """
    plan: Plan = _Reading().transform(parse(text, spoken))
    return plan


def is_plan(text: str, spoken: bool = False) -> bool:
    """Whether the grammar reads a text, see `read_plan`."""
    try:
        read_plan(text, spoken)
    except ValueError:
        return False
    return True


class _Reading(Transformer):
    """A method for each rule of the grammar that is built in a way of its own; `__default__` builds the others."""

    def plan(self, acts: list[PlanAct]) -> Plan:
        return tuple(acts)

    def act(self, parts: list[Any]) -> PlanAct:
        *heads, deed = parts
        for name, value in heads:
            deed = replace(deed, **{name: value})
        return deed

    slowly, otherwise, bit, lot = (
        (lambda self, _, meant=meant: meant) for meant in (("speed", "slowly"), ("otherwise", True), "a bit", "a lot")
    )

    def at_speed(self, parts: list[Token]) -> tuple[str, Any]:
        return "speed", f"{parts[0]} %"

    def if_there(self, parts: list[ObjectRef]) -> tuple[str, Any]:
        return "condition", parts[0]

    def __default__(self, data: Any, children: list[Any], meta: Any) -> Any:
        """What its children tell: objects, a clause with its own, a place, a length, and words."""
        family, _, rest = str(data).partition("_")
        kind: Any = rest.replace("_", " ")
        objects: list[ObjectRef] = []
        place: tuple[PlacePart, ...] = ()
        words, length = [], ""
        for child in children:
            if isinstance(child, ObjectRef):
                objects.append(child)
            elif isinstance(child, list):
                objects += child
            elif isinstance(child, ObjectClause):
                objects += child.objects
                words.append(child.words)
            elif isinstance(child, tuple):
                place = child
            elif isinstance(child, Token):
                words.append(str(child))
            else:
                length = child
        said = " ".join(words)
        if family == "clause":
            return ObjectClause(kind, said, tuple(objects))
        if family == "place":
            side = _SIDE.sub("", said) if kind in ("step", "inside") else said
            return PlacePart(kind, side, tuple(objects), length)
        return PlanAct(str(data), tuple(objects), place, said)

    def how_many(self, parts: list[ObjectRef]) -> PlanAct:
        return PlanAct("how_many", (replace(parts[0], quantity="all"),))

    def is_so(self, parts: list[Any]) -> PlanAct:
        return PlanAct("is_so", (parts[0],), words=parts[1][1])

    # ---- Objects ----

    def objects(self, parts: list[ObjectRef]) -> list[ObjectRef]:
        return parts

    def kind(self, parts: list[Any]) -> ObjectRef:
        found = ObjectRef("the")
        for part in parts:
            if isinstance(part, ObjectClause):
                found = replace(found, clauses=(*found.clauses, part))
            elif isinstance(part, Token):
                named: Any = {str(part.type).lower(): str(part)}
                found = replace(found, **named)
            else:
                name, value = part
                found = replace(found, **{name: value})
        return found

    def words(self, parts: list[str]) -> tuple[str, str]:
        return "words", " ".join(map(str, parts))

    def of(self, parts: list[Token]) -> str:
        return f"of {parts[0]}"

    def from_side(self, parts: list[Token]) -> tuple[str, str]:
        return "side", str(parts[0]).removeprefix("from the ")

    def at(self, parts: list[Token]) -> tuple[str, Any]:
        return "point", _point(parts[0])

    def everything(self, parts: list[ObjectClause]) -> ObjectRef:
        return ObjectRef("everything", clauses=tuple(parts))

    def everything_but(self, parts: list[list[ObjectRef]]) -> ObjectRef:
        return ObjectRef("everything except", rest=tuple(parts[0]))

    def counted(self, parts: list[Any]) -> ObjectRef:
        return replace(parts[1], quantity="number", number=str(parts[0]))

    it, them, me, you, something = (
        (lambda self, parts, quantity=quantity: ObjectRef(quantity))
        for quantity in ("it", "them", "me", "you", "something")
    )
    any, other, another, all, both = (
        (lambda self, parts, quantity=quantity: replace(parts[0], quantity=quantity))
        for quantity in ("a", "the other", "another", "all", "both")
    )

    def the(self, parts: list[ObjectRef]) -> ObjectRef:
        """ "The three cups" are all of them, and that many."""
        number, _, words = parts[0].words.partition(" ")
        if words and number in symbols() and "COUNT" in symbols()[number]:
            return replace(parts[0], quantity="all", number=number, words=words)
        return parts[0]

    def with_part(self, parts: list[tuple[str, str]]) -> tuple[str, str]:
        return "part", parts[-1][1]

    # ---- Clauses ----

    def that_is(self, parts: list[Any]) -> ObjectClause:
        return parts[0] if isinstance(parts[0], ObjectClause) else ObjectClause("words", parts[0][1])

    def that_is_not(self, parts: list[Any]) -> ObjectClause:
        return replace(self.that_is(parts), denied=True)

    def described(self, parts: list[tuple[str, str]]) -> ObjectClause:
        return ObjectClause("words", parts[0][1])

    def of_group(self, parts: list[Any]) -> ObjectClause:
        *number, kind = parts
        quantity = "number" if number else "all"
        return ObjectClause("group", "", (replace(kind, quantity=quantity, number=str(number[0]) if number else ""),))

    def between(self, parts: list[ObjectRef]) -> ObjectClause:
        return ObjectClause("relation", "between", tuple(parts))

    def between_two(self, parts: list[ObjectRef]) -> ObjectClause:
        return ObjectClause("relation", "between", (replace(parts[0], quantity="number", number="two"),))

    # ---- Places ----

    def place(self, parts: list[PlacePart]) -> tuple[PlacePart, ...]:
        return tuple(parts)

    def and_where(self, parts: list[PlacePart]) -> PlacePart:
        return parts[0]

    def but_not(self, parts: list[PlacePart]) -> PlacePart:
        return replace(parts[0], denied=True)

    def centimetres(self, parts: list[Token]) -> str:
        return f"{parts[0]} cm"

    def at_point(self, parts: list[Token]) -> PlacePart:
        return PlacePart("point", point=_point(parts[0]))


def _point(token: str) -> tuple[float, float]:
    x, y = re.findall(r"[\d.]+", token)
    return float(x), float(y)


# ---- The other way ----


def say(plan: Sequence[PlanAct]) -> str:
    """The plan in the robot's words."""
    return " ; ".join(map(say_act, plan))


_SAYINGS = {
    "fixed": "{words}",
    "pick": "pick up {objects}",
    "put": "put {objects} {place}",
    "give": "hand over {objects}",
    "point": "point at {objects}",
    "lift": "lift {objects} a little",
    "hold_low": "hold it low",
    "stand": "stand {objects} up",
    "together": "put {objects} together",
    "row": "put {objects} in a row",
    "sort": "sort {objects} by colour",
    "clear": "clear the table {place}",
    "empty_out": "empty {objects}",
    "choose_number": "choose number {words}",
    "not_that": "not that , {objects}",
    "undo_of": "undo the last move of {objects}",
    "speed": "speed {words} %",
    "cannot": "cannot {words}",
    "how_many": "how many {kind}",
    "what_stands": "what is {words} {related}",
    "size": "how big is {objects}",
    "colour": "what colour is {objects}",
    "apart": "how far is {0} away from {1}",
    "which": "which {kind} is {words} {rest}",
    "compare": "which is {words} , {0} or {1}",
    "nearer": "which is closer to {0} , {1} or {2}",
    "side": "on which side of {0} is {1}",
    "related": "is {0} {words} {related}",
    "is_so": "is {0} , {words}",
    "reach": "can you reach {objects}",
}
"""How acts are said whose kind is not what they begin with."""


def say_act(act: PlanAct) -> str:
    """One act in the robot's words."""
    head = "otherwise , " if act.otherwise else ""
    head += f"if there is {say_object(act.condition)} , " if act.condition is not None else ""
    head += "" if not act.speed else "slowly , " if act.speed == "slowly" else f"at {act.speed} speed , "
    objects = [say_object(each) for each in act.objects]
    form = _SAYINGS.get(act.kind, f"{act.kind.replace('_', ' ')} {{objects}}")
    said = form.format(
        *objects,
        objects=" and ".join(objects),
        rest=" ".join(objects[1:]),
        kind=_named(act.objects[0]) if act.objects else "",
        related=_related(act.words, act.objects[act.kind == "related" :]),
        place=say_place(act.place),
        words=act.words,
    )
    return head + said.rstrip()


def sentence(act: PlanAct) -> str:
    """One act as a whole command: in the robot's words, without its condition."""
    return say_act(replace(act, condition=None, otherwise=False))


def say_object(ref: ObjectRef) -> str:
    """An object in the robot's words."""
    match ref.quantity:
        case "it" | "them" | "me" | "you" | "something":
            return ref.quantity
        case "everything":
            return " ".join(["everything", *_clauses(ref)])
        case "everything except":
            return f"everything except {' and '.join(map(say_object, ref.rest))}"
    number = f"the {ref.number}" if ref.quantity == "all" and ref.number else ref.number
    return f"{number or ref.quantity} {_named(ref)}"


def _named(ref: ObjectRef) -> str:
    said = [ref.ordinal, ref.superlative, ref.words, f"with the {ref.part}" if ref.part else ""]
    said += [f"from the {ref.side}" if ref.side else "", "at ({:.3f}, {:.3f})".format(*ref.point) if ref.point else ""]
    return " ".join(part for part in (*said, *_clauses(ref)) if part)


def _clauses(ref: ObjectRef) -> list[str]:
    said, begun = [], False
    for clause in ref.clauses:
        if clause.kind in ("moved last", "held"):
            said.append("that you moved last" if clause.kind == "moved last" else "that you hold")
            continue
        if clause.kind == "group":
            [group] = clause.objects or (None,)
            number = clause.words if group is None else f"{group.number} {_named(group)}".strip()
            said.append(f"of the {number}")
            continue
        lead = f"{'and' if begun else 'that'} is{' not' if clause.denied else ''}"
        said.append(" ".join([lead, clause.words, _related(clause.words, clause.objects)]).rstrip())
        begun = True
    return said


def say_place(place: Sequence[PlacePart]) -> str:
    """A place in the robot's words; empty for none."""
    said = ""
    for part in place:
        said += f" {'but not' if part.denied else 'and'} " if said else ""
        said += _where(part)
    return said


def _related(relation: str, objects: Sequence[ObjectRef]) -> str:
    """What a relation is to; "between" may be so to two of one name."""
    two = relation == "between" and len(objects) == 1
    return f"the two {_named(objects[0])}" if two else " and ".join(map(say_object, objects))


def _where(part: PlacePart) -> str:
    objects = _related(part.words, part.objects)
    match part.kind:
        case "inside":
            return f"in the {part.words} of {objects}"
        case "farthest":
            return f"as far as possible from {objects}"
        case "line":
            return f"in line with {objects}"
        case "step":
            way = f"to {part.words}" if part.words.startswith("your") else f"to the {part.words}"
            return f"{part.length} {way}".lstrip()
        case "closer" | "farther":
            return f"{part.length} {part.kind} {'to' if part.kind == 'closer' else 'from'} {objects}".lstrip()
        case "away":
            return f"away from {objects}"
        case "was" | "is":
            return f"where {objects} {part.kind}"
        case "point":
            return "on the free spot at ({:.3f}, {:.3f})".format(*(part.point or (0.0, 0.0)))
    return " ".join(word for word in (part.length, part.words, objects) if word)
