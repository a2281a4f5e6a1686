"""Questions that wait for the operator's answer, and what an answer to one of them means."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from toolhand.agent_node.dialogue.acts import Act, Deed, FollowUp, GroupAct, QuestionAct, Refused, SmallTalk
from toolhand.agent_node.dialogue.clauses import parses, with_place, with_reference, with_thing
from toolhand.agent_node.dialogue.wordings import is_place, is_thing, number_of, without_hesitation
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory import at_point
from toolhand.agent_node.open_question import Choice, OpenQuestion
from toolhand.agent_node.policies.scripted.answers import another_command, choose
from toolhand.agent_node.policies.scripted.commands import parse_command
from toolhand.agent_node.policies.scripted.offered import choices_in
from toolhand.agent_node.policies.scripted.verbs import strip_politeness
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.traced import Traced
from toolhand.tool_nodes.language.words import tokenize, words_only
from toolhand.tool_nodes.results import ToolError

_WHICH = re.compile(r"^(?:.*?\. )?Which (.{1,200}?) do you mean( as the reference)?:")
_ROUNDED = 0.006
"""Normalized distance by which a point of a question, which has two digits, may be off the one that was found."""


@dataclass(frozen=True)
class Answered:
    """What an answer comes to.

    Attributes:
        commands: Commands to try in this order: the next one where the one before finds nothing.
        chosen: Index of the candidate; -1 where the words have to be looked for.
        ended: The operator wants none of it.
        again: The answer is not understood: the question is asked again, after these words.
        other: The words are no answer but another utterance: "drop" closes the question, "keep" leaves it open.
    """

    commands: tuple[str, ...] = ()
    chosen: int = -1
    ended: bool = False
    again: str = ""
    other: str = ""


def question_of(
    episode: Episode, command: str, asked_s: float, shown: Callable[[str], str] = lambda words: words
) -> OpenQuestion:
    """The question that an episode has ended with, its candidates numbered where it has any.

    Args:
        episode: The command that asks.
        command: Its words.
        asked_s: Time when it was asked, seconds since the epoch.
        shown: Gives words of a candidate with the operator's left and right.
    """
    asked = _WHICH.match(episode.answer)
    found = [
        replace(each, point=None if each.point is None else _found_at(episode, each.point))
        for each in choices_in(episode.answer)
    ]
    if asked is None or len(found) < 2:
        return OpenQuestion(episode.answer, command, asked_s)
    named = f"{asked[1]}{asked[2] or ''}"
    listed = [f"{k}. {shown(each.words)}" for k, each in enumerate(found, 1)]
    text = f"Which {named} do you mean: {', '.join(listed[:-1])} or {listed[-1]}?"
    text += f' Answer such as "{shown(found[0].words)}" or "number 2".'
    return OpenQuestion(text, command, asked_s, named, tuple(found))


def which_command(commands: Sequence[str], asked_s: float, left: Sequence[str] = ()) -> OpenQuestion:
    """Asks which of several commands is meant."""
    listed = [f'{k}. "{command}"' for k, command in enumerate(commands, 1)]
    text = f"Do you mean {', '.join(listed[:-1])} or {listed[-1]}? Answer with its number, or say the whole command."
    return OpenQuestion(text, "", asked_s, "", tuple(Choice(command) for command in commands), tuple(left))


def _found_at(episode: Episode, point: tuple[float, float]) -> tuple[float, float]:
    """The point that a tool has found there, with all of its digits."""
    points = [
        (float(x), float(y))
        for record in episode.records
        for x, y in (record.result.facts.get("points") or () if record.result.ok else ())
    ]
    near = [each for each in points if math.dist(each, point) <= _ROUNDED * math.sqrt(2.0)]
    return min(near, key=lambda each: math.dist(each, point)) if near else point


def answered(
    question: OpenQuestion, words: str, acts: Sequence[Act], last: OpenQuestion | None, chosen: int
) -> Answered:
    """What words mean while a question waits.

    Args:
        question: It waits for an answer.
        words: Utterance of the operator.
        acts: The acts that the words would be without the question.
        last: The question that was answered before, and `chosen`, the index of the candidate that was chosen then.
    """
    act = acts[0] if len(acts) == 1 else None
    if question.candidates and words.lower().strip(" .!") == "right":
        act = None  # the side, and no consent
    if isinstance(act, Refused):
        return _again(question, words)
    if isinstance(act, GroupAct) and act.form == "without_verb":
        act = None  # "the one next to the bowl" says which
    words = without_hesitation(words) or words
    if isinstance(act, FollowUp) and act.kind in ("neither", "stop", "no_to_it"):
        return Answered(ended=True)
    if isinstance(act, QuestionAct | SmallTalk) or (isinstance(act, FollowUp) and act.kind == "pace"):
        return Answered(other="keep")
    if isinstance(act, FollowUp) and act.kind in (
        "undo",
        "undo_last",
        "put_back",
        "again",
        "robots_left",
        "cameras_left",
    ):
        return Answered(other="drop")
    if not question.candidates:
        return _of_no_candidates(question, words, act)
    if question.candidates[0].point is None:
        return _of_commands(question, words, act)
    return _of_things(question, words, act, last, chosen)


def _of_things(question: OpenQuestion, words: str, act: Act | None, last: OpenQuestion | None, chosen: int) -> Answered:
    points = [each.point for each in question.candidates if each.point is not None]
    plain = question.phrase.removesuffix(" as the reference")
    if isinstance(act, FollowUp) and act.kind == "other_one":
        same = last is not None and last.phrase == question.phrase and len(last.candidates) == len(points) == 2
        if same and chosen >= 0:
            return _chosen(question, 1 - chosen)
        return _again(question, words)
    if (denied := _denied(words)) and len(points) == 2:
        excluded = choose(denied, parse_noun_phrase(plain), points)
        return _chosen(question, 1 - excluded) if isinstance(excluded, int) else _again(question, words)
    if isinstance(act, FollowUp) and act.kind == "any_one":
        return _chosen(question, 0)
    if isinstance(act, FollowUp) and act.kind not in ("choice", "not_that"):
        return _again(question, words)
    said = act.words if isinstance(act, FollowUp) and act.kind == "not_that" else words
    try:
        meant = choose(said, parse_noun_phrase(plain), points)
    except ToolError:
        meant = ()
    if isinstance(meant, int):
        return _chosen(question, meant)
    if another_command(words) is not None or (act is not None and not isinstance(act, Deed | FollowUp)):
        return Answered(other="drop")
    if not strip_politeness(Traced.join(tokenize(words)))[0].text.strip(" ,.?!"):
        return _again(question, words)
    commands = [_named(question, plain, f"the {phrase}") for phrase in meant]
    commands = [command for command in commands if command]
    return Answered(tuple(commands)) if commands else _again(question, words)


def _denied(words: str) -> str:
    """What "not the left one" denies; empty for other words, and where a thing is said instead."""
    said = " ".join(str(word) for word in tokenize(words)).strip(" ,.!?")
    lead = next((each for each in ("not ", "anything but ", "any but ") if said.startswith(each)), "")
    denied = said.removeprefix(lead)
    return denied if lead and "," not in denied and is_thing(denied) else ""


def _chosen(question: OpenQuestion, index: int) -> Answered:
    command = about(question, index)
    return Answered((command,), index) if command else _again(question, question.candidates[index].words)


def about(question: OpenQuestion, index: int) -> str:
    """The command of a question about one of the things that it lets choose from; empty where none says that.

    It names the thing by its point, or where that cannot be said by the words for it alone.
    """
    candidate, plain = question.candidates[index], question.phrase.removesuffix(" as the reference")
    point = "" if candidate.point is None else f"the {plain} at {at_point(candidate.point)}"
    sided = re.sub(r"\bone\b", plain, candidate.words, count=1)
    # By its point first: "the far one" may be the near one by now. "Take the can at (0.2, 0.5)" says where to put it.
    picks = _picks(question.command)
    ways = [(point, point), (sided, f"the {sided}")]
    if not parses(question.command):
        return _of_a_skill(question, index)
    commands = [
        each
        for words, named in ways
        for each in (_named(question, plain, words), f"pick up {named}" * (picks and bool(named)))
    ]
    commands = [each for each in commands if each and parses(each)]
    commands = [each for each in commands if _picks(each) or not _picks(question.command)]
    return commands[0] if commands else ""


def _of_a_skill(question: OpenQuestion, index: int) -> str:
    """The words of a skill, such as "point at the can", with the thing that was chosen; empty where they name none."""
    point, plain = question.candidates[index].point, question.phrase.removesuffix(" as the reference")
    name = re.compile(rf"\b(?:the |a |an |my )?(?:\w+ ){{0,3}}?{re.escape(plain)}\b", re.IGNORECASE)
    named = name.sub(f"the {plain} at {at_point(point)}", question.command, count=1) if point is not None else ""
    return named if named != question.command else ""


def _picks(command: str) -> bool:
    return parses(command) and parse_command(command).action == "pick"


def _named(question: OpenQuestion, plain: str, words: str) -> str:
    """The command of a question with other words for what it asks about."""
    if question.phrase.endswith(" as the reference"):
        return with_reference(question.command, plain, words)
    return with_thing(question.command, words)


def _of_commands(question: OpenQuestion, words: str, act: Act | None) -> Answered:
    said = [str(word) for word in words_only(tokenize(words))]
    numbers = [number_of(word) for word in said if word not in ("the", "number", "one") or len(said) == 1]
    known = [number for number in numbers if number is not None]
    if isinstance(act, FollowUp) and act.kind == "choice" and len(known) == 1 and known[0] <= len(question.candidates):
        return Answered((question.candidates[known[0] - 1].words,), known[0] - 1)
    if another_command(words) is not None or (act is not None and not isinstance(act, Deed | FollowUp)):
        return Answered(other="drop")
    return _again(question, words)


def _of_no_candidates(question: OpenQuestion, words: str, act: Act | None) -> Answered:
    """An answer to "Go on?", or to a question of the policy that lets choose from nothing."""
    if not question.command:
        if isinstance(act, FollowUp) and act.kind in ("yes_to_it", "go_on"):
            return Answered(tuple(question.left), 0)
        return Answered(other="drop")
    if another_command(words) is not None:
        return Answered(other="drop")
    if isinstance(act, FollowUp) and act.kind == "yes_to_it":
        return _again(question, words)
    said = [str(word) for word in words_only(tokenize(words)) if word not in ("alone", "only", "just")]
    if is_place(said) and (command := with_place(question.command, " ".join(said))):
        return Answered((command,))
    if is_thing(" ".join(said)) and (command := with_reference(question.command, "", " ".join(said))):
        return Answered((command,))
    if act is not None and not isinstance(act, Deed | FollowUp):
        return Answered(other="drop")
    return _again(question, words)


def _again(question: OpenQuestion, words: str) -> Answered:
    return Answered(again=f'I do not understand "{words[:120]}" here. {question.text}')
