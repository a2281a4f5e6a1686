"""What stands between tools and a planner: a stopwatch, a look whether a stop came."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from toolhand.tool_nodes.ports import Planner
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import CollisionScene, FloatArray, Goal, Trajectory


class PlannerWrapper:
    """Asks another planner everything; subclasses say what happens besides.

    Args:
        planner: Answers.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        """See ports.Planner."""
        return self._planner.plan(start, goal, scene, speed)

    def reachable(self, T_base_gripper: FloatArray, scene: CollisionScene, back: FloatArray | None = None) -> bool:
        """See ports.Planner."""
        return self._planner.reachable(T_base_gripper, scene, back)

    def reseed(self, seed: int) -> None:
        """See ports.Planner."""
        self._planner.reseed(seed)


class InterruptedPlanning(Exception):
    """What is being planned was stopped or cancelled; no ToolError, which would make another plan be tried."""


class InterruptiblePlanner(PlannerWrapper):
    """A planner that can be interrupted between two plans; see ports.Planner.

    Args:
        planner: Plans.
        interrupted: Polled before each plan.
    """

    def __init__(self, planner: Planner, interrupted: Callable[[], bool]) -> None:
        super().__init__(planner)
        self._interrupted = interrupted

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        """See ports.Planner. Raises InterruptedPlanning."""
        self._check()
        return super().plan(start, goal, scene, speed)

    def reachable(self, T_base_gripper: FloatArray, scene: CollisionScene, back: FloatArray | None = None) -> bool:
        """See ports.Planner. Raises InterruptedPlanning."""
        self._check()
        return super().reachable(T_base_gripper, scene, back)

    def _check(self) -> None:
        if self._interrupted():
            raise InterruptedPlanning


@contextlib.contextmanager
def stopped_in_planning() -> Iterator[None]:
    """Within it, planning that a stop interrupts is the ToolError STOPPED."""
    try:
        yield
    except InterruptedPlanning as interruption:
        raise ToolError(ErrorCode.STOPPED, "A stop came during planning; the arm stands still.") from interruption
