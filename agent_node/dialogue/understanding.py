"""What an utterance comes to: steps to carry out, a question whether they are meant, or an answer in words alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolhand.agent_node.dialogue.acts import Deed, GroupAct, Refused, SkillAct
from toolhand.agent_node.dialogue.languages import answer_in_its_language
from toolhand.agent_node.dialogue.naming import objects_of
from toolhand.agent_node.dialogue.pointing import PointedNouns
from toolhand.agent_node.dialogue.reading import act_of, spread
from toolhand.agent_node.memory import without_point
from toolhand.agent_node.plan.reader import SURE, CanonicalReader, PlanReader
from toolhand.agent_node.plan.reading import say, say_act
from toolhand.agent_node.plan.types import Plan, PlanAct
from toolhand.agent_node.pointed import PointedPoint
from toolhand.tool_nodes.http_request import plain_line
from toolhand.tool_nodes.language.stopping import is_stop
from toolhand.tool_nodes.language.words import tokenize, words_only
from toolhand.tool_nodes.results import ErrorCode, ToolError

MOST_CHARACTERS = 2000
"""Longest utterance that is heard [characters]."""
MOST_ACTS = 10
"""Most acts of an utterance [-]: a longer plan is no longer one that a listener has in mind."""
_QUOTED = 120
"""Longest utterance that is quoted [characters]."""
_SURE_OF_ALL = 0.7
"""Least certainty of a plan that moves everything without asking [0..1]: below it 6 of 7 such plans of the voices that
were read meant something else."""


@dataclass(frozen=True)
class HeardWords:
    """What an utterance comes to.

    Attributes:
        plan: Acts that are to be done, each about one object or about several that a look has to tell.
        asks: Question to the operator whether that is meant; empty where it is, or where nothing would move.
        answer: Answer where nothing is to be done.
        code: Code of what went wrong, None where nothing did.
    """

    plan: Plan = ()
    asks: str = ""
    answer: str = ""
    code: ErrorCode | None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """The acts in the robot's words."""
        return tuple(map(say_act, self.plan))


class Understanding:
    """Reads utterances.

    Args:
        reader: Reads the words; where None only the robot's own words are read.
    """

    def __init__(self, reader: PlanReader | None) -> None:
        self._exact = CanonicalReader(known=reader is not None)
        self._reader: PlanReader = CanonicalReader() if reader is None else reader

    def hear(self, words: str, context: str = "", pointed: Sequence[PointedPoint] = ()) -> HeardWords:
        """What an utterance comes to.

        Args:
            words: The utterance.
            context: Plan and question before it, see `toolhand.agent_node.plan.reader.context_of`.
            pointed: Points of the scene camera's image that its words mean, in order.
        """
        plain = " ".join("".join(sign if sign.isprintable() else " " for sign in words).split())
        quoted = plain_line(plain, length=_QUOTED)
        if len(plain) > MOST_CHARACTERS:
            many = f"An utterance may have at most {MOST_CHARACTERS:,} characters, got {len(plain):,}."
            return _not_understood(many)
        if not any(sign.isalnum() for sign in plain):
            return _not_understood(answer_in_its_language(plain, []) or "I have heard no words.")
        if foreign := answer_in_its_language(plain, words_only(tokenize(plain))):
            return _not_understood(foreign)
        try:
            plan = self._read(plain, without_point(context), pointed)
        except ToolError as error:
            return HeardWords(answer=str(error), code=error.code)
        if plan is None:
            return _not_understood(f'I do not understand "{quoted}". Say it in other words.')
        found, certainty = plan
        once = [act for act, last in zip(found, (None, *found), strict=False) if act != last or act.kind == "fixed"]
        meant = tuple(act for act in once if len(once) == 1 or act != _NOTHING)
        if len(meant) > MOST_ACTS:
            return _not_understood(
                f"I keep at most {MOST_ACTS} steps in mind, and these are {len(meant)}: say fewer at once."
            )
        for act in meant:
            refused = act_of(act)
            if isinstance(refused, Refused):
                own = act.words.removeprefix("answer ")
                lead = "" if own and own in refused.message else f'"{quoted}": '
                return HeardWords(answer=f"{lead}{refused.message}", code=refused.code)
        asks = f'Do you mean "{say(meant)}"? Answer yes, or say it in other words.' if _moves(meant) else ""
        return HeardWords(spread(meant), asks if certainty < _sure(meant) else "")

    def _read(self, plain: str, context: str, pointed: Sequence[PointedPoint]) -> tuple[Plan, float] | None:
        """The plan and its certainty; None where no reader can tell. Raises ToolError where points do not fit."""
        nouns = PointedNouns(plain, pointed)
        found = self._exact.read(nouns.text)
        if found is not None:
            return nouns.put_back(found.plan), found.certainty
        found = self._exact.read(nouns.text, context) or self._reader.read(nouns.text, context)
        # Nothing moves while this is heard: an order with a word of stopping in it is asked about.
        stops = is_stop(plain)
        if stops and (found is None or found.certainty < SURE or not _names_one(found.plan, plain)):
            return (PlanAct("fixed", words="stop"),), 1.0
        return None if found is None else (nouns.put_back(found.plan), 0.0 if stops else found.certainty)


_NOTHING = PlanAct("fixed", words="nothing")


def _moves(plan: Plan) -> bool:
    """Whether an act of a plan moves the arm."""
    return any(isinstance(act_of(act), Deed | SkillAct | GroupAct) for act in plan)


def _not_understood(sentence: str) -> HeardWords:
    return HeardWords(answer=sentence, code=ErrorCode.NOT_UNDERSTOOD)


def _sure(plan: Plan) -> float:
    """Least certainty of a plan that is carried out without asking [0..1]."""
    everything = any(ref.quantity.startswith("everything") for act in plan for ref in act.objects)
    return _SURE_OF_ALL if everything else SURE


def _names_one(plan: Plan, utterance: str) -> bool:
    """Whether a plan moves something by a name that an utterance has."""
    said = set(words_only(tokenize(utterance)))
    named = {word for act in plan for ref in objects_of(act) for word in ref.words.split()}
    return _moves(plan) and not said.isdisjoint(named)
