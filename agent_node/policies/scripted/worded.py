"""Places in a clause that are more than one relation to things: see tool_nodes/language/places.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolhand.agent_node.policies.scripted.places import ATTACHED, SpokenPlace, find_place_on_table
from toolhand.agent_node.policies.scripted.refusals import refuse
from toolhand.agent_node.policies.scripted.verbs import CARRYING, MOVING, Clause
from toolhand.tool_nodes.language.measures import POINT
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.place_phrases import Condition, read_condition, split_conditions
from toolhand.tool_nodes.language.place_wordings import ReadPlace, read_place
from toolhand.tool_nodes.language.places import FreeSpaceRequest
from toolhand.tool_nodes.language.relations import find_relations, rewrite
from toolhand.tool_nodes.language.traced import Token, Traced, WordTrace
from toolhand.tool_nodes.language.words import DETERMINERS
from toolhand.tool_nodes.results import ErrorCode

_OPPOSITE = ({"left_of", "right_of"}, {"in_front_of", "behind"}, {"left", "right"}, {"front", "back"})
_LONGEST_PLACE = 40
"""Most words of one place [words]: a round figure, four times what people say."""
_PARTS = frozenset({"side", "edge", "corner", "border", "margin", "half", "end", "table", "middle", "centre"})
"""Words after which a part of the table is where a thing is brought: "the can on the left" is one of several."""
_MOST = frozenset({"furthest", "farthest", "most", "nearest", "closest"})
"""Words after which a side tells which one: "the can that is furthest to the left"."""
_MORE = frozenset({"more", "further", "farther"})
"""Words before a side that tell which one after "is", and where to after the thing itself."""
_TELLING = ("moved", "at", "farthest_from", "in_line")
"""Places that tell by themselves that a thing is to go there."""


@dataclass(frozen=True)
class WordedPart:
    """One condition on a place.

    Attributes:
        place: Place as it was read.
        text: All of its words.
        joined: Words that join it to what is before it.
        denied: It must not hold.
    """

    place: ReadPlace
    text: Traced
    joined: tuple[Token, ...] = ()
    denied: bool = False

    @property
    def own(self) -> list[Token]:
        """Its words without those of its references."""
        others = frozenset(k for words in self.place.things for word in words for k in word.words)
        return [token for token in self.text.split() if not token.words <= others]


@dataclass(frozen=True)
class Worded:
    """A clause, parted.

    Attributes:
        rest: The clause without them, and without punctuation.
        first: The first condition, where `rest` does not hold it.
        more: Further conditions.
    """

    rest: Traced
    first: WordedPart | None = None
    more: tuple[WordedPart, ...] = ()


def part_clause(clause: Clause) -> Worded:
    """Find the places of a clause that no single relation says; what is left says the thing, and maybe a relation."""
    placing = clause.verb_class == "place"
    text = Traced.join(word for word in clause.words if word not in (".", "?", "!"))
    if not placing and (clause.verb_class != "pick" or clause.verb not in CARRYING):
        return Worded(_plain(text))
    head, *others = split_conditions(text)
    more = _read_all(others)
    carried = clause.verb in MOVING and clause.words[:1] not in (("me",), ("us",))
    if more is None or (more and not placing and _first(head.text, placing, carried) is None):
        head, more = Condition((), text), ()
    first = _first(head.text, placing, carried)
    if more and first is None and not (_has_place(head.text) or any(part.denied for part in more)):
        return Worded(_plain(text))  # "put the can but in the bin"
    if first is None:
        return Worded(_plain(head.text), more=more)
    begins, place = first
    words = Traced.join(head.text.split()[begins:])
    return Worded(_plain(Traced.join(head.text.split()[:begins])), WordedPart(place, words), more)


def _has_place(text: Traced) -> bool:
    down = {"down", "aside"}.intersection(text.split())
    return bool(
        find_relations(rewrite(_plain(text).split()), noun_first=False) or find_place_on_table(text.text) or down
    )


def _plain(text: Traced) -> Traced:
    return Traced.join([token for token in text.split() if token != ","])


def _read_all(conditions: Sequence[Condition]) -> tuple[WordedPart, ...] | None:
    """What each condition is; None where one is nothing that can be read."""
    parts = []
    for condition in conditions:
        text = _plain(condition.text)
        place = read_condition(text)
        if place is None:
            return None
        parts.append(WordedPart(place, text, condition.joined, condition.denied))
    return tuple(parts)


def _first(text: Traced, placing: bool, carried: bool = False) -> tuple[int, ReadPlace] | None:
    """(index of its first word, the place) of what the end of a text says, as early as a wording fits.

    Args:
        text: Words after a verb.
        placing: The verb places.
        carried: It brings a thing, but not to a person: a part of the table is where to.
    """
    tokens = text.split()
    for i, token in enumerate(tokens):
        if (
            len(tokens) - i > _LONGEST_PLACE
            or token == ","
            or (i and tokens[i - 1] in (*ATTACHED, *_MOST, "one", "of"))
        ):
            continue
        if i > 1 and tokens[i - 1] in _MORE and tokens[i - 2] in ATTACHED:
            continue  # "the can that is more to the left"
        if i and token in ("nearer", "closer", "further", "farther") and tokens[i - 1] in DETERMINERS:
            continue  # "the nearer can"
        place = read_place(_plain(Traced.join(tokens[i:])))
        if place is None or not (placing or place.goes or (carried and _PARTS.intersection(tokens[i:]))):
            continue
        before = Traced.join(tokens[:i])
        on_table = find_place_on_table(before.text)
        before = before[: on_table.start()] if on_table else before
        related = find_relations(rewrite(_plain(before).split()))
        if related and token.startswith(POINT):
            return None  # "left of the bowl at (0.4, 0.5)"
        # "Next to the box on the left" may be the box that is on the left.
        if related and not (place.request.relation in _TELLING or place.request.distance_m is not None):
            return None
        return i, place
    return None


def joined_place(
    spoken: SpokenPlace | None,
    parts: Sequence[WordedPart],
    references: Sequence[tuple[NounPhrase, ...]],
    account: WordTrace,
) -> SpokenPlace:
    """One place of all conditions.

    Args:
        spoken: A relation that the clause says, or that it is somewhere on the table; None where neither.
        parts: The other conditions.
        references: The things of each of them.
        account: Quotes them.

    Raises:
        ToolError: NOT_UNDERSTOOD for conditions that go together in no way that is known, or where nothing says where
            it is to be; INVALID_ARGUMENT for opposite ones.
    """
    said: list[tuple[FreeSpaceRequest, tuple[NounPhrase, ...], WordedPart | None]] = [
        (replace(part.place.request, denied=part.denied), names, part)
        for part, names in zip(parts, references, strict=True)
    ]
    if spoken is not None:
        request = FreeSpaceRequest(spoken.relation, ("",) * len(spoken.references))  # type: ignore[arg-type]
        said.insert(0, (request, spoken.references, None))
    wanted = [part for part in said if not part[0].denied]
    if not wanted:
        denied = [token for part in parts for token in (*part.joined, *part.text.split())]
        refuse(f"I do not understand {account.quote(denied)}: say only which thing, and where it is to go.")
    specific = [part for part in wanted if part[0].relation != "anywhere"] or wanted[:1]
    if specific[0][0].relation in ("in", "on"):
        specific = wanted
    (first, names, own), others = specific[0], specific[1:]
    if first.relation == "in" and others and others[0][0].relation == "region" and not first.region:
        region, _, part = others.pop(0)
        if region.extent != "edge":
            first = replace(first, region=region.region)
        elif part is not None:
            refuse(f"I cannot place a thing {account.quote(part.text.words)} in another one.")
    others += [part for part in said if part[0].denied]
    kinds = {first.relation, *(request.relation for request, _, _ in others if not request.denied)}
    for request, _, part in others:
        alone = request.relation == "moved" or first.relation in ("moved", "at")
        denies_other = request.denied and request.relation in ("in", "on", "anywhere")
        inside = first.relation in ("in", "on") and not denies_other
        elsewhere = not request.denied and request.relation in ("in", "on", "at", "anywhere")
        if (alone or inside or elsewhere) and part is not None:
            joined = part.joined if part.denied else ()
            refuse(f"I cannot heed {account.quote((*joined, *part.text.split()))} together with the other place.")
    _refuse_opposites([(request, things) for request, things, _ in [(first, names, own), *others]])
    if first.relation in ("in", "on") or (first.relation == "anywhere" and "anywhere" in kinds and not others):
        others = []  # what is denied cannot be
    request = replace(first, also=tuple(request for request, _, _ in others))
    everything = (*names, *(name for _, things, _ in others for name in things))
    return SpokenPlace(first.relation, everything, None if request.is_plain else request)


def _refuse_opposites(parts: Sequence[tuple[FreeSpaceRequest, tuple[NounPhrase, ...]]]) -> None:
    wanted = [(request, names) for request, names in parts if not request.denied]
    for i, (request, names) in enumerate(wanted):
        for other, things in wanted[:i]:
            same = names == things and {request.relation, other.relation} in _OPPOSITE
            sides = request.relation == other.relation == "region" and any(
                pair == {a, b} for pair in _OPPOSITE for a in request.region.split() for b in other.region.split()
            )
            if same or sides:
                refuse("A thing cannot be in two opposite places at once.", ErrorCode.INVALID_ARGUMENT)
    for request, names in parts:
        if request.denied and any(r.relation == request.relation and n == names for r, n in wanted if names):
            refuse("A thing cannot be at a place and not be there.", ErrorCode.INVALID_ARGUMENT)
