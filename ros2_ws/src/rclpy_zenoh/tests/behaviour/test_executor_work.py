"""Executors: what wakes them, what they must not starve, and what becomes of exceptions."""

from __future__ import annotations

import threading
import time
import warnings
from contextlib import suppress

import pytest
import rclpy
from harness import DEADLINE, SHORT, wait_until
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor
from std_msgs.msg import Int32


class Ticks:
    """Counts its calls."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


@pytest.mark.parametrize("wake", ["task", "node", "timer"])
def test_new_work_from_another_thread_wakes_the_executor(ros, wake):
    done = threading.Event()
    node = ros.node(spin=wake != "node")

    def bring() -> None:
        if wake == "task":
            ros.executor.create_task(done.set)
        elif wake == "timer":
            node.create_timer(0.01, done.set)
        else:
            node.create_timer(0.01, done.set)
            ros.executor.add_node(node)

    timer = threading.Timer(0.2, bring)
    timer.start()
    ros.executor.spin_once(timeout_sec=DEADLINE)
    timer.join(DEADLINE)
    ros.spin_until(done.is_set, "the new work", timeout=1.0)


def test_a_message_from_another_thread_wakes_the_executor(ros):
    node = ros.node()
    heard: list[object] = []
    node.create_subscription(Int32, "numbers", heard.append, 10)
    publisher = node.create_publisher(Int32, "numbers", 10)
    ros.match(publisher)
    timer = threading.Timer(0.2, publisher.publish, args=[Int32(data=1)])
    timer.start()
    ros.executor.spin_once(timeout_sec=DEADLINE)
    timer.join(DEADLINE)
    ros.spin_until(lambda: heard, "the message", timeout=1.0)


def test_a_node_destroyed_while_another_thread_spins(ros):
    keeper = ros.node("keeper", spin=False)
    ticks = Ticks()
    keeper.create_timer(0.01, ticks)
    with ros.spinning(keeper) as executor:
        for number in range(5):
            node = rclpy.create_node(f"brief_{number}")
            node.create_timer(0.005, lambda: None)
            executor.add_node(node)
            time.sleep(0.03)
            executor.remove_node(node)
            node.destroy_node()
        before = ticks.count
        wait_until(lambda: ticks.count > before + 3, "ticks afterwards")


def test_a_flood_of_messages_does_not_starve_a_timer_or_another_topic(ros):
    node = ros.node()
    ticks = Ticks()
    heard: list[object] = []
    publisher = node.create_publisher(Int32, "flood", 10)

    def again(message: Int32) -> None:
        publisher.publish(message)
        publisher.publish(message)

    node.create_subscription(Int32, "flood", again, 10)
    node.create_subscription(Int32, "quiet", heard.append, 10)
    quiet = node.create_publisher(Int32, "quiet", 10)
    ros.match(publisher, quiet)
    node.create_timer(0.02, ticks)
    again(Int32(data=1))
    quiet.publish(Int32(data=2))
    ros.spin_until(lambda: ticks.count >= 5 and heard, "ticks and the quiet message beside a flood")


def test_a_busy_timer_does_not_starve_a_subscription(ros):
    node = ros.node()
    heard: list[object] = []
    node.create_timer(0.0001, lambda: time.sleep(0.001))
    node.create_subscription(Int32, "numbers", heard.append, 10)
    publisher = node.create_publisher(Int32, "numbers", 10)
    ros.match(publisher)
    publisher.publish(Int32(data=1))
    ros.spin_until(lambda: heard, "the message beside a timer that is always ready")


def test_a_multi_threaded_executor_raises_what_a_callback_raised(ros):
    def fail() -> None:
        raise LookupError("on purpose")

    node = ros.node(spin=False)
    node.create_timer(0.01, fail)
    executor = MultiThreadedExecutor(num_threads=2)
    executor.add_node(node)
    raised: list[str] = []
    end = time.monotonic() + DEADLINE
    while not raised and time.monotonic() < end:
        try:
            executor.spin_once(timeout_sec=0.1)
        except LookupError as error:
            raised.append(str(error))
    executor.shutdown()
    assert raised == ["on purpose"]


def test_a_multi_threaded_executor_with_one_thread_warns(ros):
    with pytest.warns(UserWarning, match="single thread"):
        executor = MultiThreadedExecutor(num_threads=1)
    executor.shutdown()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MultiThreadedExecutor(num_threads=2).shutdown()


def test_callbacks_of_a_single_threaded_executor_run_in_the_thread_that_spins(ros):
    node = ros.node()
    names: set[str] = set()
    node.create_timer(0.01, lambda: names.add(threading.current_thread().name))
    node.create_subscription(Int32, "numbers", lambda _: names.add(threading.current_thread().name), 10)
    publisher = node.create_publisher(Int32, "numbers", 10)
    ros.match(publisher)
    publisher.publish(Int32())
    ros.spin_for(0.2)
    assert names == {threading.current_thread().name}


def test_work_is_not_executed_while_nobody_spins(ros):
    ticks = Ticks()
    ros.node().create_timer(0.01, ticks)
    time.sleep(SHORT)
    assert ticks.count == 0


def test_spin_once_after_shutdown_of_the_context(ros):
    ros.executor.add_node(ros.node())
    rclpy.shutdown()
    start = time.monotonic()
    with suppress(ExternalShutdownException, RuntimeError):
        ros.executor.spin_once(timeout_sec=DEADLINE)
    assert time.monotonic() - start < DEADLINE / 2
