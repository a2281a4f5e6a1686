"""Plans for several objects: what a group of objects means after a look, as single deeds in order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolhand.agent_node.dialogue.looking import FREE_TABLE
from toolhand.agent_node.dialogue.naming import called, name_of
from toolhand.agent_node.dialogue.sorting import FindObjects, MeasureObjects, check_sorted, sorting
from toolhand.agent_node.plan.spoken import bare_phrase
from toolhand.agent_node.plan.types import ObjectRef, PlacePart, PlanAct
from toolhand.agent_node.policies.scripted.points import SAME_POINT
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.words import COLOURS, NUMBERS, singular
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import ImagePoint

_ALL = "object"
"""Words that everything on the table fits."""
_BINS = ("bin", "basket", "bowl")
"""Containers into which a table is cleared where no place is said, the first that is there."""
MOST_STEPS = 12
"""Most steps of a plan [-]: as many objects as stand on the table of the fullest scenes that come along."""
_FEW = 3
"""So few objects are tried without measuring them first [-]."""
_INSIDE = 0.8
"""Share of a container's outline that is room inside [-]: walls of 6 to 10 mm about bins 20 to 30 cm long."""


def steps_of(act: PlanAct, look: FindObjects, measure: MeasureObjects) -> list[PlanAct]:
    """The single deeds that a group stands for, in order; none where all is as it is to be.

    Raises:
        ToolError: EXECUTION_FAILED for a check that finds something else, OBJECT_NOT_FOUND where there is none of the
            objects, AMBIGUOUS where there is another number of them than was said, INVALID_ARGUMENT for too many.
    """
    match act.kind:
        case "sort":
            steps = sorting(_one_of(act.objects[0]), look, measure)
        case "fixed":
            check_sorted(_ALL, look, measure)
            steps = []
        case "swap":
            steps = _swap(act.objects, look)
        case "stack":
            steps = _stack(act.objects, look)
        case "together":
            steps = _together(act.objects, look)
        case "row":
            steps = _row(act.objects, look)
        case "empty_out":
            steps = _empty(act.objects[0], look)
        case _:
            place = act.place or (PlacePart("relation", "in", (called(_bin(look)),)),)
            steps = _put(act.objects[0] if act.objects else ObjectRef("everything"), place, look)
            _require_room(steps, look, measure)
    if len(steps) > MOST_STEPS:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENT,
            f"That would be {len(steps)} steps, and a plan may have {MOST_STEPS}.",
            "Name fewer things at once.",
        )
    return steps


def _require_room(steps: Sequence[PlanAct], look: FindObjects, measure: MeasureObjects) -> None:
    """Raise ToolError PLACE_BLOCKED where objects cannot lie side by side in the container that they are to go in."""
    points = [step.objects[0].point for step in steps if step.objects[0].point is not None]
    place = steps[0].place[0] if steps else None
    if len(steps) < _FEW or place is None or (place.kind, place.words) != ("relation", "in"):
        return
    container = bare_phrase(place.objects[0])
    bins = look([container])[container]
    if not bins:
        return
    box, *boxes = measure([bins[0], *points])
    if box is None or any(each is None for each in boxes):
        return
    needed = sum(float(each.extent[0] * each.extent[1]) for each in boxes if each is not None)
    room = _INSIDE * float(box.extent[0] * box.extent[1])
    if needed > room:
        raise ToolError(
            ErrorCode.PLACE_BLOCKED,
            f"These {len(steps)} things will not all fit into the {container}: side by side they need about "
            f"{10000 * needed:.0f} cm2, and it has about {10000 * room:.0f} cm2. Nothing has moved.",
            "Name those that are to go in.",
        )


def _put(ref: ObjectRef, place: tuple[PlacePart, ...], look: FindObjects) -> list[PlanAct]:
    """Both, all, two of, everything but: each object goes to the place."""
    name, excluded = _one_of(ref), [bare_phrase(each) for each in ref.rest]
    stays = [each for part in place if part.kind != "was" for each in part.objects if each.quantity not in _NO_OBJECTS]
    targets = [bare_phrase(each) for each in stays]
    inside = [f"{name} in the {bare_phrase(each)}" for part in place if part.words == "in" for each in part.objects]
    shaped = f"{name} {_ALL}" if " " not in name and name != _ALL else name  # "everything round"
    points = look(list(dict.fromkeys([name, shaped, *excluded, *targets, *inside])))
    if not points[name] and ref.quantity == "all":
        name = shaped
    for each in excluded:
        if not points[each]:
            raise _none_here(each)
    left_out = [point for phrase in (*targets, *inside, *excluded) for point in points[phrase]]
    there = _without(points[name], left_out)
    if not points[name]:
        raise _none_here(bare_phrase(ref) or name)
    if not there:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"Nothing that is called {name!r} is left to be moved.")
    wanted = _number(ref)
    if wanted is not None and ref.quantity != "number" and len(there) != wanted:
        raise _another_number(wanted, len(there), name)
    if wanted is not None and len(there) < wanted:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"I see only {len(there)} that are called {name!r}.")
    plain = parse_noun_phrase(name).plain
    return [PlanAct("put", (called(plain, point),), place) for point in there[:wanted]]


_NO_OBJECTS = ("it", "them", "me", "you")


def _number(ref: ObjectRef) -> int | None:
    """How many objects are meant; None where that is not said."""
    return 2 if ref.quantity == "both" else NUMBERS[ref.number] if ref.number else None


def _each_of(objects: Sequence[ObjectRef], look: FindObjects, what: str) -> list[ObjectRef]:
    """The objects that are named one by one, or all of the only name, from left to right; at least two.

    Args:
        objects: Objects that are named.
        look: See `FindThings`.
        what: Deed that needs them, for its refusal.
    """
    objects = list(dict.fromkeys(objects))
    several = {ref: _one_of(ref) for ref in objects if ref.is_many or len(objects) == 1}
    phrases = [several.get(ref) or bare_phrase(ref) for ref in objects if ref in several or ref.point is None]
    points = look(list(dict.fromkeys(phrases))) if phrases else {}
    found: list[ObjectRef] = []
    for ref in objects:
        if ref in several:
            found += _all_of(ref, several[ref], points[several[ref]], what)
        else:
            found.append(ref if ref.point is not None else _only(ref, points))
    if len(found) < 2:
        raise _too_few(what, len(found), next(iter(several.values())))
    return found


def _all_of(ref: ObjectRef, name: str, found: Sequence[ImagePoint], what: str) -> list[ObjectRef]:
    """The objects of one name at some points, as many as are meant, see `_each_of`."""
    count = _number(ref)
    if not found:
        raise _none_here(bare_phrase(ref))
    if count is not None and len(found) > count:
        raise _another_number(count, len(found), name)
    if count is not None and len(found) < count:
        raise _too_few(what, len(found), name)
    return [called(parse_noun_phrase(name).plain, point) for point in found]


def _together(objects: Sequence[ObjectRef], look: FindObjects) -> list[PlanAct]:
    """The first stays, and each of the others goes next to it."""
    first, *rest = _each_of(objects, look, "Two things stand together")
    return [PlanAct("put", (each,), (PlacePart("relation", "next to", (first,)),)) for each in rest]


def _row(objects: Sequence[ObjectRef], look: FindObjects) -> list[PlanAct]:
    """The first two stay, and each of the others goes in line with them; of two the second goes next to the first."""
    first, second, *rest = _each_of(objects, look, "A row needs two things")
    line = (PlacePart("line", objects=(first, second)),)
    beside = (PlacePart("relation", "next to", (first,)),)
    return [PlanAct("put", (each,), line) for each in rest] or [PlanAct("put", (second,), beside)]


def _swap(objects: Sequence[ObjectRef], look: FindObjects) -> list[PlanAct]:
    """The first makes room on the free table, the second takes its place, the first takes that of the second."""
    objects = _each_of(objects, look, "Two things change places")
    if len(objects) != 2:
        raise _another_number(2, len(objects), name_of(objects[0]))
    first, second = objects
    rooms = look([FREE_TABLE])[FREE_TABLE]
    if not rooms:
        raise ToolError(ErrorCode.PLACE_BLOCKED, "There is no free room on the table for one of them meanwhile.")
    room = rooms[0]
    return [
        PlanAct("put", (first,), (PlacePart("point", point=room),)),
        PlanAct("put", (second,), (PlacePart("was", objects=(replace(first, point=None),)),)),
        PlanAct("put", (replace(first, point=room),), (PlacePart("was", objects=(replace(second, point=None),)),)),
    ]


def _stack(objects: Sequence[ObjectRef], look: FindObjects) -> list[PlanAct]:
    """The last of the objects that are named stays, and each before it goes on top; of one kind, the left one stays."""
    stacked = _each_of(objects, look, "A stack needs two things")
    if len(objects) > 1:
        stacked.reverse()
    below = stacked[0]
    steps = []
    for obj in stacked[1:]:
        steps.append(PlanAct("put", (obj,), (PlacePart("relation", "on", (below,)),)))
        below = replace(obj, point=below.point)
    return steps


def _bin(look: FindObjects) -> str:
    """The container into which a table is cleared."""
    points = look(list(_BINS))
    found = next((name for name in _BINS if len(points[name]) == 1), None)
    if found is None:
        raise ToolError(
            ErrorCode.AMBIGUOUS,
            "I see no single container to clear the table into.",
            'Say where to, such as "clear the table in the bin".',
        )
    return found


def _empty(ref: ObjectRef, look: FindObjects) -> list[PlanAct]:
    container = bare_phrase(ref)
    inside = f"{_ALL} in the {container}"
    points = look([container, inside])
    if not points[container]:
        raise _none_here(container)
    objects = _without(points[inside], points[container])
    if not objects:
        raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"I see nothing in the {container}.")
    return [PlanAct("put", (called(_ALL, point),), (PlacePart("spot", "on the table"),)) for point in objects]


def _one_of(ref: ObjectRef) -> str:
    """The name of one of several objects: "red box" for "all red boxes", "red object" for "red objects"."""
    if not ref.words:
        return bare_phrase(replace(ref, words=_ALL)) if ref.clauses else _ALL
    phrase = parse_noun_phrase(bare_phrase(ref))
    if not phrase.words and not phrase.selectors:
        return _ALL if not ref.clauses else bare_phrase(replace(ref, words=_ALL))
    words = phrase.text.split()
    name = " ".join(
        singular(word) if k == len(words) - 1 or word == phrase.head else word for k, word in enumerate(words)
    )
    named = parse_noun_phrase(name)
    return named.plain if named.generic or not named.head or named.head in COLOURS else name


def _only(ref: ObjectRef, points: Mapping[str, list[ImagePoint]]) -> ObjectRef:
    """An object that is the only one of its description, with its point."""
    phrase = bare_phrase(ref)
    if len(points[phrase]) == 1:
        return called(name_of(ref), points[phrase][0])
    if not points[phrase]:
        raise _none_here(phrase)
    raise ToolError(
        ErrorCode.AMBIGUOUS,
        f"I see {len(points[phrase])} that are called {phrase!r}.",
        f'Say which, such as "the left {phrase}".',
    )


def _without(points: Sequence[ImagePoint], others: Sequence[ImagePoint]) -> list[ImagePoint]:
    return [point for point in points if all(math.dist(point, other) > SAME_POINT for other in others)]


def _another_number(said: int, seen: int, name: str) -> ToolError:
    hint = f'Say "all", or which, such as "the left {name}".'
    return ToolError(ErrorCode.AMBIGUOUS, f"You speak of {said}, and I see {seen} that are called {name!r}.", hint)


def _too_few(what: str, seen: int, name: str) -> ToolError:
    return ToolError(ErrorCode.OBJECT_NOT_FOUND, f"{what}, and I see only {seen} that are called {name!r}.")


def _none_here(words: str) -> ToolError:
    return ToolError(ErrorCode.OBJECT_NOT_FOUND, f"I see nothing that is called {words!r}.")
