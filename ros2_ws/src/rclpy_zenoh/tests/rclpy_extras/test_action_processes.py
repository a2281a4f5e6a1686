"""Action servers and clients in two processes, of which one dies."""

import time

import pytest
from action_msgs.msg import GoalStatus
from example_interfaces.action import Fibonacci
from rclpy.action import (
    ActionClient,
    ActionServer,
    get_action_client_names_and_types_by_node,
    get_action_names_and_types,
    get_action_server_names_and_types_by_node,
)
from rclpy.callback_groups import ReentrantCallbackGroup

COUNT = ("/count", ["example_interfaces/action/Fibonacci"])


@pytest.fixture
def client(ros):
    return ActionClient(ros.node("client"), Fibonacci, "count", callback_group=ReentrantCallbackGroup())


def test_feedback_result_and_cancel_cross_processes(ros, peer, client):
    peer("action_server")
    assert client.wait_for_server(20)
    feedback = []
    handle = ros.result(
        client.send_goal_async(Fibonacci.Goal(order=4), lambda message: feedback.append(len(message.feedback.sequence)))
    )
    response = ros.result(handle.get_result_async())
    assert (response.status, list(response.result.sequence)) == (GoalStatus.STATUS_SUCCEEDED, [0, 1, 2, 3])
    ros.wait(lambda: feedback == [1, 2, 3, 4])
    endless = ros.result(client.send_goal_async(Fibonacci.Goal(order=0)))
    result = endless.get_result_async()
    assert len(ros.result(endless.cancel_goal_async()).goals_canceling) == 1
    assert ros.result(result).status == GoalStatus.STATUS_CANCELED
    ros.wait(lambda: endless.status == GoalStatus.STATUS_CANCELED)


def test_actions_are_found_in_the_graph(ros, peer, client):
    peer("action_server")
    node = ros.node("observer")
    ros.wait(lambda: get_action_names_and_types(node) == [COUNT])
    assert client.wait_for_server(20)
    assert get_action_server_names_and_types_by_node(node, "peer_action_server", "/") == [COUNT]
    assert get_action_client_names_and_types_by_node(node, "peer_action_server", "/") == []
    assert get_action_client_names_and_types_by_node(node, "client", "/") == [COUNT]


def test_a_killed_server_is_noticed_and_its_successor_takes_goals(ros, peer, client):
    first = peer("action_server")
    assert client.wait_for_server(20)
    handle = ros.result(client.send_goal_async(Fibonacci.Goal(order=0)))
    lost = handle.get_result_async()
    first.kill()
    ros.wait(lambda: not client.server_is_ready())
    peer("action_server")
    assert client.wait_for_server(20)
    again = ros.result(client.send_goal_async(Fibonacci.Goal(order=2)))
    assert list(ros.result(again.get_result_async()).result.sequence) == [0, 1]
    assert ros.result(handle.get_result_async()).status == GoalStatus.STATUS_UNKNOWN  # the new server never had it
    assert not lost.done()  # as in ROS: whoever waits needs a timeout


def test_a_killed_client_leaves_nothing_in_the_server(ros, peer):
    def execute(goal):
        while not ended:
            time.sleep(0.002)
        goal.succeed()
        return Fibonacci.Result(sequence=[1])

    ended = []
    server = ActionServer(
        ros.node("server"),
        Fibonacci,
        "count",
        execute,
        callback_group=ReentrantCallbackGroup(),
        result_timeout=0.1,
    )
    client = peer("action_client", "1")
    client.expect("accepted")
    client.kill()
    ended.append(True)
    ros.wait(lambda: not server._goal_handles)
    other = ActionClient(ros.node("other"), Fibonacci, "count", callback_group=ReentrantCallbackGroup())
    assert other.wait_for_server(20)
    handle = ros.result(other.send_goal_async(Fibonacci.Goal(order=1)))
    assert ros.result(handle.get_result_async()).status == GoalStatus.STATUS_SUCCEEDED
    server.destroy()
