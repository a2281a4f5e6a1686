"""Calls into a vendor's library in this process: they may never return, and raise what they like."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from toolhand.tool_nodes.results import ErrorCode, ToolError, kind_and_words, unavailable

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


class LibraryCalls:
    """Runs the calls into one library, one at a time; once it hangs, nothing more is asked of it.

    Args:
        name: Name of the library, as sentences begin.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread = DeviceThread(name)
        self._running: Future[Any] | None = None

    def run(self, call: Callable[[], T], limit_s: float) -> T:
        """The result of a call.

        Raises:
            ToolError: TIMEOUT where it does not return within the limit [s], UNAVAILABLE where an earlier one has not
                returned yet, or where it fails; what the call raises as one.
        """
        if self._running is not None and not self._running.done():
            raise unavailable(f"{self._name} still hangs in an earlier question.", "Start the node anew.")
        self._running = future = self._thread.begin(call)
        try:
            return future.result(limit_s)
        except ToolError:
            raise
        except Exception as error:  # whatever another package may raise
            if isinstance(error, TimeoutError) and not future.done():
                message = f"{self._name} did not answer within {limit_s:g} s."
                raise ToolError(ErrorCode.TIMEOUT, message, "Start the node anew.") from error
            raise unavailable(f"{self._name} failed: {kind_and_words(error)}.") from error
