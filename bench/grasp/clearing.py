"""Getting at one object by the tools alone: what is in its way is taken aside first, in a bounded number of grasps."""

from __future__ import annotations

import math
from collections.abc import Callable

from toolhand.agent_node.policies.scripted.clearing import FAILED_TWICE, MOST_GRASPS, POOR
from toolhand.bench.grasp.calls import EXECUTE, SEGMENT, ToolCalls
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import Frame

WAY, ASIDE = "robot.what_is_in_the_way", "robot.put_aside"
"""Names of the tools that clear the way."""
MOST_ACTIONS = MOST_GRASPS
"""Grasps that are executed for one object at the most, those of what is in its way with them [-]."""
_MOST_REFUSED = 3
"""Steps running that are refused before anything moves, after which it ends [-]; a round figure."""
_SAME = 0.03
"""Normalized points that are no farther apart than this show the same object in two images [-]."""
_AGAIN = frozenset(
    {
        ErrorCode.IK_FAILED,
        ErrorCode.PLAN_FAILED,
        ErrorCode.GRIPPER_EMPTY,
        ErrorCode.OBJECT_DROPPED,
        ErrorCode.EXECUTION_FAILED,
        ErrorCode.WRONG_OBJECT,
        ErrorCode.ALREADY_HOLDING,
    }
)
"""Failures of a grasp after which, with a new look, another one may do."""
_UNGRASPABLE = frozenset({ErrorCode.NO_GRASP, ErrorCode.AMBIGUOUS, ErrorCode.EMPTY_MASK})
"""Why there is no grasp of an object as it lies: asking again changes nothing."""

_At = tuple[float, float]
"""Normalized (x, y) of an image."""


class Clearing:
    """One object that is to be got at.

    Args:
        point: Gives a normalized point on the object for an image that was taken.

    Attributes:
        actions: Grasps that were executed.
    """

    def __init__(self, calls: ToolCalls, point: Callable[[Frame], tuple[float, float]]) -> None:
        self._calls = calls
        self._point = point
        self._failed = 0
        self._in_vain: list[_At] = []
        self.actions = 0

    def run(self) -> None:
        """Take away what is in the way until the object is held. Raises ToolError of the last step where it is not."""
        refused, world = 0, self._calls.station.world
        while True:
            began, failure = world.time, None
            try:
                if self._step():
                    return
            except ToolError as error:
                if error.code not in _AGAIN:
                    raise
                failure = error
            finally:
                self.actions += world.time > began
            refused = 0 if world.time > began else refused + 1
            if self.actions >= MOST_ACTIONS or refused >= _MOST_REFUSED:
                raise failure or ToolError(ErrorCode.NO_GRASP, f"It is not free after {MOST_ACTIONS} grasps.")
            if failure is not None and failure.code in (ErrorCode.WRONG_OBJECT, ErrorCode.ALREADY_HOLDING):
                self._put_down()

    def _put_down(self) -> None:
        """Put aside what came up in the place of the object or with it, or could not be put down before."""
        try:
            self._calls.call(ASIDE, point=None)
        except ToolError as error:
            if error.code not in _AGAIN:
                raise

    def _step(self) -> bool:
        """One grasp, of the object or of what is in its way; True where the object is held now. Raises ToolError."""
        frame = self._calls.look()
        x, y = self._point(frame)
        way = self._calls.call(WAY, point=[x, y]).result.facts["in_the_way"]
        above, beside = ([(float(u), float(v)) for u, v in way[key]] for key in ("above", "beside"))
        if self._put_aside(above, 0):
            return False
        least = 1.0 if self._failed >= FAILED_TWICE else POOR
        if self._grasp(x, y, least if above or beside else 0.0) is None:
            return True
        if self._put_aside(beside, 0) or self._put_aside([*above, *beside], 1):
            return False
        if (failure := self._grasp(x, y, 0.0)) is not None:
            raise failure
        return True

    def _put_aside(self, points: list[_At], failures: int) -> bool:
        """Take the first aside that has a grasp, and of which no more than so many have failed; whether one was."""
        for point in points:
            before = [other for other in self._in_vain if math.dist(point, other) < _SAME]
            if len(before) > failures or self.actions == MOST_ACTIONS - 1:  # the last one is of the object
                continue
            try:
                self._calls.call(ASIDE, point=list(point))
            except ToolError as error:
                if error.code not in _UNGRASPABLE:
                    self._in_vain.append(point)
                    raise
            else:
                self._failed = 0
                return True
        return False

    def _grasp(self, x: float, y: float, least: float) -> ToolError | None:
        """Grasp the object at a point by a grasp that is as likely to succeed as this; why there is none, or None.

        Raises:
            ToolError: The failure of a grasp that was executed.
        """
        try:
            mask = self._calls.call(SEGMENT, x=x, y=y, image_index=self._calls.newest).result.value
            confidence = mask["iou_score"] * self._calls.compute_grasp().result.value[1]
        except ToolError as error:
            if error.code not in _UNGRASPABLE:
                raise
            return error
        if confidence < least:
            return ToolError(ErrorCode.NO_GRASP, "Neither mask nor grasp of it is good enough.")
        self._failed += 1
        self._calls.call(EXECUTE, grasp_pose="$grasp_pose")
        return None
