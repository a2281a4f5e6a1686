"""Actions: races, bad answers, bounds, and what hostile clients do. The rest is in tests/behaviour."""

import gc
import threading
import time
import weakref

import pytest
from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from example_interfaces.action import Fibonacci
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse, _goal_store
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.qos import qos_profile_action_status_default
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

SUCCEEDED, ABORTED, CANCELED = (
    GoalStatus.STATUS_SUCCEEDED,
    GoalStatus.STATUS_ABORTED,
    GoalStatus.STATUS_CANCELED,
)

IN_FLIGHT = 8
"""Requests at the same time; the queue of a service holds ten and drops the oldest, as in ROS."""


def succeed(goal):
    goal.succeed()
    return Fibonacci.Result(sequence=[goal.request.order])


class Pair:
    """An action server and a client for it, on two nodes that are spun."""

    def __init__(self, ros, execute=succeed, **options):
        self.ros = ros
        options.setdefault("callback_group", ReentrantCallbackGroup())
        self.server = ActionServer(ros.node("server"), Fibonacci, "act", execute, **options)
        self.node = ros.node("client")
        self.client = ActionClient(self.node, Fibonacci, "act", callback_group=ReentrantCallbackGroup())
        assert self.client.wait_for_server(20)

    def send(self, order=1, **options):
        return self.ros.result(self.client.send_goal_async(Fibonacci.Goal(order=order), **options))

    def outcome(self, handle):
        response = self.ros.result(handle.get_result_async())
        return response.status, list(response.result.sequence)

    def cancel(self, goal_info):
        client = self.node.create_client(CancelGoal, "act/_action/cancel_goal")
        assert client.wait_for_service(20)
        response = self.ros.result(client.call_async(CancelGoal.Request(goal_info=goal_info)))
        return response.return_code, [bytes(info.goal_id.uuid) for info in response.goals_canceling]


@pytest.fixture
def pair(ros):
    made = []

    def make(*args, **options):
        made.append(Pair(ros, *args, **options))
        return made[-1]

    yield make
    for each in made:
        each.client.destroy()
        each.server.destroy()


def until_canceled(goal):
    while not goal.is_cancel_requested:
        if not goal.is_active:
            return Fibonacci.Result()
        time.sleep(0.002)
    goal.canceled()
    return Fibonacci.Result(sequence=[-1])


def test_many_goals_at_once_each_get_their_own_result_and_feedback(pair):
    def execute(goal):
        goal.publish_feedback(Fibonacci.Feedback(sequence=[goal.request.order]))
        return succeed(goal)

    both, feedback = pair(execute), {}
    futures = [
        both.client.send_goal_async(
            Fibonacci.Goal(order=order),
            lambda message, order=order: feedback.setdefault(order, []).append(message.feedback.sequence[0]),
        )
        for order in range(IN_FLIGHT)
    ]
    handles = [both.ros.result(future) for future in futures]
    assert [both.outcome(handle) for handle in handles] == [(SUCCEEDED, [order]) for order in range(IN_FLIGHT)]
    assert all(numbers == [order] for order, numbers in feedback.items())
    assert len({bytes(handle.goal_id.uuid) for handle in handles}) == IN_FLIGHT


@pytest.mark.parametrize("result", [None, 5, "text"])
def test_a_callback_that_returns_no_result_gives_an_empty_one(pair, result):
    def execute(goal):
        goal.succeed()
        return result

    both = pair(execute)
    assert both.outcome(both.send()) == (SUCCEEDED, [])


def test_a_goal_that_is_not_ended_and_one_that_raises_are_aborted(pair):
    def execute(goal):
        if goal.request.order:
            raise ValueError("on purpose")
        return Fibonacci.Result(sequence=[3])

    both = pair(execute)
    assert both.outcome(both.send(0)) == (ABORTED, [3])
    assert both.outcome(both.send(1)) == (ABORTED, [])


def test_an_id_that_is_in_use_is_rejected_even_while_it_is_decided(pair):
    decision = Future()

    async def decide(goal):
        await decision
        return GoalResponse.ACCEPT

    both, goal_id = pair(goal_callback=decide), UUID(uuid=list(range(16)))
    first = both.client.send_goal_async(Fibonacci.Goal(order=1), goal_uuid=goal_id)
    both.ros.wait(lambda: both.server._undecided)
    other = ActionClient(both.node, Fibonacci, "act", callback_group=ReentrantCallbackGroup())
    assert other.wait_for_server(20)
    assert not both.ros.result(other.send_goal_async(Fibonacci.Goal(order=2), goal_uuid=goal_id)).accepted
    decision.set_result(None)
    handle = both.ros.result(first)
    assert handle.accepted
    assert both.outcome(handle) == (SUCCEEDED, [1])
    assert not both.ros.result(other.send_goal_async(Fibonacci.Goal(order=2), goal_uuid=goal_id)).accepted
    other.destroy()


def test_an_answer_that_is_no_goal_response_rejects(pair):
    both = pair(goal_callback=lambda goal: True)
    handle = both.send()
    assert not handle.accepted
    assert both.outcome(handle) == (GoalStatus.STATUS_UNKNOWN, [])


def test_cancel_requests_by_id_stamp_and_for_all(pair):
    both = pair(until_canceled, cancel_callback=lambda goal: CancelResponse.ACCEPT)
    first, second, third = both.send(1), both.send(2), both.send(3)
    ids = [bytes(handle.goal_id.uuid) for handle in (first, second, third)]
    none = CancelGoal.Response.ERROR_NONE
    assert both.cancel(GoalInfo(goal_id=third.goal_id)) == (none, [ids[2]])
    # A goal's own stamp is a little younger than the one in its answer: this one lies between the first and the second.
    assert both.cancel(GoalInfo(stamp=second.stamp)) == (none, [ids[0]])
    assert both.cancel(GoalInfo()) == (none, [ids[1]])
    assert [both.outcome(handle)[0] for handle in (first, second, third)] == [CANCELED] * 3
    assert both.cancel(GoalInfo(goal_id=first.goal_id)) == (CancelGoal.Response.ERROR_GOAL_TERMINATED, [])
    unknown = GoalInfo(goal_id=UUID(uuid=[9] * 16))
    assert both.cancel(unknown) == (CancelGoal.Response.ERROR_UNKNOWN_GOAL_ID, [])


def test_a_rejected_cancel_request_says_so(pair):
    finish = threading.Event()

    def execute(goal):
        finish.wait(20)
        return succeed(goal)

    both = pair(execute)
    handle = both.send(7)
    assert both.cancel(GoalInfo(goal_id=handle.goal_id)) == (CancelGoal.Response.ERROR_REJECTED, [])
    finish.set()
    assert both.outcome(handle) == (SUCCEEDED, [7])


def test_a_goal_may_end_while_its_cancel_callback_is_asked(pair):
    asked, ended = threading.Event(), threading.Event()

    def execute(goal):
        asked.wait(20)
        result = succeed(goal)
        ended.set()
        return result

    def cancel(goal):
        asked.set()
        ended.wait(20)
        return CancelResponse.ACCEPT

    both = pair(execute, cancel_callback=cancel)
    handle = both.send(4)
    assert both.cancel(GoalInfo(goal_id=handle.goal_id)) == (CancelGoal.Response.ERROR_GOAL_TERMINATED, [])
    assert both.outcome(handle) == (SUCCEEDED, [4])


def test_goals_and_cancels_that_race_end_in_one_state_on_both_sides(pair):
    def execute(goal):
        time.sleep(0.001 * (goal.request.order % 3))
        try:
            return succeed(goal)
        except RuntimeError:  # it is being canceled
            goal.canceled()
            return Fibonacci.Result(sequence=[-1])

    both = pair(execute, cancel_callback=lambda goal: CancelResponse.ACCEPT)
    for _ in range(5):
        handles = [both.send(order) for order in range(IN_FLIGHT)]
        cancels = [handle.cancel_goal_async() for handle in handles]
        for future in cancels:
            both.ros.result(future)
        for order, handle in enumerate(handles):
            assert both.outcome(handle) in ((SUCCEEDED, [order]), (CANCELED, [-1]))


def test_the_status_is_kept_for_subscribers_that_come_late(pair):
    both = pair()
    handle = both.send()
    both.outcome(handle)
    both.ros.wait(lambda: handle.status == SUCCEEDED)
    late = []
    both.ros.node("late").create_subscription(
        GoalStatusArray, "act/_action/status", late.append, qos_profile_action_status_default
    )
    both.ros.wait(lambda: late)
    assert late[-1].status_list[0].goal_info.goal_id == handle.goal_id
    assert late[-1].status_list[0].status == SUCCEEDED


def test_a_result_is_kept_until_its_time_is_over(pair):
    both = pair(result_timeout=0.2)
    handle = both.send(5)
    assert both.outcome(handle) == (SUCCEEDED, [5])
    both.ros.wait(lambda: both.outcome(handle) == (GoalStatus.STATUS_UNKNOWN, []))
    assert not both.server._goal_handles


def test_a_result_that_is_waited_for_is_given_even_if_it_is_not_kept(pair):
    go = threading.Event()

    def execute(goal):
        go.wait(20)
        return succeed(goal)

    both = pair(execute, result_timeout=0)
    handle = both.send(6)
    future = handle.get_result_async()
    time.sleep(0.1)  # the request is there
    go.set()
    assert list(both.ros.result(future).result.sequence) == [6]
    both.ros.wait(lambda: not both.server._goal_handles)


def test_only_so_many_results_are_kept(pair, monkeypatch):
    monkeypatch.setattr(_goal_store, "MAX_KEPT_RESULTS", 5)
    both = pair()
    handles = [both.send(order) for order in range(8)]
    both.ros.wait(lambda: len(both.server._goal_handles) == 5)
    assert both.outcome(handles[0]) == (GoalStatus.STATUS_UNKNOWN, [])
    assert both.outcome(handles[-1]) == (SUCCEEDED, [7])


def test_the_client_keeps_nothing_of_goals_that_are_over(pair):
    both = pair()

    class Callback:
        def __call__(self, message):
            pass

    callbacks = []
    for order in range(100):
        callback = Callback()
        callbacks.append(weakref.ref(callback))
        both.outcome(both.send(order, feedback_callback=callback))
    del callback
    gc.collect()
    assert not both.client._goal_handles
    assert sum(reference() is not None for reference in callbacks) <= 64
    assert len(both.client._feedback_callbacks) <= 64


def test_a_goal_handle_that_is_refused_an_event_says_what_is_allowed(pair):
    refusals = []

    def execute(goal):
        for event in (goal.canceled, goal.execute):
            with pytest.raises(RuntimeError) as error:
                event()
            refusals.append(str(error.value))
        goal.succeed()
        with pytest.raises(RuntimeError, match="succeeded cannot abort; allowed is: nothing"):
            goal.abort()
        return Fibonacci.Result()

    both = pair(execute)
    assert both.outcome(both.send()) == (SUCCEEDED, [])
    assert refusals == [
        "A goal that is executing cannot canceled; allowed is: cancel_goal, succeed, abort.",
        "A goal that is executing cannot execute; allowed is: cancel_goal, succeed, abort.",
    ]


def test_the_wrong_class_is_refused_at_once(pair):
    def execute(goal):
        with pytest.raises(TypeError, match=r"must be a Fibonacci\.Feedback, not Fibonacci_Result"):
            goal.publish_feedback(Fibonacci.Result())
        return succeed(goal)

    both = pair(execute)
    assert both.outcome(both.send(2)) == (SUCCEEDED, [2])
    with pytest.raises(TypeError, match=r"must be a Fibonacci\.Goal, not int"):
        both.client.send_goal_async(5)


def test_what_others_publish_on_the_topics_of_an_action_does_no_harm(pair):
    go = threading.Event()

    def execute(goal):
        go.wait(20)
        goal.publish_feedback(Fibonacci.Feedback(sequence=[1]))
        return succeed(goal)

    both, seen = pair(execute), []
    handle = both.send(3, feedback_callback=lambda message: seen.append(list(message.feedback.sequence)))
    intruder = both.ros.node("intruder")
    feedback = intruder.create_publisher(Fibonacci.Impl.FeedbackMessage, "act/_action/feedback", 10)
    status = intruder.create_publisher(GoalStatusArray, "act/_action/status", qos_profile_action_status_default)
    both.ros.wait(lambda: feedback.get_subscription_count() and status.get_subscription_count())
    for garbage in (b"", b"\x00\x01\x00\x00", b"\xff" * 40):
        feedback.publish(garbage)
        status.publish(garbage)
    feedback.publish(Fibonacci.Impl.FeedbackMessage(feedback=Fibonacci.Feedback(sequence=[9])))  # of no goal of ours
    strange = GoalStatus(goal_info=GoalInfo(goal_id=UUID(uuid=[1] * 16)), status=99)
    status.publish(GoalStatusArray(status_list=[strange]))
    go.set()
    assert both.outcome(handle) == (SUCCEEDED, [3])
    both.ros.wait(lambda: seen)
    assert seen == [[1]]


def test_a_server_can_be_destroyed_while_it_executes(pair):
    started, go, after = threading.Event(), threading.Event(), []

    def execute(goal):
        started.set()
        go.wait(20)
        goal.publish_feedback(Fibonacci.Feedback())
        goal.succeed()
        after.append((goal.is_active, goal.status))
        return Fibonacci.Result()

    both = pair(execute)
    future = both.send().get_result_async()
    started.wait(20)
    both.server.destroy()
    both.server.destroy()
    go.set()
    both.ros.wait(lambda: after)
    assert after == [(False, GoalStatus.STATUS_UNKNOWN)]
    assert not future.done()
    assert not both.client.server_is_ready()


def test_a_blocking_call_in_a_callback_that_could_never_end_is_refused(ros):
    ActionServer(ros.node("server"), Fibonacci, "act", succeed, callback_group=ReentrantCallbackGroup())
    node, refused = ros.node("client"), []
    client = ActionClient(node, Fibonacci, "act", callback_group=MutuallyExclusiveCallbackGroup())
    assert client.wait_for_server(20)

    def tick():
        timer.cancel()
        try:
            client.send_goal(Fibonacci.Goal(order=1))
        except RuntimeError as error:
            refused.append(str(error))

    timer = node.create_timer(0.01, tick, callback_group=client._goal_client.callback_group)
    ros.wait(lambda: refused)
    assert "would wait for ever" in refused[0]
    assert not client._feedback_callbacks
    assert client.send_goal(Fibonacci.Goal(order=3)).result.sequence.tolist() == [3]  # this thread spins nothing


def test_a_canceled_goal_future_is_forgotten(pair):
    decision = Future()

    async def decide(goal):
        await decision
        return GoalResponse.ACCEPT

    both = pair(goal_callback=decide)
    future = both.client.send_goal_async(Fibonacci.Goal(order=1), feedback_callback=print)
    both.ros.wait(lambda: both.server._undecided)
    future.cancel()
    assert not both.client._feedback_callbacks
    decision.set_result(None)
    both.ros.wait(lambda: both.server._goal_handles)
    assert not future.done()
