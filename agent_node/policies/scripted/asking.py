"""Questions to the operator. No answer to one is remembered, so each says which whole command to type."""

from __future__ import annotations

from collections.abc import Sequence

from agent_node.policies.scripted.commands import Command
from agent_node.policies.scripted.points import describe, side_of_first, the
from agent_node.policies.scripted.transcript import PicturePoint
from tool_nodes.language.phrases import NounPhrase
from tool_nodes.language.relations import RELATION_WORDS

_BESIDE = {"left": "left_of", "right": "right_of", "near": "in_front_of", "far": "behind"}


def where_of(command: Command, named: dict[NounPhrase, str] | None = None) -> str:
    """ "to the left of the box", with other words for some of its things where they are `named`."""
    if command.relation == "anywhere":
        return "on the table"
    names = [(named or {}).get(reference, the(reference.text)) for reference in command.references]
    return f"{RELATION_WORDS[command.relation or 'on']} {' and '.join(names)}"


def which(command: Command, phrase: NounPhrase, points: Sequence[PicturePoint]) -> str:
    """Asks which of the things at some points a phrase of a command means.

    "Which can do you mean: the left one at (0.21, 0.53) or the right one at (0.48, 0.42)? Type the whole command once
    more, such as "pick up the left can"."
    """
    # Beside a size or another side, a side would not single out the same things.
    said = phrase.plain if phrase.selectors else phrase.text
    named = {phrase: f"the {side_of_first(points)} {said}"}
    target = command.target
    thing = "it" if target is None else named.get(target, the(target.text))
    again = f"pick up {thing}" if command.action == "pick" else f"put {thing} {where_of(command, named)}"
    as_reference = "" if phrase == target else " as the reference"
    question = f"Which {phrase.plain} do you mean{as_reference}: {describe(points)}?"
    return f'{question} Type the whole command once more, such as "{again}".'


def which_two(command: Command, number: int) -> str:
    """Asks between which two things a place is meant to be, where the command names another number of those here."""
    names = " and ".join(the(reference.text) for reference in command.references)
    return (
        f"Which two things do you mean: {names} are {number} here? Type the whole command once more with two of them."
    )


def which_side(phrase: NounPhrase, said: str) -> str:
    """Asks what the side that was `said` after the only thing of its name means: which thing, or where to go?"""
    side = next((s.key for s in phrase.selectors if s.key in _BESIDE), "left")
    return (
        f"Which place do you mean by {said}? There is one {phrase.plain}: say "
        f'"{RELATION_WORDS[_BESIDE[side]]} the {phrase.plain}", or "the {phrase.plain}" alone.'
    )
