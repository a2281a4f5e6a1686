"""Nodes that follow /clock."""

from __future__ import annotations

import threading
import time

import pytest
from builtin_interfaces.msg import Time as TimeMessage
from harness import DEADLINE
from rclpy.clock import Clock, ClockChange, JumpThreshold
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMessage


def ros_time(seconds: float) -> Time:
    return Time(seconds=seconds, clock_type=ClockType.ROS_TIME)


class World:
    """Publishes /clock, and spins until the node's clock shows what was published."""

    def __init__(self, ros) -> None:
        self._ros = ros
        self.node = ros.node("follower", parameter_overrides=[Parameter("use_sim_time", value=True)])
        self.clock = self.node.get_clock()
        self._publisher = ros.node("world").create_publisher(ClockMessage, "/clock", 10)
        ros.match(self._publisher)

    def set(self, seconds: float) -> None:
        """Make it that time; /clock is best effort, so it is said until it is heard."""
        stamp = ros_time(seconds)
        message = ClockMessage(clock=TimeMessage(sec=int(seconds), nanosec=stamp.nanoseconds % 10**9))
        self._publisher.publish(message)
        last = time.monotonic()

        def shown() -> bool:
            nonlocal last
            if time.monotonic() > last + 0.5:
                self._publisher.publish(message)
                last = time.monotonic()
            return self.clock.now() == stamp

        self._ros.spin_until(shown, f"/clock at {seconds} s")
        self._ros.spin_for(0.05)


@pytest.fixture
def world(ros):
    return World(ros)


def test_before_the_first_message_it_is_zero(ros):
    clock = ros.node(parameter_overrides=[Parameter("use_sim_time", value=True)]).get_clock()
    assert clock.ros_time_is_active
    assert clock.now() == ros_time(0)


def test_the_clock_follows(world):
    for seconds in (10, 10.5, 11, 100):
        world.set(seconds)
        assert world.clock.now() == ros_time(seconds)


def test_a_node_without_sim_time_does_not_follow(ros, world):
    other = ros.node("other")
    world.set(10)
    assert abs(other.get_clock().now().nanoseconds - time.time_ns()) < 10 * 10**9


def test_switching_to_and_from_sim_time(ros, world):
    world.set(10)
    world.node.set_parameters([Parameter("use_sim_time", value=False)])
    assert not world.clock.ros_time_is_active
    assert abs(world.clock.now().nanoseconds - time.time_ns()) < 10 * 10**9
    world.node.set_parameters([Parameter("use_sim_time", value=True)])
    assert world.clock.ros_time_is_active
    assert world.clock.now().nanoseconds < 1000 * 10**9
    world.set(20)


def test_a_timer_ticks_in_sim_time(ros, world):
    world.set(10)
    ticks: list[int] = []
    timer = world.node.create_timer(1.0, lambda: ticks.append(world.clock.now().nanoseconds // 10**6))
    ros.spin_for(0.2)
    world.set(10.9)
    assert ticks == []
    world.set(11)
    ros.spin_until(lambda: ticks, "the tick")
    assert ticks == [11_000]
    assert timer.time_until_next_call() == 10**9
    world.set(12.5)
    ros.spin_until(lambda: len(ticks) == 2, "the second tick")
    ros.spin_for(0.1)
    assert ticks == [11_000, 12_500]


def test_a_jump_forward_is_one_tick(ros, world):
    world.set(10)
    ticks: list[int] = []
    world.node.create_timer(1.0, lambda: ticks.append(world.clock.now().nanoseconds // 10**9))
    world.set(20)
    ros.spin_until(lambda: ticks, "the tick")
    ros.spin_for(0.2)
    assert ticks == [20]
    world.set(21)
    ros.spin_until(lambda: len(ticks) == 2, "the next tick")
    assert ticks == [20, 21]


def test_after_a_jump_back_a_timer_waits_one_period(ros, world):
    world.set(10)
    ticks: list[int] = []
    world.node.create_timer(1.0, lambda: ticks.append(world.clock.now().nanoseconds // 10**6))
    world.set(11)
    ros.spin_until(lambda: ticks, "the first tick")
    world.set(5)
    world.set(5.5)
    assert ticks == [11_000]
    world.set(6)
    ros.spin_until(lambda: len(ticks) == 2, "the tick after the jump")
    assert ticks == [11_000, 6_000]


def test_a_timer_on_another_clock_does_not_follow(ros, world):
    ticks: list[int] = []
    world.node.create_timer(0.02, lambda: ticks.append(1), clock=Clock(clock_type=ClockType.STEADY_TIME))
    ros.spin_until(lambda: len(ticks) >= 3, "ticks without /clock")


def jumps(world, **thresholds):
    """Lists of the calls before and after the jumps that reach the thresholds."""
    before: list[int] = []
    after: list[tuple[ClockChange, float]] = []
    options = {"min_forward": None, "min_backward": None, "on_clock_change": False, **thresholds}
    handle = world.clock.create_jump_callback(
        JumpThreshold(**options),
        pre_callback=lambda: before.append(world.clock.now().nanoseconds // 10**9),
        post_callback=lambda jump: after.append((jump.clock_change, jump.delta.nanoseconds / 1e9)),
    )
    return handle, before, after


def test_a_callback_for_jumps_forward(ros, world):
    world.set(10)
    _handle, before, after = jumps(world, min_forward=Duration(seconds=2))
    world.set(11)
    world.set(9)
    assert after == []
    world.set(15)
    assert after == [(ClockChange.ROS_TIME_NO_CHANGE, 6.0)]
    assert before == [9]


def test_a_callback_for_jumps_back(ros, world):
    world.set(10)
    handle, before, after = jumps(world, min_backward=Duration(seconds=-2))
    world.set(100)
    world.set(99)
    assert after == []
    world.set(50)
    assert after == [(ClockChange.ROS_TIME_NO_CHANGE, -49.0)]
    assert before == [99]
    handle.unregister()
    world.set(1)
    assert len(after) == 1


def test_a_callback_for_switching(ros, world):
    world.set(10)
    _handle, _, after = jumps(world, on_clock_change=True)
    world.set(1000)
    assert after == []
    world.node.set_parameters([Parameter("use_sim_time", value=False)])
    world.node.set_parameters([Parameter("use_sim_time", value=True)])
    assert [change for change, _ in after] == [ClockChange.ROS_TIME_DEACTIVATED, ClockChange.ROS_TIME_ACTIVATED]


def test_a_jump_handle_is_a_context_manager(ros, world):
    world.set(10)
    calls: list[object] = []
    threshold = JumpThreshold(min_forward=Duration(seconds=1), min_backward=None, on_clock_change=False)
    with world.clock.create_jump_callback(threshold, post_callback=calls.append):
        world.set(20)
    world.set(30)
    assert len(calls) == 1


def test_sleeping_follows_the_clock(ros, world):
    world.set(10)
    outcome: list[bool] = []
    sleeper = threading.Thread(target=lambda: outcome.append(world.clock.sleep_for(Duration(seconds=5))))
    sleeper.start()
    time.sleep(0.1)
    world.set(14)
    assert outcome == []
    world.set(15)
    sleeper.join(DEADLINE)
    assert outcome == [True]


def test_switching_ends_a_sleep(ros, world):
    world.set(10)
    outcome: list[bool] = []
    sleeper = threading.Thread(target=lambda: outcome.append(world.clock.sleep_for(Duration(seconds=5))))
    sleeper.start()
    time.sleep(0.1)
    world.node.set_parameters([Parameter("use_sim_time", value=False)])
    sleeper.join(DEADLINE)
    assert outcome == [False]


def test_a_rate_follows_the_clock(ros, world):
    world.set(10)
    rate = world.node.create_rate(1.0)
    woken = threading.Event()
    sleeper = threading.Thread(target=lambda: (rate.sleep(), woken.set()))
    sleeper.start()
    ros.spin_for(0.2)
    assert not woken.is_set()
    world.set(11)
    ros.spin_until(woken.is_set, "the rate")
    sleeper.join(DEADLINE)
