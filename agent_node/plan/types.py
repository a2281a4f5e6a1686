"""What an operator wants, as data: acts, objects and places. `say` gives the robot's plain words for each, and
`toolhand.agent_node.plan.reading.read_plan` reads these back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Quantity = Literal["it", "them", "me", "you", "something", "the", "a", "the other", "another", "all", "both", "number",
                   "everything", "everything except"]  # fmt: skip


@dataclass(frozen=True)
class ObjectClause:
    """What is said of an object after its name.

    Attributes:
        kind: "relation" and "extreme" are to `objects`; "most" is a superlative, "part" a part of the table, "words" a
            description, each in `words`; "moved last" and "held" are what the robot did; "group" is what the object is
            one of: `objects`, or as many as `words` says.
        words: See `kind`; of a relation and an extreme their own words, such as "left of" and "closest to".
        objects: Those that it is to.
        denied: It must not hold.
    """

    kind: Literal["relation", "extreme", "most", "part", "words", "moved last", "held", "group"]
    words: str = ""
    objects: tuple[ObjectRef, ...] = ()
    denied: bool = False


@dataclass(frozen=True)
class ObjectRef:
    """One object or several, as they are described.

    Attributes:
        quantity: How many, and whether they are known.
        words: Adjectives and noun, without superlative and count.
        number: "two" ... of the quantity "number"; of "all" how many they are, empty where not said.
        ordinal: "first" ... "last"; empty for none.
        superlative: "tallest" ...; empty for none.
        part: A part that tells it from others, such as "red cap" of "with the red cap".
        side: Side that the ordinal counts from, "left" ...; empty where not said.
        clauses: Descriptions after its name.
        rest: Objects that are left out of everything.
        point: Normalized point (x, y) of the image where it is; None where not said.
    """

    quantity: Quantity
    words: str = ""
    number: str = ""
    ordinal: str = ""
    superlative: str = ""
    part: str = ""
    side: str = ""
    clauses: tuple[ObjectClause, ...] = ()
    rest: tuple[ObjectRef, ...] = ()
    point: tuple[float, float] | None = None

    @property
    def is_many(self) -> bool:
        """Whether only a look can tell which objects are meant."""
        return self.quantity in ("all", "both", "number", "everything", "everything except")


@dataclass(frozen=True)
class PlacePart:
    """One condition of a place.

    Attributes:
        kind: "relation" (`words` to `objects`), "inside" (`words` is the side of the container), "farthest", "line",
            "part" of the table, "step" in the direction `words`, "closer", "farther", "away", "was" and "is" (where an
            object was or is), "spot" (`words`: here, somewhere, where it was, ...) and "point".
        words: See `kind`.
        objects: Those that it is to.
        length: "5 cm", "a bit", "a lot"; empty where not said.
        denied: It must not hold.
        point: Normalized point (x, y) of the image.
    """

    kind: Literal["relation", "inside", "farthest", "line", "part", "step", "closer", "farther", "away", "was", "is",
                  "spot", "point"]  # fmt: skip
    words: str = ""
    objects: tuple[ObjectRef, ...] = ()
    length: str = ""
    denied: bool = False
    point: tuple[float, float] | None = None


@dataclass(frozen=True)
class PlanAct:
    """One object to be done, answered or said.

    Attributes:
        kind: "pick", "put", "give", ... as the grammar names them; "fixed" is what `words` says.
        objects: Those that it is about, in order.
        place: Where to; empty for none.
        words: Fixed words, a comparison, or the operator's own words.
        speed: "slowly" or "40 %"; empty where not said.
        condition: It holds only if this is there.
        otherwise: It holds only if the condition before it did not.
    """

    kind: str
    objects: tuple[ObjectRef, ...] = ()
    place: tuple[PlacePart, ...] = ()
    words: str = ""
    speed: str = ""
    condition: ObjectRef | None = None
    otherwise: bool = field(default=False)


Plan = tuple[PlanAct, ...]
"""What an utterance asks for, in order."""
