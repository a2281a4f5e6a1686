"""Timers and rates."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy._deadlock import refuse_deadlock
from rclpy._entity import Entity, Work
from rclpy._handle import Handle
from rclpy._patience import wait_for
from rclpy._rclpy_pybind11 import RCLError
from rclpy.callback_groups import CallbackGroup
from rclpy.clock import Clock, ClockChange, TimeJump
from rclpy.constants import S_TO_NS
from rclpy.context import Context
from rclpy.exceptions import InvalidHandle, ROSInterruptException
from rclpy.utilities import get_default_context

if TYPE_CHECKING:
    from rclpy.executors import Executor


class Timer(Entity):
    """Runs a callback again and again; made by `Node.create_timer`.

    Ticks that were missed, because the executor was busy or the clock jumped, are lost.

    Args:
        callback: Function or coroutine function without arguments.
        callback_group: When it may run.
        timer_period_ns: The period in nanoseconds.
        clock: Clock of the period.
        context: Its context.
        autostart: False to start it with `reset` only.
    """

    def __init__(
        self,
        callback: Callable[..., Any] | None,
        callback_group: CallbackGroup,
        timer_period_ns: int,
        clock: Clock,
        *,
        context: Context | None = None,
        autostart: bool = True,
    ) -> None:
        super().__init__(callback_group)
        _check_period(timer_period_ns)
        self.callback = callback
        self._clock = clock
        self._period_ns = timer_period_ns
        self._canceled = not autostart
        self._lock = threading.RLock()
        self._last_call_ns = clock._now_ns()
        self._next_call_ns = self._last_call_ns + timer_period_ns
        self._elapsed_ns: int | None = None  # of the period, while the source of the time changes
        self._handle = Handle("timer", context or get_default_context(), lambda: None)
        clock._followers.add(self)

    @property
    def handle(self) -> Handle:
        """What ends its use."""
        return self._handle

    def destroy(self) -> None:
        """Destroy it; call `Node.destroy_timer` instead."""
        self._handle.destroy_when_not_in_use()
        self._clock._followers.discard(self)

    @property
    def clock(self) -> Clock:
        """What measures the period."""
        return self._clock

    @property
    def timer_period_ns(self) -> int:
        """The period in nanoseconds; a new one counts after the next tick or `reset`."""
        with self._handle:
            return self._period_ns

    @timer_period_ns.setter
    def timer_period_ns(self, value: int) -> None:
        with self._handle:
            _check_period(int(value))
            self._period_ns = int(value)

    def is_ready(self) -> bool:
        """True if the callback is due."""
        with self._handle:
            return not self._canceled and self._clock._now_ns() >= self._next_call_ns

    def is_canceled(self) -> bool:
        """True after `cancel`, until `reset`."""
        with self._handle:
            return self._canceled

    def cancel(self) -> None:
        """Stop it."""
        with self._handle:
            self._canceled = True

    def reset(self) -> None:
        """Start it anew: the next tick is one period from now."""
        with self._handle, self._lock:
            self._next_call_ns = self._clock._now_ns() + self._period_ns
            self._canceled = False
        self._reschedule()

    def time_since_last_call(self) -> int:
        """Nanoseconds since the last tick, or since it was made."""
        with self._handle:
            return self._clock._now_ns() - self._last_call_ns

    def time_until_next_call(self) -> int | None:
        """Nanoseconds until the next tick, negative if it is late; None if the timer is canceled."""
        with self._handle:
            return None if self._canceled else self._next_call_ns - self._clock._now_ns()

    def _wall_delay(self) -> float | None:
        """Seconds until the next tick; None if only `reset` or the clock's source brings it."""
        if self._canceled or self._handle.destroyed or not self._clock._follows_wall():
            return None
        return max(0.0, (self._next_call_ns - self._clock._now_ns()) / S_TO_NS)

    def _take(self) -> Work | None:
        with self._lock:
            if self._handle.destroyed or not self.is_ready() or self.callback is None:
                return None
            now = self._clock._now_ns()
            self._last_call_ns = now
            self._next_call_ns += self._period_ns
            if self._next_call_ns < now:  # ticks were missed: go on in the same rhythm
                missed = 1 + (now - self._next_call_ns) // self._period_ns if self._period_ns else 0
                self._next_call_ns = self._next_call_ns + missed * self._period_ns if missed else now
        return self.callback, ()

    def _rearm(self, executor: Executor, taken: bool) -> None:
        executor._schedule(self)

    def _reschedule(self) -> None:
        executor = self._executor_of_owner()
        if executor is not None:
            executor._schedule(self)

    def _before_clock_change(self) -> None:
        with self._lock:
            now = self._clock._now_ns()
            self._elapsed_ns = now - self._last_call_ns if now else None

    def _after_jump(self, jump: TimeJump) -> None:
        with self._lock:
            now = self._clock._now_ns()
            if jump.clock_change is not ClockChange.ROS_TIME_NO_CHANGE:
                if now and self._elapsed_ns is not None:  # 0: the clock has not been set yet
                    self._last_call_ns = now - self._elapsed_ns
                    self._next_call_ns = self._last_call_ns + self._period_ns
            elif now < self._last_call_ns:  # far backwards: begin a new period
                self._last_call_ns = now
                self._next_call_ns = now + self._period_ns
        self._notify()


def _check_period(period_ns: int) -> None:
    if not isinstance(period_ns, int):
        raise TypeError(f"A timer's period is an integer of nanoseconds, not {type(period_ns).__name__}.")
    if period_ns < 0:
        raise RCLError("A timer's period must not be negative.")


class Rate:
    """Sleeps at a fixed rate, driven by a timer that an executor runs in another thread."""

    def __init__(self, timer: Timer, *, context: Context) -> None:
        self._timer = timer
        self._is_shutdown = False
        self._is_destroyed = False
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._num_sleepers = 0
        self._timer.callback = self._event.set
        context._wake_at_shutdown(self._on_shutdown)

    def _on_shutdown(self) -> None:
        self._is_shutdown = True
        self.destroy()

    def destroy(self) -> None:
        """Wake all that sleep; later sleeps end at once."""
        self._is_destroyed = True
        self._event.set()

    def sleep(self) -> None:
        """Block until the next tick; for ever if no other thread spins the node.

        Raises:
            ROSInterruptException: The context is shut down.
            RuntimeError: The rate or its timer has been destroyed.
        """
        if self._is_shutdown:
            raise ROSInterruptException
        if self._is_destroyed:
            raise RuntimeError("Rate cannot sleep because it has been destroyed")
        if self._timer.handle.destroyed:
            self.destroy()
            raise InvalidHandle("Rate cannot sleep because the timer has been destroyed")
        refuse_deadlock("Rate.sleep()", self._timer)
        with self._lock:
            self._num_sleepers += 1
        try:
            wait_for(self._event, None)
        finally:
            with self._lock:
                self._num_sleepers -= 1
                if self._num_sleepers == 0 and not self._is_destroyed:
                    self._event.clear()
        if self._is_shutdown:
            raise ROSInterruptException
