"""Objects that nothing here is called by: what a pointing tool says of them, and what they may be instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from toolhand.agent_node.dialogue.naming import called, is_nameless, mapped, name_of, objects_of
from toolhand.agent_node.dialogue.sorting import FindObjects
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.plan.likeness import nearest_name, nearest_spelt
from toolhand.agent_node.plan.spoken import bare_phrase
from toolhand.agent_node.plan.types import ObjectRef, PlanAct
from toolhand.agent_node.policies.scripted.points import near
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.unfound import Unfound, quoted, unfound_in
from toolhand.tool_nodes.language.words import COLOURS, RELATIVE, SHADES, stem
from toolhand.tool_nodes.results import NOT_THERE, ToolError


def not_found(episode: Episode) -> list[Unfound]:
    """What the pointing tools of an episode have said is not here, in order."""
    errors = [record.result.error for record in episode.records]
    told = [unfound_in(error.message) for error in errors if error is not None and error.code in NOT_THERE]
    return [each for each in told if each is not None]


def called_otherwise(plan: PlanAct, unfound: Sequence[Unfound]) -> tuple[PlanAct, list[str]]:
    """An act with other words for what is not found, and the sentences that say so.

    What is offered, spelt alike, or else clearly alike takes the place of a name. Another word that the tool does not
    know is left out where a name is left: what it would tell cannot be seen.
    """
    told: list[str] = []
    named = {ref: each for each in unfound if (ref := object_of(plan, each)) is not None}

    def known(ref: ObjectRef) -> ObjectRef:
        each = named.get(ref)
        if each is None:
            return ref
        offered = [name for name in each.alike if _colours(ref.words) <= _colours(name)]
        words = set(ref.words.split())
        name = offered[0] if len(offered) == 1 else nearest_spelt([w for w in each.unknown if w in words], each.seen)
        seen = _without(ref, each.unknown)
        if not name and seen != ref:
            told.append(f'I do not know what "{" ".join(each.unknown)}" looks like; I go by the other words.')
            return seen
        name = name or (nearest_name(ref.words, each.seen) if each.unknown else "")
        if not name or name == ref.words:
            return ref
        told.append(f'I take "{ref.words}" for the {name}.')
        kept = [word for word in ref.words.split() if word in COLOURS and word not in name and not offered]
        return replace(ref, words=" ".join([*kept, name]))

    return mapped(plan, known), told


def object_of(plan: PlanAct, unfound: Unfound) -> ObjectRef | None:
    """The object of an act that is not found; None where it names none so."""
    refs = [ref for ref in objects_of(plan) if ref.words]
    exact = (ref for ref in refs if _as_asked(ref) == unfound.asked)
    outer = (ref for ref in reversed(refs) if ref.words in unfound.asked)
    return next(exact, next(outer, None))


def only_other(plan: PlanAct, unfound: Unfound, look: FindObjects) -> tuple[str, PlanAct] | None:
    """The question whether the only object that all but a name fits is meant, and the act with that object; None where
    several fit or none, or where something is called so and stands elsewhere."""
    ref = object_of(plan, unfound)
    nameless = None if ref is None else without_name(ref)
    if ref is None or nameless is None:
        return None
    phrase, name = bare_phrase(nameless), name_of(ref)
    try:
        points = look(list(dict.fromkeys([phrase, name, *unfound.seen])))
    except ToolError:
        return None
    found = points.get(phrase, [])
    if len(found) != 1 or points.get(name):
        return None
    seen = next((name for name in unfound.seen if any(near(at, found[0]) for at in points.get(name, ()))), "object")
    meant = mapped(plan, lambda each: called(seen, found[0]) if each == ref else each)
    return f"I see no {bare_phrase(ref)} here. Do you mean the {seen}? Answer yes, or say it in other words.", meant


def without_name(ref: ObjectRef) -> ObjectRef | None:
    """One object that is described as another without its name: "the red object"; None where nothing is left to tell
    it by."""
    *looks, name = ref.words.split() or [""]
    looks = [word for word in looks if word in COLOURS or word in SHADES or word in RELATIVE]
    tells = looks or ref.superlative or ref.ordinal or ref.clauses or ref.part
    if ref.is_many or not tells or is_nameless(ref) or not name:
        return None
    return replace(ref, words=" ".join([*looks, "object"]))


def _as_asked(ref: ObjectRef) -> str:
    try:
        return quoted(parse_noun_phrase(bare_phrase(ref)).text)
    except ToolError:
        return ""


def _without(ref: ObjectRef, unknown: Sequence[str]) -> ObjectRef:
    """An object without words that are not known; unchanged where its noun is one of them."""
    strange = {stem(word) for word in unknown}
    *looks, noun = ref.words.split()
    if not strange or stem(noun) in strange:
        return ref
    part = "" if any(stem(word) in strange for word in ref.part.split()) else ref.part
    kept = tuple(each for each in ref.clauses if each.kind != "words" or stem(each.words) not in strange)
    known = " ".join([*(word for word in looks if stem(word) not in strange), noun])
    return replace(ref, words=known, part=part, clauses=kept)


def _colours(words: str) -> set[str]:
    return {COLOURS[word] for word in words.split() if word in COLOURS}
