"""Clocks: steady, system and ROS time, which may follow /clock."""

from __future__ import annotations

import time as _time
import weakref
from collections.abc import Callable
from enum import IntEnum
from threading import Event, RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from rclpy._patience import wait_for
from rclpy.clock_type import ClockType
from rclpy.constants import S_TO_NS
from rclpy.context import Context
from rclpy.duration import Duration
from rclpy.exceptions import NotInitializedException
from rclpy.time import Time
from rclpy.utilities import get_default_context

if TYPE_CHECKING:

    class _Follower(Protocol):
        def _before_clock_change(self) -> None: ...
        def _after_jump(self, jump: TimeJump) -> None: ...


class ClockChange(IntEnum):
    """What happened to the source of a clock's time when it jumped; the numbers are rcl's."""

    ROS_TIME_NO_CHANGE = 1
    ROS_TIME_ACTIVATED = 2
    ROS_TIME_DEACTIVATED = 3
    SYSTEM_TIME_NO_CHANGE = 4


_SOURCE_CHANGES = (ClockChange.ROS_TIME_ACTIVATED, ClockChange.ROS_TIME_DEACTIVATED)


class JumpThreshold:
    """Which jumps a callback is called for.

    Args:
        min_forward: The shortest jump forwards, positive; None for none.
        min_backward: The shortest jump backwards, negative; None for none.
        on_clock_change: Also when ROS time begins or ceases to follow /clock.
    """

    def __init__(
        self, *, min_forward: Duration | None, min_backward: Duration | None, on_clock_change: bool = True
    ) -> None:
        if min_forward is not None and min_forward.nanoseconds <= 0:
            raise ValueError("min_forward must be a positive non-zero duration")
        if min_backward is not None and min_backward.nanoseconds >= 0:
            raise ValueError("min_backward must be a negative non-zero duration")
        if min_forward is None and min_backward is None and not on_clock_change:
            raise ValueError("At least one jump threshold must be enabled")
        self.min_forward = min_forward
        self.min_backward = min_backward
        self.on_clock_change = on_clock_change

    def _exceeded_by(self, jump: TimeJump) -> bool:
        return bool(
            (self.on_clock_change and jump.clock_change in _SOURCE_CHANGES)
            or (self.min_forward is not None and jump.delta >= self.min_forward)
            or (self.min_backward is not None and jump.delta <= self.min_backward)
        )


class TimeJump:
    """One jump of a clock: what happened to its source, and how far it jumped."""

    def __init__(self, clock_change: ClockChange, delta: Duration) -> None:
        if not isinstance(clock_change, ClockChange):
            raise TypeError("clock_change must be an instance of rclpy.clock.ClockChange")
        self._clock_change = clock_change
        self._delta = delta

    @property
    def clock_change(self) -> ClockChange:
        """What happened to the source of the time."""
        return self._clock_change

    @property
    def delta(self) -> Duration:
        """New time minus old time; zero when the source changed."""
        return self._delta


class JumpHandle:
    """A registered jump callback; a context manager, or `unregister` it."""

    def __init__(
        self,
        *,
        clock: Clock,
        threshold: JumpThreshold,
        pre_callback: Callable[[], None] | None,
        post_callback: Callable[[TimeJump], None] | None,
    ) -> None:
        if pre_callback is None and post_callback is None:
            raise ValueError("One of pre_callback or post_callback must be callable")
        if pre_callback is not None and not callable(pre_callback):
            raise ValueError("pre_callback must be callable if given")
        if post_callback is not None and not callable(post_callback):
            raise ValueError("post_callback must be callable if given")
        self._clock: Clock | None = clock
        self._threshold = threshold
        self._pre_callback = pre_callback
        self._post_callback = post_callback
        clock._jump_handles.append(self)

    def unregister(self) -> None:
        """No more calls."""
        if self._clock is not None:
            self._clock._jump_handles.remove(self)
            self._clock = None

    def __enter__(self) -> JumpHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unregister()


class Clock:
    """A source of time; one of `ClockType.ROS_TIME` is a `ROSClock`."""

    _clock_type: ClockType
    _lock: Any
    _jump_handles: list[JumpHandle]
    _followers: weakref.WeakSet[_Follower]

    def __new__(cls, *, clock_type: ClockType = ClockType.SYSTEM_TIME) -> Clock:
        """Make a clock of the given kind."""
        if not isinstance(clock_type, ClockType):
            raise TypeError("Clock type must be a ClockType enum")
        self = super().__new__(ROSClock if clock_type is ClockType.ROS_TIME else cls)
        self._clock_type = clock_type
        self._lock = RLock()
        self._jump_handles = []
        self._followers = weakref.WeakSet()
        return self

    @property
    def clock_type(self) -> ClockType:
        """The kind of clock."""
        return self._clock_type

    def __repr__(self) -> str:
        return f"Clock(clock_type={self._clock_type.name})"

    def _now_ns(self) -> int:
        return _time.monotonic_ns() if self._clock_type is ClockType.STEADY_TIME else _time.time_ns()

    def _follows_wall(self) -> bool:
        """False if it moves only when it is set."""
        return True

    def now(self) -> Time:
        """The current time."""
        return Time(nanoseconds=self._now_ns(), clock_type=self._clock_type)

    def create_jump_callback(
        self,
        threshold: JumpThreshold,
        *,
        pre_callback: Callable[[], None] | None = None,
        post_callback: Callable[[TimeJump], None] | None = None,
    ) -> JumpHandle:
        """Have callbacks called before and after the clock jumps; they must be quick and must not block.

        Args:
            threshold: Smallest jumps that call back.
            pre_callback: Called without arguments while the clock still has the old time.
            post_callback: Called with the `TimeJump` when it has the new one.
        """
        return JumpHandle(clock=self, threshold=threshold, pre_callback=pre_callback, post_callback=post_callback)

    def sleep_until(self, until: Time, context: Context | None = None) -> bool:
        """Sleep until the clock reaches a time.

        Returns:
            True if it did; False if the context was shut down, or ROS time began or ceased to follow /clock.

        Raises:
            ValueError: `until` is of another kind of clock.
            NotInitializedException: The context is not initialized, or has been shut down.
        """
        context = get_default_context() if context is None else context
        if not context.ok():
            raise NotInitializedException
        if until.clock_type != self._clock_type:
            raise ValueError("until's clock type does not match this clock's type")
        woken = Event()
        source_changed = False

        def on_jump(jump: TimeJump) -> None:
            nonlocal source_changed
            source_changed = source_changed or jump.clock_change in _SOURCE_CHANGES
            if source_changed or self._now_ns() >= until.nanoseconds:
                woken.set()

        threshold = JumpThreshold(min_forward=Duration(nanoseconds=1), min_backward=None)
        with self.create_jump_callback(threshold, post_callback=on_jump), context._waking(woken.set):
            while context._valid and not source_changed and self._now_ns() < until.nanoseconds:
                left = (until.nanoseconds - self._now_ns()) / S_TO_NS if self._follows_wall() else None
                if wait_for(woken, left):
                    break
        return context.ok() and not source_changed and self._now_ns() >= until.nanoseconds

    def sleep_for(self, rel_time: Duration, context: Context | None = None) -> bool:
        """Sleep for a span of this clock's time; see `sleep_until`."""
        return self.sleep_until(self.now() + rel_time, context)


class ROSClock(Clock):
    """System time, or the time of /clock while ROS time is active."""

    _active = False
    _override_ns = 0

    def __new__(cls) -> ROSClock:
        """Make a clock that shows system time."""
        self = super().__new__(cls, clock_type=ClockType.ROS_TIME)
        assert isinstance(self, ROSClock)
        return self

    def _now_ns(self) -> int:
        return self._override_ns if self._active else _time.time_ns()

    def _follows_wall(self) -> bool:
        return not self._active

    @property
    def ros_time_is_active(self) -> bool:
        """True while the clock follows /clock or `set_ros_time_override`."""
        return self._active

    def _set_ros_time_is_active(self, enabled: bool) -> None:
        """Begin or cease to follow; for the time source."""
        with self._lock:
            if enabled == self._active:
                return
            change = ClockChange.ROS_TIME_ACTIVATED if enabled else ClockChange.ROS_TIME_DEACTIVATED
            for timer in list(self._followers):
                timer._before_clock_change()
            self._jump(TimeJump(change, Duration()), active=enabled, override_ns=self._override_ns)

    def set_ros_time_override(self, time: Time) -> None:
        """Set the time that the clock shows while ROS time is active."""
        if not isinstance(time, Time):
            raise TypeError(f"Time must be specified as rclpy.time.Time. Received type: {type(time)}")
        with self._lock:
            if not self._active:
                self._override_ns = time.nanoseconds
                return
            delta = Duration(nanoseconds=time.nanoseconds - self._override_ns)
            self._jump(TimeJump(ClockChange.ROS_TIME_NO_CHANGE, delta), active=True, override_ns=time.nanoseconds)

    def _jump(self, jump: TimeJump, *, active: bool, override_ns: int) -> None:
        handles = [handle for handle in self._jump_handles if handle._threshold._exceeded_by(jump)]
        for handle in handles:
            if handle._pre_callback is not None:
                handle._pre_callback()
        self._active, self._override_ns = active, override_ns
        for timer in list(self._followers):
            timer._after_jump(jump)
        for handle in handles:
            if handle._post_callback is not None:
                handle._post_callback(jump)
