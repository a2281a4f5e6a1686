"""Plans from the robot's plain words, and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from lark import Token, Transformer

from toolhand.agent_node.plan.grammar import parse, symbols
from toolhand.agent_node.plan.types import ObjectClause, ObjectRef, PlacePart, Plan, PlanAct

_TWO_WORDS = {"pick": "pick up", "give": "hand over", "point": "point at", "empty_out": "empty"}


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
    """A method for each rule of the grammar that builds something; `_act` builds what needs no method of its own."""

    def plan(self, acts: list[PlanAct]) -> Plan:
        return tuple(acts)

    def act(self, parts: list[Any]) -> PlanAct:
        *heads, deed = parts
        for name, value in heads:
            deed = replace(deed, **{name: value})
        return deed

    def slowly(self, _: list[Any]) -> tuple[str, Any]:
        return "speed", "slowly"

    def at_speed(self, parts: list[Token]) -> tuple[str, Any]:
        return "speed", f"{parts[0]} %"

    def if_there(self, parts: list[ObjectRef]) -> tuple[str, Any]:
        return "condition", parts[0]

    def otherwise(self, _: list[Any]) -> tuple[str, Any]:
        return "otherwise", True

    def __default__(self, data: Any, children: list[Any], meta: Any) -> Any:
        """Acts, whose children are objects, a place, and words."""
        objects: list[ObjectRef] = []
        place: tuple[PlacePart, ...] = ()
        words: list[str] = []
        for child in children:
            if isinstance(child, ObjectRef):
                objects.append(child)
            elif isinstance(child, list):
                objects += child
            elif isinstance(child, ObjectClause):
                return PlanAct(str(data), child.objects, words=child.words)
            elif isinstance(child, tuple):
                place = child
            else:
                words.append(str(child))
        return PlanAct(str(data), tuple(objects), place, " ".join(words))

    def related(self, parts: list[Any]) -> PlanAct:
        one, clause = parts
        return PlanAct("related", (one, *clause.objects), words=clause.words)

    def which(self, parts: list[Any]) -> PlanAct:
        kind, most = parts
        return PlanAct("which", (kind, *most.objects), words=most.words)

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

    def moved_last(self, _: list[Any]) -> ObjectClause:
        return ObjectClause("moved last")

    def that_you_hold(self, _: list[Any]) -> ObjectClause:
        return ObjectClause("held")

    def of_number(self, parts: list[Token]) -> ObjectClause:
        return ObjectClause("group", str(parts[0]))

    def of_group(self, parts: list[Any]) -> ObjectClause:
        *number, kind = parts
        quantity = "number" if number else "all"
        return ObjectClause("group", "", (replace(kind, quantity=quantity, number=str(number[0]) if number else ""),))

    def rel(self, parts: list[Any]) -> ObjectClause:
        return ObjectClause("relation", str(parts[0]), (parts[1],))

    def between(self, parts: list[ObjectRef]) -> ObjectClause:
        return ObjectClause("relation", "between", tuple(parts))

    def between_two(self, parts: list[ObjectRef]) -> ObjectClause:
        return ObjectClause("relation", "between", (replace(parts[0], quantity="number", number="two"),))

    def most(self, parts: list[Token]) -> ObjectClause:
        return ObjectClause("most", str(parts[0]))

    def most_to(self, parts: list[Any]) -> ObjectClause:
        return ObjectClause("extreme", str(parts[0]), (parts[1],))

    def part(self, parts: list[Token]) -> ObjectClause:
        return ObjectClause("part", str(parts[0]))

    # ---- Places ----

    def place(self, parts: list[PlacePart]) -> tuple[PlacePart, ...]:
        return tuple(parts)

    def and_where(self, parts: list[PlacePart]) -> PlacePart:
        return parts[0]

    def but_not(self, parts: list[PlacePart]) -> PlacePart:
        return replace(parts[0], denied=True)

    def centimetres(self, parts: list[Token]) -> str:
        return f"{parts[0]} cm"

    def bit(self, _: list[Any]) -> str:
        return "a bit"

    def lot(self, _: list[Any]) -> str:
        return "a lot"

    def at_relation(self, parts: list[Any]) -> PlacePart:
        *length, clause = parts
        return PlacePart("relation", clause.words, clause.objects, *length)

    def inside(self, parts: list[Any]) -> PlacePart:
        return PlacePart("inside", str(parts[0]).removeprefix("in the ").removesuffix(" of"), (parts[1],))

    def at_part(self, parts: list[ObjectClause]) -> PlacePart:
        return PlacePart("part", parts[0].words)

    def in_line(self, parts: list[ObjectRef]) -> PlacePart:
        return PlacePart("line", objects=tuple(parts))

    def step(self, parts: list[Any]) -> PlacePart:
        *length, way = parts
        return PlacePart("step", str(way).removeprefix("to the ").removeprefix("to "), (), *length)

    def closer(self, parts: list[Any]) -> PlacePart:
        return self._towards("closer", parts)

    def farther(self, parts: list[Any]) -> PlacePart:
        return self._towards("farther", parts)

    @staticmethod
    def _towards(kind: Any, parts: list[Any]) -> PlacePart:
        *length, to = parts
        return PlacePart(kind, objects=(to,), length=length[0] if length else "")

    def farthest(self, parts: list[ObjectRef]) -> PlacePart:
        return PlacePart("farthest", objects=tuple(parts))

    def away(self, parts: list[ObjectRef]) -> PlacePart:
        return PlacePart("away", objects=tuple(parts))

    def where_was(self, parts: list[ObjectRef]) -> PlacePart:
        return PlacePart("was", objects=tuple(parts))

    def where_is_now(self, parts: list[ObjectRef]) -> PlacePart:
        return PlacePart("is", objects=tuple(parts))

    def spot(self, parts: list[Token]) -> PlacePart:
        return PlacePart("spot", str(parts[0]))

    def at_point(self, parts: list[Token]) -> PlacePart:
        return PlacePart("point", point=_point(parts[0]))


def _point(token: str) -> tuple[float, float]:
    x, y = re.findall(r"[\d.]+", token)
    return float(x), float(y)


# ---- The other way ----


def say(plan: Sequence[PlanAct]) -> str:
    """The plan in the robot's words."""
    return " ; ".join(map(say_act, plan))


def say_act(act: PlanAct) -> str:
    """One act in the robot's words."""
    head = "otherwise , " if act.otherwise else ""
    head += f"if there is {say_object(act.condition)} , " if act.condition is not None else ""
    head += "" if not act.speed else "slowly , " if act.speed == "slowly" else f"at {act.speed} speed , "
    objects = [say_object(each) for each in act.objects]
    several, where = " and ".join(objects), say_place(act.place)
    match act.kind:
        case "fixed":
            said = act.words
        case "put":
            said = f"put {several} {where}"
        case "lift":
            said = f"lift {several} a little"
        case "stand":
            said = f"stand {several} up"
        case "together" | "row":
            said = f"put {several} {'together' if act.kind == 'together' else 'in a row'}"
        case "sort":
            said = f"sort {several} by colour"
        case "clear":
            said = f"clear the table {where}".rstrip()
        case "choose_number":
            said = f"choose number {act.words}"
        case "not_that":
            said = f"not that , {several}"
        case "speed":
            said = f"speed {act.words} %"
        case "cannot":
            said = f"cannot {act.words}"
        case "how_many":
            said = f"how many {_named(act.objects[0])}"
        case "what_stands":
            said = f"what is {act.words} {several}"
        case "size":
            said = f"how big is {several}"
        case "colour":
            said = f"what colour is {several}"
        case "apart":
            said = f"how far is {objects[0]} away from {objects[1]}"
        case "which":
            said = f"which {_named(act.objects[0])} is {' '.join([act.words, *objects[1:]])}"
        case "compare":
            said = f"which is {act.words} , {objects[0]} or {objects[1]}"
        case "nearer":
            said = f"which is closer to {objects[0]} , {objects[1]} or {objects[2]}"
        case "side":
            said = f"on which side of {objects[0]} is {objects[1]}"
        case "related":
            said = f"is {objects[0]} {act.words} {_related(act.words, act.objects[1:])}"
        case "is_so":
            said = f"is {objects[0]} , {act.words}"
        case "reach":
            said = f"can you reach {several}"
        case "hold_low":
            said = "hold it low"
        case "undo_of":
            said = f"undo the last move of {several}"
        case _:
            said = f"{_TWO_WORDS.get(act.kind, act.kind.replace('_', ' '))} {several}"
    return head + said


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


def say_place(place: Sequence[PlacePart], where: Callable[[PlacePart], str] | None = None) -> str:
    """A place in the robot's words; empty for none. `where` says each of its conditions in other words."""
    said = ""
    for part in place:
        said += f" {'but not' if part.denied else 'and'} " if said else ""
        said += (where or _where)(part)
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
            return "at the point ({:.3f}, {:.3f})".format(*(part.point or (0.0, 0.0)))
    return " ".join(word for word in (part.length, part.words, objects) if word)
