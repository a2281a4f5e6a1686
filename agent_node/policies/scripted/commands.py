"""A plan becomes one command: pick up an object, or place it somewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from toolhand.agent_node.plan.reader import CanonicalReader, ShippedReader, Understood
from toolhand.agent_node.plan.reading import is_plan, read_plan, say, say_act
from toolhand.agent_node.plan.types import ObjectRef, Plan, PlanAct
from toolhand.agent_node.policies.scripted.nouns import target_of
from toolhand.agent_node.policies.scripted.places import place_of
from toolhand.agent_node.policies.scripted.refusals import (
    ABILITY,
    EXAMPLES,
    SEVERAL,
    SEVERAL_OBJECTS,
    nothing_to_stop,
    refuse,
)
from toolhand.tool_nodes.http_request import plain_line
from toolhand.tool_nodes.language.phrases import NounPhrase
from toolhand.tool_nodes.language.places import FreeSpaceRequest, place_words
from toolhand.tool_nodes.language.speeds import spoken_share, spoken_speed
from toolhand.tool_nodes.language.stopping import is_stop
from toolhand.tool_nodes.language.words import stem
from toolhand.tool_nodes.results import ErrorCode, ToolError

__all__ = ["EXAMPLES", "MAX_COMMAND", "Command", "command_of", "parse_command"]

MAX_COMMAND = 2000
"""Longest sentence that is read [characters]."""
SURE = 0.5
"""Least certainty of a plan that is carried out where nobody can be asked [0..1]: each step is likelier than all others
together."""
_QUOTED = 120
"""Longest sentence that is quoted [characters]."""


@dataclass(frozen=True)
class Command:
    """What an operator asks for.

    Attributes:
        action: "pick" keeps the object in the gripper, "place" puts it down.
        target: The object; None for what is held ("put it down").
        relation: Where to place, see FreeSpaceRequest; None for a pick. Directions are those of the camera image.
        references: Objects that the place refers to; empty for anywhere.
        form: The place in full, with empty words for its references, where relation and references do not say it all.
        held_as: Name that the operator uses for the object that is held ("the can that you hold"), if any.
        speed: Words for the speed, "slowly" or "40 %"; empty where not said.
    """

    action: Literal["pick", "place"]
    target: NounPhrase | None
    relation: str | None = None
    references: tuple[NounPhrase, ...] = ()
    held_as: NounPhrase | None = None
    form: FreeSpaceRequest | None = None
    speed: str = ""

    def place(self, names: Sequence[str] | None = None) -> FreeSpaceRequest:
        """Where to place, with words for each of the references; their own where None."""
        words = [reference.text for reference in self.references] if names is None else list(names)
        if self.form is None:
            return FreeSpaceRequest(self.relation or "anywhere", tuple(words))  # type: ignore[arg-type]
        return self.form.naming(words, self.target.text if self.target and self.relation == "moved" else "")

    @property
    def understood(self) -> str:
        """The command in words: "pick: red box; place: in the black bin"."""
        picked = [f"pick: {self.target.text}"] if self.target else []
        if self.action == "pick":
            return picked[0]
        held = [f"held: {self.held_as.text if self.held_as else 'what the gripper holds'}"]
        return "; ".join([*(picked or held), f"place: {place_words(self.place())}"])

    @property
    def manner(self) -> str:
        """The speed that is asked for, in a sentence; empty for none."""
        speed = spoken_speed(self._pace)
        return "" if speed is None else speed.told

    @property
    def share(self) -> float:
        """Share of the allowed speed that is asked for, in (0, 1]; 1 where none is."""
        return spoken_share(self._pace)

    @property
    def _pace(self) -> str:
        return self.speed if self.speed in ("", "slowly") else f"at {self.speed} speed"


def parse_command(text: str, context: str = "") -> Command:
    """Understand one English sentence.

    Args:
        text: The operator's words.
        context: The turn before them, as of `toolhand.agent_node.plan.reader.context_of`.

    Raises:
        ToolError: NOT_UNDERSTOOD with one sentence that says what is missing (no deed, no object, a question, several
            commands, more than 2,000 characters); INVALID_ARGUMENT for a command that contradicts itself ("put the cup
            in the cup").
    """
    understood = understand(text, context)
    quoted = f'"{plain_line(text, length=_QUOTED)}"'
    if is_stop(text):
        raise nothing_to_stop(quoted)
    if understood is None:
        refuse(f"I do not understand {quoted}; {ABILITY}.")
    if understood.certainty < SURE:
        meant = say(understood.plan)
        refuse(f'I am not sure what {quoted} means: say "{meant}" if it is that, or say it in other words.')
    return command_of(understood.plan)


def share_of(text: str) -> float:
    """Share of the allowed speed that a sentence asks for, in (0, 1], whether or not it is a command."""
    try:
        return parse_command(text).share
    except ToolError:
        return spoken_share(text)


def understand(text: str, context: str = "") -> Understood | None:
    """What a sentence means, whatever it is; None where no reader can tell.

    Raises:
        ToolError: NOT_UNDERSTOOD for an empty sentence, or one of more than 2,000 characters.
    """
    if len(text) > MAX_COMMAND:
        refuse(f"A command may have at most {MAX_COMMAND:,} characters, got {len(text):,}.")
    if not any(c.isalnum() for c in text):
        refuse("The command is empty." if not text.strip() else "The command has no words.")
    return _read(text, context)


@lru_cache(maxsize=512)
def _read(text: str, context: str) -> Understood | None:
    understood = CanonicalReader().read(text, context) or ShippedReader().read(text, context)
    if (understood is None or understood.certainty < SURE) and is_plan(text):
        return Understood(read_plan(text))
    return understood


def command_of(plan: Plan) -> Command:
    """The command of a plan.

    Args:
        plan: A pick, a put, or a pick and a put of the same object.

    Raises:
        ToolError: NOT_UNDERSTOOD for any other plan, several objects, or what no noun phrase or free room says;
            INVALID_ARGUMENT for a command that contradicts itself.
    """
    for act in plan:
        _check_act(act)
    first, last = plan[0], plan[-1]
    if len(plan) > 2 or (len(plan) == 2 and not _same_object(first, last)):
        refuse(SEVERAL)
    [ref], speed = first.objects, first.speed or last.speed
    if last.kind == "pick":
        return Command("pick", target_of(ref), speed=speed)
    holds = any(clause.kind == "held" for clause in ref.clauses)
    obj = None if _is_held(ref, holds) else target_of(ref)
    target, held = (None, obj) if holds else (obj, None)
    where, references = place_of(last.place)
    form = None if where.is_plain else where
    command = Command("place", target, where.relation, references, held, form, speed)
    _refuse_itself(command)
    return command


def _is_held(ref: ObjectRef, holds: bool) -> bool:
    """Whether an object is what is held, without a name."""
    return ref.quantity in ("it", "them") or (holds and ref.words in ("one", "thing", "object"))


def _check_act(act: PlanAct) -> None:
    """Refuse an act that is no deed of the policy."""
    if act.kind not in ("pick", "put"):
        what = act.words if act.kind == "cannot" else say_act(act)
        refuse(f'I cannot carry out "{what}"; {ABILITY}.')
    if act.condition is not None or act.otherwise:
        refuse(f'I carry out commands without conditions such as "{say_act(act)}".')
    if len(act.objects) != 1:
        refuse(SEVERAL_OBJECTS.format(say_act(act)))


def _same_object(pick: PlanAct, put: PlanAct) -> bool:
    """Whether a second act puts what the first picks up."""
    (picked,), (placed,) = pick.objects, put.objects
    return (pick.kind, put.kind) == ("pick", "put") and (placed.quantity in ("it", "them") or placed == picked)


def _same_place(a: NounPhrase, b: NounPhrase) -> bool:
    return (a.selectors, a.relation, a.references, a.point) == (b.selectors, b.relation, b.references, b.point)


def _refuse_itself(command: Command) -> None:
    """Refuse a place that is relative to the object that is to go there."""
    target = command.target
    for reference in command.references if target is not None and target.words else ():
        same = {stem(word) for word in reference.words} == {stem(word) for word in target.words}  # type: ignore[union-attr]
        other = {"other", "another", "second"} & set(reference.text.split())
        if same and not other and not reference.plural and _same_place(target, reference):  # type: ignore[arg-type]
            refuse(f'"{target.text}" cannot be placed relative to itself.', ErrorCode.INVALID_ARGUMENT)  # type: ignore[union-attr]
