"""Broadcasters, listeners and buffers of nodes."""

import gc
import threading

import pytest
import tf2_geometry_msgs  # noqa: F401  # registers geometry_msgs
from geometry_msgs.msg import PointStamped, TransformStamped
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMsg
from tf2_msgs.srv import FrameGraph
from tf2_ros import (
    Buffer,
    BufferInterface,
    ConnectivityException,
    LookupException,
    NotImplementedException,
    StaticTransformBroadcaster,
    TransformBroadcaster,
    TransformListener,
)


def transform(parent, child, seconds=1, x=0.0):
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    message.header.stamp.sec = seconds
    message.transform.translation.x = x
    return message


def test_static_transforms_of_several_processes_reach_a_late_listener(ros, peer):
    peer("static_broadcaster", "a", "b")
    peer("static_broadcaster", "c")
    StaticTransformBroadcaster(ros.node("third")).sendTransform([transform("a", "d", x=2.0), transform("d", "e")])
    buffer = Buffer()
    TransformListener(buffer, ros.node("late"))
    ros.wait(lambda: all(buffer.can_transform("map", frame, Time()) for frame in "abcde"))
    assert buffer.lookup_transform("c", "e", Time()).transform.translation.x == 2


def test_a_static_transform_that_is_sent_again_replaces_the_old_one(ros):
    broadcaster, buffer = StaticTransformBroadcaster(ros.node("sender")), Buffer()
    broadcaster.sendTransform(transform("map", "a", x=1.0))
    broadcaster.sendTransform(transform("map", "b"))
    broadcaster.sendTransform(transform("map", "a", x=3.0))
    TransformListener(buffer, ros.node("late"))
    assert ros.result(buffer.wait_for_transform_async("b", "a", Time())).transform.translation.x == 3
    assert len(broadcaster._transforms) == 2


def test_moving_frames_are_listened_to_by_a_thread_of_the_listener(ros):
    import rclpy

    node, buffer = rclpy.create_node("listener", context=ros.context), Buffer()
    listener = TransformListener(buffer, node, spin_thread=True)
    broadcaster = TransformBroadcaster(ros.node("sender"))
    ros.wait(broadcaster.pub_tf.get_subscription_count)
    broadcaster.sendTransform(transform("map", "base", x=1.0))
    broadcaster.sendTransform(each for each in (transform("base", "arm"), transform("arm", "hand")))
    found = buffer.lookup_transform("map", "hand", Time(), Duration(seconds=20))  # blocks until it is there
    assert found.transform.translation.x == 1
    thread = listener.dedicated_listener_thread
    listener.unregister()
    assert not thread.is_alive()
    node.destroy_node()


def test_a_lookup_with_a_timeout_ends_with_the_reason(ros):
    buffer = Buffer()
    with pytest.raises(LookupException, match="does not exist"):
        buffer.lookup_transform("map", "base", Time(), Duration(seconds=0.05))
    ok, why = buffer.can_transform("map", "base", Time(), Duration(seconds=0.05), return_debug_tuple=True)
    assert not ok
    assert "map" in why


def test_transforms_are_awaited_without_blocking(ros):
    node, buffer, found = ros.node(), Buffer(), []

    async def look_up():
        timer.cancel()
        found.append(await buffer.lookup_transform_async("map", "base", Time(seconds=2)))

    timer = node.create_timer(0.0, look_up)
    ros.wait(lambda: buffer._waiting)
    buffer.set_transform(transform("map", "base", 1, x=1.0), "test")
    assert not found
    buffer.set_transform(transform("map", "base", 3, x=3.0), "test")
    ros.wait(lambda: found)
    assert found[0].transform.translation.x == 2
    assert not buffer._waiting


def test_futures_that_were_cancelled_are_forgotten():
    buffer = Buffer()
    buffer.wait_for_transform_async("map", "base", Time()).cancel()
    full = buffer.wait_for_transform_full_async("base", Time(seconds=2), "base", Time(seconds=1), "map")
    buffer.set_transform(transform("map", "base", 1), "test")
    assert not full.done()
    buffer.set_transform(transform("map", "base", 2), "test")
    assert full.done()
    assert not buffer._waiting


def test_messages_are_transformed_at_the_time_of_their_header():
    buffer = Buffer()
    buffer.set_transform(transform("map", "base", 1, x=1.0), "test")
    buffer.set_transform(transform("map", "base", 3, x=3.0), "test")
    point = PointStamped()
    point.header.frame_id, point.header.stamp.sec, point.point.y = "base", 2, 5.0
    moved = buffer.transform(point, "map")
    assert (moved.point.x, moved.point.y, moved.header.frame_id) == (2, 5, "map")
    assert buffer.transform_full(point, "base", Time(seconds=3), "map").point.x == -1
    assert isinstance(buffer.transform(point, "map", new_type=PointStamped), PointStamped)
    with pytest.raises(NotImplementedException):
        BufferInterface().transform(point, "map")


def test_a_jump_back_of_the_clock_clears_the_buffer(ros):
    node = ros.node(parameter_overrides=[Parameter("use_sim_time", value=True)])
    buffer = Buffer(node=node)
    publisher = ros.node("simulator").create_publisher(ClockMsg, "/clock", 1)
    ros.wait(publisher.get_subscription_count)
    clock = ClockMsg()
    for seconds in (50, 10):
        buffer.set_transform(transform("map", "base", seconds), "test")
        clock.clock.sec = seconds
        publisher.publish(clock)
        ros.wait(lambda seconds=seconds: node.get_clock().now().nanoseconds == seconds * 10**9)
    ros.wait(lambda: not buffer.can_transform("map", "base", Time()))
    with pytest.raises(ConnectivityException):
        buffer.lookup_transform("map", "base", Time())


def test_the_frames_are_offered_as_a_service(ros):
    buffer = Buffer(node=ros.node("owner"))
    buffer.set_transform(transform("map", "base"), "test")
    client = ros.node("asker").create_client(FrameGraph, "/tf2_frames")
    assert client.wait_for_service(20)
    assert "parent: 'map'" in ros.result(client.call_async(FrameGraph.Request())).frame_yaml


def test_a_buffer_may_be_used_from_several_threads():
    buffer, failures = Buffer(), []

    def write():
        for second in range(1, 300):
            buffer.set_transform(transform("map", "base", second), "test")

    def read():
        try:
            for _ in range(300):
                buffer.can_transform("map", "base", Time())
                buffer.all_frames_as_yaml()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=target) for target in (write, read, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert not failures
    assert buffer.can_transform("map", "base", Time(seconds=299))


def test_a_listener_of_a_node_that_is_gone_is_freed(ros):
    import weakref

    import rclpy

    node = rclpy.create_node("short", context=ros.context)
    listener = TransformListener(Buffer(), node)
    gone = weakref.ref(listener)
    node.destroy_node()
    del listener, node
    gc.collect()
    assert gone() is None
