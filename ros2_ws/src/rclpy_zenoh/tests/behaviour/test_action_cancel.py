"""Cancelling goals."""

from __future__ import annotations

import time

import pytest
from action_msgs.msg import GoalInfo
from action_msgs.srv import CancelGoal
from actions import CANCELED, CANCELING, EXECUTING, SUCCEEDED, Actions, Gates, succeed
from builtin_interfaces.msg import Time
from example_interfaces.action import Fibonacci
from rclpy.action import CancelResponse
from rclpy.duration import Duration
from rclpy.time import Time as ClockTime
from unique_identifier_msgs.msg import UUID

BETWEEN_S = 0.01
"""Half of the time between two goals that a stamp tells apart [s]."""


def agree(_: object) -> CancelResponse:
    return CancelResponse.ACCEPT


def identities(response) -> set[bytes]:
    return {bytes(info.goal_id.uuid) for info in response.goals_canceling}


def after(handle) -> Time:
    """A stamp between that goal's own and the next one's; the server stamps a goal again after it has answered."""
    return (ClockTime.from_msg(handle.stamp) + Duration(seconds=BETWEEN_S)).to_msg()


@pytest.fixture
def actions(ros):
    made = Actions(ros)
    yield made
    made.destroy()


@pytest.fixture
def gates(actions):
    """Goals that wait, on a server that agrees to cancel them."""
    waiting = Gates()
    actions.server(waiting.execute, cancel_callback=agree)
    return waiting


@pytest.fixture
def request_cancel(ros, actions):
    """Calls the cancel service as any client may: with a goal id, a stamp, both or neither."""

    def call(goal_id=None, stamp=None):
        client = ros.node("canceller").create_client(CancelGoal, "fibonacci/_action/cancel_goal")
        ros.spin_until(client.service_is_ready, "the cancel service")
        info = GoalInfo()
        if goal_id is not None:
            info.goal_id = goal_id
        if stamp is not None:
            info.stamp = stamp
        return ros.result(client.call_async(CancelGoal.Request(goal_info=info)))

    return call


def test_a_goal_that_agrees_to_be_cancelled(ros, actions, gates):
    handle = actions.send(actions.client(), 1)
    ros.spin_until(lambda: gates.handles, "the goal to be executed")
    assert not gates.handles[1].is_cancel_requested
    response = ros.result(handle.cancel_goal_async())
    assert response.return_code == CancelGoal.Response.ERROR_NONE
    assert identities(response) == {bytes(handle.goal_id.uuid)}
    assert gates.handles[1].is_cancel_requested
    assert gates.handles[1].status == CANCELING
    assert gates.handles[1].is_active
    gates.open(1)
    assert actions.outcome(handle) == (CANCELED, [1, 1])
    ros.spin_until(lambda: handle.status == CANCELED, "the status at the client")


def test_without_a_cancel_callback_a_server_refuses(ros, actions):
    waiting = Gates()
    actions.server(waiting.execute)
    handle = actions.send(actions.client(), 1)
    ros.spin_until(lambda: waiting.handles, "the goal to be executed")
    assert list(ros.result(handle.cancel_goal_async()).goals_canceling) == []
    assert waiting.handles[1].status == EXECUTING
    waiting.open(1)
    assert actions.outcome(handle) == (SUCCEEDED, [1, 1])


def test_the_cancel_callback_decides_for_each_goal(ros, actions):
    waiting = Gates()
    asked: list[int] = []

    def decide(goal_handle):
        asked.append(goal_handle.request.order)
        return CancelResponse.ACCEPT if goal_handle.request.order == 2 else CancelResponse.REJECT

    actions.server(waiting.execute, cancel_callback=decide)
    client = actions.client()
    handles = [actions.send(client, order) for order in (1, 2)]
    ros.spin_until(lambda: len(waiting.handles) == 2, "both goals to be executed")
    answers = [ros.result(handle.cancel_goal_async()) for handle in handles]
    assert [len(answer.goals_canceling) for answer in answers] == [0, 1]
    assert asked == [1, 2]
    for order in (1, 2):
        waiting.open(order)
    assert [actions.outcome(handle)[0] for handle in handles] == [SUCCEEDED, CANCELED]


def test_a_goal_may_succeed_although_it_is_being_cancelled(ros, actions):
    held: list[object] = []

    def finish(goal_handle):
        goal_handle.succeed()
        return Fibonacci.Result(sequence=[3])

    actions.server(handle_accepted_callback=held.append, cancel_callback=agree)
    handle = actions.send(actions.client(), 1)
    ros.spin_until(lambda: held, "the goal at the server")
    ros.result(handle.cancel_goal_async())
    assert held[0].status == CANCELING
    held[0].execute(finish)
    assert actions.outcome(handle) == (SUCCEEDED, [3])


def test_a_deferred_goal_that_is_cancelled_is_still_executed(ros, actions):
    held: list[object] = []
    seen: list[bool] = []

    def execute(goal_handle):
        seen.append(goal_handle.is_cancel_requested)
        goal_handle.canceled()
        return Fibonacci.Result()

    actions.server(execute, handle_accepted_callback=held.append, cancel_callback=agree)
    handle = actions.send(actions.client(), 1)
    ros.spin_until(lambda: held, "the goal at the server")
    ros.result(handle.cancel_goal_async())
    held[0].execute()
    assert actions.outcome(handle) == (CANCELED, [])
    assert seen == [True]


def test_cancelling_a_goal_that_has_ended(ros, actions):
    actions.server(succeed, cancel_callback=agree)
    handle = actions.send(actions.client(), 1)
    assert actions.outcome(handle)[0] == SUCCEEDED
    response = ros.result(handle.cancel_goal_async())
    assert response.return_code == CancelGoal.Response.ERROR_GOAL_TERMINATED
    assert list(response.goals_canceling) == []
    assert actions.outcome(handle)[0] == SUCCEEDED


@pytest.mark.usefixtures("gates")
def test_cancelling_an_unknown_goal(request_cancel):
    response = request_cancel(goal_id=UUID(uuid=list(range(1, 17))))
    assert response.return_code == CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID
    assert list(response.goals_canceling) == []


def test_neither_goal_nor_stamp_cancels_all(ros, actions, gates, request_cancel):
    client = actions.client()
    handles = [actions.send(client, order) for order in (1, 2, 3)]
    ros.spin_until(lambda: len(gates.handles) == 3, "3 goals to be executed")
    gates.open(1)
    assert actions.outcome(handles[0])[0] == SUCCEEDED
    response = request_cancel()
    assert response.return_code == CancelGoal.Response.ERROR_NONE
    assert identities(response) == {bytes(handle.goal_id.uuid) for handle in handles[1:]}
    for order in (2, 3):
        gates.open(order)
    assert [actions.outcome(handle)[0] for handle in handles] == [SUCCEEDED, CANCELED, CANCELED]


def test_a_stamp_cancels_what_is_not_younger(ros, actions, gates, request_cancel):
    client = actions.client()
    handles = []
    for order in (1, 2, 3):
        handles.append(actions.send(client, order))
        time.sleep(2 * BETWEEN_S)
    ros.spin_until(lambda: len(gates.handles) == 3, "3 goals to be executed")
    response = request_cancel(stamp=after(handles[1]))
    assert identities(response) == {bytes(handle.goal_id.uuid) for handle in handles[:2]}
    assert [gates.handles[order].is_cancel_requested for order in (1, 2, 3)] == [True, True, False]
    for order in (1, 2, 3):
        gates.open(order)
    assert [actions.outcome(handle)[0] for handle in handles] == [CANCELED, CANCELED, SUCCEEDED]


def test_the_stamp_that_a_client_got_is_older_than_its_goal(ros, actions, gates, request_cancel):
    handle = actions.send(actions.client(), 1)
    ros.spin_until(lambda: gates.handles, "the goal to be executed")
    assert identities(request_cancel(stamp=handle.stamp)) == set()
    assert not gates.handles[1].is_cancel_requested
    gates.open(1)
    assert actions.outcome(handle)[0] == SUCCEEDED


def test_a_goal_and_a_stamp_cancel_both(ros, actions, gates, request_cancel):
    client = actions.client()
    handles = []
    for order in (1, 2, 3):
        handles.append(actions.send(client, order))
        time.sleep(2 * BETWEEN_S)
    ros.spin_until(lambda: len(gates.handles) == 3, "3 goals to be executed")
    response = request_cancel(goal_id=handles[2].goal_id, stamp=after(handles[0]))
    assert identities(response) == {bytes(handles[0].goal_id.uuid), bytes(handles[2].goal_id.uuid)}
    for order in (1, 2, 3):
        gates.open(order)
    assert [actions.outcome(handle)[0] for handle in handles] == [CANCELED, SUCCEEDED, CANCELED]


def test_cancelling_twice(ros, actions, gates):
    handle = actions.send(actions.client(), 1)
    ros.spin_until(lambda: gates.handles, "the goal to be executed")
    ros.result(handle.cancel_goal_async())
    ros.result(handle.cancel_goal_async())
    assert gates.handles[1].is_cancel_requested
    gates.open(1)
    assert actions.outcome(handle)[0] == CANCELED


def test_a_goal_of_another_client_can_be_cancelled(ros, actions, gates, request_cancel):
    handle = actions.send(actions.client(), 1)
    ros.spin_until(lambda: gates.handles, "the goal to be executed")
    assert len(request_cancel(goal_id=handle.goal_id).goals_canceling) == 1
    gates.open(1)
    assert actions.outcome(handle)[0] == CANCELED
