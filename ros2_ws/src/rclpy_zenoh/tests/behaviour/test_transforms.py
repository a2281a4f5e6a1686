"""tf2: the buffer, static and moving transforms, and listeners."""

from __future__ import annotations

import math

import pytest
from geometry_msgs.msg import Quaternion, TransformStamped, Vector3
from rclpy.duration import Duration
from rclpy.time import Time
from tf2_ros import (
    Buffer,
    ConnectivityException,
    ExtrapolationException,
    LookupException,
    StaticTransformBroadcaster,
    TransformBroadcaster,
    TransformException,
    TransformListener,
)

LATEST = Time()
BASE = 1000
"""Seconds; times near zero mean "the latest" in tf2."""


def at(seconds: float) -> Time:
    return Time(seconds=BASE + seconds)


def transform(parent, child, x=0.0, y=0.0, yaw=0.0, seconds=0.0):
    """The pose of `child` in `parent`."""
    made = TransformStamped(child_frame_id=child)
    made.header.frame_id = parent
    made.header.stamp = at(seconds).to_msg()
    made.transform.translation = Vector3(x=x, y=y, z=0.0)
    made.transform.rotation = Quaternion(z=math.sin(yaw / 2), w=math.cos(yaw / 2))
    return made


def pose(found):
    """x, y and yaw."""
    rotation = found.transform.rotation
    return pytest.approx(
        (found.transform.translation.x, found.transform.translation.y, 2 * math.atan2(rotation.z, rotation.w)), abs=1e-9
    )


@pytest.fixture
def buffer(ros):
    return Buffer()


@pytest.fixture
def arm(buffer):
    """world -> base (1, 0) turned left -> hand (2, 0) in base."""
    buffer.set_transform_static(transform("world", "base", x=1.0, yaw=math.pi / 2), "test")
    buffer.set_transform_static(transform("base", "hand", x=2.0), "test")
    return buffer


def test_the_pose_of_a_child_in_its_parent(arm):
    found = arm.lookup_transform("world", "base", LATEST)
    assert (found.header.frame_id, found.child_frame_id) == ("world", "base")
    assert (1.0, 0.0, math.pi / 2) == pose(found)


def test_the_inverse(arm):
    found = arm.lookup_transform("base", "world", LATEST)
    assert (found.header.frame_id, found.child_frame_id) == ("base", "world")
    assert (0.0, 1.0, -math.pi / 2) == pose(found)


def test_a_chain_and_its_inverse(arm):
    assert (1.0, 2.0, math.pi / 2) == pose(arm.lookup_transform("world", "hand", LATEST))
    assert (-2.0, 1.0, -math.pi / 2) == pose(arm.lookup_transform("hand", "world", LATEST))


def test_over_a_common_ancestor(arm):
    arm.set_transform_static(transform("world", "table", x=1.0, y=5.0), "test")
    assert (0.0, -3.0, math.pi / 2) == pose(arm.lookup_transform("table", "hand", LATEST))


def test_a_frame_in_itself(arm):
    assert pose(arm.lookup_transform("hand", "hand", LATEST)) == (0.0, 0.0, 0.0)


def test_static_transforms_hold_at_any_time(arm):
    for time in (at(-500), at(0), at(5000)):
        assert arm.can_transform("world", "hand", time)
        assert (1.0, 2.0, math.pi / 2) == pose(arm.lookup_transform("world", "hand", time))


def test_unknown_frames(arm):
    assert not arm.can_transform("world", "nowhere", LATEST)
    for target, source in (("world", "nowhere"), ("nowhere", "world")):
        with pytest.raises(LookupException):
            arm.lookup_transform(target, source, LATEST)


def test_unconnected_frames(arm):
    arm.set_transform_static(transform("moon", "rock"), "test")
    assert not arm.can_transform("world", "rock", LATEST)
    with pytest.raises(ConnectivityException):
        arm.lookup_transform("world", "rock", LATEST)


def test_every_error_is_a_transform_exception():
    for error in (LookupException, ConnectivityException, ExtrapolationException):
        assert issubclass(error, TransformException)


def test_between_two_times_it_is_interpolated(buffer):
    buffer.set_transform(transform("world", "cart", x=0.0, yaw=0.0, seconds=0), "test")
    buffer.set_transform(transform("world", "cart", x=2.0, yaw=1.0, seconds=1), "test")
    assert pose(buffer.lookup_transform("world", "cart", at(0.25))) == (0.5, 0.0, 0.25)
    assert pose(buffer.lookup_transform("world", "cart", at(0))) == (0.0, 0.0, 0.0)
    assert pose(buffer.lookup_transform("world", "cart", at(1))) == (2.0, 0.0, 1.0)
    assert pose(buffer.lookup_transform("world", "cart", LATEST)) == (2.0, 0.0, 1.0)


def test_samples_may_come_in_any_order(buffer):
    for second in (2, 0, 1):
        buffer.set_transform(transform("world", "cart", x=10.0 * second, seconds=second), "test")
    assert pose(buffer.lookup_transform("world", "cart", at(0.5))) == (5.0, 0.0, 0.0)
    assert pose(buffer.lookup_transform("world", "cart", at(1.5))) == (15.0, 0.0, 0.0)


@pytest.mark.parametrize("seconds", [-1.0, 3.0])
def test_beyond_the_known_times_is_an_error(buffer, seconds):
    for second in (0, 2):
        buffer.set_transform(transform("world", "cart", seconds=second), "test")
    assert not buffer.can_transform("world", "cart", at(seconds))
    with pytest.raises(ExtrapolationException):
        buffer.lookup_transform("world", "cart", at(seconds))


def test_the_latest_of_a_chain_is_the_latest_common_time(buffer):
    for second in (0, 2, 4):
        buffer.set_transform(transform("world", "cart", x=float(second), seconds=second), "test")
    for second in (0, 2):
        buffer.set_transform(transform("cart", "tool", y=float(second), seconds=second), "test")
    assert pose(buffer.lookup_transform("world", "tool", LATEST)) == (2.0, 2.0, 0.0)


def test_old_samples_are_forgotten():
    buffer = Buffer(cache_time=Duration(seconds=5.0))
    for second in (0, 4, 8, 9):
        buffer.set_transform(transform("world", "cart", seconds=second), "test")
    assert not buffer.can_transform("world", "cart", at(0.5))
    assert buffer.can_transform("world", "cart", at(5))


def test_two_times_over_a_fixed_frame(buffer):
    for second in (0, 1):
        buffer.set_transform(transform("world", "cart", x=float(second), seconds=second), "test")
    found = buffer.lookup_transform_full("cart", at(1), "cart", at(0), "world")
    assert pose(found) == (-1.0, 0.0, 0.0)
    assert buffer.can_transform_full("cart", at(1), "cart", at(0), "world")


def test_clear(arm):
    arm.set_transform(transform("world", "cart"), "test")
    arm.clear()
    assert not arm.can_transform("world", "cart", at(0))


def test_waiting_for_a_transform(ros, buffer):
    future = buffer.wait_for_transform_async("world", "cart", at(0))
    assert not future.done()
    buffer.set_transform(transform("world", "cart", x=1.0), "test")
    ros.result(future)
    assert buffer.wait_for_transform_async("world", "cart", at(0)).done()


def test_a_coroutine_looks_up_what_comes_later(ros, buffer):
    async def look() -> object:
        return await buffer.lookup_transform_async("world", "cart", at(0))

    task = ros.executor.create_task(look)
    ros.spin_for(0.1)
    assert not task.done()
    buffer.set_transform(transform("world", "cart", x=1.0), "test")
    assert pose(ros.result(task)) == (1.0, 0.0, 0.0)


def test_a_listener_hears_static_transforms_that_were_sent_before(ros, buffer):
    broadcasters = [StaticTransformBroadcaster(ros.node(f"talker_{index}")) for index in range(3)]
    broadcasters[0].sendTransform(transform("world", "base", x=1.0))
    broadcasters[1].sendTransform([transform("base", "arm", x=1.0), transform("arm", "hand", x=1.0)])
    broadcasters[2].sendTransform(transform("hand", "finger", x=1.0))
    listener = TransformListener(buffer, ros.node("listener"))
    ros.spin_until(lambda: buffer.can_transform("world", "finger", LATEST), "all static transforms")
    assert pose(buffer.lookup_transform("world", "finger", LATEST)) == (4.0, 0.0, 0.0)
    listener.unregister()


def test_one_static_broadcaster_keeps_what_it_sent_before(ros, buffer):
    broadcaster = StaticTransformBroadcaster(ros.node("talker"))
    broadcaster.sendTransform(transform("world", "base", x=1.0))
    broadcaster.sendTransform(transform("base", "hand", x=1.0))
    listener = TransformListener(buffer, ros.node("listener"))
    ros.spin_until(lambda: buffer.can_transform("world", "hand", LATEST), "both static transforms")
    listener.unregister()


def test_a_listener_hears_moving_transforms(ros, buffer):
    node = ros.node("talker")
    broadcaster = TransformBroadcaster(node)
    listener = TransformListener(buffer, ros.node("listener"))
    ros.spin_until(lambda: node.count_subscribers("/tf") == 1, "the listener's subscription")
    ros.match(*[publisher for publisher in node.publishers if publisher.topic_name == "/tf"])
    broadcaster.sendTransform(transform("world", "cart", x=0.0, seconds=0))
    broadcaster.sendTransform([transform("world", "cart", x=1.0, seconds=1), transform("cart", "tool", seconds=1)])
    ros.spin_until(lambda: buffer.can_transform("world", "tool", at(1)), "the moving transforms")
    assert pose(buffer.lookup_transform("world", "cart", at(0.5))) == (0.5, 0.0, 0.0)
    listener.unregister()


def test_static_transforms_of_other_processes(ros, peer, buffer):
    peer("static_transform.py", "world", "base", "1.0")
    peer("static_transform.py", "base", "hand", "2.0")
    listener = TransformListener(buffer, ros.node("listener"))
    ros.spin_until(lambda: buffer.can_transform("world", "hand", LATEST), "the transforms of both processes")
    assert pose(buffer.lookup_transform("world", "hand", LATEST)) == (3.0, 0.0, 0.0)
    listener.unregister()


def test_looking_up_with_a_timeout_while_another_thread_spins(ros, peer, buffer):
    node = ros.node("listener", spin=False)
    listener = TransformListener(buffer, node)
    with ros.spinning(node):
        assert not buffer.can_transform("world", "base", LATEST, timeout=Duration(seconds=0.1))
        peer("static_transform.py", "world", "base", "1.0")
        found = buffer.lookup_transform("world", "base", LATEST, timeout=Duration(seconds=20))
        assert pose(found) == (1.0, 0.0, 0.0)
    listener.unregister()
