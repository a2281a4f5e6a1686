"""The objects of a plan as noun phrases, as far as a pointer can be asked for them."""

from __future__ import annotations

from toolhand.agent_node.plan.reading import say_object
from toolhand.agent_node.plan.spoken import noun_phrase
from toolhand.agent_node.plan.types import ObjectRef
from toolhand.agent_node.policies.scripted.refusals import SEVERAL_OBJECTS, refuse
from toolhand.tool_nodes.language.phrases import NounPhrase, parse_noun_phrase
from toolhand.tool_nodes.language.words import ORDINALS, SIDES, SIZES

_ONES = SIDES.keys() | SIZES.keys() | {"one", "ones", "object", "objects", "thing", "things"}
"""Words for one or more of several."""
_UNSEEN = ("heaviest", "lightest")
"""What no camera sees."""


def noun_of(ref: ObjectRef) -> NounPhrase:
    """The noun phrase of an object, with the directions of the image.

    Raises:
        ToolError: NOT_UNDERSTOOD for what names no object, or by more than a phrase can say.
    """
    words = say_object(ref)
    if ref.quantity in ("it", "them", "me", "you") or any(clause.kind == "moved last" for clause in ref.clauses):
        refuse("The command does not say which object: name it.")
    _check(ref, words)
    phrase = parse_noun_phrase(noun_phrase(ref))
    if phrase.unread:
        quoted = " ".join(dict.fromkeys(phrase.unread))
        refuse(f'I do not understand "{quoted}" in "{words}": say it in other words.')
    said = [ref.ordinal, *ref.words.split()]
    ordered = ref.side or phrase.selectors[1:] or any(word in SIDES or word in SIZES for word in phrase.text.split())
    if not ORDINALS.keys().isdisjoint(said) and not ordered:
        sides = ", ".join(f'"from the {side}"' for side in ("left", "right", "front", "back"))
        refuse(f'Nothing says from where "{words}" counts: add one of {sides}.')
    return phrase


def target_of(ref: ObjectRef) -> NounPhrase:
    """The noun phrase of the one object that is to be moved.

    Raises:
        ToolError: As of `noun_of`; NOT_UNDERSTOOD also for several objects.
    """
    words = say_object(ref)
    if ref.is_many:
        refuse(SEVERAL_OBJECTS.format(words))
    obj = noun_of(ref)
    if (obj.count or 1) > 1 or (obj.plural and not obj.head and not obj.selectors):
        refuse(SEVERAL_OBJECTS.format(words))
    if ref.quantity in ("another", "the other"):
        refuse(f'Nothing says which one "{words}" is not: say where it stands or what it looks like.')
    return obj


def _check(ref: ObjectRef, words: str, inner: bool = False) -> None:
    """Refuse what no noun phrase says, or no image shows."""
    superlatives = [ref.superlative, *(clause.words for clause in ref.clauses if clause.kind == "most")]
    unseen = next((word for word in superlatives if word in _UNSEEN), "")
    if unseen:
        refuse(f'"{unseen}" is nothing that I can see: say which one by name, colour, size or place.')
    group = next((clause for clause in ref.clauses if clause.kind == "group"), None)
    if group is not None and group.objects and ref.words.split()[-1] not in _ONES:
        refuse(f'I take and place whole things, and "{words}" names none.')
    for part in (clause.words for clause in ref.clauses if clause.kind == "part"):
        if not {"left", "right", "front", "back", "middle"} & set(part.split()):
            refuse(f'"{part}" tells nothing that I can see: say where by a thing that stands there.')
    related = [clause for clause in ref.clauses if clause.kind in ("relation", "extreme")]
    if len([clause for clause in related if not clause.denied]) > 1:
        refuse(f'I can tell a thing by one other thing at a time: say "{words}" with one of them.')
    if inner and any(clause.denied for clause in ref.clauses):
        refuse(f'I cannot leave anything out of what "{words}" is told by.')
    for clause in related:
        for obj in clause.objects:
            _check(obj, words, inner=True)
