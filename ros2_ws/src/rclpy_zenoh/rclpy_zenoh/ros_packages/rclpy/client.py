"""Service clients."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Any

from rclpy._deadlock import refuse_deadlock
from rclpy._entity import Entity, Work
from rclpy._handle import Handle
from rclpy._patience import wait_for
from rclpy.callback_groups import CallbackGroup
from rclpy.context import Context
from rclpy.exceptions import ROSInterruptException
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.qos import QoSProfile
from rclpy.task import Future, running_task
from rclpy_zenoh.wire import WireError, WireNode

_UNSPUN_WARNING_S = 2.0


class Client(Entity):
    """Calls a service; made by `Node.create_client`."""

    def __init__(
        self,
        node: WireNode,
        full_name: str,
        srv_type: type[Any],
        srv_name: str,
        qos_profile: QoSProfile,
        callback_group: CallbackGroup,
        context: Context,
        logger: RcutilsLogger,
    ) -> None:
        super().__init__(callback_group)
        self.context = context
        self.srv_type = srv_type
        self.srv_name = srv_name
        self.qos_profile = qos_profile
        self._logger = logger
        self._lock = threading.RLock()
        self._pending_requests: dict[int, Future] = {}
        self._warned = False
        self._graph = node.session.graph
        self._wire = node.create_client(full_name, srv_type, qos_profile._to_wire(), self._notify)
        self._handle = Handle(f"client of '{full_name}'", context, self._wire.close)

    def call(self, request: Any, timeout_sec: float | None = None) -> Any:
        """Call the service and wait for the response, which an executor in another thread must receive.

        Args:
            request: The request.
            timeout_sec: Seconds to wait; for ever if None, even if the server is gone.

        Returns:
            The response, or None if it did not come in time.

        Raises:
            TypeError: The request is not of the service's Request class.
            RuntimeError: In a callback, if the response could never be received.
            ROSInterruptException: The context is shut down.
        """
        self._require_request(request)
        refuse_deadlock(f"Client.call() of service '{self.srv_name}'", self)
        answered = threading.Event()
        task = running_task()
        executor = task._executor() if task is not None and task._executor is not None else None
        future = self.call_async(request)
        future._add_waker(answered.set)
        try:
            with self.context._waking(answered.set), executor._blocking() if executor is not None else nullcontext():
                self._wait(answered, timeout_sec)
        finally:
            self.remove_pending_request(future)
        if not future.done() and not self.context.ok():
            raise ROSInterruptException
        return future.result()

    def _wait(self, answered: threading.Event, timeout_sec: float | None) -> None:
        end = None if timeout_sec is None else monotonic() + timeout_sec
        if not self.context.ok() or wait_for(
            answered, _UNSPUN_WARNING_S if timeout_sec is None else min(_UNSPUN_WARNING_S, timeout_sec)
        ):
            return
        executor = self._executor_of_owner()
        if (end is None or monotonic() < end) and (executor is None or not executor._spins):
            self._logger.warning(
                f"Client.call() of service '{self.srv_name}' waits for a response, but nobody spins the node: spin it "
                "in another thread, or use call_async."
            )
        wait_for(answered, None if end is None else max(0.0, end - monotonic()))

    def call_async(self, request: Any) -> Future:
        """Call the service; the future completes when an executor receives the response, and never without one.

        Raises:
            TypeError: The request is not of the service's Request class.
        """
        self._require_request(request)
        self._handle.require_context()
        future = Future()
        future._callback_group = self.callback_group
        with self._lock:  # the response may be there before send_request returns
            self._pending_requests[self._wire.send_request(request)] = future
        future._add_waker(partial(self._forget_cancelled, future))
        return future

    def _forget_cancelled(self, future: Future) -> None:
        if future.cancelled():
            self.remove_pending_request(future)

    def _require_request(self, request: Any) -> None:
        if not isinstance(request, self.srv_type.Request):
            raise TypeError(
                f"Service '{self.srv_name}' takes a {self.srv_type.__name__}.Request, not {type(request).__name__}."
            )

    def get_pending_request(self, sequence_number: int) -> Future:
        """The future of a request; KeyError if it is not pending."""
        with self._lock:
            return self._pending_requests[sequence_number]

    def remove_pending_request(self, future: Future) -> None:
        """Forget a request: its future will not complete, and a late response is dropped."""
        with self._lock:
            number = next((number for number, pending in self._pending_requests.items() if pending is future), None)
            if number is None:
                return
            del self._pending_requests[number]
        self._wire.forget(number)

    def service_is_ready(self) -> bool:
        """True if there is a server that can be called."""
        with self._handle:
            return self._wire.service_is_ready()

    def wait_for_service(self, timeout_sec: float | None = None) -> bool:
        """Wait until there is a server.

        Args:
            timeout_sec: Seconds to wait; for ever if None.

        Returns:
            True if there is one.
        """
        changed = threading.Event()
        end = None if timeout_sec is None else monotonic() + timeout_sec
        remove_listener = self._graph.add_listener(changed.set)
        try:
            with self.context._waking(changed.set):
                while not self.service_is_ready() and self.context.ok():
                    left = _RECHECK_S if end is None else min(_RECHECK_S, end - monotonic())
                    if left <= 0:
                        return False
                    changed.wait(left)
                    changed.clear()
        finally:
            remove_listener()
        return self.service_is_ready()

    @property
    def service_name(self) -> str:
        """The full name of the service."""
        with self._handle:
            return self._wire.service

    @property
    def handle(self) -> Handle:
        """What ends its use."""
        return self._handle

    def destroy(self) -> None:
        """Destroy it; call `Node.destroy_client` instead."""
        self._handle.destroy_when_not_in_use()
        with self._lock:
            self._pending_requests.clear()

    def _take(self) -> Work | None:
        taken = None if self._handle.destroyed else self._wire.take_response()
        return None if taken is None else (self._deliver, taken)

    def _deliver(self, number: int, response: Any) -> None:
        if isinstance(response, WireError):
            if not self._warned:
                self._logger.warning(f"{response} The future of the call will not complete; use timeouts.")
            self._warned = True
            return
        self._warned = False
        with self._lock:
            future = self._pending_requests.pop(number, None)
        if future is not None:
            future._set_executor(self._executor_of_owner())
            future.set_result(response)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.destroy()


_RECHECK_S = 0.25
"""How often `wait_for_service` looks, though the graph has not changed: that a server can be reached comes later."""
