"""Futures on their own, and tasks of an executor."""

from __future__ import annotations

import gc
import threading
import time

import pytest
from harness import DEADLINE
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.task import Future


def test_a_result():
    future = Future()
    assert not future.done()
    future.set_result(5)
    assert future.done()
    assert not future.cancelled()
    assert future.result() == 5
    assert future.exception() is None


def test_an_exception():
    future = Future()
    error = LookupError("on purpose")
    future.set_exception(error)
    assert future.done()
    assert future.exception() is error
    with pytest.raises(LookupError, match="on purpose"):
        future.result()


def test_done_callbacks_without_an_executor_run_at_once_in_order():
    future = Future()
    order: list[object] = []
    future.add_done_callback(lambda done: order.append(("first", done.result())))
    future.add_done_callback(lambda done: order.append(("second", done.result())))
    assert order == []
    future.set_result(1)
    assert order == [("first", 1), ("second", 1)]


def test_a_callback_added_to_a_done_future_runs_at_once():
    future = Future()
    future.set_result(1)
    seen: list[object] = []
    future.add_done_callback(seen.append)
    assert seen == [future]


def test_a_callback_s_exception_does_not_keep_others_from_running():
    future = Future()
    seen: list[object] = []
    future.add_done_callback(lambda done: 1 // 0)
    future.add_done_callback(seen.append)
    with pytest.warns(UserWarning, match="division"):
        future.set_result(1)
    assert seen == [future]


def test_a_done_future_is_done_for_its_callback():
    future = Future()
    seen: list[bool] = []
    future.add_done_callback(lambda done: seen.append(done.done()))
    future.set_exception(LookupError())
    assert seen == [True]
    assert isinstance(future.exception(), LookupError)


def test_cancel():
    future = Future()
    seen: list[object] = []
    future.add_done_callback(seen.append)
    future.cancel()
    assert future.cancelled()
    assert seen == [future]


def test_cancelling_a_done_future_changes_nothing():
    future = Future()
    future.set_result(1)
    future.cancel()
    assert not future.cancelled()
    assert future.done()
    assert future.result() == 1


def test_an_exception_that_nobody_looked_at_is_told(capfd):
    future = Future()
    future.set_exception(LookupError("on purpose"))
    del future
    gc.collect()
    assert "on purpose" in capfd.readouterr().err


def test_an_exception_that_somebody_looked_at_is_not_told(capfd):
    future = Future()
    future.set_exception(LookupError("on purpose"))
    future.exception()
    del future
    gc.collect()
    assert "on purpose" not in capfd.readouterr().err


def test_a_task_runs_when_the_executor_spins(ros):
    calls: list[object] = []

    def work(*args: object, **kwargs: object) -> str:
        calls.append((args, kwargs))
        return "result"

    task = ros.executor.create_task(work, 1, two=2)
    assert calls == []
    assert not task.done()
    assert ros.result(task) == "result"
    assert calls == [((1,), {"two": 2})]


def test_a_task_may_be_a_coroutine(ros):
    async def work(number: int) -> int:
        return number + 1

    assert ros.result(ros.executor.create_task(work, 1)) == 2


def test_a_task_awaits_a_future(ros):
    gate = Future()

    async def work() -> object:
        return await gate

    task = ros.executor.create_task(work)
    ros.spin_for(0.1)
    assert not task.done()
    gate.set_result("open")
    assert ros.result(task) == "open"


def test_a_task_awaits_a_future_that_another_thread_sets(ros):
    gate = Future()

    async def work() -> object:
        return await gate

    task = ros.executor.create_task(work)
    timer = threading.Timer(0.2, gate.set_result, args=["open"])
    timer.start()
    assert ros.result(task) == "open"
    timer.join(DEADLINE)


def test_a_task_awaits_a_future_that_was_done_before(ros):
    gate = Future()
    gate.set_result("open")

    async def work() -> object:
        return await gate

    assert ros.result(ros.executor.create_task(work)) == "open"


def test_a_task_awaits_tasks(ros):
    async def inner(number: int) -> int:
        return number

    async def outer() -> int:
        first, second = (ros.executor.create_task(inner, number) for number in (1, 2))
        return await first + await second

    assert ros.result(ros.executor.create_task(outer)) == 3


def test_an_awaited_exception_is_raised_where_it_is_awaited(ros):
    gate = Future()

    async def work() -> str:
        try:
            await gate
        except LookupError as error:
            return f"caught {error}"
        return "nothing to catch"

    task = ros.executor.create_task(work)
    ros.spin_for(0.05)
    gate.set_exception(LookupError("on purpose"))
    assert ros.result(task) == "caught on purpose"


def test_several_tasks_await_one_future(ros):
    gate = Future()

    async def work(number: int) -> int:
        return number + await gate

    tasks = [ros.executor.create_task(work, number) for number in range(5)]
    ros.spin_for(0.1)
    gate.set_result(10)
    ros.spin_until(lambda: all(task.done() for task in tasks), "5 tasks")
    assert [task.result() for task in tasks] == [10, 11, 12, 13, 14]


@pytest.mark.parametrize("kind", ["function", "coroutine"])
def test_a_task_s_exception_comes_out_of_spin_and_stays_in_the_task(ros, kind):
    def function() -> None:
        raise LookupError("on purpose")

    async def coroutine() -> None:
        raise LookupError("on purpose")

    task = ros.executor.create_task(function if kind == "function" else coroutine)
    with pytest.raises(LookupError, match="on purpose"):
        ros.spin_until(lambda: False, "the exception")
    assert task.done()
    assert isinstance(task.exception(), LookupError)


def test_a_task_s_done_callbacks_are_run_by_the_executor(ros):
    task = ros.executor.create_task(lambda: 5)
    seen: list[int] = []
    task.add_done_callback(lambda done: seen.append(done.result()))
    assert seen == []
    ros.spin_until(lambda: seen, "the done callback")
    assert seen == [5]


def test_other_work_goes_on_while_a_task_waits(ros):
    gate = Future()
    ticks = 0

    async def work() -> None:
        await gate

    def tick() -> None:
        nonlocal ticks
        ticks += 1

    task = ros.executor.create_task(work)
    ros.node().create_timer(0.01, tick)
    ros.spin_until(lambda: ticks >= 10, "10 ticks beside a waiting task")
    assert not task.done()
    gate.set_result(None)
    ros.result(task)


def test_a_timer_callback_awaits_what_another_timer_sets(ros):
    node = ros.node()
    gate = Future()
    got: list[object] = []

    async def wait() -> None:
        waiter.cancel()
        got.append(await gate)

    group = ReentrantCallbackGroup()
    waiter = node.create_timer(0.01, wait, callback_group=group)
    node.create_timer(0.1, lambda: gate.done() or gate.set_result("tick"), callback_group=group)
    ros.spin_until(lambda: got, "the future's result")
    assert got == ["tick"]


def test_tasks_of_a_multi_threaded_executor_run_at_the_same_time(ros):
    barrier = threading.Barrier(3)
    with ros.spinning(executor=MultiThreadedExecutor(num_threads=3)) as executor:
        tasks = [executor.create_task(barrier.wait, DEADLINE) for _ in range(3)]
        end = time.monotonic() + DEADLINE
        while not all(task.done() for task in tasks) and time.monotonic() < end:
            time.sleep(0.01)
        assert sorted(task.result() for task in tasks) == [0, 1, 2]
