"""Free room that is asked for, and words for it: "free table left of the box", "5 cm to the left of the bowl"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from toolhand.tool_nodes.language.relations import RELATION_WORDS
from toolhand.tool_nodes.results import invalid

Relation = Literal[
    "in", "on", "left_of", "right_of", "in_front_of", "behind", "next_to", "between", "anywhere",
    "at", "region", "moved", "farthest_from", "in_line",
]  # fmt: skip
Extent = Literal["", "side", "corner", "edge", "aside"]
BESIDE = ("left_of", "right_of", "in_front_of", "behind", "next_to")
"""Relations that a length may be added to: the gap to leave."""


@dataclass(frozen=True)
class FreeSpaceRequest:
    """Free room asked for.

    | relation | the place |
    |---|---|
    | in, on | inside a container, on top of an object |
    | left_of, right_of, in_front_of, behind, next_to, between | on the table, in relation to objects |
    | anywhere | somewhere on the table |
    | at | exactly at `point`, on the table or on what is there |
    | region | in a part of the table |
    | moved | `distance_m` from where `object` stands, in the direction `way` |
    | farthest_from | as far as possible from objects |
    | in_line | on the line through two objects |

    Attributes:
        relation: One of these.
        references: Noun phrases that it is to.
        point: Normalized image point (x, y) of "at".
        region: Part of the table, or with "in" of the container: left, right, front, back, middle, or a side in depth
            and one in width, such as "front left"; empty for any. Sides are those of the image, front is near.
        extent: How much of that part: its side or half, its corner, or the strip at its edge; aside is any edge, but
            not where `object` stands.
        distance_m: Gap to the nearest reference, or length of the way [m]; None where there is none.
        loosely: The length was not said: more or less will do.
        way: Direction of "moved": left, right, front, back; towards or away, which take one reference.
        also: Requests that have to hold as well.
        denied: It must not hold; only in `also`.
        object: Words for what is to go there, while it stands on the table.
    """

    relation: Relation
    references: tuple[str, ...] = ()
    point: tuple[float, float] | None = None
    region: str = ""
    extent: Extent = ""
    distance_m: float | None = None
    loosely: bool = False
    way: str = ""
    also: tuple[FreeSpaceRequest, ...] = ()
    denied: bool = False
    object: str = ""

    @property
    def all_references(self) -> tuple[str, ...]:
        """The references of the whole request, those of `also` after its own; without `object`."""
        return self.references + tuple(name for part in self.also for name in part.references)

    def naming(self, references: Sequence[str], obj: str | None = None) -> FreeSpaceRequest:
        """The request to other objects.

        Args:
            references: In the order and number of `all_references`.
            obj: Replaces `object` where not None.
        """
        left = list(references)
        own = tuple(left.pop(0) for _ in self.references)
        also = tuple(replace(part, references=tuple(left.pop(0) for _ in part.references)) for part in self.also)
        return replace(self, references=own, also=also, object=self.object if obj is None else obj)

    @property
    def is_plain(self) -> bool:
        """True if relation and references say it all."""
        return self == FreeSpaceRequest(self.relation, self.references) and self.relation in _PLAIN

    @property
    def is_exact(self) -> bool:
        """True for one place and no other: a point, a length, or a way from where an object stands."""
        return self.relation == "at" or (self.distance_m is not None and not self.loosely)


STEP_M = 0.10
"""Way to go where no length is said, as in "further left" [m]: a little more than an object is wide."""
BIT_M = 0.05
""" "A bit" [m]: more than placing is uncertain, and less than an object is wide."""
LOT_M = 0.20
""" "A lot" [m]: a round figure within reach."""
_PLAIN = frozenset((*BESIDE, "in", "on", "between", "anywhere"))
_TABLE = "of the table"


def length_words(metres: float) -> str:
    """ "5 cm"; of a length from half a millimetre on."""
    return f"{round(100 * metres, 1):g} cm"


def _region_words(request: FreeSpaceRequest) -> str:
    side = request.region
    if request.extent == "aside":
        return f"out of the way at an edge {_TABLE}"
    if side == "middle":
        return f"in the middle {_TABLE}"
    if request.extent == "corner":
        return f"in {'the ' + side if side else 'a'} corner {_TABLE}"
    if request.extent == "edge":
        return f"at {'the ' + side if side else 'an'} edge {_TABLE}"
    return f"on the {side} side {_TABLE}"


def _moved_words(request: FreeSpaceRequest) -> str:
    length = request.distance_m or 0.0
    step = request.loosely and length == STEP_M
    vague = {STEP_M: "", BIT_M: "a bit "}.get(length, "a lot ")
    amount = vague if request.loosely else f"{length_words(length)} "
    stood = f"where {the(request.object or 'thing')} stands"
    if request.way in ("towards", "away"):
        to = the(request.references[0])
        return f"{amount}{'closer to' if request.way == 'towards' else 'further from'} {to} than {stood}"
    return f"{amount}{'further ' if step else ''}to the {request.way} of {stood}"


def _related_words(request: FreeSpaceRequest) -> str:
    names = " and ".join(the(name) for name in request.references)
    if request.relation == "in" and request.region:
        return f"in the {request.region} of {names}"
    if request.relation == "farthest_from":
        return f"as far as possible from {names}"
    if request.relation == "in_line":
        return f"in line with {names}"
    if request.distance_m is not None:
        words = "from" if request.relation == "next_to" else RELATION_WORDS[request.relation]
        return f"{length_words(request.distance_m)} {words} {names}"
    return f"{RELATION_WORDS[request.relation]} {names}"


_WORDS: dict[str, Callable[[FreeSpaceRequest], str]] = {
    "anywhere": lambda request: "on the table",
    "at": lambda request: "on the free spot at ({:.3f}, {:.3f})".format(*(request.point or (0.0, 0.0))),
    "region": _region_words,
    "moved": _moved_words,
}


def place_words(request: FreeSpaceRequest) -> str:
    """Where it is, in an operator's words: "5 cm to the left of the bowl and not behind the bin"."""
    words = _WORDS.get(request.relation, _related_words)(request)
    also = "".join(f" {'but not' if part.denied else 'and'} {place_words(part)}" for part in request.also)
    return words + also


def the(phrase: str) -> str:
    """A noun phrase with its article: "the red box", but "a can"."""
    return phrase if phrase.partition(" ")[0] in _ARTICLES else f"the {phrase}"


_ARTICLES = ("the", "a", "an", "any", "some", "either", "one", "something")


_PHRASES = {
    "in": "inside {}",
    "on": "top of {}",
    "left_of": "free table left of {}",
    "right_of": "free table right of {}",
    "in_front_of": "free table in front of {}",
    "behind": "free table behind {}",
    "next_to": "free table next to {}",
    "between": "free table between {}",
    "anywhere": "free table",
}


def free_space_phrase(relation: str, references: Sequence[str] = ()) -> str:
    """The phrase that `parse_free_space` reads back as a relation to noun phrases.

    Raises:
        ToolError: INVALID_ARGUMENT for an unknown relation or one without its references.
    """
    if relation not in _PHRASES or (relation != "anywhere" and not references):
        raise invalid(f"A place needs one of {', '.join(_PHRASES)} and what it is to, got {relation!r}.")
    return _PHRASES[relation].format(" and ".join(f"the {name}" for name in references))
