"""ROS time from /clock."""

import pytest
from builtin_interfaces.msg import Time as TimeMsg
from rclpy.clock import Clock, JumpThreshold
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from rclpy.time_source import TimeSource
from rosgraph_msgs.msg import Clock as ClockMsg


def test_the_clock_follows_the_topic_while_the_parameter_says_so(ros):
    node = ros.node(parameter_overrides=[Parameter("use_sim_time", value=True)])
    assert node.get_clock().now().nanoseconds == 0
    publisher = ros.node("simulator").create_publisher(ClockMsg, "/clock", 1)
    ros.wait(publisher.get_subscription_count)
    publisher.publish(ClockMsg(clock=TimeMsg(sec=5)))
    ros.wait(lambda: node.get_clock().now().nanoseconds == 5_000_000_000)
    assert node.set_parameters([Parameter("use_sim_time", value=False)])[0].successful
    assert node.get_clock().now().nanoseconds > 10**18
    ros.wait(lambda: not publisher.get_subscription_count())


def test_a_jump_back_reaches_the_jump_callbacks(ros):
    node = ros.node(parameter_overrides=[Parameter("use_sim_time", value=True)])
    jumps = []
    threshold = JumpThreshold(min_forward=None, min_backward=Duration(seconds=-1), on_clock_change=False)
    handle = node.get_clock().create_jump_callback(threshold, post_callback=jumps.append)
    publisher = ros.node("simulator").create_publisher(ClockMsg, "/clock", 1)
    ros.wait(publisher.get_subscription_count)
    for seconds in (50, 10):
        publisher.publish(ClockMsg(clock=TimeMsg(sec=seconds)))
        ros.wait(lambda seconds=seconds: node.get_clock().now().nanoseconds == seconds * 10**9)
    assert len(jumps) == 1
    handle.unregister()


def test_use_sim_time_must_be_a_bool(ros):
    node = ros.node()
    result = node.set_parameters([Parameter("use_sim_time", value=1)])[0]
    assert not result.successful
    assert "BOOL" in result.reason


def test_only_clocks_with_ros_time_can_be_attached():
    with pytest.raises(ValueError, match="ROS_TIME"):
        TimeSource().attach_clock(Clock())


def test_a_source_can_be_detached(ros):
    node = ros.node(parameter_overrides=[Parameter("use_sim_time", value=True)])
    source = TimeSource(node=node)
    assert source.ros_time_is_active
    source.detach_node()
    node.set_parameters([Parameter("use_sim_time", value=False)])
    assert source.ros_time_is_active
    with pytest.raises(TypeError, match="Node"):
        source.attach_node("node")
