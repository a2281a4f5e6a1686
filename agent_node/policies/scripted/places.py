"""The place of a plan as free room that a pointer is asked for; references are noun phrases of its objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolhand.agent_node.plan.reading import say_place
from toolhand.agent_node.plan.spoken import in_the_image
from toolhand.agent_node.plan.types import ObjectRef, PlacePart
from toolhand.agent_node.policies.scripted.nouns import noun_of
from toolhand.agent_node.policies.scripted.refusals import EXAMPLES, PLACES, refuse
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.places import BESIDE, BIT_M, LOT_M, STEP_M, Extent, FreeSpaceRequest, Relation
from toolhand.tool_nodes.results import ErrorCode, ToolError

_RELATIONS: dict[str, Relation] = {
    "in": "in", "on": "on", "left of": "left_of", "right of": "right_of", "in front of": "in_front_of",
    "behind": "behind", "next to": "next_to", "near": "next_to", "touching": "next_to", "between": "between",
}  # fmt: skip
_PERSONS = {"me": "front", "you": "back"}
"""Sides of the table of the operator, who stands where the camera does, and of the robot."""
_OTHER = {"front": "back", "back": "front"}
_EDGES = ("edge", "corner", "border")
_VAGUE = {"": STEP_M, "a bit": BIT_M, "a lot": LOT_M}
"""Lengths that are said in no centimetres [m]."""
_ANYWHERE = ("somewhere", "somewhere else", "on the table")
_OPPOSITE = ({"left_of", "right_of"}, {"in_front_of", "behind"}, {"left", "right"}, {"front", "back"})


@dataclass(frozen=True)
class _Condition:
    """One condition of a place, with empty words for its references, these, and all of its words."""

    request: FreeSpaceRequest
    objects: tuple[NounPhrase, ...]
    words: str


def place_of(place: Sequence[PlacePart]) -> tuple[FreeSpaceRequest, tuple[NounPhrase, ...]]:
    """One place of all conditions, with empty words for its references, and these.

    Raises:
        ToolError: NOT_UNDERSTOOD for what is no place of the table, for conditions that go together in no way that is
            known, or where nothing says where it is to be; INVALID_ARGUMENT for what contradicts itself.
    """
    said: list[_Condition] = []
    for part in place:
        said.append(_condition(part, [obj for one in said for obj in one.objects]))
    wanted = [one for one in said if not one.request.denied]
    if not wanted:
        refuse(f'I do not understand "but not {said[0].words}": say only which thing, and where it is to go.')
    specific = [one for one in wanted if one.request.relation != "anywhere"] or wanted[:1]
    first, *others = wanted if specific[0].request.relation in ("in", "on") else specific
    if first.request.relation == "in" and others and others[0].request.relation == "region":
        inside = others.pop(0)
        if inside.request.extent == "edge" or first.request.region:
            refuse(f'I cannot place a thing "{inside.words}" in another one.')
        first = replace(first, request=replace(first.request, region=inside.request.region))
    others += [one for one in said if one.request.denied]
    for other in others:
        _refuse_apart(first.request, other)
    _refuse_opposites([first, *others])
    if first.request.relation in ("in", "on"):
        others = []  # what is denied cannot be
    request = replace(first.request, also=tuple(one.request for one in others))
    objects = tuple(obj for one in (first, *others) for obj in one.objects)
    return request, objects


def _refuse_apart(first: FreeSpaceRequest, other: _Condition) -> None:
    """Refuse a condition that cannot be heeded together with the first."""
    request = other.request
    alone = request.relation == "moved" or first.relation in ("moved", "at")
    if request.denied:
        inside = first.relation in ("in", "on") and request.relation not in ("in", "on", "anywhere")
    else:
        inside = first.relation in ("in", "on") or request.relation in ("in", "on", "at", "anywhere")
    if alone or inside:
        refuse(f'I cannot heed "{other.words}" together with the other place.')


def _refuse_opposites(said: Sequence[_Condition]) -> None:
    wanted = [one for one in said if not one.request.denied]
    for i, one in enumerate(wanted):
        for other in wanted[:i]:
            a, b = one.request, other.request
            sides = a.relation == b.relation == "region" and any(
                pair == {x, y} for pair in _OPPOSITE for x in a.region.split() for y in b.region.split()
            )
            if sides or (one.objects == other.objects and {a.relation, b.relation} in _OPPOSITE):
                refuse("A thing cannot be in two opposite places at once.", ErrorCode.INVALID_ARGUMENT)
    for one in said:
        same = [(other.request.relation, other.objects) for other in wanted if other.objects]
        if one.request.denied and (one.request.relation, one.objects) in same:
            refuse("A thing cannot be at a place and not be there.", ErrorCode.INVALID_ARGUMENT)


def _condition(part: PlacePart, before: Sequence[NounPhrase]) -> _Condition:
    """A condition; "it" is the only object that is named `before` it."""
    words = say_place((replace(part, denied=False),))
    request = _request(part, words)
    objects: tuple[NounPhrase, ...] = ()
    if request.references:
        one = len(before) == 1
        objects = tuple(
            before[0] if one and ref.quantity == "it" else _object(ref, words, request.relation) for ref in part.objects
        )
    return _Condition(replace(request, denied=part.denied), objects, words)


def _object(ref: ObjectRef, words: str, relation: str) -> NounPhrase:
    if ref.quantity in ("it", "them"):
        refuse("A thing cannot be placed relative to itself.", ErrorCode.INVALID_ARGUMENT)
    if ref.quantity in _PERSONS or ref.words.endswith(_EDGES):
        refuse(f'"{words}" is no place for me. {PLACES}')
    if relation in ("in", "on") and ref.is_many:
        refuse(f'I can place a thing {relation} one other thing, and "{words}" names more.')
    obj = noun_of(ref)
    if obj.excluded is not None and (obj.excluded.relation or obj.excluded.selectors):
        refuse(f'In "{words}" I cannot tell what must not be there from which one is meant: say it in other words.')
    return obj


def _request(part: PlacePart, words: str) -> FreeSpaceRequest:
    """One condition as a request, with an empty name for each reference."""
    person = _PERSONS.get(part.objects[0].quantity, "") if part.objects else ""
    edge = next((part.objects[0].words for name in _EDGES if part.objects and part.objects[0].words.endswith(name)), "")
    empty = ("",) * len(part.objects)
    vague = part.length in _VAGUE
    metres = _VAGUE[part.length] if vague else int(part.length.removesuffix(" cm")) / 100
    match part.kind:
        case "relation" if person and part.words in ("next to", "near", "in front of"):
            return FreeSpaceRequest("region", region=person, extent="side")
        case "relation" if edge and not part.length and part.words in ("in", "on", "next to", "near"):
            return _region(f"at the {edge}")
        case "relation" if part.words in _RELATIONS:
            relation = _RELATIONS[part.words]
            if part.length and relation not in BESIDE:
                refuse(f'I can leave a gap only beside a thing, and not heed "{words}".')
            gap = metres if part.length not in ("", "a bit") else None
            return FreeSpaceRequest(relation, empty, distance_m=gap, loosely=vague and gap is not None)
        case "inside":
            return FreeSpaceRequest("in", empty, region=part.words)
        case "farthest" if person:
            return FreeSpaceRequest("region", region=_OTHER[person], extent="edge")
        case "line":
            return FreeSpaceRequest("in_line", empty)
        case "part" if part.words != "alone":
            return _region(in_the_image(part.words))
        case "step" if not part.length:
            return FreeSpaceRequest("region", region=_way(part), extent="side")
        case "step":
            return FreeSpaceRequest("moved", distance_m=metres, loosely=vague, way=_way(part))
        case "closer" if edge:
            return _region(f"at the {edge}")
        case "farther" | "away" if edge:
            return FreeSpaceRequest("region", region="middle")
        case "away" if person:
            return FreeSpaceRequest("region", region=_OTHER[person], extent="side")
        case "farthest" | "away":
            return FreeSpaceRequest("farthest_from", empty)
        case "closer" | "farther" if person:
            way = person if part.kind == "closer" else _OTHER[person]
            return FreeSpaceRequest("moved", distance_m=metres, loosely=vague, way=way)
        case "closer" | "farther":
            way = "towards" if part.kind == "closer" else "away"
            return FreeSpaceRequest("moved", empty, distance_m=metres, loosely=vague, way=way)
        case "spot" if part.words in _ANYWHERE:
            return FreeSpaceRequest("anywhere")
        case "spot" if part.words == "out of the way":
            return FreeSpaceRequest("region", extent="aside")
        case "point":
            return FreeSpaceRequest("at", point=part.point)
    raise ToolError(ErrorCode.NOT_UNDERSTOOD, f'"{words}" is no place for me. {PLACES}', EXAMPLES)


def _region(words: str) -> FreeSpaceRequest:
    """The part of the table of "on the left side", "in the front left corner", "at an edge"."""
    sides = " ".join(word for word in words.split() if word in ("left", "right", "front", "back"))
    if words.endswith("middle"):
        return FreeSpaceRequest("region", region="middle")
    extent: Extent = "corner" if words.endswith("corner") else "edge" if words.endswith(("edge", "border")) else "side"
    return FreeSpaceRequest("region", region=sides, extent=extent)


def _way(part: PlacePart) -> str:
    return in_the_image(part.words).split()[-1]
