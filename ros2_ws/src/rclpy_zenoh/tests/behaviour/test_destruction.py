"""What is left of nodes and endpoints after they were destroyed."""

from __future__ import annotations

from contextlib import suppress

import pytest
import rclpy
from example_interfaces.srv import AddTwoInts
from harness import wait_until
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.exceptions import InvalidHandle
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from std_msgs.msg import Int32

KINDS = ["publisher", "subscription", "service", "client", "timer", "guard_condition"]


def create(node, kind):
    """An endpoint of some kind."""
    return {
        "publisher": lambda: node.create_publisher(Int32, "topic", 1),
        "subscription": lambda: node.create_subscription(Int32, "topic", print, 1),
        "service": lambda: node.create_service(AddTwoInts, "add", lambda request, response: response),
        "client": lambda: node.create_client(AddTwoInts, "add"),
        "timer": lambda: node.create_timer(1.0, print),
        "guard_condition": lambda: node.create_guard_condition(print),
    }[kind]()


def use(entity, kind):
    """Something that needs the endpoint."""
    return {
        "publisher": lambda: entity.publish(Int32()),
        "subscription": lambda: entity.topic_name,
        "service": lambda: entity.service_name,
        "client": lambda: entity.call_async(AddTwoInts.Request()),
        "timer": lambda: entity.reset(),
        "guard_condition": lambda: entity.trigger(),
    }[kind]()


def members(node, kind):
    return list(getattr(node, {"guard_condition": "guards"}.get(kind, f"{kind}s")))


@pytest.mark.parametrize("kind", KINDS)
def test_an_endpoint_is_destroyed_once(ros, kind):
    node = ros.node()
    entity = create(node, kind)
    assert entity in members(node, kind)
    use(entity, kind)
    destroy = getattr(node, f"destroy_{kind}")
    assert destroy(entity) is True
    assert entity not in members(node, kind)
    assert destroy(entity) is False


@pytest.mark.parametrize("kind", KINDS)
def test_using_a_destroyed_endpoint_is_an_error(ros, kind):
    node = ros.node()
    entity = create(node, kind)
    getattr(node, f"destroy_{kind}")(entity)
    with pytest.raises(InvalidHandle):
        use(entity, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_destroys_only_its_own_endpoints(ros, kind):
    node, other = ros.node("one"), ros.node("two")
    entity = create(node, kind)
    assert getattr(other, f"destroy_{kind}")(entity) is False
    use(entity, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_node_destroys_its_endpoints_with_it(ros, kind):
    node = rclpy.create_node("brief")
    entity = create(node, kind)
    node.destroy_node()
    assert members(node, kind) == []
    with pytest.raises(InvalidHandle):
        use(entity, kind)


def test_a_destroyed_node_makes_nothing(ros):
    node = rclpy.create_node("brief")
    node.destroy_node()
    for kind in ("publisher", "subscription", "service", "client"):
        with pytest.raises(InvalidHandle):
            create(node, kind)


def test_a_destroyed_node_does_not_know_its_name(ros):
    node = rclpy.create_node("brief")
    node.destroy_node()
    with pytest.raises(InvalidHandle):
        node.get_name()


def test_a_name_is_free_again(ros):
    for _ in range(3):
        node = rclpy.create_node("again")
        node.create_publisher(Int32, "topic", 1)
        node.destroy_node()


def test_an_endpoint_destroyed_in_its_own_callback(ros):
    node = ros.node()
    calls: list[str] = []

    def hear(_: Int32) -> None:
        calls.append("heard")
        node.destroy_subscription(subscription)

    def tick() -> None:
        calls.append("ticked")
        node.destroy_timer(timer)

    subscription = node.create_subscription(Int32, "topic", hear, 10)
    publisher = node.create_publisher(Int32, "topic", 10)
    ros.match(publisher)
    publisher.publish(Int32())
    publisher.publish(Int32())
    timer = node.create_timer(0.01, tick)
    ros.spin_until(lambda: len(calls) == 2, "both callbacks")
    ros.spin_for(0.2)
    assert sorted(calls) == ["heard", "ticked"]


def test_a_service_destroyed_in_its_own_callback_does_not_break_spinning(ros):
    node = ros.node()
    other = ros.node("other")
    ticks: list[int] = []

    def serve(request, response):
        node.destroy_service(service)
        return response

    service = node.create_service(AddTwoInts, "add", serve)
    client = other.create_client(AddTwoInts, "add")
    ros.spin_until(client.service_is_ready, "the service")
    future = client.call_async(AddTwoInts.Request())
    other.create_timer(0.05, lambda: ticks.append(1))
    with suppress(InvalidHandle):  # what becomes of an answer that can no longer be sent is not promised
        ros.spin_until(lambda: len(ticks) >= 1, "a tick")
    ros.spin_until(lambda: len(ticks) >= 4, "ticks afterwards")
    assert not future.done()


def test_destroying_a_node_with_calls_under_way(ros):
    node = ros.node("server")
    node.create_service(AddTwoInts, "add", lambda request, response: response)
    caller = rclpy.create_node("caller")
    client = caller.create_client(AddTwoInts, "add")
    ros.spin_until(client.service_is_ready, "the service")
    futures = [client.call_async(AddTwoInts.Request(a=a)) for a in range(5)]
    caller.destroy_node()
    ros.spin_for(0.2)
    assert not any(future.done() for future in futures)


def test_entities_destroyed_while_another_thread_spins(ros):
    node = ros.node(spin=False)
    ticks: list[int] = []
    node.create_timer(0.005, lambda: ticks.append(1))
    with ros.spinning(node, executor=SingleThreadedExecutor()):
        for _ in range(20):
            for kind in KINDS:
                getattr(node, f"destroy_{kind}")(create(node, kind))
        before = len(ticks)
        wait_until(lambda: len(ticks) > before + 3, "ticks afterwards")


def test_subscriptions_that_come_and_go_under_a_spinning_pool_while_messages_arrive(ros):
    node, sender = ros.node(spin=False), ros.node("sender", spin=False)
    heard: list[int] = []
    publisher = sender.create_publisher(Int32, "flood", 10)
    sender.create_timer(0.002, lambda: publisher.publish(Int32(data=1)))
    # A subscription's events are entities of their own, and rclpy raises InvalidHandle where it was about to wait for
    # one that is destroyed: who makes and destroys subscriptions beside a spinning executor declines them.
    events, group = SubscriptionEventCallbacks(use_default_callbacks=False), ReentrantCallbackGroup()
    cycles: list[int] = []

    def subscribe():
        return node.create_subscription(
            Int32, "flood", lambda message: heard.append(message.data), 5, callback_group=group, event_callbacks=events
        )

    def come_and_go() -> None:
        some = [subscribe() for _ in range(3)]
        for subscription in some:
            assert node.destroy_subscription(subscription)
        cycles.append(1)

    timer = node.create_timer(0.001, come_and_go)
    with ros.spinning(node, sender, executor=MultiThreadedExecutor(num_threads=4)):
        wait_until(lambda: len(cycles) >= 500, "500 times", timeout=60.0)
        timer.cancel()
        heard.clear()
        subscribe()
        wait_until(lambda: len(heard) > 3, "messages for the last one")


def test_shutdown_leaves_no_endpoint_usable(ros):
    node = ros.node()
    publisher = node.create_publisher(Int32, "topic", 1)
    rclpy.shutdown()
    with pytest.raises(RuntimeError):
        publisher.publish(Int32())
