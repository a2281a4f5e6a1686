"""What somebody else's document may hold where something else is expected, and all places where it may stand."""

import copy
import functools
from collections.abc import Iterator, Mapping
from typing import Any

MISSING = object()
"""Stands for a key or an item that is left out."""


def nested(depth: int, key: str = "") -> Any:
    """So many lists inside each other, or objects with a key."""
    return functools.reduce(lambda inner, _: {key: inner} if key else [inner], range(depth), "x")  # type: ignore[return-value]


ODD: Mapping[str, Any] = {
    "nothing": MISSING,
    "null": None,
    "a list": ["a", 1],
    "an empty list": [],
    "an object": {"a": 1},
    "a whole number": 7,
    "a number": -1.5,
    "true": True,
    "a text": "text",
    "an empty text": "",
    "a huge number": 10**39,
    "a long text": "x" * 20_000,
    "deep lists": nested(400),
    "deep objects": nested(400, "a"),
    "a list of lists": [[1]],
    "a hash of nothing": {"sha256": "0" * 64},
    "a path for a hash": {"sha256": "../../plan"},
}
"""Values of each kind that JSON has, and some that only look right."""

Place = tuple[str | int, ...]
"""Keys and numbers that lead to a value of a document."""


def places(document: Any, place: Place = ()) -> Iterator[Place]:
    """Where a document holds a value, itself left out."""
    if place:
        yield place
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for step, value in inner:
        yield from places(value, (*place, step))


def changed(document: Any, place: Place, value: Any) -> Any:
    """The document with another value at a place."""
    if not place:
        return value
    document = copy.deepcopy(document)
    inner = document
    for step in place[:-1]:
        inner = inner[step]
    if value is MISSING:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return document
