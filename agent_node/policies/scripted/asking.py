"""Questions to the operator: each says how to answer it, and most which whole command says the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.policies.scripted.answers import another_command, choose, ends, only_candidate
from toolhand.agent_node.policies.scripted.commands import Command
from toolhand.agent_node.policies.scripted.points import at, describe, near, side_of, side_of_first
from toolhand.agent_node.policies.scripted.steps import AnotherCommand, ScriptPart, ScriptStep, Withdrawn
from toolhand.tool_nodes.language.phrases import NounPhrase, parse_noun_phrase
from toolhand.tool_nodes.language.places import place_words, the
from toolhand.tool_nodes.types import ImagePoint

_QUOTED = 120
"""Longest quotation of an answer that was not understood [characters]."""


def where_of(command: Command, named: dict[NounPhrase, str] | None = None) -> str:
    """ "to the left of the box", with other words for some of its objects where they are `named`."""
    return place_words(command.place([(named or {}).get(each, each.text) for each in command.references]))


def which(command: Command, phrase: NounPhrase, points: Sequence[ImagePoint]) -> str:
    """Asks which of the objects at some points a phrase of a command means.

    "Which can do you mean: the left one at (0.21, 0.53) or the right one at (0.48, 0.42)? Answer such as "the left
    one", or say the whole command, such as "pick up the left can"."
    """
    named = {phrase: f"the {side_of_first(points)} {_sided(phrase)}"}
    target = command.target
    obj = "it" if target is None else named.get(target, the(target.text))
    again = f"pick up {obj}" if command.action == "pick" else f"put {obj} {where_of(command, named)}"
    as_reference = "" if phrase == target else " as the reference"
    question = f"Which {phrase.plain} do you mean{as_reference}: {describe(points)}?"
    first = f"the {side_of_first(points)} one"
    return f'{question} Answer such as "{first}", or say the whole command, such as "{again}".'


def which_two(command: Command, number: int) -> str:
    """Asks between which two objects a place is meant to be, where the command names another number of those here."""
    names = " and ".join(the(reference.text) for reference in command.references)
    return (
        f"Which two things do you mean: {names} are {number} here? "
        'Answer with two of them, such as "the box and the bowl".'
    )


class OperatorDialogue:
    """Puts questions to the operator and understands the answers; asks again after one that is not understood.

    Attributes:
        understood: How the last answer was understood, for the thought of the next step.
    """

    def __init__(self) -> None:
        self.understood = ""

    def which(
        self, command: Command, phrase: NounPhrase, points: Sequence[ImagePoint], detect: Callable[[str], ToolCall]
    ) -> ScriptPart[tuple[int, NounPhrase]]:
        """The one of several candidates that the operator means: its index, and words for it alone.

        Args:
            command: The command that the phrase is from.
            phrase: The words that several objects fit.
            points: The objects that fit.
            detect: Makes the call that points at the objects of a name.

        Raises:
            Withdrawn: The answer ends the command.
            AnotherCommand: The answer is another command.
        """
        thought = f"{len(points)} things fit {the(phrase.text)}; I must not guess."
        question = which(command, phrase, points)
        while True:
            said = yield from self._answer(thought, question)
            meant = choose(said, phrase, points)
            if isinstance(meant, int):
                index, words = meant, f"{side_of(points, meant)} {_sided(phrase)}"
            elif other := another_command(said):
                raise AnotherCommand(other)
            else:
                index, words = yield from self._look_for(meant, points, detect)
            if index >= 0:
                self.understood = f'"{said}" means {the(phrase.plain)} at {at(points[index])}.'
                return index, parse_noun_phrase(words)
            thought, question = f'"{said}" does not tell me which one.', _again(said, question)

    def _look_for(
        self, phrases: Sequence[str], points: Sequence[ImagePoint], detect: Callable[[str], ToolCall]
    ) -> ScriptPart[tuple[int, str]]:
        """The candidate that is the only one among what a phrase of an answer finds, and the phrase; -1 without one."""
        for phrase in phrases:
            [response] = yield ScriptStep(f"Which of them is {the(phrase)}?", (detect(phrase),))
            found = [i for point in response.points for i, candidate in enumerate(points) if near(point, candidate)]
            if (index := only_candidate(found)) is not None:
                return index, phrase
        return -1, ""

    def how(self, question: str, understand: Callable[[str], Command | None]) -> ScriptPart[Command]:
        """The command as an answer to another question makes it."""
        thought = "That can mean several things; I must not guess."
        while True:
            said = yield from self._answer(thought, question)
            command = understand(said)
            if command is not None:
                self.understood = f'"{said}" means: {command.understood}.'
                return command
            if other := another_command(said):
                raise AnotherCommand(other)
            thought, question = f'"{said}" does not tell me that.', _again(said, question)

    def _answer(self, thought: str, question: str) -> ScriptPart[str]:
        """The operator's answer. Raises Withdrawn where it ends the command."""
        [answer] = yield ScriptStep(thought, question=question)
        if ends(answer.text):
            raise Withdrawn(answer.text)
        return answer.text


def _sided(phrase: NounPhrase) -> str:
    """Words for a phrase that a side may precede: beside a size or another side it would not single out the same."""
    return phrase.plain if phrase.selectors else phrase.text


def _again(said: str, question: str) -> str:
    """The question once more; of the answers that were not understood the last one alone is quoted."""
    return f'I do not understand "{said[:_QUOTED]}" here. {question[question.find("Which") :]}'
