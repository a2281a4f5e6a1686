"""Actions: goals, feedback, results and the states of goals."""

from __future__ import annotations

import uuid

import pytest
from action_msgs.msg import GoalStatusArray
from actions import ABORTED, ACCEPTED, EXECUTING, SUCCEEDED, UNKNOWN, Actions, Gates, goal, succeed
from example_interfaces.action import Fibonacci
from rclpy.action import GoalResponse
from rclpy.qos import DurabilityPolicy, QoSProfile
from unique_identifier_msgs.msg import UUID


@pytest.fixture
def actions(ros):
    made = Actions(ros)
    yield made
    made.destroy()


def test_a_goal_that_succeeds(ros, actions):
    actions.server()
    handle = actions.send(actions.client(), 5)
    assert handle.accepted
    assert handle.stamp.sec > 0
    assert actions.outcome(handle) == (SUCCEEDED, [5])
    ros.spin_until(lambda: handle.status == SUCCEEDED, "the status at the client")


def test_the_result_can_be_asked_for_again(actions):
    actions.server()
    handle = actions.send(actions.client(), 5)
    assert [actions.outcome(handle) for _ in range(2)] == [(SUCCEEDED, [5])] * 2


def test_the_result_waits_for_the_end(ros, actions):
    gates = Gates()
    actions.server(gates.execute)
    handle = actions.send(actions.client(), 3)
    result = handle.get_result_async()
    ros.spin_until(lambda: handle.status == EXECUTING, "the status at the client")
    ros.spin_for(0.2)
    assert not result.done()
    gates.open(3)
    response = ros.result(result)
    assert (response.status, list(response.result.sequence)) == (SUCCEEDED, [3, 3])


def test_a_rejected_goal(ros, actions):
    asked: list[int] = []
    executed: list[object] = []

    def decide(request: Fibonacci.Goal) -> GoalResponse:
        asked.append(request.order)
        return GoalResponse.ACCEPT if request.order < 10 else GoalResponse.REJECT

    actions.server(lambda handle: executed.append(handle.request.order) or succeed(handle), goal_callback=decide)
    client = actions.client()
    rejected = actions.send(client, 10)
    assert not rejected.accepted
    assert actions.outcome(rejected) == (UNKNOWN, [])
    assert actions.send(client, 9).accepted
    ros.spin_until(lambda: executed, "the accepted goal's execution")
    assert (asked, executed) == ([10, 9], [9])


def test_a_goal_callback_that_returns_something_else_rejects(actions):
    actions.server(goal_callback=lambda request: "yes")
    assert not actions.send(actions.client(), 1).accepted


def test_a_goal_that_aborts(actions):
    def execute(handle):
        handle.abort()
        return Fibonacci.Result(sequence=[-1])

    actions.server(execute)
    assert actions.outcome(actions.send(actions.client(), 1)) == (ABORTED, [-1])


def test_a_goal_without_an_end_is_aborted(actions):
    actions.server(lambda handle: Fibonacci.Result(sequence=[7]))
    assert actions.outcome(actions.send(actions.client(), 1)) == (ABORTED, [7])


def test_an_exception_in_execute_aborts_the_goal_and_spinning_goes_on(actions):
    def execute(handle):
        if handle.request.order == 1:
            raise LookupError("on purpose")
        return succeed(handle)

    actions.server(execute)
    client = actions.client()
    assert actions.outcome(actions.send(client, 1)) == (ABORTED, [])
    assert actions.outcome(actions.send(client, 2)) == (SUCCEEDED, [2])


def test_states_seen_by_the_server(ros, actions):
    seen: list[tuple[int, bool]] = []

    def accepted(handle):
        seen.append((handle.status, handle.is_active))
        handle.execute()

    def execute(handle):
        seen.append((handle.status, handle.is_active))
        handle.succeed()
        seen.append((handle.status, handle.is_active))
        return Fibonacci.Result()

    actions.server(execute, handle_accepted_callback=accepted)
    actions.outcome(actions.send(actions.client(), 1))
    assert seen == [(ACCEPTED, True), (EXECUTING, True), (SUCCEEDED, False)]


def test_impossible_transitions_are_errors(actions):
    errors: list[str] = []

    def attempt(name, transition):
        try:
            transition()
        except RuntimeError:
            errors.append(name)

    def execute(handle):
        attempt("canceled without a request", handle.canceled)
        handle.succeed()
        attempt("succeed again", handle.succeed)
        attempt("abort after success", handle.abort)
        return Fibonacci.Result(sequence=[1])

    actions.server(execute)
    assert actions.outcome(actions.send(actions.client(), 1)) == (SUCCEEDED, [1])
    assert errors == ["canceled without a request", "succeed again", "abort after success"]


def test_feedback_in_order(actions):
    def execute(handle):
        for number in range(handle.request.order):
            handle.publish_feedback(Fibonacci.Feedback(sequence=list(range(number + 1))))
        return succeed(handle)

    actions.server(execute)
    heard: list[object] = []
    handle = actions.send(actions.client(), 5, feedback_callback=heard.append)
    actions.ros.spin_until(lambda: len(heard) == 5, "5 messages of feedback")
    assert [list(one.feedback.sequence) for one in heard] == [list(range(number + 1)) for number in range(5)]
    assert all(one.goal_id == handle.goal_id for one in heard)
    assert actions.outcome(handle)[0] == SUCCEEDED, "asked for last: rclpy drops feedback that comes after the result"


def test_feedback_goes_to_its_own_goal(ros, actions):
    gates = Gates()
    actions.server(gates.execute)
    client, other = actions.client(), actions.client("other")
    heard: dict[int, list[int]] = {1: [], 2: [], 3: []}

    def send(client, order):
        callback = lambda message: heard[order].extend(message.feedback.sequence)  # noqa: E731
        return actions.send(client, order, feedback_callback=callback)

    handles = [send(client, 1), send(client, 2), send(other, 3)]
    ros.spin_until(lambda: len(gates.handles) == 3, "all goals to be executed")
    for order, handle in gates.handles.items():
        handle.publish_feedback(Fibonacci.Feedback(sequence=[order]))
    ros.spin_until(lambda: all(heard.values()), "feedback for each goal")
    ros.spin_for(0.1)
    assert heard == {1: [1], 2: [2], 3: [3]}
    for order in heard:
        gates.open(order)
    assert [actions.outcome(handle) for handle in handles] == [(SUCCEEDED, [n, n]) for n in (1, 2, 3)]


def test_feedback_of_the_wrong_type_is_a_type_error(actions):
    errors: list[type] = []

    def execute(handle):
        try:
            handle.publish_feedback("text")
        except TypeError as error:
            errors.append(type(error))
        return succeed(handle)

    actions.server(execute)
    actions.outcome(actions.send(actions.client(), 1))
    assert errors == [TypeError]


def test_goals_at_the_same_time_that_end_in_another_order(ros, actions):
    gates = Gates()
    actions.server(gates.execute)
    client = actions.client()
    handles = [actions.send(client, order) for order in range(1, 6)]
    results = [handle.get_result_async() for handle in handles]
    ros.spin_until(lambda: len(gates.handles) == 5, "5 goals to be executed")
    for count, order in enumerate((4, 2, 5, 1, 3), start=1):
        gates.open(order)
        ros.spin_until(results[order - 1].done, f"the result of goal {order}")
        assert list(results[order - 1].result().result.sequence) == [order, order]
        assert sum(result.done() for result in results) == count


def test_several_clients(ros, actions):
    actions.server()
    clients = [actions.client(f"client_{index}") for index in range(3)]
    futures = [client.send_goal_async(goal(order)) for order, client in enumerate(clients)]
    handles = [ros.result(future) for future in futures]
    assert [actions.outcome(handle) for handle in handles] == [(SUCCEEDED, [order]) for order in range(3)]


def test_a_deferred_goal_is_executed_when_the_server_says_so(ros, actions):
    waiting: list[object] = []
    actions.server(handle_accepted_callback=waiting.append)
    handle = actions.send(actions.client(), 4)
    result = handle.get_result_async()
    ros.spin_for(0.2)
    assert waiting[0].status == ACCEPTED
    assert not result.done()
    waiting[0].execute()
    assert ros.result(result).status == SUCCEEDED


def test_a_deferred_goal_may_have_its_own_execution(ros, actions):
    waiting: list[object] = []
    actions.server(handle_accepted_callback=waiting.append)
    result = actions.send(actions.client(), 4).get_result_async()
    ros.spin_until(lambda: waiting, "the goal at the server")

    def execute(handle):
        handle.abort()
        return Fibonacci.Result(sequence=[9])

    waiting[0].execute(execute)
    response = ros.result(result)
    assert (response.status, list(response.result.sequence)) == (ABORTED, [9])


def test_a_goal_id_of_ones_own_and_a_second_goal_with_it(actions):
    gates = Gates()
    actions.server(gates.execute)
    client = actions.client()
    identity = UUID(uuid=list(uuid.uuid4().bytes))
    first = actions.send(client, 1, goal_uuid=identity)
    second = actions.send(client, 2, goal_uuid=identity)
    assert first.accepted
    assert bytes(first.goal_id.uuid) == bytes(identity.uuid)
    assert not second.accepted
    gates.open(1)
    assert actions.outcome(first) == (SUCCEEDED, [1, 1])


def test_goal_ids_differ(actions):
    actions.server()
    client = actions.client()
    assert len({bytes(actions.send(client, 1).goal_id.uuid) for _ in range(5)}) == 5


def test_the_status_topic_tells_a_late_listener(ros, actions):
    gates = Gates()
    actions.server(gates.execute)
    handle = actions.send(actions.client(), 1)
    ros.spin_until(lambda: handle.status == EXECUTING, "the status at the client")
    seen: list[list[tuple[bytes, int]]] = []

    def listen(message: GoalStatusArray) -> None:
        seen.append([(bytes(one.goal_info.goal_id.uuid), one.status) for one in message.status_list])

    profile = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    ros.node("late").create_subscription(GoalStatusArray, "fibonacci/_action/status", listen, profile)
    identity = bytes(handle.goal_id.uuid)
    ros.spin_until(lambda: seen, "the status")
    assert (identity, EXECUTING) in seen[-1]
    gates.open(1)
    ros.spin_until(lambda: (identity, SUCCEEDED) in seen[-1], "the last status")


def test_a_result_is_forgotten_after_its_time(ros, actions):
    actions.server(result_timeout=1)
    handle = actions.send(actions.client(), 1)
    assert actions.outcome(handle)[0] == SUCCEEDED
    ros.spin_until(lambda: actions.outcome(handle)[0] == UNKNOWN, "the result to be forgotten")
