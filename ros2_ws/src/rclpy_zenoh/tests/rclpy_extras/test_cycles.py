"""Making and destroying again and again leaves nothing behind."""

import gc
import os
import threading
import tracemalloc

from example_interfaces.action import Fibonacci
from rclpy.action import ActionClient, ActionServer
from rclpy.callback_groups import ReentrantCallbackGroup
from tf2_ros import Buffer, TransformBroadcaster, TransformListener

EXECUTOR_THREADS = 4
MEMORY_SLACK = 100_000
"""Bytes; threads hold some objects at any moment, but not one of each cycle."""


def test_action_servers_and_clients_leave_nothing(ros):
    node = ros.node()

    def execute(goal):
        goal.succeed()
        return Fibonacci.Result()

    def cycle():
        server = ActionServer(node, Fibonacci, "act", execute, callback_group=ReentrantCallbackGroup())
        client = ActionClient(node, Fibonacci, "act", callback_group=ReentrantCallbackGroup())
        client.destroy()
        server.destroy()

    assert_no_growth(cycle, 100)
    assert list(node.clients) == []
    assert all("/act/" not in service.service_name for service in node.services)
    assert list(node.timers) == []


def test_goals_leave_nothing(ros):
    node, group = ros.node(), ReentrantCallbackGroup()

    def execute(goal):
        goal.publish_feedback(Fibonacci.Feedback(sequence=[1]))
        goal.succeed()
        return Fibonacci.Result(sequence=[1])

    server = ActionServer(node, Fibonacci, "act", execute, callback_group=group, result_timeout=0)
    client = ActionClient(node, Fibonacci, "act", callback_group=group)
    assert client.wait_for_server(20)

    def cycle():
        future = client.send_goal_async(Fibonacci.Goal(order=1), feedback_callback=lambda message: None)
        ros.result(ros.result(future).get_result_async())

    assert_no_growth(cycle, 200)
    ros.wait(lambda: len(server._goal_handles) == 0)


def test_listeners_and_parameters_leave_nothing(ros):
    node = ros.node()

    def cycle():
        listener = TransformListener(Buffer(node=None), node)
        broadcaster = TransformBroadcaster(node)
        node.destroy_publisher(broadcaster.pub_tf)
        listener.unregister()
        node.declare_parameter("x", 1)
        node.undeclare_parameter("x")

    assert_no_growth(cycle, 100)


def assert_no_growth(cycle, count):
    """No thread and no file descriptor is left, and Python's memory grows by less than `MEMORY_SLACK`."""
    for _ in range(count // 2):  # what is made once is there afterwards
        cycle()
    tracemalloc.start()
    try:
        gc.collect()
        threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
        memory = tracemalloc.get_traced_memory()[0]
        for _ in range(count):
            cycle()
        gc.collect()
        assert threading.active_count() <= threads + EXECUTOR_THREADS  # they start when they are needed first
        assert len(os.listdir("/proc/self/fd")) == files
        assert tracemalloc.get_traced_memory()[0] - memory < MEMORY_SLACK
    finally:
        tracemalloc.stop()
