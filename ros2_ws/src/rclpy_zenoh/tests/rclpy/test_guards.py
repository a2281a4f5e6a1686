"""What would wait for ever in rclpy is refused with a sentence that says what to do."""

import asyncio
import time

import pytest
import rclpy
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor, SingleThreadedExecutor
from std_srvs.srv import Trigger


@pytest.fixture
def serve(make_node, spinning):
    """A server in an executor of its own."""

    def answer(request, response):
        response.success = True
        return response

    node = make_node("server")
    node.create_service(Trigger, "work", answer)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    with spinning(executor):
        yield node


def run_in_timer(node, executor, callback, group=None):
    """What the callback of a timer returns or raises, when the executor runs it once."""
    outcome = []

    def tick():
        timer.cancel()
        try:
            outcome.append(callback())
        except Exception as error:
            outcome.append(error)

    timer = node.create_timer(0.0, tick, group)
    executor.add_node(node)
    end = time.monotonic() + 20
    while not outcome and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    executor.remove_node(node)
    node.destroy_timer(timer)
    assert outcome, "the timer did not fire"
    return outcome[0]


def test_call_in_a_callback_of_a_single_threaded_executor(serve, make_node):
    node = make_node()
    client = node.create_client(Trigger, "work", callback_group=ReentrantCallbackGroup())
    executor = SingleThreadedExecutor(context=node.context)
    error = run_in_timer(node, executor, lambda: client.call(Trigger.Request()))
    assert isinstance(error, RuntimeError)
    assert "await client.call_async" in str(error)
    assert client._pending_requests == {}


def test_call_in_a_callback_of_the_clients_own_group(serve, make_node):
    node = make_node()
    client = node.create_client(Trigger, "work")
    executor = MultiThreadedExecutor(4, context=node.context)
    error = run_in_timer(node, executor, lambda: client.call(Trigger.Request()))
    assert isinstance(error, RuntimeError)
    assert "MutuallyExclusiveCallbackGroup" in str(error)
    executor.shutdown()


@pytest.mark.parametrize("group", [MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup])
def test_call_in_a_callback_with_another_group_and_a_free_thread(serve, make_node, group):
    node = make_node()
    client = node.create_client(Trigger, "work", callback_group=group())
    assert client.wait_for_service(20)
    executor = MultiThreadedExecutor(2, context=node.context)
    response = run_in_timer(node, executor, lambda: client.call(Trigger.Request(), timeout_sec=20))
    assert response.success
    executor.shutdown()


def test_calls_that_would_block_every_thread(serve, make_node, spinning, wait_until):
    node = make_node()
    group = ReentrantCallbackGroup()
    client = node.create_client(Trigger, "nobody", callback_group=group)
    outcome = []

    def tick():
        try:
            outcome.append(client.call(Trigger.Request(), timeout_sec=1.0))
        except RuntimeError as error:
            outcome.append(error)

    timers = [node.create_timer(0.0, tick, group) for _ in range(2)]
    executor = MultiThreadedExecutor(2, context=node.context)
    executor.add_node(node)
    with spinning(executor):
        wait_until(lambda: any(isinstance(item, RuntimeError) for item in outcome), "a call is refused")
        for timer in timers:
            timer.cancel()
    assert "more threads" in str(next(item for item in outcome if isinstance(item, RuntimeError)))


def test_call_from_a_callback_of_another_executor(serve, make_node, spinning):
    node, other = make_node(), make_node("other")
    client = other.create_client(Trigger, "work")
    assert client.wait_for_service(20)
    background = SingleThreadedExecutor(context=other.context)
    background.add_node(other)
    with spinning(background):
        executor = SingleThreadedExecutor(context=node.context)
        assert run_in_timer(node, executor, lambda: client.call(Trigger.Request(), timeout_sec=20)).success


def test_call_that_nobody_receives_warns_and_does_not_return(serve, make_node, capsys):
    node = make_node()
    client = node.create_client(Trigger, "work")
    assert client.wait_for_service(20)
    assert client.call(Trigger.Request(), timeout_sec=2.3) is None
    assert "nobody spins the node" in capsys.readouterr().err


@pytest.mark.parametrize("how", ["spin_once", "spin", "spin_until_future_complete"])
def test_nested_spin_is_refused(make_node, context, how):
    node = make_node()
    executor = SingleThreadedExecutor(context=context)
    future = rclpy.Future()
    spins = {
        "spin_once": lambda: rclpy.spin_once(node, executor=executor, timeout_sec=0),
        "spin": lambda: executor.spin(),
        "spin_until_future_complete": lambda: rclpy.spin_until_future_complete(node, future, executor, 1.0),
    }
    error = run_in_timer(node, executor, spins[how])
    assert isinstance(error, RuntimeError)
    assert "already spinning" in str(error)


def test_a_node_cannot_be_taken_from_an_executor_that_spins_it(make_node, context, spinning):
    node = make_node()
    background = SingleThreadedExecutor(context=context)
    background.add_node(node)
    with spinning(background):
        with pytest.raises(RuntimeError, match="already spinning"):
            rclpy.spin_once(node, executor=SingleThreadedExecutor(context=context), timeout_sec=0)
        assert node.executor is background


def test_two_threads_cannot_spin_one_executor(context, spinning):
    executor = SingleThreadedExecutor(context=context)
    with spinning(executor), pytest.raises(RuntimeError, match="another thread"):
        executor.spin_once(timeout_sec=0)


def test_another_node_may_be_spun_in_a_callback(serve, make_node, context):
    node, other = make_node(), make_node("other")
    client = other.create_client(Trigger, "work")
    assert client.wait_for_service(20)

    def call():
        future = client.call_async(Trigger.Request())
        inner = SingleThreadedExecutor(context=context)
        rclpy.spin_until_future_complete(other, future, inner, 20)
        return future.result()

    assert run_in_timer(node, SingleThreadedExecutor(context=context), call).success


def await_in_timer(node, executor, coroutine_function, group=None):
    """What an `async def` callback returns or raises."""
    outcome = []

    async def tick():
        timer.cancel()
        try:
            outcome.append(await coroutine_function())
        except Exception as error:
            outcome.append(error)

    timer = node.create_timer(0.0, tick, group)
    executor.add_node(node)
    end = time.monotonic() + 20
    while not outcome and time.monotonic() < end:
        executor.spin_once(timeout_sec=0.1)
    assert outcome, "the coroutine did not end"
    return outcome[0]


def test_await_of_a_client_of_the_same_group(serve, make_node, context):
    node = make_node()
    client = node.create_client(Trigger, "work")

    async def call():
        return await client.call_async(Trigger.Request())

    error = await_in_timer(node, SingleThreadedExecutor(context=context), call)
    assert isinstance(error, RuntimeError)
    assert "same MutuallyExclusiveCallbackGroup" in str(error)


def test_await_of_a_client_of_another_group(serve, make_node, context):
    node = make_node()
    client = node.create_client(Trigger, "work", callback_group=MutuallyExclusiveCallbackGroup())
    assert client.wait_for_service(20)

    async def call():
        return await client.call_async(Trigger.Request())

    assert await_in_timer(node, SingleThreadedExecutor(context=context), call).success


def test_asyncio_futures_and_sleep_are_refused(make_node, context):
    loop = asyncio.new_event_loop()
    future = loop.create_future()

    async def wait():
        await future

    async def sleep():
        await asyncio.sleep(0.01)

    error = await_in_timer(make_node("a"), SingleThreadedExecutor(context=context), wait)
    assert isinstance(error, TypeError)
    assert "rclpy futures" in str(error)
    error = await_in_timer(make_node("b"), SingleThreadedExecutor(context=context), sleep)
    assert isinstance(error, RuntimeError)
    loop.close()


def test_await_of_a_cancelled_future(make_node, context):
    future = rclpy.Future()

    async def wait():
        await future

    executor = SingleThreadedExecutor(context=context)
    executor.create_task(future.cancel)
    error = await_in_timer(make_node(), executor, wait)
    assert isinstance(error, RuntimeError)
    assert "cancelled" in str(error)


def test_rate_in_the_only_thread(make_node, context):
    node = make_node()
    rate = node.create_rate(100.0)
    error = run_in_timer(node, SingleThreadedExecutor(context=context), rate.sleep)
    assert isinstance(error, RuntimeError)
    assert "wait for ever" in str(error)


def test_service_that_returns_no_response(make_node, context):
    node = make_node()
    node.create_service(Trigger, "bad", lambda request, response: None)
    client = node.create_client(Trigger, "bad")
    assert client.wait_for_service(20)
    future = client.call_async(Trigger.Request())
    executor = SingleThreadedExecutor(context=context)
    with pytest.raises(TypeError, match=r"must return a Trigger\.Response"):
        rclpy.spin_until_future_complete(node, future, executor, 20)
