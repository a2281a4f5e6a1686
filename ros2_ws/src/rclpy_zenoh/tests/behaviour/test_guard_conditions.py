"""Guard conditions."""

from __future__ import annotations

import threading

import pytest
from harness import DEADLINE
from rclpy.exceptions import InvalidHandle


def test_the_callback_runs_only_after_a_trigger(ros):
    calls: list[int] = []
    guard = ros.node().create_guard_condition(lambda: calls.append(1))
    ros.spin_for(0.1)
    assert calls == []
    guard.trigger()
    ros.spin_until(lambda: calls, "the callback")
    ros.spin_for(0.1)
    assert calls == [1]


def test_triggers_before_the_callback_count_once(ros):
    calls: list[int] = []
    guard = ros.node().create_guard_condition(lambda: calls.append(1))
    guard.trigger()
    guard.trigger()
    ros.spin_until(lambda: calls, "the callback")
    ros.spin_for(0.1)
    assert calls == [1]
    guard.trigger()
    ros.spin_until(lambda: len(calls) == 2, "the callback again")


def test_guard_conditions_are_independent(ros):
    node = ros.node()
    calls: list[str] = []
    first = node.create_guard_condition(lambda: calls.append("first"))
    second = node.create_guard_condition(lambda: calls.append("second"))
    second.trigger()
    ros.spin_until(lambda: calls == ["second"], "the second callback")
    first.trigger()
    second.trigger()
    ros.spin_until(lambda: len(calls) == 3, "both callbacks")
    assert sorted(calls[1:]) == ["first", "second"]


def test_a_trigger_from_another_thread_wakes_the_executor(ros):
    called = threading.Event()
    guard = ros.node().create_guard_condition(called.set)
    timer = threading.Timer(0.2, guard.trigger)
    timer.start()
    ros.executor.spin_once(timeout_sec=DEADLINE)
    timer.join(DEADLINE)
    ros.spin_until(called.is_set, "the callback")


def test_a_coroutine_as_callback(ros):
    calls: list[int] = []

    async def callback() -> None:
        calls.append(1)

    ros.node().create_guard_condition(callback).trigger()
    ros.spin_until(lambda: calls, "the callback")


def test_after_destruction(ros):
    node = ros.node()
    calls: list[int] = []
    guard = node.create_guard_condition(lambda: calls.append(1))
    assert guard in list(node.guards)
    assert node.destroy_guard_condition(guard)
    assert guard not in list(node.guards)
    assert not node.destroy_guard_condition(guard)
    with pytest.raises(InvalidHandle):
        guard.trigger()
    ros.spin_for(0.1)
    assert calls == []
