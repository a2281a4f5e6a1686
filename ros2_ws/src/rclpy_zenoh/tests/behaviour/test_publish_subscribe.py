"""Publishers and subscriptions."""

from __future__ import annotations

import threading
import warnings

import pytest
from harness import DEADLINE
from rclpy.exceptions import InvalidHandle
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.wait_for_message import wait_for_message
from std_msgs.msg import Empty, Int32, String


def listen(node, topic="numbers", depth=10):
    """The numbers that come over a topic."""
    heard: list[int] = []
    node.create_subscription(Int32, topic, lambda message: heard.append(message.data), depth)
    return heard


def test_messages_arrive_once_and_in_order(ros):
    node = ros.node()
    heard = listen(node, depth=100)
    publisher = node.create_publisher(Int32, "numbers", 100)
    ros.match(publisher)
    for number in range(50):
        publisher.publish(Int32(data=number))
    ros.spin_until(lambda: len(heard) >= 50, "50 messages")
    ros.spin_for(0.1)
    assert heard == list(range(50))


def test_every_subscription_gets_every_message(ros):
    node, other = ros.node(), ros.node("other")
    all_heard = [listen(node), listen(node), listen(other)]
    publisher = node.create_publisher(Int32, "numbers", 10)
    ros.match(publisher, subscriptions=3)
    for number in range(5):
        publisher.publish(Int32(data=number))
    ros.spin_until(lambda: all(len(heard) == 5 for heard in all_heard), "5 messages for each of 3 subscriptions")
    assert all_heard == [[0, 1, 2, 3, 4]] * 3


def test_several_publishers_of_one_topic(ros):
    node = ros.node()
    heard = listen(node, depth=100)
    publishers = [node.create_publisher(Int32, "numbers", 100) for _ in range(3)]
    ros.match(*publishers)
    for number in range(10):
        for index, publisher in enumerate(publishers):
            publisher.publish(Int32(data=100 * index + number))
    ros.spin_until(lambda: len(heard) >= 30, "30 messages")
    for index in range(3):
        assert [number for number in heard if number // 100 == index] == [100 * index + number for number in range(10)]


def test_topics_are_separate(ros):
    node = ros.node()
    heard, other = listen(node, "one"), listen(node, "two")
    publishers = [node.create_publisher(Int32, topic, 10) for topic in ("one", "two")]
    ros.match(*publishers)
    publishers[0].publish(Int32(data=1))
    publishers[1].publish(Int32(data=2))
    ros.spin_until(lambda: heard and other, "one message on each topic")
    assert (heard, other) == ([1], [2])


def test_a_message_may_be_changed_after_it_was_published(ros):
    node = ros.node()
    heard = listen(node)
    publisher = node.create_publisher(Int32, "numbers", 10)
    ros.match(publisher)
    message = Int32(data=1)
    publisher.publish(message)
    message.data = 2
    publisher.publish(message)
    ros.spin_until(lambda: len(heard) == 2, "both messages")
    assert heard == [1, 2]


def test_publishing_without_subscribers_is_no_error(ros):
    publisher = ros.node().create_publisher(Int32, "numbers", 1)
    assert publisher.get_subscription_count() == 0
    for number in range(100):
        publisher.publish(Int32(data=number))


def test_subscription_counts_follow_the_graph(ros):
    node = ros.node()
    publisher = node.create_publisher(Int32, "numbers", 10)
    subscription = node.create_subscription(Int32, "numbers", print, 10)
    ros.match(publisher)
    node.create_subscription(Int32, "numbers", print, 10)
    ros.match(publisher, subscriptions=2)
    node.destroy_subscription(subscription)
    ros.spin_until(lambda: publisher.get_subscription_count() == 1, "one subscription to be gone")


def test_a_destroyed_subscription_hears_nothing(ros):
    node = ros.node()
    gone: list[object] = []
    subscription = node.create_subscription(Int32, "numbers", gone.append, 10)
    heard = listen(node)
    publisher = node.create_publisher(Int32, "numbers", 10)
    ros.match(publisher, subscriptions=2)
    assert node.destroy_subscription(subscription)
    publisher.publish(Int32(data=1))
    ros.spin_until(lambda: heard == [1], "the message at the other subscription")
    assert gone == []


def test_a_subscription_made_in_a_callback_works(ros):
    node = ros.node()
    heard: list[int] = []

    def subscribe(_: Empty) -> None:
        node.create_subscription(Int32, "numbers", lambda message: heard.append(message.data), 10)

    node.create_subscription(Empty, "go", subscribe, 10)
    go = node.create_publisher(Empty, "go", 10)
    numbers = node.create_publisher(Int32, "numbers", 10)
    ros.match(go)
    go.publish(Empty())
    ros.match(numbers)
    numbers.publish(Int32(data=4))
    ros.spin_until(lambda: heard == [4], "the message for the new subscription")


@pytest.mark.parametrize("wrong", [String(data="1"), 1, "text", None, Int32], ids=repr)
def test_publishing_something_else_is_a_type_error(ros, wrong):
    publisher = ros.node().create_publisher(Int32, "numbers", 1)
    with pytest.raises(TypeError):
        publisher.publish(wrong)


@pytest.mark.parametrize("wrong", ["std_msgs/msg/Int32", 5, None, dict], ids=repr)
def test_only_message_classes_make_publishers_and_subscriptions(ros, wrong):
    node = ros.node()
    with pytest.raises((AttributeError, RuntimeError, TypeError)):
        node.create_publisher(wrong, "numbers", 1)
    with pytest.raises((AttributeError, RuntimeError, TypeError)):
        node.create_subscription(wrong, "numbers", print, 1)


def test_a_callback_takes_one_or_two_arguments(ros):
    node = ros.node()
    with pytest.raises(RuntimeError):
        node.create_subscription(Int32, "numbers", lambda: None, 1)
    with pytest.raises(RuntimeError):
        node.create_subscription(Int32, "numbers", lambda a, b, c: None, 1)


def test_message_info(ros):
    node = ros.node()
    infos: list[tuple[int, dict]] = []
    node.create_subscription(Int32, "numbers", lambda message, info: infos.append((message.data, info)), 10)
    publisher = node.create_publisher(Int32, "numbers", 10)
    ros.match(publisher)
    for number in range(3):
        publisher.publish(Int32(data=number))
    ros.spin_until(lambda: len(infos) == 3, "3 messages with their info")
    assert [number for number, _ in infos] == [0, 1, 2]
    stamps = [info["source_timestamp"] for _, info in infos]
    assert stamps == sorted(stamps)
    now = node.get_clock().now().nanoseconds
    assert all(0 <= now - stamp < 60e9 for stamp in stamps), "nanoseconds of the system's clock"
    assert all("received_timestamp" in info for _, info in infos)


def test_a_raw_subscription_gets_bytes_that_deserialise(ros):
    node = ros.node()
    heard: list[bytes] = []
    node.create_subscription(String, "texts", heard.append, 10, raw=True)
    publisher = node.create_publisher(String, "texts", 10)
    ros.match(publisher)
    publisher.publish(String(data="grüße"))
    ros.spin_until(lambda: heard, "the raw message")
    assert type(heard[0]) is bytes
    assert deserialize_message(heard[0], String) == String(data="grüße")


def test_bytes_can_be_published(ros):
    node = ros.node()
    heard: list[str] = []
    node.create_subscription(String, "texts", lambda message: heard.append(message.data), 10)
    publisher = node.create_publisher(String, "texts", 10)
    ros.match(publisher)
    publisher.publish(serialize_message(String(data="ready made")))
    ros.spin_until(lambda: heard == ["ready made"], "the message")


def test_a_callback_s_exception_comes_out_of_spin_and_spinning_goes_on(ros):
    node = ros.node()
    heard: list[int] = []

    def hear(message: Int32) -> None:
        heard.append(message.data)
        if message.data == 1:
            raise LookupError("on purpose")

    node.create_subscription(Int32, "numbers", hear, 10)
    publisher = node.create_publisher(Int32, "numbers", 10)
    ros.match(publisher)
    publisher.publish(Int32(data=1))
    publisher.publish(Int32(data=2))
    with pytest.raises(LookupError, match="on purpose"):
        ros.spin_until(lambda: False, "the exception")
    ros.spin_until(lambda: heard == [1, 2], "the next message")


def test_the_callback_can_be_replaced(ros):
    node = ros.node()
    first: list[object] = []
    second: list[object] = []
    subscription = node.create_subscription(Int32, "numbers", first.append, 10)
    publisher = node.create_publisher(Int32, "numbers", 10)
    ros.match(publisher)
    publisher.publish(Int32(data=1))
    ros.spin_until(lambda: first, "the first message")
    subscription.callback = second.append
    publisher.publish(Int32(data=2))
    ros.spin_until(lambda: second, "the second message")
    assert len(first) == 1


def test_publishing_from_several_threads(ros):
    node = ros.node()
    heard = listen(node, depth=1000)
    publisher = node.create_publisher(Int32, "numbers", 1000)
    ros.match(publisher)

    def talk(offset: int) -> None:
        for number in range(50):
            publisher.publish(Int32(data=offset + number))

    threads = [threading.Thread(target=talk, args=(1000 * index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    ros.spin_until(lambda: len(heard) >= 200, "200 messages")
    for thread in threads:
        thread.join(DEADLINE)
    assert sorted(heard) == sorted(1000 * index + number for index in range(4) for number in range(50))


def test_publishing_after_destruction_is_an_error(ros):
    node = ros.node()
    publisher = node.create_publisher(Int32, "numbers", 1)
    assert node.destroy_publisher(publisher)
    with pytest.raises(InvalidHandle):
        publisher.publish(Int32())


def test_wait_for_message(ros):
    node, talker = ros.node(spin=False), ros.node("talker", spin=False)
    publisher = talker.create_publisher(Int32, "numbers", 10)
    talker.create_timer(0.02, lambda: publisher.publish(Int32(data=3)))
    with ros.spinning(talker):
        found, message = wait_for_message(Int32, node, "numbers", time_to_wait=DEADLINE)
    assert found
    assert message == Int32(data=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert wait_for_message(Int32, node, "silence", time_to_wait=0.05)[0] is False


def test_a_message_from_another_process_and_back(ros, peer):
    peer("echo.py")
    node = ros.node()
    heard: list[str] = []
    node.create_subscription(String, "echoed", lambda message: heard.append(message.data), 10)
    publisher = node.create_publisher(String, "said", 10)
    ros.match(publisher)
    ros.spin_until(lambda: node.count_publishers("echoed") == 1, "the echo's publisher")
    words = [f"word {number}" for number in range(20)]
    ros.spin_until(lambda: bool(heard) or publisher.publish(String(data="are you there?")), "a first echo")
    for word in words:
        publisher.publish(String(data=word))
        ros.spin_until(lambda word=word: word in heard, f"the echo of {word}")
    assert [text for text in heard if text.startswith("word")] == words
