"""Which configurations one motion may pass through.

Contacts that exist where a motion starts may stay, but never deepen; so the gripper can back out from beside
an object it touches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np

from toolhand.tool_nodes.motion.scene_model import NEAR, SceneModel
from toolhand.tool_nodes.results import ErrorCode, ToolError
from toolhand.tool_nodes.types import FloatArray

START_SLACK = 5e-4
"""How much deeper than at the start of a motion a contact may read [m]."""

_WITHIN_M = 0.02
"""An arm that starts deeper in an obstacle was itself taken for one [m]. It can touch objects less deep than this: an
obstacle reaches 10 mm behind what was seen and 3 mm beside it."""

TIP_SLACK = 1e-3
"""How far a fingertip may read outside the workspace [m]."""

RESOLUTION = 0.02
"""Spacing of the checks along a joint segment [rad]."""

FINE_RESOLUTION = 0.005
"""Spacing of the checks of a finished path, and of a second search [rad]: a corner of the hand at
0.9 m from a joint passes 4.5 mm of an edge unseen. At the path's samples alone, 1 path of 100 clipped one by 0.5 mm."""

CLOSE_RESOLUTION = FINE_RESOLUTION / 8.0
"""Spacing of the checks of a finished path where something is as close as NEAR [rad]: there that corner passes 0.6 mm
unseen. Without it 3 paths of 934 clipped an edge by 0.3 to 0.5 mm."""


class Checker:
    """Decides whether configurations are allowed, for one motion.

    Args:
        model: The scene's geometry.
        start: (n,) where the motion starts: contacts found there may stay but not deepen, and fingertips
            outside the workspace may come back.

    Attributes:
        robot: The model's robot.
    """

    def __init__(self, model: SceneModel, start: FloatArray | None = None) -> None:
        self._model = model
        self._at_start: dict[tuple[int, int], float] = {}
        self._at_goals: dict[tuple[int, int], float] = {}
        self._clearance = 0.0
        self._tips_at_start = self._tips_at_goals = 0.0
        self.robot = model.robot
        self._refused: tuple[int, int] | None = None
        self._close = False
        if start is not None:
            self._at_start, self._tips_at_start = self._depths_at(start[None])

    def _depths_at(self, configurations: FloatArray) -> tuple[dict[tuple[int, int], float], float]:
        """How deep contacts, and fingertips outside the workspace, may be [m] where the arm is at any of (M, n)."""
        deepest: dict[tuple[int, int], float] = {}
        outside = -np.inf
        for q in configurations:
            if self._model.update(q):
                for pair, depth in self._model.depths():
                    deepest[pair] = max(depth + START_SLACK, deepest.get(pair, -np.inf))
            outside = max(outside, self._model.tip_excess() + START_SLACK)
        return deepest, outside

    @contextmanager
    def clearance(self, goals: FloatArray) -> Iterator[None]:
        """While searching, keep fingertips inside, and 2 mm more than needed but from what goals (M, n) are close to.

        So what lies between two checked configurations is free too.
        """
        self._clearance = NEAR
        depths, outside = self._depths_at(goals)
        # Never more than a motion may have: what a search lets pass and the check of the whole path refuses is no path.
        self._at_goals = {pair: min(depth, self._model.tolerance(pair)) for pair, depth in depths.items()}
        self._tips_at_goals = min(outside, TIP_SLACK)
        try:
            yield
        finally:
            self._clearance, self._at_goals, self._tips_at_goals = 0.0, {}, 0.0

    def free(self, q: FloatArray) -> bool:
        """True if q (n,) is free of collision with both fingertips inside the workspace."""
        self._close = False
        if self._model.update(q):
            for pair, depth in self._model.depths():
                limit = self._model.tolerance(pair) - self._clearance
                allowed = max(limit, self._at_start.get(pair, limit), self._at_goals.get(pair, limit))
                if depth > allowed:
                    self._refused = pair
                    return False
                self._close = self._close or depth > allowed - NEAR
        slack = 0.0 if self._clearance else TIP_SLACK
        if self._model.tip_excess() > max(slack, self._tips_at_start, self._tips_at_goals):
            self._refused = None
            return False
        return True

    def start_error(self) -> ToolError | None:
        """The error where the robot starts more than _WITHIN_M within a box of the scene, None where it does not."""
        within = {pair: depth for pair, depth in self._at_start.items() if self._model.robot_meets_box(pair)}
        if not within or max(within.values()) - self._model.margin < _WITHIN_M:
            return None
        deepest = max(within, key=lambda pair: within[pair])
        return ToolError(
            ErrorCode.PLAN_FAILED,
            f"The arm stands within an obstacle: {self._model.describe(deepest)}, {100 * within[deepest]:.0f} cm deep.",
            "Bring it back with robot.return_to_park, and look again.",
        )

    def path_free(self, path: FloatArray) -> bool:
        """True if a path (N, n) is free at its rows and every FINE_RESOLUTION between them, or less beside objects."""
        steps = np.diff(path, axis=0)
        counts = np.maximum(1, np.ceil(np.abs(steps).max(axis=1, initial=0.0) / FINE_RESOLUTION)).astype(int)
        row = np.repeat(np.arange(len(steps)), counts)
        part = np.arange(1, len(row) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
        between = path[row] + steps[row] * (part / counts[row])[:, None]
        path = np.concatenate([path[:1], between])
        close = False
        for index, q in enumerate(path):
            if not self.free(q):
                return False
            was_close, close = close, self._close
            if index and (close or was_close) and not self._free_between(path[index - 1], q):
                return False
        return True

    def _free_between(self, a: FloatArray, b: FloatArray) -> bool:
        count = int(np.ceil(float(np.abs(b - a).max()) / CLOSE_RESOLUTION))
        return all(self.free(a + (b - a) * (k / count)) for k in range(1, count))

    def segment_free(self, a: FloatArray, b: FloatArray, resolution: float = RESOLUTION) -> bool:
        """True if the straight joint segment (a, b] is free, checked every `resolution` [rad], coarse to fine."""
        count = max(1, int(np.ceil(float(np.abs(b - a).max()) / resolution)))
        return all(self.free(a + (b - a) * (k / count)) for k in _coarse_to_fine(count))

    def hand_refused(self) -> bool:
        """True where the last configuration was refused because the hand meets an obstacle."""
        return self._refused is not None and self._model.in_the_way_of_the_hand(self._refused)

    def error(self, what: str) -> ToolError:
        """The error that says why the last configuration was refused."""
        if self._refused is None:
            low, high = self.robot.reach.low, self.robot.reach.high
            return ToolError(
                ErrorCode.OUT_OF_WORKSPACE,
                f"{what} would take a fingertip out of the workspace: x {low[0]:.2f} to {high[0]:.2f} m, "
                f"y {low[1]:.2f} to {high[1]:.2f} m, z {low[2]:.2f} to {high[2]:.2f} m.",
            )
        return ToolError(
            ErrorCode.PLAN_FAILED, f"{what} is blocked: {self._model.describe(self._refused)} would collide."
        )


@cache
def _coarse_to_fine(count: int) -> tuple[int, ...]:
    """1..count, the end first and then halving the gaps, so that a blocked segment is refused early."""
    order, step = [count], 1 << (count - 1).bit_length()
    while step > 1:
        step //= 2
        order.extend(range(step, count, 2 * step))
    return tuple(order)
