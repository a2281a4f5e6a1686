"""Quality of service: what a profile may say, and what depth and durability do."""

from __future__ import annotations

import time

import pytest
from harness import SHORT
from rclpy.duration import Duration
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    InvalidQoSProfileException,
    LivelinessPolicy,
    QoSCompatibility,
    QoSProfile,
    ReliabilityPolicy,
    qos_check_compatible,
    qos_profile_parameters,
    qos_profile_sensor_data,
    qos_profile_services_default,
    qos_profile_system_default,
)
from std_msgs.msg import Int32, String

LATCHED = DurabilityPolicy.TRANSIENT_LOCAL


def numbers(node, qos, topic="numbers"):
    heard: list[int] = []
    node.create_subscription(Int32, topic, lambda message: heard.append(message.data), qos)
    return heard


def test_defaults_of_a_profile():
    profile = QoSProfile(depth=5)
    assert profile.history == HistoryPolicy.KEEP_LAST
    assert profile.depth == 5
    assert profile.reliability == ReliabilityPolicy.RELIABLE
    assert profile.durability == DurabilityPolicy.VOLATILE


def test_a_profile_needs_history_or_depth():
    with pytest.raises(InvalidQoSProfileException):
        QoSProfile()
    with pytest.raises(InvalidQoSProfileException):
        QoSProfile(history=HistoryPolicy.KEEP_LAST)
    assert QoSProfile(history=HistoryPolicy.KEEP_ALL).history == HistoryPolicy.KEEP_ALL


def test_a_profile_has_no_other_fields():
    with pytest.raises((AssertionError, TypeError)):
        QoSProfile(depth=1, colour="blue")


def test_values_are_checked():
    with pytest.raises((AssertionError, TypeError)):
        QoSProfile(depth="ten")
    with pytest.raises((AssertionError, TypeError)):
        QoSProfile(depth=1, deadline=5)
    with pytest.raises(ValueError, match="99"):
        QoSProfile(depth=1, reliability=99)


def test_profiles_compare_by_value():
    assert QoSProfile(depth=3) == QoSProfile(depth=3)
    assert QoSProfile(depth=3) != QoSProfile(depth=4)
    assert QoSProfile(depth=3) != QoSProfile(depth=3, durability=LATCHED)


def test_presets():
    assert qos_profile_sensor_data.reliability == ReliabilityPolicy.BEST_EFFORT
    assert qos_profile_sensor_data.depth == 5
    assert qos_profile_services_default.reliability == ReliabilityPolicy.RELIABLE
    assert qos_profile_services_default.depth == 10
    assert qos_profile_parameters.depth == 1000
    assert qos_profile_system_default.reliability == ReliabilityPolicy.SYSTEM_DEFAULT


@pytest.mark.parametrize("bad", [-1])
def test_a_depth_is_not_negative(ros, bad):
    node = ros.node()
    with pytest.raises(ValueError, match="greater than or equal to zero"):
        node.create_publisher(Int32, "numbers", bad)
    with pytest.raises(ValueError, match="greater than or equal to zero"):
        node.create_subscription(Int32, "numbers", print, bad)


@pytest.mark.parametrize("bad", ["10", None, 1.5])
def test_qos_is_a_profile_or_a_depth(ros, bad):
    node = ros.node()
    with pytest.raises(TypeError):
        node.create_publisher(Int32, "numbers", bad)
    with pytest.raises(TypeError):
        node.create_subscription(Int32, "numbers", print, bad)


def test_equal_profiles_that_leave_nothing_to_the_system_are_compatible():
    profile = QoSProfile(
        depth=1,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=DurabilityPolicy.VOLATILE,
        lifespan=Duration(seconds=1),
        deadline=Duration(seconds=1),
        liveliness=LivelinessPolicy.AUTOMATIC,
        liveliness_lease_duration=Duration(seconds=1),
    )
    assert qos_check_compatible(profile, profile)[0] == QoSCompatibility.OK


@pytest.mark.parametrize("depth", [1, 3])
def test_a_subscription_keeps_the_last_messages(ros, depth):
    node = ros.node()
    heard = numbers(node, depth)
    publisher = node.create_publisher(Int32, "numbers", 20)
    ros.match(publisher)
    for number in range(20):
        publisher.publish(Int32(data=number))
    time.sleep(SHORT)  # all of them have arrived, nobody has taken one
    ros.spin_until(lambda: 19 in heard, "the last message")
    ros.spin_for(0.1)
    assert heard == list(range(20 - depth, 20))


def test_keep_all_keeps_all(ros):
    node = ros.node()
    profile = QoSProfile(history=HistoryPolicy.KEEP_ALL)
    heard = numbers(node, profile)
    publisher = node.create_publisher(Int32, "numbers", profile)
    ros.match(publisher)
    for number in range(100):
        publisher.publish(Int32(data=number))
    time.sleep(0.1)
    ros.spin_until(lambda: len(heard) == 100, "100 messages")
    assert heard == list(range(100))


def test_best_effort(ros):
    node = ros.node()
    heard = numbers(node, qos_profile_sensor_data)
    publisher = node.create_publisher(Int32, "numbers", qos_profile_sensor_data)
    ros.match(publisher)
    ros.spin_until(lambda: bool(heard) or publisher.publish(Int32(data=8)), "any of many messages")
    assert set(heard) == {8}


def test_a_reliable_publisher_serves_a_best_effort_subscription(ros):
    node = ros.node()
    heard = numbers(node, qos_profile_sensor_data)
    publisher = node.create_publisher(Int32, "numbers", 10)
    ros.match(publisher)
    ros.spin_until(lambda: bool(heard) or publisher.publish(Int32(data=8)), "any of many messages")
    assert set(heard) == {8}


def test_a_late_volatile_subscription_hears_only_what_comes(ros):
    node = ros.node()
    publisher = node.create_publisher(Int32, "numbers", 10)
    publisher.publish(Int32(data=1))
    heard = numbers(node, 10)
    ros.match(publisher)
    publisher.publish(Int32(data=2))
    ros.spin_until(lambda: heard, "a message")
    ros.spin_for(0.2)
    assert heard == [2]


def test_a_late_subscription_gets_what_the_publisher_kept(ros):
    node, late = ros.node(), ros.node("late")
    publisher = node.create_publisher(Int32, "numbers", QoSProfile(depth=5, durability=LATCHED))
    for number in range(8):
        publisher.publish(Int32(data=number))
    heard = numbers(late, QoSProfile(depth=10, durability=LATCHED))
    ros.spin_until(lambda: len(heard) >= 5, "5 kept messages")
    ros.spin_for(0.2)
    assert heard == [3, 4, 5, 6, 7]
    publisher.publish(Int32(data=8))
    ros.spin_until(lambda: heard[-1] == 8, "a new message")
    assert heard == [3, 4, 5, 6, 7, 8]


def test_a_volatile_subscription_gets_nothing_of_what_was_kept(ros):
    node = ros.node()
    publisher = node.create_publisher(Int32, "numbers", QoSProfile(depth=5, durability=LATCHED))
    publisher.publish(Int32(data=1))
    heard = numbers(node, 10)
    ros.match(publisher)
    ros.spin_for(0.2)
    publisher.publish(Int32(data=2))
    ros.spin_until(lambda: 2 in heard, "the new message")
    assert heard == [2]


def test_a_late_subscription_hears_each_of_several_publishers(ros):
    publishers = [
        ros.node(f"talker_{index}").create_publisher(Int32, "numbers", QoSProfile(depth=1, durability=LATCHED))
        for index in range(4)
    ]
    for index, publisher in enumerate(publishers):
        publisher.publish(Int32(data=-1))
        publisher.publish(Int32(data=index))
    heard = numbers(ros.node("late"), QoSProfile(depth=10, durability=LATCHED))
    ros.spin_until(lambda: len(heard) >= 4, "one kept message of each publisher")
    ros.spin_for(0.2)
    assert sorted(heard) == [0, 1, 2, 3]


def test_a_subscription_before_the_publisher_gets_latched_messages_once(ros):
    node = ros.node()
    heard = numbers(node, QoSProfile(depth=10, durability=LATCHED))
    publisher = ros.node("talker").create_publisher(Int32, "numbers", QoSProfile(depth=10, durability=LATCHED))
    for number in range(5):
        publisher.publish(Int32(data=number))
    ros.spin_until(lambda: len(heard) >= 5, "5 messages")
    ros.spin_for(0.3)
    assert heard == [0, 1, 2, 3, 4]


def test_latched_messages_from_other_processes(ros, peer):
    peer("latched.py", "one", "1")
    peer("latched.py", "two", "2")
    heard: list[str] = []
    profile = QoSProfile(depth=10, durability=LATCHED)
    ros.node("late").create_subscription(String, "latched", lambda message: heard.append(message.data), profile)
    ros.spin_until(lambda: len(heard) >= 2, "a message of each process")
    ros.spin_for(0.2)
    assert sorted(heard) == ["one 1", "two 2"]


def test_every_policy_is_accepted(ros):
    node = ros.node()
    profile = QoSProfile(
        depth=4,
        history=HistoryPolicy.KEEP_LAST,
        reliability=ReliabilityPolicy.RELIABLE,
        durability=LATCHED,
        deadline=Duration(seconds=10),
        lifespan=Duration(seconds=20),
        liveliness=LivelinessPolicy.AUTOMATIC,
        liveliness_lease_duration=Duration(seconds=30),
    )
    heard = numbers(node, profile)
    publisher = node.create_publisher(Int32, "numbers", profile)
    ros.match(publisher)
    publisher.publish(Int32(data=1))
    ros.spin_until(lambda: heard == [1], "the message")


def test_lifespan_and_deadline_defaults_are_infinite_or_unset():
    profile = QoSProfile(depth=1)
    assert profile.deadline == profile.lifespan
    assert profile.deadline.nanoseconds in (0, 2**63 - 1)
