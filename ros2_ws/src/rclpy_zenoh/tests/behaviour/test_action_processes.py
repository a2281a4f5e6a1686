"""Actions whose server or client is another process, which may die."""

from __future__ import annotations

import pytest
from actions import CANCELED, SUCCEEDED, Actions, Gates
from harness import SHORT

LEASE = 60.0
"""Seconds within which a process that was killed disappears from the graph; DDS waits up to 20 s."""


@pytest.fixture
def actions(ros):
    made = Actions(ros)
    yield made
    made.destroy()


def test_a_goal_with_feedback(ros, actions, peer):
    peer("action_server.py")
    client = actions.client()
    heard: list[list[int]] = []
    handle = actions.send(client, 7, feedback_callback=lambda one: heard.append(list(one.feedback.sequence)))
    ros.spin_until(lambda: len(heard) == 6, "6 messages of feedback")
    assert heard[0] == [0, 1, 1]
    assert heard[-1] == [0, 1, 1, 2, 3, 5, 8, 13]
    assert actions.outcome(handle) == (SUCCEEDED, [0, 1, 1, 2, 3, 5, 8, 13])


def test_many_goals(actions, peer):
    peer("action_server.py")
    client = actions.client()
    handles = [actions.send(client, order) for order in range(1, 11)]
    assert [len(actions.outcome(handle)[1]) for handle in handles] == [max(2, order + 1) for order in range(1, 11)]


def test_cancel(ros, actions, peer):
    server = peer("action_server.py")
    handle = actions.send(actions.client(), -1)
    server.expect("executing")
    assert len(ros.result(handle.cancel_goal_async()).goals_canceling) == 1
    assert actions.outcome(handle) == (CANCELED, [0, 1])


def test_a_client_in_another_process(ros, actions, peer):
    actions.server()
    client = peer("action_client.py", "4")
    lines: list[str] = []
    ros.spin_until(lambda: lines.append(client.heard("result")) or lines[-1], "the other process's result")
    assert lines[-1] == f"result {SUCCEEDED} [4]"
    assert client.wait() == 0


def test_a_client_killed_while_its_goal_is_executed_does_no_harm(ros, actions, peer):
    gates = Gates()
    actions.server(gates.execute)
    lost = peer("action_client.py", "1")
    ros.spin_until(lambda: gates.handles, "the other process's goal")
    lost.kill()
    gates.open(1)
    ros.spin_until(lambda: gates.handles[1].status == SUCCEEDED, "the end of the goal")
    gates.open(2)
    assert actions.outcome(actions.send(actions.client(), 2)) == (SUCCEEDED, [2, 2])


def test_a_server_killed_while_it_executes_and_started_again(ros, actions, peer):
    server = peer("action_server.py")
    client = actions.client()
    handle = actions.send(client, -1)
    result = handle.get_result_async()
    ros.spin_for(0.1)
    server.expect("executing")
    server.kill()
    ros.spin_until(lambda: not client.server_is_ready(), "the killed server to be gone", LEASE)
    ros.spin_for(SHORT)
    assert not result.done()
    peer("action_server.py")
    ros.spin_until(client.server_is_ready, "the second server", LEASE)
    assert actions.outcome(actions.send(client, 3)) == (SUCCEEDED, [0, 1, 1, 2])
    assert not result.done()
