"""What is special to this executor: one queue, parked entities, tasks that wait."""

import contextlib
import random
import threading
import time

import pytest
import rclpy
from rclpy._entity import Waiting
from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.context import Context
from rclpy.exceptions import NotInitializedException
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor, SingleThreadedExecutor
from rclpy.qos import QoSProfile
from rclpy.task import Future
from std_msgs.msg import Int32
from std_srvs.srv import Trigger


@pytest.fixture
def executor(context):
    executor = SingleThreadedExecutor(context=context)
    yield executor
    executor.shutdown(timeout_sec=10)


@pytest.fixture
def threads(context):
    executor = MultiThreadedExecutor(4, context=context)
    yield executor
    executor.shutdown(timeout_sec=10)


def test_executor_needs_an_initialized_context():
    with pytest.raises(NotInitializedException):
        SingleThreadedExecutor(context=Context())


def test_entities_are_served_in_turn(make_node, executor, wait_until):
    node = make_node()
    order = []
    publishers = {}
    for name in "ab":
        node.create_subscription(Int32, name, lambda message, name=name: order.append(name), 100)
        publishers[name] = node.create_publisher(Int32, name, 100)
    timer = node.create_timer(0.0, lambda: order.append("t"))
    for name in "aaaab":
        publishers[name].publish(Int32())
    wait_until(lambda: len(node._subscriptions[0]._wire._mailbox._items) == 4, "the messages are there")
    executor.add_node(node)
    for _ in range(9):
        executor.spin_once(timeout_sec=1)
    timer.cancel()
    assert order.index("b") < 3, "one of b comes before the second of a"
    assert order.count("t") >= 3, "the timer has its turn between the messages"


def test_the_end_of_a_task_wakes_nobody_while_threads_are_idle(threads, spinning, wait_until):
    """Idle graphs run hundreds of tasks a second: each one woke the spinning thread for nothing."""
    looks = []
    raise_pending = threads._raise_pending
    threads._raise_pending = lambda: (looks.append(1), raise_pending())
    with spinning(threads):
        for _ in range(50):
            task = threads.create_task(time.sleep, 0.001)
            wait_until(task.done, "the task is done")
            wait_until(lambda: not threads._executing, "the thread is idle again")
        seen = len(looks)
    assert seen <= 2 * 50 + 5, "one look that finds the task, and one that finds nothing more"


def test_a_busy_group_parks_an_entity_once(make_node, threads, spinning, wait_until):
    """Messages stay in the wire's queue meanwhile, which keeps the newest ones."""
    node = make_node()
    busy, go_on = threading.Event(), threading.Event()
    received = []

    def receive(message):
        received.append(message.data)
        busy.set()
        assert go_on.wait(20)

    subscription = node.create_subscription(Int32, "numbers", receive, QoSProfile(depth=3))
    publisher = node.create_publisher(Int32, "numbers", 10)
    threads.add_node(node)
    with spinning(threads):
        publisher.publish(Int32(data=-1))
        assert busy.wait(20)
        for number in range(50):
            publisher.publish(Int32(data=number))
        wait_until(lambda: subscription._waiting is Waiting.PARKED, "the subscription is parked")
        assert len(node.default_callback_group._parked) == 1
        go_on.set()
        wait_until(lambda: len(received) == 4, "the rest is received")
    assert received == [-1, 47, 48, 49]
    assert not node.default_callback_group._parked


def test_a_parked_entity_may_be_destroyed_or_move(make_node, context, threads, spinning, wait_until):
    node = make_node()
    busy, go_on = threading.Event(), threading.Event()

    def block():
        timer.cancel()
        busy.set()
        assert go_on.wait(20)

    moved = []
    timer = node.create_timer(0.0, block)
    kept = node.create_guard_condition(lambda: moved.append(threading.current_thread()))
    gone = node.create_guard_condition(lambda: moved.append("destroyed"))
    threads.add_node(node)
    other = SingleThreadedExecutor(context=context)
    with spinning(threads):
        assert busy.wait(20)
        kept.trigger()
        gone.trigger()
        wait_until(lambda: {kept, gone} <= set(node.default_callback_group._parked), "both are parked")
        node.destroy_guard_condition(gone)
        other.add_node(node)
        go_on.set()
        other.spin_once(timeout_sec=20)
        for _ in range(20):
            if moved:
                break
            other.spin_once(timeout_sec=1)
    assert moved == [threading.current_thread()]


def test_custom_callback_groups(make_node, threads, spinning, wait_until):
    class Two(CallbackGroup):
        """At most two at once."""

        def __init__(self):
            super().__init__()
            self.lock, self.running, self.most = threading.Lock(), 0, 0

        def can_execute(self, entity):
            return self.running < 2

        def beginning_execution(self, entity):
            with self.lock:
                if self.running == 2:
                    return False
                self.running += 1
                self.most = max(self.most, self.running)
                return True

        def ending_execution(self, entity):
            with self.lock:
                self.running -= 1

    node, group, done = make_node(), Two(), []
    for _ in range(4):
        node.create_guard_condition(lambda: (time.sleep(0.02), done.append(1)), group).trigger()
    threads.add_node(node)
    with spinning(threads):
        wait_until(lambda: len(done) == 4, "all have run")
    assert group.most == 2


@pytest.mark.parametrize("kind", [SingleThreadedExecutor, MultiThreadedExecutor])
def test_exceptions_come_out_of_spin(make_node, context, kind):
    node = make_node()

    def fail():
        timer.cancel()
        raise ValueError("mine")

    timer = node.create_timer(0.0, fail)
    executor = kind(context=context)
    executor.add_node(node)
    with pytest.raises(ValueError, match="mine"):
        executor.spin()
    assert timer.callback_group.can_execute(timer), "the group is free again"
    executor.shutdown()


def test_a_task_that_fails_later_comes_out_of_spin_too(executor):
    future = Future()

    async def wait():
        await future
        raise ValueError("after the wait")

    task = executor.create_task(wait)
    executor.spin_once(timeout_sec=1)
    assert not task.done()
    future.set_result(None)
    with pytest.raises(ValueError, match="after the wait"):
        executor.spin_once(timeout_sec=1)
    assert isinstance(task.exception(), ValueError)


def test_a_task_whose_result_somebody_else_sets(threads):
    ran = []
    for _ in range(8):  # more than threads: each would occupy one for ever
        task = threads.create_task(lambda: ran.append(1))
        task.set_result("outside")
    last = threads.create_task(lambda: "last")
    threads.spin_until_future_complete(last, timeout_sec=20)
    assert last.result() == "last"
    assert ran == []


def test_shutdown_closes_coroutines_that_wait(context):
    executor = SingleThreadedExecutor(context=context)
    closed = []

    async def wait():
        try:
            await Future()
        finally:
            closed.append(True)

    executor.create_task(wait)
    executor.spin_once(timeout_sec=1)
    executor.create_task(wait)  # never started: no warning about it either
    executor.shutdown()
    assert closed == [True]


def test_shutdown_gives_the_groups_of_waiting_coroutines_free(make_node, context):
    node = make_node()

    async def wait():
        await Future()

    guard = node.create_guard_condition(wait)
    guard.trigger()
    with SingleThreadedExecutor(context=context) as executor:
        executor.add_node(node)
        executor.spin_once(timeout_sec=5)
        assert not node.default_callback_group.can_execute(guard)
    assert node.default_callback_group.can_execute(guard)


def test_shutdown_waits_for_callbacks_of_other_threads(threads, spinning):
    started, go_on, ended = threading.Event(), threading.Event(), []

    def work():
        started.set()
        assert go_on.wait(20)
        ended.append(True)

    threads.create_task(work)
    with spinning(threads):
        assert started.wait(20)
        assert threads.shutdown(timeout_sec=0.05) is False
        go_on.set()
        assert threads.shutdown() is True
        assert ended == [True]


def test_shutdown_in_a_callback(make_node, threads, spinning, wait_until):
    node = make_node()
    node.create_timer(0.0, threads.shutdown)
    threads.add_node(node)
    with spinning(threads):
        wait_until(lambda: not threads._spins, "spin returns")


def test_bare_yield_lets_others_run(executor):
    class Once:
        def __await__(self):
            yield

    order = []

    async def first():
        order.append(1)
        await Once()
        order.append(3)

    executor.create_task(first)
    last = executor.create_task(lambda: order.append(2))
    executor.spin_until_future_complete(last, timeout_sec=20)
    executor.spin_once(timeout_sec=1)
    assert order == [1, 2, 3]


def test_a_timer_that_is_put_off_stays_one_entry(make_node, executor):
    node = make_node()
    executor.add_node(node)
    watchdog = node.create_timer(1000.0, lambda: None)
    before = len(executor._timers._heap)
    for _ in range(1000):
        watchdog.reset()
    assert len(executor._timers._heap) == before
    fired = []
    soon = node.create_timer(1000.0, lambda: fired.append(1))
    soon.timer_period_ns = 1
    soon.reset()
    executor.spin_once(timeout_sec=20)
    assert fired == [1]


def test_stress(make_node, context, spinning, wait_until):
    """Entities come and go, in callbacks and in other threads, while messages flood in; groups keep their promise."""
    node, flood = make_node("stressed"), make_node("flood")
    exclusive, reentrant = MutuallyExclusiveCallbackGroup(), ReentrantCallbackGroup()
    inside, overlaps, ticks = [], [], []

    def enter():
        inside.append(1)
        if len(inside) > 1:
            overlaps.append(1)
        time.sleep(0.0002)
        inside.pop()

    node.create_subscription(Int32, "flood", lambda message: enter(), 5, callback_group=exclusive)
    node.create_timer(0.002, enter, exclusive)
    node.create_timer(0.005, lambda: ticks.append(1), reentrant)
    made = []

    def come_and_go():
        made.append(node.create_subscription(Int32, "flood", lambda message: None, 5, callback_group=reentrant))
        made.append(node.create_timer(0.001, enter, exclusive))
        if len(made) > 8:
            node.destroy_subscription(made.pop(0))
            node.destroy_timer(made.pop(0))

    node.create_timer(0.004, come_and_go)
    publisher = flood.create_publisher(Int32, "flood", 10)
    node.create_service(Trigger, "work", lambda request, response: response, callback_group=reentrant)
    client = node.create_client(Trigger, "work", callback_group=reentrant)
    assert client.wait_for_service(20)
    executor = MultiThreadedExecutor(4, context=context)
    executor.add_node(node)
    generator = random.Random(1)
    with spinning(executor) as spinner:
        for number in range(1500):
            publisher.publish(Int32(data=number))
            if generator.random() < 0.02:
                executor.remove_node(node)
                executor.add_node(node)
            if generator.random() < 0.02:
                assert client.call(Trigger.Request(), timeout_sec=20) is not None
        count = len(ticks)
        wait_until(lambda: len(ticks) > count + 5, "timers go on")
        assert spinner.error is None
    assert overlaps == []
    assert not inside


def test_spin_of_the_global_executor_after_an_external_shutdown(domain):
    rclpy.init(args=[])
    node = rclpy.create_node("n")
    stop = threading.Timer(0.1, rclpy.get_default_context().shutdown)
    stop.start()
    with contextlib.suppress(ExternalShutdownException):
        rclpy.spin(node)
    stop.join()
    assert not rclpy.ok()
    rclpy.try_shutdown()
