"""Ways to look, point and measure that the answers to questions are made of."""

from __future__ import annotations

from collections.abc import Sequence

from toolhand.agent_node.calls import ToolCall
from toolhand.agent_node.dialogue.acts import QuestionAct
from toolhand.agent_node.dialogue.looking import boxes_at, look
from toolhand.agent_node.dialogue.measured import SeenBox
from toolhand.agent_node.dialogue.telling import bare, joined
from toolhand.agent_node.memory import RobotMemory
from toolhand.agent_node.policies.scripted.points import near
from toolhand.agent_node.policies.scripted.steps import Done, Script, ScriptPart, ScriptStep
from toolhand.agent_node.policies.scripted.transcript import Response
from toolhand.tool_nodes.language.unfound import NOTHING_REAL, names_seen
from toolhand.tool_nodes.results import ErrorCode
from toolhand.tool_nodes.types import ImagePoint

OBJECTS = "things"
"""Words by which a pointer is asked for everything on the table."""
_MOST_CALLS = 8
"""Calls of one turn, at most; the conversation allows twice as many."""


class Seeing:
    """What every answer to a question may ask of the tools.

    Args:
        act: The question.
        memory: Memory of the robot.
    """

    def __init__(self, act: QuestionAct, memory: RobotMemory) -> None:
        self._act, self._memory = act, memory
        self._image = 0
        self._hand = ""

    def _look(self) -> Script:
        seen = yield from look("I have to look at the table first.")
        self._image, held = seen.image_index or 0, seen.held
        if held is not None:
            self._hand = held or (self._memory.held.object if self._memory.held is not None else "thing")

    def _all(self, phrases: Sequence[str]) -> ScriptPart[list[Response]]:
        found: list[Response] = []
        for k in range(0, len(phrases), _MOST_CALLS):
            part = phrases[k : k + _MOST_CALLS]
            found += yield ScriptStep(f"Where is {joined(part)}?", tuple(self._detect(phrase) for phrase in part))
        return found

    def _detect(self, phrase: str) -> ToolCall:
        return ToolCall("roborefer.detect_all", {"obj_name": phrase, "image_index": self._image})

    def _points(self, phrase: str) -> ScriptPart[tuple[ImagePoint, ...]]:
        """Where all that a phrase means is; the script ends where nothing is."""
        [response] = yield from self._all([phrase])
        if not response.ok:
            if response.error is ErrorCode.OBJECT_NOT_FOUND and self._hand and self._hand in (phrase, bare(phrase)):
                raise Done("I hold it.", f"The {self._hand} is in my gripper.")
            raise Done(f"I cannot find {phrase}.", f"{response.error}: {response.text}")
        return tuple(sorted(response.points))

    def _named(self) -> ScriptPart[list[tuple[str, ImagePoint]]]:
        """Everything that is seen: its name and its point; what has no name is a "thing"."""
        everything, told = yield from self._all([OBJECTS, NOTHING_REAL])
        names = names_seen(told.text)
        if not names:
            return [("thing", point) for point in everything.points]
        responses = yield from self._all([asked for _, asked, _ in names])
        found: list[tuple[str, ImagePoint]] = []
        # Those of which as many are found as were told first: their points are no others'.
        told_right = [len(response.points) == n for (_, _, n), response in zip(names, responses, strict=True)]
        for right in (True, False):
            for (name, _, n), response, fits in zip(names, responses, told_right, strict=True):
                if fits is right:
                    free = [at for at in response.points if not any(near(at, taken) for _, taken in found)]
                    found += [(name, at) for at in free[:n]]
        found += [("thing", at) for at in everything.points if not any(near(at, taken) for _, taken in found)]
        return found

    def _boxes(self, points: Sequence[ImagePoint]) -> ScriptPart[list[SeenBox | None]]:
        """The box about the object at each point; None where nothing could be measured."""
        return (yield from boxes_at(points, self._image))

    def _names_at(self, points: Sequence[ImagePoint]) -> ScriptPart[list[str]]:
        """The names of what is seen at some points."""
        found = yield from self._named()
        return [name for name, at in found if any(near(at, point) for point in points)]

    def _require_one(self, points: Sequence[ImagePoint], obj: str) -> None:
        if len(points) > 1:
            raise Done("That is not clear.", f"{ErrorCode.AMBIGUOUS}: There are {len(points)} of '{bare(obj)}': which?")
