"""Executors run the callbacks of nodes.

An executor waits on one condition. Whatever may have something to do - a message from the wire, a timer that is due, a
future that a coroutine awaits - is put into one queue, and the queue is served in turn, one item per entity, so that
no entity starves another.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rclpy._deadlock import excludes, refuse_nested_spin
from rclpy._entity import Entity, Waiting
from rclpy._patience import LONGEST_WAIT_S
from rclpy._timer_queue import TimerQueue
from rclpy.context import Context
from rclpy.exceptions import NotInitializedException
from rclpy.task import Future, Task, running_task
from rclpy.utilities import get_default_context

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.timer import Timer


async def await_or_execute(callback: Callable[..., Any], *args: Any) -> Any:
    """Await a callback that is a coroutine function, call another one."""
    return await callback(*args) if inspect.iscoroutinefunction(callback) else callback(*args)


class TimeoutException(Exception):
    """Nothing became ready in time."""


class ShutdownException(Exception):
    """The executor has been shut down."""


class ExternalShutdownException(Exception):
    """The context has been shut down while the executor was spinning."""


class ConditionReachedException(Exception):
    """What the executor was spun for has come true."""


class Executor:
    """Base of the executors; a custom one writes `_spin_once_impl` with `wait_for_ready_callbacks`.

    Args:
        context: Its context, by default the default one.

    Raises:
        NotInitializedException: The context has never been initialized.
    """

    def __init__(self, *, context: Context | None = None) -> None:
        self._context = get_default_context() if context is None else context
        if self._context._options is None:
            raise NotInitializedException("cannot create an executor")
        self._nodes: set[Node] = set()
        # Guards all that follows. Reentrant, because signal handlers and zenoh's threads notify through it.
        self._changed = Condition()
        self._ready: deque[Entity | Task] = deque()
        self._timers = TimerQueue()
        self._suspended: set[Task] = set()
        self._executing: list[Task] = []
        self._blocked = 0
        self._woken = False
        self._spins = False
        self._is_shutdown = False
        self._context._wake_at_shutdown(self.wake)

    @property
    def context(self) -> Context:
        """Its context."""
        return self._context

    def create_task(self, callback: Any, *args: Any, **kwargs: Any) -> Task:
        """Have a function, coroutine function or coroutine run by `spin`; the task is the future of its result."""
        task = Task(callback, args, kwargs, self, after_step=self._after_step)
        self._enqueue(task)
        return task

    def shutdown(self, timeout_sec: float | None = None) -> bool:
        """Run nothing more, and wait for callbacks that other threads are running.

        Args:
            timeout_sec: Seconds to wait at most; for ever if None or negative.

        Returns:
            False if a callback still ran after the timeout.
        """
        own = running_task()
        with self._changed:
            self._is_shutdown = True
            self._changed.notify_all()
            done = self._changed.wait_for(
                lambda: all(task is own for task in self._executing),
                None if timeout_sec is None or timeout_sec < 0 else timeout_sec,
            )
            if not done:
                return False
            suspended = [*self._suspended, *(item for item in self._ready if isinstance(item, Task))]
            self._suspended.clear()
            self._ready.clear()
            nodes = list(self._nodes)
        for node in nodes:
            self.remove_node(node)
        for task in suspended:
            task._close()
            if task._entity is not None:
                task._entity.callback_group._end(task._entity)
        return True

    def add_node(self, node: Node) -> bool:
        """Run the callbacks of a node from now on, instead of the executor that did; False if it is this one."""
        with self._changed:
            if node in self._nodes or self._is_shutdown:
                return False
            self._nodes.add(node)
        node.executor = self
        for entity in node._entities():
            self._adopt(entity)
        return True

    def remove_node(self, node: Node) -> None:
        """Run no more callbacks of a node."""
        with self._changed:
            if node not in self._nodes:
                return
            self._nodes.discard(node)
            entities = set(node._entities())
            for entity in entities:
                if entity._waiting is Waiting.QUEUED:
                    entity._waiting = Waiting.IDLE
            self._ready = deque(item for item in self._ready if item not in entities)
            for timer in node.timers:
                self._timers.discard(timer)
        if node.executor is self:
            node.executor = None

    def wake(self) -> None:
        """Have the executor look again at what it waits for."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def get_nodes(self) -> list[Node]:
        """Its nodes."""
        with self._changed:
            return list(self._nodes)

    def spin(self) -> None:
        """Run callbacks until the context or the executor is shut down.

        Raises:
            ExternalShutdownException: A signal, or another thread, shut the context down meanwhile.
            RuntimeError: The executor is already spinning.
        """
        with self._spinning():
            while self._context._valid and not self._is_shutdown:
                self._spin_once_impl()

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Run one callback, if one is due within the timeout.

        Args:
            timeout_sec: Seconds to wait; for ever if None or negative, not at all if 0.
        """
        with self._spinning():
            self._spin_once_impl(timeout_sec)

    def spin_until_future_complete(self, future: Future, timeout_sec: float | None = None) -> None:
        """Run callbacks until a future is done or cancelled, the time is over, or the context is shut down."""
        end = None if timeout_sec is None or timeout_sec < 0 else monotonic() + timeout_sec

        def complete() -> bool:
            return future.done() or future.cancelled()

        future._add_waker(self.wake)
        try:
            with self._spinning():
                while self._context._valid and not complete() and not self._is_shutdown:
                    left = None if end is None else max(0.0, end - monotonic())
                    self._spin_once_impl(left, complete)
                    if end is not None and monotonic() >= end:
                        return
        finally:
            future._remove_waker(self.wake)

    def spin_once_until_future_complete(self, future: Future, timeout_sec: float | None = None) -> None:
        """Run one callback, unless the future is done or cancelled before one is due."""
        future._add_waker(self.wake)
        try:
            with self._spinning():
                self._spin_once_impl(timeout_sec, lambda: future.done() or future.cancelled())
        finally:
            future._remove_waker(self.wake)

    def _spin_once_impl(self, timeout_sec: float | None = None, condition: Callable[[], bool] = lambda: False) -> None:
        raise NotImplementedError

    def wait_for_ready_callbacks(
        self,
        timeout_sec: float | None = None,
        nodes: list[Node] | None = None,
        condition: Callable[[], bool] = lambda: False,
    ) -> tuple[Task, Entity | None, Node | None]:
        """The next task to call, what it belongs to, and the node of that.

        Args:
            timeout_sec: Seconds to wait; for ever if None or negative, not at all if 0.
            nodes: Only None, for all nodes of the executor.
            condition: Predicate that also ends the waiting, evaluated whenever the executor wakes.

        Raises:
            TimeoutException: Nothing was ready in time.
            ConditionReachedException: The condition came true.
            ShutdownException: The executor was shut down.
            ExternalShutdownException: The context was shut down.
        """
        if nodes is not None:
            raise NotImplementedError("This executor waits for all of its nodes only; remove the others from it.")
        end = None if timeout_sec is None or timeout_sec < 0 else monotonic() + timeout_sec
        while True:
            item = self._wait(end, condition)
            task = item if isinstance(item, Task) else self._begin(item)
            if task is not None:
                entity = task._entity
                return task, entity, entity._owner() if entity is not None and entity._owner is not None else None

    def _wait(self, end: float | None, condition: Callable[[], bool]) -> Entity | Task:
        """The next item of the queue that may run now; an entity's callback group has been notified."""
        with self._changed:
            while True:
                if self._is_shutdown:
                    raise ShutdownException
                if not self._context._valid:
                    raise ExternalShutdownException
                self._raise_pending()
                if condition():
                    raise ConditionReachedException
                self._woken = False
                for timer in self._timers.pop_due():
                    self._entity_ready(timer)
                item = self._pop()
                if item is not None:
                    return item
                due = self._timers.next_due() if self._thread_is_idle() else None
                until = min((moment for moment in (end, due) if moment is not None), default=None)
                left = None if until is None else until - monotonic()
                if end is not None and monotonic() >= end:
                    raise TimeoutException
                if not self._woken and (left is None or left > 0):
                    self._changed.wait(LONGEST_WAIT_S if left is None else min(left, LONGEST_WAIT_S))

    def _pop(self) -> Entity | Task | None:
        while self._ready and self._thread_is_idle():
            item = self._ready.popleft()
            if isinstance(item, Task):
                self._executing.append(item)
                return item
            if item.callback_group.beginning_execution(item):
                item._waiting = Waiting.IDLE
                return item
            item._waiting = Waiting.PARKED
            item.callback_group._park(item)
        return None

    def _begin(self, entity: Entity) -> Task | None:
        """A task for the next item of an entity, whose callback group has been taken."""
        taken = False
        try:
            work = entity._take()
            taken = work is not None
        finally:
            entity._rearm(self, taken)
            if not taken:
                entity.callback_group._end(entity)
        if work is None:
            return None
        callback, arguments = work
        task = Task(callback, arguments, None, self, entity=entity, after_step=self._after_step)
        with self._changed:
            self._executing.append(task)
        return task

    def _abandon(self, task: Task) -> None:
        """Drop a task that was begun and will not be called."""
        with self._changed:
            self._executing.remove(task)
            self._changed.notify_all()
        if task._entity is not None:
            task._entity.callback_group._end(task._entity)
        task._close()

    def _after_step(self, task: Task) -> None:
        """A task has been called: it is done, or it is a coroutine that awaits something."""
        with self._changed:
            awaits_thread = self._is_shutdown or not self._thread_is_idle()
            if task in self._executing:
                self._executing.remove(task)
            if not task.done():
                self._suspended.add(task)
            else:
                self._suspended.discard(task)
            if awaits_thread:  # otherwise nobody waits for this, and each wake-up costs
                self._changed.notify_all()
        if task.done():
            if task._entity is not None:
                task._entity.callback_group._end(task._entity)
            return
        awaited, task._awaited = task._awaited, None
        if isinstance(awaited, Future):
            group = task._entity.callback_group if task._entity is not None else None
            if not awaited.done() and excludes(group, awaited._callback_group):
                task._refusal = RuntimeError(
                    "This await would wait for ever: the future is completed by a callback of the same "
                    "MutuallyExclusiveCallbackGroup, which cannot run before this one ends; create the client with "
                    "another callback group, such as ReentrantCallbackGroup()."
                )
                self._resume(task)
            else:
                awaited._add_waker(lambda: self._resume(task))
            return
        if awaited is not None:
            task._refusal = TypeError(
                "A coroutine of an executor can await rclpy futures and coroutines only, not "
                f"{type(awaited).__name__}; asyncio's futures and sleep do not work here."
            )
        self._resume(task)

    def _resume(self, task: Task) -> None:
        with self._changed:
            if task not in self._suspended:
                return
            self._suspended.discard(task)
        self._enqueue(task)

    def _enqueue(self, item: Task) -> None:
        with self._changed:
            self._ready.append(item)
            self._changed.notify()

    def _adopt(self, entity: Entity) -> None:
        """Look at an entity that is new here."""
        from rclpy.timer import Timer

        if isinstance(entity, Timer):
            self._schedule(entity)
        self._entity_ready(entity)

    def _entity_ready(self, entity: Entity) -> None:
        """There may be something to do, unless the node was removed meanwhile: who adds it next will look."""
        with self._changed:
            owner = entity._owner() if entity._owner is not None else None
            if entity._waiting is Waiting.IDLE and owner in self._nodes:
                entity._waiting = Waiting.QUEUED
                self._ready.append(entity)
                self._changed.notify()

    def _schedule(self, timer: Timer) -> None:
        with self._changed:
            if self._timers.schedule(timer):
                self._changed.notify()

    @contextmanager
    def _spinning(self) -> Iterator[None]:
        with self._changed:
            if self._spins:
                refuse_nested_spin(self)
            self._spins = True
        try:
            yield
        finally:
            self._spins = False

    def _require_free(self, node: Node) -> None:
        """Refuse to spin a node here that another executor is spinning."""
        if self._spins:
            refuse_nested_spin(self)
        other = node.executor
        if other is not None and other is not self and other._spins:
            refuse_nested_spin(other)

    def _thread_is_idle(self) -> bool:
        """True if a callback could begin now."""
        return True

    def _thread_is_free(self) -> bool:
        """True if a callback can run while the calling one blocks."""
        return False

    @contextmanager
    def _blocking(self) -> Iterator[None]:
        """While one of its threads waits for what another callback brings."""
        with self._changed:
            self._blocked += 1
        try:
            yield
        finally:
            with self._changed:
                self._blocked -= 1

    def _raise_pending(self) -> None:
        """Raise what a callback in another thread raised."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
