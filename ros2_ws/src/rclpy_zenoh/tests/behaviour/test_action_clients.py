"""Action clients and servers: types, readiness, threads, and their place in the graph."""

from __future__ import annotations

import threading

import pytest
from actions import SUCCEEDED, Actions, goal, succeed
from example_interfaces.action import Fibonacci
from harness import DEADLINE
from rclpy.action import (
    ActionClient,
    ActionServer,
    get_action_client_names_and_types_by_node,
    get_action_names_and_types,
    get_action_server_names_and_types_by_node,
)
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor


@pytest.fixture
def actions(ros):
    made = Actions(ros)
    yield made
    made.destroy()


@pytest.mark.parametrize("wrong", [None, 5, Fibonacci, Fibonacci.Result()], ids=repr)
def test_a_goal_of_the_wrong_type_is_a_type_error(ros, actions, wrong):
    client = ActionClient(ros.node("client"), Fibonacci, "fibonacci")
    with pytest.raises(TypeError):
        client.send_goal_async(wrong)
    with pytest.raises(TypeError):
        client.send_goal(wrong)
    client.destroy()


def test_an_execute_callback_is_something_to_call(ros):
    with pytest.raises(TypeError):
        ActionServer(ros.node(), Fibonacci, "fibonacci", "not callable")


def test_without_a_server(ros):
    client = ActionClient(ros.node(), Fibonacci, "nobody")
    assert not client.server_is_ready()
    assert client.wait_for_server(timeout_sec=0.1) is False
    future = client.send_goal_async(goal(1))
    ros.spin_for(0.3)
    assert not future.done()
    client.destroy()


def test_readiness_follows_the_server(ros, actions):
    first = ActionServer(actions.node, Fibonacci, "fibonacci", succeed)
    client = actions.client()
    first.destroy()
    ros.spin_until(lambda: not client.server_is_ready(), "the server to be gone")
    actions.server()
    ros.spin_until(client.server_is_ready, "the second server")
    assert actions.outcome(actions.send(client, 1)) == (SUCCEEDED, [1])


def test_synchronous_calls_from_another_thread(ros):
    server_node, client_node = ros.node("server", spin=False), ros.node("client", spin=False)
    server = ActionServer(server_node, Fibonacci, "fibonacci", succeed)
    client = ActionClient(client_node, Fibonacci, "fibonacci")
    with ros.spinning(server_node), ros.spinning(client_node):
        assert client.wait_for_server(timeout_sec=DEADLINE)
        response = client.send_goal(goal(6))
    assert (response.status, list(response.result.sequence)) == (SUCCEEDED, [6])
    client.destroy()
    server.destroy()


def test_blocking_goals_on_several_threads(ros):
    server_node, client_node = ros.node("server", spin=False), ros.node("client")
    barrier = threading.Barrier(2)

    def execute(handle):
        barrier.wait(DEADLINE)
        return succeed(handle)

    server = ActionServer(server_node, Fibonacci, "fibonacci", execute, callback_group=ReentrantCallbackGroup())
    client = ActionClient(client_node, Fibonacci, "fibonacci")
    with ros.spinning(server_node, executor=MultiThreadedExecutor(num_threads=4)):
        assert client.wait_for_server(timeout_sec=DEADLINE)
        futures = [client.send_goal_async(goal(order)) for order in (1, 2)]
        results = [ros.result(future).get_result_async() for future in futures]
        assert [list(ros.result(result).result.sequence) for result in results] == [[1], [2]]
    client.destroy()
    server.destroy()


def test_actions_in_the_graph(ros, actions):
    actions.server()
    actions.client()
    node = ros.node("observer")
    expected = ("/fibonacci", ["example_interfaces/action/Fibonacci"])
    ros.spin_until(lambda: expected in get_action_names_and_types(node), "the action in the graph")
    assert expected in get_action_server_names_and_types_by_node(node, "action_server", "/")
    assert expected in get_action_client_names_and_types_by_node(node, "action_client", "/")
    assert get_action_server_names_and_types_by_node(node, "action_client", "/") == []
