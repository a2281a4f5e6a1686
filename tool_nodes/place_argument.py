"""A place of the table as an argument of a tool: a relation to objects that are given by their points, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, get_args

from toolhand.tool_nodes.language.places import Extent, FreeSpaceRequest, Relation
from toolhand.tool_nodes.toolbox.arguments import InvalidValue, Lookup, TextArgument, finite_number, show
from toolhand.tool_nodes.types import ImagePoint

_MOST = 12
"""Most objects that a place is related to by one name, and most names and conditions [-]; a round figure."""
_FARTHEST_M = 2.0
"""Longest distance that a place may be asked for at [m]: more than any table here has."""
_SHARE = {"type": "number", "minimum": 0.0, "maximum": 1.0}
_POINT = {"type": "array", "items": _SHARE, "minItems": 2, "maxItems": 2, "description": "normalized [x, y]"}
_SIDES = ("left", "right", "front", "back", "middle")
_WAYS = ("left", "right", "front", "back", "towards", "away")


@dataclass(frozen=True)
class PointedPlace:
    """A place whose objects are known by points of an image.

    Attributes:
        request: The place; `object` is empty.
        points: For each of `all_references` of the request the normalized points (x, y) of what it means.
    """

    request: FreeSpaceRequest
    points: tuple[tuple[ImagePoint, ...], ...] = ()


def place_document(request: FreeSpaceRequest, points: Sequence[Sequence[ImagePoint]]) -> dict[str, Any]:
    """A place as JSON, which `PlaceInImageArgument` reads back; arguments as of `PointedPlace`."""
    left = list(points)
    own = [{"name": name, "points": [[round(v, 4) for v in at] for at in left.pop(0)]} for name in request.references]
    document: dict[str, Any] = {"relation": request.relation}
    document |= {"references": own} if own else {}
    document |= {"point": [round(v, 4) for v in request.point]} if request.point is not None else {}
    for key in ("region", "extent", "way", "distance_m", "loosely", "denied"):
        value = getattr(request, key)
        document |= {key: value} if value not in ("", None, False) else {}
    also = []
    for part in request.also:
        also.append(place_document(part, left[: len(part.references)]))
        left = left[len(part.references) :]
    return document | ({"also": also} if also else {})


@dataclass(frozen=True)
class PlaceInImageArgument:
    """A place, see `PointedPlace`."""

    def schema(self) -> dict[str, Any]:
        """JSON schema."""
        reference = {
            "type": "object",
            "properties": {
                "name": {"type": "string", "minLength": 1, "maxLength": 300, "description": "what you call it"},
                "points": {"type": "array", "items": _POINT, "minItems": 1, "maxItems": _MOST},
            },
            "required": ["name", "points"],
            "additionalProperties": False,
        }
        properties: dict[str, Any] = {
            "relation": {"type": "string", "enum": list(get_args(Relation))},
            "references": {
                "type": "array",
                "items": reference,
                "maxItems": _MOST,
                "description": "what the relation is to, each by a point on it",
            },
            "point": _POINT | {"description": "normalized [x, y] of the relation 'at'"},
            "region": {
                "type": "string",
                "description": "part of the table or of the container: left, right, front, back, middle, or a depth "
                "and a side such as 'front left'; as the picture shows it",
            },
            "extent": {"type": "string", "enum": list(get_args(Extent))},
            "distance_m": {
                "type": "number",
                "exclusiveMinimum": 0.0,
                "maximum": _FARTHEST_M,
                "description": "gap to the reference, or length of the way of the relation 'moved'",
            },
            "loosely": {"type": "boolean", "description": "more or less than distance_m will do"},
            "way": {"type": "string", "enum": ["", *_WAYS], "description": "direction of the relation 'moved'"},
            "denied": {"type": "boolean", "description": "in also: it must not hold"},
        }
        condition = {
            "type": "object",
            "properties": properties,
            "required": ["relation"],
            "additionalProperties": False,
        }
        also = {"type": "array", "items": condition, "maxItems": _MOST, "description": "places that it has to be, too"}
        return condition | {"properties": properties | {"also": also}}

    def parse(self, value: Any, lookup: Lookup) -> PointedPlace:
        """The place. Raises InvalidValue."""
        return self._read(value, lookup, inner=False)

    def _read(self, value: Any, lookup: Lookup, inner: bool) -> PointedPlace:
        known = {field.name for field in fields(FreeSpaceRequest)} - ({"object", "also"} if inner else {"object"})
        if not isinstance(value, dict) or not value.keys() <= known:
            raise InvalidValue(
                f"must be an object with no other keys than {', '.join(sorted(known))}, got {show(value)}"
            )
        request = FreeSpaceRequest(
            _one_of(value, "relation", get_args(Relation)),
            point=_point(value["point"]) if value.get("point") is not None else None,
            region=_region(value.get("region", "")),
            extent=_one_of(value, "extent", get_args(Extent)),
            distance_m=_distance(value.get("distance_m")),
            loosely=_flag(value, "loosely"),
            way=_one_of(value, "way", ("", *_WAYS)),
            denied=_flag(value, "denied"),
        )
        names, points = [], []
        for each in _listed(value, "references"):
            if not isinstance(each, dict) or each.keys() != {"name", "points"} or not _listed(each, "points"):
                raise InvalidValue(f"must have references of a name and points, got {show(each)}")
            names.append(TextArgument().parse(each["name"], lookup))
            points.append(tuple(map(_point, each["points"])))
        parts = [self._read(each, lookup, inner=True) for each in _listed(value, "also")]
        also = tuple(part.request for part in parts)
        inside = tuple(at for part in parts for at in part.points)
        return PointedPlace(replace(request, references=tuple(names), also=also), (*points, *inside))


def _listed(value: dict[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    found = [] if found is None else found
    if not isinstance(found, list) or len(found) > _MOST:
        raise InvalidValue(f"must have a list of at most {_MOST} as {key}, got {show(found)}")
    return found


def _flag(value: dict[str, Any], key: str) -> bool:
    found = value.get(key)
    if not isinstance(found, bool | None):
        raise InvalidValue(f"must have true or false as {key}, got {show(found)}")
    return bool(found)


def _one_of(value: dict[str, Any], key: str, allowed: Sequence[str]) -> Any:
    found = value.get(key, "")
    if found not in allowed:
        raise InvalidValue(f"must have one of {', '.join(filter(None, allowed))} as {key}, got {show(found)}")
    return found


def _region(words: Any) -> str:
    if not isinstance(words, str) or not set(words.split()) <= set(_SIDES) or len(words.split()) > 2:
        raise InvalidValue(f"must have one or two of {', '.join(_SIDES)} as region, got {show(words)}")
    return " ".join(words.split())


def _distance(value: Any) -> float | None:
    number = None if value is None else finite_number(value)
    if number is not None and not 0.0 < number <= _FARTHEST_M:
        raise InvalidValue(f"must have a distance_m greater than 0 and at most {_FARTHEST_M:g}, got {number:g}")
    return number


def _point(value: Any) -> ImagePoint:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise InvalidValue(f"must have points [x, y], got {show(value)}")
    x, y = map(finite_number, value)
    if not (0.0 <= x <= 1.0 and 0.0 <= y <= 1.0):
        raise InvalidValue(f"must have points between 0 and 1, got {show(value)}")
    return x, y


PlaceInImage = Annotated[PointedPlace, PlaceInImageArgument()]
