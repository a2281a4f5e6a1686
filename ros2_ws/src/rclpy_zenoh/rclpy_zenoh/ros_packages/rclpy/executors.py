"""Executors run the callbacks of nodes, in one thread or in several."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rclpy._executor import (
    ConditionReachedException,
    Executor,
    ExternalShutdownException,
    ShutdownException,
    TimeoutException,
    await_or_execute,
)
from rclpy.context import Context
from rclpy.logging import get_logger
from rclpy.task import Task, running_task

__all__ = [
    "ConditionReachedException",
    "Executor",
    "ExternalShutdownException",
    "MultiThreadedExecutor",
    "ShutdownException",
    "SingleThreadedExecutor",
    "TimeoutException",
    "await_or_execute",
]


class SingleThreadedExecutor(Executor):
    """Runs callbacks in the thread that spins it."""

    def _spin_once_impl(self, timeout_sec: float | None = None, condition: Callable[[], bool] = lambda: False) -> None:
        try:
            task, _, _ = self.wait_for_ready_callbacks(timeout_sec, None, condition)
        except (ShutdownException, TimeoutException, ConditionReachedException):
            return
        task()
        if task.done():
            task.result()


class MultiThreadedExecutor(Executor):
    """Runs callbacks in a pool of threads; what they raise comes out of `spin`.

    Args:
        num_threads: Size of the pool; by default the number of CPUs that the process may use.
        context: Its context, by default the default one.
    """

    def __init__(self, num_threads: int | None = None, *, context: Context | None = None) -> None:
        super().__init__(context=context)
        if num_threads is None:
            num_threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 2
        if num_threads == 1:
            warnings.warn(
                "MultiThreadedExecutor is used with a single thread.\nUse the SingleThreadedExecutor instead.",
                stacklevel=2,
            )
        self._num_threads = num_threads
        self._raised: deque[BaseException] = deque()
        self._pool = ThreadPoolExecutor(num_threads, thread_name_prefix="rclpy_executor")

    def _spin_once_impl(self, timeout_sec: float | None = None, condition: Callable[[], bool] = lambda: False) -> None:
        try:
            task, _, _ = self.wait_for_ready_callbacks(timeout_sec, None, condition)
        except (ShutdownException, ExternalShutdownException, TimeoutException, ConditionReachedException):
            return
        try:
            self._pool.submit(self._run, task)
        except RuntimeError:  # shut down by another thread, or by the end of the interpreter
            self._is_shutdown = True
            self._abandon(task)

    def _run(self, task: Task) -> None:
        try:
            task()
            if task.done():
                task.result()
        except BaseException as error:
            with self._changed:
                self._raised.append(error)
                self._changed.notify_all()

    def shutdown(self, timeout_sec: float | None = None, *, wait_for_threads: bool = True) -> bool:
        """Run nothing more, and wait for the running callbacks; see `Executor.shutdown`.

        Args:
            timeout_sec: Seconds to wait at most; for ever if None or negative.
            wait_for_threads: Wait until the threads have ended, too.
        """
        ended = super().shutdown(timeout_sec)
        own = running_task()
        inside = own is not None and own in self._executing
        self._pool.shutdown(wait=wait_for_threads and ended and not inside)
        for error in self._raised:  # no spin follows that would raise it
            get_logger("rclpy.executors").error(f"A callback raised while the executor was shut down: {error!r}")
        self._raised.clear()
        return ended

    def _thread_is_idle(self) -> bool:
        return len(self._executing) < self._num_threads

    def _thread_is_free(self) -> bool:
        return self._blocked + 1 < self._num_threads

    def _raise_pending(self) -> None:
        if self._raised:
            raise self._raised.popleft()
