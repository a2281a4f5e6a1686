"""Questions that wait for the operator's answer, and what an answer to one of them means."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from toolhand.agent_node.dialogue.acts import AnswerAct, FollowUp, QuestionAct, Refused
from toolhand.agent_node.dialogue.naming import called, is_nameless, mapped, name_of
from toolhand.agent_node.dialogue.reading import act_of
from toolhand.agent_node.episode import Episode
from toolhand.agent_node.memory import at_point
from toolhand.agent_node.open_question import OpenQuestion
from toolhand.agent_node.plan.reading import read_plan, say_act
from toolhand.agent_node.plan.spoken import noun_phrase
from toolhand.agent_node.plan.types import ObjectRef, Plan, PlanAct
from toolhand.agent_node.policies.scripted.answers import choose
from toolhand.agent_node.policies.scripted.offered import choices_in
from toolhand.tool_nodes.language.phrases import parse_noun_phrase

_WHICH = re.compile(r"^(?:.*?\. )?Which (.{1,200}?) do you mean( as the reference)?:")
_REFERENCE = " as the reference"
_ROUNDED = 0.006
"""Normalized distance by which a point of a question, which has two digits, may be off the one that was found."""


@dataclass(frozen=True)
class Answered:
    """What an answer comes to.

    Attributes:
        commands: Steps to try in this order: the next one where the one before finds nothing.
        chosen: Index of the candidate; -1 where the words have to be looked for.
        ended: The operator wants none of it.
        again: The answer is not understood: the question is asked again.
        other: The words are no answer but another utterance: "drop" closes the question, "keep" leaves it open.
    """

    commands: tuple[str, ...] = ()
    chosen: int = -1
    ended: bool = False
    again: bool = False
    other: str = ""


def question_of(episode: Episode, step: str, asked_s: float) -> OpenQuestion:
    """The question that an episode has ended with, its candidates numbered where it has any.

    Args:
        episode: The command that asks.
        step: The act that it carries out, in the robot's words.
        asked_s: Time when it was asked, seconds since the epoch.
    """
    asked = _WHICH.match(episode.answer)
    found = [
        replace(each, point=None if each.point is None else _found_at(episode, each.point))
        for each in choices_in(episode.answer)
    ]
    if asked is None or len(found) < 2:
        return OpenQuestion(episode.answer, step, asked_s)
    named = f"{asked[1]}{asked[2] or ''}"
    listed = [f"{k}. {each.words}" for k, each in enumerate(found, 1)]
    text = f"Which {named} do you mean: {', '.join(listed[:-1])} or {listed[-1]}?"
    text += f' Answer such as "{found[0].words}" or "number 2".'
    return OpenQuestion(text, step, asked_s, named, tuple(found))


def _found_at(episode: Episode, point: tuple[float, float]) -> tuple[float, float]:
    """The point that a tool has found there, with all of its digits."""
    points = [
        (float(x), float(y))
        for record in episode.records
        for x, y in (record.result.facts.get("points") or () if record.result.ok else ())
    ]
    near = [each for each in points if math.dist(each, point) <= _ROUNDED * math.sqrt(2.0)]
    return min(near, key=lambda each: math.dist(each, point)) if near else point


def answered(question: OpenQuestion, plan: Plan, last: OpenQuestion | None, chosen: int) -> Answered:
    """What a plan means while a question waits.

    Args:
        question: It waits for an answer.
        plan: Acts that the operator has said.
        last: The question that was answered before, and `chosen`, the index of the candidate that was chosen then.
    """
    if len(plan) > 1:
        return Answered(other="drop")
    act = act_of(plan[0])
    if isinstance(act, Refused):
        return Answered(again=True)
    if isinstance(act, QuestionAct | AnswerAct) or (isinstance(act, FollowUp) and act.kind == "pace"):
        return Answered(other="keep")
    kind = act.kind if isinstance(act, FollowUp) else ""
    if kind in ("cancel", "stop", "no"):
        return Answered(ended=True)
    if not question.candidates:
        if kind in ("yes", "go_on") and not question.command:
            return Answered(question.left, 0)
        return Answered(again=True) if isinstance(act, FollowUp) and act.only_answers else Answered(other="drop")
    if kind == "other_one":
        same = last is not None and last.phrase == question.phrase and len(last.candidates) == 2
        return _chosen(question, 1 - chosen) if same and chosen >= 0 else Answered(again=True)
    if kind == "any_one":
        return _chosen(question, 0)
    if isinstance(act, FollowUp) and act.words and kind == "choice":
        number = int(act.words)
        return _chosen(question, number - 1) if 0 < number <= len(question.candidates) else Answered(again=True)
    ref = act.object if isinstance(act, FollowUp) and kind in ("choice", "not_that") else _only_which(plan[0])
    if ref is not None:
        return _of_objects(question, ref)
    return Answered(again=True) if kind in ("yes", "not_that_one") else Answered(other="drop")


def _only_which(act: PlanAct) -> ObjectRef | None:
    """The object of an act that only says which one, as "pick up the red one" does; None for another one."""
    only = act.kind in ("pick", "give", "point") and len(act.objects) == 1
    return act.objects[0] if only and act.objects[0].words and is_nameless(act.objects[0]) else None


def _of_objects(question: OpenQuestion, ref: ObjectRef) -> Answered:
    points = [each.point for each in question.candidates if each.point is not None]
    phrase = parse_noun_phrase(_plain(question))
    denied = [clause for clause in ref.clauses if clause.denied]
    if len(denied) == 1 and len(points) == 2:
        holds = replace(ref, clauses=tuple(replace(clause, denied=False) for clause in ref.clauses))
        excluded = choose(noun_phrase(holds), phrase, points)
        return _chosen(question, 1 - excluded) if isinstance(excluded, int) else Answered(again=True)
    meant = choose(noun_phrase(ref) if ref.point is None else at_point(ref.point), phrase, points)
    if isinstance(meant, int):
        return _chosen(question, meant)
    named = called(_plain(question))
    tries = [instead_of(named, ref)] if meant else []
    if meant and not is_nameless(ref):
        tries = [replace(ref, words=f"{ref.words} {named.words}"), ref]
        tries = tries[1:] if ref.words.endswith(named.words.split()[-1]) else tries
    commands = tuple(_with(question, each) for each in tries)
    return Answered(commands) if commands else Answered(again=True)


def instead_of(ref: ObjectRef, other: ObjectRef) -> ObjectRef:
    """An object in the place of another, whose name it has where it has none: "the red can" for "the red one"."""
    if not is_nameless(other):
        return other
    return replace(other, words=" ".join([*other.words.split()[:-1], name_of(ref)]))


def _plain(question: OpenQuestion) -> str:
    return question.phrase.removesuffix(_REFERENCE)


def _chosen(question: OpenQuestion, index: int) -> Answered:
    return Answered((about(question, index),), index)


def about(question: OpenQuestion, index: int) -> str:
    """The step of a question about one of the objects that it lets choose from, by its point."""
    candidate = question.candidates[index]
    if candidate.point is not None:
        return _with(question, called(_plain(question), candidate.point))
    return _with(question, called(re.sub(r"^the |\bone\b", "", candidate.words).strip() + f" {_plain(question)}"))


def _with(question: OpenQuestion, ref: ObjectRef) -> str:
    """The step of a question with an object in the place of that which it asks about."""
    [act] = read_plan(question.command)
    of_place = [each for part in act.place for each in part.objects]
    inner = [each for outer in act.objects for clause in outer.clauses for each in clause.objects]
    refers = question.phrase.endswith(_REFERENCE)
    named = [*of_place, *inner, *act.objects] if refers else [*act.objects, *of_place, *inner]
    asked = next((each for each in named if name_of(each) == _plain(question)), named[0])
    if not refers and asked in act.objects:
        at = act.objects.index(asked)
        return say_act(replace(act, objects=(*act.objects[:at], ref, *act.objects[at + 1 :])))
    changed = mapped(act, lambda each: ref if each == asked else each)
    return say_act(changed if asked in inner else replace(changed, objects=act.objects))
