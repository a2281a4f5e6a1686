"""Calls into a planner's library in this process: it may hang, and raise what it likes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from toolhand.tool_nodes.drivers.device_thread import DeviceThread
from toolhand.tool_nodes.results import ErrorCode, ToolError, unavailable

T = TypeVar("T")

_LONGEST = 200
"""Characters of a library's error that a message repeats."""


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
            said = " ".join(str(error).split())[:_LONGEST].rstrip(".")
            kind = type(error).__name__
            raise unavailable(f"{self._name} failed: {kind}{f': {said}' if said else ''}.") from error
