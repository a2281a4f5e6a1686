"""What a model needs of a session with an operator, as tools: to ask, to recall what was done, and to take it back.

They stand beside the robot's own tools in every suite that moves; no prompt of a paper prints them. What the robot does
through them is remembered, call by call, from what the tools report.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from toolhand.agent_node.memory import DoneDeed, RobotMemory, Spot, at_point, learn_of, mark_undone, to_take_back
from toolhand.agent_node.opening import scene_picture
from toolhand.tool_nodes.results import ToolResult, invalid
from toolhand.tool_nodes.toolbox.arguments import ArrayArgument, Lookup, Text, whole_number
from toolhand.tool_nodes.toolbox.toolbox import CallRecord, InSession, Session, Toolbox, ToolSpec, tool
from toolhand.tool_nodes.types import FloatArray

SUITE = "session"
ASK = "operator.ask"
PICK, PLACE = "robot.pick", "robot.place"
"""The motions by which a deed is taken back."""
_NOBODY = "Nobody can answer now: a question ends the order."
_RECALLED = 8
"""Newest deeds that are recalled, and so many objects seen [-]."""


@dataclass(frozen=True)
class CandidatesArgument:
    """Points (N, 2), shares of the newest image, or the numbers of marks in it."""

    points = ArrayArgument("list of [x, y] points", (None, 2), literal=True, finite=True, low=0.0, high=1.0)

    def schema(self) -> dict[str, Any]:
        """See ArgumentType."""
        point = self.points.schema()["anyOf"][0]["items"]
        return {"type": "array", "items": {"anyOf": [point, {"type": "integer", "minimum": 1}]}}

    def parse(self, value: Any, lookup: Lookup) -> Sequence[int] | FloatArray:
        """See ArgumentType."""
        listed = [whole_number(each) for each in value] if isinstance(value, (list, tuple)) else [None]
        marks = [each for each in listed if type(each) is int]
        if len(marks) == len(listed):
            return marks
        points: FloatArray = self.points.parse(value, lookup)
        return points


class AskTools:
    """Puts questions to the operator."""

    suite, printed = SUITE, False

    @tool(ASK, repeatable=True)
    def ask(
        self,
        question: Text,
        session: InSession,
        candidates: Annotated[Sequence[int] | FloatArray, CandidatesArgument()] = (),
    ) -> ToolResult:
        """Ask the operator, where their words leave open what they mean; the result is the answer.

        Args:
            question: One short question.
            candidates: Points or marks of the objects to choose from; the operator sees them numbered from 1.
        """
        if not question.strip():
            raise invalid("operator.ask: argument 'question' must hold words.")
        marks = [] if isinstance(candidates, np.ndarray) else list(candidates)
        points: Any = [self._at(mark, session) for mark in marks] or candidates
        choices = [[float(x), float(y)] for x, y in points]
        asked = {"question": question.strip(), "candidates": choices, "marks": marks}
        return ToolResult(text="The question is put; the operator's next words answer it.", facts={"asked": asked})

    @staticmethod
    def _at(mark: int, session: Session) -> tuple[float, float]:
        """A point on the object of a mark. Raises ToolError as `Marks.find`, and where nothing has marks."""
        if session.marks is None:
            raise invalid("operator.ask: argument 'candidates': no picture has marks yet.", "Give points [x, y].")
        return session.marks.find(mark, session.seen or session.marks.frame).points[0]


class RecallTools:
    """Tells what the robot remembers.

    Args:
        robot: The memory.
    """

    suite, printed = SUITE, False

    def __init__(self, robot: RobotMemory) -> None:
        self._robot = robot

    @tool("robot.recall")
    def recall(self) -> ToolResult:
        """Tell what was done before, where objects stood and stand, and what the gripper holds."""
        robot = self._robot
        held = robot.held
        lines = [f"The gripper holds: {held.object if held else 'nothing that is remembered'}."]
        lines += [_told(deed) for deed in robot.deeds[-_RECALLED:]]
        seen = [f"{each.object} {at_point(each.point)}" for each in robot.seen[-_RECALLED:]]
        lines += [f"Seen: {', '.join(seen)}."] if seen else []
        return ToolResult(text="\n".join(lines))


class UndoTools:
    """Takes the last deed back.

    Args:
        robot: The memory, which is changed.
        toolbox: Does the motions.
    """

    suite, printed = SUITE, False

    def __init__(self, robot: RobotMemory, toolbox: Toolbox) -> None:
        self._robot, self._toolbox = robot, toolbox

    @tool("robot.undo", motion=True, timeout_s=None)
    def undo(self, session: InSession) -> ToolResult:
        """Take the last deed back: what was picked up or placed goes where it stood before."""
        robot = self._robot
        deed, before, now = to_take_back(robot)
        steps = [] if now is None or robot.held is not None else [(PICK, now)]
        scene_picture(self._toolbox, session)  # points are those of the newest
        for name, spot in [*steps, (PLACE, before)]:
            record = self._toolbox.call(name, {"point": list(spot.point)}, session)
            learn_of(robot, "undo", [record], time.time(), undone=record.result.ok, named=deed.object)
            if record.result.error is not None:
                return record.result
        mark_undone(robot)
        text = f"Taken back: the {deed.object} stands at {at_point(before.point)} again. {record.result.text}"
        result = record.result
        return ToolResult(text=text, image=result.image, source=result.source, facts={"undone": True})


class SessionToolbox(Toolbox):
    """A robot's tools with those of a session, whose calls are remembered.

    Args:
        toolbox: The robot's tools.
        robot: The memory, which is changed.
        answered: Somebody can answer questions.
        clock: Time that is noted, seconds since the epoch.
    """

    def __init__(
        self, toolbox: Toolbox, robot: RobotMemory, answered: bool, clock: Callable[[], float] = time.time
    ) -> None:
        undo = [UndoTools(robot, toolbox)] if {PICK, PLACE} <= set(toolbox.specs) else []
        super().__init__([TheirTools(toolbox), AskTools(), RecallTools(robot), *undo])
        if not answered:
            asks = self.specs[ASK]
            self.specs[ASK] = replace(asks, description=f"{asks.description} {_NOBODY}")
        self._robot, self._clock, self._pointed = robot, clock, ""

    def call(self, name: str, arguments: Any, session: Session) -> CallRecord:
        """See Toolbox."""
        record = super().call(name, arguments, session)
        if "undone" not in record.result.facts:
            learn_of(self._robot, record.name, [record], self._clock(), pointed=self._pointed)
        if record.result.ok and record.result.facts.get("points") and self._robot.seen:
            self._pointed = self._robot.seen[-1].object
        return record


class TheirTools:
    """The tools of a toolbox, as a provider of another; a stop of its arm ends theirs.

    Args:
        toolbox: The tools.
    """

    def __init__(self, toolbox: Toolbox) -> None:
        self._specs = toolbox.specs
        self.job = toolbox.job

    def tool_specs(self) -> Iterable[ToolSpec]:
        """The tools."""
        return list(self._specs.values())


def with_session_tools(toolbox: Toolbox, robot: RobotMemory, answered: bool = True) -> Toolbox:
    """The tools that a model is offered in a session: with those of the session where the robot's own can move it."""
    moves = any(spec.motion for spec in toolbox.specs.values())
    return SessionToolbox(toolbox, robot, answered) if moves else toolbox


def _told(deed: DoneDeed) -> str:
    did = "picked up" if deed.action == "pick" else "placed"
    ended = "" if deed.success else f" failed with {deed.error_code}"
    undone = ", taken back since" if deed.undone else ""
    return f"{did} the {deed.object}: {_at(deed.before)} -> {_at(deed.after)}{ended}{undone}."


def _at(spot: Spot | None) -> str:
    return "unknown" if spot is None else at_point(spot.point)
