"""Clauses and their words, looked at on their own: what is a particle, what comes first, what is said twice."""

from __future__ import annotations

from collections.abc import Sequence

from toolhand.agent_node.policies.scripted.places import starts_place
from toolhand.agent_node.policies.scripted.verbs import PRONOUNS, VERBS, Clause
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.relations import RELATION_WORDS, RelationMark, find_relations, rewrite
from toolhand.tool_nodes.language.traced import Token, Traced
from toolhand.tool_nodes.language.words import DETERMINERS, FUNCTION_WORDS, stem, words_only


def as_said(clause: Clause) -> str:
    """The verb as it was said."""
    return next((word for word in clause.spoken if VERBS.get(word, ("",))[0] == clause.verb), clause.verb)


def is_bare_command(tokens: Sequence[Token]) -> bool:
    """True for a thing and a place without a verb: "can behind box"; "the can behind the box" may be only a thing."""
    words = rewrite(words_only(tokens))
    marks = find_relations(words)
    directed = any(" ".join(tokens[m.start : m.end]) in ("into", "onto") for m in find_relations(tokens))
    bare = bool(marks) and not (DETERMINERS | FUNCTION_WORDS).intersection(words[: marks[0].start])
    return directed or (bare and marks[0].relation in RELATION_WORDS)


def inverted_at(mark: RelationMark, rest: Sequence[Token]) -> int | None:
    """Where the thing begins in "put in the bowl the can"; None where the thing comes first."""
    if mark.start:
        return None
    for i in range(mark.end + 2, len(rest)):
        if rest[i] in ("the", "my", "this", "that") and rest[i - 1] not in (*FUNCTION_WORDS, "and", "of", "or"):
            return i
    return None


def picked_and_put(thing: Traced, place: Traced) -> list[Clause]:
    """Two clauses, so that what is said of the thing is not taken for its new place."""
    return [Clause("pick", "pick", tuple(thing.split())), Clause("put", "place", (Token("it"), *place.split()))]


def is_particle(word: str, before: Sequence[str], rest: Sequence[str]) -> bool:
    """True for "back" in "put it back on the table", but not in "the back can"."""
    if word not in ("back", "away", "aside", "again", "off", "out", "over") or rest[:1] in (["of"], ["from"]):
        return False
    if not rest or rest[0] in ("to", "toward", "towards", "and") or rest[0].startswith("<") or starts_place(rest):
        return True
    # "Hand over the can", but "put it over the box".
    leads = not before and (rest[0] in DETERMINERS or rest[0] in PRONOUNS)
    return leads or (word != "over" and before[-1:] in (["it"], ["them"]))


def same_thing(thing: NounPhrase, target: NounPhrase) -> bool:
    """True if a later clause speaks of the thing that an earlier one named, and adds nothing."""
    said = (thing.selectors, thing.relation, thing.references, thing.excluded, thing.details)
    known = (target.selectors, target.relation, target.references, target.excluded, target.details)
    words = {stem(word) for word in thing.words}
    if thing.point not in (None, target.point):
        return False
    return words <= {stem(word) for word in target.words} and (said == known or said == ((), None, (), None, ()))
