"""Calls into a vendor's library that may never return."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


class DeviceThread:
    """Runs the calls of one device one after the other, in a thread of its own that nobody has to wait for.

    Args:
        name: Name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        # A daemon: a call that hangs must not keep the process from ending.
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def begin(self, call: Callable[[], T]) -> Future[T]:
        """Run a call after those that were begun before it."""
        future: Future[T] = Future()

        def job() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:  # raised where the result is asked for
                    future.set_exception(error)

        self._jobs.put(job)
        return future

    def run(self, call: Callable[[], T], end: float) -> T:
        """The result of a call.

        Args:
            call: The function to run.
            end: When to stop waiting, on the monotonic clock [s]; what has not begun by then is not run, and what
                comes later is thrown away.

        Raises:
            TimeoutError: It has not returned by then.
        """
        future = self.begin(call)
        try:
            return future.result(max(0.0, end - time.monotonic()))
        except TimeoutError:
            future.cancel()
            raise

    def _work(self) -> None:
        while True:
            self._jobs.get()()
