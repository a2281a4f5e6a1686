"""Timers and rates on the system's clock."""

from __future__ import annotations

import threading
import time

import pytest
import rclpy
from harness import DEADLINE, SHORT
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import InvalidHandle, ROSInterruptException

SECOND = 10**9


class Ticks:
    """Counts its calls."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def test_a_timer_ticks_again_and_again(ros):
    ticks = Ticks()
    ros.node().create_timer(0.02, ticks)
    ros.spin_until(lambda: ticks.count >= 5, "5 ticks")


def test_a_timer_never_ticks_faster_than_its_period(ros):
    ticks = Ticks()
    node = ros.node()
    start = time.monotonic()
    node.create_timer(0.05, ticks)
    ros.spin_until(lambda: ticks.count >= 6, "6 ticks")
    assert time.monotonic() - start >= 6 * 0.05 - 0.01


def test_the_first_tick_comes_after_one_period(ros):
    ticks = Ticks()
    ros.node().create_timer(5.0, ticks)
    ros.spin_for()
    assert ticks.count == 0


def test_lost_ticks_are_not_caught_up(ros):
    times: list[float] = []

    def tick() -> None:
        times.append(time.monotonic())
        if len(times) == 1:
            time.sleep(0.75)

    ros.node().create_timer(0.1, tick)
    ros.spin_until(lambda: times, "the first tick")
    ros.spin_until(lambda: time.monotonic() > times[0] + 1.25, "half a second after the pause")
    late = [stamp for stamp in times if stamp > times[0] + 0.7]
    assert 1 <= len(late) <= 7, "at most one late tick and the ticks of half a second"


def test_timers_are_independent(ros):
    node = ros.node()
    fast, slow, other = Ticks(), Ticks(), Ticks()
    node.create_timer(0.01, fast)
    node.create_timer(0.1, slow)
    ros.node("other").create_timer(0.05, other)
    ros.spin_until(lambda: slow.count >= 3 and other.count >= 3, "ticks of the slow timers")
    assert fast.count > slow.count


def test_cancel_and_reset(ros):
    ticks = Ticks()
    timer = ros.node().create_timer(0.02, ticks)
    assert not timer.is_canceled()
    ros.spin_until(lambda: ticks.count >= 2, "2 ticks")
    timer.cancel()
    assert timer.is_canceled()
    assert timer.time_until_next_call() is None
    before = ticks.count
    ros.spin_for(0.2)
    assert ticks.count == before
    timer.reset()
    assert not timer.is_canceled()
    ros.spin_until(lambda: ticks.count > before, "a tick after reset")


def test_a_timer_can_cancel_itself(ros):
    node = ros.node()
    count = 0

    def once() -> None:
        nonlocal count
        count += 1
        timer.cancel()

    timer = node.create_timer(0.01, once)
    ros.spin_until(lambda: count, "the tick")
    ros.spin_for(0.2)
    assert count == 1


def test_reset_starts_a_new_period(ros):
    ticks = Ticks()
    timer = ros.node().create_timer(0.3, ticks)
    end = time.monotonic() + 0.9
    while time.monotonic() < end:
        ros.spin_for(0.02)
        timer.reset()
    assert ticks.count <= 2, "resetting keeps it from ticking, unless this machine pauses"
    assert 0 < timer.time_until_next_call() <= 0.3 * SECOND


def test_a_timer_without_autostart_waits_for_reset(ros):
    ticks = Ticks()
    timer = ros.node().create_timer(0.02, ticks, autostart=False)
    assert timer.is_canceled()
    ros.spin_for(0.2)
    assert ticks.count == 0
    timer.reset()
    ros.spin_until(lambda: ticks.count >= 2, "2 ticks")


def test_what_a_timer_says_of_itself(ros):
    node = ros.node()
    timer = node.create_timer(2, lambda: None)
    assert timer.timer_period_ns == 2 * SECOND
    assert 0 < timer.time_until_next_call() <= 2 * SECOND
    assert 0 <= timer.time_since_last_call() < 2 * SECOND
    assert not timer.is_ready()
    assert timer.clock is node.get_clock()
    assert timer in list(node.timers)


def test_an_overdue_timer_is_ready(ros):
    ticks = Ticks()
    timer = ros.node().create_timer(0.01, ticks)
    time.sleep(0.05)
    assert timer.is_ready()
    assert timer.time_until_next_call() <= 0
    ros.spin_until(lambda: ticks.count, "the tick")


def test_the_period_can_be_changed(ros):
    ticks = Ticks()
    timer = ros.node().create_timer(1000.0, ticks)
    timer.timer_period_ns = 10_000_000
    assert timer.timer_period_ns == 10_000_000
    timer.reset()
    ros.spin_until(lambda: ticks.count >= 3, "3 ticks of the new period")


def test_a_destroyed_timer_does_not_tick(ros):
    node = ros.node()
    ticks, others = Ticks(), Ticks()
    timer = node.create_timer(0.01, ticks)
    node.create_timer(0.01, others)
    ros.spin_until(lambda: ticks.count, "a tick")
    assert node.destroy_timer(timer)
    before = ticks.count
    ros.spin_until(lambda: others.count >= 10, "ticks of the other timer")
    assert ticks.count == before
    assert not node.destroy_timer(timer)
    with pytest.raises(InvalidHandle):
        timer.reset()


def test_a_timer_made_by_a_timer(ros):
    node = ros.node()
    ticks = Ticks()
    first = node.create_timer(0.01, lambda: (first.cancel(), node.create_timer(0.01, ticks)))
    ros.spin_until(lambda: ticks.count >= 3, "3 ticks of the second timer")


def test_a_coroutine_as_callback(ros):
    count = 0

    async def tick() -> None:
        nonlocal count
        count += 1

    ros.node().create_timer(0.02, tick)
    ros.spin_until(lambda: count >= 3, "3 ticks")


def test_an_exception_comes_out_of_spin_and_the_timer_goes_on(ros):
    ticks = Ticks()

    def tick() -> None:
        ticks()
        if ticks.count == 1:
            raise LookupError("on purpose")

    ros.node().create_timer(0.01, tick)
    with pytest.raises(LookupError, match="on purpose"):
        ros.spin_until(lambda: False, "the exception")
    ros.spin_until(lambda: ticks.count >= 3, "2 more ticks")


@pytest.mark.parametrize("kind", [ClockType.STEADY_TIME, ClockType.SYSTEM_TIME], ids=lambda kind: kind.name)
def test_a_timer_on_another_clock(ros, kind):
    ticks = Ticks()
    clock = Clock(clock_type=kind)
    timer = ros.node().create_timer(0.02, ticks, clock=clock)
    assert timer.clock is clock
    ros.spin_until(lambda: ticks.count >= 3, "3 ticks")


def test_a_timer_made_while_another_thread_spins(ros):
    node = ros.node(spin=False)
    ticked = threading.Event()
    with ros.spinning(node):
        time.sleep(0.1)
        node.create_timer(0.01, ticked.set)
        assert ticked.wait(DEADLINE), "the new timer did not tick"


def test_a_rate_sleeps_for_its_period(ros):
    node = ros.node(spin=False)
    rate = node.create_rate(20.0)
    with ros.spinning(node):
        start = time.monotonic()
        for _ in range(6):
            rate.sleep()
        assert time.monotonic() - start >= 0.2
    assert node.destroy_rate(rate)


@pytest.mark.parametrize(("frequency", "error"), [(None, TypeError), (0.0, ValueError), (-1.0, ValueError)])
def test_a_rate_needs_a_frequency(ros, frequency, error):
    node = ros.node()
    with pytest.raises(error):
        node.create_rate(frequency)


def test_destroying_a_rate_wakes_its_sleeper(ros):
    node = ros.node()
    rate = node.create_rate(0.0001)
    sleeper = threading.Thread(target=rate.sleep)
    sleeper.start()
    time.sleep(SHORT)
    assert sleeper.is_alive()
    assert node.destroy_rate(rate)
    sleeper.join(DEADLINE)
    assert not sleeper.is_alive()


def test_shutdown_wakes_the_sleeper_of_a_rate(ros):
    rate = ros.node().create_rate(0.0001)
    outcome: list[type] = []

    def sleep() -> None:
        try:
            rate.sleep()
        except ROSInterruptException as error:
            outcome.append(type(error))

    sleeper = threading.Thread(target=sleep)
    sleeper.start()
    time.sleep(0.1)
    rclpy.shutdown()
    sleeper.join(DEADLINE)
    assert outcome == [ROSInterruptException]
