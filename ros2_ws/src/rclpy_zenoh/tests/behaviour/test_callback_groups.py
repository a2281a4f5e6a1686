"""Callback groups with several threads."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import pytest
from example_interfaces.srv import AddTwoInts
from harness import DEADLINE, SHORT, wait_until
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.task import Future
from std_msgs.msg import Int32


class Crowd:
    """A callback that counts its calls and how many of them ran at the same time."""

    def __init__(self, seconds: float = 0.005) -> None:
        self.calls = 0
        self.most = 0
        self._inside = 0
        self._seconds = seconds
        self._lock = threading.Lock()

    def __call__(self, *_: object) -> None:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        time.sleep(self._seconds)
        with self._lock:
            self._inside -= 1
            self.calls += 1


class Meeting:
    """A callback that succeeds once as many calls of it as expected run at the same time."""

    def __init__(self, parties: int) -> None:
        self.happened = threading.Event()
        self._barrier = threading.Barrier(parties, action=self.happened.set)

    def __call__(self, *_: object) -> None:
        if not self.happened.is_set():
            with suppress(threading.BrokenBarrierError):
                self._barrier.wait(DEADLINE)

    def end(self) -> None:
        """Let those go who came too late."""
        self._barrier.abort()


@pytest.fixture
def meeting(request):
    """The meeting of as many calls as the parameter says."""
    one = Meeting(request.param)
    yield one
    one.end()


@pytest.fixture
def threads(ros):
    """A node that is spun by four threads."""
    node = ros.node(spin=False)
    with ros.spinning(node, executor=MultiThreadedExecutor(num_threads=4)):
        yield node


@pytest.mark.parametrize("group", [None, MutuallyExclusiveCallbackGroup()], ids=["default", "own"])
def test_a_mutually_exclusive_group_never_overlaps(ros, threads, group):
    crowd = Crowd()
    for _ in range(3):
        threads.create_timer(0.005, crowd, callback_group=group)
    threads.create_subscription(Int32, "numbers", crowd, 10, callback_group=group)
    publisher = threads.create_publisher(Int32, "numbers", 10)
    wait_until(publisher.get_subscription_count, "the subscription")
    for number in range(20):
        publisher.publish(Int32(data=number))
    wait_until(lambda: crowd.calls >= 30, "30 callbacks")
    assert crowd.most == 1


def test_the_default_group_is_mutually_exclusive(ros):
    assert isinstance(ros.node().default_callback_group, MutuallyExclusiveCallbackGroup)


@pytest.mark.parametrize("meeting", [3], indirect=True)
def test_callbacks_of_a_reentrant_group_overlap(threads, meeting):
    group = ReentrantCallbackGroup()
    for _ in range(3):
        threads.create_timer(0.01, meeting, callback_group=group)
    assert meeting.happened.wait(DEADLINE), "three callbacks did not run at the same time"
    meeting.end()


@pytest.mark.parametrize("meeting", [2], indirect=True)
def test_one_subscription_overlaps_with_itself_in_a_reentrant_group(threads, meeting):
    threads.create_subscription(Int32, "numbers", meeting, 10, callback_group=ReentrantCallbackGroup())
    publisher = threads.create_publisher(Int32, "numbers", 10)
    wait_until(publisher.get_subscription_count, "the subscription")
    publisher.publish(Int32(data=1))
    publisher.publish(Int32(data=2))
    assert meeting.happened.wait(DEADLINE), "two messages were not handled at the same time"
    meeting.end()


@pytest.mark.parametrize("meeting", [2], indirect=True)
def test_different_exclusive_groups_overlap(threads, meeting):
    for _ in range(2):
        threads.create_timer(0.01, meeting, callback_group=MutuallyExclusiveCallbackGroup())
    assert meeting.happened.wait(DEADLINE), "the two groups did not run at the same time"
    meeting.end()


def test_a_blocked_group_does_not_block_another(threads):
    release = threading.Event()
    ticked = threading.Event()
    blocked = threads.create_timer(0.01, lambda: release.wait(DEADLINE))
    threads.create_timer(0.01, ticked.set, callback_group=MutuallyExclusiveCallbackGroup())
    try:
        time.sleep(0.1)
        ticked.clear()
        assert ticked.wait(DEADLINE), "the other group waits for the blocked one"
    finally:
        blocked.cancel()
        release.set()


def test_one_group_may_belong_to_several_nodes(ros):
    group = MutuallyExclusiveCallbackGroup()
    crowd = Crowd()
    nodes = [ros.node(f"node_{index}", spin=False) for index in range(2)]
    for node in nodes:
        node.create_timer(0.005, crowd, callback_group=group)
    with ros.spinning(*nodes, executor=MultiThreadedExecutor(num_threads=3)):
        wait_until(lambda: crowd.calls >= 20, "20 ticks")
    assert crowd.most == 1


def test_a_service_in_an_exclusive_group_handles_one_request_at_a_time(threads):
    crowd = Crowd(0.02)

    def serve(request, response):
        crowd()
        response.sum = request.a
        return response

    threads.create_service(AddTwoInts, "slow", serve, callback_group=MutuallyExclusiveCallbackGroup())
    client = threads.create_client(AddTwoInts, "slow", callback_group=ReentrantCallbackGroup())
    assert client.wait_for_service(timeout_sec=DEADLINE)
    futures = [client.call_async(AddTwoInts.Request(a=a)) for a in range(6)]
    wait_until(lambda: all(future.done() for future in futures), "6 answers")
    assert [future.result().sum for future in futures] == list(range(6))
    assert crowd.most == 1


def test_a_waiting_coroutine_keeps_its_exclusive_group(ros):
    node = ros.node()
    gate = Future()
    ticks: list[int] = []

    async def wait() -> None:
        waiter.cancel()
        await gate
        ticks.append(-1)

    group = MutuallyExclusiveCallbackGroup()
    waiter = node.create_timer(0.01, wait, callback_group=group)
    ros.spin_until(waiter.is_canceled, "the coroutine to start")
    node.create_timer(0.01, lambda: ticks.append(1), callback_group=group)
    ros.spin_for(SHORT)
    assert ticks == []
    gate.set_result(None)
    ros.spin_until(lambda: len(ticks) >= 2, "the end of the coroutine and a tick")
    assert ticks[0] == -1


def test_other_groups_run_while_a_coroutine_waits(ros):
    node = ros.node()
    gate = Future()
    ticks: list[int] = []

    async def wait() -> None:
        waiter.cancel()
        await gate

    waiter = node.create_timer(0.01, wait)
    node.create_timer(0.01, lambda: ticks.append(1), callback_group=MutuallyExclusiveCallbackGroup())
    ros.spin_until(lambda: waiter.is_canceled() and len(ticks) >= 3, "ticks beside a waiting coroutine")
    gate.set_result(None)
    ros.spin_for(0.05)
