"""Executors: what spinning executes, when it returns, and which nodes it serves."""

from __future__ import annotations

import threading
import time

import pytest
import rclpy
from harness import DEADLINE, wait_until
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.task import Future

BOTH = pytest.mark.parametrize("kind", [SingleThreadedExecutor, MultiThreadedExecutor])


class Ticks:
    """Counts its calls."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


@BOTH
def test_spin_once_without_work_returns_after_its_timeout(ros, kind):
    with kind() as executor:
        executor.add_node(ros.node(spin=False))
        start = time.monotonic()
        executor.spin_once(timeout_sec=0.2)
        assert 0.15 < time.monotonic() - start < DEADLINE


@BOTH
def test_spin_once_with_a_timeout_of_zero_does_not_wait(ros, kind):
    with kind() as executor:
        node = ros.node(spin=False)
        ticks = Ticks()
        node.create_timer(1000.0, ticks)
        executor.add_node(node)
        for _ in range(10):
            executor.spin_once(timeout_sec=0)
    assert ticks.count == 0


def test_spin_once_executes_one_callback(ros):
    node = ros.node()
    ticks = [Ticks(), Ticks()]
    for one in ticks:
        node.create_timer(0.05, one)
    time.sleep(0.1)
    ros.executor.spin_once(timeout_sec=DEADLINE)
    assert sum(one.count for one in ticks) == 1


@BOTH
def test_spin_until_future_complete_returns_when_it_is(ros, kind):
    node = ros.node(spin=False)
    future = Future()
    ticks = Ticks()

    def tick() -> None:
        ticks()
        if ticks.count == 3:
            future.set_result("done")

    node.create_timer(0.02, tick)
    with kind() as executor:
        executor.add_node(node)
        executor.spin_until_future_complete(future, timeout_sec=DEADLINE)
    assert future.result() == "done"
    assert ticks.count >= 3


@BOTH
def test_spin_until_future_complete_gives_up_after_its_timeout(ros, kind):
    future = Future()
    with kind() as executor:
        executor.add_node(ros.node(spin=False))
        start = time.monotonic()
        executor.spin_until_future_complete(future, timeout_sec=0.2)
        assert 0.15 < time.monotonic() - start < DEADLINE
    assert not future.done()


@BOTH
def test_spin_until_future_complete_returns_at_once_for_a_done_future(ros, kind):
    future = Future()
    future.set_result(1)
    with kind() as executor:
        executor.add_node(ros.node(spin=False))
        executor.spin_until_future_complete(future)
        executor.spin_until_future_complete(future, timeout_sec=0)


@BOTH
def test_a_future_that_another_thread_sets_ends_the_wait(ros, kind):
    future = Future()
    timer = threading.Timer(0.2, future.set_result, args=["done"])
    with kind() as executor:
        executor.add_node(ros.node(spin=False))
        timer.start()
        executor.spin_until_future_complete(future, timeout_sec=DEADLINE)
    timer.join(DEADLINE)
    assert future.done()


def test_the_functions_of_rclpy(ros):
    node = ros.node(spin=False)
    ticks = Ticks()
    node.create_timer(0.02, ticks)
    while not ticks.count:
        rclpy.spin_once(node, timeout_sec=0.1)
    future = Future()
    node.create_timer(0.05, lambda: future.done() or future.set_result(1))
    rclpy.spin_until_future_complete(node, future, timeout_sec=DEADLINE)
    assert future.done()
    never = Future()
    rclpy.spin_until_future_complete(node, never, timeout_sec=0.1)
    assert not never.done()


def test_the_functions_of_rclpy_with_an_executor(ros):
    node = ros.node(spin=False)
    ticks = Ticks()
    node.create_timer(0.02, ticks)
    with SingleThreadedExecutor() as executor:
        rclpy.spin_once(node, executor=executor, timeout_sec=DEADLINE)
        assert ticks.count == 1
        assert node not in executor.get_nodes()


@BOTH
def test_shutting_an_executor_down_ends_its_spin(ros, kind):
    node = ros.node(spin=False)
    ticks = Ticks()
    executor = kind()
    node.create_timer(0.01, ticks)
    executor.add_node(node)
    spinner = threading.Thread(target=executor.spin)
    spinner.start()
    wait_until(lambda: ticks.count >= 3, "3 ticks")
    executor.shutdown()
    spinner.join(DEADLINE)
    assert not spinner.is_alive()
    before = ticks.count
    time.sleep(0.1)
    assert ticks.count == before


def test_shutting_an_executor_down_inside_a_callback_ends_its_spin(ros):
    node = ros.node(spin=False)
    executor = SingleThreadedExecutor()
    calls: list[bool] = []
    node.create_timer(0.01, lambda: calls.append(executor.shutdown()))
    executor.add_node(node)
    executor.spin()
    assert len(calls) == 1
    assert rclpy.ok()


@BOTH
def test_spin_on_an_executor_that_was_shut_down_returns(ros, kind):
    executor = kind()
    executor.add_node(ros.node(spin=False))
    assert executor.shutdown() is True
    executor.spin()
    assert executor.get_nodes() == []


def test_nodes_are_added_once_and_removed(ros):
    node = ros.node(spin=False)
    ticks = Ticks()
    node.create_timer(0.01, ticks)
    with SingleThreadedExecutor() as executor:
        assert node.executor is None
        assert executor.add_node(node) is True
        assert executor.add_node(node) is False
        assert executor.get_nodes() == [node]
        assert node.executor is executor
        while not ticks.count:
            executor.spin_once(timeout_sec=DEADLINE)
        executor.remove_node(node)
        executor.remove_node(node)
        assert executor.get_nodes() == []
        before = ticks.count
        executor.spin_once(timeout_sec=0.2)
        assert ticks.count == before


def test_a_node_belongs_to_one_executor(ros):
    node = ros.node(spin=False)
    with SingleThreadedExecutor() as first, SingleThreadedExecutor() as second:
        first.add_node(node)
        second.add_node(node)
        assert node.executor is second
        assert first.get_nodes() == []
        node.executor = None
        assert second.get_nodes() == []
