"""The rules of goals: their state machine, and which of them a cancel request is for."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from action_msgs.msg import GoalInfo, GoalStatus
from action_msgs.srv import CancelGoal
from builtin_interfaces.msg import Time

from rclpy._rclpy_pybind11 import RCLError


class GoalEvent(enum.Enum):
    """What changes the state of a goal."""

    EXECUTE = "execute"
    CANCEL_GOAL = "cancel_goal"
    SUCCEED = "succeed"
    ABORT = "abort"
    CANCELED = "canceled"


_TRANSITIONS = {
    (GoalStatus.STATUS_ACCEPTED, GoalEvent.EXECUTE): GoalStatus.STATUS_EXECUTING,
    (GoalStatus.STATUS_ACCEPTED, GoalEvent.CANCEL_GOAL): GoalStatus.STATUS_CANCELING,
    (GoalStatus.STATUS_EXECUTING, GoalEvent.CANCEL_GOAL): GoalStatus.STATUS_CANCELING,
    (GoalStatus.STATUS_EXECUTING, GoalEvent.SUCCEED): GoalStatus.STATUS_SUCCEEDED,
    (GoalStatus.STATUS_EXECUTING, GoalEvent.ABORT): GoalStatus.STATUS_ABORTED,
    (GoalStatus.STATUS_CANCELING, GoalEvent.SUCCEED): GoalStatus.STATUS_SUCCEEDED,
    (GoalStatus.STATUS_CANCELING, GoalEvent.ABORT): GoalStatus.STATUS_ABORTED,
    (GoalStatus.STATUS_CANCELING, GoalEvent.CANCELED): GoalStatus.STATUS_CANCELED,
}
_NAMES = {
    GoalStatus.STATUS_UNKNOWN: "unknown",
    GoalStatus.STATUS_ACCEPTED: "accepted",
    GoalStatus.STATUS_EXECUTING: "executing",
    GoalStatus.STATUS_CANCELING: "canceling",
    GoalStatus.STATUS_SUCCEEDED: "succeeded",
    GoalStatus.STATUS_CANCELED: "canceled",
    GoalStatus.STATUS_ABORTED: "aborted",
}
_ACTIVE = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
_NO_ID = bytes(16)


def transition(status: int, event: GoalEvent) -> int:
    """The status after an event.

    Raises:
        RCLError: If the event is not allowed in this status.
    """
    if (status, event) not in _TRANSITIONS:
        allowed = ", ".join(other.value for other in GoalEvent if (status, other) in _TRANSITIONS) or "nothing"
        raise RCLError(f"A goal that is {_NAMES[status]} cannot {event.value}; allowed is: {allowed}.")
    return _TRANSITIONS[status, event]


def is_active(status: int) -> bool:
    """True until the goal has succeeded, was canceled or was aborted."""
    return status in _ACTIVE


def select_goals_to_cancel(
    request: CancelGoal.Request, goals: Iterable[tuple[GoalInfo, int]]
) -> tuple[int, list[bytes]]:
    """The goals that a cancel request is for, by the rules of action_msgs/srv/CancelGoal.

    An id alone is for one goal, a stamp alone for all goals accepted at or before it, both for the union, neither for
    all goals.

    Args:
        request: Id and stamp; zeros where they are not set.
        goals: The known goals with their status.

    Returns:
        The return code and the ids of those goals that can be canceled.
    """
    wanted = bytes(request.goal_info.goal_id.uuid)
    until = _nanoseconds(request.goal_info.stamp)
    if wanted != _NO_ID and until == 0:
        for info, status in goals:
            if bytes(info.goal_id.uuid) == wanted:
                if (status, GoalEvent.CANCEL_GOAL) in _TRANSITIONS:
                    return CancelGoal.Response.ERROR_NONE, [wanted]
                return CancelGoal.Response.ERROR_GOAL_TERMINATED, []
        return CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID, []
    everything = wanted == _NO_ID and until == 0
    cancelable = [info for info, status in goals if (status, GoalEvent.CANCEL_GOAL) in _TRANSITIONS]
    selected = [
        goal_id
        for goal_id, stamp in ((bytes(info.goal_id.uuid), _nanoseconds(info.stamp)) for info in cancelable)
        if everything or goal_id == wanted or stamp <= until
    ]
    return CancelGoal.Response.ERROR_NONE, selected


def _nanoseconds(stamp: Time) -> int:
    return int(stamp.sec) * 10**9 + int(stamp.nanosec)
