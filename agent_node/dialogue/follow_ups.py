"""What acts mean by what is remembered: "it", where something was, again, not that one, undo."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from toolhand.agent_node.dialogue.acts import FollowUp
from toolhand.agent_node.dialogue.answering import about, instead_of
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.naming import called, changed, is_nameless, mapped, name_of
from toolhand.agent_node.dialogue.reading import share_of
from toolhand.agent_node.memory import DoneDeed, RobotMemory, last_deed, mark_undone, to_take_back
from toolhand.agent_node.plan.reading import read_plan, say_act, say_object
from toolhand.agent_node.plan.types import ObjectRef, PlacePart, PlanAct
from toolhand.agent_node.policies.scripted.points import SAME_POINT
from toolhand.tool_nodes.language.speeds import SpokenSpeed
from toolhand.tool_nodes.results import ErrorCode, ToolError

_OF_WHAT_IS_HELD = ("put", "give", "lift", "stand", "hold_low")
"""Acts whose "it" is what the gripper holds, where it holds something."""


class FollowUps:
    """Gives acts the meaning that they have now.

    Args:
        robot, operator: Memories.
    """

    def __init__(self, robot: RobotMemory, operator: OperatorMemory) -> None:
        self._robot, self._operator = robot, operator

    # ---- Objects ----

    def last_object(self) -> ObjectRef | None:
        """What "it" means, with its point where that is known; None for nothing."""
        obj = self._operator.last_object
        if not obj:
            return None
        deed = self._robot.last_of(obj)
        seen = [each.point for each in self._robot.seen if each.object == obj]
        after = None if deed is None or deed.after is None else deed.after.point
        return called(obj, after or (seen[0] if len(seen) == 1 else None))

    def resolved(self, act: PlanAct) -> PlanAct:
        """An act with known objects in the place of "it", "them" and "the one that you moved last".

        Within a place "it" is the object before: "in front of the box but not behind it".

        Raises:
            ToolError: AMBIGUOUS for one that means nothing yet.
        """
        if act.objects and act.objects[0].quantity == "them" and (several := self._them()):
            act = replace(act, objects=(*several, *act.objects[1:]))
        if (
            act.kind in _OF_WHAT_IS_HELD
            and act.objects
            and (self._robot.held is not None or self.last_object() is None)
        ):
            first, *others = act.objects
            first = ObjectRef("it") if first.quantity in ("it", "them") or _is_held(first) else self.known(first)
            objects = (first, *map(self.known, others))
        else:
            objects = tuple(map(self.known, act.objects))
        place: list[PlacePart] = []
        before: ObjectRef | None = None
        for part in act.place:
            known = [self._of_place(each, before, objects) for each in part.objects]
            before = known[-1] if known else before
            place.append(replace(part, objects=tuple(known)))
        return replace(act, objects=objects, place=tuple(place))

    def known(self, ref: ObjectRef) -> ObjectRef:
        """An object that is known in the place of a pronoun, as of those within it. Raises ToolError as `resolved`."""

        def known(ref: ObjectRef) -> ObjectRef:
            if any(clause.kind == "moved last" for clause in ref.clauses):
                return self._moved_last(ref)
            if ref.quantity not in ("it", "them") and not _is_held(ref):
                return ref
            last = self.last_object()
            if last is None:
                said = f'I do not know what is meant by "{say_object(ref)}": name it.'
                raise ToolError(ErrorCode.AMBIGUOUS, said)
            return last

        return changed(ref, known)

    def _of_place(self, ref: ObjectRef, before: ObjectRef | None, objects: Sequence[ObjectRef]) -> ObjectRef:
        """An object of a place: "it" is the one before in it, and none of those that are moved."""
        if ref.quantity != "it":
            return self.known(ref)
        known = before or self.known(ref)
        return (self._beside_last() or known) if name_of(known) in map(name_of, objects) else known

    def _beside_last(self) -> ObjectRef | None:
        """What the last deed named beside what it moved; None for nothing."""
        return next((called(name_of(ref)) for part in self._last.place for ref in part.objects if name_of(ref)), None)

    @property
    def _last(self) -> PlanAct:
        """The last deed that was understood; one of nothing where there is none."""
        return read_plan(self._operator.last_said)[0] if self._operator.last_said else PlanAct("fixed")

    def _them(self) -> tuple[ObjectRef, ...]:
        """The objects that were spoken of last, where they are several."""
        deeds = sequence_of(self._robot)
        if deeds:
            spots = {deed.object: None if deed.after is None else deed.after.point for deed in reversed(deeds)}
            return tuple(called(obj, point) for obj, point in spots.items())
        named = (*self._last.objects, *(ref for part in self._last.place for ref in part.objects))
        known = tuple(called(name_of(ref)) for ref in named if name_of(ref))
        return known if len(known) > 1 else ()

    def _moved_last(self, ref: ObjectRef) -> ObjectRef:
        name = "" if is_nameless(ref) else name_of(ref)
        deed = next((d for d in reversed(self._robot.deeds) if d.success and name in ("", d.object)), None)
        if deed is None:
            raise ToolError(ErrorCode.OBJECT_NOT_FOUND, f"I have moved no {name or 'object'} yet.")
        return called(deed.object, None if deed.after is None else deed.after.point)

    def placed_where(self, act: PlanAct) -> PlanAct:
        """An act with the spot in the place of "where the bowl was".

        Raises:
            ToolError: OBJECT_NOT_FOUND where that object was not moved, or was not seen before.
        """
        return replace(act, place=tuple(self._spot_of(part) if part.kind == "was" else part for part in act.place))

    def _spot_of(self, part: PlacePart) -> PlacePart:
        obj = name_of(part.objects[0])
        moved = next((d for d in reversed(self._robot.deeds) if d.success and d.object == obj), None)
        if moved is None or moved.before is None:
            raise ToolError(
                ErrorCode.OBJECT_NOT_FOUND,
                f"I remember no place where the {obj} was: I have not moved it, or did not see where it stood.",
                "Name a place.",
            )
        return PlacePart("point", point=moved.before.point)

    def now(self, act: PlanAct) -> PlanAct:
        """An act with the point where an object was seen after its move in the place of the spot it was moved to.

        A plan is made before its first step: what that has moved stands beside its spot by as much as the hand wavers,
        and the middle of a tall object is seen elsewhere than the spot under it.
        """

        def moved(ref: ObjectRef) -> ObjectRef:
            for deed in self._robot.deeds:
                to = _FREE_SPOT.search(deed.said)
                if ref.point is None or to is None or deed.after is None or not deed.success:
                    continue
                if name_of(ref) == deed.object and math.dist(ref.point, (float(to[1]), float(to[2]))) < _ROUNDED:
                    ref = replace(ref, point=deed.after.point)
            return ref

        return replace(mapped(act, moved), place=act.place)

    # ---- Taking back ----

    def sequence_back(self, act: FollowUp) -> list[str]:
        """The steps that take a whole plan back, the last first; none where the last deed was asked for by itself.

        "Put it back" means one object, which may stand free; an object that has moved twice, or into whose place
        another one has come, goes back only with the others.

        Raises:
            ToolError: As `taken_back`; nothing has moved then.
        """
        deeds = sequence_of(self._robot)
        if act.kind == "put_back" and not _all_of_them(act, deeds):
            return []
        for deed in deeds:
            taken_back(RobotMemory([deed]))  # raises where it cannot be
        return [_undo(deed) for deed in deeds]

    def taking_back(self, act: FollowUp) -> PlanAct:
        """The act of "undo" or "put it back". Raises ToolError as `taken_back`."""
        obj = "" if act.object is None or act.object.quantity == "everything" else name_of(act.object)
        last = last_deed(self._robot)
        if (
            act.kind == "undo_last"
            and obj
            and last is not None
            and obj not in (last.object, name_of(called(last.object)))
        ):
            raise ToolError(
                ErrorCode.NOT_UNDERSTOOD,
                f"My last move was of the {last.object}, and not of the {obj}.",
                f'Say "undo the last move", or "put the {obj} where it was".',
            )
        return put_back(self._robot, obj) if act.kind == "put_back" else taken_back(self._robot)

    def note_taken_back(self) -> None:
        """The act of `taking_back` has been done."""
        mark_undone(self._robot)

    # ---- What is said alone ----

    def meant(self, act: FollowUp) -> str | list[str]:
        """The answer to a follow-up that asks for nothing to be done, or the steps that it stands for.

        Raises:
            ToolError: NOT_UNDERSTOOD where nothing is remembered that it could go on with.
        """
        operator = self._operator
        match act.kind:
            case "again":
                return [self._last_said()]
            case "undo_all":
                return self._all_undone()
            case "not_that" if act.object is not None:
                return self._not_that(act.object)
            case "not_that_one" | "other_one":
                return self._other_one(act)
            case "stop":
                operator.stopped_because = "stopped" if operator.left else ""
                kept = ' "Go on" asks before it goes on with the plan.' if operator.left else ""
                return f"I stand still; nothing is moving.{kept}"
            case "cancel" | "no":
                operator.left, operator.done, operator.stopped_because = [], [], ""
                return "All right, I leave it."
            case "pace":
                operator.pace = act.words
                return SpokenSpeed(share_of(act.words), act.words).kept
        raise ToolError(
            ErrorCode.NOT_UNDERSTOOD, "I have asked nothing that this could answer.", "Say the whole command."
        )

    def _last_said(self) -> str:
        if not self._operator.last_said:
            raise ToolError(ErrorCode.NOT_UNDERSTOOD, "There is no command before that this could go on with.")
        return self._operator.last_said

    def _all_undone(self) -> list[str]:
        """ "Undo" as often as something was done."""
        taken_back(self._robot)  # raises where nothing can be
        rest = RobotMemory(list(self._robot.deeds))
        steps = []
        while (deed := last_deed(rest)) is not None:
            mark_undone(rest)
            steps.append(_undo(deed))
        return steps

    def _not_that(self, ref: ObjectRef) -> list[str]:
        """What was done to the wrong object is taken back, and done to the right one."""
        [last] = read_plan(self._last_said())
        again = say_act(replace(last, objects=(instead_of(last.objects[0], ref), *last.objects[1:])))
        deed = last_deed(self._robot)
        if self._robot.held is None and (deed is None or deed.object != name_of(last.objects[0])):
            return [again]
        taken_back(self._robot)  # raises where it cannot be
        return ["undo the last move", again]

    def _other_one(self, act: FollowUp) -> list[str]:
        operator = self._operator
        question, deed = operator.answered, last_deed(self._robot)
        if question is not None and len(question.candidates) == 2 and operator.chosen >= 0:
            named, same = about(question, 1 - operator.chosen), operator.last_said == about(question, operator.chosen)
            operator.chosen = 1 - operator.chosen
        else:
            [last] = read_plan(self._last_said())
            other = ObjectRef("the other", name_of(last.objects[0]) or operator.last_object)
            named, same = say_act(replace(last, objects=(other, *last.objects[1:]))), True
        # What was put down by another command since then stays.
        stays = act.kind == "other_one" and self._robot.held is None and not same
        return [named] if deed is None or stays else ["undo the last move", named]


def _is_held(ref: ObjectRef) -> bool:
    return any(clause.kind == "held" for clause in ref.clauses)


_FREE_SPOT = re.compile(r"on the free spot at \(([\d.]+), ([\d.]+)\)")
"""The spot in a command to which an object was moved."""
_ROUNDED = 0.001
"""Normalized distance of points that are the same when they are said [-]: they have three digits."""


def _undo(deed: DoneDeed) -> str:
    return say_act(PlanAct("undo_of", (called(deed.object),)))


def _all_of_them(act: FollowUp, deeds: Sequence[DoneDeed]) -> bool:
    """Whether "put it back" is about all objects of a plan, or one that cannot go back without the others."""
    if not deeds or (act.object is not None and act.object.quantity in ("them", "everything")):
        return bool(deeds)
    name = (name_of(act.object) if act.object is not None else "") or deeds[0].object
    own = [deed for deed in deeds if deed.object == name]
    froms = [deed.before.point for deed in own if deed.before is not None]
    taken = any(
        deed.after is not None and math.dist(deed.after.point, point) < SAME_POINT
        for deed in deeds
        for point in froms
        if deed.object != name
    )
    return len(own) > 1 or taken


# ---- How a deed is taken back ----


def sequence_of(robot: RobotMemory) -> list[DoneDeed]:
    """The deeds of the plan that the last deed is a step of, the newest first; none where it was asked for by itself.

    A pick whose object was then placed by a step of its own is taken back with that, and is none of them.
    """
    last = last_deed(robot)
    if last is None or not last.sequence:
        return []
    rest, deeds = RobotMemory(list(robot.deeds)), []
    while (deed := last_deed(rest)) is not None and deed.sequence == last.sequence:
        deeds.append(deed)
        mark_undone(rest)
    return deeds if len(deeds) > 1 else []


def taken_back(robot: RobotMemory) -> PlanAct:
    """The act that takes the last deed back. Raises ToolError as `to_take_back`."""
    deed, before, now = to_take_back(robot)
    ref = ObjectRef("it") if now is None else called(deed.object, now.point)
    return PlanAct("put", (ref,), (PlacePart("point", point=before.point),))


def put_back(robot: RobotMemory, obj: str = "") -> PlanAct:
    """The act that brings what is held, or an object that was moved, to where it stood.

    Args:
        robot: The memory.
        obj: Plain name of the object; empty for the one that is held or was moved last.

    Raises:
        ToolError: As `taken_back`.
    """
    if not obj:
        return taken_back(robot)
    deeds = [deed for deed in robot.deeds if deed.success and deed.object == obj]
    if not deeds:
        raise ToolError(
            ErrorCode.OBJECT_NOT_FOUND,
            f"I have not moved the {obj}, so I know no other place of it.",
            "Say where to put it.",
        )
    return taken_back(RobotMemory([replace(deeds[-1], undone=False)]))
