"""Nouns that name no thing on a table: places, parts, properties, people and the robot itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from toolhand.agent_node.policies.scripted.refusals import PLACES, refuse, refuse_side
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.language.relations import CLAUSES, RelationMark, find_relations
from toolhand.tool_nodes.language.traced import WordTrace, origin
from toolhand.tool_nodes.language.vocabulary import stems
from toolhand.tool_nodes.language.words import (
    BACKDROPS,
    DETERMINERS,
    FUNCTION_WORDS,
    NUMBERS,
    SIDES,
    SUPPORTS,
    is_plural,
    singular,
    stem,
    word_set,
)

_PLACES = word_set(
    """
    corner edge end border boundary side middle centre spot place space way reach floor ground wall ceiling shelf
    room area region zone location position distance direction horizon home hand lap palm pocket mouth arms feet
    foot front back rear left right half quarter section part portion interior exterior perimeter margin outside
    inside there here point sight view air sky world order mess
    """
)
"""What people call places; a camera over a table shows none of them as a thing."""
_PARTS = word_set(
    """
    cap lid rim brim lip handle label neck tail head ear nose leg stem spout tip top bottom surface inside outside
    side edge corner end half part portion quarter section front back rear middle centre opening cover wrapper
    sticker hole belly face mane wheel roof interior exterior point
    """
)
CONTAINERS = frozenset(("bin", "bowl", "basket", "crate", "tray", "bucket", "container", "tub", "drawer"))
"""What has a back inside as well as one outside."""
_AT_A_FACE = re.compile(r"(?:at|to|on|by) (?:the )?(?P<face>back|rear|front)(?: side)? of")
_AT = frozenset({"at", "along", "around", "across", "past"})
"""Prepositions of places that no relation of the robot is."""
_EDGES = frozenset({"edge", "corner", "border", "margin", "wall", "boundary", "rim"})
_UNSEEN = word_set(
    """
    lightest heaviest oldest newest cheapest dearest ripest freshest sweetest sourest tastiest healthiest cleanest
    dirtiest hottest coldest warmest softest hardest nicest prettiest ugliest best worst strongest weakest favourite
    favorite heavier lighter older newer cheaper fresher cleaner softer harder
    """
)
"""Properties by which no thing can be chosen in a picture."""
_PROPERTIES = word_set(
    "colour size weight name shape height width length price content kind type taste smell number picture image"
)
_ROBOT = word_set("robot arm gripper claw jaw finger hand yourself camera")
_PEOPLE = word_set("me us you him her")
_MANY = word_set("everything all anything them these those")
_WHOLE = word_set("two both all them these those three four five row line")
"""Words of several things: "the left of the two cans" is one of them and no part."""


def _own(words: Sequence[str]) -> Sequence[str]:
    """The words of a noun phrase up to its first relation or clause."""
    ends = [mark.start for mark in find_relations(words)] + [i for i, w in enumerate(words) if i and w in CLAUSES]
    return words[: min([*ends, len(words)])]


def _named(words: Sequence[str]) -> list[str]:
    """Those of them that are no articles."""
    return [w for w in _own(words) if w not in DETERMINERS and not w.startswith("<")]


def is_part(words: Sequence[str]) -> bool:
    """True for "the rim of the bowl" and "the back of the bin", but not for "the left of the two cans"."""
    own = _own(words)
    for i, word in enumerate(own[:-2]):
        rest = own[i + 2 :]
        noun = [w for w in rest if w not in DETERMINERS]
        if own[i + 1] != "of" or not noun or (_WHOLE | NUMBERS.keys()) & set(rest):
            continue
        if singular(word) in _PARTS | _PLACES or (word in SIDES and not is_plural(noun[-1])):
            return True
    return False


def _head(words: Sequence[str]) -> str:
    """The noun of a phrase, or "" where it is that of a product, whatever else it may mean."""
    named = [w for w in _named(words) if w not in FUNCTION_WORDS]
    head = singular(named[-1]) if named else ""
    return "" if stem(head) in _product_heads() else head


@lru_cache(maxsize=1)
def _product_heads() -> frozenset[str]:
    items = load_catalogue().values()
    return frozenset(stems(name)[-1] for item in items for name in (item.name, item.kind, *item.synonyms))


def check_target(words: Sequence[str], account: WordTrace) -> None:
    """Refuse what is no whole thing as the object of a verb. Raises ToolError NOT_UNDERSTOOD."""
    head = _head(words)
    named = _named(words)
    own = _own(words)
    of_something = any(singular(word) in _PROPERTIES and own[i + 1] == "of" for i, word in enumerate(own[:-1]))
    if of_something or head in _PROPERTIES or named[:1] == ["colour"]:
        refuse(f"{account.quote(words)} is no thing that I could pick up.")
    unseen = next((word for word in words if word in _UNSEEN), None)
    if unseen is not None:
        refuse(f"{account.quote([unseen])} is nothing that I can see: say which one by name, colour, size or place.")
    at = next((i for i, word in enumerate(own) if i and word in _AT), None)
    edges = [i for i, w in enumerate(words) if singular(w) in _EDGES and words[i + 1 : i + 2] != ["of"]]
    marks = [m.start for m in find_relations(words) if edges and m.end <= edges[0]]
    if at is not None and (is_part(words[at + 1 :]) or head in _PARTS | _PLACES):
        refuse(f"{account.quote(words[at:])} names no thing: say where by a thing that stands there.")
    if edges and marks:
        refuse(f"{account.quote(words[marks[-1] :])} names no thing: say where by a thing that stands there.")
    if is_part(words) or head in _PARTS:
        refuse(f"I take and place whole things, and cannot take {account.quote(words)} by itself.")
    if head in _ROBOT and len(named) <= 2:
        refuse(f"{account.quote(words)} is a part of myself; I can pick things up and place them.")


def check_reference(mark: RelationMark, rest: Sequence[str], part: Sequence[str], account: WordTrace) -> None:
    """Refuse what is no thing that something can be placed at. Raises ToolError NOT_UNDERSTOOD.

    Args:
        mark: Where the relation stands in `rest`.
        rest: The words of the clause.
        part: Those of one reference.
        account: Quotes them.
    """
    said = account.quote(origin((*rest[mark.start : mark.end], *part)))
    face = _AT_A_FACE.fullmatch(" ".join(rest[mark.start : mark.end]))
    if face and stem(_named(part)[-1] if _named(part) else "") in CONTAINERS:
        outside = "in front of" if face["face"] == "front" else "behind"
        refuse(f'I cannot tell whether {said} is a place inside or outside: say "in" or "{outside}".')
    if is_part(part):
        if mark.relation == "in":
            refuse(f"I can put a thing into another one, but cannot choose where in it, as {said} does.")
        refuse(f"{said} is no place for me, as it is only a part of a thing. {PLACES}")
    bare = [w for w in part if w not in DETERMINERS]
    if bare and all(w.startswith("<") or w in SIDES for w in bare):
        refuse_side(said)
    if bare and set(bare) <= _PEOPLE:
        refuse(f"{said} is no place for me. {PLACES}")
    if _head(part) in _PLACES | _PARTS | _ROBOT and not (set(part) & (SUPPORTS | BACKDROPS) and len(bare) == 1):
        refuse(f"{said} is no place for me. {PLACES}")
    if mark.relation in ("in", "on") and set(bare) & _MANY:
        refuse(f"I can place a thing {said.split()[0].strip(chr(34))} one other thing, and {said} names more.")
