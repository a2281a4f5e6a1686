"""The goals of an action server, and how long their results and status are kept. Times are in nanoseconds."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from rclpy.task import Future

if TYPE_CHECKING:
    from rclpy.action._server_goal_handle import ServerGoalHandle

MAX_KEPT_RESULTS = 1024
"""Results that a server keeps; the oldest are given up before their time, so that clients cannot fill the memory."""
MAX_REPORTED_ENDED = 32
"""Ended goals in a status message, besides all others; ROS lists each for as long as its result is kept."""


class GoalStore:
    """Goals by id; those that have ended are forgotten after `result_timeout_ns`.

    Callers from several threads hold a lock.
    """

    def __init__(self, result_timeout_ns: int) -> None:
        self._result_timeout_ns = result_timeout_ns
        self._goals: dict[bytes, tuple[ServerGoalHandle, Future]] = {}
        self._reported: dict[bytes, ServerGoalHandle] = {}
        self._ended: deque[tuple[int, bytes]] = deque()
        self._reported_ended: deque[bytes] = deque()

    def __len__(self) -> int:
        return len(self._goals)

    def __contains__(self, goal_id: bytes) -> bool:
        return goal_id in self._goals

    def add(self, goal_id: bytes, goal_handle: ServerGoalHandle) -> None:
        """Keep a goal that was accepted."""
        self._goals[goal_id] = (goal_handle, Future())
        self._reported[goal_id] = goal_handle

    def handle(self, goal_id: bytes) -> ServerGoalHandle:
        """The handle of a goal; KeyError where it is not kept."""
        return self._goals[goal_id][0]

    def handles(self) -> list[ServerGoalHandle]:
        """The handles of all goals."""
        return [goal_handle for goal_handle, _ in self._goals.values()]

    def result(self, goal_id: bytes) -> Future | None:
        """The future of a goal's result, or None where the goal is not kept."""
        kept = self._goals.get(goal_id)
        return None if kept is None else kept[1]

    def reported(self) -> list[ServerGoalHandle]:
        """The goals of a status message."""
        return list(self._reported.values())

    def end(self, goal_id: bytes, now: int) -> None:
        """Note that a goal has ended."""
        self._ended.append((now, goal_id))
        self._reported_ended.append(goal_id)
        if len(self._reported_ended) > MAX_REPORTED_ENDED:
            self._reported.pop(self._reported_ended.popleft(), None)
        if len(self._ended) > MAX_KEPT_RESULTS:
            self._drop(self._ended.popleft()[1])

    def expire(self, now: int) -> int | None:
        """Forget the goals whose time is over; returns the time until the next one is, or None if none has ended."""
        while self._ended and now - self._ended[0][0] >= self._result_timeout_ns:
            self._drop(self._ended.popleft()[1])
        if not self._ended:
            return None
        return min(self._ended[0][0] + self._result_timeout_ns - now, self._result_timeout_ns)

    def clear(self) -> None:
        """Forget all goals."""
        for goal_id in list(self._goals):
            self._drop(goal_id)
        self._ended.clear()
        self._reported_ended.clear()

    def _drop(self, goal_id: bytes) -> None:
        goal_handle, _ = self._goals.pop(goal_id)
        self._reported.pop(goal_id, None)
        goal_handle.destroy()
