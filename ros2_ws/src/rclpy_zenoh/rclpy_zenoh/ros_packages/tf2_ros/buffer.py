"""The buffer of transforms that a node listens with."""

from __future__ import annotations

import threading
import time as wall
from collections.abc import Callable

from geometry_msgs.msg import TransformStamped
from rclpy.clock import Clock, JumpThreshold, TimeJump
from rclpy.duration import Duration
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.task import Future
from rclpy.time import Time
from tf2_msgs.srv import FrameGraph
from tf2_py import BufferCore

from tf2_ros.buffer_interface import BufferInterface

_NO_TIME = Duration()


class Buffer(BufferCore, BufferInterface):
    """Keeps transforms and finds those between any two frames; a `TransformListener` fills it.

    A jump back of the clock clears it. A method with a timeout blocks: another thread must spin the listener's node.

    Args:
        cache_time: Length of the history; 10 s by default.
        node: Gives the clock, and offers the service `tf2_frames`.
    """

    def __init__(self, cache_time: Duration | None = None, node: Node | None = None) -> None:
        BufferCore.__init__(self, cache_time)
        BufferInterface.__init__(self)
        self._new_data = threading.Condition()
        self._waiting: list[Callable[[], bool]] = []
        self.clock = Clock() if node is None else node.get_clock()
        if node is not None:
            self.srv = node.create_service(FrameGraph, "tf2_frames", self._on_frames_request)
        threshold = JumpThreshold(min_forward=None, min_backward=Duration(seconds=-1), on_clock_change=True)
        self.jump_handle = self.clock.create_jump_callback(threshold, post_callback=self.time_jump_callback)

    def time_jump_callback(self, time_jump: TimeJump) -> None:
        """Forget all transforms but the static ones; called by the clock."""
        get_logger("tf2_buffer").warning("Detected jump back in time. Clearing tf buffer.")
        self.clear()

    def set_transform(self, transform: TransformStamped, authority: str) -> None:
        """Add a transform; see `BufferCore.set_transform`."""
        super().set_transform(transform, authority)
        self._notify()

    def set_transform_static(self, transform: TransformStamped, authority: str) -> None:
        """Add a transform that holds at all times; see `BufferCore.set_transform`."""
        super().set_transform_static(transform, authority)
        self._notify()

    def lookup_transform(
        self, target_frame: str, source_frame: str, time: Time, timeout: Duration = _NO_TIME
    ) -> TransformStamped:
        """The transform that turns coordinates of the source frame into those of the target frame.

        Args:
            target_frame: Frame of the outcome.
            source_frame: Frame of the input.
            time: When; `Time()` for the latest that is known.
            timeout: Longest wait for the transform.

        Raises:
            TransformException: One of its subclasses, as in `BufferCore.lookup_transform_core`.
        """
        self.can_transform(target_frame, source_frame, time, timeout)
        return self.lookup_transform_core(target_frame, source_frame, time)

    async def lookup_transform_async(self, target_frame: str, source_frame: str, time: Time) -> TransformStamped:
        """As `lookup_transform`, waiting for ever without blocking."""
        await self.wait_for_transform_async(target_frame, source_frame, time)
        return self.lookup_transform_core(target_frame, source_frame, time)

    def lookup_transform_full(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
        timeout: Duration = _NO_TIME,
    ) -> TransformStamped:
        """The transform of the source frame at one time to the target frame at another.

        `fixed_frame` is taken not to move in between; for the rest see `lookup_transform`.
        """
        self.can_transform_full(target_frame, target_time, source_frame, source_time, fixed_frame, timeout)
        return self.lookup_transform_full_core(target_frame, target_time, source_frame, source_time, fixed_frame)

    async def lookup_transform_full_async(
        self, target_frame: str, target_time: Time, source_frame: str, source_time: Time, fixed_frame: str
    ) -> TransformStamped:
        """As `lookup_transform_full`, waiting for ever without blocking."""
        await self.wait_for_transform_full_async(target_frame, target_time, source_frame, source_time, fixed_frame)
        return self.lookup_transform_full_core(target_frame, target_time, source_frame, source_time, fixed_frame)

    def can_transform(
        self,
        target_frame: str,
        source_frame: str,
        time: Time,
        timeout: Duration = _NO_TIME,
        return_debug_tuple: bool = False,
    ) -> bool | tuple[bool, str]:
        """Whether there is a transform, at the latest after the timeout; with `return_debug_tuple` also why not."""
        found = self._wait_until(lambda: self.can_transform_core(target_frame, source_frame, time), timeout)
        return found if return_debug_tuple else found[0]

    def can_transform_full(
        self,
        target_frame: str,
        target_time: Time,
        source_frame: str,
        source_time: Time,
        fixed_frame: str,
        timeout: Duration = _NO_TIME,
        return_debug_tuple: bool = False,
    ) -> bool | tuple[bool, str]:
        """As `can_transform`, between two times."""

        def check() -> tuple[bool, str]:
            return self.can_transform_full_core(target_frame, target_time, source_frame, source_time, fixed_frame)

        found = self._wait_until(check, timeout)
        return found if return_debug_tuple else found[0]

    def wait_for_transform_async(self, target_frame: str, source_frame: str, time: Time) -> Future:
        """A future of the transform; see `lookup_transform`."""
        return self._future(
            lambda: self.can_transform_core(target_frame, source_frame, time)[0],
            lambda: self.lookup_transform_core(target_frame, source_frame, time),
        )

    def wait_for_transform_full_async(
        self, target_frame: str, target_time: Time, source_frame: str, source_time: Time, fixed_frame: str
    ) -> Future:
        """A future of the transform; see `lookup_transform_full`."""
        query = (target_frame, target_time, source_frame, source_time, fixed_frame)
        return self._future(
            lambda: self.can_transform_full_core(*query)[0], lambda: self.lookup_transform_full_core(*query)
        )

    def _future(self, is_there: Callable[[], bool], look_up: Callable[[], TransformStamped]) -> Future:
        future = Future()

        def try_to_finish() -> bool:
            if not (future.done() or future.cancelled()):
                try:
                    if is_there():
                        future.set_result(look_up())
                except Exception as error:
                    future.set_exception(error)
            return future.done() or future.cancelled()

        if not try_to_finish():
            with self._new_data:
                self._waiting.append(try_to_finish)
            try_to_finish()  # the transform may have come since the first look
        return future

    def _notify(self) -> None:
        with self._new_data:
            self._new_data.notify_all()
            waiting = list(self._waiting)
        finished = [try_to_finish for try_to_finish in waiting if try_to_finish()]
        if finished:
            with self._new_data:
                self._waiting = [other for other in self._waiting if other not in finished]

    def _wait_until(self, check: Callable[[], tuple[bool, str]], timeout: Duration) -> tuple[bool, str]:
        deadline = wall.monotonic() + timeout.nanoseconds / 1e9
        with self._new_data:
            while not (found := check())[0] and (remaining := deadline - wall.monotonic()) > 0:
                self._new_data.wait(remaining)
        return found

    def _on_frames_request(self, request: FrameGraph.Request, response: FrameGraph.Response) -> FrameGraph.Response:
        response.frame_yaml = self.all_frames_as_yaml()
        return response
