"""Pronouns of a command: what they mean is put in their place, so that a policy reads a whole sentence."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from toolhand.agent_node.dialogue.clauses import parses
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.policies.scripted.points import the
from toolhand.agent_node.policies.scripted.transcript import PicturePoint
from toolhand.agent_node.policies.scripted.verbs import VERBS
from toolhand.tool_nodes.language.traced import origin, spoken_words
from toolhand.tool_nodes.language.words import stem, tokenize, word_set

_PRONOUNS = ("it", "that", "this", "them")
"""Words that may mean the thing that was spoken of last."""

OTHER = re.compile(
    r"\b(?:the|my) other (?P<noun>(?!(?:ones?|side|way|end|hand|half|corner|edge|part|things?)\b)"
    r"(?:[a-z]+ ){0,2}?[a-z]+)(?=$|[,.]| (?:in|into|on|onto|to|next|beside|behind|between|near|at|away|over|from|closer"
    r"|and|please|up|too)\b)",
    re.IGNORECASE,
)
"""A thing that is another one than that which was spoken of: "the other can"."""


def others(points: Sequence[PicturePoint], robot: RobotMemory, name: str) -> list[PicturePoint]:
    """Those of some points where no thing stands that was moved or spoken of by a name before, the last deed's first.

    Args:
        points: Where things of that name stand.
        robot: Memory of the robot.
        name: The name.
    """
    words = {stem(word) for word in name.split()}
    deeds = [deed for deed in robot.deeds if deed.success and {stem(word) for word in deed.thing.split()} & words]
    spots = [deed.after.point for deed in deeds[-1:] if deed.after is not None]
    return [point for point in points if all(math.dist(point, spot) > _SAME_THING for spot in spots)]


_SAME_THING = 0.06
"""Normalized distance up to which a point is that of a thing that was put there [-]: some 6 cm, most of its width."""


def resolved(text: str, thing: str, holds: bool = False) -> str:
    """A command with words for a thing in the place of "it"; the same where it needs none, or none is known.

    Args:
        text: The command.
        thing: Words for what was spoken of last, without an article, e.g. "lemon at (0.480, 0.420)"; empty for nothing.
        holds: The gripper holds something, which "it" then means to a policy by itself.
    """
    if not thing:
        return text
    if parses(text):
        command = parse_command(text)
        needs = command.action == "place" and command.target is None and command.held_as is None and not holds
        if not needs or command.relation == "anywhere":
            return text
    named = _without_pronoun(text, thing)
    return named if named != text and parses(named) else text


def named_again(text: str, thing: str) -> str:
    """A command that is to be said again, with the plain name of its thing in the place of "it"."""
    return resolved(text, thing) if parses(text) else text


def _without_pronoun(text: str, thing: str) -> str:
    tokens = tokenize(text)
    spans = spoken_words(text)
    at = [k for k, token in enumerate(tokens) if token in _PRONOUNS]
    following = [k for k in at if _stands_for_a_thing(tokens, k)]
    if not following:
        return text
    word = next(iter(sorted(origin([tokens[following[0]]]))), None)
    if word is None:
        return text
    begin, end = spans[word]
    return f"{text[:begin]}{the(thing)}{text[end:]}"


def _stands_for_a_thing(tokens: Sequence[str], at: int) -> bool:
    """Whether "that" or "it" stands for a thing here: it ends the command, or no noun follows it."""
    if tokens[at] == "it":
        return True
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    before = tokens[at - 1] if at else ""
    return (before in VERBS or before in ("up", "down")) and (not after or after in _AFTER)


_AFTER = word_set("in into on onto to next behind between beside back down up away there , . and")
"""What follows a pronoun, and no adjective or noun."""
