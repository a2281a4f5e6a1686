"""Services and clients with several threads, and coroutines."""

from __future__ import annotations

import threading
from contextlib import suppress

from example_interfaces.srv import AddTwoInts
from harness import DEADLINE
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor


def add(request, response):
    response.sum = request.a + request.b
    return response


def test_a_synchronous_call_from_another_thread_than_the_executor_s(ros):
    server, caller = ros.node("server", spin=False), ros.node("caller", spin=False)
    server.create_service(AddTwoInts, "add", add)
    client = caller.create_client(AddTwoInts, "add")
    with ros.spinning(server, caller):
        assert client.wait_for_service(timeout_sec=DEADLINE)
        assert client.call(AddTwoInts.Request(a=20, b=22)).sum == 42
        assert [client.call(AddTwoInts.Request(a=a, b=a)).sum for a in range(20)] == [2 * a for a in range(20)]


def test_a_synchronous_call_gives_up_after_its_timeout(ros):
    node = ros.node(spin=False)
    client = node.create_client(AddTwoInts, "nobody")
    with ros.spinning(node):
        try:
            response = client.call(AddTwoInts.Request(), timeout_sec=0.2)
        except TimeoutError:  # since Kilted; before, the answer was None
            response = None
    assert response is None


def test_after_a_timeout_the_late_reply_is_not_the_next_one(ros):
    server, caller = ros.node("server", spin=False), ros.node("caller", spin=False)
    release = threading.Event()

    def slow(request, response):
        if request.a == 1:
            release.wait(DEADLINE)
        response.sum = request.a
        return response

    server.create_service(AddTwoInts, "slow", slow)
    client = caller.create_client(AddTwoInts, "slow")
    with ros.spinning(server), ros.spinning(caller):
        assert client.wait_for_service(timeout_sec=DEADLINE)
        with suppress(TimeoutError):
            assert client.call(AddTwoInts.Request(a=1), timeout_sec=0.2) is None
        release.set()
        assert [client.call(AddTwoInts.Request(a=a), timeout_sec=DEADLINE).sum for a in (2, 3, 4)] == [2, 3, 4]


def test_calls_from_several_threads(ros):
    server, caller = ros.node("server", spin=False), ros.node("caller", spin=False)
    server.create_service(AddTwoInts, "add", add)
    client = caller.create_client(AddTwoInts, "add")
    wrong: list[object] = []

    def call(offset: int) -> None:
        for number in range(10):
            response = client.call(AddTwoInts.Request(a=offset, b=number), timeout_sec=DEADLINE)
            if response.sum != offset + number:
                wrong.append(response)

    with ros.spinning(server, caller):
        assert client.wait_for_service(timeout_sec=DEADLINE)
        threads = [threading.Thread(target=call, args=(1000 * index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
            assert not thread.is_alive(), "a call did not return"
    assert wrong == []


def test_a_call_inside_a_service_with_reentrant_groups_and_threads(ros):
    node = ros.node(spin=False)
    group = ReentrantCallbackGroup()
    node.create_service(AddTwoInts, "inner", add, callback_group=group)
    inner = node.create_client(AddTwoInts, "inner", callback_group=group)

    def outer(request, response):
        response.sum = 10 * inner.call(request, timeout_sec=DEADLINE).sum
        return response

    node.create_service(AddTwoInts, "outer", outer, callback_group=group)
    client = node.create_client(AddTwoInts, "outer", callback_group=group)
    with ros.spinning(node, executor=MultiThreadedExecutor(num_threads=4)):
        assert client.wait_for_service(timeout_sec=DEADLINE)
        assert inner.wait_for_service(timeout_sec=DEADLINE)
        assert client.call(AddTwoInts.Request(a=1, b=2), timeout_sec=DEADLINE).sum == 30


def test_awaiting_a_call_inside_a_service_on_one_thread(ros):
    node = ros.node()
    node.create_service(AddTwoInts, "inner", add, callback_group=MutuallyExclusiveCallbackGroup())
    inner = node.create_client(AddTwoInts, "inner", callback_group=MutuallyExclusiveCallbackGroup())

    async def outer(request, response):
        response.sum = 10 * (await inner.call_async(request)).sum
        return response

    node.create_service(AddTwoInts, "outer", outer)
    client = node.create_client(AddTwoInts, "outer", callback_group=MutuallyExclusiveCallbackGroup())
    ros.spin_until(lambda: client.service_is_ready() and inner.service_is_ready(), "both services")
    assert ros.result(client.call_async(AddTwoInts.Request(a=1, b=2))).sum == 30
