"""Futures and the tasks of executors."""

from __future__ import annotations

import inspect
import threading
import warnings
import weakref
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from rclpy import _console
from rclpy.impl.logging_severity import LoggingSeverity

if TYPE_CHECKING:
    from rclpy._entity import Entity
    from rclpy.callback_groups import CallbackGroup
    from rclpy.executors import Executor


class Future:
    """A result that comes later.

    Args:
        executor: Runs the done callbacks; without one, the thread that sets the result does.
    """

    def __init__(self, *, executor: Executor | None = None) -> None:
        self._done = False
        self._cancelled = False
        self._result: Any = None
        self._exception: BaseException | None = None
        self._exception_fetched = False
        self._callbacks: list[Callable[[Future], Any]] = []
        # Called at once, in the thread that completes or cancels; they only wake a waiting thread.
        self._wakers: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._executor: weakref.ReferenceType[Executor] | None = None
        # The group whose callbacks complete the future: a callback of a mutually exclusive group must not await it.
        self._callback_group: CallbackGroup | None = None
        self._set_executor(executor)

    def __del__(self) -> None:
        exception = getattr(self, "_exception", None)
        if exception is not None and not self._exception_fetched:
            # On the console only: the garbage collector may have interrupted the wire.
            text = f"The following exception was never retrieved: {exception!r}"
            _console.write("rclpy.task", LoggingSeverity.ERROR, text, _console.Caller("", __file__, 0), rosout=False)

    def __await__(self) -> Generator[Future, None, Any]:
        while not self._done:
            if self._cancelled:
                raise RuntimeError("The awaited future was cancelled, so it will never have a result.")
            yield self
        return self.result()

    def cancel(self) -> None:
        """Give it up, if it is not done; it counts as cancelled then, not as done."""
        with self._lock:
            if not self._done:
                self._cancelled = True
        self._schedule_or_invoke_done_callbacks()

    def cancelled(self) -> bool:
        """True after `cancel`."""
        return self._cancelled

    def done(self) -> bool:
        """True once it has a result or an exception."""
        return self._done

    def result(self) -> Any:
        """The result, or None if it is not done; raises the exception if it has one."""
        exception = self.exception()
        if exception is not None:
            raise exception
        return self._result

    def exception(self) -> BaseException | None:
        """The exception, or None."""
        self._exception_fetched = True
        return self._exception

    def set_result(self, result: Any) -> None:
        """Complete it."""
        with self._lock:
            self._result = result
            self._done = True
            self._cancelled = False
        self._schedule_or_invoke_done_callbacks()

    def set_exception(self, exception: BaseException) -> None:
        """Complete it with an exception."""
        with self._lock:
            self._exception = exception
            self._exception_fetched = False
            self._done = True
            self._cancelled = False
        self._schedule_or_invoke_done_callbacks()

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Have `callback(future)` run when it is done; at once if it is and has no executor."""
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
            executor = self._executor() if self._executor is not None else None
        if executor is not None:
            executor.create_task(callback, self)
        else:
            callback(self)

    def _schedule_or_invoke_done_callbacks(self) -> None:
        with self._lock:
            executor = self._executor() if self._executor is not None else None
            callbacks, self._callbacks = self._callbacks, []
            wakers, self._wakers = self._wakers, []
        for wake in wakers:
            wake()
        for callback in callbacks:
            if executor is not None:
                executor.create_task(callback, self)
                continue
            try:
                callback(self)
            except Exception as error:
                warnings.warn(f"Unhandled exception in done callback: {error}", stacklevel=2)

    def _set_executor(self, executor: Executor | None) -> None:
        """Choose who runs the done callbacks."""
        with self._lock:
            self._executor = None if executor is None else weakref.ref(executor)

    def _add_waker(self, wake: Callable[[], None]) -> None:
        """Have `wake()` called when it is done or cancelled; at once if it is."""
        with self._lock:
            if not self._done and not self._cancelled:
                self._wakers.append(wake)
                return
        wake()

    def _remove_waker(self, wake: Callable[[], None]) -> None:
        with self._lock:
            if wake in self._wakers:
                self._wakers.remove(wake)


class _Running(threading.local):
    """The tasks that this thread runs, the innermost last."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []


_running = _Running()


def running_task() -> Task | None:
    """The executor's task that the calling thread is in, or None."""
    return _running.tasks[-1] if _running.tasks else None


class Task(Future):
    """A function or a coroutine that an executor runs; made by `Executor.create_task`.

    A call runs the function, or the coroutine until it waits for the next future.

    Args:
        handler: A function, a coroutine function or a coroutine.
        args: Its arguments.
        kwargs: Its keyword arguments.
        executor: The executor.
        entity: The entity that owns the callback.
        after_step: Called with the task after each call.
    """

    def __init__(
        self,
        handler: Any,
        args: Any = None,
        kwargs: Any = None,
        executor: Executor | None = None,
        *,
        entity: Entity | None = None,
        after_step: Callable[[Task], None] | None = None,
    ) -> None:
        super().__init__(executor=executor)
        self._args = args or ()
        self._kwargs = kwargs or {}
        if inspect.iscoroutinefunction(handler):
            handler = handler(*self._args, **self._kwargs)
        self._handler = handler
        self._is_coroutine = inspect.iscoroutine(handler)
        self._entity = entity
        self._after_step = after_step
        self._awaited: Any = None
        self._refusal: Exception | None = None
        self._executing = False
        self._task_lock = threading.Lock()

    def __call__(self) -> None:
        """Run the function, or go on with the coroutine; does nothing while another thread does."""
        if not self._task_lock.acquire(blocking=False):
            return
        _running.tasks.append(self)
        self._executing = True
        try:
            if self._done:  # another thread has set a result
                self._close()
            elif self._is_coroutine:
                self._step()
            else:
                self.set_result(self._handler(*self._args, **self._kwargs))
        except Exception as error:
            self.set_exception(error)
        except BaseException as error:  # such as KeyboardInterrupt: it goes on to the caller
            self.set_exception(error)
            self._exception_fetched = True
            raise
        finally:
            self._executing = False
            _running.tasks.pop()
            self._task_lock.release()
            if self._done:
                self._handler, self._args, self._kwargs = None, (), {}
            if self._after_step is not None:
                self._after_step(self)

    def _step(self) -> None:
        refusal, self._refusal = self._refusal, None
        try:
            self._awaited = self._handler.send(None) if refusal is None else self._handler.throw(refusal)
        except StopIteration as stop:
            self.set_result(stop.value)

    def _close(self) -> None:
        """Give up a coroutine that will not be run again."""
        if self._is_coroutine and self._handler is not None:
            self._handler.close()

    def executing(self) -> bool:
        """True while a thread runs it."""
        return self._executing
