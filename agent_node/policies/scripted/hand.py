"""Names of what the gripper holds: compared with the words that it was grasped by, which the robot remembers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from toolhand.agent_node.policies.scripted.commands import Command
from toolhand.tool_nodes.catalogue import load_catalogue
from toolhand.tool_nodes.language.phrases import NounPhrase, parse_noun_phrase
from toolhand.tool_nodes.language.places import the
from toolhand.tool_nodes.language.vocabulary import NAMED, Vocabulary, match
from toolhand.tool_nodes.language.words import stem
from toolhand.tool_nodes.results import ErrorCode, ToolError

TO_EMPTY_IT = 'say "put it down" to empty it'
EMPTY_IT = 'Say "put it down", or where to put it, before anything else.'
"""How an operator empties the hand."""


def of_what_is_held(command: Command, called: str | None) -> Command:
    """The command with what is held in the place of its name.

    Args:
        command: Command of the operator.
        called: The words that what is held was grasped by, "" where unknown; None where nothing is held.

    Raises:
        ToolError: ALREADY_HOLDING where the command is of something else, or would grasp a second object.
    """
    obj = command.target or command.held_as
    if called is None or (obj is None and command.action == "place"):
        return command
    held = the(called) if called else "something that nobody has named"
    if obj is None or not is_called(obj, called):
        meant = "" if obj is None else f", and I cannot tell that it is {the(obj.text)}"
        raise ToolError(ErrorCode.ALREADY_HOLDING, f"The gripper holds {held}{meant}.", EMPTY_IT)
    if command.action == "pick":
        raise ToolError(ErrorCode.ALREADY_HOLDING, f"The gripper already holds {held}.", EMPTY_IT)
    return replace(command, target=None, held_as=obj)


def is_called(phrase: NounPhrase, called: str) -> bool:
    """True if a phrase surely means what was grasped by the words `called`.

    Every product that those may mean has to fit the phrase: what was grasped as "the baseball" is "the ball", but what
    was grasped as "the ball" may not be "the baseball". A side or a relation is that of an object on the table.
    """
    if not phrase.words and phrase.generic and not (phrase.selectors or phrase.relation):
        return True
    if not called:
        return False
    try:
        known = parse_noun_phrase(called)
    except ToolError:
        return False
    place = (phrase.selectors, phrase.relation, phrase.references)
    if place != ((), None, ()) and place != (known.selectors, known.relation, known.references):
        return False
    if {stem(word) for word in phrase.words} == {stem(word) for word in known.words}:
        return phrase.excluded is None
    may_be, fitting = _products(known.words, known.head), _products(phrase.words, phrase.head)
    return phrase.excluded is None and bool(may_be) and may_be <= fitting


def renamed(command: Command, called: str | None) -> NounPhrase | None:
    """The words of a command to place what may be held: what was grasped as "the fruit" as "the apple".

    They are, where an image shows no other object on the table that they mean. None where they cannot be.
    """
    obj = command.target or command.held_as
    if not called or obj is None or command.action == "pick" or obj.selectors or obj.relation or obj.excluded:
        return None
    try:
        known = parse_noun_phrase(called)
    except ToolError:
        return None
    return obj if _products(known.words, known.head) & _products(obj.words, obj.head) else None


def left_in_hand(wrong: bool, lost: bool, named: bool, name: str) -> str:
    """What the gripper holds after a failure with an object in it, in words.

    Args:
        wrong: It is another object than was meant.
        lost: It has slipped out.
        named: It is known what it is.
        name: Its name in answers.
    """
    if wrong:
        return f"the gripper still holds what it lifted ({TO_EMPTY_IT})"
    if lost:
        return "the gripper holds nothing"
    held = f"the gripper still holds {name}" if named else "whatever the gripper held it may still hold"
    return f"{held} ({TO_EMPTY_IT})"


def left_empty(code: ErrorCode, began: bool, moved: bool) -> str:
    """What is known of the hand after a failure where nothing should be in it, in words; "" where others say it.

    Args:
        code: Code of the failure.
        began: A grasp was planned.
        moved: The arm has moved.
    """
    unknown = (ErrorCode.EXECUTION_FAILED, ErrorCode.TIMEOUT, ErrorCode.CONTROLLER_FAULT, ErrorCode.STOPPED)
    if code in unknown and began:
        return "check the gripper before the next command"
    if moved:
        return "the gripper is empty"
    return "" if code is ErrorCode.NOT_APPROVED else "nothing has moved"  # the guard's own sentence says so


def _products(words: Sequence[str], head: str) -> frozenset[str]:
    """Names of the products that words with a head noun may mean."""
    for groups, spoken in NAMED:
        found = [name for name, said in _vocabularies(spoken) if match(words, head, said, groups) is not None]
        if found:
            return frozenset(found)
    return frozenset()


@lru_cache(maxsize=2)
def _vocabularies(spoken: bool) -> tuple[tuple[str, Vocabulary], ...]:
    return tuple(
        (item.name, Vocabulary.of(item.seen((0.5, 0.5), np.zeros(3), np.asarray(item.size_m, float)), spoken))
        for item in load_catalogue().values()
    )
