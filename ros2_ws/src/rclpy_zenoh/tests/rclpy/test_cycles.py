"""Making and destroying again and again leaves nothing behind."""

import gc
import os
import threading
from pathlib import Path

import pytest
import rclpy
from rclpy import _rosout
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import Trigger

CYCLES = 1000
WARM_UP = 150
ALLOWED_KIB = 8 * 1024
"""Growth over all cycles after the warm-up; a leak of one small object per entity would be several times that."""


def resident_kib() -> int:
    gc.collect()
    text = Path("/proc/self/status").read_text()
    return int(next(line for line in text.splitlines() if line.startswith("VmRSS")).split()[1])


def counts() -> tuple[int, int]:
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


def grown(before: tuple[int, int]) -> bool:
    """More threads or files than before; fewer there may be, if what an earlier test left ends meanwhile."""
    return any(now > then for now, then in zip(counts(), before, strict=True))


@pytest.fixture
def cycle(context):
    executor = SingleThreadedExecutor(context=context)

    def cycle() -> None:
        node = Node("cycle", context=context, start_parameter_services=False)
        executor.add_node(node)
        publisher = node.create_publisher(String, "topic", 10)
        node.create_subscription(String, "topic", lambda message: None, 10)
        node.create_service(Trigger, "work", lambda request, response: response)
        client = node.create_client(Trigger, "work")
        node.create_timer(1000.0, lambda: None)
        node.create_guard_condition(lambda: None).trigger()
        publisher.publish(String(data="x"))
        client.call_async(Trigger.Request())
        executor.spin_once(timeout_sec=0)
        node.destroy_node()

    return cycle


def test_nodes_with_all_kinds_of_entities(cycle):
    for _ in range(WARM_UP):
        cycle()
    before, memory = counts(), resident_kib()
    for _ in range(CYCLES):
        cycle()
    assert not grown(before)
    assert resident_kib() - memory < ALLOWED_KIB


def test_executors(context):
    for _ in range(20):
        SingleThreadedExecutor(context=context).shutdown()
    before, memory = counts(), resident_kib()
    for _ in range(CYCLES):
        with MultiThreadedExecutor(2, context=context) as executor:
            executor.create_task(lambda: None)
            executor.spin_once(timeout_sec=1)
    assert not grown(before)
    assert resident_kib() - memory < ALLOWED_KIB
    assert len(context._wakers) < 10


def test_futures_and_tasks(make_node, context):
    node = make_node()
    node.create_service(Trigger, "work", lambda request, response: response)
    client = node.create_client(Trigger, "work")
    executor = SingleThreadedExecutor(context=context)
    assert client.wait_for_service(20)

    def calls(count: int) -> None:
        for _ in range(count):
            future = client.call_async(Trigger.Request())
            rclpy.spin_until_future_complete(node, future, executor, 20)
            assert future.done()

    calls(WARM_UP)
    memory = resident_kib()
    calls(CYCLES)
    assert resident_kib() - memory < ALLOWED_KIB
    assert client._pending_requests == {}
    assert not executor._ready
    assert not executor._suspended


def test_dropped_nodes_are_closed(context):
    listeners, publishers = len(context._session.graph._listeners), dict(_rosout._publishers)

    def drop() -> None:
        Node("dropped", context=context)

    for _ in range(3):
        drop()
        gc.collect()
    node = Node("next", context=context)
    assert node.get_node_names() == ["next"]
    node.get_logger().info("goes out")
    node.destroy_node()
    assert len(context._session.graph._listeners) == listeners
    assert _rosout._publishers == publishers
