"""What stands between tools and a planner: a stopwatch, a look whether a stop came."""

from __future__ import annotations

from tool_nodes.ports import Planner, PlannerStats
from tool_nodes.types import CollisionScene, FloatArray, Goal, Trajectory


class PlannerWrapper:
    """Asks another planner everything; subclasses say what happens besides.

    Args:
        planner: Answers.
    """

    def __init__(self, planner: Planner) -> None:
        self._planner = planner

    @property
    def stats(self) -> PlannerStats:
        """See ports.Planner."""
        return self._planner.stats

    def plan(self, start: FloatArray, goal: Goal, scene: CollisionScene, speed: float = 1.0) -> Trajectory:
        """See ports.Planner."""
        return self._planner.plan(start, goal, scene, speed)

    def reachable(self, T_base_gripper: FloatArray, scene: CollisionScene, back: FloatArray | None = None) -> bool:
        """See ports.Planner."""
        return self._planner.reachable(T_base_gripper, scene, back)

    def reseed(self, seed: int) -> None:
        """See ports.Planner."""
        self._planner.reseed(seed)
