"""Objects of an act: their names, those that only the memory knows, and others in their place."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from toolhand.agent_node.memory import RobotMemory, without_point
from toolhand.agent_node.plan.spoken import bare_phrase
from toolhand.agent_node.plan.types import ObjectRef, PlanAct
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.words import GENERIC, stem
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import ImagePoint

ChangeObject = Callable[[ObjectRef], ObjectRef]
"""Gives an object in the place of another."""
_SAME_OBJECT = 0.06
"""Normalized distance up to which a point is that of an object that was put there [-]: some 6 cm, most of its width."""


def parse_problem(text: str) -> ToolError | None:
    """Why the scripted policy cannot read a text as one command; None where it can."""
    problem = _problem(text)
    return None if problem is None else ToolError(*problem)


@functools.lru_cache(maxsize=256)
def _problem(text: str) -> tuple[ErrorCode, str, str] | None:
    """Code, message and hint: an error that is kept would keep, by its traceback, the robot of whoever said it."""
    try:
        parse_command(text)
    except ToolError as error:
        return error.code, error.message, error.hint
    return None


def name_of(ref: ObjectRef) -> str:
    """The plain name of an object, e.g. "red box" of "the leftmost red box"; empty for a pronoun."""
    if ref.quantity in ("it", "them", "me", "you"):
        return ""
    if ref.quantity == "something" or not ref.words:
        return "object"
    return without_point(parse_noun_phrase(bare_phrase(ref)).plain)


def is_nameless(ref: ObjectRef) -> bool:
    """Whether an object is described by words that name no kind: "the dark red one"."""
    head = ref.words.rpartition(" ")[2]
    return ref.quantity == "something" or head.removesuffix("s") in GENERIC


def called(name: str, point: tuple[float, float] | None = None) -> ObjectRef:
    """The object of a plain name, at a point."""
    return ObjectRef("the", name, point=point)


def changed(ref: ObjectRef, change: ChangeObject) -> ObjectRef:
    """An object after a change of it and, before that, of those within it."""
    clauses = tuple(
        replace(each, objects=tuple(changed(inner, change) for inner in each.objects)) for each in ref.clauses
    )
    return change(replace(ref, clauses=clauses, rest=tuple(changed(inner, change) for inner in ref.rest)))


def mapped(act: PlanAct, change: ChangeObject) -> PlanAct:
    """An act with each of its objects changed, those within others first."""
    objects = tuple(changed(ref, change) for ref in act.objects)
    place = (replace(part, objects=tuple(changed(ref, change) for ref in part.objects)) for part in act.place)
    return replace(act, objects=objects, place=tuple(place))


def objects_of(act: PlanAct) -> list[ObjectRef]:
    """Every object that an act names, those within others first."""
    found: list[ObjectRef] = []

    def note(ref: ObjectRef) -> ObjectRef:
        found.append(ref)
        return ref

    mapped(act, note)
    return found


def others(points: Sequence[ImagePoint], robot: RobotMemory, name: str) -> list[ImagePoint]:
    """Those of some points where no object stands that was moved or spoken of by a name before, the last deed's first.

    Args:
        points: Where objects of that name stand.
        robot: Memory of the robot.
        name: The name.
    """
    words = {stem(word) for word in name.split()}
    deeds = [deed for deed in robot.deeds if deed.success and {stem(word) for word in deed.object.split()} & words]
    spots = [deed.after.point for deed in deeds[-1:] if deed.after is not None]
    return [point for point in points if all(math.dist(point, spot) > _SAME_OBJECT for spot in spots)]
