"""From acts of a plan to what the dialogue does with each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from toolhand.agent_node.dialogue.acts import (
    Act,
    AnswerAct,
    Deed,
    FollowUp,
    GroupAct,
    QuestionAct,
    Refused,
    SkillAct,
)
from toolhand.agent_node.plan.spoken import bare_phrase, noun_phrase, relation_words
from toolhand.agent_node.plan.types import ObjectRef, Plan, PlanAct
from toolhand.agent_node.policies.scripted.refusals import ABILITY
from toolhand.tool_nodes.language.speeds import LEAST, SLOWLY
from toolhand.tool_nodes.language.words import COLOURS, GENERIC
from toolhand.tool_nodes.results import ErrorCode

_FIXED: Mapping[str, Act] = {
    "open the gripper": SkillAct("open_gripper"),
    "close the gripper": SkillAct("close_gripper"),
    "go home": SkillAct("park"),
    "look again": SkillAct("look_again"),
    "hold still": SkillAct("hold_still"),
    "again": FollowUp("again"),
    "undo": FollowUp("undo"),
    "undo the last move": FollowUp("undo_last"),
    "undo everything": FollowUp("undo_all"),
    "go on": FollowUp("go_on"),
    "skip it": FollowUp("skip"),
    "stop": FollowUp("stop"),
    "cancel": FollowUp("cancel"),
    "not that one": FollowUp("not_that_one"),
    "choose any": FollowUp("any_one"),
    "yes": FollowUp("yes"),
    "no": FollowUp("no"),
    "speed slower": FollowUp("pace", words="slowly"),
    "speed faster": FollowUp("pace"),
    "hello": AnswerAct('Hello. Tell me what to pick up or where to put something; "help" says what I can do.'),
    "thanks": AnswerAct("You are welcome."),
    "goodbye": AnswerAct("Goodbye. The arm stays where it is."),
    "good job": AnswerAct("Thank you."),
    "sorry": AnswerAct("No harm done. Tell me what to do."),
    "that was bad": AnswerAct(
        'I am sorry. "Undo" takes the last step back where that is possible, and "why not" says what went wrong.'
    ),
    "nothing": AnswerAct("I take that for a remark."),
    "unclear": Refused(ErrorCode.AMBIGUOUS, "I do not know what is meant. Say what to take, or where to put it."),
    "what do you see": QuestionAct("see"),
    "what are you holding": QuestionAct("holding"),
    "what did you do": QuestionAct("did"),
    "why not": QuestionAct("why_not"),
    "what can you do": QuestionAct("can"),
    "help": QuestionAct("help"),
    "check the colours": GroupAct(PlanAct("fixed", words="check the colours")),
}
"""What the fixed words of the grammar ask for."""
_SKILLS = {
    "give": "hand_over",
    "point": "point_at",
    "lift": "lift_a_little",
    "stand": "upright",
    "look_at": "look_again",
    "hold_low": "hold_low",
}
_GROUPS = ("swap", "stack", "together", "row", "sort", "clear", "empty_out")


def spread(plan: Plan) -> Plan:
    """A plan in which each act that moves something is about one object, or about several that a look has to tell."""
    found: list[PlanAct] = []
    for act in plan:
        if act.kind == "put":
            found += [replace(act, objects=(each,)) for each in act.objects]
        else:
            found.append(act)
    return tuple(found)


def share_of(speed: str) -> float:
    """The share of the allowed speed, in (0, 1], of "slowly", "40 %" or nothing."""
    if not speed:
        return 1.0
    return SLOWLY if speed == "slowly" else min(max(int(speed.rstrip(" %")) / 100.0, LEAST), 1.0)


def act_of(act: PlanAct) -> Act:
    """What an act of one object, as `spread` leaves it, asks for; its condition is not looked at."""
    objects, kind = act.objects, act.kind
    first = objects[0] if objects else None
    if kind == "fixed":
        fixed = _FIXED[act.words]
        return replace(fixed, speed=share_of(act.speed)) if isinstance(fixed, SkillAct) else fixed
    if kind in ("pick", "give") and (first is None or len(objects) > 1 or first.is_many):
        what = " and ".join(map(noun_phrase, objects))
        sentence = f"I can hold one object at a time, and not {what}: say where each is to go, or name one."
        return Refused(ErrorCode.NOT_UNDERSTOOD, sentence)
    if kind in ("pick", "put", "give") and any(each.quantity in ("me", "you") for each in objects):
        return Refused(ErrorCode.NOT_UNDERSTOOD, "I move objects, and neither you nor myself.")
    if kind in _SKILLS:
        return SkillAct(_SKILLS[kind], "it" if first is None else noun_phrase(first), share_of(act.speed))
    if kind in _GROUPS:
        return GroupAct(act)
    match kind:
        case "pick":
            return Deed(act)
        case "put" if act.place[0].words == "where it was":
            return FollowUp("put_back", first)
        case "put" if first is not None and first.is_many:
            return GroupAct(act)
        case "put" if act.place[0].words in ("here", "there", "somewhere"):
            sentence = f"Where shall I put {noun_phrase(objects[0])}? Name a place, such as "
            return Refused(ErrorCode.AMBIGUOUS, f'{sentence}"next to the bowl" or "on the left side".')
        case "put":
            return Deed(act)
        case "not_that" if first is not None and first.quantity in ("the other", "another"):
            return FollowUp("not_that_one")
        case "not_that":
            return FollowUp("not_that", first)
        case "choose" if first is not None and first.quantity in ("the other", "another"):
            return FollowUp("other_one", first)
        case "choose":
            return FollowUp("choice", first)
        case "choose_number":
            return FollowUp("choice", words=act.words)
        case "undo_of":
            return FollowUp("undo_last", first)
        case "leave":
            return AnswerAct(f"I leave {' and '.join(map(noun_phrase, objects))} as it is.")
        case "speed":
            return FollowUp("pace", words="" if int(act.words) >= 100 else f"{act.words} %")
        case "cannot" if act.words.startswith("answer "):
            return Refused(ErrorCode.NOT_UNDERSTOOD, f'I have no answer to "{act.words.removeprefix("answer ")}".')
        case "cannot":
            return Refused(ErrorCode.NOT_UNDERSTOOD, f'I cannot "{act.words}"; {ABILITY}.')
    return _question(act)


def _question(act: PlanAct) -> QuestionAct:
    objects = [noun_phrase(each) for each in act.objects]
    match act.kind:
        case "how_many":
            return QuestionAct("how_many", (bare_phrase(act.objects[0]),))
        case "what_stands":
            return QuestionAct("what_stands", (f"{relation_words(act.words)} {' and '.join(objects)}",))
        case "related":
            return QuestionAct("related", (objects[0], f"{relation_words(act.words)} {' and '.join(objects[1:])}"))
        case "side":
            return QuestionAct("which_side", (objects[1], objects[0]))
        case "compare":
            return QuestionAct("more", tuple(objects), act.words.replace("further ", ""))
        case "which":
            return _which(act)
        case "nearer" if act.objects[0].quantity in ("me", "you"):
            return QuestionAct("more", tuple(objects[1:]), "nearer" if objects[0] == "me" else "farther")
        case "is_so" if act.words in ("empty", "full"):
            return QuestionAct("empty", tuple(objects), act.words)
        case "is_so":
            return QuestionAct("colour" if act.words in COLOURS else "what_is", tuple(objects))
    return QuestionAct(act.kind, tuple(objects))


def _which(act: PlanAct) -> QuestionAct:
    kind, *others = act.objects
    named = () if _is_any(kind) else (bare_phrase(kind),)
    if not others and act.words not in ("nearest", "farthest"):
        return QuestionAct("most", named, act.words)
    if others and others[0].quantity not in ("me", "you"):
        return QuestionAct("nearest", (*named, noun_phrase(others[0])), act.words)
    to = others[0].quantity if others else "me"
    if act.words in ("nearest", "closest to") and not named:
        return QuestionAct(f"nearest_to_{to}")
    most = "closest to" if act.words in ("nearest", "closest to") else "farthest from"
    return QuestionAct("where_is", (f"the {bare_phrase(kind)} {most} {to}",))


def _is_any(ref: ObjectRef) -> bool:
    return not ref.clauses and ref.words.removesuffix("s") in GENERIC
