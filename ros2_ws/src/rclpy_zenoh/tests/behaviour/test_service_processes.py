"""Services whose server or client is another process, which may die."""

from __future__ import annotations

from example_interfaces.srv import AddTwoInts
from harness import SHORT
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.task import Future

LEASE = 60.0
"""Seconds within which a process that was killed disappears from the graph; DDS waits up to 20 s."""


def test_a_server_in_another_process(ros, peer):
    peer("server.py", "0")
    client = ros.node().create_client(AddTwoInts, "add")
    ros.spin_until(client.service_is_ready, "the service")
    sums = [ros.result(client.call_async(AddTwoInts.Request(a=a, b=1))).sum for a in range(20)]
    assert sums == [a + 1 for a in range(20)]


def test_a_client_in_another_process(ros, peer):
    node = ros.node(spin=False)

    def add(request, response):
        response.sum = request.a + request.b
        return response

    node.create_service(AddTwoInts, "add", add)
    caller = peer("caller.py", "10")
    with ros.spinning(node):
        assert caller.expect("sums") == f"sums {[2 * number for number in range(10)]}"
    assert caller.wait() == 0


def test_a_client_killed_while_it_waits_does_no_harm(ros, peer):
    node = ros.node()
    gate = Future()
    asked: list[int] = []

    async def serve(request, response):
        asked.append(request.a)
        if request.b == 0:
            await gate
        response.sum = request.a + request.b
        return response

    node.create_service(AddTwoInts, "add", serve, callback_group=ReentrantCallbackGroup())
    caller = peer("caller.py", "1")
    ros.spin_until(lambda: asked == [0], "the other process's request")
    caller.kill()
    gate.set_result(None)
    client = ros.node("survivor").create_client(AddTwoInts, "add")
    ros.spin_until(client.service_is_ready, "the service")
    sums = [ros.result(client.call_async(AddTwoInts.Request(a=a, b=1))).sum for a in range(5)]
    assert sums == [a + 1 for a in range(5)]


def test_several_clients_in_other_processes(ros, peer):
    peer("server.py", "100")
    callers = [peer("caller.py", "10") for _ in range(3)]
    for caller in callers:
        assert caller.expect("sums") == f"sums {[2 * number + 100 for number in range(10)]}"
        assert caller.wait() == 0


def test_a_server_that_ends_and_another_that_takes_its_place(ros, peer):
    first = peer("server.py", "0")
    client = ros.node().create_client(AddTwoInts, "add")
    ros.spin_until(client.service_is_ready, "the first server")
    assert ros.result(client.call_async(AddTwoInts.Request(a=1, b=1))).sum == 2
    first.stop()
    ros.spin_until(lambda: not client.service_is_ready(), "the first server to be gone", LEASE)
    peer("server.py", "1000")
    ros.spin_until(client.service_is_ready, "the second server")
    assert ros.result(client.call_async(AddTwoInts.Request(a=1, b=1))).sum == 1002


def test_a_server_killed_in_a_call_and_started_again(ros, peer):
    first = peer("server.py", "0")
    client = ros.node().create_client(AddTwoInts, "add")
    ros.spin_until(client.service_is_ready, "the first server")
    lost = client.call_async(AddTwoInts.Request(a=-1, b=0))
    first.expect("holding")
    first.kill()
    ros.spin_until(lambda: not client.service_is_ready(), "the killed server to be gone", LEASE)
    ros.spin_for(SHORT)
    assert not lost.done()
    client.remove_pending_request(lost)
    peer("server.py", "1000")
    ros.spin_until(client.service_is_ready, "the second server")
    assert ros.result(client.call_async(AddTwoInts.Request(a=1, b=1))).sum == 1002
    assert not lost.done()
