"""Where a clause says to place a thing: which of its relations, or anywhere on the table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from toolhand.agent_node.policies.scripted.refusals import PLACES, refuse
from toolhand.agent_node.policies.scripted.verbs import CARRYING, HOLDING, MOVING, Clause
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.places import FreeSpaceRequest
from toolhand.tool_nodes.language.relations import STOP, RelationMark, find_relations
from toolhand.tool_nodes.language.traced import Traced, WordTrace
from toolhand.tool_nodes.language.words import DETERMINERS, SIDES


@dataclass(frozen=True)
class SpokenPlace:
    """Where a clause says to place a thing.

    Attributes:
        relation: See Command.
        references: See Command.
        form: See Command.
    """

    relation: str
    references: tuple[NounPhrase, ...] = ()
    form: FreeSpaceRequest | None = None


_TABLE = r"(?:the |this |my |your )?(?:table|desk|counter|surface|work surface|tabletop|workspace)(?: top)?"
_SPOT = (
    r"(?:a |an |any |the |some )?(?:(?:free|empty|clear|open|vacant|another|different) )+(?:table )?"
    r"(?:space|spot|place|area|room|location|surface|table)"
)
_ANYWHERE = re.compile(
    rf"\b(?:down )?(?:(?:on|onto|to|upon) (?:to )?{_TABLE}"
    rf"|(?:in|on|onto|at|to|into) {_SPOT}(?: (?:on|of) {_TABLE})?"
    r"|(?:in|on|at|to|into) (?:a|the|some) (?:space|spot|place|location|position|area)"
    r"(?= (?:(?:to|on) the (?:left|right) of|(?:left|right) of|behind|next|in front of|beside|near|between|close to)\b)"
    rf"|(?:any|some|else)(?:where|place)(?: (?:else|free|you like|you want))?(?: on {_TABLE})?"
    rf"|wherever(?: you (?:like|want))?){STOP}"
)
_UNDER = re.compile(r"\b(?:under|underneath|below|beneath)\b")
ATTACHED = frozenset(
    {"and", "that", "which", "is", "are", "was", "sitting", "standing", "lying", "located", "placed", "resting"}
)
"""Words after which a relation does not say where to place."""
_INTO = frozenset({"to", "toward", "towards", "into", "in to", "onto", "on to"})
_SIDEWAYS = frozenset({"left_of", "right_of", "in_front_of", "behind", "next_to", "between"})
_VAGUE = frozenset({"far", "further", "farther", "away", "closer", "nearer"})
_TOUCHING = frozenset({"touching", "against"})


def find_place_on_table(text: str) -> re.Match[str] | None:
    """ "On the table", "in a free spot", "somewhere else": any place of the table will do."""
    return _ANYWHERE.search(text)


def starts_place(words: Sequence[str], adjectives: bool = False) -> bool:
    """True if words begin with a relation; "near" is none in "near can" unless `adjectives` are to count as well."""
    adjective = len(words) > 1 and words[0] in SIDES and words[1] not in (*DETERMINERS, "of", "to")
    found = any(mark.start == 0 for mark in find_relations(words[:12], noun_first=False))
    return found and (adjectives or not adjective)


def is_second_place(words: Sequence[str]) -> bool:
    """True if what should describe a thing says where to take something: "the can into the bin"."""
    return any(" ".join(words[m.start : m.end]) in _INTO for m in find_relations(words))


def refuse_second_relation(relation: str, words: Sequence[str], account: WordTrace) -> None:
    """Refuse "left of the bowl behind the box", "far from the box": a second place, or which bowl is meant?"""
    nested = (m for m in find_relations(words) if m.relation in _SIDEWAYS or words[m.start] in _VAGUE)
    marks = [m for m in nested if words[m.start - 1] not in (*ATTACHED, "one")]
    if relation in _SIDEWAYS and marks:
        more = account.quote(words[marks[0].start :])
        refuse(
            f"I can place a thing in one relation at a time: {more} is a second one. "
            f'If it tells which thing is meant, say "that is" before it.'
        )


def destination(words: Sequence[str], held: bool, clause: Clause, account: WordTrace) -> RelationMark | None:
    """The relation that says where to place, or None. Others belong to the description of a thing."""
    placing = clause.verb_class == "place"
    marks = [
        m
        for m in _marks(words, held)
        if words[m.start] not in ("from", "out", "off") and (m.start == 0 or words[m.start - 1] not in ATTACHED)
    ]
    under = next((i for i, word in enumerate(words) if _UNDER.fullmatch(word)), None)
    if under is not None and placing:
        refuse(f"{account.quote(words[under:])} is no place for me. {PLACES}")
    if clause.verb in HOLDING:
        _refuse_held_at(words, account)
    strong = [m for m in marks if " ".join(words[m.start : m.end]) in _INTO]
    if clause.verb_class == "mention":
        return None
    if clause.verb in MOVING and clause.verb_class == "pick" and not (held or strong):
        _refuse_carried_to(marks, words, clause, account)
    if clause.verb_class == "pick":
        away = next((m for m in marks if words[m.start] == "away" and clause.verb in CARRYING), None)
        if away is not None:
            refuse(f"{account.quote(words[away.start :])} is no place for me. {PLACES}")
        near = [m for m in marks if words[m.start] in ("closer", "nearer")]
        carried = marks if held else near + [m for m in marks if m.directed and clause.verb in MOVING]
        usable = strong or (carried if clause.verb in CARRYING else [])
        return usable[-1] if usable else None
    if not marks:
        return None
    marks = [m for m in marks if m.relation not in ("nearest_to", "farthest_from")] or marks
    if strong:
        chosen = strong[-1]
    elif marks[0].relation in ("in", "on") or held:
        chosen = marks[0]
    elif marks[-1].relation == "in":
        chosen = marks[-1]
    else:
        sideways = [m for m in marks if m.directed]
        chosen = sideways[-1] if sideways else marks[0]
    if chosen.relation == "farthest_from":
        refuse(f"{account.quote(words[chosen.start :])} is no place for me. {PLACES}")
    if words[chosen.start] in _TOUCHING:
        refuse(f'I leave a gap between things and cannot place one "{words[chosen.start]}" another. {PLACES}')
    return chosen


def _refuse_held_at(words: Sequence[str], account: WordTrace) -> None:
    """Refuse "hold the can next to the bowl": is it the can that stands there, or is it to be held there?"""
    for mark in find_relations(words):
        beside = mark.relation in _SIDEWAYS or words[mark.start] in ("over", "above")
        if beside and words[mark.start - 1] not in (*ATTACHED, "one", "off"):
            refuse(
                f"I cannot hold a thing anywhere but above the table, so {account.quote(words[mark.start :])} may say "
                'which one is meant or where it is to go: say "that is" before it, or "put".'
            )


def _refuse_carried_to(marks: Sequence[RelationMark], words: Sequence[str], clause: Clause, account: WordTrace) -> None:
    """Refuse "carry the can behind the box": is it the can that stands there, or is it to go there?"""
    if clause.words[:1] in (("me",), ("us",)):
        return  # "Bring me the can behind the box"
    beside = next((m for m in marks if m.relation in _SIDEWAYS and not m.directed), None)
    if beside is not None:
        refuse(
            f"I cannot tell whether {account.quote(words[beside.start :])} says which one is meant or where it is to "
            'go: say "that is" before it, or "put".'
        )


_DIRECTION = re.compile(
    r"(?<!the )(?<!a )(?<!that is )(?<!furthest )(?<!farthest )"
    r"\b(?:(?:over|a|little|bit|tad|slightly|much|somewhat|more|just|some|even) )*"
    r"(?:(?:to|towards?) the )?(?:closer|nearer|forwards?|backwards?|leftwards?|rightwards?|inwards?|outwards?|sideways"
    r"|ahead|away|apart|out(?: of (?:here|the way|reach|sight|my sight|my way))?|off(?: to (?:the|one) side)?"
    r"|(?:further|farther)(?: (?:away|back|off|out|left|right|up|down|in))?"
    r"|back(?: where it (?:was|belongs|came from))?|home)"
    r"(?: (?:a )?(?:little|bit|tad)(?: bit)?)?(?: to (?:me|us|you|yourself|the (?:robot|camera)))?$"
    r"|^away\b|\b(?:(?:over|down|up|right|out) )?there$|(?<=\w )(?:over|down|up|right) here$"
)
"""Ways to go instead of a place; at the end of what a verb is followed by."""
_LEAVING = frozenset({"away", "out", "off"})
"""Those of them that say no more than that a thing is to be gone."""


def direction(text: Traced, clause: Clause) -> Traced | None:
    """The direction given to a verb of carrying or placing, such as "closer" or "away", if any."""
    found = _DIRECTION.search(text.text)
    carries = clause.verb_class == "place" or clause.verb in CARRYING
    if found is None or not carries or (clause.verb == "drop" and found.group() == "off"):
        return None
    fetched = clause.verb_class == "pick" and found.group().endswith("here") and not only_leaves(found.group())
    return None if fetched else text[found.start() : found.end()]


def only_leaves(way: str) -> bool:
    """True for "away" and "out of here": a thing is to be gone, without a place to put it."""
    return way.split()[0] in _LEAVING


def _marks(words: Sequence[str], held: bool) -> list[RelationMark]:
    """Relations, and "to the bin" as a destination of its own."""
    marks = find_relations(words, noun_first=not held)
    covered = {i for mark in marks for i in range(mark.start, mark.end)}
    for i, word in enumerate(words):
        if word in ("to", "toward", "towards") and i not in covered and i + 1 < len(words):
            marks.append(RelationMark("to" if word == "to" else "next_to", i, i + 1, True))
    return sorted(marks, key=lambda mark: mark.start)
