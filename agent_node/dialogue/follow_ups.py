"""What follow-ups mean by what is remembered: again, the same with another thing, not that one, undo."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from toolhand.agent_node.dialogue.acts import FollowUp
from toolhand.agent_node.dialogue.answering import about
from toolhand.agent_node.dialogue.clauses import parses, with_thing
from toolhand.agent_node.dialogue.learning import named_thing
from toolhand.agent_node.dialogue.memory import OperatorMemory
from toolhand.agent_node.dialogue.naming import OTHER
from toolhand.agent_node.dialogue.undoing import (
    put_back,
    require_known,
    sequence_of,
    taken_back,
)
from toolhand.agent_node.memory import POINTED, DoneDeed, RobotMemory, at_point, last_deed, mark_undone, without_point
from toolhand.agent_node.policies.scripted.commands import Command, parse_command
from toolhand.agent_node.policies.scripted.points import SAME_POINT, the
from toolhand.tool_nodes.language.phrases import parse_noun_phrase
from toolhand.tool_nodes.language.speeds import meant_pace
from toolhand.tool_nodes.results import ErrorCode, ToolError

WHERE_IT_WAS = re.compile(
    r"\bwhere (?:the |my )?(?P<thing>(?!it\b|that\b|this\b|they\b)[a-z][a-z ]{0,80}?) (?:was|stood)"
    r"(?: before)?(?=$|, )",
    re.IGNORECASE,
)
"""A place that only the memory knows, at the end of a command or before its speed."""
_OPPOSITE = {
    "left_of": "to the right of",
    "right_of": "to the left of",
    "in_front_of": "behind",
    "behind": "in front of",
}
"""The other side of each side of a thing."""


class FollowUps:
    """Gives follow-ups the meaning that they have now.

    Args:
        robot, operator: Memories.
        clock: Wall-clock time, seconds since the epoch.
    """

    def __init__(self, robot: RobotMemory, operator: OperatorMemory, clock: Callable[[], float]) -> None:
        self._robot, self._operator, self._clock = robot, operator, clock

    def last_thing(self) -> str:
        """Words for what "it" means, with its point where that is known and a command can say it; or ""."""
        thing = self._operator.last_thing
        if not thing:
            return ""
        deed = self._robot.last_of(thing)
        seen = [each.point for each in self._robot.seen if each.thing == thing]
        after = None if deed is None or deed.after is None else deed.after.point
        point = after or (seen[0] if len(seen) == 1 else None)
        pointed = "" if point is None else f"{thing} at {at_point(point)}"
        return pointed if pointed and parses(f"pick up the {pointed}") else thing

    def placed_where(self, text: str) -> str:
        """A command with the spot in the place of "where the bowl was"; the same where it says no such thing.

        Raises:
            ToolError: OBJECT_NOT_FOUND where that thing was not moved, or was not seen before.
        """
        asked = WHERE_IT_WAS.search(text)
        if asked is None:
            return text
        thing = asked["thing"].lower()
        moved = next((d for d in reversed(self._robot.deeds) if d.success and d.thing == thing), None)
        if moved is None or moved.before is None:
            raise ToolError(
                ErrorCode.OBJECT_NOT_FOUND,
                f"I remember no place where the {thing} was: I have not moved it, or did not see where it stood.",
                "Name a place.",
            )
        return f"{text[: asked.start()]}on the free spot at {at_point(moved.before.point)}{text[asked.end() :]}"

    def now(self, text: str) -> str:
        """A command with the point where a thing was seen after its move in the place of the spot it was moved to.

        A plan is made before its first step: what that has moved stands beside its spot by as much as the hand wavers,
        and the middle of a tall thing is seen elsewhere than the spot under it.
        """
        for deed in self._robot.deeds:
            spot = POINTED.search(text)
            to = _FREE_SPOT.search(deed.said)
            if spot is None or to is None or deed.after is None or not deed.success:
                continue
            if text[spot.start() :].startswith(to["point"]) and without_point(named_thing(text)) == deed.thing:
                text = f"{text[: spot.start()]}at {at_point(deed.after.point)}{text[spot.start() + len(to['point']) :]}"
        return text

    def sequence_back(self, act: FollowUp) -> list[str]:
        """The steps that take a whole plan back, the last first; none where the last deed was asked for by itself.

        "Put it back" means one thing, which may stand free; a thing that has moved twice, or into whose place another
        one has come, goes back only with the others.

        Raises:
            ToolError: As `undoing.taken_back`; nothing has moved then.
        """
        deeds = sequence_of(self._robot)
        if act.kind == "put_back" and not _all_of_them(act, deeds):
            return []
        require_known(deeds)
        return [f"undo the last move of {the(deed.thing)}" for deed in deeds]

    def taking_back(self, act: FollowUp) -> str:
        """The command of "undo" or "put it back". Raises ToolError as `undoing.taken_back`."""
        named = act.words if act.words != "them" else ""
        thing = without_point(parse_noun_phrase(named).plain) if named else ""
        last = last_deed(self._robot)
        if act.kind == "undo_last" and thing and last is not None and last.thing not in (thing, named[4:]):
            raise ToolError(
                ErrorCode.NOT_UNDERSTOOD,
                f'My last move was of the {last.thing}, and not of "{named}".',
                f'Say "undo the last move", or "put {named} back".',
            )
        return put_back(self._robot, thing) if act.kind == "put_back" else taken_back(self._robot)

    def note_taken_back(self) -> None:
        """The command of `taking_back` has been done."""
        mark_undone(self._robot)

    def meant(self, act: FollowUp) -> str | list[str]:
        """The answer to a follow-up that asks for nothing to be done, or the steps that it stands for.

        Raises:
            ToolError: NOT_UNDERSTOOD where nothing is remembered that it could go on with.
        """
        operator = self._operator
        match act.kind:
            case "again":
                return [self._last_said(act.words)]
            case "undo_all":
                return self._all_undone()
            case "swap_them":
                return [self._swapped()]
            case "other_side":
                return [self._other_side()]
            case "same_with":
                return [self._same_with(act.words)]
            case "not_that":
                return self._not_that(act.words)
            case "not_that_one" | "other_one":
                return self._other_one(act)
            case "stop":
                operator.stopped_because = "stopped" if operator.left else ""
                kept = ' "Go on" asks before it goes on with the plan.' if operator.left else ""
                return f"I stand still; nothing is moving.{kept}"
            case "neither" | "no_to_it":
                operator.left, operator.done, operator.stopped_because = [], [], ""
                return "All right, I leave it."
            case "yes_to_it" | "choice" | "any_one":
                raise ToolError(
                    ErrorCode.NOT_UNDERSTOOD,
                    f'I have asked nothing that "{act.words}" could answer.',
                    "Say the whole command.",
                )
            case "pace":
                return self._paced(act.words)
            case "robots_left":
                operator.whose_left = "robot"
                return "From now on left and right are mine, as I look at the camera, until you say otherwise."
            case "cameras_left":
                operator.whose_left = "camera"
                return "From now on left and right are those of the camera's picture."
        raise ToolError(ErrorCode.NOT_UNDERSTOOD, "I do not know what that goes on with.", "Say the whole command.")

    def _paced(self, words: str) -> str:
        """Keeps the speed that words ask for, and says so."""
        speed = meant_pace(words)
        self._operator.pace = speed.words if speed.share < 1.0 else ""
        return speed.kept

    def _last_said(self, words: str) -> str:
        if not self._operator.last_said:
            raise ToolError(ErrorCode.NOT_UNDERSTOOD, f'There is no command before "{words}" that it could go on with.')
        return self._operator.last_said

    def _last_placed(self, words: str) -> Command:
        """The last command, where it puts one thing to one other. Raises ToolError NOT_UNDERSTOOD elsewhere."""
        last = self._last_said(words)
        command = parse_command(last) if parses(last) else None
        if command is None or command.target is None or command.action != "place":
            raise ToolError(
                ErrorCode.NOT_UNDERSTOOD,
                f'I do not know what "{words}" means after "{last}".',
                "Say the whole command.",
            )
        return command

    def _swapped(self) -> str:
        command = self._last_placed("swap them")
        if command.target is None or len(command.references) != 1:
            raise ToolError(ErrorCode.NOT_UNDERSTOOD, 'I do not know which two "swap them" means: name them.')
        return f"swap {the(without_point(command.target.plain))} and {the(without_point(command.references[0].plain))}"

    def _other_side(self) -> str:
        command = self._last_placed("the other side")
        opposite = _OPPOSITE.get(command.relation or "") if command.form is None else None
        if opposite is None or len(command.references) != 1:
            raise ToolError(
                ErrorCode.NOT_UNDERSTOOD, 'I do not know which side "the other side" is: say it by its name.'
            )
        thing = self.last_thing() or (command.target.plain if command.target else "")
        return f"put {the(thing)} {opposite} {the(command.references[0].plain)}"

    def _all_undone(self) -> list[str]:
        """ "Undo" as often as something was done."""
        taken_back(self._robot)  # raises where nothing can be
        rest = RobotMemory(list(self._robot.deeds))
        steps = []
        while (deed := last_deed(rest)) is not None:
            mark_undone(rest)
            steps.append(f"undo the last move of {the(deed.thing)}")
        return steps

    def _same_with(self, words: str) -> str:
        last = self._last_said(words)
        other = OTHER.search(words)  # "the other can" can only be told after a look
        named = with_thing(last, f"a {other['noun']}" if other else the(words.removeprefix("the ")))
        named = named.replace(f"a {other['noun']}", other.group(), 1) if other and named else named
        if not named:
            raise ToolError(
                ErrorCode.NOT_UNDERSTOOD, f'I cannot do "{last}" with the {words} in its place: say the whole command.'
            )
        return named

    def _not_that(self, words: str) -> list[str]:
        """What was done to the wrong thing is taken back, and done to the right one."""
        again = self._same_with(words)
        deed = last_deed(self._robot)
        done = deed is not None and deed.said == self._operator.last_said
        held = self._robot.held is not None
        if not done and not held:
            return [again]
        taken_back(self._robot)  # raises where it cannot be
        return ["undo the last move", again]

    def _other_one(self, act: FollowUp) -> list[str]:
        operator = self._operator
        question = operator.answered
        if question is None or len(question.candidates) != 2 or operator.chosen < 0:
            raise ToolError(
                ErrorCode.NOT_UNDERSTOOD,
                "I do not know which other one is meant.",
                'Say which, such as "not that: the left can".',
            )
        other = question.candidates[1 - operator.chosen]
        named = other.words if other.point is None else about(question, 1 - operator.chosen)
        if not named:
            raise ToolError(
                ErrorCode.NOT_UNDERSTOOD, "I do not know which other one is meant.", "Say the whole command."
            )
        deed, before = last_deed(self._robot), about(question, operator.chosen)
        operator.chosen = 1 - operator.chosen
        # What was put down by another command since then stays.
        stays = act.kind == "other_one" and self._robot.held is None and deed is not None and deed.said != before
        return [named] if deed is None or (stays and other.point is not None) else ["undo the last move", named]


_FREE_SPOT = re.compile(r"on the free spot (?P<point>at \([\d.]+, [\d.]+\))$")
"""The spot at the end of a command to which a thing was moved."""


def _all_of_them(act: FollowUp, deeds: Sequence[DoneDeed]) -> bool:
    """Whether "put it back" is about a thing of a plan that cannot go back without the others, or about all of them."""
    if not deeds or act.words == "them":
        return bool(deeds)
    name = without_point(parse_noun_phrase(act.words).plain) if act.words else deeds[0].thing
    own = [deed for deed in deeds if deed.thing == name]
    froms = [deed.before.point for deed in own if deed.before is not None]
    taken = any(
        deed.after is not None and math.dist(deed.after.point, point) < SAME_POINT
        for deed in deeds
        for point in froms
        if deed.thing != name
    )
    return len(own) > 1 or taken
