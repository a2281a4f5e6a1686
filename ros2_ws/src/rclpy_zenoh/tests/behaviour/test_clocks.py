"""Time, Duration, and clocks that follow the system's time."""

from __future__ import annotations

import threading
import time

import pytest
import rclpy
from builtin_interfaces.msg import Duration as DurationMessage
from builtin_interfaces.msg import Time as TimeMessage
from harness import DEADLINE
from rclpy.clock import Clock, JumpThreshold, ROSClock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.exceptions import NotInitializedException
from rclpy.time import Time

KINDS = pytest.mark.parametrize(
    "kind", [ClockType.SYSTEM_TIME, ClockType.STEADY_TIME, ClockType.ROS_TIME], ids=lambda kind: kind.name
)


def test_time_arithmetic():
    time_ = Time(seconds=10, nanoseconds=5)
    assert time_.nanoseconds == 10_000_000_005
    assert time_.seconds_nanoseconds() == (10, 5)
    assert time_ + Duration(seconds=1) == Time(seconds=11, nanoseconds=5)
    assert time_ - Duration(nanoseconds=5) == Time(seconds=10)
    assert time_ - Time(seconds=12) == Duration(seconds=-2, nanoseconds=5)
    assert Time(seconds=1) < Time(seconds=2) <= Time(seconds=2)
    assert Time(seconds=1) != Time(seconds=2)


def test_times_have_limits():
    with pytest.raises(ValueError, match="negative"):
        Time(seconds=-1)
    with pytest.raises(ValueError, match="negative"):
        Time(nanoseconds=-1)
    with pytest.raises(OverflowError):
        Time(nanoseconds=2**63)
    with pytest.raises(OverflowError):
        Time(nanoseconds=2**63 - 1) + Duration(nanoseconds=1)
    with pytest.raises(TypeError):
        Time(clock_type="SYSTEM_TIME")


def test_times_of_different_clocks_do_not_mix():
    ros_time, system = Time(seconds=1, clock_type=ClockType.ROS_TIME), Time(seconds=1)
    with pytest.raises(TypeError):
        ros_time < system  # noqa: B015
    with pytest.raises(TypeError):
        ros_time - system


def test_time_messages():
    message = Time(seconds=3, nanoseconds=7).to_msg()
    assert message == TimeMessage(sec=3, nanosec=7)
    assert Time.from_msg(message, clock_type=ClockType.SYSTEM_TIME) == Time(seconds=3, nanoseconds=7)
    assert Time.from_msg(message).clock_type == ClockType.ROS_TIME
    with pytest.raises(TypeError):
        Time.from_msg(5)


def test_durations():
    assert Duration(seconds=1.5).nanoseconds == 1_500_000_000
    assert Duration(seconds=1) == Duration(nanoseconds=10**9)
    assert Duration(seconds=-1) < Duration()
    assert Duration(seconds=-1, nanoseconds=1).to_msg() == DurationMessage(sec=-1, nanosec=1)
    assert Duration.from_msg(DurationMessage(sec=-1, nanosec=1)).nanoseconds == -999_999_999
    with pytest.raises(OverflowError):
        Duration(nanoseconds=2**63)


@KINDS
def test_a_clock_goes_on(kind):
    clock = Clock(clock_type=kind)
    first = clock.now()
    time.sleep(0.01)
    assert clock.clock_type == kind
    assert first.clock_type == kind
    assert clock.now() > first


def test_clocks_of_the_system_show_its_time():
    before = time.time_ns()
    now = Clock().now()
    assert now.clock_type == ClockType.SYSTEM_TIME
    assert before - 10**9 <= now.nanoseconds <= time.time_ns() + 10**9


def test_a_node_s_clock_shows_the_system_s_time(ros):
    clock = ros.node().get_clock()
    assert isinstance(clock, ROSClock)
    assert clock.clock_type == ClockType.ROS_TIME
    assert not clock.ros_time_is_active
    assert abs(clock.now().nanoseconds - time.time_ns()) < 10 * 10**9


@KINDS
def test_sleeping(ros, kind):
    clock = Clock(clock_type=kind)
    start = time.monotonic()
    assert clock.sleep_for(Duration(seconds=0.1)) is True
    assert time.monotonic() - start >= 0.09
    assert clock.sleep_until(clock.now() - Duration(seconds=1)) is True


def test_sleeping_until_another_clock_s_time_is_an_error(ros):
    with pytest.raises(ValueError, match="type"):
        Clock().sleep_until(Time(clock_type=ClockType.STEADY_TIME))


@pytest.mark.usefixtures("domain")
def test_sleeping_needs_a_context():
    with pytest.raises(NotInitializedException):
        Clock().sleep_for(Duration(seconds=0.01))


@KINDS
def test_shutdown_ends_a_sleep(ros, kind):
    outcome: list[bool] = []
    sleeper = threading.Thread(target=lambda: outcome.append(Clock(clock_type=kind).sleep_for(Duration(seconds=3600))))
    sleeper.start()
    time.sleep(0.1)
    rclpy.shutdown()
    sleeper.join(DEADLINE)
    assert outcome == [False]


def test_thresholds_are_checked():
    with pytest.raises(ValueError, match="positive"):
        JumpThreshold(min_forward=Duration(), min_backward=None)
    with pytest.raises(ValueError, match="negative"):
        JumpThreshold(min_forward=None, min_backward=Duration(seconds=1))
    with pytest.raises(ValueError, match="At least one"):
        JumpThreshold(min_forward=None, min_backward=None, on_clock_change=False)


def test_jump_callbacks_are_checked():
    threshold = JumpThreshold(min_forward=None, min_backward=None, on_clock_change=True)
    with pytest.raises(ValueError, match="callback"):
        Clock().create_jump_callback(threshold)
    with pytest.raises(ValueError, match="callable"):
        Clock().create_jump_callback(threshold, pre_callback="text")
