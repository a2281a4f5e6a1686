"""The state machine of goals, and the goals that a cancel request is for."""

import itertools

import pytest
from action_msgs.msg import GoalInfo, GoalStatus
from action_msgs.srv import CancelGoal
from builtin_interfaces.msg import Time
from rclpy._rclpy_pybind11 import RCLError
from rclpy.action._goals import GoalEvent, is_active, select_goals_to_cancel, transition
from unique_identifier_msgs.msg import UUID

ALLOWED = {
    (GoalStatus.STATUS_ACCEPTED, GoalEvent.EXECUTE, GoalStatus.STATUS_EXECUTING),
    (GoalStatus.STATUS_ACCEPTED, GoalEvent.CANCEL_GOAL, GoalStatus.STATUS_CANCELING),
    (GoalStatus.STATUS_EXECUTING, GoalEvent.CANCEL_GOAL, GoalStatus.STATUS_CANCELING),
    (GoalStatus.STATUS_EXECUTING, GoalEvent.SUCCEED, GoalStatus.STATUS_SUCCEEDED),
    (GoalStatus.STATUS_EXECUTING, GoalEvent.ABORT, GoalStatus.STATUS_ABORTED),
    (GoalStatus.STATUS_CANCELING, GoalEvent.SUCCEED, GoalStatus.STATUS_SUCCEEDED),
    (GoalStatus.STATUS_CANCELING, GoalEvent.ABORT, GoalStatus.STATUS_ABORTED),
    (GoalStatus.STATUS_CANCELING, GoalEvent.CANCELED, GoalStatus.STATUS_CANCELED),
}
STATUSES = range(7)


@pytest.mark.parametrize(("status", "event"), list(itertools.product(STATUSES, GoalEvent)))
def test_only_the_documented_transitions_are_allowed(status, event):
    after = {end for begin, what, end in ALLOWED if (begin, what) == (status, event)}
    if after:
        assert {transition(status, event)} == after
    else:
        with pytest.raises(RCLError, match="cannot"):
            transition(status, event)


def test_no_event_leaves_a_final_status():
    final = {status for status in STATUSES if not any(begin == status for begin, _, _ in ALLOWED)}
    assert final == {status for status in STATUSES if not is_active(status)}


def goal(number, seconds, status):
    return GoalInfo(goal_id=UUID(uuid=[number] * 16), stamp=Time(sec=seconds)), status


GOALS = [
    goal(1, 10, GoalStatus.STATUS_EXECUTING),
    goal(2, 20, GoalStatus.STATUS_ACCEPTED),
    goal(3, 20, GoalStatus.STATUS_SUCCEEDED),
    goal(4, 30, GoalStatus.STATUS_EXECUTING),
    goal(5, 5, GoalStatus.STATUS_CANCELING),
]
NONE = CancelGoal.Response.ERROR_NONE


@pytest.mark.parametrize(
    ("number", "seconds", "code", "selected"),
    [
        (0, 0, NONE, [1, 2, 4]),  # neither: all
        (0, 20, NONE, [1, 2]),  # a stamp: at or before it
        (0, 9, NONE, []),
        (4, 20, NONE, [1, 2, 4]),  # both: the union
        (9, 20, NONE, [1, 2]),
        (1, 0, NONE, [1]),  # an id: that goal
        (3, 0, CancelGoal.Response.ERROR_GOAL_TERMINATED, []),
        (9, 0, CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID, []),
    ],
)
def test_cancel_requests_select_by_id_and_stamp(number, seconds, code, selected):
    request = CancelGoal.Request(goal_info=goal(number, seconds, 0)[0])
    assert select_goals_to_cancel(request, GOALS) == (code, [bytes([n] * 16) for n in selected])
